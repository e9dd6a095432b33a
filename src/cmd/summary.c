/* summary.c - see summary.h. */
#include "cmd/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/pairing.h"

static struct tally_entry *tally_place(const struct tally *tally, uint32_t key)
{
	size_t mask = tally->capacity - 1, at = (key * 2654435761u) & mask;

	while (tally->entries[at].count && tally->entries[at].key != key)
		at = (at + 1) & mask;
	return &tally->entries[at];
}

static int tally_grow(struct tally *tally)
{
	struct tally larger = { .capacity = tally->capacity ? tally->capacity * 2 : 64, .used = tally->used };
	size_t i;

	larger.entries = calloc(larger.capacity, sizeof *larger.entries);
	if (!larger.entries)
		return -ENOMEM;
	for (i = 0; i < tally->capacity; i++)
		if (tally->entries[i].count)
			*tally_place(&larger, tally->entries[i].key) = tally->entries[i];
	free(tally->entries);
	*tally = larger;
	return 0;
}

static int tally_add(struct tally *tally, uint32_t key, uint64_t count, int64_t total_ns, int64_t max_ns)
{
	struct tally_entry *entry;

	if (count == 0)
		return 0;
	if (tally->used * 2 >= tally->capacity && tally_grow(tally) < 0)
		return -ENOMEM;
	entry = tally_place(tally, key);
	tally->used += entry->count == 0;
	entry->key = key;
	entry->count += count;
	if (__builtin_add_overflow(entry->total_ns, total_ns, &entry->total_ns))
		entry->total_ns = INT64_MAX; /* only damaged files get here */
	if (max_ns > entry->max_ns)
		entry->max_ns = max_ns;
	return 0;
}

uint64_t tally_count(const struct tally *tally, uint32_t key)
{
	return tally->capacity ? tally_place(tally, key)->count : 0;
}

static int by_total(const void *a, const void *b)
{
	const struct tally_entry *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->key < y->key ? -1 : x->key > y->key;
}

size_t tally_sort(struct tally *tally)
{
	size_t i, n = 0;

	for (i = 0; i < tally->capacity; i++)
		if (tally->entries[i].count)
			tally->entries[n++] = tally->entries[i];
	if (n > 0)
		qsort(tally->entries, n, sizeof *tally->entries, by_total);
	tally->capacity = 0;
	return n;
}

struct collector {
	struct trace_reader *reader;
	size_t block_count;
	struct summary *workers;
};

struct slice_arg {
	const struct trace_reader *reader;
	struct summary *summary;
	uint32_t domain;
};

static int count_slice(void *arg, const struct trace_slice *slice)
{
	struct slice_arg *s = arg;
	int64_t ns;

	if (slice->flags & SLICE_UNFINISHED) {
		s->summary->unfinished++;
		return 0;
	}
	if (slice->kind != EVENT_SCOPE || (slice->flags & SLICE_BEGIN_LOST))
		return 0;
	ns = trace_reader_ns(s->reader, s->domain, slice->end) - trace_reader_ns(s->reader, s->domain, slice->begin);
	return tally_add(&s->summary->scopes, slice->name, 1, ns, ns);
}

static void count_lost(struct summary *s, const struct trace_batch *batch, uint32_t event)
{
	uint64_t reason = batch->field[FIELD_REASON] ? batch->field[FIELD_REASON][event] : 0;
	uint64_t count = batch->field[FIELD_COUNT] ? batch->field[FIELD_COUNT][event] : 0;

	s->lost[reason < LOST_REASON_COUNT ? reason : 0] += count;
	if (reason != LOST_NAMES)
		s->lost_total += count;
}

static int count_slices(struct collector *c, struct summary *s, size_t block, const struct trace_batch *batch)
{
	struct slice_arg arg = { c->reader, s, batch->domain };
	struct trace_pairing *pairing;
	int rc = trace_pairing_new(&pairing);

	if (rc < 0)
		return rc;
	rc = trace_pairing_feed(pairing, batch, count_slice, &arg);
	if (rc == 0 && block + 1 == c->block_count)
		rc = trace_pairing_finish(pairing, batch->last_time, count_slice, &arg);
	s->unmatched_ends += trace_pairing_unmatched_ends(pairing);
	trace_pairing_free(pairing);
	return rc;
}

static int count_block(void *arg, unsigned worker, size_t block, const struct trace_batch *batch)
{
	struct collector *c = arg;
	struct summary *s = &c->workers[worker];
	uint32_t i;
	int rc = 0;

	s->blocks++;
	s->events += batch->count;
	for (i = 0; i < batch->count; i++) {
		s->kinds[batch->kind[i]]++;
		if (batch->kind[i] == EVENT_LOST)
			count_lost(s, batch, i);
	}
	for (i = 0; i < batch->segment_count && rc == 0; i++)
		rc = tally_add(&s->tracks, batch->segments[i].track, batch->segments[i].count, 0, 0);
	return rc ? rc : count_slices(c, s, block, batch);
}

static int merge_tally(struct tally *into, const struct tally *from)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < from->capacity && rc == 0; i++)
		rc = tally_add(into, from->entries[i].key, from->entries[i].count, from->entries[i].total_ns,
			       from->entries[i].max_ns);
	return rc;
}

static int merge(struct summary *into, const struct summary *from)
{
	size_t i;
	int rc = merge_tally(&into->tracks, &from->tracks);

	if (rc == 0)
		rc = merge_tally(&into->scopes, &from->scopes);
	for (i = 0; i < 256; i++)
		into->kinds[i] += from->kinds[i];
	for (i = 0; i < LOST_REASON_COUNT; i++)
		into->lost[i] += from->lost[i];
	into->events += from->events;
	into->blocks += from->blocks;
	into->lost_total += from->lost_total;
	into->unfinished += from->unfinished;
	into->unmatched_ends += from->unmatched_ends;
	return rc;
}

static int64_t duration_of(const struct trace_reader *reader)
{
	int64_t last = 0;
	size_t i;

	for (i = 0; i < trace_reader_block_count(reader); i++) {
		const struct trace_block *block = trace_reader_block(reader, i);
		int64_t ns = trace_reader_since_start_ns(reader, block->domain, block->last_time);

		if (block->count > 0 && ns > last)
			last = ns;
	}
	return last;
}

int summary_collect(struct summary *summary, struct trace_reader *reader, struct error *err)
{
	unsigned workers = trace_reader_workers(0), i;
	struct collector c = { reader, trace_reader_block_count(reader), calloc(workers, sizeof *c.workers) };
	int rc;

	*summary = (struct summary){ 0 };
	if (!c.workers)
		return error_errno(err, -ENOMEM, "cannot count the events");
	rc = trace_reader_each(reader, 0, c.block_count, 0, count_block, &c, err);
	for (i = 0; i < workers; i++) {
		if (rc == 0)
			rc = merge(summary, &c.workers[i]);
		summary_release(&c.workers[i]);
	}
	free(c.workers);
	summary->duration_ns = duration_of(reader);
	if (rc < 0)
		summary_release(summary);
	return rc;
}

void summary_release(struct summary *summary)
{
	free(summary->tracks.entries);
	free(summary->scopes.entries);
	summary->tracks = summary->scopes = (struct tally){ 0 };
}
