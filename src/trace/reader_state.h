/*
 * reader_state.h - the reader's insides: reader.c (opening, damage, decoding),
 * reader_walk.c (finding blocks), reader_dictionary.c and reader_info.c (what
 * the blocks other than events say).
 */
#ifndef TRACE_READER_STATE_H
#define TRACE_READER_STATE_H

#include <pthread.h>

#include "base/buffer.h"
#include "base/varint.h"
#include "trace/clock_fit.h"
#include "trace/format.h"
#include "trace/reader.h"

/* Dictionary entries by number.  Numbers are dense in a good file; see reserve_entry() for the others. */
struct entry_table {
	uint8_t *entries;
	bool *known;
	size_t count, capacity; /* 1 + largest number; room */
	size_t filled;
	size_t size; /* of an entry */
};

struct reader_string {
	char *text; /* NUL-terminated */
	uint32_t size;
	uint32_t frame; /* plus one; 0: not a function's */
};

struct reader_info {
	char *key;
	size_t key_size;
	uint8_t *value;
	size_t value_size;
};

struct reader_clock {
	struct buffer pairs; /* struct trace_clock_pair */
	struct clock_fit fit;
};

struct reader_event_block {
	struct trace_block block;
	bool noted; /* is in the report */
};

struct trace_reader {
	int fd; /* -1: in memory that is not ours */
	const uint8_t *data;
	size_t size;
	uint64_t walked; /* blocks before this offset are known */
	uint64_t sequence;

	struct buffer events;   /* struct reader_event_block */
	struct buffer metadata; /* struct trace_block: dictionary, clock and info blocks */
	size_t metadata_read;
	struct trace_report report;
	bool tail_damaged; /* the last entry of the report is about the end of the file */
	uint64_t tail_size;
	pthread_mutex_t report_lock;

	struct ZSTD_DCtx_s *zstd;
	struct buffer payload;
	uint64_t dictionary_bytes;
	bool dictionary_check; /* look at entries without storing them */
	struct entry_table strings, hosts, processes, tracks, devices, clocks, frames, stacks;
	struct reader_info *infos;
	size_t info_count;
	struct buffer info_map; /* all of them again, as one map */
	struct reader_clock clock[TRACE_DOMAIN_MAX];
	int64_t start_ticks;
};

/* reader.c */
void reader_note_damage(struct trace_reader *r, uint64_t offset, uint64_t size, const char *reason);
/* The header at offset, if it is whole and its payload lies in the file. */
int reader_header(const struct trace_reader *r, uint64_t offset, struct sbt_block *ret, const char **ret_reason);
/* Checks the payload and decompresses it to r->payload. */
int reader_payload(struct trace_reader *r, uint64_t offset, struct sbt_block *ret, const char **ret_reason);
void reader_will_need(const struct trace_reader *r, uint64_t offset, uint64_t size);
bool reader_payload_matches(const struct trace_reader *r, uint64_t offset, const struct sbt_block *block);

/* reader_walk.c */
int reader_load_index(struct trace_reader *r); /* -ENOENT when there is none that fits */
int reader_walk(struct trace_reader *r);
/* The next place after offset where a block starts, or the trailer, or 0. */
uint64_t reader_scan(const struct trace_reader *r, uint64_t offset);

/* reader_dictionary.c */
int reader_read_dictionary(struct trace_reader *r, struct cursor *in); /* -EBADMSG, -ENOMEM */
void reader_dictionary_init(struct trace_reader *r);
void reader_dictionary_release(struct trace_reader *r);

/* reader_info.c */
int reader_read_info(struct trace_reader *r, struct cursor *in);
int reader_read_clock(struct trace_reader *r, const struct sbt_block *block, struct cursor *in);
int reader_merge_info(struct trace_reader *r);
void reader_fit_clocks(struct trace_reader *r);
void reader_info_release(struct trace_reader *r);

#endif
