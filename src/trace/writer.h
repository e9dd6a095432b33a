/*
 * writer.h - writes SBT (docs/sbt-format.md).
 *
 *      struct trace_writer *w;
 *      trace_writer_open(&w, fd, &options, &err);
 *      uint32_t name = trace_writer_string(w, "decode", 6);
 *      trace_writer_track(w, &(struct trace_track){ .id = 0, ... });
 *      trace_writer_event(w, track, &slot, NULL, 0, &err);
 *      trace_writer_flush(w, &err);
 *      trace_writer_close(w, NULL, &err);
 *
 * Events collect in memory, a run for each track, until a block is full
 * (32,768 slots) or trace_writer_flush() is called; then the dictionary
 * entries that are new go out, then the block.  The fast way in is
 * trace_writer_run(): room for slots, which the caller fills in place.
 *
 * Strings passed in are copied.  A function that fails leaves the file as it
 * was before the block that could not be written (it is cut back), and the
 * writer remains usable: the events of that block are counted as unwritten.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "ring/event.h"

#define TRACE_BLOCK_SLOTS 32768u
#define TRACE_RUN_MAX (TRACE_BLOCK_SLOTS / 2)
#define TRACE_TRACK_MAX (1u << 20)  /* track numbers are below this */
#define TRACE_DOMAIN_MAX 256u       /* clock domain numbers likewise */
#define TRACE_STRING_MAX (1u << 20) /* longer strings are cut */

enum trace_track_kind {
	TRACK_THREAD = 1,
	TRACK_STREAM = 2,
	TRACK_TASK = 3,
	TRACK_PROCESS = 4,
	TRACK_DEVICE = 5,
	TRACK_STATES = 6, /* of a thread, as seen from outside */
	TRACK_HOST = 7
};
const char *trace_track_kind_name(unsigned kind);  /* "thread"; NULL: there is no such kind */
const char *trace_device_kind_name(unsigned kind); /* "cuda" */
enum trace_clock_kind {
	CLOCK_KIND_TSC = 1,
	CLOCK_KIND_ARM = 2,
	CLOCK_KIND_MONOTONIC_RAW = 3,
	CLOCK_KIND_MONOTONIC = 4,
	CLOCK_KIND_REALTIME = 5,
	CLOCK_KIND_DEVICE = 6,
	CLOCK_KIND_NANOSECONDS = 7
};

#define TRACE_PROCESS_ENDED 1u
#define TRACE_PROCESS_RUNNING 2u
#define TRACE_PROCESS_FORKED 4u
#define TRACE_PROCESS_EXEC 8u
#define TRACE_TRACK_ENDED 1u
#define TRACE_TRACK_FORKED 2u

/* Dictionary entries.  Ids are the caller's, dense from 0; -1 in an int64_t field means none.
 * Strings are string numbers from trace_writer_string(). */
struct trace_host {
	uint32_t id;
	uint32_t name, system, machine;
};
struct trace_process {
	uint32_t id, host;
	uint64_t pid;
	int64_t parent;
	int64_t start, end; /* ticks of domain 0; end 0: unknown */
	uint32_t flags;
	uint32_t name, command;
	int64_t rank; /* in a distributed job; -1: none */
};
struct trace_track {
	uint32_t id;
	uint8_t kind;
	int64_t process;
	uint64_t os_id; /* tid, stream or task */
	uint64_t serial;
	int64_t device, parent;
	uint32_t flags;
	uint32_t name;
};
struct trace_device {
	uint32_t id, host, index;
	uint8_t kind;
	uint32_t name;
	const void *properties; /* MessagePack map, may be NULL; copied */
	size_t properties_size;
};
struct trace_clock {
	uint32_t id;
	uint8_t kind;
	uint32_t host;
	uint64_t rate; /* nominal ticks a second */
	uint32_t name;
};
struct trace_frame {
	uint32_t id;
	uint32_t function, file, line, module;
	uint64_t address;
};
/* A function of the program.  Names may be of any bytes; an empty one is not known. */
struct trace_text {
	const char *data;
	size_t size;
};
struct trace_function {
	struct trace_text module, qualname, file;
	uint32_t line;
};
struct trace_stack {
	uint32_t id;
	uint32_t count;
	const uint32_t *frames; /* innermost first; copied */
};
struct trace_clock_pair {
	int64_t ticks;
	uint64_t width;
	int64_t raw_ns, monotonic_ns, realtime_ns;
};

struct trace_writer;

/*
 * A bounded trace is a chain of segment files.  When the one at hand is full (a quarter of the bound) a new one is
 * opened, which starts with a full dictionary, and the oldest go once the rest is enough for the bound.  Closing joins
 * those that are left into the first of them.  What was dropped becomes a `lost` event (reason 7) on loss_track.
 */
struct trace_writer_options {
	int64_t created_ns;  /* CLOCK_REALTIME */
	int level;           /* zstd level, 0 means 1 */
	uint32_t loss_track; /* where dropped and unwritten events are reported */

	uint64_t max_file_bytes; /* 0: no bound */
	uint64_t last_ticks;     /* keep at least this much time of domain 0; 0: no bound */
	/* a new empty file's descriptor, open for reading and writing, or negative */
	int (*segment_open)(void *arg, unsigned number, struct error *err);
	void (*segment_remove)(void *arg, unsigned number);
	void *segment_arg; /* the file given to trace_writer_open() is number 0 */
};

/* Takes over fd (open for reading and writing, at offset 0, empty). */
int trace_writer_open(struct trace_writer **ret, int fd, const struct trace_writer_options *options, struct error *err);

/* Interns by content; returns the string's number (never 0), or 0 when out of memory. */
uint32_t trace_writer_string(struct trace_writer *w, const char *text, size_t size);
/* What a number stands for, without a NUL behind it; "" where there is none.  Until the next entry of any kind. */
const char *trace_writer_text(const struct trace_writer *w, uint32_t string, size_t *ret_size);

/*
 * The name of events that are calls of a function: "module.qualname" (the qualified name alone where there is no module or
 * it is "builtins"), tied to a frame that says where the function is.  Interned by all that is known of the function, and
 * never the number of a plain string: two functions of the same name at different places have different numbers.  0 when
 * out of memory.  trace_writer_frame_name() is the same for a frame that has been defined, under any text.
 */
uint32_t trace_writer_function(struct trace_writer *w, const struct trace_function *function);
uint32_t trace_writer_frame_name(struct trace_writer *w, const struct trace_frame *frame, const char *text, size_t size);

int trace_writer_host(struct trace_writer *w, const struct trace_host *host);
int trace_writer_process(struct trace_writer *w, const struct trace_process *process);
int trace_writer_track(struct trace_writer *w, const struct trace_track *track);
int trace_writer_device(struct trace_writer *w, const struct trace_device *device);
int trace_writer_clock(struct trace_writer *w, const struct trace_clock *clock);
int trace_writer_frame(struct trace_writer *w, const struct trace_frame *frame);
int trace_writer_stack(struct trace_writer *w, const struct trace_stack *stack);

/* Written at once, as a block of its own. */
int trace_writer_clock_pairs(struct trace_writer *w, uint32_t domain, const struct trace_clock_pair *pairs,
			     size_t count, struct error *err);
int trace_writer_info(struct trace_writer *w, const void *map, size_t size, struct error *err);

/*
 * The fast way in.  Returns room for at least `slots` slots (at most
 * TRACE_RUN_MAX) of this track in the block under construction, having flushed
 * first if need be; fill them with slots whose names are string numbers and
 * whose continuation slots are complete, then commit.  source_index is where in
 * its source stream the run ends (0: none).  A committed run has left memory,
 * for the file or as unwritten, when trace_writer_flushed() has reached the
 * value that trace_writer_commit() returned.  NULL only when out of memory or
 * for a track out of range: a flush that fails on the way shows in the totals
 * and in trace_writer_error().
 */
struct event_slot *trace_writer_run(struct trace_writer *w, uint32_t track, size_t slots, struct error *err);
uint64_t trace_writer_commit(struct trace_writer *w, uint32_t track, size_t slots, uint64_t source_index);
uint64_t trace_writer_flushed(const struct trace_writer *w);

/* One event of any kind.  extra is the continuation payload (list of field, size, bytes as in event.h, without the
 * leading total size); extra_size may be 0. */
int trace_writer_event(struct trace_writer *w, uint32_t track, const struct event_slot *slot, const void *extra,
		       size_t extra_size, struct error *err);

/* Events that follow belong to this clock domain (flushes when it changes).  Starts as 0. */
int trace_writer_domain(struct trace_writer *w, uint32_t domain, struct error *err);

int trace_writer_flush(struct trace_writer *w, struct error *err);

/*
 * What came in is events - losses + lost, always: `lost` holds what `lost`
 * events count (reason 5 excepted), and the events that were unwritten or
 * dropped, whether or not the `lost` event that reports them is out yet.
 */
struct trace_writer_totals {
	uint64_t events;    /* written or pending, `lost` events included */
	uint64_t losses;    /* `lost` events among them; not those of reason 9, which are the program's */
	uint64_t lost;      /* see above */
	uint64_t unwritten; /* events of blocks that could not be written */
	uint64_t dropped;   /* events in segments that were removed */
	uint64_t bytes;     /* size of the file (all segments) so far */
	uint64_t pending;   /* slots in the block under construction */
};
struct trace_writer_totals trace_writer_totals(const struct trace_writer *w);

/* The first failure to write (its code is 0 if there was none).  Lives as long as w. */
const struct error *trace_writer_error(const struct trace_writer *w);

/* What is written from now on is the end of the trace, for which room on the disk has been kept: it may use that. */
void trace_writer_ending(struct trace_writer *w);

/* Flushes, writes the full dictionary, the last open stacks, index and trailer, and closes the file.  Frees w always.
 * ret_segment (may be NULL) tells which segment holds the trace; 0 in an unbounded one.  Negative when something could
 * not be written now; what is in the file can be read all the same. */
int trace_writer_close(struct trace_writer *w, unsigned *ret_segment, struct error *err);

/* Closes the file as it is, without index: for tests and for a run that never started.  NULL is fine. */
void trace_writer_abandon(struct trace_writer *w);

#endif
