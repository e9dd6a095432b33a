/*
 * test-template.c - templates: what comes out, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "template/template.h"

static const char json[] =
	"{\"name\": \"a<b>&\\\"'`|\", \"n\": 1234567, \"us\": 1234.5, \"half\": 0.125, \"none\": null, \"yes\": true, \"no\": false, \"zero\": 0.0,"
	"\"empty\": \"\", \"list\": [{\"k\": \"x\", \"n\": 1}, {\"k\": \"y\"}], \"texts\": [\"one\", \"two\"], \"nothing\": [], \"object\": {\"inner\": "
	"{\"deep\": \"here\"}, \"n\": 7}, \"ticks\": \"a``b\", \"tick\": \"`\", \"bell\": \"\\u0007\\u202e\\n\\ud83d\\ude00\\ud800\"}";

static struct buffer rendered = BUFFER_INIT;
static struct error err;

static int render_json(const char *text, enum template_format format, const char *data, size_t size)
{
	struct template *t = NULL;
	int rc;

	err = (struct error){ 0 };
	buffer_clear(&rendered);
	rc = template_parse(&t, "t.in", text, strlen(text), format, &err);
	if (rc == 0)
		rc = template_render(t, data, size, &rendered, &err);
	template_free(t);
	assert_int_equal(buffer_append(&rendered, "", 1), 0);
	return rc;
}

static void gives(enum template_format format, const char *text, const char *expected)
{
	if (render_json(text, format, json, sizeof json - 1) < 0)
		fail_msg("%s: %s", text, err.text);
	assert_string_equal(rendered.data, expected);
}
#define MD(text, expected) gives(TEMPLATE_MARKDOWN, text, expected)
#define HTML(text, expected) gives(TEMPLATE_HTML, text, expected)

/* `place` is "LINE:COLUMN". */
static void refuses(enum template_format format, const char *text, const char *place, const char *words)
{
	char begin[64];

	if (render_json(text, format, json, sizeof json - 1) == 0)
		fail_msg("%s: is not refused: %s", text, (const char *)rendered.data);
	snprintf(begin, sizeof begin, "t.in:%s: ", place);
	if (strncmp(err.text, begin, strlen(begin)) != 0 || !strstr(err.text, words))
		fail_msg("%s: %s", text, err.text);
	assert_int_equal(err.exit_code, 2);
	assert_string_equal(rendered.data, "");
}
#define NOT_MD(text, place, words) refuses(TEMPLATE_MARKDOWN, text, place, words)
#define NOT_HTML(text, place, words) refuses(TEMPLATE_HTML, text, place, words)

/* ---- Values -------------------------------------------------------------------- */

static void test_values(void **state)
{
	(void)state;
	MD("", "");
	MD("plain } text {", "plain } text {");
	MD("{{n}} {{ n }} {{object.n}} {{object.inner.deep}}", "1234567 1234567 7 `here`");
	MD("({{missing}}{{object.missing.deep}}{{n.deep}}{{none}}{{empty}})", "()");
	MD("{{yes}} {{no}}", "true false");
	HTML("{{name}}", "a&lt;b&gt;&amp;&quot;&#39;`|");
	MD("{{name}}", "`` a<b>&\"'`\\| ``");
	MD("{{ticks}}", "``` a``b ```");
	HTML("{{bell}}", "\\x07\\u{202e}\\n\xf0\x9f\x98\x80\xef\xbf\xbd");
}

static void test_formats_of_numbers(void **state)
{
	(void)state;
	MD("{{us|time}} {{us|ms}} {{us | percent}} {{half|share}} {{n|count}} {{n|bytes}}", "1.23 ms 1.234 ms 1234.5 % 12.5 % 1,234,567 1.2 MB");
	MD("({{none|time}}{{missing|count}})", "()");
	NOT_MD("a\n {{name|time}}", "2:2", "is no number");
	NOT_MD("{{n|date}}", "1:1", "there is no format 'date'");
	NOT_MD("{{#list|count}}{{/list}}", "1:1", "not understood");
}

static void test_sections(void **state)
{
	(void)state;
	MD("{{#list}}({{k}}{{n}}){{/list}}", "(`x`1)(`y`1234567)"); /* what is not inside is looked for outside */
	MD("{{#texts}}{{.}},{{/texts}}", "`one`,`two`,");
	MD("{{^nothing}}none{{/nothing}}{{#nothing}}some{{/nothing}}", "none");
	MD("{{#object}}{{#inner}}{{deep}}{{n}}{{/inner}}{{/object}}", "`here`7");
	MD("{{#object.inner}}{{deep}}{{/object.inner}}", "`here`");
	MD("{{#zero}}0{{/zero}}{{#empty}}e{{/empty}}{{#no}}f{{/no}}{{#none}}n{{/none}}{{#missing}}m{{/missing}}", "");
	MD("{{#n}}{{.}}{{/n}}{{#yes}}y{{/yes}}{{^zero}}z{{/zero}}", "1234567yz");
	NOT_MD("{{list}}", "1:1", "more than one value");
	NOT_MD("{{object}}", "1:1", "more than one value");
}

static void test_lines_with_nothing_but_a_tag_disappear(void **state)
{
	(void)state;
	MD("a\n{{#texts}}\n- {{.}}\n{{/texts}}\nb\n", "a\n- `one`\n- `two`\nb\n");
	MD("{{! about }}\na\n  {{! more\nof it }}  \nb", "a\nb");
	MD("a {{! here }} b", "a  b");
	MD("{{#yes}}\r\nx\r\n{{/yes}}\r\n", "x\r\n");
	MD("{{#yes}}{{/yes}}\nx", "\nx");
}

static void test_what_is_no_template(void **state)
{
	(void)state;
	NOT_MD("{{{name}}}", "1:1", "no raw values");
	NOT_MD("a\nb {{&name}}", "2:3", "no raw values");
	NOT_MD("{{> file}}", "1:1", "other files");
	NOT_MD("{{=<% %>=}}", "1:1", "braces");
	NOT_MD("\xc3\xa4{{name", "1:2", "without }}"); /* columns are letters */
	NOT_MD("{{}}", "1:1", "holds a name");
	NOT_MD("{{a b}}", "1:1", "not understood");
	NOT_MD("{{a..b}}", "1:1", "not understood");
	NOT_MD("{{constructor('x')}}", "1:1", "not understood");
	NOT_MD("{{1}}", "1:1", "holds a name");
	NOT_MD("{{#list}}", "1:1", "never closed");
	NOT_MD("{{/list}}", "1:1", "not open");
	NOT_MD("{{#list}}{{#texts}}{{/list}}{{/texts}}", "1:20", "{{/texts}} is expected");
}

/* ---- Markdown -------------------------------------------------------------------- */

static void test_nothing_opens_a_code_span(void **state)
{
	(void)state;
	MD("`a` {{name}} ``b`c``\n", "`a` `` a<b>&\"'`\\| `` ``b`c``\n");
	MD("{{tick}}{{tick}}", "`` ` `` `` ` ``"); /* never a longer fence of two */
	MD("`a`{{tick}}", "`a` `` ` ``");
	MD("{{tick}}`a`", "`` ` `` `a`");
	MD("\\{{tick}}", "\\ `` ` ``");
	MD("```sh\nrun ` it\n```\n{{n}}", "```sh\nrun ` it\n```\n1234567");
	MD("1 < 2, x <= 3", "1 < 2, x <= 3");
	NOT_MD("`{{name}}`", "1:2", "inside code");
	NOT_MD("a ` b {{name}}", "1:7", "inside code");
	NOT_MD("`a\n{{name}}`", "1:3", "end of its line");
	NOT_MD("\\` x ` {{name}}", "1:2", "backslash");
	NOT_MD("```\n{{name}}\n```\n", "2:1", "inside code");
	NOT_MD("```{{name}}\n```\n", "1:4", "inside code");
	NOT_MD("```\n x ```\n{{name}}", "3:1", "inside code"); /* that does not end it */
	NOT_MD("{{#yes}}`{{/yes}}", "1:10", "inside code");
}

/* Their addresses are read before code is. */
static void test_links_in_markdown(void **state)
{
	(void)state;
	MD("[x](https://example.org/a) {{tick}} - [ ] \\[{{n}}\\]", "[x](https://example.org/a) `` ` `` - [ ] \\[1234567\\]");
	MD("[x]{{#yes}}(a){{/yes}}", "[x] (a)");
	MD("[x]{{#yes}}[a]{{/yes}}", "[x] [a]");
	MD("\\{{#yes}}[a]{{/yes}}", "\\ [a]");
	NOT_MD("[x]({{name}})", "1:5", "address of a link");
	NOT_MD("[x](a(b){{name}})", "1:5", "address of a link");
	NOT_MD("[x](\n{{name}})", "1:5", "address of a link");
	NOT_MD("[{{name}}]", "1:2", "square brackets");
	NOT_MD("[a][{{name}}]", "1:5", "square brackets");
	NOT_MD("[a \\] {{name}}]", "1:7", "square brackets");
	NOT_MD("[a\n\n{{name}}", "3:1", "square brackets");
}

static void test_html_in_markdown(void **state)
{
	(void)state;
	NOT_MD("<b>{{name}}</b>", "1:1", "HTML in Markdown");
	NOT_MD("a\n<!-- {{name}} -->", "2:1", "HTML in Markdown");
	NOT_MD("<{{name}}>", "1:1", "HTML in Markdown");
	NOT_MD("```\n<!--\n```\n{{name}}", "2:1", "HTML in Markdown");
}

/* ---- HTML -------------------------------------------------------------------------- */

static void test_places_of_values_in_html(void **state)
{
	(void)state;
	HTML("<p title=\"{{name}}\">{{n}}</p>", "<p title=\"a&lt;b&gt;&amp;&quot;&#39;`|\">1234567</p>");
	HTML("<!doctype html><title>{{name}}</title >", "<!doctype html><title>a&lt;b&gt;&amp;&quot;&#39;`|</title >");
	HTML("<textarea rows=2>{{n}}</textarea><br/>{{n}}<hr>", "<textarea rows=2>1234567</textarea><br/>1234567<hr>");
	HTML("<p data-x=\"{{#texts}}{{.}} {{/texts}}\">", "<p data-x=\"one two \">");
	HTML("1 < 2 && 3 > {{n}}", "1 < 2 && 3 > 1234567");
	HTML("<!-- a comment -->{{n}}<style>p > q { x: y }</style>", "<!-- a comment -->1234567<style>p > q { x: y }</style>");
	HTML("<a href=\"https://example.org/x\" title='t'>a</a><a href=#x>b</a><a href=\"a/b:c\">c</a>",
	     "<a href=\"https://example.org/x\" title='t'>a</a><a href=#x>b</a><a href=\"a/b:c\">c</a>");
	HTML("<img src=\"data:image/png;base64,AA==\" alt=\"{{n}}\">", "<img src=\"data:image/png;base64,AA==\" alt=\"1234567\">");
	HTML("{{#texts}}<li>{{.}}</li>{{/texts}}", "<li>one</li><li>two</li>");
}

static void test_values_where_they_could_do_something(void **state)
{
	(void)state;
	NOT_HTML("<style>{{n}}</style>", "1:8", "style sheet");
	NOT_HTML("<p title={{n}}>", "1:10", "double quotes");
	NOT_HTML("<p title='{{n}}'>", "1:11", "double quotes");
	NOT_HTML("<p title=a{{n}}>", "1:11", "double quotes");
	NOT_HTML("<p {{n}}>", "1:4", "inside of a tag");
	NOT_HTML("<p a{{n}}=\"x\">", "1:5", "inside of a tag");
	NOT_HTML("<{{n}}>", "1:2", "inside of a tag");
	NOT_HTML("</{{n}}>", "1:3", "inside of a tag");
	NOT_HTML("<h{{n}}>", "1:3", "inside of a tag");
	NOT_HTML("<!-- {{n}} -->", "1:6", "comment");
	NOT_HTML("<a href=\"{{n}}\">", "1:10", "address");
	NOT_HTML("<a href=\"https://example.org/{{n}}\">", "1:30", "address");
	NOT_HTML("<img\n src=\"{{n}}\">", "2:7", "address");
	NOT_HTML("<form ACTION=\"{{n}}\">", "1:15", "address");
	NOT_HTML("<button formaction=\"{{n}}\">", "1:21", "address");
	NOT_HTML("<svg><a xlink:href=\"{{n}}\">", "1:21", "address");
	NOT_HTML("<p style=\"{{n}}\">", "1:11", "meaning of its own");
	NOT_HTML("<p style=\"{{#yes}}x{{/yes}}\">", "1:11", "meaning of its own");
	NOT_HTML("<meta content=\"{{n}}\">", "1:16", "meaning of its own");
}

static void test_templates_run_no_code(void **state)
{
	(void)state;
	NOT_HTML("<script>alert(1)</script>", "1:8", "could run code");
	NOT_HTML("<SCRIPT src=x>", "1:8", "could run code");
	NOT_HTML("<svg><script/>", "1:13", "could run code");
	NOT_HTML("<iframe src=x>", "1:8", "could run code");
	NOT_HTML("<p onclick=\"x\">", "1:11", "runs code");
	NOT_HTML("<p OnClick=x>", "1:11", "runs code");
	NOT_HTML("<p/onclick=x>", "1:11", "runs code");
	NOT_HTML("<p title=\"x\"onclick=x>", "1:20", "runs code");
	NOT_HTML("<p onclick>", "1:11", "runs code");
	NOT_HTML("<p onclick='{{n}}'>", "1:11", "runs code");
	NOT_HTML("<iframe srcdoc=\"{{n}}\">", "1:8", "could run code");
	NOT_HTML("<a href=\"javascript:alert(1)\">", "1:25", "address in a template");
	NOT_HTML("<a href=JavaScript:alert(1)>", "1:24", "address in a template");
	NOT_HTML("<a href=\" javascript:x\">", "1:10", "plainly");
	NOT_HTML("<a href=\"java&#115;cript:x\">", "1:14", "plainly");
	NOT_HTML("<a href=\"data:text/html,x\">", "1:19", "address in a template");
	NOT_HTML("<a href='vbscript:x'>", "1:20", "address in a template");
	NOT_HTML("<a><animate attributename=href values=javascript:x>", "1:12", "could run code");
	NOT_HTML("<meta http-equiv=refresh>", "1:17", "lead elsewhere");
	NOT_HTML("<base href=\"https://example.org/\">", "1:6", "could run code");
	NOT_HTML("<noscript><p title=\"</noscript><script>x\">", "1:10", "could run code");
}

/* Where browsers and simple readers of HTML differ. */
static void test_surprising_html(void **state)
{
	(void)state;
	NOT_HTML("<!--><p onclick=x>-->", "1:1", "comment");
	NOT_HTML("<!---><p onclick=x>-->", "1:1", "comment");
	NOT_HTML("<!-- a --!><p onclick=x> -->", "1:8", "comment");
	NOT_HTML("<![CDATA[ x ]]>", "1:2", "only elements");
	NOT_HTML("<?php x ?>", "1:2", "only elements");
	NOT_HTML("</ x>", "1:3", "only elements");
	NOT_HTML("<p \"onclick=x>", "1:4", "does not belong");
	NOT_HTML("<p =x>", "1:4", "does not belong");
	NOT_HTML("<p a<b>", "1:5", "does not belong");
	NOT_HTML("<p a=x\"y>", "1:7", "quotes");
	NOT_HTML("<title><b></title>", "1:8", "only begins their end");
	NOT_HTML("<style></ style>", "1:8", "only begins their end");
	NOT_HTML("<title></ti{{empty}}tle>", "1:8", "only begins their end");
	NOT_HTML("<p title=\"x", "1:12", "ends inside");
	NOT_HTML("<title>x", "1:9", "ends inside");
	NOT_HTML("{{#yes}}<p title=\"{{/yes}}\">", "1:19", "another place");
	NOT_HTML("<p title=\"{{#yes}}\" lang=\"{{/yes}}\">", "1:27", "another place");
	NOT_HTML("{{#yes}}<title>{{/yes}}</title>", "1:16", "another place");
	NOT_HTML("{{#yes}}<scr{{/yes}}ipt>", "1:13", "inside of a tag");
	NOT_HTML("<scr{{! x }}ipt>", "1:16", "could run code");
	NOT_HTML("<<script>", "1:9", "could run code");
	NOT_HTML("a <<p onclick=x>", "1:14", "runs code");
}

/* ---- Limits -------------------------------------------------------------------------- */

static void repeat(struct buffer *out, const char *text, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(buffer_append(out, text, strlen(text)), 0);
}

static void test_depth(void **state)
{
	struct buffer text = BUFFER_INIT;

	(void)state;
	repeat(&text, "{{#yes}}", TEMPLATE_DEPTH_MAX);
	repeat(&text, "x", 1);
	repeat(&text, "{{/yes}}", TEMPLATE_DEPTH_MAX);
	assert_int_equal(buffer_append(&text, "", 1), 0);
	MD((const char *)text.data, "x");
	buffer_clear(&text);
	repeat(&text, "{{#yes}}", TEMPLATE_DEPTH_MAX + 1);
	assert_int_equal(buffer_append(&text, "", 1), 0);
	NOT_MD((const char *)text.data, "1:257", "more than 32");
	buffer_release(&text);
}

/* Parts that repeat each other end, with output and without. */
static void test_bombs(void **state)
{
	struct buffer text = BUFFER_INIT;

	(void)state;
	repeat(&text, "{{#texts}}", 30);
	repeat(&text, "{{/texts}}", 30);
	assert_int_equal(buffer_append(&text, "", 1), 0);
	assert_int_equal(render_json((const char *)text.data, TEMPLATE_MARKDOWN, json, sizeof json - 1), -E2BIG);
	assert_non_null(strstr(err.text, "too long"));
	buffer_clear(&text);
	repeat(&text, "{{#texts}}", 13);
	repeat(&text, "0123456789abcdef", 1024);
	repeat(&text, "{{/texts}}", 13);
	assert_int_equal(buffer_append(&text, "", 1), 0);
	assert_int_equal(render_json((const char *)text.data, TEMPLATE_MARKDOWN, json, sizeof json - 1), -EFBIG);
	assert_non_null(strstr(err.text, "64 MB"));
	assert_int_equal(rendered.size, 1);
	buffer_release(&text);
}

static void test_json_that_is_none(void **state)
{
	static const char *const bad[] = { "", "{", "[1,]", "{\"a\" 1}", "\"\\x\"", "\"\\u12\"", "nul", "1 2", "--", "\"a", "{a: 1}" };
	struct buffer deep = BUFFER_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(render_json("{{.}}", TEMPLATE_MARKDOWN, bad[i], strlen(bad[i])), -EINVAL);
		assert_non_null(strstr(err.text, "no JSON"));
	}
	repeat(&deep, "[", 65);
	repeat(&deep, "]", 65);
	assert_int_equal(render_json("", TEMPLATE_MARKDOWN, (const char *)deep.data, deep.size), -E2BIG);
	buffer_release(&deep);
}

static int release(void **state)
{
	(void)state;
	buffer_release(&rendered);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_formats_of_numbers),
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_lines_with_nothing_but_a_tag_disappear),
		cmocka_unit_test(test_what_is_no_template),
		cmocka_unit_test(test_nothing_opens_a_code_span),
		cmocka_unit_test(test_links_in_markdown),
		cmocka_unit_test(test_html_in_markdown),
		cmocka_unit_test(test_places_of_values_in_html),
		cmocka_unit_test(test_values_where_they_could_do_something),
		cmocka_unit_test(test_templates_run_no_code),
		cmocka_unit_test(test_surprising_html),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_json_that_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
