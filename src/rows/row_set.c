/* row_set.c - see row_set.h. */
#include "rows/row_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_FIRST 64u
#define WORDS_FIRST 64u

static size_t grown(size_t count, size_t first, size_t least)
{
	size_t doubled = count ? 2 * count : first;

	return doubled > least ? doubled : least + 1;
}

static int reach_block(struct row_set *set, size_t block)
{
	size_t count = grown(set->block_count, BLOCKS_FIRST, block);
	struct row_set_block *blocks;

	if (block < set->block_count)
		return 0;
	blocks = reallocarray(set->blocks, count, sizeof *blocks);
	if (!blocks)
		return -ENOMEM;
	memset(blocks + set->block_count, 0, (count - set->block_count) * sizeof *blocks);
	set->blocks = blocks;
	set->block_count = count;
	return 0;
}

static int reach_word(struct row_set_block *b, size_t word)
{
	size_t count = grown(b->count, WORDS_FIRST, word);
	uint64_t *words;

	if (word < b->count)
		return 0;
	words = reallocarray(b->words, count, sizeof *words);
	if (!words)
		return -ENOMEM;
	memset(words + b->count, 0, (count - b->count) * sizeof *words);
	b->words = words;
	b->count = count;
	return 0;
}

int row_set_add(struct row_set *set, size_t block, uint32_t event)
{
	if (reach_block(set, block) < 0 || reach_word(&set->blocks[block], event / 64) < 0)
		return -ENOMEM;
	set->blocks[block].words[event / 64] |= UINT64_C(1) << event % 64;
	return 0;
}

void row_set_release(struct row_set *set)
{
	for (size_t i = 0; i < set->block_count; i++)
		free(set->blocks[i].words);
	free(set->blocks);
	*set = (struct row_set){ 0 };
}
