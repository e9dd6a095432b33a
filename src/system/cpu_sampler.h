/*
 * cpu_sampler.h - where threads are when they run: their program counter, every few milliseconds of processor time.
 *
 * The kernel takes these samples, into memory that it shares with us; no thread is stopped or sent a signal.  It does so for one
 * thread, by that thread's processor time, which costs something whenever the thread gets a processor; or for one processor and
 * whoever runs there, which costs nobody anything but the sample and is for who may see the whole machine.  A kernel may not
 * have this, and may forbid it in whole or in part.
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
	pid_t tid; /* of a processor's: who it is of */
};

/* A thread or a processor that is sampled. */
struct cpu_sampler {
	int fd;
	bool has_tid; /* it is a processor */
	void *page; /* shared with the kernel: the cursors, and after so many bytes the ring of samples */
	size_t ring, size;
	uint64_t period_ns;
	uint64_t lost; /* samples that there was no room for */
};
#define CPU_SAMPLER_INIT { -1, false, NULL, 0, 0, CPU_SAMPLER_PERIOD_NS, 0 }

/* Begins to sample the thread, or the processor.  0; -EACCES, -EPERM, -ENOSYS and others of the kernel's when it does not let us. */
int cpu_sampler_open(struct cpu_sampler *sampler, pid_t tid, clockid_t clock, enum cpu_sampler_reach reach);
int cpu_sampler_open_processor(struct cpu_sampler *sampler, uint32_t processor, clockid_t clock);
void cpu_sampler_close(struct cpu_sampler *sampler);

/* From now on; where the kernel refuses, it stays as it was. */
void cpu_sampler_set_period(struct cpu_sampler *sampler, uint64_t period_ns);

/* The oldest sample, which stays until it is dropped.  False when there is none. */
bool cpu_sampler_peek(struct cpu_sampler *sampler, struct cpu_sample *ret);
void cpu_sampler_drop(struct cpu_sampler *sampler);

/* It will soon have no room. */
bool cpu_sampler_is_full(const struct cpu_sampler *sampler);

#endif
