/*
 * clock.h - the clock that events are stamped with.
 *
 * Raw ticks on the hot path, converted when read: about 10 ns for the TSC
 * against 24 for clock_gettime().  The recorder chooses the source and writes
 * it into the session page, so that all processes of a session agree.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* The numbers are those of the clock domains in docs/sbt-format.md. */
enum clock_source {
	CLOCK_SOURCE_TSC = 1,
	CLOCK_SOURCE_ARM = 2,
	CLOCK_SOURCE_MONOTONIC_RAW = 3,
	CLOCK_SOURCE_MONOTONIC = 4
};

/* One reading of several clocks, bracketed by two of ours. */
struct clock_reading {
	int64_t ticks;  /* middle of the bracket */
	uint64_t width; /* of the bracket, in ticks */
	int64_t raw_ns, monotonic_ns, realtime_ns;
};

/* The best source here; ret_why (may be NULL) becomes a static sentence that says why it is not a faster one, or "". */
enum clock_source clock_source_best(const char **ret_why);
const char *clock_source_name(enum clock_source source);

/* The narrowest of a few tries. */
void clock_read_all(enum clock_source source, struct clock_reading *ret);

/* Ticks a second, measured over about a millisecond (exact for sources in nanoseconds). */
uint64_t clock_measure_rate(enum clock_source source);

uint64_t clock_ticks_slow(enum clock_source source);

static inline uint64_t clock_ticks(enum clock_source source)
{
#if defined(__x86_64__)
	if (__builtin_expect(source == CLOCK_SOURCE_TSC, 1))
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	if (__builtin_expect(source == CLOCK_SOURCE_ARM, 1)) {
		uint64_t ticks;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
		return ticks;
	}
#endif
	return clock_ticks_slow(source);
}

#endif
