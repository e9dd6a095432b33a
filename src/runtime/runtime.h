/*
 * runtime.h - what enters the profiled process.
 *
 * libinferscope-rt.so needs libc only and is never unloaded.  It has no
 * threads, takes no signals, prints nothing and allocates nothing on the heap.
 *
 *      attach.c   finds the session, makes this process's file
 *      thread.c   gives each thread its ring; everything that is not fast
 *      api.c      the calls of include/inferscope.h; everything that is
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

/* The process's part.  In ordinary memory: a forked child inherits it. */
struct runtime {
	enum clock_source clock;
	uint32_t chunk_limit;
	uint32_t number;   /* of the process that this memory was last attached in */
	ptrdiff_t rseq_cpu; /* from the thread pointer to the CPU's number; 0: not known */
	struct session_page *session;
	struct ring_memory *_Atomic memory; /* another one in each forked child */
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
	uint32_t serial;
	uint32_t refused; /* from signal handlers, before there was a ring to count them in */
	uint16_t exit_rounds;
	bool forked; /* the thread that came with a fork: its open scopes are the parent's */
};
extern __thread struct runtime_thread inferscope_thread __attribute__((tls_model("initial-exec")));

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

/* Called by the thread library when a thread that had a ring ends. */
void inferscope_thread_exit(void *thread);

/* A call on a thread that is inside another one, of which `busy` and `here` say where their stacks are.  False: it comes
 * from a signal handler, is refused and counted. */
bool inferscope_reenter(struct runtime_thread *thread, uintptr_t here);

#endif
