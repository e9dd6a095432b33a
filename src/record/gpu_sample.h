/*
 * gpu_sample.h - what the driver says about the GPUs that the program uses, as counters of the trace.
 *
 * Only those GPUs: a door has described it, or the driver names a process of the
 * program on it.  Where the driver names nobody at all (in containers it often
 * does not) and no door tells, all of them.  Samples wait until that is known.
 */
#ifndef RECORD_GPU_SAMPLE_H
#define RECORD_GPU_SAMPLE_H

#include "record/drain.h"
#include "record/gpu_sampler.h"
#include "record/gpu_table.h"

struct gpu_samples;

/* Borrows drain and writer, starts the sampler.  root: the process whose descendants are the program's; 0: those that attach. */
int gpu_samples_start(struct gpu_samples **ret, struct drain *drain, struct trace_writer *writer, enum clock_source clock,
		      pid_t root);
/* Writes what has come since. */
void gpu_samples_pass(struct gpu_samples *samples, struct error *err);
/* The same for the last time; the sampler ends. */
void gpu_samples_finish(struct gpu_samples *samples, struct error *err);
void gpu_samples_free(struct gpu_samples *samples);

/* The driver tells nothing about any GPU, and it is not worth asking again: doors may. */
bool gpu_samples_failed(const struct gpu_samples *samples);

struct gpu_sample_totals {
	uint64_t samples; /* that were written; one is of one GPU */
	uint64_t dropped; /* for lack of room, or of a track */
	char why[GPU_WHY_SIZE]; /* why there are none, or no more, of some or all GPUs: a sentence; "" */
};
struct gpu_sample_totals gpu_samples_totals(const struct gpu_samples *samples);
/* All GPUs as they are now, those that the program uses marked so. */
const struct gpu_table *gpu_samples_table(const struct gpu_samples *samples);

#endif
