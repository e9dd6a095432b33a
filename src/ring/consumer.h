/*
 * consumer.h - the recorder's side of the rings.
 *
 * Nothing in the shared memory is trusted: a program that writes over it gets
 * a useless trace, never a crashed recorder.  Numbers are checked once, when
 * they are read, and used from private copies.
 */
#ifndef RING_CONSUMER_H
#define RING_CONSUMER_H

#include <stdbool.h>

#include "base/error.h"
#include "ring/layout.h"

/* A process's file, mapped. */
struct ring_file {
	void *map;
	uint64_t size;
	uint32_t number, pid, parent, first_name, flags;
	uint32_t chunk_limit;
	uint64_t chunk_offset;
	uint64_t start_ticks;
	uint64_t pid_namespace;
};

/* -EAGAIN: the process is still making it.  Other failures are for good, and err says why. */
int ring_file_open(struct ring_file *file, int folder_fd, uint32_t number, struct error *err);
/* The same over memory that is already there; for tests. */
int ring_file_adopt(struct ring_file *file, void *map, uint64_t size, struct error *err);
void ring_file_close(struct ring_file *file);

static inline struct process_header *ring_file_header(const struct ring_file *file)
{
	return file->map;
}

/* How many rings and chunks to look at; bounded whatever the file says. */
uint32_t ring_file_rings(const struct ring_file *file);

/* Where the recorder is in a ring. */
struct ring_cursor {
	uint64_t position; /* slots read or lost so far */
	uint64_t extra;    /* of them, continuations and padding */
};

/* A look at a process's rings: how far each has got, and then which chunks hold what.  In this order, so that every slot
 * below `produced` is in a listed chunk or overwritten. */
struct ring_chunk {
	uint64_t base, extra_base;
	uint32_t ring, chunk;
};
struct ring_scan {
	uint64_t *produced; /* by ring */
	uint32_t ring_count;
	struct ring_chunk *chunks; /* sorted by ring, then base */
	size_t chunk_count;
	size_t produced_capacity, chunk_capacity;
};
int ring_scan(struct ring_scan *scan, const struct ring_file *file);
void ring_scan_release(struct ring_scan *scan);

struct ring_gap {
	uint64_t events; /* lost before the slots that were read */
};

/*
 * Copies slots of a ring from the cursor on, up to capacity, out of one chunk;
 * how many, 0 when there is nothing more.  The cursor's position moves past
 * them (and past a gap in front of them); its count of continuations is for the
 * caller to keep, who looks at the slots.
 */
size_t ring_read(struct ring_scan *scan, const struct ring_file *file, uint32_t ring, struct ring_cursor *cursor,
		 struct event_slot *out, size_t capacity, struct ring_gap *ret_gap);

/* All slots up to `produced` that no chunk holds any more are lost: for a ring that will not change.  Events, or 0. */
uint64_t ring_read_rest(const struct ring_scan *scan, const struct ring_file *file, uint32_t ring, struct ring_cursor *cursor);

/* Puts a cursor in the middle of a ring that somebody else has read up to there.  The continuations before it are counted
 * anew from the chunk that holds the position; where there is none, a gap that follows counts slots as events. */
void ring_resume(const struct ring_scan *scan, const struct ring_file *file, uint32_t ring, uint64_t position,
		 struct ring_cursor *cursor);

/* The first slot that is still in memory; `produced` when there is none. */
uint64_t ring_oldest(const struct ring_scan *scan, uint32_t ring);

/* Takes chunks away from a ring whose slots are on disk up to `drained`, all but the one it writes to, and leaves them free
 * for the process's other threads.  How many. */
uint32_t ring_reclaim(const struct ring_scan *scan, const struct ring_file *file, uint32_t ring, uint64_t drained);

/* Takes the memory of free chunks away, for other processes to have: gives it back to the kernel and the budget. */
void ring_empty(const struct ring_file *file, struct session_page *session);

/* Chunks of this process that count in the budget. */
uint32_t ring_file_held(const struct ring_file *file);

/* Chunks [0, count) have been in use. */
uint32_t ring_file_chunks(const struct ring_file *file);
/* Makes the memory of chunks [first, first + count) that nobody has used yet, so that their first user need not wait for it.
 * 0 or negative errno. */
int ring_populate(const struct ring_file *file, uint32_t first, uint32_t count);

/* Gives an exited ring and its chunks back to the process. */
void ring_free(const struct ring_file *file, uint32_t ring);

#endif
