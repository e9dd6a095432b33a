/*
 * cpu_frequency.h - how fast the processors run: the mean over some of them, evenly spread, or over the first ones where
 * only /proc/cpuinfo tells.
 */
#ifndef SYSTEM_CPU_FREQUENCY_H
#define SYSTEM_CPU_FREQUENCY_H

#include <stddef.h>
#include <stdint.h>

#include "system/rare_read.h"

#define CPU_FREQUENCY_MAX 16u /* processors that are asked */

struct cpu_frequency {
	int fds[CPU_FREQUENCY_MAX]; /* scaling_cur_freq */
	size_t count;
	int cpuinfo; /* where there is none of those; -1: nor this */
	struct rare_read rare;
};
#define CPU_FREQUENCY_INIT { .cpuinfo = -1 }

/* "2400000", of scaling_cur_freq, in MHz times 1000.  0: it does not say. */
uint64_t cpu_frequency_parse_khz(const char *text);

/* The mean of the lines "cpu MHz : 2596.130" of /proc/cpuinfo, the first ones, in MHz times 1000.  0: there is none. */
uint64_t cpu_frequency_parse_cpuinfo(const char *text);

void cpu_frequency_open(struct cpu_frequency *frequency);
void cpu_frequency_close(struct cpu_frequency *frequency);

/* In MHz; 0: it cannot be told, or not at once.  Old kernels wait for 10 ms for each processor: there it is rare. */
uint64_t cpu_frequency_read(struct cpu_frequency *frequency);

#endif
