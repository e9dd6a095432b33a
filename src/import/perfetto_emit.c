/*
 * perfetto_emit.c - events in the order of their times go to the output.
 *
 * Slices of a device that are given by begin and end become complete events on
 * the device's stream: until their end they wait here, so that the stack of
 * the track they came on stays right.
 */
#include "import/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/msgpack.h"

#define PENDING_BYTES_MAX ((size_t)64 << 20)
#define FLOWS_MAX ((size_t)4 << 20)

static void load(const struct sort_record *r, int64_t time, struct import_event *e)
{
	const uint8_t *at = (const uint8_t *)(r + 1);

	e->kind = r->kind;
	e->phase = r->phase;
	e->track = r->track;
	e->name = r->name;
	e->time = time;
	e->present = r->present;
	for (uint32_t left = r->present; left; left &= left - 1) {
		memcpy(&e->field[__builtin_ctz(left)], at, sizeof(uint64_t));
		at += sizeof(uint64_t);
	}
	e->metadata = r->metadata_size ? at : NULL;
	e->metadata_size = r->metadata_size;
}

/* A track that cannot be had is the output's failure, which output_event() reports. */
static int out(struct perfetto *p, const struct import_event *e)
{
	return output_event(p->o, e, p->err);
}

static uint32_t place_of(struct perfetto *p, const struct sort_record *r)
{
	uint32_t process, device, stream;

	if (!r->on_stream)
		return r->direct    ? r->track
		       : r->counter ? track_counter_output(p, r->track)
				    : track_output(p, r->track);
	process = r->direct ? OUTPUT_NONE : track_output_process(p, r->track);
	device = output_device(p->o, r->device);
	stream = device == OUTPUT_NONE ? OUTPUT_NONE : output_stream(p->o, device, process, r->stream);
	if (!r->direct)
		track_name_stream(p, r->track, stream);
	return stream;
}

/* ---- Slices that wait for their end ------------------------------------------- */

static uint32_t free_pending(struct perfetto *p)
{
	if (ARRAY_GROW(p->pendings, p->pending_capacity, p->pending_count + 1))
		return PERFETTO_NONE;
	return (uint32_t)p->pending_count++;
}

/* False when it cannot wait. */
static bool wait_for_end(struct perfetto *p, struct perfetto_track *t, int64_t time, const struct sort_record *r)
{
	size_t size = sort_record_size(r);
	struct sort_record *copy;
	uint32_t at;

	if (p->pending_bytes + size > PENDING_BYTES_MAX)
		return false;
	copy = malloc(size);
	at = p->pending_free != PERFETTO_NONE ? p->pending_free : free_pending(p);
	if (!copy || at == PERFETTO_NONE) {
		free(copy);
		return false;
	}
	if (at == p->pending_free)
		p->pending_free = p->pendings[at].before;
	memcpy(copy, r, size);
	p->pendings[at] = (struct pending){ .depth = t->depth, .before = t->pending, .record = copy, .time = time };
	p->pending_bytes += size;
	t->pending = at;
	t->depth++;
	return true;
}

static void drop_pending(struct perfetto *p, struct perfetto_track *t)
{
	uint32_t at = t->pending;
	struct pending *w = &p->pendings[at];

	p->pending_bytes -= sort_record_size(w->record);
	free(w->record);
	w->record = NULL;
	t->pending = w->before;
	w->before = p->pending_free;
	p->pending_free = at;
}

/* The end of a slice that waited: it goes out whole. */
static int end_pending(struct perfetto *p, struct perfetto_track *t, int64_t time)
{
	const struct pending *w = &p->pendings[t->pending];
	struct import_event e;
	int rc;

	load(w->record, w->time, &e);
	e.phase = PHASE_COMPLETE;
	e.track = place_of(p, w->record);
	import_event_set(&e, FIELD_DURATION, time > w->time ? (uint64_t)time - (uint64_t)w->time : 0);
	rc = out(p, &e);
	drop_pending(p, t);
	return rc;
}

/* ---- Flows -------------------------------------------------------------------- */

static bool *flow_of(struct perfetto *p, uint64_t id)
{
	uint32_t at = output_map_find(&p->flow_map, 0, id);

	if (at != PERFETTO_NONE)
		return &p->flows[at];
	if (p->flow_count >= FLOWS_MAX || ARRAY_GROW(p->flows, p->flow_capacity, p->flow_count + 1) ||
	    output_map_add(&p->flow_map, 0, id, (uint32_t)p->flow_count))
		return NULL;
	return &p->flows[p->flow_count++];
}

static int emit_flow(struct perfetto *p, struct import_event *e, uint8_t action)
{
	bool none = false, *under_way = flow_of(p, e->field[FIELD_FLOW]);
	int rc = 0;

	under_way = under_way ? under_way : &none;
	if (action == SORT_FLOW_END || (action == SORT_FLOW_STEP && *under_way)) {
		e->phase = PHASE_FLOW_IN;
		rc = out(p, e);
	}
	*under_way = action != SORT_FLOW_END;
	if (rc || action == SORT_FLOW_END)
		return rc;
	e->phase = PHASE_FLOW_OUT;
	return out(p, e);
}

/* ---- Events ------------------------------------------------------------------- */

/* The first value of a counter says what it counts in. */
static int emit_counter(struct perfetto *p, struct import_event *e, struct perfetto_track *t)
{
	struct text unit = perfetto_stored(p, t->unit);

	if (unit.size && unit.size < 256 && !t->unit_said && !p->lean) {
		buffer_clear(&p->metadata);
		if (msgpack_write_map(&p->metadata, 1) || msgpack_write_text(&p->metadata, "unit") ||
		    msgpack_write_string(&p->metadata, unit.data, unit.size))
			return -ENOMEM;
		e->metadata = p->metadata.data;
		e->metadata_size = p->metadata.size;
	}
	t->unit_said = true;
	return out(p, e);
}

/* An event that comes after a later one of its track may tear slices. */
static void note_order(struct perfetto *p, struct perfetto_track *t, int64_t time)
{
	if (time < t->last)
		output_report(p->o)->repaired++;
	else
		t->last = time;
}

int emit_record(struct perfetto *p, int64_t time, const struct sort_record *r)
{
	struct perfetto_track *t = r->direct ? NULL : &p->tracks[r->track];
	struct import_event e;

	if (t && r->phase <= PHASE_END)
		note_order(p, t, time);
	if (t && r->phase == PHASE_BEGIN) {
		if ((r->on_stream || t->beside) && wait_for_end(p, t, time, r))
			return 0;
		t->depth++;
	} else if (t && r->phase == PHASE_END && t->depth) {
		t->depth--;
		if (t->pending != PERFETTO_NONE && p->pendings[t->pending].depth == t->depth)
			return end_pending(p, t, time);
	}
	load(r, time, &e);
	/* One that could not wait stays on its own track, where its end will be. */
	if (r->on_stream && r->phase == PHASE_BEGIN)
		e.track = r->direct ? r->track : track_output(p, r->track);
	else
		e.track = place_of(p, r);
	if (r->action != SORT_EVENT)
		return emit_flow(p, &e, r->action);
	if (!r->counter)
		return out(p, &e);
	e.name = track_name(p, r->track);
	return emit_counter(p, &e, t);
}

/* Slices that still wait never end. */
int emit_finish(struct perfetto *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->pending_count && rc == 0; i++) {
		struct import_event e;

		if (!p->pendings[i].record)
			continue;
		load(p->pendings[i].record, p->pendings[i].time, &e);
		e.track = place_of(p, p->pendings[i].record);
		rc = out(p, &e);
	}
	return rc;
}

void emit_release(struct perfetto *p)
{
	for (size_t i = 0; i < p->pending_count; i++)
		free(p->pendings[i].record);
	free(p->pendings);
	free(p->flows);
	output_map_release(&p->flow_map);
}
