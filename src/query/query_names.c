/* query_names.c - see query_state.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/query_state.h"

static int compare_texts(const char *a, size_t a_size, const char *b, size_t b_size)
{
	int order = memcmp(a, b, a_size < b_size ? a_size : b_size);

	return order ? order : a_size < b_size ? -1 : a_size > b_size;
}

static int by_text(const void *a, const void *b, void *arg)
{
	const struct timeline *t = arg;
	size_t x_size, y_size;
	const char *x = timeline_string(t, *(const uint32_t *)a, &x_size), *y = timeline_string(t, *(const uint32_t *)b, &y_size);

	return compare_texts(x, x_size, y, y_size);
}

/* How many slices each name has; a name that is too large a number counts as none. */
static void count_names(const struct timeline *t, uint32_t *counts)
{
	for (uint32_t i = 0; i < t->slice_count; i++)
		counts[t->name[i] < t->string_count ? t->name[i] : 0]++;
}

static int rank_names(struct query_names *n, const struct timeline *t, const uint32_t *counts)
{
	for (uint32_t i = 0; i < t->string_count; i++)
		n->count += counts[i] > 0;
	n->ranked = malloc(((size_t)n->count + 1) * sizeof *n->ranked);
	n->first = malloc(((size_t)n->count + 1) * sizeof *n->first);
	if (!n->ranked || !n->first)
		return -ENOMEM;
	n->count = 0;
	for (uint32_t i = 0; i < t->string_count; i++)
		if (counts[i])
			n->ranked[n->count++] = i;
	qsort_r(n->ranked, n->count, sizeof *n->ranked, by_text, (void *)(uintptr_t)t);
	return 0;
}

/* Where the slices of each name begin; then each goes to its place, in the order of their numbers. */
static void place_slices(struct query_names *n, const struct timeline *t, uint32_t *counts)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n->count; i++) {
		n->first[i] = at;
		at += counts[n->ranked[i]];
		counts[n->ranked[i]] = n->first[i];
	}
	n->first[n->count] = at;
	for (uint32_t i = 0; i < t->slice_count; i++)
		n->order[counts[t->name[i] < t->string_count ? t->name[i] : 0]++] = i;
}

int query_names_new(struct query_names **ret, const struct timeline *t)
{
	struct query_names *n = calloc(1, sizeof *n);
	uint32_t *counts = calloc((size_t)t->string_count + 1, sizeof *counts);
	int rc = -ENOMEM;

	if (n && counts) {
		count_names(t, counts);
		n->order = malloc(((size_t)t->slice_count + 1) * sizeof *n->order);
		rc = n->order ? rank_names(n, t, counts) : -ENOMEM;
	}
	if (rc == 0)
		place_slices(n, t, counts);
	free(counts);
	if (rc < 0) {
		query_names_free(n);
		return rc;
	}
	*ret = n;
	return 0;
}

void query_names_free(struct query_names *n)
{
	if (!n)
		return;
	free(n->order);
	free(n->ranked);
	free(n->first);
	free(n);
}

/* The first name that is not before the text; or, with `after`, that is after it. */
static uint32_t place_of(const struct query_names *n, const struct timeline *t, const char *text, size_t size, bool after)
{
	uint32_t low = 0, high = n->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		size_t there_size;
		const char *there = timeline_string(t, n->ranked[middle], &there_size);
		int order = compare_texts(there, there_size, text, size);

		if (order < 0 || (after && order == 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void query_names_find(const struct query_names *n, const struct timeline *t, const char *text, size_t size, uint32_t *ret_first,
		      uint32_t *ret_end)
{
	*ret_first = n->first[place_of(n, t, text, size, false)];
	*ret_end = n->first[place_of(n, t, text, size, true)];
}
