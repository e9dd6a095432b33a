/*
 * row_set.h - a set of events of a trace, by block and place in the block: a bit for each event of the blocks that have any.
 */
#ifndef ROWS_ROW_SET_H
#define ROWS_ROW_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct row_set {
	struct row_set_block {
		uint64_t *words;
		size_t count;
	} *blocks;
	size_t block_count;
};

int row_set_add(struct row_set *set, size_t block, uint32_t event); /* 0 or -ENOMEM */
void row_set_release(struct row_set *set);

static inline bool row_set_has(const struct row_set *set, size_t block, uint32_t event)
{
	const struct row_set_block *b = block < set->block_count ? &set->blocks[block] : NULL;

	return b && event / 64 < b->count && b->words[event / 64] >> event % 64 & 1;
}

#endif
