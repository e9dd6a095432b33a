/*
 * encode_state.h - the encoder's insides, shared by encode.c (slots to columns)
 * and encode_payload.c (columns to bytes).
 */
#ifndef TRACE_ENCODE_STATE_H
#define TRACE_ENCODE_STATE_H

#include "trace/encode.h"
#include "trace/packer.h"
#include "trace/writer.h"

#define BIT(field) ((uint32_t)1 << (field))

/* Numbers that tend to grow from event to event. */
#define DELTA_FIELDS (BIT(FIELD_CORRELATION) | BIT(FIELD_FLOW) | BIT(FIELD_ID) | BIT(FIELD_LINK) | BIT(FIELD_POINTER) | \
		      BIT(FIELD_OPERATOR) | BIT(FIELD_WAIT))

struct open_slice {
	int64_t begin;
	uint32_t name;
	uint8_t kind;
};

struct encode_track {
	struct open_slice *stack;
	uint32_t size, capacity;
	uint32_t domain;
	int64_t last_time;
};

struct shape {
	uint8_t kind, phase;
	uint32_t mask;
};

/* What there is to know about a plain event, by what its slot says about itself. */
struct plain_shape {
	uint32_t key;
	uint16_t shape;
	uint8_t plain, has_name, has_cpu, is_end;
};
#define PLAIN_CACHE 64u

struct segment {
	uint32_t track, count;
	uint64_t source_index;
	int64_t base;
};

struct encoder {
	struct encode_track *tracks;
	size_t track_capacity;
	uint32_t domain;

	struct buffer open; /* as it was at the start: track, depth, then struct open_slice, as plain memory */
	size_t open_tracks;
	struct buffer segments; /* struct segment */
	struct encode_track *track;
	int64_t previous_time;
	int64_t last_time; /* of the domain, before this block */
	uint64_t previous[FIELD_LIMIT];

	struct shape shapes[TRACE_BLOCK_SLOTS];
	uint32_t shape_count;
	uint16_t shape_table[2 * TRACE_BLOCK_SLOTS]; /* hash to number + 1 */
	struct plain_shape cache[PLAIN_CACHE];

	uint16_t shape_ids[TRACE_BLOCK_SLOTS];
	struct packer times, names, scratch;
	uint64_t cpu_run; /* events since cpu changed */
	uint16_t cpu;
	struct buffer cpus, depths;
	uint64_t depth_gap;
	struct packer columns[FIELD_LIMIT]; /* made when they are needed first */
	struct buffer doubles, blob_sizes, blobs;
	struct encode_summary sum;
};

#endif
