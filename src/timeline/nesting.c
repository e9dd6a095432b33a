/*
 * nesting.c - which slice is around which.
 *
 * On a thread, whatever is open when a slice begins is around it; the last
 * begun of these is its parent.  The chain of parents serves as the stack.  On
 * a stream, work does not contain work, however it overlaps; annotations do.
 */
#include "timeline/build.h"

/* Other tools round times: a slice that begins a little before its neighbour's end does not begin inside it, unless it also
 * ends with it. */
static bool is_over(const struct timeline *t, uint32_t around, uint32_t slice)
{
	int64_t left = t->end[around] - t->begin[slice];

	return left <= 0 || (left <= TIMELINE_ROUNDING && t->end[slice] > t->end[around] + TIMELINE_ROUNDING);
}

static void put_inside(struct timeline *t, uint32_t slice, uint32_t around)
{
	uint16_t depth = around == TIMELINE_NONE ? 0 : t->depth[around];

	t->parent[slice] = around;
	t->depth[slice] = around == TIMELINE_NONE ? 0 : depth == UINT16_MAX ? depth : (uint16_t)(depth + 1);
	if (around != TIMELINE_NONE && t->end[slice] > t->end[around] + TIMELINE_ROUNDING)
		t->flags[slice] |= SLICE_CROSSES;
}

static uint32_t around_of(const struct timeline *t, uint32_t top, uint32_t slice)
{
	while (top != TIMELINE_NONE && is_over(t, top, slice))
		top = t->parent[top];
	return top;
}

static void nest_thread(struct timeline *t, const struct timeline_track *track)
{
	uint32_t top = TIMELINE_NONE;

	for (uint32_t i = track->first; i < track->first + track->count; i++) {
		put_inside(t, i, around_of(t, top, i));
		top = i;
	}
}

static bool contains_on_stream(uint8_t kind)
{
	return !timeline_is_device_work(kind) && kind != EVENT_SYNC;
}

static void nest_stream(struct timeline *t, const struct timeline_track *track)
{
	uint32_t top = TIMELINE_NONE;
	int64_t busy_until = -1;

	for (uint32_t i = track->first; i < track->first + track->count; i++) {
		bool work = timeline_is_device_work(t->kind[i]);

		top = around_of(t, top, i);
		put_inside(t, i, top);
		if (contains_on_stream(t->kind[i]))
			top = i;
		else
			t->flags[i] &= (uint8_t)~SLICE_CROSSES;
		if (t->begin[i] < busy_until)
			t->flags[i] |= work ? SLICE_OVERLAPS | SLICE_WORK_RUNS : SLICE_WORK_RUNS;
		if (work && t->end[i] > busy_until)
			busy_until = t->end[i];
	}
}

void nesting_find(struct timeline *t)
{
	for (uint32_t k = 0; k < t->track_count; k++) {
		if (t->tracks[k].kind == TRACK_STREAM || t->tracks[k].kind == TRACK_DEVICE)
			nest_stream(t, &t->tracks[k]);
		else
			nest_thread(t, &t->tracks[k]);
	}
}
