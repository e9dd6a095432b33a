/*
 * timing.h - the clock of the benchmarks, and how they print what they measured.
 *
 * Time is CPU time: other programs, and the recorder when it runs on the
 * producer's CPU, take turns with what is measured but are not part of its
 * cost.  What they do to caches is, and shows.
 */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline double thread_ns(void)
{
	return (double)clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* All threads of the process: what is claimed for one core. */
static inline double process_ns(void)
{
	return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Waiting for the disk included. */
static inline int64_t wall_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* Works for a while, so that what is measured next does not pay for waking the CPU up. */
static inline void wake_up(void)
{
	double start = thread_ns();

	while (thread_ns() - start < 1e6)
		;
}

/* One line: {"name":[1.0,2.0]} */
static inline void print_values(const char *name, const double *values, size_t count)
{
	printf("{\"%s\":[", name);
	for (size_t i = 0; i < count; i++)
		printf("%s%.4f", i ? "," : "", values[i]);
	printf("]}\n");
}

static inline void print_count(const char *name, uint64_t count)
{
	printf("{\"%s\":%llu}\n", name, (unsigned long long)count);
}

#endif
