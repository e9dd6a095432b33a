/*
 * reader.h - reads SBT (docs/sbt-format.md), by mmap.
 *
 * Opening reads the index and the dictionary, or rebuilds them by a walk over
 * the file; damage is collected in the report and never stops the reading of
 * what is whole.  Nothing in the file is trusted.
 *
 *      struct trace_reader *r;
 *      trace_reader_open(&r, "trace.sbt", &err);
 *      struct trace_batch batch = TRACE_BATCH_INIT;
 *      for (size_t i = 0; i < trace_reader_block_count(r); i++)
 *              if (trace_reader_decode(r, i, &batch, &err) == 0) ...
 *      trace_batch_release(&batch);
 *      trace_reader_close(r);
 *
 * trace_reader_decode() may be called from several threads at once, each with
 * its own batch.  Pointers handed out live as long as the reader.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "ring/event.h"
#include "trace/writer.h" /* the dictionary structs */

struct trace_reader;

/* One events block, as columns.  Arrays have `count` entries, in file order. */
struct trace_segment {
	uint32_t track;
	uint32_t first, count; /* events of this segment: [first, first + count) */
	uint64_t source_index;
};
struct trace_open_slice {
	uint32_t track;
	uint16_t depth;
	uint8_t kind;
	uint32_t name;
	int64_t begin;
};
struct trace_blob {
	const uint8_t *data; /* into the batch */
	uint32_t size;
};
struct trace_batch {
	uint32_t count;
	uint32_t domain;
	int64_t first_time, last_time;
	uint64_t lost;

	uint8_t *kind;
	uint8_t *phase;
	int64_t *time;  /* ticks */
	uint32_t *name; /* 0: none */
	uint16_t *cpu;  /* EVENT_CPU_UNKNOWN: none */
	uint16_t *depth;
	uint64_t *field[FIELD_LIMIT]; /* the other numbers; NULL when no event of the block has it, else 0 where absent.
				       * FIELD_VALUE holds the bits of a double, FIELD_INTEGER an int64_t */
	struct trace_blob *metadata;  /* NULL when no event of the block has any */
	uint64_t *present;            /* field mask of each event */

	struct trace_segment *segments;
	size_t segment_count;
	struct trace_open_slice *open; /* before the first event; outermost first, grouped by track */
	size_t open_count;

	struct trace_batch_memory *memory; /* owned; used again by the next decode */
};
#define TRACE_BATCH_INIT { 0 }
void trace_batch_release(struct trace_batch *batch);

/* Which fields event i has: bit f is field f. */
static inline uint64_t trace_batch_present(const struct trace_batch *batch, uint32_t i)
{
	return batch->present[i];
}

struct trace_block {
	uint64_t offset;
	uint64_t sequence; /* position among all blocks of the file */
	int64_t first_time, last_time;
	uint64_t lost;
	uint32_t count, stored_size, domain;
	uint8_t kind;
	uint16_t flags;
};

/* What could not be read. */
struct trace_damage {
	uint64_t offset, size;
	char reason[96];
};
struct trace_report {
	bool has_index;      /* the trailer and the index were there and fit */
	bool complete;       /* the recorder said that it ended normally */
	size_t damage_count; /* all of them; the first ones are listed */
	uint64_t damage_bytes;
	struct trace_damage damage[16];
};

/* Fails with err->exit_code 3 when it is not SBT, of another major version, or holds no readable block. */
int trace_reader_open(struct trace_reader **ret, const char *path, struct error *err);
/* Takes over the descriptor, also when it fails; messages name the trace as `path`. */
int trace_reader_open_fd(struct trace_reader **ret, int fd, const char *path, struct error *err);
/* The memory stays the caller's. */
int trace_reader_open_memory(struct trace_reader **ret, const void *data, size_t size, struct error *err);
void trace_reader_close(struct trace_reader *r);

/* Looks whether the file has grown since, and takes in the new blocks, of any kind.  Returns how many, or negative.
 * Not together with other calls in other threads; pointers handed out before may be stale. */
int trace_reader_refresh(struct trace_reader *r, struct error *err);

const struct trace_report *trace_reader_report(const struct trace_reader *r);
uint64_t trace_reader_size(const struct trace_reader *r);

/* Events blocks only, in file order. */
size_t trace_reader_block_count(const struct trace_reader *r);
const struct trace_block *trace_reader_block(const struct trace_reader *r, size_t i);
/* A block that does not decode is entered in the report. */
int trace_reader_decode(struct trace_reader *r, size_t i, struct trace_batch *batch, struct error *err);

/* The contiguous range of events blocks that has to be decoded to know [from, to) of domain 0 and what encloses it:
 * from the first block that ends at or after `from`, through the last that starts before `to`.  At least one block when
 * there is one, for its open slices. */
void trace_reader_window(const struct trace_reader *r, int64_t from, int64_t to, size_t *ret_first, size_t *ret_end);

/* Calls fn for each block of [first, end), decoded by `threads` threads (0: as many as there are CPUs).  fn runs in the
 * threads, worker tells which (below the number returned by trace_reader_workers(threads)); a non-zero result stops and
 * is returned. */
typedef int (*trace_block_fn)(void *arg, unsigned worker, size_t block, const struct trace_batch *batch);
unsigned trace_reader_workers(unsigned threads);
int trace_reader_each(struct trace_reader *r, size_t first, size_t end, unsigned threads, trace_block_fn fn, void *arg,
		      struct error *err);

/* Dictionary.  NULL / 0 where there is no such entry; a string is then "", and always NUL-terminated.  Counts are one more
 * than the largest number. */
const char *trace_reader_string(const struct trace_reader *r, uint32_t id, size_t *ret_size);
size_t trace_reader_string_count(const struct trace_reader *r);
size_t trace_reader_process_count(const struct trace_reader *r);
const struct trace_process *trace_reader_process(const struct trace_reader *r, uint32_t id);
size_t trace_reader_track_count(const struct trace_reader *r);
const struct trace_track *trace_reader_track(const struct trace_reader *r, uint32_t id);
size_t trace_reader_host_count(const struct trace_reader *r);
const struct trace_host *trace_reader_host(const struct trace_reader *r, uint32_t id);
size_t trace_reader_device_count(const struct trace_reader *r);
const struct trace_device *trace_reader_device(const struct trace_reader *r, uint32_t id);
size_t trace_reader_clock_count(const struct trace_reader *r);
const struct trace_clock *trace_reader_clock(const struct trace_reader *r, uint32_t id);
size_t trace_reader_stack_count(const struct trace_reader *r);
const struct trace_stack *trace_reader_stack(const struct trace_reader *r, uint32_t id);
size_t trace_reader_frame_count(const struct trace_reader *r);
const struct trace_frame *trace_reader_frame(const struct trace_reader *r, uint32_t id);
/* The function that a string, as the name of an event, stands for; NULL when it is a plain one. */
const struct trace_frame *trace_reader_function(const struct trace_reader *r, uint32_t string);

/* Info: the merged map's value of a key.  Returns 0 or -ENOENT. */
int trace_reader_info_integer(const struct trace_reader *r, const char *key, int64_t *ret);
int trace_reader_info_string(const struct trace_reader *r, const char *key, const char **ret, size_t *ret_size);
int trace_reader_info_bool(const struct trace_reader *r, const char *key, bool *ret);
/* The value's raw MessagePack bytes. */
int trace_reader_info_raw(const struct trace_reader *r, const char *key, const uint8_t **ret, size_t *ret_size);
struct cursor; /* base/varint.h */
/* The value of `member` in the map that is the value of `key` comes next; false: there is none. */
bool trace_reader_info_member(const struct trace_reader *r, const char *key, const char *member, struct cursor *ret);
/* Whole MessagePack maps that say all of it, to be handed on; -ENOENT past the last. */
int trace_reader_info_block(const struct trace_reader *r, size_t i, const uint8_t **ret, size_t *ret_size);

/* Clock: pairs of a domain as found, and the fit made of them. */
size_t trace_reader_clock_pairs(const struct trace_reader *r, uint32_t domain, const struct trace_clock_pair **ret);
struct clock_fit; /* trace/clock_fit.h */
const struct clock_fit *trace_reader_fit(const struct trace_reader *r, uint32_t domain);
/* Nanoseconds of CLOCK_MONOTONIC_RAW; and since the start of the trace (info start_ticks, else the first time). */
int64_t trace_reader_ns(const struct trace_reader *r, uint32_t domain, int64_t ticks);
int64_t trace_reader_since_start_ns(const struct trace_reader *r, uint32_t domain, int64_t ticks);
int64_t trace_reader_ticks_from_start_ns(const struct trace_reader *r, uint32_t domain, int64_t ns);

#endif
