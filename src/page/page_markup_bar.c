/*
 * page_markup_bar.c - where the time goes, as one bar and in words.
 *
 * What is busy is solid, what waits is hatched, each under a total of its own.
 * Places are in percent, so that the bar is as wide as the page; a name stands
 * in its part only where it fits a page of usual width.
 */
#include <stdio.h>

#include "analyze/words.h"
#include "base/text.h"
#include "page/page_markup.h"

#define HEIGHT 34
#define WIDTH 690        /* px of the bar on the narrowest page that shows names in it */
#define CHARACTER 7.0    /* px of an average one */
#define PADDING 16
#define LEAST_SHOWN 0.05 /* percent: less would be 0.0 */
#define HATCHES 4

struct part {
	const char *name, *class;
	int64_t time;
	enum report_group group;
	unsigned number; /* of its group */
};

struct parts {
	struct part list[OWNER_COUNT + IDLE_CAUSE_COUNT];
	size_t count;
	int64_t span, totals[REPORT_UNSEEN + 1];
};

/* The colours of the page's views. */
static const char *class_of(const char *name)
{
	static const char *const classes[][2] = {
		{ "gpu_compute", "kernel" },  { "copy", "copy" },         { "communication", "communication" }, { "python", "python" },
		{ "operators", "operator" },  { "native", "native" },     { "scopes", "scope" },          { "runtime", "runtime" },
		{ "data_loading", "copy" },   { "file_calls", "copy" },   { "messages", "communication" }, { "garbage_collection", "gc" },
		{ "compilation", "compile" }, { "imports", "compile" },   { "kernel", "runtime" },        { "new_memory", "runtime" },
	};

	for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
		if (strcmp(classes[i][0], name) == 0)
			return classes[i][1];
	return "other";
}

static bool comes_before(const struct part *a, const struct part *b)
{
	return a->group != b->group ? a->group < b->group : a->time > b->time;
}

/* Busy ones first, in each group the largest. */
static void parts_of(struct parts *parts, const struct analysis *a)
{
	struct report_shares shares;

	*parts = (struct parts){ .count = 0 };
	report_shares(a, &shares);
	parts->span = shares.span;
	for (size_t i = 0; i < shares.count; i++) {
		const struct report_share *s = &shares.list[i];
		const struct part part = { s->name, class_of(s->name), s->time, s->group, 0 };
		size_t at = parts->count;

		if (__builtin_add_overflow(parts->totals[s->group], s->time, &parts->totals[s->group]))
			parts->totals[s->group] = INT64_MAX; /* of a damaged trace */
		if (report_percent(s->time, shares.span) < LEAST_SHOWN)
			continue;
		for (; at > 0 && comes_before(&part, &parts->list[at - 1]); at--)
			parts->list[at] = parts->list[at - 1];
		parts->list[at] = part;
		parts->count++;
	}
	for (size_t i = 1; i < parts->count; i++)
		if (parts->list[i].group == parts->list[i - 1].group)
			parts->list[i].number = parts->list[i - 1].number + 1;
}

/* "busy 58.6 %"; of poor evidence "idle 38.0 to 47.0 %". */
static void put_total(struct page *p, const struct parts *parts, enum report_group group)
{
	static const char *const words[2][3] = { { "at work", "waiting", "not seen" }, { "busy", "idle", "" } };
	const struct report_device_time t = report_device_time(p->a);
	bool device = p->a->device_count > 0;

	page_put(p, "%s ", words[device][group]);
	if (device && group == REPORT_WAITING && t.idle_low != t.idle_high)
		page_put(p, "%.1f to %.1f %%", report_percent(t.idle_low, t.span), report_percent(t.idle_high, t.span));
	else
		page_put(p, "%.1f %%", report_percent(parts->totals[group], parts->span));
}

static void put_label(struct page *p, const struct parts *parts)
{
	int last = -1;

	page_put(p, " aria-label=\"");
	for (size_t i = 0; i < parts->count; i++) {
		const struct part *part = &parts->list[i];

		if ((int)part->group != last) {
			page_put(p, "%s", i ? "; " : "");
			put_total(p, parts, part->group);
			page_put(p, ": ");
		} else {
			page_put(p, ", ");
		}
		last = (int)part->group;
		page_put(p, "%s", words_label(part->name));
		page_put(p, " %.1f %%", report_percent(part->time, parts->span));
	}
	page_put(p, "\"");
}

static void put_patterns(struct page *p)
{
	static const int angles[HATCHES] = { 45, 135, 0, 90 };

	page_put(p, "<defs>");
	for (unsigned i = 0; i < HATCHES; i++)
		page_put(p, "<pattern id=\"hatch-%u\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
			    "patternTransform=\"rotate(%d)\"><rect class=\"hatch-ground\" width=\"6\" height=\"6\"/>"
			    "<path class=\"hatch-line\" d=\"M1 0V6\"/></pattern>", i, angles[i]);
	page_put(p, "</defs>\n");
}

/* What a rectangle is filled with. */
static void put_fill(struct page *p, const struct part *part)
{
	if (part->group == REPORT_WAITING)
		page_put(p, "class=\"segment waiting\" fill=\"url(#hatch-%u)\"", part->number % HATCHES);
	else
		page_put(p, "class=\"segment %s\"", part->group == REPORT_UNSEEN ? "unseen" : part->class);
}

static void put_segment(struct page *p, const struct part *part, double from, double width)
{
	double text = CHARACTER * (double)(strlen(words_label(part->name)) + 7) + PADDING;

	page_put(p, "<rect ");
	put_fill(p, part);
	page_put(p, " x=\"%.3f%%\" y=\"0\" width=\"%.3f%%\" height=\"%d\"/>", from, width, HEIGHT);
	if (width / 100 * WIDTH >= text) {
		page_put(p, "<svg x=\"%.3f%%\" width=\"%.3f%%\" height=\"%d\"><text class=\"%s\" x=\"8\" y=\"22\">", from, width, HEIGHT,
			 part->group == REPORT_BUSY ? part->class : part->group == REPORT_WAITING ? "waiting" : "unseen");
		page_put(p, "%s", words_label(part->name));
		page_put(p, " %.1f %%</text></svg>", width);
	}
	page_put(p, "\n");
}

static void put_bar(struct page *p, const struct parts *parts)
{
	double from = 0;

	page_put(p, "<svg class=\"bar\" role=\"img\" width=\"100%%\" height=\"%d\"", HEIGHT);
	put_label(p, parts);
	page_put(p, ">\n");
	put_patterns(p);
	for (size_t i = 0; i < parts->count; i++) {
		double width = report_percent(parts->list[i].time, parts->span);

		put_segment(p, &parts->list[i], from, width);
		from += width;
	}
	page_put(p, "</svg>\n");
}

static void put_item(struct page *p, const struct parts *parts, const struct part *part)
{
	char time[32];

	page_put(p, "<li><svg class=\"key\" width=\"12\" height=\"12\" aria-hidden=\"true\"><rect ");
	put_fill(p, part);
	page_put(p, " width=\"12\" height=\"12\"/></svg> ");
	page_put(p, "%s", words_label(part->name));
	page_put(p, " <b>%.1f %%</b> <span class=\"time\">%s</span></li>\n", report_percent(part->time, parts->span),
		 page_time(time, (double)part->time));
}

static void put_legend(struct page *p, const struct parts *parts, enum report_group group)
{
	bool begun = false;

	for (size_t i = 0; i < parts->count; i++) {
		if (parts->list[i].group != group)
			continue;
		if (!begun) {
			page_put(p, "<div class=\"legend\"><p><b>");
			put_total(p, parts, group);
			page_put(p, "</b>%s</p><ul>\n", group == REPORT_WAITING && p->a->device_count ? ", by cause" : "");
			begun = true;
		}
		put_item(p, parts, &parts->list[i]);
	}
	if (begun)
		page_put(p, "</ul></div>\n");
}

void page_markup_breakdown(struct page *p)
{
	struct parts parts;
	char time[32];

	parts_of(&parts, p->a);
	if (parts.span <= 0 || parts.count == 0)
		return;
	page_put(p, "<figure id=\"breakdown\">\n<figcaption><b>Where the time goes</b> <span class=\"of\">of %s, %s</span></figcaption>\n",
		 report_whole(p->a), page_time(time, (double)parts.span));
	put_bar(p, &parts);
	for (unsigned group = 0; group <= REPORT_UNSEEN; group++)
		put_legend(p, &parts, group);
	page_put(p, "</figure>\n");
}
