/*
 * runtime.h - what enters the profiled process.
 *
 * libinferscope-rt.so needs libc only and is never unloaded.  It has no
 * threads, takes no signals, prints nothing and allocates nothing on the heap.
 *
 *      attach.c   finds the session, makes this process's file; joins and leaves sessions
 *      thread.c   gives each thread its ring; everything that is not fast
 *      emit.h     one event; everything that is
 *      open.c     slices that end out of order
 *      api.c      the calls of include/inferscope.h
 *      inherit.c  the same in the name of a process that has ended
 *      inside.c   what a language's extension gets: the same, without the names' detour
 *      flush.c    what doors of GPUs have still to write
 *      note.c     a sentence for the user, told by the recorder, and facts for the trace
 *      nvtx*.c, itt*.c, torch*.c     the doors of others; ranges.c, arena.c, wide.c serve them
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "ring/names.h"
#include "ring/producer.h"

#define INFERSCOPE_LIKELY(x) __builtin_expect(!!(x), 1)
#define INFERSCOPE_UNLIKELY(x) __builtin_expect(!!(x), 0)

struct runtime_thread;

/* What emit.h needs when there is no room: pointers, so that extensions can share it. */
struct runtime_slow {
	bool (*reenter)(struct runtime_thread *thread, uintptr_t here);
	slot_word *(*refill)(struct runtime_thread *thread);
	slot_word *(*group)(struct runtime_thread *thread, uint32_t count);
	bool (*end)(struct runtime_thread *thread, uint32_t entry, slot_word *slot);
};

/* The process's part.  In ordinary memory: a forked child inherits it. */
struct runtime {
	enum clock_source clock;
	_Atomic uint32_t generation; /* of the session: a thread that knows another one starts afresh */
	struct runtime_slow slow;
	uint32_t chunk_limit;
	uint32_t number;   /* of the process that this memory was last attached in */
	ptrdiff_t rseq_cpu; /* from the thread pointer to the CPU's number; 0: not known */
	struct session_page *_Atomic session; /* NULL: never had one */
	struct ring_memory *_Atomic memory;   /* another one in each forked child, and in each session */
	struct name_table *names;
	pthread_key_t exit_key;
	bool has_exit_key;
	char folder[RING_PATH_MAX];
};
extern struct runtime inferscope_runtime;

/* The thread's part.  Small, because it takes of the space that is reserved for libraries loaded late. */
struct runtime_thread {
	struct ring_producer *producer; /* never NULL */
	const int32_t *cpu;
	uintptr_t busy; /* between begin and end of one of our calls: where its stack is */
	uint32_t depth;
	uint32_t open_limit;
	uint32_t *open; /* what is open in it, by depth; see below */
	uint32_t serial;
	uint32_t refused; /* from signal handlers, before there was a ring to count them in */
	uint16_t exit_rounds;
	bool forked; /* the thread that came with a fork: its open scopes are the parent's */
	uint32_t generation;
	uint32_t epoch; /* counts how often it started afresh: in a forked child, in another session */
};
extern __thread struct runtime_thread inferscope_thread __attribute__((tls_model("initial-exec")));

/*
 * What is open.  All doors share one stack of slices a thread, and most keep to
 * it; but a scope may be begun in a function that returns before it ends (the
 * __enter__ of an object, a generator that yields), or cross another.  So each
 * thread knows the kind and name of what it has open, a slice ends by its name
 * and not by being the innermost, and when it does while others are open inside
 * it, these end too: for good if they are calls or operators, whose own end will
 * find nothing; to begin again outside it, at once, if they are scopes.
 */
#define OPEN_ENTRY(kind, name) ((name) | (uint32_t)(kind) << 24)
#define OPEN_KIND(entry) ((entry) >> 24)
#define OPEN_NAME(entry) ((entry) & 0xffffffu)
#define OPEN_LIMIT 65534u /* depths beyond are not told apart in a trace either */

/* As emit_end() when it is not the innermost one.  Like the next with the slot that emit_room() gave for the first event. */
bool inferscope_end(struct runtime_thread *thread, uint32_t entry, slot_word *slot);

/* The slice at this depth ends.  The depth of the innermost one of a kind; -1: there is none. */
void inferscope_end_at(struct runtime_thread *thread, uint32_t depth, slot_word *slot);
int64_t inferscope_innermost(const struct runtime_thread *thread, uint32_t kind);

/* The memory for it, from when a thread gets its first ring until it ends. */
void inferscope_open_map(struct runtime_thread *thread);
void inferscope_open_unmap(struct runtime_thread *thread);

/* Joins the session that the environment names, if that has not been done. */
void inferscope_load(void);
bool inferscope_joined(void);
/* The recorder wants to know how GPUs are, and cannot find out. */
bool inferscope_gpus_unsampled(void);

/* Makes this process's file.  False: it cannot be had, nothing is recorded. */
bool inferscope_attach_process(void);

/* The same for a thread that may have come with a fork. */
bool inferscope_have_process(struct runtime_thread *thread);

/* Makes sure that thread->producer is a ring of this process. */
bool inferscope_have_ring(struct runtime_thread *thread);

/* The thread's producer has no room: ring, chunk or process are missing.  The cursor of a producer with room (it may be
 * another one), or NULL: refused, and counted. */
slot_word *inferscope_refill(struct runtime_thread *thread);

/* Room for a group of slots (an event with continuations). */
slot_word *inferscope_group(struct runtime_thread *thread, uint32_t count);

/* An event of this thread with more fields than a slot has: `fields` is a list as in event.h, without its size.  Between
 * emit_enter() and emit_leave(). */
void inferscope_emit_fields(struct runtime_thread *thread, uint32_t kind, uint32_t flags, uint32_t name, uint64_t value,
			    const void *fields, size_t size);
#define EMIT_FIELDS_MAX 1011u /* bytes of them */

/* The id of a name; NAME_TOO_MANY when there is no room for another, which is counted. */
uint32_t inferscope_intern(struct runtime_thread *thread, const char *name, size_t size);

/* Joins the session in this folder, leaving the one at hand; 0 or negative errno.  Leaving: what is recorded from now on goes
 * nowhere.  Not for two threads at once. */
int inferscope_join(const char *folder);
void inferscope_leave(void);

/* Once, in a process that the recorder has made for it: what is recorded from now on is as if the process with this number had, which
 * has ended, in a thread with this serial and id (0: another one of its threads).  False: its file cannot be used. */
bool inferscope_inherit(const char *folder, uint32_t number, uint32_t serial, uint32_t tid);

/* A sentence for the user; the recorder tells it when the program has ended. */
void inferscope_note(const char *text);
/* What this process knows of itself, for the trace: a word that says what it is, and one line. */
void inferscope_fact(const char *word, const char *text);

/* Called by the thread library when a thread that had a ring ends. */
void inferscope_thread_exit(void *thread);

/* A call on a thread that is inside another one, of which `busy` and `here` say where their stacks are.  False: it comes
 * from a signal handler, is refused and counted. */
bool inferscope_reenter(struct runtime_thread *thread, uintptr_t here);

#endif
