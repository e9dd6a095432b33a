/*
 * snapshot.h - a program at one moment: all that the terminal, the page, /metrics and /api show.
 *
 * One flat piece of memory without pointers, so that the process that serves
 * the page can have it as it is.  Everything has bounds; what did not fit is
 * counted.  A number that is not known is NAN, a text that is not known "".
 * Rates are per second, over the interval before; shares go from 0 to 1, where
 * those of processor time are of one processor and may be larger.  Texts come from
 * the program and are not to be trusted.
 */
#ifndef LIVE_SNAPSHOT_H
#define LIVE_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LIVE_NAME 96u
#define LIVE_COMMAND 256u
#define LIVE_TEXT 256u
#define LIVE_PROCESSES 64u
#define LIVE_THREADS 256u
#define LIVE_GPUS 16u
#define LIVE_GPU_NUMBERS 64u /* that they can have */
#define LIVE_DISKS 16u
#define LIVE_INTERFACES 16u
#define LIVE_PLACES 16u
#define LIVE_SLICES 192u
#define LIVE_COUNTERS 32u
#define LIVE_TOLD 32u
#define LIVE_ALERTS 64u
#define LIVE_DEATHS 8u
#define LIVE_STEP_BUCKETS 16u

enum live_state {
	LIVE_RUNNING,
	LIVE_STOPPED, /* by a signal */
	LIVE_ENDED,
};

struct live_cpu {
	double share;          /* of all processes; 1 is one processor */
	double time_s;         /* that all processes took since the beginning of the run, or of looking, those that have ended as well */
	double user, system;
	double queue;          /* for how long threads waited for a processor */
	double gil_wait;       /* threads that wait for Python's lock of the interpreter, as seen in one look */
	double machine;        /* of the machine, 0 to 1 */
	double steal;          /* that the machine was owed, 0 to 1 */
	double throttled;      /* for how long a quota held the control group back, of the time that it wanted to run, 0 to 1 */
	double available;      /* processors that the program may use: affinity and quota */
	uint32_t count;        /* of the machine */
	double frequency_mhz;
};

struct live_memory {
	double rss_bytes, pss_bytes, shared_bytes, swap_bytes; /* of all processes; shared is in rss as well, and in pss once */
	double virtual_bytes;   /* of all processes: addresses that are mapped, whatever is behind them */
	double total_bytes;     /* of the container, where it has a limit, else of the machine */
	double available_bytes; /* likewise */
	double used;            /* 1 - available / total */
	double swap_total_bytes, swap_used_bytes;
	bool limited;           /* total is a limit of the control group */
	double minor_faults, major_faults; /* a second */
	double pressure;        /* for how long some thread lacked it, 0 to 1 */
	double oom_kills;       /* processes of the control group that the kernel has killed for lack of memory, ever */
	double held_bytes;      /* of rss: what no file has, so that the kernel cannot just drop it */
};

struct live_disk {
	char name[32];
	double read_bytes, written_bytes, reads, writes; /* a second */
	double busy; /* 0 to 1 */
};

struct live_io {
	double read_bytes, written_bytes; /* a second, from and to disks, by the program */
	double read_chars, written_chars; /* by system calls, cached or not */
	double read_calls, write_calls;
	double waiting;                   /* threads that wait for a file or a disk, on average */
	double pressure;
	double open_files, open_files_limit; /* descriptors of the root, and how many it may have */
	uint32_t disk_count;
	struct live_disk disks[LIVE_DISKS]; /* of the machine */
};

struct live_interface {
	char name[32];
	double received_bytes, sent_bytes, received_packets, sent_packets, errors; /* a second */
};

struct live_network {
	double received_bytes, sent_bytes; /* a second, of the program's network namespace, without loopback */
	uint32_t interface_count;
	struct live_interface interfaces[LIVE_INTERFACES];
};

struct live_gpu {
	uint32_t number; /* as the driver numbers them, or CUDA where it tells: the same in all snapshots, unlike its place in the list */
	char name[LIVE_NAME], uuid[LIVE_NAME];
	double memory_used_bytes, memory_total_bytes;
	double program_bytes; /* of the program's processes; 0: it does not use this one; NAN: nobody can tell */
	double utilization, memory_utilization; /* 0 to 1 */
	double sm_clock_mhz, sm_clock_limit_mhz, power_watts, power_limit_watts, temperature_celsius;
};

struct live_process {
	pid_t pid, parent;
	char name[LIVE_NAME];
	char state; /* as the kernel abbreviates it */
	uint32_t threads;
	double cpu, rss_bytes, read_bytes, written_bytes;
	bool recorded; /* it has our runtime in it */
};

struct live_thread {
	pid_t pid, tid;
	char name[32];
	double cpu, queue, blocked; /* of the interval, 0 to 1; they sum to 1 */
	char state[24];     /* thread_state_name() */
	char what[LIVE_NAME]; /* what it waits for */
	double waiting_s;   /* for how long it has been in that state */
	char scope[LIVE_NAME], op[LIVE_NAME]; /* the innermost that are open */
	uint32_t depth;     /* of scopes and operators that are open */
};

/* Where the time of one thread went of late (live_doing), each moment of it once; or that of devices. */
struct live_place {
	char name[LIVE_NAME];
	char kind[16]; /* "scope", "op", "cpu_call", "gpu_kernel", ...; "unrecorded": what it did while nothing was recorded of it */
	double calls;  /* a second */
	double share;  /* of the thread's time: an operator with all that it calls, anything else without what is in it */
};

/* What the program does: how one thread has spent the last seconds.  It is the thread that makes steps, else the main one, else the one
 * of which most is recorded.  Shares are of these seconds; NAN: not known. */
struct live_doing {
	pid_t pid, tid;
	char thread[48];     /* "the main thread" */
	double window_s;     /* how long these seconds are */
	double input, operators, scopes, functions; /* recorded: of its waits for input, operators with all in them, the rest of scopes, ... */
	double running, queueing, waiting; /* of what is not */
	char most[LIVE_NAME]; /* the place with the largest share */
	char text[LIVE_TEXT]; /* all that as a sentence; it says so when nothing can be said */
};

/* What the program counts or measures itself, as it last said: of all its processes, the newest, by name. */
struct live_counter {
	char name[LIVE_NAME];
	double value;
};

struct live_steps {
	bool known;
	char name[LIVE_NAME]; /* what is taken for the beginning of a step */
	char found[48];       /* how it was found */
	char trouble[LIVE_TEXT]; /* why there are no steps, and what to do; "": there are, or it is too early to say */
	uint64_t count;
	double last_s, median_s, p95_s; /* of the last hundred, at most */
	double rate;          /* a second */
	double since_s;       /* since the newest one began */
	double input_wait;    /* share of the last steps in which the step waited for its input; NAN: cannot be told */
	double begin_s;       /* of the newest one, after the beginning of the run */
	pid_t pid, tid;       /* of the thread that makes them; 0: not known */
	double quiet_s;       /* since that thread last recorded anything or was seen running */
	bool idle;            /* nobody asks it for a step: it has nothing open and waits for a request */
	double sum_s, input_sum_s; /* of all steps so far: their time, and the part of it that waited for input */
	uint64_t buckets[LIVE_STEP_BUCKETS]; /* steps by time: of at most live_step_bounds[i] seconds, and more than the one before */
};
extern const double live_step_bounds[LIVE_STEP_BUCKETS]; /* the last is infinite */

/* A piece of the newest step that is over, on the thread that makes steps; nested by depth, in the order of their beginnings. */
struct live_slice {
	double begin_s, duration_s; /* after the beginning of the step */
	uint32_t depth;
	char kind[16];
	char name[LIVE_NAME];
};

struct live_events {
	bool recorded; /* the program is recorded, not only looked at */
	double rate;
	uint64_t total, lost;
	uint64_t unwritten;      /* of the lost: they were there, and the trace could not be written */
	char trouble[LIVE_TEXT]; /* why it could not, the first time; "": all of it could */
	uint64_t trace_bytes;
	double disk_free_bytes, disk_free; /* where the trace is written: in all, and as a share */
};

/* What the program itself says is alarming now, or was since the snapshot before. */
struct live_told {
	char kind[48], subject[LIVE_NAME];
	uint8_t severity; /* enum live_severity */
	double value, threshold;
	char text[LIVE_TEXT], advice[LIVE_TEXT];
};

/* Processes that the program has started and a signal has ended: one for each signal since the snapshot before. */
struct live_death {
	pid_t pid;           /* of the last of them */
	char name[LIVE_NAME];
	int32_t signal;
	uint64_t count;      /* that this signal has ended so far */
};

enum live_severity { LIVE_INFO, LIVE_WARNING, LIVE_CRITICAL };

struct live_alert {
	uint64_t number;   /* from 1; an alert keeps it until it has ended */
	char kind[48];     /* "memory_high", "gpu_memory_high", "input_wait", "stall", ... */
	char subject[LIVE_NAME]; /* which GPU, which rule; "" */
	uint8_t severity;  /* enum live_severity */
	bool active;
	double begin_s, end_s; /* after the beginning of the run; end NAN while active */
	double worse_s;    /* when its severity last rose, likewise; NAN: it has not */
	uint64_t times;    /* that it has begun so far */
	double value, threshold;
	char text[LIVE_TEXT];   /* what is the matter, a sentence */
	char advice[LIVE_TEXT]; /* what to do first */
};

struct live_snapshot {
	uint64_t sequence;   /* from 1 */
	int64_t realtime_ns; /* when it was taken */
	int64_t start_ns;    /* when the run began, by the same clock: the same in all snapshots; 0: before us */
	double run_s;        /* after the beginning of the run, or of looking */
	double interval_s;   /* since the one before */
	double asleep_s;     /* that the machine has slept so far, which is in neither of them */
	char command[LIVE_COMMAND];
	char program[LIVE_NAME]; /* of it, what may be told to anybody: no arguments, which may be secrets */
	pid_t pid;
	uint8_t state;       /* enum live_state */
	int32_t exit_status; /* when ended, as a shell says it; -1: not known */
	int32_t exit_signal; /* that has killed it; 0: none, or not known */
	struct live_cpu cpu;
	struct live_memory memory;
	struct live_io io;
	struct live_network network;
	char gpu_source[LIVE_TEXT]; /* "nvml", "cupti" (by the door of CUDA), or why there is nothing to tell */
	uint32_t gpu_count;
	struct live_gpu gpus[LIVE_GPUS];
	uint32_t process_count, processes_left_out;
	struct live_process processes[LIVE_PROCESSES]; /* the root first, then by processor time */
	uint32_t thread_count, threads_left_out;
	struct live_thread threads[LIVE_THREADS]; /* by processor time, main thread of the root first */
	uint32_t loader_workers; /* processes that work for a DataLoader of PyTorch, */
	double loader_busy;      /* and the part of the last seconds in which they did not wait to be asked, 0 to 1 */
	struct live_steps steps;
	uint32_t slice_count, slices_left_out; /* the longest are kept */
	struct live_slice slices[LIVE_SLICES];
	struct live_doing doing;
	uint32_t place_count;
	struct live_place places[LIVE_PLACES]; /* by share */
	uint32_t kernel_count;
	struct live_place kernels[LIVE_PLACES]; /* work of devices, likewise; of the same seconds, all streams together */
	uint32_t counter_count;
	struct live_counter counters[LIVE_COUNTERS]; /* those that were last heard of, in the order of their beginnings */
	struct live_events events;
	uint32_t told_count;
	struct live_told told[LIVE_TOLD];
	uint32_t death_count;
	struct live_death deaths[LIVE_DEATHS];
	uint32_t alert_count, active_alerts;
	uint64_t alerts_begun;
	struct live_alert alerts[LIVE_ALERTS]; /* active ones first, then the newest that have ended */
	double own_cpu;       /* what this costs: share of one processor, */
	double own_rss_bytes; /* and memory */
};

/* Nothing is known. */
void live_snapshot_clear(struct live_snapshot *snapshot);
/* The same for one that was cleared before.  A snapshot is large and its lists are mostly short: it and a copy take what is in it. */
void live_snapshot_renew(struct live_snapshot *snapshot);
/* Items that are not counted stay as they were in *ret. */
void live_snapshot_copy(struct live_snapshot *ret, const struct live_snapshot *snapshot);

#endif
