/*
 * reader_walk.c - finds the blocks of a file: by its index, or by going from
 * block to block, past what is damaged.
 */
#include <errno.h>

#include "base/crc32.h"
#include "trace/reader_state.h"

static int add_block(struct trace_reader *r, struct trace_block block)
{
	struct reader_event_block event = { .block = block };

	event.block.sequence = block.sequence = r->sequence++;
	if (block.kind == SBT_EVENTS)
		return buffer_append(&r->events, &event, sizeof event);
	if (block.kind == SBT_DICTIONARY || block.kind == SBT_CLOCK || block.kind == SBT_INFO)
		return buffer_append(&r->metadata, &block, sizeof block);
	return 0;
}

static bool is_trailer(const struct trace_reader *r, uint64_t offset)
{
	const uint8_t *at = r->data + offset;

	return r->size - offset == SBT_TRAILER && memcmp(at, SBT_TRAILER_MAGIC, 8) == 0 &&
	       get32(at + 28) == crc32_of(0, at, 28);
}

/* ---- Index ---- */

static struct trace_block index_record(const uint8_t *at)
{
	return (struct trace_block){
		.offset = get64(at),
		.first_time = (int64_t)get64(at + 8),
		.last_time = (int64_t)get64(at + 16),
		.lost = get64(at + 24),
		.count = get32(at + 32),
		.stored_size = get32(at + 36),
		.domain = get32(at + 40),
		.kind = at[44],
		.flags = get16(at + 46),
	};
}

/* Records have to lie in the file in order: everything else is better walked. */
static bool index_fits(const struct trace_reader *r, uint64_t index_offset, uint32_t count)
{
	uint64_t at = SBT_FILE_HEADER;

	if (r->payload.size != (uint64_t)count * SBT_INDEX_RECORD)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct trace_block block = index_record(r->payload.data + (size_t)i * SBT_INDEX_RECORD);

		if (block.offset < at || block.offset % 8 || block.offset > index_offset ||
		    sbt_block_span(block.stored_size) > index_offset - block.offset)
			return false;
		at = block.offset + sbt_block_span(block.stored_size);
	}
	return true;
}

int reader_load_index(struct trace_reader *r)
{
	const uint8_t *trailer = r->data + r->size - SBT_TRAILER;
	const char *reason;
	struct sbt_block block;
	uint64_t offset;

	if (r->size < SBT_FILE_HEADER + SBT_TRAILER || !is_trailer(r, r->size - SBT_TRAILER) ||
	    get64(trailer + 16) != r->size)
		return -ENOENT;
	offset = get64(trailer + 8);
	reader_will_need(r, offset, r->size - offset);
	if (reader_payload(r, offset, &block, &reason) || block.kind != SBT_INDEX ||
	    !index_fits(r, offset, block.count))
		return -ENOENT;
	for (uint32_t i = 0; i < block.count; i++)
		if (add_block(r, index_record(r->payload.data + (size_t)i * SBT_INDEX_RECORD)))
			return -ENOMEM;
	r->walked = r->size;
	r->report.has_index = true;
	return 0;
}

/* ---- Walk ---- */

static void note_tail(struct trace_reader *r, uint64_t offset, const char *reason)
{
	r->tail_damaged = true;
	r->tail_size = r->size - offset;
	reader_note_damage(r, offset, r->tail_size, reason);
}

uint64_t reader_scan(const struct trace_reader *r, uint64_t offset)
{
	struct sbt_block block;

	for (uint64_t at = (offset | 7) + 1; at < r->size; at += 8)
		if ((r->size - at >= SBT_BLOCK_HEADER && sbt_block_unpack(r->data + at, &block) == 0) ||
		    is_trailer(r, at))
			return at;
	return 0;
}

static int take_block(struct trace_reader *r, uint64_t offset, const struct sbt_block *b)
{
	struct trace_block block = {
		.offset = offset,
		.first_time = b->first_time,
		.last_time = b->last_time,
		.lost = b->lost,
		.count = b->count,
		.stored_size = b->stored_size,
		.domain = b->domain,
		.kind = b->kind,
		.flags = b->flags,
	};

	return add_block(r, block);
}

/* Handles what is at `at`; returns where to go on, or 0 at the end of what can be read for now. */
static uint64_t step(struct trace_reader *r, uint64_t at, int *ret_error)
{
	struct sbt_block block;
	uint64_t next;

	if (r->size - at >= SBT_BLOCK_HEADER && sbt_block_unpack(r->data + at, &block) == 0) {
		if (block.stored_size > r->size - at - SBT_BLOCK_HEADER) {
			note_tail(r, at, "the file ends inside a block");
			return 0;
		}
		*ret_error = take_block(r, at, &block);
		next = at + sbt_block_span(block.stored_size);
		return next < r->size ? next : r->size;
	}
	next = reader_scan(r, at);
	if (next == 0) {
		note_tail(r, at,
			  r->size - at < SBT_BLOCK_HEADER ? "the file ends inside a block"
							  : "no block header here or after");
		return 0;
	}
	reader_note_damage(r, at, next - at, "damaged block header");
	return next;
}

int reader_walk(struct trace_reader *r)
{
	int rc = 0;

	while (rc == 0 && r->walked < r->size && !is_trailer(r, r->walked)) {
		uint64_t next = step(r, r->walked, &rc);

		if (next == 0)
			break;
		r->walked = next;
	}
	return rc;
}
