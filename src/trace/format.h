/*
 * format.h - the numbers and the fixed records of docs/sbt-format.md, for the
 * writer and the reader.
 */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define SBT_MAGIC "\x89SBT\r\n\x1a\n"
#define SBT_MAJOR 1
#define SBT_MINOR 3
#define SBT_BLOCK_MAGIC 0x42544253u /* "SBTB" */
#define SBT_TRAILER_MAGIC "SBTINDEX"

#define SBT_FILE_HEADER 64u
#define SBT_BLOCK_HEADER 64u
#define SBT_TRAILER 32u
#define SBT_INDEX_RECORD 48u
#define SBT_CLOCK_RECORD 40u

/* What a block may hold at most, so that a reader's memory is bounded whatever a file claims. */
#define SBT_RAW_MAX (64u << 20)
#define SBT_EVENTS_MAX (1u << 18)
#define SBT_SHAPES_MAX (1u << 16)
#define SBT_OPEN_MAX (1u << 20)

enum sbt_kind { SBT_EVENTS = 1, SBT_DICTIONARY = 2, SBT_CLOCK = 3, SBT_INFO = 4, SBT_INDEX = 5 };
enum sbt_codec { SBT_PLAIN = 0, SBT_ZSTD = 1 };
enum sbt_entry {
	SBT_STRING = 1,
	SBT_HOST = 2,
	SBT_PROCESS = 3,
	SBT_TRACK = 4,
	SBT_DEVICE = 5,
	SBT_CLOCK_DOMAIN = 6,
	SBT_FRAME = 7,
	SBT_STACK = 8,
	SBT_FUNCTION = 9 /* since 1.1 */
};
enum sbt_encoding {
	SBT_BYTES = 0,
	SBT_PACKED = 1,
	SBT_PACKED_SIGNED = 2,
	SBT_PACKED_DELTA = 3,
	SBT_RUNS = 4,
	SBT_DEPTH = 5,
	SBT_DOUBLE = 6,
	SBT_BLOBS = 7
};

#define SBT_FLAG_FULL 1u

struct sbt_block {
	uint8_t kind, codec;
	uint16_t flags;
	uint32_t stored_size, raw_size;
	uint64_t sequence;
	int64_t first_time, last_time;
	uint32_t count, domain;
	uint64_t lost;
	uint32_t payload_crc;
};

/* Bytes from the start of a block to the start of the next. */
static inline uint64_t sbt_block_span(uint32_t stored_size)
{
	return SBT_BLOCK_HEADER + (((uint64_t)stored_size + 7) & ~(uint64_t)7);
}

void sbt_block_pack(uint8_t out[SBT_BLOCK_HEADER], const struct sbt_block *block);
/* 0, or -EBADMSG when the magic or the crc is wrong. */
int sbt_block_unpack(const uint8_t in[SBT_BLOCK_HEADER], struct sbt_block *ret);

static inline void put16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof v);
}

static inline void put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof v);
}

static inline void put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof v);
}

static inline uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof v);
	return le16toh(v);
}

static inline uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return le32toh(v);
}

static inline uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return le64toh(v);
}

#endif
