/* numbers.c - sorting and selecting, in time that hostile values cannot raise. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/parts.h"

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
#define ROUNDS 6 /* of 11 bits: all 64 */
#define FEW 48

static void insertion_sort(struct sort_item *items, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct sort_item item = items[i];
		size_t k = i;

		for (; k > 0 && items[k - 1].key > item.key; k--)
			items[k] = items[k - 1];
		items[k] = item;
	}
}

static void count_digits(const struct sort_item *items, size_t count, size_t (*counts)[DIGITS])
{
	memset(counts, 0, ROUNDS * sizeof *counts);
	for (size_t i = 0; i < count; i++)
		for (unsigned r = 0; r < ROUNDS; r++)
			counts[r][items[i].key >> r * DIGIT_BITS & (DIGITS - 1)]++;
}

static void scatter(const struct sort_item *from, struct sort_item *to, size_t count, size_t *counts, unsigned round)
{
	size_t place = 0, here;

	for (unsigned d = 0; d < DIGITS; d++) {
		here = counts[d];
		counts[d] = place;
		place += here;
	}
	for (size_t i = 0; i < count; i++)
		to[counts[from[i].key >> round * DIGIT_BITS & (DIGITS - 1)]++] = from[i];
}

int sort_items(struct sort_item *items, size_t count)
{
	struct sort_item *other, *from = items, *to, *swap;
	size_t (*counts)[DIGITS];

	if (count <= FEW) {
		insertion_sort(items, count);
		return 0;
	}
	other = malloc(count * sizeof *other);
	counts = malloc(ROUNDS * sizeof *counts);
	if (!other || !counts) {
		free(other);
		free(counts);
		return -ENOMEM;
	}
	count_digits(items, count, counts);
	to = other;
	for (unsigned r = 0; r < ROUNDS; r++) {
		if (counts[r][items[0].key >> r * DIGIT_BITS & (DIGITS - 1)] == count)
			continue; /* all have the same digit */
		scatter(from, to, count, counts[r], r);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, count * sizeof *items);
	free(other);
	free(counts);
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int64_t middle_of(int64_t a, int64_t b, int64_t c)
{
	if (a > b)
		return b > c ? b : a > c ? c : a;
	return a > c ? a : b > c ? c : b;
}

int64_t select_nth(int64_t *values, size_t count, size_t k)
{
	size_t low = 0, high = count - 1, rounds = 0;

	while (low < high) {
		int64_t pivot = middle_of(values[low], values[low + (high - low) / 2], values[high]), swap;
		size_t i = low, j = high;

		if (++rounds > 64) { /* made to be slow */
			qsort(values + low, high - low + 1, sizeof *values, compare_times);
			break;
		}
		for (;;) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap = values[i];
			values[i++] = values[j];
			values[j--] = swap;
		}
		/* [low, j] <= pivot <= [i, high], and j + 1 is i, or both are at the pivot */
		if (i == j && k == i)
			break;
		if (k <= j)
			high = i == j ? j - 1 : j;
		else
			low = i == j ? i + 1 : i;
	}
	return values[k];
}

/* Of the value among the sorted ones. */
static size_t place_of(size_t count, unsigned percent)
{
	size_t rank = (count / 100) * percent + (count % 100 * percent + 99) / 100; /* rounded up */

	return rank ? rank - 1 : 0;
}

int64_t percentile(int64_t *values, size_t count, unsigned percent)
{
	return select_nth(values, count, place_of(count, percent));
}

/*
 * Of many values, those that count are found by counting: into bins by the
 * position of the highest bit and the five bits below it, each some 3 % wide.
 * Nothing in that is hard to predict for a processor, other than in selecting.
 */
#define BIN_BITS 5
#define BINS (64u << BIN_BITS)
#define MANY 512

static unsigned bin_of(int64_t value)
{
	uint64_t v = (uint64_t)value;
	unsigned high = v >> BIN_BITS ? 63 - (unsigned)__builtin_clzll(v) : BIN_BITS;

	return ((high - BIN_BITS) << BIN_BITS) + (unsigned)(v >> (high - BIN_BITS));
}

static int64_t select_in_bins(int64_t *values, size_t count, size_t k, const uint32_t *bins)
{
	unsigned bin = 0;
	size_t found = 0;
	int64_t value;

	for (; k >= bins[bin]; bin++)
		k -= bins[bin];
	for (size_t i = 0; found < bins[bin] && i < count; i++) {
		value = values[i];
		values[i] = values[found];
		values[found] = value;
		found += bin_of(value) == bin;
	}
	return select_nth(values, found, k);
}

void percentiles(int64_t *values, size_t count, int64_t *ret_p50, int64_t *ret_p99)
{
	size_t low = place_of(count, 50), high = place_of(count, 99);
	uint32_t bins[BINS];

	if (count < MANY || count > UINT32_MAX) {
		*ret_p50 = select_nth(values, count, low);
		*ret_p99 = select_nth(values + low, count - low, high - low); /* what is beyond is not smaller now */
		return;
	}
	memset(bins, 0, sizeof bins);
	for (size_t i = 0; i < count; i++)
		bins[bin_of(values[i])]++;
	*ret_p50 = select_in_bins(values, count, low, bins);
	*ret_p99 = select_in_bins(values, count, high, bins);
}

char *format_time(char *out, int64_t ns)
{
	double magnitude = ns < 0 ? -(double)ns : (double)ns;

	if (magnitude < 1e3)
		snprintf(out, 32, "%" PRId64 " ns", ns);
	else if (magnitude < 1e6)
		snprintf(out, 32, "%.1f us", (double)ns / 1e3);
	else if (magnitude < 1e9)
		snprintf(out, 32, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(out, 32, "%.2f s", (double)ns / 1e9);
	return out;
}
