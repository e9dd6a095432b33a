/*
 * states_strays.c - work that lies far from all other.
 *
 * A profiler that is switched on late, or off late, catches single kernels
 * long before or after what was to be seen, and the time in between looks like
 * an idle device.  Work is taken for that when it is at most a tenth of all,
 * and further from the rest than STRAY_FACTOR times the time the rest took.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "timeline/states_build.h"

#define STRAY_FACTOR 10
#define STRAY_SHARE 10 /* one in so many */

/* A gap that strays could lie behind. */
struct cut {
	uint32_t place; /* in by_begin: of the work after it */
	int64_t begin, end;
};
struct cuts {
	struct cut *cuts;
	size_t count, capacity;
};

struct core {
	uint32_t head, tail; /* places */
	int64_t from, to;
};

static int collect(const struct timeline *t, const struct device_order *order, uint32_t first, uint32_t last, int64_t *end,
		   struct cuts *ret)
{
	for (uint32_t i = first; i < last; i++) {
		int64_t begin = t->begin[order->by_begin[i]], until = slice_end(t, order->by_begin[i]);

		if (i > 0 && begin > *end) {
			if (ARRAY_GROW(ret->cuts, ret->capacity, ret->count + 1) < 0)
				return -ENOMEM;
			ret->cuts[ret->count++] = (struct cut){ .place = i, .begin = *end, .end = begin };
		}
		*end = until > *end ? until : *end;
	}
	return 0;
}

static bool far_from(const struct cut *cut, int64_t span)
{
	return (cut->end - cut->begin) / STRAY_FACTOR > span ||
	       ((cut->end - cut->begin) / STRAY_FACTOR == span && (cut->end - cut->begin) % STRAY_FACTOR);
}

/* The last gap before the core that is far longer than what comes after it. */
static bool cut_head(const struct cuts *heads, struct core *core, uint32_t most)
{
	for (size_t i = heads->count; i-- > 0;) {
		const struct cut *cut = &heads->cuts[i];

		if (cut->place <= most && far_from(cut, core->to - cut->end)) {
			core->head = cut->place;
			core->from = cut->end;
			return true;
		}
	}
	return false;
}

static bool cut_tail(const struct cuts *tails, struct core *core, uint32_t count, uint32_t most)
{
	for (size_t i = 0; i < tails->count; i++) {
		const struct cut *cut = &tails->cuts[i];

		if (count - cut->place <= most && far_from(cut, cut->begin - core->from)) {
			core->tail = cut->place;
			core->to = cut->begin;
			return true;
		}
	}
	return false;
}

/* Strays on both sides hide each other: with the longest gap of one side cut, the other can be seen. */
static void cut_both(const struct cuts *heads, const struct cuts *tails, struct core *core, uint32_t count, uint32_t most)
{
	const struct cut *longest = NULL;
	struct core inner = *core;

	for (size_t i = 0; i < tails->count; i++)
		if (!longest || tails->cuts[i].end - tails->cuts[i].begin > longest->end - longest->begin)
			longest = &tails->cuts[i];
	if (!longest)
		return;
	inner.tail = longest->place;
	inner.to = longest->begin;
	if (count - inner.tail < most && cut_head(heads, &inner, most - (count - inner.tail)) &&
	    far_from(longest, inner.to - inner.from))
		*core = inner;
}

static void cut_strays(const struct cuts *heads, const struct cuts *tails, struct core *core, uint32_t count)
{
	uint32_t most = count / STRAY_SHARE;
	bool head = cut_head(heads, core, most);

	if (cut_tail(tails, core, count, most - core->head)) {
		if (!head)
			cut_head(heads, core, most - (count - core->tail));
	} else if (!head) {
		cut_both(heads, tails, core, count, most);
	}
}

int strays_find(const struct timeline *t, const struct device_order *order, uint32_t *ret_head, uint32_t *ret_tail)
{
	uint32_t most = order->count / STRAY_SHARE;
	struct cuts heads = { 0 }, tails = { 0 };
	struct core core = { .tail = order->count };
	int64_t end = 0;
	int r = 0;

	if (most) {
		core.from = t->begin[order->by_begin[0]];
		r = collect(t, order, 0, most + 1, &end, &heads);
		for (uint32_t i = most + 1; i < order->count - most; i++)
			end = slice_end(t, order->by_begin[i]) > end ? slice_end(t, order->by_begin[i]) : end;
		if (r == 0)
			r = collect(t, order, order->count - most, order->count, &end, &tails);
		core.to = end;
	}
	if (r == 0) {
		cut_strays(&heads, &tails, &core, order->count);
		*ret_head = core.head;
		*ret_tail = core.tail;
	}
	free(heads.cuts);
	free(tails.cuts);
	return r;
}
