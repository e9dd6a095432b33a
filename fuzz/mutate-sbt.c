/*
 * mutate-sbt.c - traces with other contents, whose sizes and checksums are right.
 *
 * A block is changed inside, which needs it without compression, or in one field
 * of its header; or blocks are left out, said twice or put in another order.
 */
#include <stdlib.h>
#include <zstd.h>

#include "base/buffer.h"
#include "base/crc32.h"
#include "mutate.h"
#include "sbt.h"
#include "trace/decode.h"
#include "trace/format.h"

#define BLOCKS_MAX 256
#define GROWTH 64 /* bytes that a payload grows by at most */

struct blocks {
	size_t at[BLOCKS_MAX], span[BLOCKS_MAX], count;
	size_t end; /* of the last */
};

void sbt_repair(uint8_t *data, size_t size)
{
	size_t at = SBT_FILE_HEADER;

	if (size < SBT_FILE_HEADER)
		return;
	memcpy(data, SBT_MAGIC, 8);
	put32(data + 60, crc32_of(0, data, 60));
	while (size - at >= SBT_BLOCK_HEADER && get32(data + at) == SBT_BLOCK_MAGIC) {
		size_t stored = get32(data + at + 8), left = size - at - SBT_BLOCK_HEADER;

		if (stored <= left)
			put32(data + at + 56, crc32_of(0, data + at + SBT_BLOCK_HEADER, stored));
		put32(data + at + 60, crc32_of(0, data + at, 60));
		if (sbt_block_span((uint32_t)stored) > size - at)
			return;
		at += sbt_block_span((uint32_t)stored);
	}
	if (size - at == SBT_TRAILER)
		put32(data + at + 28, crc32_of(0, data + at, 28));
}

static void find_blocks(const uint8_t *data, size_t size, struct blocks *found)
{
	size_t at = SBT_FILE_HEADER, span;

	found->count = 0;
	while (found->count < BLOCKS_MAX && size >= at + SBT_BLOCK_HEADER && get32(data + at) == SBT_BLOCK_MAGIC) {
		span = sbt_block_span(get32(data + at + 8));
		if (span > size - at)
			break;
		found->at[found->count] = at;
		found->span[found->count++] = span;
		at += span;
	}
	found->end = at;
}

/* The payload as it was before compression; false where it cannot be had. */
static bool unpack(const uint8_t *block, struct buffer *payload)
{
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	struct sbt_block header;
	const char *reason;
	bool done = zstd && sbt_block_unpack(block, &header) == 0 &&
		    decode_payload(zstd, &header, block + SBT_BLOCK_HEADER, payload, &reason) == 0;

	ZSTD_freeDCtx(zstd);
	return done;
}

static size_t put_payload(uint8_t *data, size_t size, size_t max, size_t at, size_t span, const struct buffer *payload)
{
	size_t padded = (payload->size + 7) & ~(size_t)7, before = size;

	memset(payload->data + payload->size, 0, padded - payload->size);
	size = replace(data, size, max, at + SBT_BLOCK_HEADER, span - SBT_BLOCK_HEADER, payload->data, padded);
	if (size == before && span != SBT_BLOCK_HEADER + padded)
		return size; /* no room */
	data[at + 5] = SBT_PLAIN;
	put32(data + at + 8, (uint32_t)payload->size);
	put32(data + at + 12, (uint32_t)payload->size);
	return size;
}

static size_t change_payload(uint8_t *data, size_t size, size_t max, size_t at, size_t span)
{
	struct buffer payload = BUFFER_INIT;

	if (unpack(data + at, &payload) && buffer_reserve(&payload, GROWTH + 8) == 0) {
		payload.size = LLVMFuzzerMutate(payload.data, payload.size, payload.size + GROWTH);
		size = put_payload(data, size, max, at, span, &payload);
	}
	buffer_release(&payload);
	return size;
}

static void change_header(uint8_t *block, struct chance *c)
{
	static const struct {
		uint8_t at, size;
	} fields[] = { { 4, 1 }, { 5, 1 }, { 6, 2 }, { 12, 4 }, { 16, 8 }, { 24, 8 }, { 32, 8 }, { 40, 4 }, { 44, 4 }, { 48, 8 } };
	size_t i = pick(c, sizeof fields / sizeof *fields);
	uint64_t number = pick_number(c);

	if (fields[i].size == 1)
		number &= 7; /* kinds and codecs are few */
	memcpy(block + fields[i].at, &number, fields[i].size);
}

/* Says one block again at the place of another, which is behind it from then on. */
static size_t repeat_block(uint8_t *data, size_t size, size_t max, const struct blocks *all, struct chance *c)
{
	size_t from = pick(c, all->count), to = pick(c, all->count);
	uint8_t *copy = malloc(all->span[from]);

	if (copy) {
		memcpy(copy, data + all->at[from], all->span[from]);
		size = replace(data, size, max, all->at[to], 0, copy, all->span[from]);
	}
	free(copy);
	return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct chance c = chance_of(seed);
	struct blocks all = { .count = 0 };
	size_t i;

	if (size >= SBT_FILE_HEADER)
		find_blocks(data, size, &all);
	if (all.count == 0 || pick(&c, 8) == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (pick(&c, 8) == 0)
		size = all.end; /* without a trailer that no longer fits */
	i = pick(&c, all.count);
	switch (pick(&c, 16)) {
	case 0:
		size = replace(data, size, max, all.at[i], all.span[i], NULL, 0);
		break;
	case 1:
		size = repeat_block(data, size, max, &all, &c);
		break;
	case 2:
	case 3:
	case 4:
		change_header(data + all.at[i], &c);
		break;
	default:
		size = change_payload(data, size, max, all.at[i], all.span[i]);
	}
	sbt_repair(data, size);
	return size;
}
