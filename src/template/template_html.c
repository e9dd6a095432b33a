/*
 * template_html.c - where a tag may stand in HTML, and what HTML may be in a template.
 *
 * Values are safe in text and in attributes in double quotes, but for those whose
 * value is code, style or an address.  Where the text is in HTML is told by the
 * rules of the HTML standard's tokenizer, and whatever browsers are known to read
 * in surprising ways is refused rather than understood.  So is what runs code: a
 * report that somebody made with a template from elsewhere only shows.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "template/template_parts.h"

static bool complain(struct complaint *ret, size_t at, const char *text)
{
	*ret = (struct complaint){ at, text };
	return false;
}

static bool is_in(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

/* ---- What is refused ---------------------------------------------------------- */

/* They run code, load what does, change where addresses lead, or turn what follows into something else. */
static const char *const refused_tags[] = {
	"script", "iframe", "frame", "frameset", "object", "embed", "applet", "portal", "base", "animate", "set", "animatemotion",
	"animatetransform", "animatecolor", "xmp", "noembed", "noframes", "noscript", "plaintext", "template", "foreignobject",
	"annotation-xml", NULL,
};

static const char *const addresses[] = {
	"href", "src", "action", "formaction", "xlink:href", "data", "poster", "background", "cite", "ping", "srcset", "manifest",
	"longdesc", "classid", "codebase", "archive", "profile", "icon", NULL,
};

/* Attributes whose value says what other things mean. */
static const char *const meanings[] = {
	"style", "content", "type", "rel", "target", "is", "nonce", "integrity", "sandbox", "allow", "charset", NULL,
};

static bool judge_tag(const struct html_guard *g, size_t at, struct complaint *ret)
{
	if (g->closing || !is_in(refused_tags, g->tag))
		return true;
	return complain(ret, at, "this element could run code or hide it, which templates must not");
}

static bool judge_name(const struct html_guard *g, size_t at, struct complaint *ret)
{
	if (strncmp(g->name, "on", 2) == 0 || strcmp(g->name, "srcdoc") == 0)
		return complain(ret, at, "this attribute runs code, which templates must not");
	if (strcmp(g->name, "http-equiv") == 0)
		return complain(ret, at, "http-equiv can lead elsewhere, which templates must not");
	return true;
}

static bool has_address(const struct html_guard *g)
{
	return is_in(addresses, g->name);
}

/* What stands before the first / ? or # of an address: no scheme, or one that runs nothing. */
static bool judge_address(struct html_guard *g, size_t at, struct complaint *ret)
{
	const char *colon = memchr(g->scheme, ':', g->scheme_size);
	size_t size = colon ? (size_t)(colon - g->scheme) : 0;

	g->value_judged = true;
	if (!colon || (size == 4 && memcmp(g->scheme, "http", 4) == 0) || (size == 5 && memcmp(g->scheme, "https", 5) == 0) ||
	    (size == 6 && memcmp(g->scheme, "mailto", 6) == 0))
		return true;
	if (strcmp(g->name, "src") == 0 && g->scheme_size == 10 && memcmp(g->scheme, "data:image", 10) == 0)
		return true;
	return complain(ret, at, "an address in a template begins with http:, https: or mailto:, or is a place beside the report");
}

static bool take_address(struct html_guard *g, char c, size_t at, struct complaint *ret)
{
	if (!has_address(g) || g->closing || g->value_judged)
		return true;
	if (c == '/' || c == '?' || c == '#')
		return judge_address(g, at, ret);
	if (c == '&' || c == '\\' || isspace((unsigned char)c) || (unsigned char)c < ' ')
		return complain(ret, at, "the begin of an address is written plainly, without spaces, & and backslashes");
	if (g->scheme_size < sizeof g->scheme)
		g->scheme[g->scheme_size++] = (char)tolower((unsigned char)c);
	return g->scheme_size < sizeof g->scheme || judge_address(g, at, ret);
}

/* ---- Names -------------------------------------------------------------------- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == ':' || c == '_' || c == '.' || c == '@';
}

static bool add_letter(char *name, size_t *size, char c, size_t at, struct complaint *ret)
{
	if (!is_name(c))
		return complain(ret, at, "this letter does not belong into a tag");
	if (*size + 1 >= HTML_NAME_MAX)
		return complain(ret, at, "the name is too long");
	name[(*size)++] = (char)tolower((unsigned char)c);
	name[*size] = '\0';
	return true;
}

/* ---- Tags ----------------------------------------------------------------------- */

static void end_tag(struct html_guard *g)
{
	bool escapable = strcmp(g->tag, "title") == 0 || strcmp(g->tag, "textarea") == 0;

	g->state = g->closing ? HTML_TEXT : escapable ? HTML_ESCAPABLE : strcmp(g->tag, "style") == 0 ? HTML_RAW : HTML_TEXT;
}

static void begin_name(struct html_guard *g)
{
	g->state = HTML_NAME;
	g->name_size = 0;
	g->name[0] = '\0';
	g->place++;
}

static void begin_value(struct html_guard *g, enum html_state state)
{
	g->state = state;
	g->scheme_size = 0;
	g->value_judged = false;
}

static bool end_value(struct html_guard *g, size_t at, struct complaint *ret)
{
	g->state = HTML_TAG;
	return !has_address(g) || g->closing || g->value_judged || judge_address(g, at, ret);
}

static bool in_tag_open(struct html_guard *g, char c, size_t at, struct complaint *ret)
{
	if (c == '/' && !g->closing) {
		g->closing = true;
		return true;
	}
	if (isalpha((unsigned char)c)) {
		g->state = HTML_TAG_NAME;
		return add_letter(g->tag, &g->tag_size, c, at, ret);
	}
	if (c == '<' && !g->closing)
		return true; /* the one before it was text */
	if (g->closing || c == '!' || c == '?')
		return complain(ret, at, "only elements, <!-- comments --> and <!doctype html> are understood behind <");
	g->state = HTML_TEXT; /* a sign that is meant */
	return true;
}

static bool in_tag(struct html_guard *g, char c, size_t at, struct complaint *ret)
{
	if (c == '>') {
		end_tag(g);
		return true;
	}
	if (is_space(c) || c == '/')
		return true;
	begin_name(g);
	return add_letter(g->name, &g->name_size, c, at, ret);
}

static bool in_tag_name(struct html_guard *g, char c, size_t at, struct complaint *ret)
{
	if (!is_space(c) && c != '/' && c != '>')
		return add_letter(g->tag, &g->tag_size, c, at, ret);
	g->state = HTML_TAG;
	return judge_tag(g, at, ret) && in_tag(g, c, at, ret);
}

static bool in_equals(struct html_guard *g, char c, size_t at, struct complaint *ret)
{
	if (c == '=') {
		g->state = HTML_VALUE;
		return true;
	}
	if (is_space(c)) {
		g->state = HTML_EQUALS;
		return true;
	}
	g->state = HTML_TAG;
	return in_tag(g, c, at, ret);
}

static bool in_name(struct html_guard *g, char c, size_t at, struct complaint *ret)
{
	if (!is_space(c) && c != '/' && c != '>' && c != '=')
		return add_letter(g->name, &g->name_size, c, at, ret);
	return judge_name(g, at, ret) && in_equals(g, c, at, ret);
}

static bool in_bare(struct html_guard *g, char c, size_t at, struct complaint *ret)
{
	if (is_space(c) || c == '>')
		return end_value(g, at, ret) && in_tag(g, c, at, ret);
	if (strchr("\"'<=`", c))
		return complain(ret, at, "this letter needs a value in quotes around it");
	return take_address(g, c, at, ret);
}

static bool in_value(struct html_guard *g, char c, size_t at, struct complaint *ret)
{
	if (is_space(c))
		return true;
	if (c == '>')
		return complain(ret, at, "the attribute has no value");
	begin_value(g, c == '"' ? HTML_DOUBLE : c == '\'' ? HTML_SINGLE : HTML_BARE);
	return c == '"' || c == '\'' || in_bare(g, c, at, ret);
}

static bool in_quotes(struct html_guard *g, char c, char quote, size_t at, struct complaint *ret)
{
	return c == quote ? end_value(g, at, ret) : take_address(g, c, at, ret);
}

/* ---- Text ------------------------------------------------------------------------- */

/* What begins with <; passes over all of <!-- and <!doctype. */
static bool in_text(struct html_guard *g, const char *text, size_t size, size_t *at, struct complaint *ret)
{
	const char *s = text + *at;
	size_t left = size - *at;

	if (*s != '<')
		return true;
	if (left >= 4 && memcmp(s, "<!--", 4) == 0) {
		if ((left > 4 && s[4] == '>') || (left > 5 && s[4] == '-' && s[5] == '>'))
			return complain(ret, *at, "this comment ends where it begins");
		g->state = HTML_COMMENT;
		*at += 3;
	} else if (left >= 9 && strncasecmp(s, "<!doctype", 9) == 0) {
		g->state = HTML_DOCTYPE;
		*at += 8;
	} else {
		g->state = HTML_TAG_OPEN;
		g->tag_size = 0;
		g->closing = false;
	}
	return true;
}

/* Ends at --> and has no -- before. */
static bool in_comment(struct html_guard *g, const char *text, size_t size, size_t *at, struct complaint *ret)
{
	if (text[*at] != '-' || *at + 1 == size || text[*at + 1] != '-')
		return true;
	if (*at + 2 == size || text[*at + 2] != '>')
		return complain(ret, *at, "-- inside of a comment");
	*at += 2;
	g->state = HTML_TEXT;
	return true;
}

/* In title, textarea, style: the only < is that of its end. */
static bool in_plain(struct html_guard *g, const char *text, size_t size, size_t *at, struct complaint *ret)
{
	const char *s = text + *at;
	size_t left = size - *at;

	if (*s != '<')
		return true;
	if (left < g->tag_size + 3 || s[1] != '/' || strncasecmp(s + 2, g->tag, g->tag_size) != 0 ||
	    (s[g->tag_size + 2] != '>' && !is_space(s[g->tag_size + 2])))
		return complain(ret, *at, "inside of title, textarea and style, < only begins their end");
	*at += g->tag_size + 1;
	g->closing = true;
	g->state = HTML_TAG;
	return true;
}

static bool step(struct html_guard *g, const char *text, size_t size, size_t *at, struct complaint *ret)
{
	char c = text[*at];

	switch (g->state) {
	case HTML_TEXT:
		return in_text(g, text, size, at, ret);
	case HTML_ESCAPABLE:
	case HTML_RAW:
		return in_plain(g, text, size, at, ret);
	case HTML_COMMENT:
		return in_comment(g, text, size, at, ret);
	case HTML_DOCTYPE:
		g->state = c == '>' ? HTML_TEXT : HTML_DOCTYPE;
		return true;
	case HTML_TAG_OPEN:
		return in_tag_open(g, c, *at, ret);
	case HTML_TAG_NAME:
		return in_tag_name(g, c, *at, ret);
	case HTML_TAG:
		return in_tag(g, c, *at, ret);
	case HTML_NAME:
		return in_name(g, c, *at, ret);
	case HTML_EQUALS:
		return in_equals(g, c, *at, ret);
	case HTML_VALUE:
		return in_value(g, c, *at, ret);
	case HTML_DOUBLE:
		return in_quotes(g, c, '"', *at, ret);
	case HTML_SINGLE:
		return in_quotes(g, c, '\'', *at, ret);
	default:
		return in_bare(g, c, *at, ret);
	}
}

bool html_guard_text(struct html_guard *g, const char *text, size_t size, bool last, struct complaint *ret)
{
	for (size_t at = 0; at < size; at++)
		if (!text[at] || !step(g, text, size, &at, ret))
			return text[at] ? false : complain(ret, at, "a NUL is no text");
	if (last && g->state != HTML_TEXT)
		return complain(ret, size, "the template ends inside of a tag, a comment, or an element of plain text");
	return true;
}

/* ---- Our tags in it ------------------------------------------------------------- */

static bool judge_quoted(const struct html_guard *g, struct complaint *ret)
{
	if (has_address(g))
		return complain(ret, 0, "a value inside of an address could lead anywhere, or run");
	if (is_in(meanings, g->name) || strncmp(g->name, "xmlns", 5) == 0)
		return complain(ret, 0, "a value inside of an attribute that has a meaning of its own");
	return true;
}

bool html_guard_tag(const struct html_guard *g, struct complaint *ret)
{
	switch (g->state) {
	case HTML_TEXT:
	case HTML_ESCAPABLE:
		return true;
	case HTML_DOUBLE:
		return judge_quoted(g, ret);
	case HTML_RAW:
		return complain(ret, 0, "a value inside of a style sheet");
	case HTML_COMMENT:
	case HTML_DOCTYPE:
		return complain(ret, 0, "a value inside of a comment or a declaration; {{! is a comment that does not appear");
	case HTML_SINGLE:
	case HTML_BARE:
	case HTML_VALUE:
		return complain(ret, 0, "a value inside of an attribute without double quotes");
	default:
		return complain(ret, 0, "a value inside of a tag; it can be in the text or in an attribute in double quotes");
	}
}
