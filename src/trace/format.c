/*
 * format.c - the 64 bytes in front of every block.
 */
#include "trace/format.h"

#include <errno.h>

#include "base/crc32.h"

void sbt_block_pack(uint8_t out[SBT_BLOCK_HEADER], const struct sbt_block *block)
{
	put32(out, SBT_BLOCK_MAGIC);
	out[4] = block->kind;
	out[5] = block->codec;
	put16(out + 6, block->flags);
	put32(out + 8, block->stored_size);
	put32(out + 12, block->raw_size);
	put64(out + 16, block->sequence);
	put64(out + 24, (uint64_t)block->first_time);
	put64(out + 32, (uint64_t)block->last_time);
	put32(out + 40, block->count);
	put32(out + 44, block->domain);
	put64(out + 48, block->lost);
	put32(out + 56, block->payload_crc);
	put32(out + 60, crc32_of(0, out, 60));
}

int sbt_block_unpack(const uint8_t in[SBT_BLOCK_HEADER], struct sbt_block *ret)
{
	if (get32(in) != SBT_BLOCK_MAGIC || get32(in + 60) != crc32_of(0, in, 60))
		return -EBADMSG;
	*ret = (struct sbt_block){
		.kind = in[4],
		.codec = in[5],
		.flags = get16(in + 6),
		.stored_size = get32(in + 8),
		.raw_size = get32(in + 12),
		.sequence = get64(in + 16),
		.first_time = (int64_t)get64(in + 24),
		.last_time = (int64_t)get64(in + 32),
		.count = get32(in + 40),
		.domain = get32(in + 44),
		.lost = get64(in + 48),
		.payload_crc = get32(in + 56),
	};
	return 0;
}
