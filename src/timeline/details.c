/*
 * details.c - what events say beyond name and time.
 *
 * A slice is reported when it ends; if its begin was in an earlier block, that
 * block is gone.  What such a begin said is kept until then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/build.h"
#include "trace/pairing.h"

#define BIT(field) ((uint64_t)1 << (field))
#define DETAIL_FIELDS                                                                                                  \
	(BIT(FIELD_CORRELATION) | BIT(FIELD_BYTES) | BIT(FIELD_GRID_X) | BIT(FIELD_GRID_Y) | BIT(FIELD_GRID_Z) |       \
	 BIT(FIELD_BLOCK_X) | BIT(FIELD_BLOCK_Y) | BIT(FIELD_BLOCK_Z) | BIT(FIELD_SHARED_MEMORY) |                     \
	 BIT(FIELD_REGISTERS) | BIT(FIELD_GRAPH) | BIT(FIELD_MEMORY_KIND) | BIT(FIELD_WAIT))

struct pending {
	int64_t begin; /* ticks */
	uint32_t track, name;
	uint32_t detail;
	bool used;
};

struct details_open {
	struct pending *table; /* open addressing */
	size_t capacity, used; /* used: with those that were taken out */
	uint8_t *reported;     /* begins of the batch at hand whose slices have been reported */
	size_t reported_capacity;
	bool any;              /* the batch at hand has begins with details */
};

/* Operators are numbered themselves; only what they asked for has a detail for it. */
static uint64_t fields_of_kind(uint8_t kind)
{
	bool asked = kind == EVENT_RUNTIME_CALL || kind == EVENT_SYNC || timeline_is_device_work(kind);

	return asked ? DETAIL_FIELDS | BIT(FIELD_OPERATOR) : DETAIL_FIELDS;
}

static uint64_t number(const struct trace_batch *batch, uint32_t event, enum event_field field)
{
	return batch->field[field] ? batch->field[field][event] : 0;
}

static void take32(uint32_t *into, const struct trace_batch *batch, uint32_t event, enum event_field field)
{
	uint64_t value = number(batch, event, field);

	if (value)
		*into = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static void take64(uint64_t *into, const struct trace_batch *batch, uint32_t event, enum event_field field)
{
	uint64_t value = number(batch, event, field);

	if (value)
		*into = value;
}

/* Absent fields leave what is there. */
static void take_fields(struct timeline_detail *d, const struct trace_batch *batch, uint32_t event)
{
	uint64_t registers = number(batch, event, FIELD_REGISTERS), memory = number(batch, event, FIELD_MEMORY_KIND);

	take64(&d->correlation, batch, event, FIELD_CORRELATION);
	take64(&d->bytes, batch, event, FIELD_BYTES);
	take64(&d->operator_id, batch, event, FIELD_OPERATOR);
	take64(&d->wait, batch, event, FIELD_WAIT);
	take32(&d->grid[0], batch, event, FIELD_GRID_X);
	take32(&d->grid[1], batch, event, FIELD_GRID_Y);
	take32(&d->grid[2], batch, event, FIELD_GRID_Z);
	take32(&d->block[0], batch, event, FIELD_BLOCK_X);
	take32(&d->block[1], batch, event, FIELD_BLOCK_Y);
	take32(&d->block[2], batch, event, FIELD_BLOCK_Z);
	take32(&d->shared_memory, batch, event, FIELD_SHARED_MEMORY);
	take32(&d->graph, batch, event, FIELD_GRAPH);
	if (registers)
		d->registers = registers > UINT16_MAX ? UINT16_MAX : (uint16_t)registers;
	if (memory) {
		d->memory_from = (uint8_t)MEMORY_KIND_FROM(memory);
		d->memory_to = (uint8_t)MEMORY_KIND_TO(memory);
	}
}

int details_add(struct builder *b, uint32_t *ret)
{
	struct timeline *t = b->t;

	if (t->detail_count >= TIMELINE_NONE - 1)
		return -E2BIG;
	if (ROOM_FOR(t->details, b->detail_capacity, t->detail_count + 1) < 0)
		return -ENOMEM;
	t->details[t->detail_count] = (struct timeline_detail){ .collective = TIMELINE_NONE };
	*ret = t->detail_count++;
	return 0;
}

/* ---- Begins whose ends are in later blocks ---- */

static size_t pending_place(const struct details_open *o, uint32_t track, uint32_t name, int64_t begin)
{
	uint64_t hash = ((uint64_t)begin ^ (uint64_t)track << 40 ^ (uint64_t)name << 20) * 0x9e3779b97f4a7c15u;
	size_t mask = o->capacity - 1, at = (size_t)(hash >> 20) & mask;

	for (; o->table[at].used; at = (at + 1) & mask)
		if (o->table[at].detail != TIMELINE_NONE && o->table[at].track == track && o->table[at].name == name &&
		    o->table[at].begin == begin)
			break;
	return at;
}

static int pending_grow(struct details_open *o)
{
	struct details_open larger = *o;

	larger.used = 0;
	for (size_t i = 0; i < o->capacity; i++)
		larger.used += o->table[i].used && o->table[i].detail != TIMELINE_NONE;
	larger.capacity = 64;
	while (larger.capacity < 4 * larger.used)
		larger.capacity *= 2;
	larger.table = calloc(larger.capacity, sizeof *larger.table);
	if (!larger.table)
		return -ENOMEM;
	for (size_t i = 0; i < o->capacity; i++) {
		const struct pending *p = &o->table[i];

		if (p->used && p->detail != TIMELINE_NONE)
			larger.table[pending_place(&larger, p->track, p->name, p->begin)] = *p;
	}
	free(o->table);
	*o = larger;
	return 0;
}

static int pending_add(struct details_open *o, const struct trace_batch *batch, uint32_t track, uint32_t event, uint32_t detail)
{
	size_t at;

	if (o->used * 2 >= o->capacity && pending_grow(o) < 0)
		return -ENOMEM;
	at = pending_place(o, track, batch->name[event], batch->time[event]);
	o->used += !o->table[at].used;
	o->table[at] = (struct pending){ batch->time[event], track, batch->name[event], detail, true };
	return 0;
}

static uint32_t pending_take(struct details_open *o, const struct trace_slice *slice)
{
	uint32_t detail = TIMELINE_NONE;
	size_t at;

	if (!o || !o->used)
		return TIMELINE_NONE;
	at = pending_place(o, slice->track, slice->name, slice->begin);
	if (o->table[at].used) {
		detail = o->table[at].detail;
		o->table[at].detail = TIMELINE_NONE; /* its place stays taken, for those that come after it */
	}
	return detail;
}

static bool begins_with_detail(const struct trace_batch *batch, uint32_t event)
{
	return batch->phase[event] == PHASE_BEGIN && trace_batch_present(batch, event) & fields_of_kind(batch->kind[event]);
}

int details_begin_batch(struct builder *b, const struct trace_batch *batch)
{
	struct details_open *o = b->open_details;
	uint32_t i = 0;

	if (o)
		o->any = false;
	while (i < batch->count && !begins_with_detail(batch, i))
		i++;
	if (i == batch->count)
		return 0;
	if (!o && !(o = b->open_details = calloc(1, sizeof *o)))
		return -ENOMEM;
	if (ROOM_FOR(o->reported, o->reported_capacity, batch->count) < 0)
		return -ENOMEM;
	memset(o->reported, 0, batch->count);
	o->any = true;
	return 0;
}

/* What the begins said whose slices go on is kept. */
int details_end_batch(struct builder *b, const struct trace_batch *batch)
{
	struct details_open *o = b->open_details;
	uint32_t detail;
	int rc = 0;

	for (size_t k = 0; o && o->any && k < batch->segment_count && rc == 0; k++) {
		const struct trace_segment *s = &batch->segments[k];

		for (uint32_t i = s->first; i < s->first + s->count && rc == 0; i++) {
			if (o->reported[i] || !begins_with_detail(batch, i))
				continue;
			rc = details_add(b, &detail);
			if (rc == 0) {
				take_fields(&b->t->details[detail], batch, i);
				rc = pending_add(o, batch, s->track, i, detail);
			}
		}
	}
	return rc;
}

/* The event at which a begin/end slice ended may say more than its begin. */
static bool end_says_more(const struct trace_batch *batch, const struct trace_slice *slice)
{
	return batch && !(slice->flags & SLICE_UNFINISHED) && batch->phase[slice->end_event] == PHASE_END &&
	       trace_batch_present(batch, slice->end_event) & fields_of_kind(slice->kind);
}

int details_of(struct builder *b, const struct trace_batch *batch, const struct trace_slice *slice, uint32_t *ret)
{
	uint64_t fields = fields_of_kind(slice->kind);
	bool here = slice->batch && trace_batch_present(slice->batch, slice->event) & fields;
	bool more = end_says_more(batch, slice);
	uint32_t detail = slice->batch ? TIMELINE_NONE : pending_take(b->open_details, slice);
	int rc = 0;

	if (slice->batch && b->open_details && b->open_details->any)
		b->open_details->reported[slice->event] = 1;
	if (detail == TIMELINE_NONE && (here || more))
		rc = details_add(b, &detail);
	if (rc < 0)
		return rc;
	if (here)
		take_fields(&b->t->details[detail], slice->batch, slice->event);
	if (more)
		take_fields(&b->t->details[detail], batch, slice->end_event);
	*ret = detail;
	return 0;
}

void details_release(struct builder *b)
{
	if (!b->open_details)
		return;
	free(b->open_details->table);
	free(b->open_details->reported);
	free(b->open_details);
	b->open_details = NULL;
}
