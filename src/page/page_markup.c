/* page_markup.c - see page_markup.h: the head, the header, the verdict, and where the views go. */
#include "page/page_markup.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "page/page_assets.h"
#include "page/page_escape.h"

#define TEXT_MOST 4096 /* characters */
#define NAME_MOST 120

static void check(struct page *p, int rc)
{
	if (rc < 0 && p->error == 0)
		p->error = rc;
}

void page_put(struct page *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	check(p, buffer_vprintf(p->out, format, args));
	va_end(args);
}

/* As the page's code writes it. */
char *page_time(char *out, double ns)
{
	size_t size = strlen(text_duration(out, ns));

	if (size > 2 && size + 2 <= 32 && memcmp(out + size - 2, "us", 2) == 0)
		memcpy(out + size - 2, "\xc2\xb5s", 4);
	return out;
}

void page_words(struct page *p, const char *name)
{
	for (; *name; name++)
		check(p, buffer_append(p->out, *name == '_' ? " " : name, 1));
}

static bool put_cut(struct page *p, const char *text, size_t size, size_t most)
{
	bool cut;

	if (size == 0) {
		text = "(no name)";
		size = strlen(text);
	}
	check(p, page_escape_cut(p->out, text, size, most, &cut));
	return cut;
}

void page_text(struct page *p, const char *text, size_t size)
{
	page_put(p, "<bdi>");
	put_cut(p, text, size, TEXT_MOST);
	page_put(p, "</bdi>");
}

void page_sentence(struct page *p, const char *text)
{
	page_text(p, text, strlen(text));
}

/* What is too long for a line is there in full, folded: nothing is told by hovering alone. */
void page_name(struct page *p, const char *text, size_t size)
{
	size_t before = p->out->size;

	page_put(p, "<details class=\"long\"><summary><bdi class=\"name\">");
	if (put_cut(p, text, size, NAME_MOST)) {
		page_put(p, "</bdi></summary><bdi class=\"name\">");
		put_cut(p, text, size, TEXT_MOST);
		page_put(p, "</bdi></details>");
		return;
	}
	p->out->size = p->error ? p->out->size : before;
	page_put(p, "<bdi class=\"name\">");
	put_cut(p, text, size, NAME_MOST);
	page_put(p, "</bdi>");
}

void page_string(struct page *p, uint32_t name)
{
	size_t size;
	const char *text = timeline_string(p->a->timeline, name, &size);

	page_name(p, text, size);
}

/* ---- The head ----------------------------------------------------------------- */

static void put_program(struct page *p)
{
	size_t size;
	const char *name = report_program(p->a, p->source, &size);

	put_cut(p, name, size, NAME_MOST);
}

static void put_verdict(struct page *p)
{
	const struct report_verdict verdict = report_verdict(p->a);

	page_put(p, "%s", verdict.words);
	if (verdict.reason)
		page_sentence(p, verdict.reason);
}

void page_markup_head(struct page *p)
{
	page_put(p, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '%s'; style-src '%s'; "
		    "img-src data:; base-uri 'none'; form-action 'none'\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>",
		 page_script_hash, page_style_hash);
	put_program(p);
	page_put(p, ": %s</title>\n", report_verdict(p->a).words);
}

/* ---- The header --------------------------------------------------------------- */

static void put_facts(struct page *p)
{
	const struct analysis *a = p->a;
	char time[32], count[TEXT_COUNT_SIZE];

	page_put(p, "<span class=\"facts\">%s", page_time(time, (double)a->timeline->duration));
	if (a->steps.count)
		page_put(p, " \xc2\xb7 %s", text_count(count, a->steps.count, "step", "steps"));
	if (a->device_count)
		page_put(p, " \xc2\xb7 %s", text_count(count, a->device_count, "GPU", "GPUs"));
	page_put(p, "</span>");
}

/* The style shows those whose section is there. */
static void put_links(struct page *p)
{
	page_put(p, "<nav aria-label=\"Sections\"><a href=\"#findings\">Findings</a><a href=\"#timeline\">Timeline</a>"
		    "<a href=\"#flame\">Flame graph</a><a href=\"#steps\">Steps</a><a href=\"#tables\">Tables</a>"
		    "<a href=\"#tops\">Top</a><a href=\"#integrity\">Integrity</a><a href=\"#run\">Run</a></nav>\n");
}

static void put_header(struct page *p)
{
	page_put(p, "<a class=\"skip\" href=\"#main\">Skip to the verdict</a>\n<header class=\"top\">\n"
		    "<div class=\"about\"><b class=\"brand\">InferScope</b><bdi class=\"program\">");
	put_program(p);
	page_put(p, "</bdi>");
	put_facts(p);
	page_put(p, "</div>\n");
	put_links(p);
	page_put(p, "<div class=\"tools\"><input type=\"search\" id=\"search\" placeholder=\"Search  /\" aria-label=\"Search names\" "
		    "autocomplete=\"off\" spellcheck=\"false\" hidden><span id=\"search-status\" role=\"status\" hidden></span>"
		    "<button type=\"button\" id=\"theme\" hidden>Theme</button>"
		    "<button type=\"button\" id=\"help\" aria-label=\"Help\" hidden>?</button></div>\n</header>\n");
}

/* ---- The verdict -------------------------------------------------------------- */

/* The last line of the diagnosis, with its range.  Firefox gives too much room to what has its first letter raised by the style. */
static void put_outcome(struct page *p)
{
	const struct report_outcome o = report_outcome(p->a);
	char from[32], to[32], least[32], most[32];

	if (!o.words)
		return;
	page_put(p, "<span class=\"outcome\">%c%s: %s %s \xe2\x86\x92 <b>%s</b> (\xe2\x88\x92%.0f%%)</span> ",
		 toupper((unsigned char)o.words[0]), o.words + 1, o.of, page_time(from, o.before), page_time(to, o.before * o.left),
		 100 * (1 - o.left));
	page_put(p, "<span class=\"range\">range %s to %s</span> ", page_time(least, o.before * o.least),
		 page_time(most, o.before * o.most));
}

static void put_badges(struct page *p)
{
	static const char *const classes[] = { "ok", "medium", "high" };
	const struct analysis *a = p->a;

	if (report_verdict(a).judged && a->bottleneck.confidence > 0)
		page_put(p, "<span class=\"badge\">confidence %s</span> ", report_confidence(a->bottleneck.confidence));
	page_put(p, "<a class=\"badge %s\" href=\"#integrity\">integrity %s</a>", classes[a->verdict], verdict_name(a->verdict));
}

static void put_doubt(struct page *p)
{
	const struct analysis_check *worst = report_doubt(p->a);

	if (!worst)
		return;
	page_put(p, "<p class=\"doubt\"><b>%s:</b> ", worst->status == CHECK_FAIL ? "not reliable" : "doubtful");
	page_sentence(p, worst->detail);
	page_put(p, "</p>\n");
}

static void put_end(struct page *p)
{
	struct report_end end;

	for (size_t i = 0; report_end(p->a, i, &end); i++) {
		page_put(p, "<p class=\"doubt\"><b>%s:</b> ", end.label);
		page_sentence(p, end.text);
		page_put(p, "</p>\n");
	}
}

static void put_summary(struct page *p)
{
	page_put(p, "<section class=\"summary\" aria-labelledby=\"verdict\">\n<h1 id=\"verdict\">");
	put_verdict(p);
	page_put(p, "</h1>\n<p class=\"lede\">");
	put_outcome(p);
	put_badges(p);
	page_put(p, "</p>\n");
	put_end(p);
	put_doubt(p);
	page_markup_tiles(p);
	page_markup_breakdown(p);
	page_put(p, "</section>\n");
}

static void put_views(struct page *p)
{
	static const char *const views[][2] = {
		{ "timeline", "Timeline" }, { "flame", "Flame graph" }, { "steps", "Steps" }, { "tables", "Tables" }
	};

	page_put(p, "<noscript><p class=\"message\">The timeline, the flame graph and the tables in full need JavaScript; "
		    "everything else is here.</p></noscript>\n");
	for (size_t i = 0; i < sizeof views / sizeof views[0]; i++)
		page_put(p, "<section id=\"%s\" aria-labelledby=\"%s-heading\" hidden><h2 id=\"%s-heading\">%s</h2></section>\n",
			 views[i][0], views[i][0], views[i][0], views[i][1]);
}

void page_markup_body(struct page *p)
{
	page_put(p, "<body>\n");
	put_header(p);
	page_put(p, "<main id=\"main\">\n");
	put_summary(p);
	page_markup_findings(p);
	put_views(p);
	page_markup_tops(p);
	page_markup_integrity(p);
}

void page_markup_end(struct page *p, const struct page_data_facts *facts)
{
	page_markup_run(p, facts);
	page_put(p, "</main>\n");
}
