/*
 * producer.h - the profiled process's side of the rings.
 *
 * What a producer needs to write is private to it; shared memory only mirrors
 * it.  All of the state here lives in memory that the kernel wipes in a forked
 * child (MADV_WIPEONFORK): there a producer reads as "no room in the chunk" and
 * the slow path finds out why.  So fork, _Fork and clone need no handler and
 * the fast path no check.
 *
 * Everything here is async-signal-safe, keeps errno, and allocates no memory
 * for an event.
 */
#ifndef RING_PRODUCER_H
#define RING_PRODUCER_H

#include <stdbool.h>

#include "ring/layout.h"

#define RING_PATH_MAX 512u

/* What the owner of a chunk knows of it. */
struct chunk_state {
	uint64_t base;      /* number of its first slot */
	uint32_t next;      /* younger chunk of the same ring */
	uint32_t committed; /* slots whose memory is there */
};

/* One process's file.  Zero is "not attached". */
struct ring_process {
	_Atomic uint32_t attached; /* 0 no, 1 somebody is at it, 2 yes, 3 given up */
	uint32_t number;
	struct session_page *session;
	void *map;
	struct process_header *header;
	uint64_t chunk_offset;
	uint32_t chunk_limit;
	uint32_t first_name;
	struct chunk_state *chunk_states;
	_Atomic uint32_t rings;    /* allocators; the header's fields follow once memory is committed */
	_Atomic uint32_t chunks;
	_Atomic uint32_t serials;
	_Atomic uint32_t name_text;
	_Atomic uint32_t name_text_committed;
	_Atomic uint32_t name_index_committed;
	_Atomic uint32_t gave_up_blocking;
	char path[RING_PATH_MAX];
};

/* One thread's ring. */
struct ring_producer {
	slot_word *cursor, *end; /* in the chunk at hand, as far as its memory is there */
	uint64_t produced;
	struct ring_header *shared; /* NULL: not open, or wiped by a fork */
	struct ring_process *process;
	uint64_t extra;
	uint32_t index;
	uint32_t chunk_count;
	uint32_t oldest, newest;
	uint32_t patience; /* attempts at leasing to skip after one failed for want of memory */
	_Alignas(64) char alignment[0];
};

/* Where a process's state lives: wiped in forked children. */
struct ring_memory {
	struct ring_process process;
	_Alignas(64) struct ring_producer producers[RING_LIMIT];
	struct chunk_state chunk_states[]; /* session's chunk_limit */
};
struct ring_memory *ring_memory_map(uint32_t chunk_limit); /* NULL when it cannot be had */
void ring_memory_unmap(struct ring_memory *memory, uint32_t chunk_limit);

struct ring_process_options {
	struct session_page *session;
	const char *folder;
	uint64_t start_ticks;
	uint32_t chunk_limit; /* as given to ring_memory_map() */
	uint32_t parent;      /* number + 1 */
	uint32_t first_name;
	uint32_t flags;
};
/* Makes this process's file.  0 or negative errno; on failure the session's count of refused processes is raised. */
int ring_process_attach(struct ring_memory *memory, const struct ring_process_options *options);

/* Goes on in the file of a process that has ended, whose heir the calling process is, in memory and names that are both new: options
 * are those of ring_process_attach(), as far as they apply.  0 or negative errno. */
struct name_table;
int ring_process_inherit(struct ring_memory *memory, const struct ring_process_options *options, uint32_t number,
			 struct name_table *names);

/* Nothing more is to be recorded.  The shared memory of the chunks is let go; a thread that is still writing to it writes to
 * memory that nobody reads. */
void ring_process_leave(struct ring_process *process);

/* A ring for the calling thread, or NULL when there is none to be had.  A serial of 0 is replaced by a new one; a thread
 * that comes back after ring_producer_exit() passes the one it had. */
struct ring_producer *ring_producer_open(struct ring_memory *memory, uint64_t now, uint32_t flags, uint32_t *serial);
/* The thread will write no more.  The recorder reuses ring and chunks once it has read them. */
void ring_producer_exit(struct ring_producer *producer);

/* The chunk is full (cursor == end): finds the next.  False: refused, and counted. */
bool ring_producer_refill(struct ring_producer *producer);

/* Room for count slots in one chunk; pads the rest of the one at hand if need be.  NULL: refused, and counted.
 * For ring_publish_group(). */
slot_word *ring_producer_group(struct ring_producer *producer, uint32_t count);

static inline void ring_slot_write(slot_word *slot, uint64_t time, uint64_t value, uint64_t name_aux, uint64_t rest)
{
	atomic_store_explicit(slot + 0, time, memory_order_relaxed);
	atomic_store_explicit(slot + 1, value, memory_order_relaxed);
	atomic_store_explicit(slot + 2, name_aux, memory_order_relaxed);
	atomic_store_explicit(slot + 3, rest, memory_order_relaxed);
}

/* The last two words of a slot. */
static inline uint64_t ring_word_names(uint32_t name, uint32_t aux)
{
	return name | (uint64_t)aux << 32;
}

static inline uint64_t ring_word_rest(uint32_t cpu, uint32_t depth, uint32_t kind, uint32_t extra, uint32_t flags)
{
	return (cpu & 0xffff) | (uint64_t)(depth & 0xffff) << 16 | (uint64_t)kind << 32 | (uint64_t)extra << 40 |
	       (uint64_t)flags << 48;
}

/*
 * Makes `count` slots, written at the cursor, visible to the recorder.  All is
 * read before anything is written, `shared` last: a signal handler may have
 * forked since the slots were asked for, and in its child, where all of this is
 * wiped, the call that it interrupted must do no harm to the parent's ring.
 */
static inline void ring_publish(struct ring_producer *producer, uint32_t count)
{
	slot_word *cursor = producer->cursor;
	uint64_t produced = producer->produced + count;
	struct ring_header *shared;

	atomic_signal_fence(memory_order_seq_cst);
	shared = producer->shared;
	if (__builtin_expect(!shared, 0)) {
		producer->end = producer->cursor;
		return;
	}
	producer->cursor = cursor + 4 * (size_t)count;
	producer->produced = produced;
	atomic_store_explicit(&shared->produced, produced, memory_order_release);
}

/* The same for slots of which `extra` are continuations or padding. */
static inline void ring_publish_group(struct ring_producer *producer, uint32_t count, uint32_t extra)
{
	struct ring_header *shared = producer->shared;

	if (!shared)
		return;
	producer->extra += extra;
	atomic_store_explicit(&shared->extra, producer->extra, memory_order_relaxed);
	ring_publish(producer, count);
}

static inline void ring_count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

#endif
