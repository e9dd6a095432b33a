/* looks.c - threads and the machine as they were seen from outside: states, places, counters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/build.h"

bool looks_are_on(const struct builder *b, uint32_t track)
{
	const struct trace_track *entry = trace_reader_track(b->reader, track);

	return entry && (entry->kind == TRACK_STATES || entry->kind == TRACK_HOST);
}

struct what {
	struct builder *b;
	const char *text;
	int rc;
};

static void take_what(void *arg, const struct msgpack_value *key, const struct msgpack_value *value)
{
	struct what *what = arg;

	if (value->type != MSGPACK_STRING || key->type != MSGPACK_STRING || key->size != 4 || memcmp(key->data, "what", 4) != 0)
		return;
	what->rc = texts_intern(&what->b->t->texts, (const char *)value->data, value->size, &what->text);
}

static int what_of(struct builder *b, const struct trace_batch *batch, uint32_t i, const char **ret)
{
	struct what what = { .b = b };

	if (batch && batch->metadata && batch->metadata[i].size)
		map_each(batch->metadata[i].data, batch->metadata[i].size, take_what, &what);
	*ret = what.text;
	return what.rc;
}

static int add(struct builder *b, const struct timeline_look *look)
{
	struct timeline *t = b->t;

	if (t->look_count >= TIMELINE_NONE - 1)
		return -E2BIG;
	if (ROOM_FOR(t->looks, b->look_capacity, t->look_count + 1) < 0)
		return -ENOMEM;
	t->looks[t->look_count++] = *look;
	return 0;
}

int looks_take_slice(struct builder *b, const struct trace_slice *slice, uint32_t domain)
{
	const struct trace_batch *batch = slice->batch;
	struct timeline_look look = {
		.begin = clocks_ns(b, domain, slice->begin),
		.end = clocks_ns(b, domain, slice->end),
		.track = slice->track,
		.name = slice->name,
		.kind = LOOK_STATE,
	};
	int rc;

	if (slice->kind != EVENT_CPU_SAMPLE || !batch || look.end < look.begin)
		return 0;
	if (batch->field[FIELD_COUNT])
		look.samples = (uint32_t)batch->field[FIELD_COUNT][slice->event];
	rc = what_of(b, batch, slice->event, &look.what);
	return rc ? rc : add(b, &look);
}

double counter_value(const struct trace_batch *batch, uint32_t i)
{
	uint64_t present = trace_batch_present(batch, i);
	double value = 0;

	if (present >> FIELD_VALUE & 1 && batch->field[FIELD_VALUE])
		memcpy(&value, &batch->field[FIELD_VALUE][i], sizeof value);
	else if (present >> FIELD_INTEGER & 1 && batch->field[FIELD_INTEGER])
		value = (double)(int64_t)batch->field[FIELD_INTEGER][i];
	else if (batch->field[FIELD_BYTES])
		value = (double)batch->field[FIELD_BYTES][i];
	return value;
}

int looks_take_event(struct builder *b, const struct trace_batch *batch, uint32_t track, uint32_t i)
{
	struct timeline_look look = {
		.begin = clocks_ns(b, batch->domain, batch->time[i]),
		.track = track,
		.name = batch->name[i],
		.kind = batch->kind[i] == EVENT_COUNTER ? LOOK_COUNTER : LOOK_PLACE,
	};
	int rc = 0;

	if (batch->phase[i] != PHASE_INSTANT || (batch->kind[i] != EVENT_COUNTER && batch->kind[i] != EVENT_CPU_SAMPLE))
		return 0;
	look.end = look.begin;
	if (look.kind == LOOK_COUNTER)
		look.value = counter_value(batch, i);
	else
		rc = what_of(b, batch, i, &look.what);
	return rc ? rc : add(b, &look);
}

static int compare(const void *a, const void *b)
{
	const struct timeline_look *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

int looks_order(struct builder *b)
{
	if (b->t->look_count > 1)
		qsort(b->t->looks, b->t->look_count, sizeof *b->t->looks, compare);
	return 0;
}

uint32_t timeline_looks_from(const struct timeline *t, uint32_t track, int64_t time, uint32_t *ret_count)
{
	uint32_t low = 0, high = t->look_count, first;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct timeline_look *look = &t->looks[middle];

		if (look->track < track || (look->track == track && look->begin < time))
			low = middle + 1;
		else
			high = middle;
	}
	first = low;
	while (low < t->look_count && t->looks[low].track == track)
		low++;
	*ret_count = low - first;
	return first;
}

/* By what the trace says, else by number, which threads may have had one after the other. */
uint32_t timeline_states_of(const struct timeline *t, uint32_t track)
{
	for (uint32_t i = 0; i < t->track_count; i++)
		if (t->tracks[i].kind == TRACK_STATES && t->tracks[i].parent == track)
			return i;
	for (uint32_t i = 0; i < t->track_count; i++)
		if (t->tracks[i].kind == TRACK_STATES && t->tracks[i].process == t->tracks[track].process &&
		    t->tracks[i].os_id == t->tracks[track].os_id)
			return i;
	return TIMELINE_NONE;
}
