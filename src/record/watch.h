/*
 * watch.h - looks at the threads of the recorded processes from outside: how long each ran, queued for a processor and was
 * blocked (exactly, from the kernel's ledger), what it was blocked for and where it ran (by samples).
 *
 * A thread of this process looks once in every slot of 10 ms, at a random
 * place in it, since a program may well have a period of 10 ms too.  What it
 * finds goes into a queue, which the recorder empties into the trace.  The
 * program is neither stopped nor asked, and nothing is written to it.
 *
 * Looking costs the machine: threads that do not move are looked at rarely, and
 * when the whole still takes more than a hundredth of a processor, all but the
 * main threads of processes are looked at in turn.
 */
#ifndef RECORD_WATCH_H
#define RECORD_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"
#include "system/cpu_sampler.h"
#include "system/fd_object.h"

#define WATCH_SLOT_NS 10000000

enum watch_record_kind {
	WATCH_STATE,      /* a thread was in a state */
	WATCH_CPU_SAMPLE, /* it ran: enum code_sort */
	WATCH_LEDGER,  /* counter: enum watch_ledger */
	WATCH_PROCESS, /* counter: enum process_counter */
	WATCH_NUMA,    /* counter: a node that memory of the process lies on */
	WATCH_MACHINE, /* counter: enum machine_counter */
	WATCH_THREAD_ENDED,
	WATCH_PROCESS_REPLACED, /* by exec */
	WATCH_PROCESS_ENDED,
};
enum watch_ledger { WATCH_RUN_NS, WATCH_QUEUE_NS, WATCH_SLICES, WATCH_LEDGER_COUNT };

struct watch_record {
	uint8_t kind;
	uint8_t state;    /* enum thread_state, or enum code_sort */
	uint8_t counter;
	bool continues;   /* a state of which there was a part before */
	uint32_t process; /* numbers of ours, never used twice */
	uint32_t thread;
	pid_t pid, parent, tid;
	uint64_t birth;    /* of the process, in ticks of the kernel */
	uint64_t time;     /* ticks */
	uint64_t duration; /* of a state */
	uint64_t value;    /* of a counter; of a state: samples */
	char what[WAIT_TEXT_SIZE];
};

struct watch_totals {
	uint64_t seed;
	uint64_t slots, missed; /* of the missed ones nobody knows anything */
	uint64_t dropped;       /* records, for lack of room */
	uint64_t cpu_ns;        /* that looking took */
	uint32_t pace;          /* the slowest, in slots, at which threads were looked at that moved */
	uint32_t threads, processes; /* in all */
	uint32_t refused;            /* threads that there was no room for */
	uint32_t cpus;               /* that the program may use */
	enum cpu_sampler_reach reach;
	uint64_t lost_samples;
	uint64_t longest_period_ns; /* of processor time between samples of a thread */
	uint64_t rests; /* times that a thread was not sampled for a while, since it would have cost too much */
};

struct watch;

/* Begins with process root and its descendants. */
int watch_start(struct watch **ret, pid_t root, enum clock_source clock, struct error *err);

/* A process that may not be a descendant. */
void watch_add(struct watch *watch, pid_t pid);

/* Looks for a last time and ends.  Records can still be taken. */
void watch_stop(struct watch *watch);
void watch_free(struct watch *watch);

/* How many records there were, at most max. */
size_t watch_take(struct watch *watch, struct watch_record *records, size_t max);

struct watch_totals watch_totals(const struct watch *watch); /* of one that has been stopped */

#endif
