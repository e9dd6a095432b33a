/* page_markup_run.c - whether to believe it, and what was recorded where and how: what is of no interest until there is doubt. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/words.h"
#include "base/text.h"
#include "page/page_markup.h"

#define CLOCKS 64
#define HOSTS 20

/* ---- Integrity ------------------------------------------------------------------ */

static bool is_worth_a_word(const struct analysis_check *c)
{
	return c->status == CHECK_NOTE || c->status == CHECK_WARN || c->status == CHECK_FAIL;
}

static void put_check(struct page *p, const struct analysis_check *c)
{
	static const char *const classes[] = { "ok", "low", "medium", "high", "low" };

	page_put(p, "<li><span class=\"level %s\">", classes[c->status]);
	page_words(p, check_status_name(c->status));
	page_put(p, "</span> <b>");
	page_put(p, "%s", words_label(c->name));
	page_put(p, "</b>");
	if (c->detail[0] && c->status != CHECK_OK) {
		page_put(p, ": ");
		page_sentence(p, c->detail);
	}
	page_put(p, "</li>\n");
}

static void put_checks(struct page *p, bool worth)
{
	char checks[TEXT_COUNT_SIZE];
	size_t count = 0;

	for (size_t i = 0; i < p->a->check_count; i++)
		count += is_worth_a_word(&p->a->checks[i]) == worth;
	if (count == 0)
		return;
	if (!worth)
		page_put(p, "<details class=\"fold\"><summary>%s found nothing, or could not be made</summary>",
			 text_count(checks, count, "check", "checks"));
	page_put(p, "<ul class=\"checks\">\n");
	for (size_t i = 0; i < p->a->check_count; i++)
		if (is_worth_a_word(&p->a->checks[i]) == worth)
			put_check(p, &p->a->checks[i]);
	page_put(p, "</ul>%s\n", worth ? "" : "</details>");
}

static void put_clock(struct page *p, const struct timeline_clock *c)
{
	double error = analysis_clock_error(p->a, c);
	char time[32];

	page_put(p, "<tr><th scope=\"row\">");
	page_string(p, c->name);
	page_put(p, "</th><td>");
	page_words(p, c->method);
	page_put(p, "</td><td>%s</td>", c->error_ns < 0 ? "not known" : page_time(time, c->error_ns));
	page_put(p, "<td>%s</td></tr>\n", isnan(error) ? "none" : page_time(time, error));
}

static void put_clocks(struct page *p)
{
	const struct timeline *t = p->a->timeline;

	if (t->clock_count == 0)
		return;
	page_put(p, "<details class=\"fold\"><summary>How well the clocks agree</summary>"
		    "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Clocks\"><table class=\"plain\">\n"
		    "<thead><tr><th scope=\"col\">clock</th><th scope=\"col\">fitted by</th>"
		    "<th scope=\"col\">error at most</th><th scope=\"col\">error assumed</th></tr></thead>\n<tbody>\n");
	for (uint32_t i = 0; i < t->clock_count && i < CLOCKS; i++)
		put_clock(p, &t->clocks[i]);
	page_put(p, "</tbody></table></div></details>\n");
}

void page_markup_integrity(struct page *p)
{
	page_put(p, "<section id=\"integrity\" aria-labelledby=\"integrity-heading\">\n<h2 id=\"integrity-heading\">Integrity: %s</h2>\n",
		 verdict_name(p->a->verdict));
	put_checks(p, true);
	put_checks(p, false);
	put_clocks(p);
	page_put(p, "</section>\n");
}

/* ---- The run -------------------------------------------------------------------- */

static void put_fact(struct page *p, const char *label, const char *text, size_t size)
{
	if (size == 0)
		return;
	page_put(p, "<dt>%s</dt><dd class=\"mono\">", label);
	page_text(p, text, size);
	page_put(p, "</dd>\n");
}

static void put_command(struct page *p)
{
	struct buffer command = BUFFER_INIT;
	int rc = report_command(p->a, &command);

	if (rc < 0 && p->error == 0)
		p->error = rc;
	put_fact(p, "Command", (const char *)command.data, command.size);
	buffer_release(&command);
}

static void put_program(struct page *p)
{
	char words[PROGRAM_SENTENCE];

	trace_program_say_interpreter(&p->a->program, words);
	put_fact(p, "Interpreter", words, strlen(words));
	trace_program_say_end(&p->a->program, words);
	put_fact(p, "Program", words, strlen(words));
}

static void put_trace(struct page *p)
{
	const struct timeline *t = p->a->timeline;
	char digits[32], date[REPORT_DATE];
	const char *text;
	size_t size;

	put_fact(p, "Trace", p->source->path, strlen(p->source->path));
	page_put(p, "<dt>Format</dt><dd>%s</dd>\n", p->source->format);
	page_put(p, "<dt>Events</dt><dd>%s</dd>\n", text_group_digits(digits, t->events));
	page_put(p, "<dt>Lost events</dt><dd>%s</dd>\n", text_group_digits(digits, t->lost));
	put_command(p);
	put_program(p);
	for (uint32_t i = 0; i < t->host_count && i < HOSTS; i++) {
		text = timeline_string(t, t->hosts[i].name, &size);
		put_fact(p, "Host", text, size);
	}
	if (report_date(date, t->start_ns))
		page_put(p, "<dt>Recorded</dt><dd><time datetime=\"%s\">%s</time></dd>\n", date, date);
	if (t->reader && trace_reader_info_string(t->reader, "producer", &text, &size) == 0)
		put_fact(p, "Trace written by", text, size);
	if (p->source->version)
		page_put(p, "<dt>Report written by</dt><dd>inferscope %s</dd>\n", p->source->version);
}

/* How the data was reduced, in full, since what is not here cannot be seen to be missing. */
static void put_data(struct page *p, const struct page_data_facts *f)
{
	char all[TEXT_COUNT_SIZE], here[32], time[32];

	page_put(p, "<dt>In this page</dt><dd>");
	text_count(all, f->slices, "slice", "slices");
	if (f->exact)
		page_put(p, "all %s", all);
	else
		page_put(p, "%s of %s: %sthose around the examples of the findings, of the slowest and the median step, and "
			    "the longest of the rest", text_group_digits(here, f->slices_here), all,
			 f->range_whole ? "all of the range that was asked for, " : "");
	if (f->range && !f->range_whole)
		page_put(p, "; the range that was asked for has too many to be here whole, a shorter one may fit");
	if (f->quantum > 1)
		page_put(p, "; times in the views are rounded to %s", page_time(time, (double)f->quantum));
	page_put(p, "%s; all figures above are of the whole trace</dd>\n", f->links ? "" : "; which call launched which work is left out");
}

void page_markup_run(struct page *p, const struct page_data_facts *facts)
{
	page_put(p, "<section id=\"run\" aria-labelledby=\"run-heading\">\n<h2 id=\"run-heading\">Run</h2>\n<dl class=\"facts\">\n");
	put_trace(p);
	put_data(p, facts);
	page_put(p, "</dl>\n</section>\n");
}
