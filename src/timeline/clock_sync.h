/*
 * clock_sync.h - one clock told by another, with a bound for the error.
 *
 *      struct clock_sync *sync;
 *      clock_sync_fit(&sync, samples, count, &options, &err);
 *      ns = clock_sync_host(sync, device_ticks);           and how wrong that can be:
 *      clock_sync_error(sync, device_ticks)
 *      clock_sync_free(sync);
 *
 * A sample says that the device's clock was read between two readings of the
 * host's: the line that relates the clocks passes through that bracket.  The
 * lines that pass through all brackets are a convex set; its middle is the
 * answer and its extent the bound (Duda and others, 1987).  Narrow brackets
 * cut the set, wide ones do not, so delays need no model.
 *
 * A clock may be set while it runs: where no line passes through the next
 * brackets, another line begins.  A single reading that fits neither what is
 * before nor what is after it is left out.
 *
 * Causes come before effects: a sample may have one side only, such as work
 * that begins after its launch.  With nothing but lower bounds the earliest
 * possible line is the answer, and the error has no bound.
 *
 * The bound holds when, between the places where it is set, the device's clock
 * keeps its rate; and steps that are smaller than the brackets stay below it.
 */
#ifndef TIMELINE_CLOCK_SYNC_H
#define TIMELINE_CLOCK_SYNC_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define CLOCK_NO_BEFORE INT64_MIN
#define CLOCK_NO_AFTER INT64_MAX

struct clock_sample {
	int64_t before; /* host, ns; or CLOCK_NO_BEFORE */
	int64_t device; /* ticks */
	int64_t after;  /* host, ns; or CLOCK_NO_AFTER */
};

struct clock_sync_options {
	double nominal;   /* ns of the host for a tick of the device; 0: not known */
	double drift_ppm; /* the rate is within this of the nominal one; 0: CLOCK_DRIFT_PPM */
};
#define CLOCK_DRIFT_PPM 500.0 /* quartz is within 200 of what it says, on either side */

/* A time in which the clock was not set. */
struct clock_segment {
	int64_t first, last; /* device, of its samples */
	double slope;        /* ns a tick */
	double slope_error;  /* relative: no interval in it is wrong by more than this */
	int64_t offset_ns;   /* host, where the device's clock is `first` */
	size_t samples;
};

struct clock_sync;

/* Needs one sample.  Order does not matter. */
int clock_sync_fit(struct clock_sync **ret, const struct clock_sample *samples, size_t count,
		   const struct clock_sync_options *options, struct error *err);
void clock_sync_free(struct clock_sync *sync);

/* Never falls while the device's clock rises. */
int64_t clock_sync_host(const struct clock_sync *sync, int64_t device);
/* Largest error of that, ns; INFINITY when nothing bounds it. */
double clock_sync_error(const struct clock_sync *sync, int64_t device);

size_t clock_sync_segment_count(const struct clock_sync *sync);
const struct clock_segment *clock_sync_segment(const struct clock_sync *sync, size_t i);
/* Samples that fit nowhere. */
size_t clock_sync_outliers(const struct clock_sync *sync);

#endif
