/*
 * index_sort.h - a stable sort of numbers by what they stand for.
 *
 * Made for what is nearly in order: parts that follow each other rightly cost
 * one comparison, and of two that do not only what lies across is moved.
 */
#ifndef TIMELINE_INDEX_SORT_H
#define TIMELINE_INDEX_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INDEX_SORT_RUN 16u

typedef bool (*index_before)(const void *arg, uint32_t a, uint32_t b); /* strictly */

static inline __attribute__((always_inline)) void index_sort_run(uint32_t *order, size_t count, index_before before,
								   const void *arg)
{
	for (size_t i = 1; i < count; i++) {
		uint32_t item = order[i];
		size_t at = i;

		for (; at > 0 && before(arg, item, order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = item;
	}
}

/* How many of the sorted `order` are not after item. */
static inline __attribute__((always_inline)) size_t index_sort_upper(const uint32_t *order, size_t count, uint32_t item,
								       index_before before, const void *arg)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (before(arg, item, order[middle]))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Merges [0, left) and [left, count). */
static inline __attribute__((always_inline)) void index_sort_merge(uint32_t *order, size_t left, size_t count, uint32_t *scratch,
								     index_before before, const void *arg)
{
	size_t skip, taken = 0, right = left, at;

	if (!before(arg, order[left], order[left - 1]))
		return;
	skip = index_sort_upper(order, left, order[left], before, arg);
	memcpy(scratch, order + skip, (left - skip) * sizeof *order);
	for (at = skip; taken < left - skip; at++) {
		if (right < count && before(arg, order[right], scratch[taken]))
			order[at] = order[right++];
		else
			order[at] = scratch[taken++];
	}
}

/* scratch has room for `count` numbers. */
static inline __attribute__((always_inline)) void index_sort(uint32_t *order, size_t count, uint32_t *scratch, index_before before,
							       const void *arg)
{
	for (size_t at = 0; at < count; at += INDEX_SORT_RUN)
		index_sort_run(order + at, count - at < INDEX_SORT_RUN ? count - at : INDEX_SORT_RUN, before, arg);
	for (size_t width = INDEX_SORT_RUN; width < count; width *= 2)
		for (size_t at = 0; at + width < count; at += 2 * width)
			index_sort_merge(order + at, width, count - at < 2 * width ? count - at : 2 * width, scratch, before, arg);
}

#endif
