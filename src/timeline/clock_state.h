/*
 * clock_state.h - the inside of a fitted clock: clock_sync.c makes it, clock_ask.c answers from it.
 *
 * Times are differences from one sample, and what is left of the host's when
 * the nominal rate is taken away: small numbers, for which doubles are exact
 * enough over weeks.
 */
#ifndef TIMELINE_CLOCK_STATE_H
#define TIMELINE_CLOCK_STATE_H

#include <stdbool.h>

#include "timeline/clock_hull.h"
#include "timeline/clock_sync.h"

/* A sample as constraints; infinite where a side is missing. */
struct constraint {
	int64_t device;
	double x, low, high;
};

struct segment {
	struct clock_segment info;
	struct lines lines;
	double slope, height; /* of the middle line, beside the nominal rate */
	double floor;         /* host's time since the origin at which the segments before have ended */
	double reach_low, reach_high; /* x that the clock can have shown, up to the samples of the segments on either side */
	struct constraint *items; /* by x; in the end good brackets only */
	size_t count, capacity;
};

struct clock_sync {
	int64_t device, host; /* the origin */
	double nominal, drift; /* ns a tick */
	double good; /* widest good bracket */
	struct segment *segments;
	size_t count, capacity;
	size_t outliers;
	bool set_back; /* the device's clock, at some time */
};

/* Segments that a time can belong to: one, or the two on either side of it. */
struct clock_place {
	const struct segment *left, *right; /* the same when it is clear */
};

struct clock_place clock_locate(const struct clock_sync *sync, int64_t device);
/* Host's time where x is, and this far from the nominal line. */
int64_t clock_host_of(const struct clock_sync *sync, double residual_ns, double x);

static inline double clock_difference(int64_t a, int64_t b)
{
	int64_t exact;

	return __builtin_sub_overflow(a, b, &exact) ? (double)a - (double)b : (double)exact;
}

static inline double clock_width(const struct constraint *c)
{
	return c->high - c->low;
}

/* Beside the origin and the nominal rate. */
static inline double clock_line_at(const struct segment *s, double x)
{
	return s->height + s->slope * x;
}

#endif
