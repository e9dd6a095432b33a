/* page_markup_findings.c - what to change, why, and where to look; and the notes. */
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "page/page_markup.h"

#define BAR_WIDTH 96
#define MINUS "\xe2\x88\x92"

/* ---- The line of a finding ---------------------------------------------------- */

static double largest_gain(const struct analysis *a)
{
	double most = 0;

	for (size_t i = 0; i < a->findings.count; i++)
		most = fmax(most, a->findings.list[i].gain_high);
	return most;
}

/* A bar with a whisker for the range, as wide as the largest of all. */
static void put_gain_bar(struct page *p, const struct analysis_finding *f)
{
	double scale = largest_gain(p->a) > 0 ? BAR_WIDTH / largest_gain(p->a) : 0;
	double low = fmax(0.5, scale * f->gain_low - 0.5), high = fmax(0.5, scale * f->gain_high - 0.5);

	page_put(p, "<svg class=\"gain-bar\" width=\"%d\" height=\"16\" aria-hidden=\"true\">"
		    "<rect class=\"gain-fill\" y=\"4\" width=\"%.1f\" height=\"8\"/>"
		    "<path class=\"whisker\" d=\"M%.1f 8H%.1fM%.1f 3V13M%.1f 3V13\"/></svg>",
		 BAR_WIDTH, scale * f->gain, low, high, low, high);
}

static void put_gain(struct page *p, const struct analysis_finding *f)
{
	if (f->note) { /* it predicts nothing */
		page_put(p, "<span class=\"gain\"><span class=\"range\">note</span></span>");
		return;
	}
	page_put(p, "<span class=\"gain\"><b>" MINUS "%.1f %%</b> <span class=\"range\">%.1f to %.1f</span></span>", 100 * f->gain,
		 100 * f->gain_low, 100 * f->gain_high);
	put_gain_bar(p, f);
}

/* The action; what it is about comes first where it does not say. */
static void put_title(struct page *p, const struct analysis_finding *f)
{
	size_t size;
	const char *place = report_place(f, &size);

	page_put(p, "<span class=\"title\">");
	if (size && !memmem(f->action, strlen(f->action), place, size)) {
		page_put(p, "<span class=\"place\">");
		page_text(p, place, size);
		page_put(p, ":</span> ");
	}
	page_sentence(p, f->action);
	page_put(p, "</span>");
}

static void put_line(struct page *p, const struct analysis_finding *f, size_t number)
{
	const char *level = report_level(f);

	page_put(p, "<summary><span class=\"number\">%zu</span> <span class=\"level %s\">%s</span> ", number,
		 level[0] == 'H' ? "high" : level[0] == 'M' ? "medium" : "low", level);
	put_title(p, f);
	page_put(p, " ");
	put_gain(p, f);
	page_put(p, "</summary>\n");
}

/* ---- What is behind it -------------------------------------------------------- */

static void put_figures(struct page *p, const struct analysis_finding *f)
{
	page_put(p, "<dt>Figures</dt><dd class=\"figures\">");
	if (!f->rule)
		page_put(p, "<span>share %.1f %%</span> ", 100 * f->share);
	else if (!isnan(f->rule_share))
		page_put(p, "<span>share %.1f %%, by the rule</span> ", 100 * f->rule_share);
	if (!f->note)
		page_put(p, "<span>saves %.1f %% (%.1f to %.1f)</span> ", 100 * f->gain, 100 * f->gain_low, 100 * f->gain_high);
	page_put(p, "<span>confidence %s (%.2f)</span> ", report_confidence(f->confidence), f->confidence);
	if (!isnan(f->frequency))
		page_put(p, "<span>in %.0f %% of the steps</span> ", 100 * f->frequency);
	page_put(p, "</dd>\n");
}

static void put_texts(struct page *p, const char *label, const struct finding_texts *texts)
{
	if (texts->count == 0)
		return;
	page_put(p, "<dt>%s</dt><dd><ul>", label);
	for (unsigned i = 0; i < texts->count; i++) {
		page_put(p, "<li>");
		page_sentence(p, texts->text[i]);
		page_put(p, "</li>");
	}
	page_put(p, "</ul></dd>\n");
}

static void put_example(struct page *p, const struct finding_example *e, unsigned place)
{
	char time[32], at[32];

	page_put(p, "<li><button type=\"button\" class=\"show\" data-example=\"%u\" hidden>Show</button> ", place);
	page_string(p, e->name);
	page_put(p, " <span class=\"time\">%s at %s</span></li>", page_time(time, (double)(e->end - e->begin)),
		 page_time(at, (double)e->begin));
}

static void put_examples(struct page *p, const struct analysis_finding *f)
{
	if (f->example_count == 0)
		return;
	page_put(p, "<dt>%s</dt><dd><ul class=\"examples\">", f->example_count == 1 ? "Example" : "Examples");
	for (unsigned i = 0; i < f->example_count; i++)
		put_example(p, &f->examples[i], i);
	page_put(p, "</ul></dd>\n");
}

static void put_sentence(struct page *p, const char *label, const char *text)
{
	if (!text || !text[0])
		return;
	page_put(p, "<dt>%s</dt><dd>", label);
	page_sentence(p, text);
	page_put(p, "</dd>\n");
}

static void put_finding(struct page *p, size_t place)
{
	const struct analysis_finding *f = &p->a->findings.list[place];

	page_put(p, "<details class=\"finding\" data-finding=\"%zu\"%s>", place, place ? "" : " open");
	put_line(p, f, place + 1);
	page_put(p, "<dl class=\"behind\">\n");
	put_figures(p, f);
	put_texts(p, "Evidence", &f->evidence);
	put_texts(p, "Where", &f->where);
	put_examples(p, f);
	put_sentence(p, "Why", f->rationale);
	put_sentence(p, "Rule", f->rule);
	put_sentence(p, "Id", f->id);
	page_put(p, "</dl></details>\n");
}

/* ---- All of them -------------------------------------------------------------- */

/* Readers add gains up, whether they may or not. */
static void put_sum(struct page *p)
{
	size_t used, gaining = 0;
	double left = report_remainder(p->a, p->a->findings.count, &used);

	for (size_t i = 0; i < p->a->findings.count; i++)
		gaining += !p->a->findings.list[i].note;
	if (used > 1)
		page_put(p, "<p class=\"sum\">These gains do not overlap%s; together " MINUS "%.1f %%.</p>\n",
			 used < gaining ? ", those of rules left out" : "", 100 * (1 - left));
}

static void put_costs(struct page *p)
{
	struct report_cost costs[REPORT_COSTS];
	size_t count = report_costs(p->a, costs);

	if (report_verdict(p->a).judged)
		page_put(p, "<p>Nothing worth changing above %g %%%s</p>\n", 100 * p->a->thresholds.gain_least,
			 count ? "; the largest costs are" : ".");
	else
		page_put(p, "<p>Cannot judge: what is missing is said above. That is not the same as \"nothing to change\".%s</p>\n",
			 count ? " The largest costs, worth it or not:" : "");
	if (count == 0)
		return;
	page_put(p, "<ul class=\"costs\">");
	for (size_t i = 0; i < count; i++) {
		page_put(p, "<li><b>%.1f %%</b> ", 100 * costs[i].share);
		page_string(p, costs[i].name);
		page_put(p, "</li>");
	}
	page_put(p, "</ul>\n");
}

static void put_notes(struct page *p)
{
	const struct finding_texts *notes = &p->a->notes;

	if (notes->count == 0)
		return;
	page_put(p, "<section id=\"notes\" aria-labelledby=\"notes-heading\">\n<h2 id=\"notes-heading\">Notes</h2>\n<ul>");
	for (unsigned i = 0; i < notes->count; i++) {
		page_put(p, "<li>");
		page_sentence(p, notes->text[i]);
		page_put(p, "</li>");
	}
	page_put(p, "</ul>\n</section>\n");
}

void page_markup_findings(struct page *p)
{
	const struct analysis *a = p->a;

	page_put(p, "<section id=\"findings\" aria-labelledby=\"findings-heading\">\n<h2 id=\"findings-heading\">%s</h2>\n",
		 a->findings.count ? "What to change first" : "Findings");
	if (a->findings.count)
		page_put(p, "<p class=\"columns\" aria-hidden=\"true\">%s saved, and its range, in percent</p>\n",
			 a->steps.count ? "step time" : "time");
	else
		put_costs(p);
	for (size_t i = 0; i < a->findings.count; i++)
		put_finding(p, i);
	put_sum(p);
	page_put(p, "</section>\n");
	put_notes(p);
}
