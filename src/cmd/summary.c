/* summary.c - see summary.h. */
#include "cmd/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/pairing.h"

static struct tally_entry *tally_place(const struct tally *tally, uint32_t key)
{
	size_t mask = tally->capacity - 1, at = (key * 2654435761u) & mask;

	while (tally->entries[at].used && tally->entries[at].key != key)
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
		if (tally->entries[i].used)
			*tally_place(&larger, tally->entries[i].key) = tally->entries[i];
	free(tally->entries);
	*tally = larger;
	return 0;
}

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX; /* only damaged files get here */
	return sum;
}

static int tally_add(struct tally *tally, const struct tally_entry *more)
{
	struct tally_entry *entry;

	if (tally->used * 2 >= tally->capacity && tally_grow(tally) < 0)
		return -ENOMEM;
	entry = tally_place(tally, more->key);
	tally->used += !entry->used;
	entry->key = more->key;
	entry->used = true;
	entry->count += more->count;
	entry->total_ns = add(entry->total_ns, more->total_ns);
	entry->self_ns = add(entry->self_ns, more->self_ns);
	if (more->max_ns > entry->max_ns)
		entry->max_ns = more->max_ns;
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

static struct tally *tally_of(struct summary *s, unsigned kind)
{
	switch (kind) {
	case EVENT_SCOPE:
		return &s->scopes;
	case EVENT_CPU_CALL:
		return &s->functions;
	case EVENT_OP:
		return &s->operators;
	default:
		return NULL;
	}
}

static int64_t length_ns(const struct trace_reader *reader, uint32_t domain, int64_t begin, int64_t end)
{
	return add(trace_reader_ns(reader, domain, end), -trace_reader_ns(reader, domain, begin));
}

/* A slice takes its time away from the one around it where it ends itself: which block the other ends in does not matter. */
static int count_slice(void *arg, const struct trace_slice *slice)
{
	struct slice_arg *s = arg;
	bool complete = slice->batch && slice->batch->phase[slice->event] == PHASE_COMPLETE;
	struct tally *tally = tally_of(s->summary, slice->kind), *around = tally_of(s->summary, slice->parent_kind);
	int64_t ns;
	int rc = 0;

	s->summary->unfinished += slice->flags & SLICE_UNFINISHED ? 1 : 0;
	if ((!tally && !around) || slice->flags & SLICE_BEGIN_LOST)
		return 0;
	ns = length_ns(s->reader, s->domain, slice->begin, slice->end);
	if (tally)
		rc = tally_add(tally, &(struct tally_entry){ .key = slice->name,
							     .count = slice->flags & SLICE_GOES_ON ? 0 : 1,
							     .total_ns = slice->nested ? 0 : ns,
							     .self_ns = ns,
							     .max_ns = ns });
	if (rc == 0 && around && !complete)
		rc = tally_add(around, &(struct tally_entry){ .key = slice->parent_name, .self_ns = -ns });
	return rc;
}

static void count_unseen(struct summary *s, const struct trace_reader *reader, const struct trace_batch *batch, uint32_t event)
{
	uint64_t ticks = batch->field[FIELD_DURATION] ? batch->field[FIELD_DURATION][event] : 0;
	int64_t begin = batch->time[event];

	s->unseen_ns = add(s->unseen_ns, length_ns(reader, batch->domain, begin,
						   add(begin, ticks > INT64_MAX ? INT64_MAX : (int64_t)ticks)));
}

static void count_lost(struct summary *s, const struct trace_reader *reader, const struct trace_batch *batch, uint32_t event)
{
	uint64_t reason = batch->field[FIELD_REASON] ? batch->field[FIELD_REASON][event] : 0;
	uint64_t count = batch->field[FIELD_COUNT] ? batch->field[FIELD_COUNT][event] : 0;

	s->lost[reason < LOST_REASON_COUNT ? reason : 0] += count;
	if (reason != LOST_NAMES)
		s->lost_total += count;
	if (reason == LOST_UNSEEN)
		count_unseen(s, reader, batch, event);
}

static int count_slices(struct collector *c, struct summary *s, size_t block, const struct trace_batch *batch)
{
	struct slice_arg arg = { c->reader, s, batch->domain };
	struct trace_pairing *pairing;
	int rc = trace_pairing_new(&pairing);

	if (rc < 0)
		return rc;
	rc = trace_pairing_count_names(pairing, trace_reader_string_count(c->reader));
	if (rc == 0)
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
			count_lost(s, c->reader, batch, i);
	}
	for (i = 0; i < batch->segment_count && rc == 0; i++)
		rc = tally_add(&s->tracks, &(struct tally_entry){ .key = batch->segments[i].track, .count = batch->segments[i].count });
	return rc ? rc : count_slices(c, s, block, batch);
}

static int merge_tally(struct tally *into, const struct tally *from)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < from->capacity && rc == 0; i++)
		if (from->entries[i].used)
			rc = tally_add(into, &from->entries[i]);
	return rc;
}

static int merge(struct summary *into, const struct summary *from)
{
	size_t i;
	int rc = merge_tally(&into->tracks, &from->tracks);

	if (rc == 0)
		rc = merge_tally(&into->scopes, &from->scopes);
	if (rc == 0)
		rc = merge_tally(&into->functions, &from->functions);
	if (rc == 0)
		rc = merge_tally(&into->operators, &from->operators);
	for (i = 0; i < 256; i++)
		into->kinds[i] += from->kinds[i];
	for (i = 0; i < LOST_REASON_COUNT; i++)
		into->lost[i] += from->lost[i];
	into->events += from->events;
	into->blocks += from->blocks;
	into->lost_total += from->lost_total;
	into->unfinished += from->unfinished;
	into->unseen_ns = add(into->unseen_ns, from->unseen_ns);
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
	free(summary->functions.entries);
	free(summary->operators.entries);
	summary->tracks = summary->scopes = summary->functions = summary->operators = (struct tally){ 0 };
}
