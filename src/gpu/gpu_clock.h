/*
 * gpu_clock.h - the clock of a device on ours, by pairs of readings, each within a bracket.
 *
 * Between two pairs a straight line is drawn, so that drift is followed as it
 * happens; what lies after the last pair or before the first goes on with the
 * slope of the nearest two.  How wide a bracket was, and how far a pair lay from
 * where the line before it pointed, bound the error.
 */
#ifndef GPU_GPU_CLOCK_H
#define GPU_GPU_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_clock_pair {
	uint64_t ticks;  /* ours, the middle of the bracket */
	uint64_t device; /* ns */
	uint64_t width;  /* of the bracket, ticks */
};

#define GPU_CLOCK_PAIRS 8u /* the newest are kept */
struct gpu_clock {
	struct gpu_clock_pair pairs[GPU_CLOCK_PAIRS]; /* the oldest first */
	uint32_t count;
	double nominal;      /* ticks a nanosecond, until two pairs say so */
	uint64_t residual;   /* ticks: the largest distance of a pair from what the ones before it said */
};

/* A pair that is not after the last one is left out.  Close to it (`apart` ticks) only the narrower one is kept.  Whether this was. */
bool gpu_clock_add(struct gpu_clock *clock, uint64_t ticks_before, uint64_t device, uint64_t ticks_after, uint64_t apart);

/* Our ticks of a reading of the device; false: there is no pair yet, or it is from another age. */
bool gpu_clock_ticks(const struct gpu_clock *clock, uint64_t device, uint64_t *ret);

#endif
