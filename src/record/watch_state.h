/*
 * watch_state.h - what watch.c and its parts share.
 */
#ifndef RECORD_WATCH_STATE_H
#define RECORD_WATCH_STATE_H

#include <pthread.h>

#include "record/watch.h"
#include "system/code_place.h"
#include "system/cpu_sampler.h"
#include "system/machine_counters.h"
#include "system/process_counters.h"
#include "system/process_memory.h"
#include "system/rare_read.h"
#include "system/wait_object.h"

#define WATCH_PROCESSES 1024u
#define WATCH_THREADS 4096u
#define WATCH_ADDED 64u
#define WATCH_ENDS 512u      /* processes of which it will be known how they ended, whoever asks first */
#define WATCH_SAMPLERS 192u
#define WATCH_PROCESSORS 32u /* that are sampled; where there are more, threads are */
#define WATCH_MANY 32u       /* threads, of which each is looked at and sampled more rarely */

struct watched_thread {
	pid_t tid;
	uint32_t number;
	struct watched_process *process;
	struct thread_files files;
	struct cpu_sampler sampler;
	struct thread_ledger sampled; /* the ledger when what sampling costs was last counted */
	int64_t debt_ns;              /* what it cost the thread, more than it may */
	struct thread_ledger ledger; /* as last read */
	struct thread_ledger written;
	struct thread_syscall call;
	struct wait_object object; /* what it is in */
	uint64_t met;              /* ticks: when it was first seen */
	uint64_t begin;            /* ticks: when it was seen to be, */
	uint64_t last;             /* until when that is known, */
	uint64_t samples;          /* and in how many slots it was seen, or known without looking */
	uint64_t moved;            /* ticks: when the ledger was last seen to have changed */
	uint64_t since;            /* ticks: when it was first seen to be in what it is in, whatever has been put since */
	uint64_t last_slot, next_slot;
	uint32_t unchanged; /* looks in a row that found the ledger as it was */
	bool main;
	bool ran;    /* since its children were last looked for */
	bool listed; /* in the list under way */
	bool is_new; /* nothing of it has been put yet */
	bool continues; /* the state at `begin` is one of which a part has been put */
	bool sampler_tried;
	bool sampler_rests;
};

struct watched_process {
	pid_t pid;
	uint32_t number;
	struct process_files files;
	struct process_counters counters; /* as last put */
	struct process_counters now;      /* as last read, what is read rarely included */
	uint64_t now_time, io_time;       /* ticks, of the readings */
	uint64_t cpu_ns;                  /* before that */
	uint64_t seen_cpu_ns;             /* when it was last looked whether any of its threads runs, */
	uint64_t seen_slot, moved_slot;   /* in which slot that was, and in which one had */
	struct rare_read pss_reads;       /* for views */
	uint32_t programs; /* that have replaced the first one */
	uint32_t looks;
	struct wait_process wait;
	struct code_process code;
	uint64_t birth, memory;
	int tasks;      /* its folder of threads; -1 */
	int children;   /* of its main thread; -1 */
	int end;        /* for process_end_status(); -1 */
	uint64_t links; /* of that, when threads were last listed: one for each and two more */
	pid_t parent;
	char name[WATCH_NAME];
	bool leader_ended, gone;
	bool ended;    /* all of it; its parent has not asked yet */
	bool death;    /* is noted */
	bool syscalls; /* its threads' may be seen */
	bool hurry;    /* one of its threads has ended, so it may have, too */
	uint32_t refused; /* of its threads, for which there was no room */
};

/* What watch_view_begin() hands out, made by the looking thread. */
struct watch_views {
	pthread_mutex_t lock;
	struct watch_view view;
	struct watched_process_view *processes;
	size_t process_capacity;
	struct watched_thread_view *threads;
	size_t thread_capacity;
	struct watched_death deaths[WATCH_DEATHS];
};

struct watch {
	enum clock_source clock;
	struct watch_options options;
	uint64_t ticks_a_slot;
	pthread_t thread;

	/* of the looking thread alone, until it has ended */
	struct watched_thread **threads;
	size_t thread_count, thread_capacity, thread_limit;
	struct watched_process **processes;
	size_t process_count, process_capacity, end_count; /* end_count: descriptors */
	struct watched_death deaths[WATCH_DEATHS];
	uint64_t death_count;
	struct deaths killed; /* without the root */
	struct machine_files machine_files;
	struct machine_counters machine;
	uint64_t machine_time; /* ticks, of the reading */
	struct rare_read pss_reads, numa_reads; /* of the main process, for the trace */
	int64_t first_pss_ns, next_pss_ns;      /* of any process, for views */
	struct numa_memory numa;                /* as last put */
	uint32_t next_process, next_thread;
	uint64_t slot, passes, random;
	struct thread_files own_files; /* of the thread that looks */
	struct thread_ledger own;      /* a second ago */
	bool in_the_way;               /* of the program, which needs all processors */
	size_t turn; /* whose children are next */
	bool last;   /* the look under way */
	int64_t begin_ns, next_pass_ns, next_second_ns, samples_ns, next_samples_ns, samples_pause_ns;
	enum cpu_sampler_reach reach; /* that may be possible */
	size_t samplers, sampler_limit;
	struct cpu_sampler processors[WATCH_PROCESSORS]; /* that are sampled instead of threads */
	size_t processor_count;
	struct clock_reading clock_old, clock_new;
	uint64_t cpu_mark_ns; /* processor time of this thread at mark_ns */
	uint64_t debt_ns;     /* that it took too much so far */
	int64_t mark_ns;
	uint32_t pace, spine_pace;
	struct watch_totals totals;

	/* of both */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct watch_record *queue; /* a ring */
	size_t first, count;
	pid_t added[WATCH_ADDED];
	size_t added_count;
	uint64_t dropped;
	bool stop;
	struct watch_views views;
};

/* watch.c */
void watch_put_thread(struct watch *w, const struct watched_thread *t, const struct watch_record *record);
void watch_put_process(struct watch *w, const struct watched_process *p, const struct watch_record *record);
void watch_samples_soon(struct watch *w); /* are to be read: a program has begun */

/* watch_view.c: how things are now. */
void watch_view_make(struct watch *w); /* after a look */
void watch_view_init(struct watch *w);
void watch_view_release(struct watch *w);

/* watch_thread.c: one thread. */
int watch_thread_new(struct watch *w, struct watched_process *p, pid_t tid);
int watch_thread_look(struct watch *w, struct watched_thread *t); /* negative: it has ended */
void watch_thread_second(struct watch *w, struct watched_thread *t); /* what is known so far becomes records */
void watch_thread_end(struct watch *w, size_t index);

/* watch_sample.c: where it runs. */
void watch_clock_read(struct watch *w);
void watch_samplers_start(struct watch *w);
void watch_samplers_stop(struct watch *w);
void watch_samplers_read(struct watch *w, int64_t passed_ns, bool last);
void watch_sampler_begin(struct watch *w, struct watched_thread *t); /* unless it has one, or needs none */
void watch_sampler_end(struct watch *w, struct watched_thread *t);

/* watch_memory.c: what is dear to know. */
void watch_memory_start(struct watch *w);
struct rare_read watch_memory_reads(int64_t next_ns); /* of a process that none is known of */
void watch_memory_look(struct watch *w, struct watched_process *p, struct process_counters *counters); /* at the first process */
void watch_memory_pass(struct watch *w); /* at one of them all */

/* watch_tree.c: which processes and threads there are. */
void watch_tree_start(struct watch *w, pid_t root);
void watch_tree_pass(struct watch *w);
void watch_tree_glance(struct watch *w); /* at how many threads there are, which costs little */
void watch_tree_add(struct watch *w, pid_t pid);
void watch_process_end(struct watch *w, size_t index);
uint64_t watch_process_cpu(const struct watched_process *p); /* of all its threads so far, in ns; UINT64_MAX: not known */

#endif
