/* chart_breakdown.c - where all of the time went, as one bar. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/words.h"
#include "chart/chart_parts.h"

/* Work is solid and has a colour of its kind; what devices were idle for, and what nobody knows, is hatched. */
static const struct {
	const char *name;
	enum chart_ink ink;
} looks[] = {
	{ "gpu_compute", INK_COMPUTE }, { "communication", INK_COMMUNICATION }, { "copy", INK_COPY },
	{ "no_gpu_work", INK_IDLE },    { "unknown", INK_IDLE },                { "other", INK_IDLE },
	{ "waiting", INK_WAIT },
};

static enum chart_ink ink_of_owner(enum host_owner owner)
{
	switch (owner) {
	case OWNER_MESSAGES:
		return INK_COMMUNICATION;
	case OWNER_INPUT:
	case OWNER_LOG:
	case OWNER_IO_CALLS:
		return INK_COPY;
	case OWNER_PROFILER:
	case OWNER_EDGES:
	case OWNER_UNKNOWN:
		return INK_IDLE;
	default:
		return owner >= OWNER_FILE && owner <= OWNER_WAIT ? INK_WAIT : INK_HOST;
	}
}

static enum chart_ink ink_of(const char *name)
{
	if (strncmp(name, "idle_", 5) == 0)
		return INK_IDLE;
	for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++)
		if (strcmp(looks[i].name, name) == 0)
			return looks[i].ink;
	for (unsigned owner = 0; owner < OWNER_COUNT; owner++)
		if (strcmp(host_owner_name(owner), name) == 0)
			return ink_of_owner(owner);
	return INK_HOST;
}

/* Of one colour, each is lighter than the one before it. */
static void tint(struct chart *c)
{
	unsigned used[INK_COUNT] = { 0 };

	for (size_t i = 0; i < c->bar_count; i++) {
		struct chart_bar *bar = &c->bars[i];

		if (!bar->hatched)
			bar->tint = 2 * (used[bar->ink]++ % 4);
	}
}

static int add(struct chart *c, const struct analysis *a, const struct analysis_category *category)
{
	struct chart_bar *bar;
	double share = 100 * (double)category->duration / (double)a->summary.end_to_end;
	const char *label = words_label(category->name);
	int rc = chart_add_bar(c, label, strlen(label), share, &bar);

	if (rc < 0)
		return rc;
	bar->ink = ink_of(category->name);
	bar->hatched = bar->ink == INK_IDLE;
	return asprintf(&bar->figure, "%.3f ms, %.1f %%", (double)category->duration / 1e6, share) < 0 ? (bar->figure = NULL, -ENOMEM) : 0;
}

int chart_make_breakdown(struct chart *c, const struct analysis *a)
{
	int rc = 0;

	c->form = CHART_STACK;
	c->title = "Where the time goes";
	c->axis = a->device_count ? "of the devices, over the whole trace" : "of the thread that decides, over the whole trace";
	c->nothing = "no time in the trace";
	c->full = 100;
	for (size_t i = 0; i < a->category_count && rc == 0 && a->summary.end_to_end > 0; i++)
		if (a->breakdown[i].duration > 0)
			rc = add(c, a, &a->breakdown[i]);
	tint(c);
	return rc;
}
