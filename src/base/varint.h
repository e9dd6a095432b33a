/*
 * varint.h - reads numbers from bytes that are not to be trusted.
 *
 * A cursor never leaves its bounds.  The first read that would, or a malformed
 * number, makes it bad for good: everything read from then on is 0, and the
 * caller asks once, at the end.
 */
#ifndef BASE_VARINT_H
#define BASE_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline struct cursor cursor_of(const void *data, size_t size)
{
	return (struct cursor){ data, size ? (const uint8_t *)data + size : data, false };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline uint64_t cursor_fail(struct cursor *c)
{
	c->bad = true;
	c->at = c->end;
	return 0;
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	return c->at < c->end ? *c->at++ : (uint8_t)cursor_fail(c);
}

/* The next size bytes, or NULL. */
static inline const uint8_t *cursor_bytes(struct cursor *c, uint64_t size)
{
	const uint8_t *data = c->at;

	if (c->bad || size > cursor_left(c)) {
		cursor_fail(c);
		return NULL;
	}
	c->at += size;
	return data;
}

/* Unsigned LEB128 of at most ten bytes. */
static inline uint64_t cursor_uv(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
		uint8_t byte = *c->at++;

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return value;
	}
	return cursor_fail(c);
}

static inline int64_t zigzag_decode(uint64_t value)
{
	return (int64_t)(value >> 1 ^ -(value & 1));
}

static inline uint64_t zigzag_encode(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

/* Zigzag, then LEB128. */
static inline int64_t cursor_sv(struct cursor *c)
{
	return zigzag_decode(cursor_uv(c));
}

#endif
