/*
 * idle_range.c - the idle time as a range, where the trace cannot be trusted.
 *
 * Low: all work that is missing (launches without work, replays of graphs with
 * too little, lost events) lay in the gaps of the narrowest window, each piece
 * as long as the median.  High: the widest window is right, and nothing is
 * missing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/parts.h"
#include "analyze/words.h"

/* Device work among the lost events, if they were like the others. */
static double lost_work(const struct parts *p, const struct device_view *view)
{
	return p->t->events ? (double)view->count / (double)p->t->events * (double)p->t->lost : 0;
}

static int64_t lost_time(const struct parts *p, const struct device_view *view)
{
	double lost = lost_work(p, view) * (double)view->median;

	return lost < 9e18 ? (int64_t)lost : INT64_MAX;
}

static void widen(struct analysis_device *d, const struct device_window *w)
{
	int64_t idle = device_window_idle(w);

	if (w->count == 0)
		return;
	d->idle_low = idle < d->idle_low ? idle : d->idle_low;
	d->idle_high = idle > d->idle_high ? idle : d->idle_high;
}

/* The checks that failed, by name. */
static void list_reasons(const struct analysis *a, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < a->check_count && used < size; i++)
		if (a->checks[i].status == CHECK_FAIL)
			used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", words_label(a->checks[i].name));
}

static char *explain(const struct parts *p, const struct device_view *view, int64_t missing)
{
	double pieces = (double)view->missing_work + lost_work(p, view);
	char reasons[160], time[32], *text = NULL;

	list_reasons(p->a, reasons, sizeof reasons);
	if (missing > 0) {
		if (asprintf(&text, "%s: work that is missing (pieces: %.0f, about %s if each took the median) may lie in the gaps", reasons,
			     pieces, format_time(time, missing)) < 0)
			return NULL;
	} else if (asprintf(&text, "%s: from the least idle window to the most idle one", reasons) < 0) {
		return NULL;
	}
	return text;
}

int analyze_idle_ranges(struct parts *p)
{
	for (size_t i = 0; i < p->a->device_count && p->a->verdict == VERDICT_POOR; i++) {
		struct analysis_device *d = &p->a->devices[i];
		int64_t missing = time_sum(p->views[i].missing_time, lost_time(p, &p->views[i]));

		widen(d, &d->states->all);
		widen(d, &d->states->launched);
		widen(d, &d->states->trimmed);
		d->idle_low = missing < d->idle_low ? d->idle_low - missing : 0;
		d->idle_range_why = explain(p, &p->views[i], missing);
		if (!d->idle_range_why)
			return -ENOMEM;
	}
	return 0;
}
