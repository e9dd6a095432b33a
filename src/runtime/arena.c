/*
 * arena.c - see arena.h.
 */
#include "runtime/arena.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK_SIZE 65536u

struct block {
	_Atomic size_t used;
	_Alignas(16) char bytes[BLOCK_SIZE - 16];
};

static struct block *_Atomic newest;

static void *take(struct block *block, size_t size)
{
	size_t used = atomic_load(&block->used);

	do
		if (used + size > sizeof block->bytes)
			return NULL;
	while (!atomic_compare_exchange_weak(&block->used, &used, used + size));
	return block->bytes + used;
}

/* Another block in the place of `old`, which has no room; somebody else may be first. */
static struct block *replace(struct block *old)
{
	int saved = errno;
	struct block *block = mmap(NULL, sizeof *block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (block == MAP_FAILED) {
		block = NULL;
	} else if (!atomic_compare_exchange_strong(&newest, &old, block)) {
		munmap(block, sizeof *block);
		block = old;
	}
	errno = saved;
	return block;
}

void *inferscope_arena(size_t size)
{
	struct block *block = atomic_load(&newest);
	void *memory = NULL;

	if (size > ARENA_MAX)
		return NULL;
	size = (size + 15) / 16 * 16;
	if (block)
		memory = take(block, size);
	while (!memory) {
		block = replace(block);
		if (!block)
			return NULL;
		memory = take(block, size);
	}
	return memory;
}

char *inferscope_arena_text(const char *text, size_t size)
{
	char *copy = inferscope_arena(size + 1);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}
