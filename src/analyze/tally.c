/* tally.c - durations grouped by name: counts, sums, percentiles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/parts.h"
#include "base/array.h"

int tally_init(struct tally *ta, const struct timeline *t)
{
	*ta = (struct tally){ .t = t };
	ta->entry_of = calloc(t->string_count ? t->string_count : 1, sizeof *ta->entry_of);
	return ta->entry_of ? 0 : -ENOMEM;
}

void tally_release(struct tally *ta)
{
	free(ta->entry_of);
	free(ta->entries);
	free(ta->samples);
	*ta = (struct tally){ 0 };
}

struct tally_entry *tally_new(struct tally *ta, uint32_t name)
{
	if (ARRAY_GROW(ta->entries, ta->capacity, ta->count + 1) < 0)
		return NULL;
	ta->entries[ta->count] = (struct tally_entry){ .name = name, .min = INT64_MAX, .track = TIMELINE_NONE };
	ta->entry_of[name] = (uint32_t)++ta->count;
	return &ta->entries[ta->count - 1];
}

int tally_prepare(struct tally *ta)
{
	size_t next = 0;

	for (size_t i = 0; i < ta->count; i++) {
		ta->entries[i].next = next;
		next += ta->entries[i].count;
	}
	ta->samples = malloc((next ? next : 1) * sizeof *ta->samples);
	return ta->samples ? 0 : -ENOMEM;
}

struct analysis_entry tally_result(struct tally *ta, size_t entry)
{
	const struct tally_entry *e = &ta->entries[entry];
	struct analysis_entry ret = { .name = e->name, .count = e->count, .total = e->total, .self = e->self };

	ret.min = e->min;
	ret.max = e->max;
	ret.mean = (double)e->sum / (double)e->count;
	percentiles(ta->samples + (e->next - e->count), e->count, &ret.p50, &ret.p99);
	return ret;
}

int entry_compare(const struct timeline *t, const struct analysis_entry *a, const struct analysis_entry *b)
{
	size_t size_a, size_b;
	const char *text_a, *text_b;
	int order;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	text_a = timeline_string(t, a->name, &size_a);
	text_b = timeline_string(t, b->name, &size_b);
	order = memcmp(text_a, text_b, size_a < size_b ? size_a : size_b);
	if (order == 0)
		order = size_a < size_b ? -1 : size_a > size_b;
	return order ? order : a->name < b->name ? -1 : a->name > b->name;
}
