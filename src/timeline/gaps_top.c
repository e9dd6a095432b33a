/* gaps_top.c - the operator, scope or function that a thread was in during a gap. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "timeline/gaps.h"
#include "timeline/states_build.h"

#define WALK_MAX 4096u /* slices of a gap that are looked at one by one */

struct top_level {
	uint32_t slice;
	int64_t own; /* time in the gap that was its own */
};

struct top_walk {
	struct top_finder *f;
	const struct timeline *t;
	size_t depth;
	int64_t at;
	uint32_t best;
	int64_t most;
};

static bool is_top(const struct timeline *t, uint32_t slice)
{
	return t->kind[slice] == EVENT_CPU_CALL || t->kind[slice] == EVENT_SCOPE || t->kind[slice] == EVENT_OP;
}

static uint32_t top_around(const struct timeline *t, uint32_t slice)
{
	while (slice != TIMELINE_NONE && !is_top(t, slice))
		slice = t->parent[slice];
	return slice;
}

static int push(struct top_walk *w, uint32_t slice)
{
	if (ARRAY_GROW(w->f->stack, w->f->capacity, w->depth + 1) < 0)
		return -ENOMEM;
	w->f->stack[w->depth++] = (struct top_level){ .slice = slice };
	return 0;
}

static void judge(struct top_walk *w, const struct top_level *level)
{
	if (level->own > w->most) {
		w->most = level->own;
		w->best = level->slice;
	}
}

/* Time goes on to `to`: what is on top has it, until it ends and what is around it goes on. */
static int pass_time(struct top_walk *w, int64_t to)
{
	while (w->depth && w->at < to) {
		struct top_level *top = &w->f->stack[w->depth - 1];
		int64_t end = slice_end(w->t, top->slice) < to ? slice_end(w->t, top->slice) : to;
		uint32_t around;

		if (end > w->at) {
			top->own += end - w->at;
			w->at = end;
		}
		if (end == to)
			break;
		judge(w, top);
		around = top_around(w->t, w->t->parent[top->slice]);
		w->depth--;
		if (!w->depth && around != TIMELINE_NONE && push(w, around) < 0)
			return -ENOMEM;
	}
	w->at = to;
	return 0;
}

/* The slice that had most of the time to itself. */
static int walk_slices(struct top_walk *w, uint32_t open, uint32_t first, uint32_t last, int64_t to)
{
	int r = open != TIMELINE_NONE ? push(w, open) : 0;

	for (uint32_t i = first; r == 0 && i < last; i++) {
		if (!is_top(w->t, i))
			continue;
		r = pass_time(w, w->t->begin[i]);
		if (r == 0)
			r = push(w, i);
	}
	if (r == 0)
		r = pass_time(w, to);
	while (w->depth)
		judge(w, &w->f->stack[--w->depth]);
	return r;
}

static bool lasted_half(const struct timeline *t, uint32_t slice, int64_t from, int64_t to)
{
	int64_t begin = t->begin[slice] > from ? t->begin[slice] : from, end = slice_end(t, slice) < to ? slice_end(t, slice) : to;

	return end > begin && end - begin >= (to - from) - (end - begin);
}

/* What lasted for half of the time was open in the middle of it. */
static uint32_t innermost_half(const struct timeline *t, uint32_t track, int64_t from, int64_t to)
{
	uint32_t slice = timeline_at(t, track, from + (to - from) / 2);

	while (slice != TIMELINE_NONE && !(is_top(t, slice) && lasted_half(t, slice, from, to)))
		slice = t->parent[slice];
	return slice;
}

int top_find(struct top_finder *f, const struct timeline *t, uint32_t track, int64_t from, int64_t to, uint32_t launch,
	     uint32_t *ret)
{
	struct top_walk w = { .f = f, .t = t, .at = from, .best = TIMELINE_NONE };
	uint32_t first = timeline_first_at(t, track, from), last = timeline_first_at(t, track, to);
	int r = 0;

	if (last - first <= WALK_MAX)
		r = walk_slices(&w, top_around(t, timeline_at(t, track, from)), first, last, to);
	if (r < 0)
		return r;
	if (w.most < (to - from) / 4)
		w.best = innermost_half(t, track, from, to);
	if (w.best == TIMELINE_NONE && launch != TIMELINE_NONE)
		w.best = top_around(t, t->parent[launch]);
	*ret = w.best;
	return 0;
}

void top_finder_release(struct top_finder *f)
{
	free(f->stack);
	*f = (struct top_finder){ 0 };
}
