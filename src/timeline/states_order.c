/*
 * states_order.c - the work of a device by time, and walks through it.
 *
 * Streams are sorted already, so their first pieces wait in a heap and the
 * earliest comes out; a second heap gives the ends in order.  With both orders
 * a walk is a merge.  Every MARK_EVERY pieces a mark says what had begun and
 * ended up to there, so that a walk can start anywhere.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "timeline/states_build.h"

#define MARK_EVERY 256u

/* What the first pieces of an order were, all together. */
struct tally {
	uint32_t count[WORK_CLASS_COUNT];
	uint32_t mixed;
};
struct order_mark {
	struct tally begun, ended;
};

/* ---- A heap, the smallest time on top, then the smallest slice ---- */

struct heap_item {
	int64_t time;
	uint32_t slice, stream;
};
struct heap {
	struct heap_item *items;
	size_t count, capacity;
};

static bool before(const struct heap_item *a, const struct heap_item *b)
{
	return a->time != b->time ? a->time < b->time : a->slice < b->slice;
}

static int heap_push(struct heap *h, struct heap_item item)
{
	size_t at = h->count;

	if (ARRAY_GROW(h->items, h->capacity, h->count + 1) < 0)
		return -ENOMEM;
	h->count++;
	for (; at > 0 && before(&item, &h->items[(at - 1) / 2]); at = (at - 1) / 2)
		h->items[at] = h->items[(at - 1) / 2];
	h->items[at] = item;
	return 0;
}

/* Puts `item` in place of the top. */
static void heap_replace(struct heap *h, struct heap_item item)
{
	size_t at = 0;

	for (size_t child = 1; child < h->count; child = 2 * at + 1) {
		if (child + 1 < h->count && before(&h->items[child + 1], &h->items[child]))
			child++;
		if (!before(&h->items[child], &item))
			break;
		h->items[at] = h->items[child];
		at = child;
	}
	h->items[at] = item;
}

static struct heap_item heap_pop(struct heap *h)
{
	struct heap_item top = h->items[0];

	if (--h->count)
		heap_replace(h, h->items[h->count]);
	return top;
}

/* ---- Begins ---- */

struct source {
	const struct timeline *t;
	const uint8_t *class_of;
	const struct timeline_device *device;
	bool launched_only;
};

/* The first work of a stream from `slice` on, or the end of the stream. */
static uint32_t next_work(const struct source *s, uint32_t stream, uint32_t slice)
{
	const struct timeline_track *track = &s->t->tracks[s->t->streams[s->device->first_stream + stream]];
	uint32_t end = track->first + track->count;

	while (slice < end && (s->class_of[slice] == WORK_NONE || (s->launched_only && s->t->flags[slice] & SLICE_UNLAUNCHED)))
		slice++;
	return slice < end ? slice : TIMELINE_NONE;
}

static int fill_streams(const struct source *s, struct heap *h)
{
	for (uint32_t i = 0; i < s->device->stream_count; i++) {
		uint32_t slice = next_work(s, i, s->t->tracks[s->t->streams[s->device->first_stream + i]].first);

		if (slice != TIMELINE_NONE &&
		    heap_push(h, (struct heap_item){ .time = s->t->begin[slice], .slice = slice, .stream = i }) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int order_begins(const struct source *s, struct device_order *order)
{
	struct heap h = { 0 };
	int r = fill_streams(s, &h);

	while (r == 0 && h.count) {
		struct heap_item top = h.items[0];
		uint32_t slice = next_work(s, top.stream, top.slice + 1);

		order->by_begin[order->count++] = top.slice;
		if (slice == TIMELINE_NONE)
			heap_pop(&h);
		else
			heap_replace(&h, (struct heap_item){ .time = s->t->begin[slice], .slice = slice, .stream = top.stream });
	}
	free(h.items);
	return r;
}

/* ---- Ends ---- */

static int order_ends(const struct timeline *t, struct device_order *order)
{
	struct heap h = { 0 };
	uint32_t ended = 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < order->count; i++) {
		uint32_t slice = order->by_begin[i];

		while (h.count && h.items[0].time <= t->begin[slice])
			order->by_end[ended++] = heap_pop(&h).slice;
		r = heap_push(&h, (struct heap_item){ .time = slice_end(t, slice), .slice = slice });
	}
	while (r == 0 && h.count)
		order->by_end[ended++] = heap_pop(&h).slice;
	free(h.items);
	return r;
}

/* ---- Marks ---- */

static void tally_add(struct tally *tally, const uint8_t *class_of, uint32_t slice)
{
	tally->count[class_of[slice]]++;
	tally->mixed ^= slice;
}

static void set_marks(struct device_order *order, const uint8_t *class_of)
{
	struct order_mark sum = { 0 };

	for (uint32_t i = 0;; i++) {
		if (i % MARK_EVERY == 0)
			order->marks[i / MARK_EVERY] = sum;
		if (i == order->count)
			return;
		tally_add(&sum.begun, class_of, order->by_begin[i]);
		tally_add(&sum.ended, class_of, order->by_end[i]);
	}
}

/* What the first `count` pieces of one of the orders were. */
static struct tally tally_until(const struct device_order *order, const uint8_t *class_of, uint32_t count, bool ends)
{
	const struct order_mark *mark = &order->marks[count / MARK_EVERY];
	const uint32_t *slices = ends ? order->by_end : order->by_begin;
	struct tally tally = ends ? mark->ended : mark->begun;

	for (uint32_t i = count - count % MARK_EVERY; i < count; i++)
		tally_add(&tally, class_of, slices[i]);
	return tally;
}

/* ---- All together ---- */

static size_t count_slices(const struct source *s)
{
	size_t count = 0;

	for (uint32_t i = 0; i < s->device->stream_count; i++)
		count += s->t->tracks[s->t->streams[s->device->first_stream + i]].count;
	return count;
}

int device_order_build(struct device_order *ret, const struct timeline *t, const uint8_t *class_of, uint32_t device,
		       bool launched_only)
{
	struct source s = { .t = t, .class_of = class_of, .device = &t->devices[device], .launched_only = launched_only };
	struct device_order order = { 0 };
	size_t room = count_slices(&s) + 1;

	order.by_begin = calloc(room, sizeof *order.by_begin);
	if (!order.by_begin || order_begins(&s, &order) < 0)
		goto no_memory;
	order.by_end = calloc((size_t)order.count + 1, sizeof *order.by_end);
	order.marks = calloc(order.count / MARK_EVERY + 1, sizeof *order.marks);
	if (!order.by_end || !order.marks || order_ends(t, &order) < 0)
		goto no_memory;
	set_marks(&order, class_of);
	*ret = order;
	return 0;
no_memory:
	device_order_release(&order);
	return -ENOMEM;
}

void device_order_release(struct device_order *order)
{
	free(order->by_begin);
	free(order->by_end);
	free(order->marks);
	*order = (struct device_order){ 0 };
}

/* ---- Walks ---- */

/* How many pieces have begun, or ended, at `time`. */
static uint32_t count_until(const struct timeline *t, const struct device_order *order, int64_t time, bool ends)
{
	uint32_t low = 0, high = order->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if ((ends ? slice_end(t, order->by_end[middle]) : t->begin[order->by_begin[middle]]) <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void device_walk_start(struct device_walk *walk, const struct timeline *t, const struct timeline_states *s,
		       const struct device_order *order, int64_t from)
{
	struct tally begun, ended;

	*walk = (struct device_walk){ .t = t, .class_of = s->class_of, .order = order, .at = from };
	if (!order->count)
		return;
	walk->begun = count_until(t, order, from, false);
	walk->ended = count_until(t, order, from, true);
	begun = tally_until(order, s->class_of, walk->begun, false);
	ended = tally_until(order, s->class_of, walk->ended, true);
	for (int c = 0; c < WORK_CLASS_COUNT; c++)
		walk->running[c] = begun.count[c] - ended.count[c];
	walk->mixed = begun.mixed ^ ended.mixed;
}

/* Lets begin and end what does so up to now; begins first, for work that takes no time. */
static void catch_up(struct device_walk *walk)
{
	const struct device_order *order = walk->order;

	for (; walk->begun < order->count && walk->t->begin[order->by_begin[walk->begun]] <= walk->at; walk->begun++) {
		walk->running[walk->class_of[order->by_begin[walk->begun]]]++;
		walk->mixed ^= order->by_begin[walk->begun];
	}
	for (; walk->ended < order->count && slice_end(walk->t, order->by_end[walk->ended]) <= walk->at; walk->ended++) {
		walk->running[walk->class_of[order->by_end[walk->ended]]]--;
		walk->mixed ^= order->by_end[walk->ended];
	}
}

static int64_t next_change(const struct device_walk *walk, int64_t to)
{
	const struct device_order *order = walk->order;

	if (walk->begun < order->count && walk->t->begin[order->by_begin[walk->begun]] < to)
		to = walk->t->begin[order->by_begin[walk->begun]];
	if (walk->ended < order->count && slice_end(walk->t, order->by_end[walk->ended]) < to)
		to = slice_end(walk->t, order->by_end[walk->ended]);
	return to;
}

bool device_walk_next(struct device_walk *walk, int64_t to, struct device_moment *ret)
{
	if (walk->at >= to)
		return false;
	catch_up(walk);
	ret->begin = walk->at;
	ret->end = next_change(walk, to);
	ret->total = 0;
	for (int c = 0; c < WORK_CLASS_COUNT; c++) {
		ret->running[c] = walk->running[c];
		ret->total += walk->running[c];
	}
	ret->alone = ret->total == 1 ? walk->mixed : TIMELINE_NONE;
	walk->at = ret->end;
	return true;
}
