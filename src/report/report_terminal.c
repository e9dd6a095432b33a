/*
 * report_terminal.c - the diagnosis, and below it what takes the most time: no more than a screen.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/report_parts.h"
#include "report/view.h"

#define TABLES_SHOWN 2
#define NAME_AT 32

/* whole: of which time the shares are, where the heading does not say it. */
static void put_heading(struct view *v, const char *title, const char *of, const char *whole)
{
	view_line(v);
	view_put(v, "%8s %11s %9s  ", of, "time", "count");
	view_styled(v, VIEW_BOLD, "%s", title);
	if (view_left(v) >= strlen(whole))
		view_styled(v, VIEW_DIM, "%s", whole);
	view_line(v);
}

static void put_row(struct view *v, const struct timeline *t, const struct analysis_entry *e, int64_t time, int64_t whole)
{
	char duration[32], digits[32];
	size_t size;
	const char *name = timeline_string(t, e->name, &size);

	name = report_short_name(name, &size);
	view_put(v, "%7.1f%% %11s %9s", whole > 0 ? 100 * (double)time / (double)whole : 0, text_duration(duration, (double)time),
		 text_group_digits(digits, e->count));
	view_pad(v, NAME_AT);
	view_name(v, size ? name : "(no name)", size ? size : 9, 0, COLUMNS_CUT_END);
	view_line(v);
}

/* By the time of each, without what was inside it. */
static bool put_table(struct view *v, const struct analysis *a, const char *title, const struct analysis_table *table, size_t top)
{
	size_t *most = table->count ? calloc(top, sizeof *most) : NULL;
	size_t count;

	if (table->count == 0)
		return false;
	if (!most) {
		v->error = v->error ? v->error : -ENOMEM;
		return false;
	}
	count = report_most_self(table, most, top);
	put_heading(v, title, "share", " (of all threads' time)");
	for (size_t i = 0; i < count; i++)
		put_row(v, a->timeline, &table->entries[most[i]], table->entries[most[i]].self, report_host_time(a, table));
	free(most);
	return true;
}

/* Of the device that has the most of it. */
static bool put_kernels(struct view *v, const struct analysis *a, size_t top)
{
	const struct analysis_device *most = NULL;

	for (size_t i = 0; i < a->device_count; i++)
		if (!most || device_window_busy(a->devices[i].window) > device_window_busy(most->window))
			most = &a->devices[i];
	if (!most || most->kernel_count == 0)
		return false;
	put_heading(v, a->device_count == 1 ? "work of the GPU" : "work of the busiest GPU", "of it", "");
	for (size_t i = 0; i < most->kernel_count && i < top; i++)
		put_row(v, a->timeline, &most->kernels[i].times, most->kernels[i].times.total, most->window->to - most->window->from);
	return true;
}

int report_terminal(const struct analysis *a, const struct report_source *source, const struct report_view_options *options,
		    struct buffer *out)
{
	const struct {
		const char *title;
		const struct analysis_table *table;
	} tables[] = {
		{ "operators, own time", &a->operators },
		{ "functions, own time", &a->functions },
		{ "scopes, own time", &a->scopes },
	};
	struct view v = view_of(options, out);
	size_t top = options->top ? options->top : 5, shown;
	int rc = report_diagnosis(a, source, options, out);

	if (rc || a->ran_nothing)
		return rc ? rc : v.error;
	shown = put_kernels(&v, a, top);
	for (size_t i = 0; i < sizeof tables / sizeof tables[0] && shown < TABLES_SHOWN; i++)
		shown += put_table(&v, a, tables[i].title, tables[i].table, top);
	return rc ? rc : v.error;
}
