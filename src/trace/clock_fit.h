/*
 * clock_fit.h - a line through clock pairs, with its error bound.
 */
#ifndef TRACE_CLOCK_FIT_H
#define TRACE_CLOCK_FIT_H

#include <stddef.h>
#include <stdint.h>

#include "trace/writer.h"

struct clock_fit {
	int64_t origin_ticks;
	int64_t origin_ns; /* CLOCK_MONOTONIC_RAW */
	double ns_per_tick;
	double error_ns; /* every used pair lies within this of the line, brackets included */
	size_t pairs, used;
};

/* nominal_rate (ticks a second) serves when there are fewer than two pairs; 0 and no pairs: one tick is one ns. */
void clock_fit_compute(struct clock_fit *fit, const struct trace_clock_pair *pairs, size_t count,
		       uint64_t nominal_rate);

/* Exact to well below a nanosecond over days; saturates instead of overflowing. */
int64_t clock_fit_ns(const struct clock_fit *fit, int64_t ticks);
int64_t clock_fit_ticks(const struct clock_fit *fit, int64_t ns);

#endif
