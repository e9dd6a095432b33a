/*
 * writer_state.h - the writer's insides, shared by writer.c (what comes in),
 * writer_blocks.c (what goes out) and segments.c (the files of a bounded trace).
 */
#ifndef TRACE_WRITER_STATE_H
#define TRACE_WRITER_STATE_H

#include "trace/dictionary.h"
#include "trace/encode.h"
#include "trace/output.h"
#include "trace/writer.h"

/* Slots of one track that lie side by side in the block under construction. */
struct run {
	uint32_t track, start, count;
	uint32_t next; /* of the same track, as number + 1; 0: none */
};

struct writer_track {
	uint64_t block; /* the block its runs are in; others are history */
	uint32_t first_run, last_run;
	uint64_t source_index;
};

/* Events that went missing on the way to the file, until a `lost` event says so. */
struct writer_loss {
	uint64_t count;
	uint32_t domain;
	int64_t first_time, last_time;
};
enum { LOSS_UNWRITTEN, LOSS_DROPPED, LOSS_COUNT };

struct trace_file {
	struct output_file out;
	unsigned number;
	bool begun;                /* has its first full dictionary */
	size_t dictionary_written; /* of the log */
	size_t dictionary_full;    /* of the log, at the last full one */
	uint64_t full_size;        /* of the file, then */
	int64_t full_ns;           /* and when that was */
	uint64_t events, losses, lost;
	bool has_times;
	int64_t first_time, last_time; /* domain 0 */
	int64_t since;                 /* from here on nothing is in an older file; domain 0 */
};

struct trace_writer {
	struct trace_writer_options options;
	struct error error; /* the first one */
	struct encoder *encoder;
	struct dictionary dictionary;
	struct output output;
	struct buffer payload;

	struct event_slot *slots;
	uint32_t used;
	struct run *runs;
	uint32_t run_count, run_capacity;
	struct writer_track *tracks;
	size_t track_capacity;
	uint64_t block; /* number of the block under construction, from 1 */
	uint32_t domain;
	uint64_t committed, flushed;

	struct trace_file **files; /* oldest first; the last one is written to */
	size_t file_count;
	int64_t last_time; /* newest time of domain 0 */
	bool has_times;
	uint64_t block_size; /* of the last events block, as a guess at the next */
	uint64_t unwritten, dropped;
	struct writer_loss loss[LOSS_COUNT];     /* to be reported */
	struct writer_loss reported[LOSS_COUNT]; /* reported in the block under construction */

	struct buffer infos; /* size, map, size, map... for the files to come */
	struct {
		uint32_t domain;
		struct trace_clock_pair first, last;
	} * pairs; /* likewise, the outermost pairs of each domain */
	size_t pair_count;
};

struct trace_file *writer_file(const struct trace_writer *w);
int writer_note_error(struct trace_writer *w, int rc, const struct error *err);

/* writer_blocks.c */
int writer_flush_events(struct trace_writer *w, struct error *err);
int writer_write_clock(struct trace_writer *w, uint32_t domain, const struct trace_clock_pair *pairs, size_t count,
		       struct error *err);
int writer_write_info(struct trace_writer *w, const void *map, size_t size, struct error *err);
int writer_write_last(struct trace_writer *w, struct error *err); /* dictionary and slices that never ended */
void writer_add_loss(struct trace_writer *w, int which, uint64_t count, uint32_t domain, int64_t first, int64_t last);
/* Puts `lost` events for what is to be reported into the block under construction. */
int writer_report_losses(struct trace_writer *w);

/* segments.c */
int segments_open(struct trace_writer *w, int fd, struct error *err);
void segments_release(struct trace_writer *w);
bool segments_bounded(const struct trace_writer *w);
/* Begins a new file when the one at hand is full, and drops what is too old. */
int segments_rotate(struct trace_writer *w, struct error *err);
/* Makes one finished file of those that are left. */
int segments_finish(struct trace_writer *w, struct error *err);

#endif
