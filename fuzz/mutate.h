/*
 * mutate.h - what the mutators share.
 *
 * A mutator changes an input so that it keeps its form: mutate-sbt.c traces,
 * mutate-text.c JSON, YAML, SQL and templates, mutate-protobuf.c packets,
 * mutate-sqlite.c databases.  libFuzzer calls the one that a target is linked
 * with (meson.build); half of the time it leaves the work to libFuzzer's own.
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* libFuzzer's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

struct chance {
	uint64_t state;
};

static inline struct chance chance_of(unsigned seed)
{
	return (struct chance){ (uint64_t)seed * 0x9e3779b97f4a7c15u + 1 };
}

/* Less than `limit`; 0 for a limit of 0. */
static inline size_t pick(struct chance *c, size_t limit)
{
	c->state ^= c->state << 13;
	c->state ^= c->state >> 7;
	c->state ^= c->state << 17;
	return limit ? (size_t)(c->state >> 11) % limit : 0;
}

/* Where sizes, counts and times overflow. */
static inline uint64_t pick_number(struct chance *c)
{
	static const uint64_t edges[] = { 0,      1,      0x7f,           0x80,           0xff,           0x7fff,         0xffff,
					  65536,  262144, 0x7fffffff,     0x80000000,     0xffffffff,     (uint64_t)1 << 32, (uint64_t)1 << 62,
					  INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX, UINT64_MAX - 1 };
	size_t i = pick(c, sizeof edges / sizeof *edges + 4);

	return i < sizeof edges / sizeof *edges ? edges[i] : c->state >> pick(c, 64);
}

/* Puts `put_size` bytes in place of `old_size` at `at`.  Returns the new size; unchanged where there is no room. */
static inline size_t replace(uint8_t *data, size_t size, size_t max, size_t at, size_t old_size, const void *put, size_t put_size)
{
	if (size - old_size + put_size > max)
		return size;
	memmove(data + at + put_size, data + at + old_size, size - at - old_size);
	if (put_size)
		memcpy(data + at, put, put_size);
	return size - old_size + put_size;
}

#endif
