/* row_walk.c - see row_walk.h. */
#include "rows/row_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rows/row_carry.h"
#include "trace/pairing.h"

#define BIT(field) (UINT64_C(1) << (field))

/* What a block has to print: an event as it stands, or a slice that ends at it. */
struct record {
	int64_t time;
	uint32_t order, sequence; /* event index, then order of arrival: what keeps a thread's rows in their order */
	bool is_slice;
	uint32_t track;
	struct trace_slice slice;
};

/* What pairing said about each event of the block. */
#define MARK_CLOSED 1u /* a begin whose slice ended in this block */
#define MARK_PAIRED 2u /* an end that ended something */

struct walk {
	struct trace_reader *reader;
	const struct row_filter *filter;
	row_fn fn;
	void *arg;
	bool cut_short; /* the trace goes on behind the last block of the window */
	bool at_end;    /* all blocks are done */

	const struct trace_batch *batch;
	size_t block; /* its number */
	struct record *records;
	size_t count, capacity;
	bool disordered; /* records came in another order than by_time() has them */
	uint8_t *marks;
	struct row_carry carry;
};

static int64_t since_start(const struct walk *w, int64_t ticks)
{
	return trace_reader_since_start_ns(w->reader, w->batch->domain, ticks);
}

static bool in_window(const struct walk *w, int64_t ns)
{
	return ns >= w->filter->from_ns && ns < w->filter->to_ns;
}

static int emit(struct walk *w, const struct row *row)
{
	return row_filter_match(w->filter, row, w->reader) ? w->fn(w->arg, row) : 0;
}

static bool begins_deep(const struct walk *w, uint32_t event)
{
	return w->filter->deep && row_set_has(w->filter->deep, w->block, event);
}

static int by_time(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static int push(struct walk *w, const struct record *record)
{
	struct record *records;
	size_t capacity = w->capacity ? w->capacity * 2 : 4096;

	if (w->count == w->capacity) {
		records = reallocarray(w->records, capacity, sizeof *records);
		if (!records)
			return -ENOMEM;
		w->records = records;
		w->capacity = capacity;
	}
	w->records[w->count] = *record;
	w->records[w->count].sequence = (uint32_t)w->count;
	w->disordered |= w->count > 0 && by_time(&w->records[w->count - 1], &w->records[w->count]) > 0;
	w->count++;
	return 0;
}

static void sort_records(struct walk *w)
{
	if (w->disordered)
		qsort(w->records, w->count, sizeof *w->records, by_time);
	w->disordered = false;
}

/* While a block is fed: a slice ends, or turns out to have ended unseen, at the event at hand. */
static int collect_slice(void *arg, const struct trace_slice *slice)
{
	struct walk *w = arg;
	uint32_t at = slice->end_event;

	if (slice->batch && slice->batch->phase[slice->event] == PHASE_COMPLETE)
		return 0; /* collect_events() has them, with all their fields */
	if (slice->batch)
		w->marks[slice->event] |= MARK_CLOSED;
	if (!(slice->flags & SLICE_UNFINISHED))
		w->marks[at] |= MARK_PAIRED;
	return push(w, &(struct record){ .time = w->batch->time[at],
					 .order = at,
					 .is_slice = true,
					 .track = slice->track,
					 .slice = *slice });
}

/* After the last block: what is still open, in the order in which it began. */
static int collect_open(void *arg, const struct trace_slice *slice)
{
	return push(arg, &(struct record){ .time = slice->begin,
					   .order = slice->depth,
					   .is_slice = true,
					   .track = slice->track,
					   .slice = *slice });
}

static bool is_split(const struct walk *w, uint8_t kind)
{
	return kind == EVENT_SCOPE && !w->filter->whole_scopes;
}

/* Begins of slices that are not split in two wait for their end. */
static bool stands_alone(const struct walk *w, uint32_t event)
{
	switch (w->batch->phase[event]) {
	case PHASE_BEGIN:
		return is_split(w, w->batch->kind[event]);
	case PHASE_END:
		return !(w->marks[event] & MARK_PAIRED);
	default:
		return true;
	}
}

static int collect_events(struct walk *w)
{
	size_t s;
	uint32_t i;
	int rc = 0;

	for (s = 0; s < w->batch->segment_count; s++) {
		const struct trace_segment *segment = &w->batch->segments[s];

		for (i = segment->first; i < segment->first + segment->count && rc == 0; i++)
			if (stands_alone(w, i))
				rc = push(w, &(struct record){
						     .time = w->batch->time[i], .order = i, .track = segment->track });
	}
	return rc;
}

static const char *type_name(unsigned kind)
{
	const char *name = event_kind_name(kind);

	return name ? name : "unknown";
}

/* A slice that overlaps the window is shown whole; all that is left to say is where it sticks out. */
static bool clip(const struct walk *w, struct row *row)
{
	if (row->start_ns >= w->filter->to_ns || (row->has_end && row->end_ns < w->filter->from_ns))
		return false;
	if (row->start_ns < w->filter->from_ns)
		row->flags |= ROW_ENCLOSING;
	return true;
}

static int emit_event(struct walk *w, const struct record *record)
{
	static const char *const phases[] = { [PHASE_ASYNC_BEGIN] = "async_begin",
					      [PHASE_ASYNC_END] = "async_end",
					      [PHASE_FLOW_OUT] = "flow_out",
					      [PHASE_FLOW_IN] = "flow_in" };
	const struct trace_batch *b = w->batch;
	uint32_t i = record->order;
	int64_t ns = since_start(w, b->time[i]);
	struct row row = { .type = type_name(b->kind[i]),
				.kind = b->kind[i],
				.event_phase = b->phase[i],
				.has_start = true,
				.domain = b->domain,
				.track = record->track,
				.name = b->name[i],
				.start_ns = ns,
				.cpu = b->cpu[i],
				.depth = b->depth[i] };

	row_add_fields(&row, b, i);
	if (b->phase[i] == PHASE_BEGIN) {
		row.type = "scope_enter";
	} else if (b->phase[i] == PHASE_END) {
		row.type = b->kind[i] == EVENT_SCOPE ? "scope_exit" : row.type;
		row.has_start = false;
		row.has_end = true;
		row.end_ns = ns;
		row.flags = ROW_UNMATCHED;
	} else if (b->phase[i] == PHASE_COMPLETE) {
		uint64_t ticks = row.field[FIELD_DURATION];

		row.has_end = true;
		row.end_ns = since_start(w, (int64_t)((uint64_t)b->time[i] + ticks));
		row.deep = begins_deep(w, i);
		return clip(w, &row) ? emit(w, &row) : 0;
	} else if (b->phase[i] < sizeof phases / sizeof phases[0]) {
		row.phase = phases[b->phase[i]];
	}
	return in_window(w, ns) ? emit(w, &row) : 0;
}

/* The fields of the begin, wherever that was, and on top of them those of the end; and whether it is too deep. */
static void add_slice_fields(struct walk *w, struct row *row, const struct trace_slice *slice)
{
	const struct row *begin;

	row->deep = slice->depth >= w->filter->depth; /* of one that began before all that is read, nothing else is known */
	if (slice->batch) {
		row->deep = begins_deep(w, slice->event);
		row_add_fields(row, slice->batch, slice->event);
	} else if ((begin = row_carry_get(&w->carry, slice->track, slice->depth, slice->name))) {
		row->deep = begin->deep;
		row->cpu = begin->cpu;
		row->present = begin->present;
		memcpy(row->field, begin->field, sizeof row->field);
		row->metadata = begin->metadata;
	}
	if (row->has_end)
		row_add_fields(row, w->batch, slice->end_event);
	row->present |= BIT(FIELD_DEPTH);
}

static int emit_scope_exit(struct walk *w, struct row *row, const struct trace_slice *slice)
{
	row->type = "scope_exit";
	row->present = BIT(FIELD_DEPTH);
	if (row->has_end) {
		row->cpu = w->batch->cpu[slice->end_event];
		row_add_fields(row, w->batch, slice->end_event);
	}
	if (row->has_end ? !in_window(w, row->end_ns) : !(row->flags & ROW_UNFINISHED))
		return 0;
	return emit(w, row);
}

static int emit_slice(struct walk *w, const struct trace_slice *slice)
{
	bool ended = !(slice->flags & SLICE_UNFINISHED);
	struct row row = { .kind = slice->kind,
				.event_phase = PHASE_COMPLETE,
				.parent_kind = slice->parent_kind,
				.paired = true,
				.domain = w->batch->domain,
				.has_start = true,
				.has_end = ended,
				.track = slice->track,
				.name = slice->name,
				.start_ns = since_start(w, slice->begin),
				.cpu = slice->cpu,
				.depth = slice->depth };

	row.end_ns = since_start(w, slice->end);
	if (!ended)
		row.flags |= w->at_end && w->cut_short ? ROW_CONTINUES : ROW_UNFINISHED;
	if (slice->flags & SLICE_BEGIN_LOST)
		row.flags |= ROW_BEGIN_LOST;
	if (slice->flags & SLICE_GOES_ON)
		row.flags |= ROW_GOES_ON;
	if (row.kind == EVENT_NONE && ended)
		row.kind = w->batch->kind[slice->end_event]; /* the begin was lost, and its kind with it */
	if (is_split(w, row.kind))
		return emit_scope_exit(w, &row, slice);
	row.type = type_name(row.kind);
	add_slice_fields(w, &row, slice);
	return clip(w, &row) ? emit(w, &row) : 0;
}

/* Begins that are still waiting when their block goes. */
static int carry_begins(struct walk *w)
{
	const struct trace_batch *b = w->batch;
	struct row row;
	size_t s;
	uint32_t i;
	int rc = 0;

	for (s = 0; s < b->segment_count; s++) {
		for (i = b->segments[s].first; i < b->segments[s].first + b->segments[s].count && rc == 0; i++) {
			if (b->phase[i] != PHASE_BEGIN || is_split(w, b->kind[i]) || (w->marks[i] & MARK_CLOSED))
				continue;
			row = (struct row){ .track = b->segments[s].track,
						 .name = b->name[i],
						 .cpu = b->cpu[i],
						 .depth = b->depth[i],
						 .deep = begins_deep(w, i) };
			row_add_fields(&row, b, i);
			rc = row_carry_put(&w->carry, &row);
		}
	}
	return rc;
}

static int emit_records(struct walk *w)
{
	size_t i;
	int rc = 0;

	sort_records(w);
	for (i = 0; i < w->count && rc == 0; i++)
		rc = w->records[i].is_slice ? emit_slice(w, &w->records[i].slice) : emit_event(w, &w->records[i]);
	w->count = 0;
	return rc;
}

static int walk_events(struct walk *w, struct trace_pairing *pairing)
{
	int rc;

	w->marks = calloc(w->batch->count + 1, 1);
	if (!w->marks)
		return -ENOMEM;
	rc = trace_pairing_feed(pairing, w->batch, collect_slice, w);
	if (rc == 0)
		rc = collect_events(w);
	if (rc == 0)
		rc = emit_records(w);
	if (rc == 0)
		rc = carry_begins(w);
	free(w->marks);
	return rc;
}

/* Each block is paired by itself, from the open stacks it starts with: damage before it does no harm. */
static int walk_block(struct walk *w, const struct trace_batch *batch, bool last)
{
	struct trace_pairing *pairing;
	int rc = trace_pairing_new(&pairing);

	if (rc < 0)
		return rc;
	w->batch = batch;
	rc = walk_events(w, pairing);
	if (rc == 0 && last) {
		w->at_end = true;
		rc = trace_pairing_finish(pairing, batch->last_time, collect_open, w);
		if (rc == 0)
			rc = emit_records(w);
	}
	trace_pairing_free(pairing);
	return rc;
}

static int emit_enclosing(struct walk *w, const struct trace_slice *slice)
{
	struct row row = { .type = "scope_enter",
				.kind = EVENT_SCOPE,
				.has_start = true,
				.flags = ROW_ENCLOSING,
				.track = slice->track,
				.name = slice->name,
				.cpu = slice->cpu,
				.depth = slice->depth,
				.present = BIT(FIELD_DEPTH),
				.start_ns = since_start(w, slice->begin) };

	if (!is_split(w, slice->kind))
		return 0;
	if (slice->flags & SLICE_BEGIN_LOST)
		row.flags |= ROW_BEGIN_LOST;
	return emit(w, &row);
}

/* The scopes that are open where the window begins, before anything in it. */
static int walk_enclosing(struct walk *w, struct trace_batch *batch, size_t first, size_t end, int64_t from)
{
	struct trace_pairing *pairing;
	size_t i;
	int rc = trace_pairing_new(&pairing);

	w->batch = batch;
	for (i = first; i < end && rc == 0; i++) {
		if (i > first && trace_reader_block(w->reader, i)->first_time >= from)
			continue;
		if (trace_reader_decode(w->reader, i, batch, NULL) == 0)
			rc = trace_pairing_feed_until(pairing, batch, from);
	}
	if (rc == 0)
		rc = trace_pairing_finish(pairing, from, collect_open, w);
	trace_pairing_free(pairing);
	sort_records(w);
	for (i = 0; i < w->count && rc == 0; i++)
		rc = emit_enclosing(w, &w->records[i].slice);
	w->count = 0;
	return rc;
}

int row_walk(struct trace_reader *reader, const struct row_filter *filter, row_fn fn, void *arg,
	      uint64_t *ret_decoded, struct error *err)
{
	struct walk w = { .reader = reader, .filter = filter, .fn = fn, .arg = arg };
	struct trace_batch batch = TRACE_BATCH_INIT;
	size_t i, first = 0, end = trace_reader_block_count(reader);
	int64_t from;
	int rc = 0;

	*ret_decoded = 0;
	if (filter->windowed) {
		from = trace_reader_ticks_from_start_ns(reader, 0, filter->from_ns);
		trace_reader_window(reader, from, trace_reader_ticks_from_start_ns(reader, 0, filter->to_ns), &first,
				    &end);
		w.cut_short = end < trace_reader_block_count(reader);
		rc = walk_enclosing(&w, &batch, first, end, from);
	}
	for (i = first; i < end && rc == 0; i++) {
		if (trace_reader_decode(reader, i, &batch, NULL) < 0)
			continue; /* entered in the reader's report */
		++*ret_decoded;
		w.block = i;
		rc = walk_block(&w, &batch, i + 1 == end);
		if (filter->progress)
			filter->progress(filter->progress_arg, i + 1 - first, end - first);
	}
	if (rc == -ENOMEM)
		error_errno(err, rc, "cannot go on reading");
	trace_batch_release(&batch);
	row_carry_release(&w.carry);
	free(w.records);
	return rc;
}
