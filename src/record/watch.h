/*
 * watch.h - looks at the threads of the recorded processes from outside: how long each ran, queued for a processor and was
 * blocked (exactly, from the kernel's ledger), what it was blocked for and where it ran (by samples).
 *
 * A thread of this process looks once in every slot of 10 ms, or of what is
 * asked for, at a random place in it, since a program may well have a period of
 * 10 ms too.  What it finds goes into a queue, which the recorder empties into
 * the trace; who wants to know how things are now asks for a view.  The program
 * is neither stopped nor asked, and nothing is written to it.
 *
 * Looking costs the machine: threads that do not move are looked at rarely, and
 * when the whole still takes more than a hundredth of a processor (with long
 * slots: a fifth of that), all but the main threads of processes are looked at
 * in turn.
 */
#ifndef RECORD_WATCH_H
#define RECORD_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"
#include "record/deaths.h"
#include "system/cpu_sampler.h"
#include "system/fd_object.h"
#include "system/machine_counters.h"
#include "system/process_counters.h"
#include "system/thread_state.h"

#define WATCH_SLOT_NS 10000000
#define WATCH_SLOT_MAX_NS 250000000 /* also for who wants to see less often: rates are over whatever time passed */
#define WATCH_LONG_NS 50000000 /* slots of this length and more are for who looks on, not for an analysis */
#define WATCH_QUEUE 16384u

struct watch_options {
	int64_t slot_ns;       /* WATCH_SLOT_NS to WATCH_SLOT_MAX_NS */
	bool program_counters; /* sample where threads run as well */
	bool views;            /* keep one for watch_view_begin() */
	size_t queue;          /* records that can wait to be taken; 0: nobody takes any */
};
#define WATCH_OPTIONS_INIT { .slot_ns = WATCH_SLOT_NS, .program_counters = true, .queue = WATCH_QUEUE }

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
int watch_start(struct watch **ret, pid_t root, enum clock_source clock, const struct watch_options *options, struct error *err);
int64_t watch_slot_ns(const struct watch *watch);
enum clock_source watch_clock(const struct watch *watch);

/* A process that may not be a descendant. */
void watch_add(struct watch *watch, pid_t pid);

/* Looks for a last time and ends.  Records can still be taken. */
void watch_stop(struct watch *watch);
void watch_free(struct watch *watch);

/* How many records there were, at most max. */
size_t watch_take(struct watch *watch, struct watch_record *records, size_t max);

/*
 * How things are now: all processes and threads, as last read, in no order.
 */
struct watched_process_view {
	uint32_t number;
	pid_t pid, parent;
	uint64_t birth;
	uint32_t programs; /* how often it has been replaced by exec */
	bool leader_ended; /* its main thread has; others go on */
	bool syscalls;     /* what its threads wait for may be seen */
	uint64_t time;     /* ticks, of the reading, */
	uint64_t io_time;  /* and of that of bytes and calls; 0: they may not be read */
	uint64_t cpu_ns;   /* of all its threads, ended ones as well; UINT64_MAX: not known */
	struct process_counters counters;
};
struct watched_thread_view {
	uint32_t number, process; /* number of the process */
	pid_t pid, tid;
	bool main;
	uint64_t time; /* ticks, of the reading of the ledger, or until when it is known not to have changed */
	struct thread_ledger ledger;
	uint64_t since; /* ticks, from when it is known to be in this state */
	struct wait_object object; /* state THREAD_STATE_COUNT: not known yet */
};
/* A process that a signal has ended. */
#define WATCH_DEATHS 64u
struct watched_death {
	uint32_t number; /* of the process */
	pid_t pid;
	int signal;
};
struct watch_view {
	uint64_t looks;   /* so far */
	const struct watched_process_view *processes;
	const struct watched_thread_view *threads;
	size_t process_count, thread_count;
	uint32_t refused; /* threads that there was no room for */
	uint64_t death_count; /* so far; death n is in deaths[n % WATCH_DEATHS], until there are so many more */
	const struct watched_death *deaths;
	uint64_t machine_time; /* ticks; 0: not read yet */
	struct machine_counters machine;
};

/* Borrows it until watch_view_end(), until when the next look may have to wait: be short.  Empty without options.views. */
const struct watch_view *watch_view_begin(struct watch *watch);
void watch_view_end(struct watch *watch);

struct watch_totals watch_totals(const struct watch *watch); /* of one that has been stopped */

/*
 * Of one that has been stopped, because the root has ended: its descendants.
 */
#define WATCH_NAME DEATH_NAME
const struct deaths *watch_killed(const struct watch *watch); /* as far as it was seen */
/* Gives those that are about to end as well so many milliseconds for it. */
void watch_settle(struct watch *watch, int patience_ms);
/* The number of one that goes on; 0: there are no more. */
pid_t watch_living(const struct watch *watch, size_t index, const char **ret_name);

#endif
