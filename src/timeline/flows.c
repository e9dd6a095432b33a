/*
 * flows.c - arrows between slices.
 *
 * The ends of an arrow are points with the same id and name; each that arrives
 * belongs to the last that left before it.  An arrow from a call to device work
 * whose correlation did not tell its launch is the launch.
 */
#include <errno.h>
#include <stdlib.h>

#include "timeline/build.h"

static int compare_points(const void *a, const void *b)
{
	const struct flow_point *x = a, *y = b;

	if (x->domain != y->domain)
		return x->domain < y->domain ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->arrives - y->arrives; /* leaves before it arrives */
}

static bool same_arrow(const struct flow_point *x, const struct flow_point *y)
{
	return x->domain == y->domain && x->id == y->id && x->name == y->name;
}

/* The slice at the point; with rounded times the one that ends there. */
static uint32_t slice_at(const struct timeline *t, const struct flow_point *point)
{
	uint32_t slice = timeline_at(t, point->track, point->time), last;

	if (slice != TIMELINE_NONE)
		return slice;
	last = timeline_first_at(t, point->track, point->time);
	if (last == t->tracks[point->track].first)
		return TIMELINE_NONE;
	last--;
	return t->end[last] >= point->time - TIMELINE_ROUNDING ? last : TIMELINE_NONE;
}

static int add_flow(struct timeline *t, size_t *capacity, const struct timeline_flow *flow)
{
	if (ROOM_FOR(t->flows, *capacity, t->flow_count + 1) < 0)
		return -ENOMEM;
	t->flows[t->flow_count++] = *flow;
	return 0;
}

static bool on_queue(const struct timeline *t, uint32_t track)
{
	return t->tracks[track].kind == TRACK_STREAM || t->tracks[track].kind == TRACK_DEVICE;
}

static bool is_asked_for(uint8_t kind)
{
	return timeline_is_device_work(kind) || kind == EVENT_SYNC;
}

static int take_arrow(struct timeline *t, size_t *capacity, const struct flow_point *out, const struct flow_point *in)
{
	struct timeline_flow flow = { slice_at(t, out), slice_at(t, in), in->name };

	if (flow.from == TIMELINE_NONE || flow.to == TIMELINE_NONE || flow.from == flow.to)
		return 0;
	if (on_queue(t, in->track) && !on_queue(t, out->track) && is_asked_for(t->kind[flow.to]) && !is_asked_for(t->kind[flow.from])) {
		if (t->link[flow.to] == TIMELINE_NONE)
			t->link[flow.to] = flow.from;
		if (t->link[flow.to] == flow.from || t->kind[flow.from] == EVENT_RUNTIME_CALL)
			return 0;
	}
	return add_flow(t, capacity, &flow);
}

/* Points of one arrow, by time. */
static int match_group(struct timeline *t, size_t *capacity, const struct flow_point *points, size_t count)
{
	const struct flow_point *out = NULL;
	int rc = 0;

	for (size_t i = 0; i < count && !out; i++)
		if (!points[i].arrives)
			out = &points[i]; /* also for what seems to arrive before it */
	for (size_t i = 0; i < count && out && rc == 0; i++) {
		if (!points[i].arrives)
			out = &points[i];
		else
			rc = take_arrow(t, capacity, out, &points[i]);
	}
	return rc;
}

int flows_match(struct builder *b)
{
	size_t capacity = 0, to;
	int rc = 0;

	if (b->flow_count > 1)
		qsort(b->flows, b->flow_count, sizeof *b->flows, compare_points);
	for (size_t from = 0; from < b->flow_count && rc == 0; from = to) {
		for (to = from + 1; to < b->flow_count && same_arrow(&b->flows[from], &b->flows[to]); to++)
			;
		rc = match_group(b->t, &capacity, b->flows + from, to - from);
	}
	ROOM_TRIM(b->t->flows, b->t->flow_count);
	return rc;
}
