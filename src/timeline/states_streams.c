/*
 * states_streams.c - what each stream of a device did, and how much waited in it.
 *
 * Of work that overlaps on a stream, the one that began last counts, so what
 * runs is a stack: when its top ends, the one below goes on if it has not
 * ended meanwhile.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "timeline/gaps.h"
#include "timeline/states_build.h"

struct stream_walk {
	struct states_builder *b;
	struct stream_states *ret;
	uint32_t *work;     /* of the stream, by begin */
	uint32_t count;
	int64_t *launched;  /* of each work: when the first of it and what follows was launched; INT64_MAX: never seen */
	uint32_t *stack;
	size_t depth, capacity;
	int64_t at;
};

static int64_t clamp(int64_t time, int64_t low, int64_t high)
{
	return time < low ? low : time > high ? high : time;
}

static enum stream_state running_state(uint8_t kind)
{
	switch (kind) {
	case EVENT_H2D_COPY:
		return STREAM_H2D;
	case EVENT_D2H_COPY:
		return STREAM_D2H;
	case EVENT_D2D_COPY:
		return STREAM_D2D;
	case EVENT_MEMSET:
		return STREAM_OTHER;
	default:
		return STREAM_KERNEL;
	}
}

/* Nothing runs until `to`, when work[next] begins or the window ends. */
static int stay_idle(struct stream_walk *w, int64_t to, uint32_t next)
{
	int64_t queued = next < w->count ? clamp(w->launched[next], w->at, to) : to, jit = 0;
	uint32_t launch = next < w->count ? launch_of(w->b->t, w->work[next]) : TIMELINE_NONE;
	int r = 0;

	if (launch != TIMELINE_NONE)
		r = evidence_time(w->b->evidence, timeline_track_of(w->b->t, launch), EVIDENCE_JIT, w->at, queued, &jit);
	w->ret->state[STREAM_JIT] += jit;
	w->ret->state[STREAM_EMPTY] += queued - w->at - jit;
	if (queued < to)
		w->ret->state[w->b->waits[w->work[next]] ? STREAM_BLOCKED : STREAM_QUEUED] += to - queued;
	w->at = to;
	return r;
}

static int run_until(struct stream_walk *w, int64_t to, uint32_t next)
{
	const struct timeline *t = w->b->t;

	while (w->depth && w->at < to) {
		uint32_t top = w->stack[w->depth - 1];
		int64_t end = slice_end(t, top) < to ? slice_end(t, top) : to;

		if (end > w->at) {
			w->ret->state[running_state(t->kind[top])] += end - w->at;
			w->at = end;
		}
		if (end < to)
			w->depth--;
	}
	return w->at < to ? stay_idle(w, to, next) : 0;
}

static int walk_states(struct stream_walk *w, const struct device_window *window)
{
	int r = 0;

	w->at = window->from;
	for (uint32_t i = 0; r == 0 && i < w->count; i++) {
		r = run_until(w, w->b->t->begin[w->work[i]], i);
		if (r == 0)
			r = ARRAY_GROW(w->stack, w->capacity, w->depth + 1);
		if (r == 0)
			w->stack[w->depth++] = w->work[i];
	}
	return r < 0 ? r : run_until(w, window->to, w->count);
}

/* ---- Depth ---- */

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Launches and begins by time; a launch that seems to come after its work's begin counts as of then. */
static int collect_times(const struct stream_walk *w, const struct device_window *window, int64_t **ret, uint32_t *ret_count)
{
	const struct timeline *t = w->b->t;
	int64_t *times = calloc((size_t)w->count * 2 + 1, sizeof *times);
	uint32_t count = 0;

	if (!times)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->count; i++) {
		uint32_t launch = launch_of(t, w->work[i]);

		if (launch == TIMELINE_NONE)
			continue;
		times[count] = clamp(t->begin[launch], window->from, t->begin[w->work[i]]);
		times[w->count + count++] = t->begin[w->work[i]];
	}
	qsort(times, count, sizeof *times, compare_times);
	*ret = times;
	*ret_count = count;
	return 0;
}

static int measure_depth(struct stream_walk *w, const struct device_window *window)
{
	int64_t *launches, *begins;
	double area = 0;
	uint32_t count;
	int r = collect_times(w, window, &launches, &count);

	if (r < 0)
		return r;
	begins = launches + w->count;
	for (uint32_t i = 0, begun = 0; i < count; i++) {
		while (begun <= i && begins[begun] <= launches[i])
			begun++;
		if (i + 1 - begun > w->ret->depth_max)
			w->ret->depth_max = i + 1 - begun;
		area += (double)(begins[i] - launches[i]);
	}
	w->ret->depth_mean = window->to > window->from ? area / (double)(window->to - window->from) : 0;
	free(launches);
	return 0;
}

/* ---- A stream ---- */

static int collect_work(struct stream_walk *w, const struct timeline_track *track)
{
	const struct timeline *t = w->b->t;
	int64_t earliest = INT64_MAX;

	w->work = calloc((size_t)track->count + 1, sizeof *w->work);
	if (!w->work)
		return -ENOMEM;
	for (uint32_t i = track->first; i < track->first + track->count; i++)
		if (w->b->s->class_of[i] != WORK_NONE)
			w->work[w->count++] = i;
	w->launched = calloc((size_t)w->count + 1, sizeof *w->launched);
	if (!w->launched)
		return -ENOMEM;
	for (uint32_t i = w->count; i-- > 0;) {
		uint32_t launch = launch_of(t, w->work[i]);

		if (launch != TIMELINE_NONE && t->begin[launch] < earliest)
			earliest = t->begin[launch];
		w->launched[i] = earliest;
	}
	return 0;
}

static int build_stream(struct states_builder *b, const struct device_states *d, struct stream_states *ret)
{
	struct stream_walk w = { .b = b, .ret = ret };
	int r = collect_work(&w, &b->t->tracks[ret->track]);

	ret->count = w.count;
	if (r == 0)
		r = walk_states(&w, &d->all);
	if (r == 0)
		r = measure_depth(&w, &d->all);
	free(w.work);
	free(w.launched);
	free(w.stack);
	return r;
}

int streams_build(struct states_builder *b, struct device_states *d)
{
	const struct timeline_device *device = &b->t->devices[d->device];
	int r = 0;

	d->streams = calloc((size_t)device->stream_count + 1, sizeof *d->streams);
	if (!d->streams)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < device->stream_count; i++) {
		d->streams[i].track = b->t->streams[device->first_stream + i];
		r = build_stream(b, d, &d->streams[i]);
		d->stream_count = i + 1;
	}
	return r;
}
