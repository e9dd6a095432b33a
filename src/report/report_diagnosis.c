/*
 * report_diagnosis.c - about ten lines that say what limits a program and what to do about it.
 *
 * Everything is counted in columns, so that no line is wider than the terminal
 * whatever the names in the trace are.  Colour only repeats what words say.
 */
#include <stdio.h>
#include <string.h>

#include "analyze/words.h"
#include "base/text.h"
#include "report/report_parts.h"
#include "report/view.h"

#define BAR_COLUMNS 25   /* of all of the time */
#define LEAST_SHOWN 0.05 /* percent: less would be 0.0 */
#define FILES_LEAST 12   /* columns worth beginning a name in */

static double share(int64_t part, int64_t whole)
{
	return whole > 0 ? (double)part / (double)whole : 0;
}

/* ---- What was recorded -------------------------------------------------------- */

#define NAME_LEAST 10

static int title_facts(const struct analysis *a, bool steps, char *out, size_t size)
{
	char time[32], count[TEXT_COUNT_SIZE] = "", gpus[TEXT_COUNT_SIZE] = "";

	if (steps && a->steps.count)
		text_count(count, a->steps.count, "step", "steps");
	if (a->device_count)
		text_count(gpus, a->device_count, "GPU", "GPUs");
	return snprintf(out, size, "   %s%s%s%s%s   integrity ", text_duration(time, (double)a->timeline->duration), count[0] ? "   " : "", count,
			gpus[0] ? "   " : "", gpus);
}

static void put_title(struct view *v, const struct analysis *a, const struct report_source *source)
{
	static const enum view_style styles[] = { VIEW_GOOD, VIEW_WARN, VIEW_WARN };
	const char *verdict = verdict_name(a->verdict);
	char facts[200];
	size_t size, taken = (size_t)title_facts(a, true, facts, sizeof facts) + strlen(verdict);
	const char *name = report_program(a, source, &size);

	view_put(v, "inferscope  ");
	if (taken + NAME_LEAST > view_left(v))
		taken = (size_t)title_facts(a, false, facts, sizeof facts) + strlen(verdict);
	view_name(v, name, size, taken + NAME_LEAST < view_left(v) ? view_left(v) - taken : NAME_LEAST, COLUMNS_CUT_MIDDLE);
	view_put(v, "%s", facts);
	view_styled(v, styles[a->verdict], "%s", verdict);
	view_line(v);
}

/* How the program ended, where that is not well, comes before all that is said of its time. */
static void put_end(struct view *v, const struct analysis *a)
{
	struct report_end end;

	for (size_t i = 0; report_end(a, i, &end); i++) {
		view_put(v, "  ");
		view_styled(v, i == 0 && trace_program_failed(&a->program) ? VIEW_BAD : VIEW_WARN, "%s:", end.label);
		view_put(v, " ");
		view_sentence(v, end.text, 3, 10);
	}
}

static void put_run_by(struct view *v, const struct analysis *a)
{
	char text[2 * PROGRAM_SENTENCE];

	report_run_by(a, text);
	if (text[0] == '\0')
		return;
	view_put(v, "  ");
	view_begin(v, VIEW_DIM);
	view_name(v, text, strlen(text), 0, COLUMNS_CUT_MIDDLE);
	view_end(v);
	view_line(v);
}

static void put_doubt(struct view *v, const struct analysis *a)
{
	const struct analysis_check *worst = report_doubt(a);

	if (!worst)
		return;
	view_put(v, "  ");
	view_styled(v, VIEW_WARN, "%s:", worst->status == CHECK_FAIL ? "not reliable" : "doubtful");
	view_put(v, " ");
	view_sentence(v, worst->detail, 3, 4);
}

#define VERDICT_LINES 3

static void put_verdict(struct view *v, const struct analysis *a)
{
	const struct report_verdict verdict = report_verdict(a);
	char right[40] = "", text[sizeof verdict.words + FINDING_TEXT];

	if (verdict.judged && a->bottleneck.confidence > 0)
		snprintf(right, sizeof right, "confidence %s", report_confidence(a->bottleneck.confidence));
	snprintf(text, sizeof text, "%s%s", verdict.words, verdict.reason ? verdict.reason : "");
	view_begin(v, VIEW_BOLD);
	view_words(v, text, VERDICT_LINES, 2);
	view_end(v);
	if (right[0] && view_left(v) < strlen(right) + 2)
		view_line(v);
	if (right[0]) {
		view_pad(v, v->columns - strlen(right));
		view_put(v, "%s", right);
	}
	view_line(v);
}

/* The first: it says most about whether to believe the rest. */
static void put_note(struct view *v, const struct analysis *a)
{
	if (a->notes.count == 0)
		return;
	view_styled(v, VIEW_WARN, "note:");
	view_put(v, " ");
	view_sentence(v, a->notes.text[0], 3, 6);
}

/* ---- Bars ---------------------------------------------------------------------- */

struct item {
	const char *name;
	double share;
};

#define ITEMS_MOST 16
struct items {
	struct item list[ITEMS_MOST + 1]; /* the largest first; one more for "other" */
	size_t count;
};

static void items_add(struct items *items, const char *name, double part)
{
	size_t at = items->count;

	if (100 * part < LEAST_SHOWN || items->count == ITEMS_MOST)
		return;
	for (; at > 0 && items->list[at - 1].share < part; at--)
		items->list[at] = items->list[at - 1];
	items->list[at] = (struct item){ name, part };
	items->count++;
}

static size_t item_columns(const struct view *v, const struct item *item)
{
	char value[16];

	return 2 + strlen(words_label(item->name)) + 1 + view_bar_columns(v, item->share, BAR_COLUMNS) + 1 +
	       (size_t)snprintf(value, sizeof value, "%.1f", 100 * item->share) + 1;
}

/* Lets the smallest be "other" until the rest fits. */
static void items_fit(const struct view *v, struct items *items, size_t room)
{
	struct item other = { "other", 0 };

	for (size_t i = 0; i < items->count; i++)
		if (strcmp(items->list[i].name, other.name) == 0) {
			other.share = items->list[i].share;
			items->count--;
			memmove(&items->list[i], &items->list[i + 1], (items->count - i) * sizeof items->list[0]);
		}
	for (;;) {
		size_t columns = other.share > 0 ? item_columns(v, &other) : 0;

		for (size_t i = 0; i < items->count; i++)
			columns += item_columns(v, &items->list[i]);
		if (columns <= room + 1 || items->count == 0)
			break;
		other.share += items->list[--items->count].share;
	}
	if (other.share > 0)
		items->list[items->count++] = other;
}

/* tail: what is said behind them, or below where there is no room. */
static void put_items(struct view *v, struct items *items, enum view_style style, const char *tail)
{
	items_fit(v, items, view_left(v));
	for (size_t i = 0; i < items->count; i++) {
		view_put(v, i ? "   " : "  ");
		view_put(v, "%s", words_label(items->list[i].name));
		view_put(v, " ");
		view_begin(v, style);
		view_bar(v, items->list[i].share, BAR_COLUMNS);
		view_end(v);
		view_put(v, " %.1f", 100 * items->list[i].share);
	}
	if (view_left(v) < strlen(tail))
		view_line(v);
	view_put(v, "%s", tail);
	view_line(v);
}

static struct items items_of(const struct report_shares *shares, bool waiting)
{
	struct items items = { .count = 0 };

	for (size_t i = 0; i < shares->count; i++)
		if ((shares->list[i].group == REPORT_WAITING) == waiting)
			items_add(&items, shares->list[i].name, share(shares->list[i].time, shares->span));
	return items;
}

static void put_device_bars(struct view *v, const struct analysis *a, const struct report_shares *shares)
{
	const struct report_device_time t = report_device_time(a);
	struct items busy = items_of(shares, false), idle = items_of(shares, true);

	view_put(v, "  busy %4.1f%%", 100 * share(t.span - t.idle, t.span));
	put_items(v, &busy, VIEW_GOOD, "");
	view_put(v, "  idle %4.1f%%", 100 * share(t.idle, t.span));
	put_items(v, &idle, VIEW_WARN, "");
}

static void put_bars(struct view *v, const struct analysis *a)
{
	struct items items = { .count = 0 };
	struct report_shares shares;
	char whole[40];

	if (a->summary.end_to_end <= 0)
		return;
	report_shares(a, &shares);
	if (a->device_count) {
		put_device_bars(v, a, &shares);
		return;
	}
	for (size_t i = 0; i < shares.count; i++)
		items_add(&items, shares.list[i].name, share(shares.list[i].time, shares.span));
	snprintf(whole, sizeof whole, "  %% of %s", report_whole(a)); /* of which the costs are, too */
	put_items(v, &items, VIEW_GOOD, whole);
}

static void put_steps(struct view *v, const struct analysis *a)
{
	char p50[32], p99[32];

	if (a->steps.count == 0)
		return;
	view_put(v, "  step %s median, %s p99, slowest #%lld", text_duration(p50, (double)a->steps.p50),
		 text_duration(p99, (double)a->steps.p99), (long long)report_slowest_step(a)->number);
	view_line(v);
}

/* ---- What to change ------------------------------------------------------------- */

#define GAIN_COLUMNS 9
#define RANGE_COLUMNS 13

static void put_gain(struct view *v, const struct analysis_finding *f)
{
	char gain[40], range[40];

	if (f->note) { /* it predicts nothing */
		view_pad(v, v->columns - RANGE_COLUMNS - 4);
		view_styled(v, VIEW_DIM, "note");
		return;
	}
	snprintf(gain, sizeof gain, "%s%.1f%%", view_glyph(v, VIEW_MINUS), 100 * f->gain);
	snprintf(range, sizeof range, "%.1f%s%.1f", 100 * f->gain_low, view_glyph(v, VIEW_RANGE), 100 * f->gain_high);
	view_pad(v, v->columns - RANGE_COLUMNS - columns_width(gain, strlen(gain)));
	view_styled(v, VIEW_BOLD, "%s", gain);
	view_pad(v, v->columns - RANGE_COLUMNS + 2);
	view_styled(v, VIEW_DIM, "%s", range);
}

#define PLACE_LEAST 20 /* columns of a place, if it has so many */
#define REST_LEAST 8

/* The action, cut, but not so that the place in the user's program is lost: where it comes too late in the action, or is not
 * named there at all, it stands first. */
static void put_action(struct view *v, const struct analysis_finding *f, size_t room)
{
	size_t size, end = v->at + room, place_room = room * 3 / 5;
	const char *place = report_place(f, &size), *action = f->action;
	const char *named = place && size ? memmem(action, strlen(action), place, size) : NULL;

	if (named && (size_t)(named - action) + PLACE_LEAST + REST_LEAST <= room) {
		view_name(v, action, (size_t)(named - action), room, COLUMNS_CUT_END);
		view_name(v, place, size, end - v->at - REST_LEAST, COLUMNS_CUT_MIDDLE);
		action = named + size;
	} else if (size) {
		view_name(v, place, size, place_room, COLUMNS_CUT_MIDDLE);
		view_put(v, ": ");
	}
	if (end > v->at)
		view_name(v, action, strlen(action), end - v->at, COLUMNS_CUT_END);
}

static void put_finding(struct view *v, const struct analysis_finding *f, size_t number)
{
	const char *level = report_level(f);
	size_t room = v->columns - 9 - 1 - GAIN_COLUMNS - RANGE_COLUMNS + 2;

	view_put(v, "%2zu ", number);
	view_styled(v, level[0] == 'H' ? VIEW_BAD : level[0] == 'M' ? VIEW_WARN : VIEW_DIM, "%s", level);
	view_pad(v, 9);
	put_action(v, f, room);
	put_gain(v, f);
	view_line(v);
}

static void put_findings(struct view *v, const struct analysis *a)
{
	const char *of = a->steps.count ? "step time" : "time";

	view_styled(v, VIEW_BOLD, "what to change first");
	view_pad(v, v->columns - RANGE_COLUMNS - strlen(of));
	view_put(v, "%s  range", of);
	view_line(v);
	for (size_t i = 0; i < a->findings.count && i < REPORT_FIRST; i++)
		put_finding(v, &a->findings.list[i], i + 1);
}

/* ---- What costs most, where nothing is to be changed ------------------------------ */

static void put_costs(struct view *v, const struct analysis *a)
{
	struct report_cost costs[REPORT_COSTS];
	size_t count = report_costs(a, costs);

	if (report_verdict(a).judged)
		view_put(v, "Nothing worth changing above %g%%%s", 100 * a->thresholds.gain_least, count ? "; the largest costs are" : "");
	else if (count)
		view_put(v, "the largest costs, worth it or not");
	else
		return;
	view_line(v);
	for (size_t i = 0; i < count; i++) {
		size_t size;
		const char *name = timeline_string(a->timeline, costs[i].name, &size);

		name = report_short_name(name, &size);
		view_put(v, "  %5.1f%%  ", 100 * costs[i].share);
		view_name(v, size ? name : "(no name)", size ? size : 9, 0, COLUMNS_CUT_END);
		view_line(v);
	}
}

/* ---- The end ---------------------------------------------------------------------- */

static void put_outcome(struct view *v, const struct analysis *a)
{
	const struct report_outcome o = report_outcome(a);
	char from[32], to[32];

	if (o.words)
		view_put(v, "%s: %s %s %s %s (%s%.0f%%)", o.words, o.of, text_duration(from, o.before), view_glyph(v, VIEW_TO),
			 text_duration(to, o.before * o.left), view_glyph(v, VIEW_MINUS), 100 * (1 - o.left));
}

static void put_file(struct view *v, const char *path)
{
	if (!path)
		return;
	if (v->at && view_left(v) < FILES_LEAST + 3 && view_left(v) < strlen(path) + 3)
		view_line(v);
	if (v->at)
		view_put(v, "   ");
	view_begin(v, VIEW_DIM);
	view_name(v, path, strlen(path), 0, COLUMNS_CUT_MIDDLE);
	view_end(v);
}

int report_diagnosis(const struct analysis *a, const struct report_source *source, const struct report_view_options *options,
		     struct buffer *out)
{
	struct view v = view_of(options, out);

	put_title(&v, a, source);
	put_end(&v, a);
	put_doubt(&v, a);
	put_verdict(&v, a);
	if (!a->ran_nothing) {
		put_bars(&v, a);
		put_steps(&v, a);
	}
	if (a->findings.count)
		put_findings(&v, a);
	else if (a->timeline->events && !a->ran_nothing)
		put_costs(&v, a);
	put_note(&v, a);
	put_run_by(&v, a);
	put_outcome(&v, a);
	put_file(&v, options->report);
	put_file(&v, options->trace);
	if (v.at)
		view_line(&v);
	return v.error;
}
