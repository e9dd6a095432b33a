/*
 * correlate.c - which call launched which work.
 *
 * A call and what it launched have the same correlation.  Correlations are
 * numbers of a process: several ranks in one trace have the same ones.
 */
#include <errno.h>
#include <stdlib.h>

#include "timeline/build.h"
#include "timeline/calls.h"

#define LOOK_BACK 16 /* calls of one correlation that are tried for a work's */

struct call {
	uint64_t correlation;
	uint32_t group; /* process or clock */
	uint32_t slice;
};

struct calls {
	struct call *items;
	size_t count, capacity;
	uint8_t *process_calls; /* whether a process has any */
};

static uint64_t correlation_of(const struct timeline *t, uint32_t slice)
{
	return t->detail[slice] == TIMELINE_NONE ? 0 : t->details[t->detail[slice]].correlation;
}

static int compare_calls(const void *a, const void *b, void *arg)
{
	const struct call *x = a, *y = b;
	const struct timeline *t = arg;

	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (t->begin[x->slice] != t->begin[y->slice])
		return t->begin[x->slice] < t->begin[y->slice] ? -1 : 1;
	return x->slice < y->slice ? -1 : x->slice > y->slice;
}

static void sort_calls(const struct timeline *t, struct calls *calls)
{
	for (size_t i = 1; i < calls->count; i++)
		if (compare_calls(&calls->items[i - 1], &calls->items[i], (void *)(uintptr_t)t) > 0) {
			qsort_r(calls->items, calls->count, sizeof *calls->items, compare_calls, (void *)(uintptr_t)t);
			return;
		}
}

static bool is_queue(const struct timeline_track *track)
{
	return track->kind == TRACK_STREAM || track->kind == TRACK_DEVICE;
}

static int add_call(struct calls *calls, const struct call *call)
{
	if (ROOM_FOR(calls->items, calls->capacity, calls->count + 1) < 0)
		return -ENOMEM;
	calls->items[calls->count++] = *call;
	return 0;
}

/* Calls by process; or by clock, of all processes. */
static int collect_calls(const struct builder *b, struct calls *calls, bool by_clock)
{
	const struct timeline *t = b->t;

	calls->count = 0;
	for (uint32_t k = 0; k < t->track_count; k++) {
		const struct timeline_track *track = &t->tracks[k];
		struct call call = { .group = by_clock ? b->track_domain[k] : track->process };

		if (is_queue(track) || track->count == 0 || (!by_clock && track->process == TIMELINE_NONE))
			continue;
		for (uint32_t i = track->first; i < track->first + track->count; i++) {
			call.slice = i;
			call.correlation = t->kind[i] == EVENT_RUNTIME_CALL ? correlation_of(t, i) : 0;
			if (call.correlation && add_call(calls, &call) < 0)
				return -ENOMEM;
			if (!by_clock && call.correlation)
				calls->process_calls[track->process] = 1;
		}
	}
	sort_calls(t, calls);
	return 0;
}

/* How many calls are before the first of this correlation and group that begins after `time`. */
static size_t calls_until(const struct timeline *t, const struct calls *calls, uint64_t correlation, uint32_t group, int64_t time)
{
	size_t low = 0, high = calls->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct call *c = &calls->items[middle];
		bool before = c->correlation != correlation ? c->correlation < correlation :
			      c->group != group		    ? c->group < group :
							      t->begin[c->slice] <= time;

		if (before)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool launches(const struct timeline *t, uint32_t call)
{
	return t->name[call] < t->string_count && call_launches((enum call_class)t->call_class[t->name[call]]);
}

static bool same_key(const struct calls *calls, size_t i, uint64_t correlation, uint32_t group)
{
	return i < calls->count && calls->items[i].correlation == correlation && calls->items[i].group == group;
}

/* The last call before the work that launches something; else the last one; else, with clocks that disagree, the first after. */
static uint32_t find_call(const struct timeline *t, const struct calls *calls, uint32_t work, uint32_t group)
{
	uint64_t correlation = correlation_of(t, work);
	size_t after = calls_until(t, calls, correlation, group, t->begin[work]);
	uint32_t found = TIMELINE_NONE;

	for (size_t i = after; i > 0 && after - i < LOOK_BACK && same_key(calls, i - 1, correlation, group); i--) {
		if (launches(t, calls->items[i - 1].slice))
			return calls->items[i - 1].slice;
		if (found == TIMELINE_NONE)
			found = calls->items[i - 1].slice;
	}
	for (size_t i = after; i - after < LOOK_BACK && same_key(calls, i, correlation, group); i++) {
		if (found == TIMELINE_NONE || (launches(t, calls->items[i].slice) && !launches(t, found)))
			found = calls->items[i].slice;
	}
	return found;
}

static bool wants_call(const struct timeline *t, uint32_t slice)
{
	return (timeline_is_device_work(t->kind[slice]) || t->kind[slice] == EVENT_SYNC) && t->link[slice] == TIMELINE_NONE &&
	       correlation_of(t, slice) != 0;
}

/* Returns whether something is left that the calls of its clock might have launched. */
static bool link_stream(const struct builder *b, const struct calls *calls, uint32_t track, bool by_clock)
{
	struct timeline *t = b->t;
	const struct timeline_track *s = &t->tracks[track];
	uint32_t group = by_clock ? b->track_domain[track] : s->process;
	bool orphan = s->process == TIMELINE_NONE || !calls->process_calls[s->process], left = false;

	if (by_clock ? !orphan : s->process == TIMELINE_NONE)
		return s->count > 0;
	for (uint32_t i = s->first; i < s->first + s->count; i++) {
		if (wants_call(t, i))
			t->link[i] = find_call(t, calls, i, group);
		left = left || (orphan && wants_call(t, i));
	}
	return left;
}

static bool link_streams(const struct builder *b, const struct calls *calls, bool by_clock)
{
	bool left = false;

	for (uint32_t k = 0; k < b->t->track_count; k++)
		if (is_queue(&b->t->tracks[k]))
			left |= link_stream(b, calls, k, by_clock);
	return left;
}

int correlate_launches(struct builder *b)
{
	struct calls calls = { .process_calls = calloc((size_t)b->t->process_count + 1, 1) };
	int rc = calls.process_calls ? collect_calls(b, &calls, false) : -ENOMEM;

	if (rc == 0 && link_streams(b, &calls, false)) {
		rc = collect_calls(b, &calls, true);
		if (rc == 0)
			link_streams(b, &calls, true);
	}
	free(calls.process_calls);
	free(calls.items);
	return rc;
}

/* ---- What each call launched ---- */

static bool is_launched(const struct timeline *t, uint32_t slice)
{
	return timeline_is_device_work(t->kind[slice]) && t->link[slice] != TIMELINE_NONE;
}

/* link[] of calls becomes the end of their run. */
static void count_work(struct timeline *t)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < t->slice_count; i++)
		if (is_launched(t, i)) {
			uint32_t *count = &t->link[t->link[i]];

			*count = *count == TIMELINE_NONE ? 1 : *count + 1;
			t->work_count++;
		}
	for (uint32_t i = 0; i < t->slice_count; i++)
		if (!timeline_is_device_work(t->kind[i]) && t->kind[i] != EVENT_SYNC && t->link[i] != TIMELINE_NONE)
			t->link[i] = at += t->link[i];
}

static int compare_begins(const void *a, const void *b, void *arg)
{
	const struct timeline *t = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (t->begin[x] != t->begin[y])
		return t->begin[x] < t->begin[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Work of several streams is in the order of streams. */
static void sort_runs(struct timeline *t)
{
	for (uint32_t from = 0, to; from < t->work_count; from = to) {
		bool sorted = true;

		for (to = from + 1; to < t->work_count && t->link[t->work[to]] == t->link[t->work[from]]; to++)
			sorted = sorted && compare_begins(&t->work[to - 1], &t->work[to], t) < 0;
		if (!sorted)
			qsort_r(t->work + from, to - from, sizeof *t->work, compare_begins, t);
	}
}

static int list_work(struct timeline *t)
{
	count_work(t);
	t->work = malloc(((size_t)t->work_count + 1) * sizeof *t->work);
	if (!t->work)
		return -ENOMEM;
	for (uint32_t i = t->slice_count; i-- > 0;)
		if (is_launched(t, i))
			t->work[--t->link[t->link[i]]] = i;
	sort_runs(t);
	return 0;
}

static void judge_work(struct timeline *t, uint32_t slice)
{
	if (t->link[slice] == TIMELINE_NONE) {
		t->flags[slice] |= SLICE_UNLAUNCHED;
		t->work_without_launch++;
	} else if (t->begin[slice] < t->begin[t->link[slice]]) {
		t->flags[slice] |= SLICE_CLOCK_DAMAGE;
		t->clock_damage++;
	}
}

static void judge_launch(struct timeline *t, uint32_t slice)
{
	enum call_class class = (enum call_class)t->call_class[t->name[slice]];

	t->launches++;
	if (t->link[slice] != TIMELINE_NONE)
		return;
	t->launches_without_work++;
	t->copies_without_work += class != CALL_LAUNCH && class != CALL_GRAPH_LAUNCH;
}

int correlate_finish(struct builder *b)
{
	struct timeline *t = b->t;
	bool any = false;
	int rc = list_work(t);

	for (uint32_t i = 0; rc == 0 && i < t->slice_count; i++) {
		if (timeline_is_device_work(t->kind[i])) {
			any = true;
			judge_work(t, i);
		} else if (t->kind[i] == EVENT_RUNTIME_CALL && launches(t, i)) {
			judge_launch(t, i);
		}
	}
	if (!any) /* nobody recorded the device */
		t->launches_without_work = t->copies_without_work = 0;
	return rc;
}
