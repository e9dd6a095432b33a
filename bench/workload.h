/*
 * workload.h - the made-up program whose trace is written and read in the benchmarks.
 *
 * Threads that call some 40 functions, up to 12 deep, with durations spread
 * over 50 ns to 2 ms, most around 1 us.  Loops of constant timing would
 * compress to next to nothing and flatter every figure.
 */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stdint.h>

#include "ring/event.h"

#define WORKLOAD_RATE 2600000000u /* ticks a second */
#define WORKLOAD_TRACKS 4u
#define WORKLOAD_NAMES 40u
#define WORKLOAD_RUN 4096u
#define WORKLOAD_SLOTS (64u * WORKLOAD_RUN) /* of a track; they begin and end at depth 0 and can be repeated */

struct workload {
	struct event_slot *slots[WORKLOAD_TRACKS]; /* names are 1 to WORKLOAD_NAMES; times begin at 0 */
	uint64_t span;                             /* ticks until the next repetition */
};

int workload_init(struct workload *workload); /* 0 or -ENOMEM */
void workload_release(struct workload *workload);

/* "layer.7.forward"; the buffer holds 32 bytes. */
const char *workload_name(char *buffer, uint32_t name);

#endif
