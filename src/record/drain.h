/*
 * drain.h - moves events from the rings of all processes into the trace.
 *
 * One pass looks at every process of the session, copies what is new, checks
 * and translates it, and hands it to the writer.  A slot counts as drained, and
 * its memory may be reused, when the block that holds it is in the file: so
 * that nothing is lost when the recorder is killed.
 */
#ifndef RECORD_DRAIN_H
#define RECORD_DRAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"
#include "record/deaths.h"
#include "record/gpu_table.h"
#include "record/session.h"
#include "trace/writer.h"

struct drain;

struct drain_totals {
	uint64_t produced; /* events, refused ones included */
	uint64_t recorded;
	uint64_t lost;
	uint64_t names_refused;
	uint64_t skipped_calls;                /* left out as asked, as far as they are known */
	uint64_t functions, functions_skipped; /* that a language's hook has seen; of them, left out */
	uint64_t short_calls, left_out;        /* recorded without what they called; not recorded, for being short and many */
	uint64_t short_ns;                     /* below which functions were so, at most; 0: there were none */
	double unseen_ns;                      /* for how long calls were not seen, of all processes (LOST_UNSEEN) */
	uint32_t processes, threads;
	uint32_t running; /* processes that had not ended when the recording did */
	uint32_t refused_processes; /* that could not make their file */
	int refused_code;           /* errno of the first of them; 0: not known */
	int unopened_code;          /* errno that keeps the recorder from the files of some; 0: nothing does */
	bool overwritten; /* a process told figures that cannot be: it has written over the session's memory.  They are left out */
};

/* Of that, for a user. */
#define DRAIN_OVERWRITTEN \
	"the program has written over the memory that it is recorded with: what of it makes no sense is left out, and more may be missing"

/* Borrows session and writer.  next_track is the first track number to use (after those the caller has defined). */
int drain_new(struct drain **ret, struct session *session, struct trace_writer *writer, uint32_t next_track);
/* Where libinferscope-rt.so is, which is borrowed: without it nothing is had of what processes left untranslated (heir.h). */
void drain_set_runtime(struct drain *drain, const char *path);
void drain_free(struct drain *drain);

/* Goes on where a dead recorder stopped: the reader, borrowed, has what its file holds of processes and tracks, and how far
 * each had got.  When the file has been damaged since, memory may still have what the recorder took for safely written. */
struct trace_reader;
int drain_resume(struct drain *drain, struct trace_reader *reader, bool damaged, struct error *err);

/* Sees to it that processes find memory where their events will go next: it takes them longer than us. */
void drain_prepare(struct drain *drain);

/* How many slots there are to be read; more than none where there is a new thread or process.  Looks at a line of memory a thread. */
uint64_t drain_waiting(const struct drain *drain);

/* One pass.  Returns how many slots were moved, or negative when memory ran out (and the pass is incomplete). */
int64_t drain_pass(struct drain *drain, struct error *err);

/* Which processes have ended?  Their rings are read to the end, and their memory is given back. */
void drain_reap(struct drain *drain, struct error *err);

/* Those of them that a signal has ended. */
const struct deaths *drain_killed(const struct drain *drain);

/* The number of one that has attached and goes on, in our pid namespace; 0: there are no more.  Before drain_finish(). */
pid_t drain_running(const struct drain *drain, size_t index);

/* The last pass, when the recording is over: what is left is read, what still runs is marked so. */
void drain_finish(struct drain *drain, struct error *err);

struct drain_totals drain_totals(const struct drain *drain);

/*
 * Who wants to hear of events while they are recorded: of each run of them, as it goes to the writer, checked and with names
 * that are the trace's.  In the thread that drains, which it may not hold up.
 */
struct drain_run {
	const struct event_slot *slots;
	size_t count;     /* slots, continuations included */
	uint32_t track;
	uint8_t kind;     /* enum trace_track_kind: of a thread, a task, or a stream: also what another thread tells of a thread */
	uint32_t thread;  /* track of the thread that they came through */
	uint32_t process; /* in the trace */
	pid_t pid, tid;   /* of that thread, in our pid namespace; 0: it is in another one */
};
typedef void (*drain_listener)(void *arg, const struct drain_run *run);
void drain_listen(struct drain *drain, drain_listener listener, void *arg); /* one; NULL: nobody */
/* What such a name says; "" for none.  Stays where it is until the next call of the drain or its writer. */
const char *drain_text(const struct drain *drain, uint32_t name, size_t *ret_size);
/* Events so far, of drain_totals(), which may take longer. */
void drain_counts(const struct drain *drain, uint64_t *ret_recorded, uint64_t *ret_lost);

/*
 * Who looks at processes from outside (watch.h) needs their numbers and tracks too, and those of processes that never attach.
 * Numbers of processes and tracks, or UINT32_MAX when there is none.
 */
uint32_t drain_outside_process(struct drain *drain, pid_t pid, uint64_t birth, pid_t parent, uint64_t time);
/* What the program of the process is called may have changed (exec), or it has ended (time not 0). */
void drain_outside_describe(struct drain *drain, uint32_t process, uint64_t end_time);
uint32_t drain_outside_wide_track(struct drain *drain, uint32_t process);
uint32_t drain_outside_thread(const struct drain *drain, uint32_t process, pid_t tid); /* the track of a thread that attached */
uint32_t drain_outside_track(struct drain *drain);                                     /* a new one's number */
/* The number of a device, which is that of the one that a door has described, or is going to, with this UUID. */
uint32_t drain_outside_device(struct drain *drain, uint32_t index, const char *uuid, const char *name);
/* Has a door described it; or any that is CUDA's? */
/* How GPUs are, as doors tell: each in the row of its number, or in another where two have the same, and always in that one.  Others are
 * left as they are. */
void drain_told_gpus(const struct drain *drain, struct gpu_table *ret);
bool drain_device_described(const struct drain *drain, const char *uuid);
bool drain_has_cuda(const struct drain *drain);
/* Those that have not ended by now run on. */
void drain_outside_finish(struct drain *drain);
/* So many events that came from outside are in the trace. */
void drain_outside_count(struct drain *drain, uint64_t events);
/* The process that attached as number `index`, counted from 0, in our pid namespace; 0: none, negative: there are no more. */
pid_t drain_attached(const struct drain *drain, uint32_t index);

#endif
