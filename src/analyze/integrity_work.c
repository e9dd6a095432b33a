/*
 * integrity_work.c - device work that cannot have been so.
 *
 * same_stream_overlaps   work of a stream that begins before the work before it ended.  Programmatic dependent launches do
 *                        that by a little, damaged durations by much: a note, above 5 % of the streams' busy time a warning,
 *                        above 100 % failed
 * zero_durations         a note, more than 1 % of the work a warning, unless all times are whole microseconds: then it is
 *                        what rounding makes of short work
 * huge_durations         work of more than a second and 1,000 times the device's median: a warning, failed when it is more
 *                        than half of the device's busy time
 * stray_gpu_work         work far from all other, which stretches the window: a warning
 * unrecognized_communication  compute on several streams at once for more than 20 % of the busy time: a note, since it may be
 *                        communication under a name that no rule knows
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/parts.h"
#include "base/text.h"

#define HUGE_LEAST 1000000000 /* ns */
#define HUGE_FACTOR 1000

/* ---- Overlaps ---- */

struct overlaps {
	uint64_t count;
	double time, busy;
	uint32_t worst; /* slice */
	int64_t worst_time;
};

/* A stream's work is in order of its begins. */
static void measure_stream(const struct timeline *t, const struct device_view *view, uint32_t first, uint32_t end,
			   struct overlaps *o)
{
	int64_t covered = 0; /* times are not negative */

	for (uint32_t k = first; k < end; k++) {
		uint32_t slice = view->work[k];
		int64_t over = (t->end[slice] < covered ? t->end[slice] : covered) - t->begin[slice];

		if (over > 0) {
			o->count++;
			o->time += (double)over;
			if (over > o->worst_time) {
				o->worst_time = over;
				o->worst = slice;
			}
		}
		o->busy += (double)(slice_duration(t, slice) - (over > 0 ? over : 0));
		if (t->end[slice] > covered)
			covered = t->end[slice];
	}
}

/* A queue of OpenCL that was made so, as the recorder says in its name: there work may overlap. */
static bool is_out_of_order(const struct timeline *t, uint32_t slice)
{
	static const char mark[] = "(out of order)";
	size_t size;
	const char *name = timeline_string(t, t->tracks[timeline_track_of(t, slice)].name, &size);

	return size >= sizeof mark - 1 && memcmp(name + size - (sizeof mark - 1), mark, sizeof mark - 1) == 0;
}

static int check_overlaps(struct parts *p)
{
	const struct timeline *t = p->t;
	struct overlaps o = { 0 };
	char text[32], times[TEXT_COUNT_SIZE];
	double part;

	for (size_t d = 0; d < p->a->device_count; d++) {
		const struct device_view *view = &p->views[d];
		uint32_t first = 0;

		for (uint32_t k = 1; k <= view->count; k++) {
			if (k < view->count && view->stream[k] == view->stream[first])
				continue;
			if (!is_out_of_order(t, view->work[first]))
				measure_stream(t, view, first, k, &o);
			first = k;
		}
	}
	part = o.busy > 0 ? o.time / o.busy : 0;
	if (o.count == 0)
		return check_add(p, "same_stream_overlaps", CHECK_OK, 0, "work of a stream never overlaps");
	return check_add(p, "same_stream_overlaps", part > 1 ? CHECK_FAIL : part > 0.05 ? CHECK_WARN : CHECK_NOTE, o.count,
			 "%s work begins before the work before it on its stream has ended, for %.2f %% of the streams' busy time "
			 "(warning above 5 %%, failed above 100 %%); the longest by %s, %s",
			 text_count(times, o.count, "time", "times"), 100 * part, format_time(text, o.worst_time), cut_name(t, o.worst).text);
}

/* ---- Durations ---- */

static int check_zero(struct parts *p)
{
	const struct timeline *t = p->t;
	uint64_t count = 0, all = 0;
	bool rounded = true;
	double part;

	for (size_t d = 0; d < p->a->device_count; d++) {
		all += p->views[d].count;
		for (uint32_t k = 0; k < p->views[d].count; k++) {
			int64_t duration = slice_duration(t, p->views[d].work[k]);

			count += duration == 0;
			rounded &= duration % 1000 == 0;
		}
	}
	part = all ? (double)count / (double)all : 0;
	return check_add(p, "zero_durations", part > 0.01 && !rounded ? CHECK_WARN : count ? CHECK_NOTE : CHECK_OK, count,
			 "%llu of %llu pieces of device work took no time (warning above 1 %%)%s", (unsigned long long)count,
			 (unsigned long long)all, count && rounded ? ": the trace's times are whole microseconds" : "");
}

static bool is_huge(int64_t duration, int64_t median)
{
	return duration > HUGE_LEAST && duration / HUGE_FACTOR > median;
}

static int check_huge(struct parts *p)
{
	const struct timeline *t = p->t;
	uint64_t count = 0;
	uint32_t longest = TIMELINE_NONE;
	double worst = 0;
	char text[32];

	for (size_t d = 0; d < p->a->device_count; d++) {
		double huge = 0, busy = (double)device_window_busy(&p->a->devices[d].states->all);

		for (uint32_t k = 0; k < p->views[d].count; k++) {
			uint32_t slice = p->views[d].work[k];
			int64_t duration = slice_duration(t, slice);

			if (!is_huge(duration, p->views[d].median))
				continue;
			count++;
			huge += (double)duration;
			if (longest == TIMELINE_NONE || duration > slice_duration(t, longest))
				longest = slice;
		}
		worst = busy > 0 && huge / busy > worst ? huge / busy : worst;
	}
	if (count == 0)
		return check_add(p, "huge_durations", CHECK_OK, 0, "no work is far longer than the rest");
	return check_add(p, "huge_durations", worst > 0.5 ? CHECK_FAIL : CHECK_WARN, count,
			 "pieces of work longer than a second and %d times the median of their device: %llu; the longest took %s, %s "
			 "(failed when they are more than half of a device's busy time)",
			 HUGE_FACTOR, (unsigned long long)count, format_time(text, slice_duration(t, longest)), cut_name(t, longest).text);
}

/* ---- Strays ---- */

static double idle_percent(const struct device_window *w)
{
	return 100 * share(device_window_idle(w), w->to - w->from);
}

/* How far the stray is from the other work. */
static int64_t distance(const struct timeline *t, const struct device_states *s, uint32_t stray)
{
	return t->end[stray] <= s->trimmed.from ? s->trimmed.from - t->end[stray] : t->begin[stray] - s->trimmed.to;
}

static int check_strays(struct parts *p)
{
	const struct timeline *t = p->t;
	const struct analysis_device *worst = NULL;
	uint64_t count = 0, all = 0;
	uint32_t stray;
	char far[32], took[32];

	for (size_t d = 0; d < p->a->device_count; d++) {
		const struct device_states *s = p->a->devices[d].states;

		count += s->stray_count;
		all += p->views[d].count;
		if (s->stray_count &&
		    (!worst || idle_percent(&s->all) - idle_percent(&s->trimmed) >
				       idle_percent(&worst->states->all) - idle_percent(&worst->states->trimmed)))
			worst = &p->a->devices[d];
	}
	if (!worst)
		return check_add(p, "stray_gpu_work", CHECK_OK, 0, "no device work lies far from the rest");
	stray = worst->states->strays[0];
	return check_add(p, "stray_gpu_work", CHECK_WARN, count,
			 "%llu of %llu pieces of device work lie far from the rest, such as %s (%s long, %s %s); device %u is %.1f %% idle "
			 "with them and %.1f %% without, which is what is reported",
			 (unsigned long long)count, (unsigned long long)all, cut_name(t, stray).text, format_time(took, slice_duration(t, stray)),
			 format_time(far, distance(t, worst->states, stray)),
			 t->end[stray] <= worst->states->trimmed.from ? "before" : "after", t->devices[worst->device].index,
			 idle_percent(&worst->states->all), idle_percent(&worst->states->trimmed));
}

/* ---- Compute beside compute ---- */

/* A piece of the work whose name is beside other compute for the longest. */
static uint32_t most_crowded(const struct timeline *t, const struct device_view *view)
{
	double *by_name = calloc(t->string_count + 1, sizeof *by_name), most = -1;
	uint32_t best = view->work[0];

	for (uint32_t k = 0; k < view->count && by_name; k++) {
		double *sum = &by_name[slice_name(t, view->work[k])];

		*sum += (double)view->crowded[k];
		if (*sum > most) {
			most = *sum;
			best = view->work[k];
		}
	}
	free(by_name);
	return best;
}

static int check_crowds(struct parts *p)
{
	size_t worst = 0;
	double part = 0;

	for (size_t d = 0; d < p->a->device_count; d++) {
		double here = share(p->views[d].crowded_total, device_window_busy(&p->a->devices[d].states->all));

		if (here > part) {
			part = here;
			worst = d;
		}
	}
	if (part <= 0.20)
		return check_add(p, "unrecognized_communication", CHECK_OK, 0,
				 "compute runs on several streams at once for %.1f %% of the busy time at most (note above 20 %%)", 100 * part);
	return check_add(p, "unrecognized_communication", CHECK_NOTE, 1,
			 "compute runs on several streams at once for %.1f %% of the busy time of device %u (note above 20 %%), such as %s: if "
			 "that is communication, a rule has to say so",
			 100 * part, p->t->devices[p->a->devices[worst].device].index,
			 cut_name(p->t, most_crowded(p->t, &p->views[worst])).text);
}

int check_work(struct parts *p)
{
	static const char *const names[] = { "same_stream_overlaps", "zero_durations", "huge_durations", "stray_gpu_work",
					     "unrecognized_communication" };
	static int (*const checks[])(struct parts *) = { check_overlaps, check_zero, check_huge, check_strays, check_crowds };
	int rc = 0;

	for (size_t i = 0; i < sizeof checks / sizeof *checks && rc == 0; i++)
		rc = p->a->device_count ? checks[i](p) : check_add(p, names[i], CHECK_SKIPPED, 0, "the trace has no device work");
	return rc;
}
