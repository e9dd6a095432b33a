/*
 * cpu_sampler.h - where a thread is when it runs: its program counter, every few milliseconds of its own processor time.
 *
 * The kernel takes these samples, into memory that it shares with us; the thread is neither stopped nor sent a signal.  A
 * kernel may not have this, and may forbid it in whole or in part: see cpu_sampler_open().
 */
#ifndef SYSTEM_CPU_SAMPLER_H
#define SYSTEM_CPU_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define CPU_SAMPLER_PERIOD_NS 5030000       /* of processor time; programs have periods of 5 and 10 ms */
#define CPU_SAMPLER_CROWD_PERIOD_NS 20030000 /* of one among many */

/* How much of a thread is sampled. */
enum cpu_sampler_reach {
	CPU_SAMPLER_NONE,
	CPU_SAMPLER_USER, /* not while it is in the kernel */
	CPU_SAMPLER_KERNEL,
};

struct cpu_sample {
	int64_t time_ns; /* of the clock that was asked for */
	uint64_t pc;     /* where it was, or where it entered the kernel; 0: not known */
	bool kernel;
};

/* A thread that is sampled. */
struct cpu_sampler {
	int fd;
	void *page; /* shared with the kernel: the cursors, and after so many bytes the ring of samples */
	size_t ring, size;
	uint64_t period_ns;
	uint64_t lost; /* samples that there was no room for */
};
#define CPU_SAMPLER_INIT { -1, NULL, 0, 0, CPU_SAMPLER_PERIOD_NS, 0 }

/* Begins to sample the thread.  0; -EACCES, -EPERM, -ENOSYS and others of the kernel's when it does not let us. */
int cpu_sampler_open(struct cpu_sampler *sampler, pid_t tid, clockid_t clock, enum cpu_sampler_reach reach);
void cpu_sampler_close(struct cpu_sampler *sampler);

/* From now on; where the kernel refuses, it stays as it was. */
void cpu_sampler_set_period(struct cpu_sampler *sampler, uint64_t period_ns);

/* The oldest sample, which stays until it is dropped.  False when there is none. */
bool cpu_sampler_peek(struct cpu_sampler *sampler, struct cpu_sample *ret);
void cpu_sampler_drop(struct cpu_sampler *sampler);

/* It will soon have no room. */
bool cpu_sampler_is_full(const struct cpu_sampler *sampler);

#endif
