/*
 * sweep.h - whose time it was, on a thread.
 *
 * Each nanosecond of a track belongs to the slice that began last of those that
 * are open, so that the parts sum to the union of the slices, whether they nest
 * or cross.  Inline, since it is called for a few functions that do next to
 * nothing, for every slice.
 */
#ifndef ANALYZE_SWEEP_H
#define ANALYZE_SWEEP_H

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "timeline/timeline.h"

typedef void (*sweep_fn)(void *arg, uint32_t slice, int64_t from, int64_t to);

struct sweep {
	uint32_t *open; /* by begin; an end that has come is noticed when it is on top */
	size_t count, capacity;
	int64_t now;
};

/* Hands out the time up to `until`. */
static inline __attribute__((always_inline)) void sweep_advance(struct sweep *s, const struct timeline *t, int64_t until,
								sweep_fn fn, void *arg)
{
	while (s->count > 0 && s->now < until) {
		uint32_t top = s->open[s->count - 1];
		int64_t end = t->end[top];

		if (end <= s->now) {
			s->count--;
			continue;
		}
		if (end > until)
			end = until;
		fn(arg, top, s->now, end);
		s->now = end;
	}
}

/* Calls fn for the parts of a track's time, in order.  0 or -ENOMEM. */
static inline __attribute__((always_inline)) int sweep_track(const struct timeline *t, uint32_t track, sweep_fn fn, void *arg)
{
	uint32_t first = t->tracks[track].first, end = first + t->tracks[track].count;
	struct sweep s = { 0 };

	for (uint32_t i = first; i < end; i++) {
		sweep_advance(&s, t, t->begin[i], fn, arg);
		if (s.count == s.capacity && ARRAY_GROW(s.open, s.capacity, s.count + 1) < 0) {
			free(s.open);
			return -ENOMEM;
		}
		if (s.now < t->begin[i])
			s.now = t->begin[i];
		s.open[s.count++] = i;
	}
	sweep_advance(&s, t, INT64_MAX, fn, arg);
	free(s.open);
	return 0;
}

#endif
