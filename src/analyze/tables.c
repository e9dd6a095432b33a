/* tables.c - scopes, operators, functions and calls by name. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/parts.h"

enum table { TABLE_SCOPES, TABLE_OPERATORS, TABLE_FUNCTIONS, TABLE_CALLS, TABLE_COUNT, TABLE_NONE = TABLE_COUNT };

static enum table table_of(uint8_t kind)
{
	switch (kind) {
	case EVENT_SCOPE:
		return TABLE_SCOPES;
	case EVENT_OP:
		return TABLE_OPERATORS;
	case EVENT_CPU_CALL:
		return TABLE_FUNCTIONS;
	case EVENT_RUNTIME_CALL:
		return TABLE_CALLS;
	default:
		return TABLE_NONE;
	}
}

static int add_track(const struct parts *p, struct tally *tallies, uint32_t track)
{
	const struct timeline *t = p->t;

	for (uint32_t i = t->tracks[track].first; i < t->tracks[track].first + t->tracks[track].count; i++) {
		enum table table = table_of(t->kind[i]);
		struct tally_entry *entry;

		if (table == TABLE_NONE)
			continue;
		entry = tally_add(&tallies[table], slice_name(t, i), slice_duration(t, i));
		if (!entry)
			return -ENOMEM;
		tally_cover(entry, track, t->begin[i], t->end[i]);
		entry->self = time_sum(entry->self, p->self[i]);
	}
	return 0;
}

static void sample_track(const struct timeline *t, struct tally *tallies, uint32_t track)
{
	for (uint32_t i = t->tracks[track].first; i < t->tracks[track].first + t->tracks[track].count; i++) {
		enum table table = table_of(t->kind[i]);

		if (table != TABLE_NONE)
			tally_sample(&tallies[table], slice_name(t, i), slice_duration(t, i));
	}
}

/* A range that does not nest has all of its time to itself. */
static bool range_counts(const struct parts *p, const struct timeline_range *r)
{
	return r->end >= r->begin && r->name < p->t->string_count && r->track < p->t->track_count && p->host[r->track];
}

static int add_ranges(const struct parts *p, struct tally *scopes)
{
	const struct timeline *t = p->t;

	for (uint32_t i = 0; i < t->range_count; i++) {
		const struct timeline_range *r = &t->ranges[i];
		struct tally_entry *entry;

		if (!range_counts(p, r))
			continue;
		entry = tally_add(scopes, r->name, r->end - r->begin);
		if (!entry)
			return -ENOMEM;
		entry->total = time_sum(entry->total, r->end - r->begin);
		entry->self = time_sum(entry->self, r->end - r->begin);
	}
	return 0;
}

static void sample_ranges(const struct parts *p, struct tally *scopes)
{
	const struct timeline *t = p->t;

	for (uint32_t i = 0; i < t->range_count; i++)
		if (range_counts(p, &t->ranges[i]))
			tally_sample(scopes, t->ranges[i].name, t->ranges[i].end - t->ranges[i].begin);
}

static int compare_entries(const void *a, const void *b, void *t)
{
	return entry_compare(t, a, b);
}

static int take(struct tally *ta, struct analysis_table *ret)
{
	ret->entries = calloc(ta->count + 1, sizeof *ret->entries);
	if (!ret->entries)
		return -ENOMEM;
	for (size_t i = 0; i < ta->count; i++)
		ret->entries[i] = tally_result(ta, i);
	ret->count = ta->count;
	qsort_r(ret->entries, ret->count, sizeof *ret->entries, compare_entries, (void *)ta->t);
	return 0;
}

int analyze_tables(struct parts *p)
{
	struct analysis_table *tables[TABLE_COUNT] = { &p->a->scopes, &p->a->operators, &p->a->functions, &p->a->calls };
	struct tally tallies[TABLE_COUNT] = { 0 };
	int rc = 0;

	for (unsigned k = 0; k < TABLE_COUNT && rc == 0; k++)
		rc = tally_init(&tallies[k], p->t);
	for (uint32_t i = 0; i < p->t->track_count && rc == 0; i++)
		if (p->host[i])
			rc = add_track(p, tallies, i);
	if (rc == 0)
		rc = add_ranges(p, &tallies[TABLE_SCOPES]);
	for (unsigned k = 0; k < TABLE_COUNT && rc == 0; k++)
		rc = tally_prepare(&tallies[k]);
	for (uint32_t i = 0; i < p->t->track_count && rc == 0; i++)
		if (p->host[i])
			sample_track(p->t, tallies, i);
	if (rc == 0)
		sample_ranges(p, &tallies[TABLE_SCOPES]);
	for (unsigned k = 0; k < TABLE_COUNT; k++) {
		if (rc == 0)
			rc = take(&tallies[k], tables[k]);
		tally_release(&tallies[k]);
	}
	return rc;
}
