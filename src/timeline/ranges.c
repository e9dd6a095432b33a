/*
 * ranges.c - ranges that need not nest, by the flow id and name of their events.
 *
 * Ids are of a process.  Several ranges open with the same key end in the
 * reverse order of their begins.
 */
#include <errno.h>
#include <stdlib.h>

#include "timeline/build.h"

struct open_range {
	uint64_t id;
	uint32_t process, name; /* process: or a number above all of them, for the domain */
	uint32_t top; /* the innermost open one, plus one; 0: none */
	bool used;
};

struct ranges_open {
	struct open_range *table;
	size_t capacity, used;
	uint32_t *below; /* of each range: the one that was open before it with the same key, plus one */
	size_t below_capacity;
};

static struct open_range *place_of(const struct ranges_open *o, const struct open_range *key)
{
	uint64_t hash = (key->id ^ (uint64_t)key->process << 44 ^ (uint64_t)key->name << 22) * 0x9e3779b97f4a7c15u;
	size_t mask = o->capacity - 1, at = (size_t)(hash >> 20) & mask;

	for (; o->table[at].used; at = (at + 1) & mask)
		if (o->table[at].id == key->id && o->table[at].process == key->process && o->table[at].name == key->name)
			break;
	return &o->table[at];
}

/* Keys of ranges that have ended are let go. */
static int grow(struct ranges_open *o)
{
	struct ranges_open larger = *o;

	larger.used = 0;
	for (size_t i = 0; i < o->capacity; i++)
		larger.used += o->table[i].used && o->table[i].top;
	larger.capacity = 64;
	while (larger.capacity < 4 * larger.used)
		larger.capacity *= 2;
	larger.table = calloc(larger.capacity, sizeof *larger.table);
	if (!larger.table)
		return -ENOMEM;
	for (size_t i = 0; i < o->capacity; i++)
		if (o->table[i].used && o->table[i].top)
			*place_of(&larger, &o->table[i]) = o->table[i];
	free(o->table);
	*o = larger;
	return 0;
}

static int find_key(struct builder *b, const struct trace_batch *batch, uint32_t track, uint32_t event, struct open_range **ret)
{
	const struct trace_track *entry = trace_reader_track(b->reader, track);
	struct open_range key = {
		.id = batch->field[FIELD_FLOW] ? batch->field[FIELD_FLOW][event] : 0,
		.process = entry && entry->process >= 0 ? (uint32_t)entry->process : UINT32_MAX - batch->domain,
		.name = batch->name[event],
		.used = true,
	};
	struct open_range *place;

	if (!b->open_ranges && !(b->open_ranges = calloc(1, sizeof *b->open_ranges)))
		return -ENOMEM;
	if (b->open_ranges->used * 2 >= b->open_ranges->capacity && grow(b->open_ranges) < 0)
		return -ENOMEM;
	place = place_of(b->open_ranges, &key);
	if (!place->used) {
		*place = key;
		b->open_ranges->used++;
	}
	*ret = place;
	return 0;
}

static int add_range(struct builder *b, const struct timeline_range *range, uint32_t below)
{
	struct timeline *t = b->t;

	if (t->range_count >= TIMELINE_NONE - 1)
		return -E2BIG;
	if (ROOM_FOR(t->ranges, b->range_capacity, t->range_count + 1) < 0 ||
	    ROOM_FOR(b->open_ranges->below, b->open_ranges->below_capacity, t->range_count + 1) < 0)
		return -ENOMEM;
	b->open_ranges->below[t->range_count] = below;
	t->ranges[t->range_count++] = *range;
	return 0;
}

int ranges_begin(struct builder *b, const struct trace_batch *batch, uint32_t track, uint32_t event)
{
	int64_t begin = clocks_ns(b, batch->domain, batch->time[event]);
	struct timeline_range range = { begin, begin, track, batch->name[event], SLICE_OPEN };
	struct open_range *key;
	int rc = find_key(b, batch, track, event, &key);

	if (rc == 0)
		rc = add_range(b, &range, key->top);
	if (rc == 0)
		key->top = b->t->range_count;
	return rc;
}

int ranges_end(struct builder *b, const struct trace_batch *batch, uint32_t track, uint32_t event)
{
	int64_t end = clocks_ns(b, batch->domain, batch->time[event]);
	struct open_range *key;
	int rc = find_key(b, batch, track, event, &key);

	if (rc < 0)
		return rc;
	if (!key->top) /* the begin was lost, or there was none */
		return add_range(b, &(struct timeline_range){ end, end, track, batch->name[event], SLICE_BEGIN_UNKNOWN }, 0);
	b->t->ranges[key->top - 1].end = end < b->t->ranges[key->top - 1].begin ? b->t->ranges[key->top - 1].begin : end;
	b->t->ranges[key->top - 1].flags &= ~SLICE_OPEN;
	key->top = b->open_ranges->below[key->top - 1];
	return 0;
}

/* Those that never ended go on to the last event of their clock. */
void ranges_finish(struct builder *b)
{
	for (uint32_t i = 0; i < b->t->range_count; i++) {
		struct timeline_range *range = &b->t->ranges[i];
		uint16_t number = b->track_domain[range->track];
		const struct domain_span *domain = number < TRACE_DOMAIN_MAX ? &b->domains[number] : NULL;
		int64_t last = domain ? time_add(domain->last, domain->shift) : range->end;

		if (range->flags & SLICE_OPEN && range->end < last)
			range->end = last;
	}
	ROOM_TRIM(b->t->ranges, b->t->range_count);
}

void ranges_release(struct builder *b)
{
	if (!b->open_ranges)
		return;
	free(b->open_ranges->table);
	free(b->open_ranges->below);
	free(b->open_ranges);
	b->open_ranges = NULL;
}
