/*
 * decode_state.h - the decoder's insides, shared by decode_front.c (tables),
 * decode.c (columns) and decode_depth.c (the column that needs stacks).
 */
#ifndef TRACE_DECODE_STATE_H
#define TRACE_DECODE_STATE_H

#include <zstd.h>

#include "base/buffer.h"
#include "base/varint.h"
#include "trace/decode.h"
#include "trace/decode_column.h"

#define BIT(field) ((uint64_t)1 << (field))

struct shape {
	uint8_t kind, phase;
	uint64_t mask;
	uint64_t ones; /* fields that it has not, and that are 1 all the same */
};

struct trace_batch_memory {
	ZSTD_DCtx *zstd;
	struct buffer raw, arrays, shapes, segments, open, dense, depths;
};

/* How an event moves the stack of its track, by shape. */
struct motion {
	uint8_t has, push, pop;
};

struct decoder {
	struct trace_batch *batch;
	struct trace_batch_memory *memory;
	struct cursor in;
	struct shape *shapes;
	size_t shape_count;
	struct column columns[FIELD_LIMIT];
	uint64_t fields; /* those that some shape has */
	uint64_t ones;   /* and those that are 1 in some shape */
	uint16_t *shape; /* of each event */
	uint8_t *has;    /* by shape: has it the field at hand? */
	struct motion *motions;
	uint32_t *depths; /* by track: slices open */
	size_t depth_count;
	uint64_t *dense; /* values of the column at hand */
	const char *reason;
};

static inline int bad(struct decoder *d, const char *reason)
{
	d->reason = reason;
	return -EBADMSG;
}

/* Room for that many bytes, contents undefined. */
static inline void *room(struct buffer *buf, size_t size)
{
	buffer_clear(buf);
	return buffer_reserve(buf, size + 8) ? NULL : buf->data;
}

int decode_front(struct decoder *d);
int decode_depths(struct decoder *d);

#endif
