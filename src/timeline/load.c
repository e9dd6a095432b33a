/* load.c - blocks become columns, a slice a row, in the order in which they end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/build.h"
#include "trace/pairing.h"

struct load {
	struct builder *b;
	const struct trace_batch *batch; /* at hand; NULL when all blocks are read */
	size_t *fed; /* blocks in the order in which they were fed to the pairing; NULL unless origins are wanted */
	size_t fed_count, fed_capacity;
};

/* The columns grow together: all have room for slice_capacity. */
static int reserve_slice(struct builder *b)
{
	struct timeline *t = b->t;
	size_t want = (size_t)t->slice_count + 1, capacity = b->slice_capacity;
	size_t same[8] = { capacity, capacity, capacity, capacity, capacity, capacity, capacity, capacity };

	if (want <= capacity)
		return 0;
	if (t->slice_count >= TIMELINE_NONE - 1)
		return -E2BIG;
	if (ROOM_FOR(t->begin, same[0], want) < 0 || ROOM_FOR(t->end, same[1], want) < 0 ||
	    ROOM_FOR(t->name, same[2], want) < 0 || ROOM_FOR(t->detail, same[3], want) < 0 ||
	    ROOM_FOR(b->track, same[4], want) < 0 || ROOM_FOR(t->kind, same[5], want) < 0 ||
	    ROOM_FOR(t->flags, same[6], want) < 0 || (b->origins && ROOM_FOR(t->origin, same[7], want) < 0) ||
	    ROOM_FOR(t->depth, capacity, want) < 0)
		return -ENOMEM;
	b->slice_capacity = capacity;
	return 0;
}

static uint8_t flags_of(const struct trace_slice *slice)
{
	return (uint8_t)((slice->flags & SLICE_UNFINISHED ? SLICE_OPEN : 0) |
			 (slice->flags & SLICE_BEGIN_LOST ? SLICE_BEGIN_UNKNOWN : 0) |
			 (slice->flags & SLICE_GOES_ON ? SLICE_CONTINUES : 0));
}

/* A slice that never ended lasts as long as anything of its clock. */
static int64_t end_of(const struct load *load, const struct trace_slice *slice, uint32_t domain)
{
	const struct domain_span *span = domain < TRACE_DOMAIN_MAX ? &load->b->domains[domain] : NULL;

	return load->batch || !span ? clocks_ns(load->b, domain, slice->end) : time_add(span->last, span->shift);
}

static uint64_t origin_of(const struct load *load, const struct trace_slice *slice)
{
	if (slice->feed == 0 || slice->feed > load->fed_count)
		return TIMELINE_NO_ORIGIN;
	return (uint64_t)load->fed[slice->feed - 1] << TIMELINE_ORIGIN_BITS | slice->feed_event;
}

static int collective_of(struct builder *b, const struct trace_slice *slice, uint32_t row)
{
	const struct trace_blob *metadata = slice->batch && slice->batch->metadata ? &slice->batch->metadata[slice->event] : NULL;

	if (!timeline_is_device_work(slice->kind) || ((!metadata || !metadata->size) && slice->kind != EVENT_COLLECTIVE))
		return 0;
	return collectives_take(b, row, metadata ? metadata->data : NULL, metadata ? metadata->size : 0);
}

static int take_slice(void *arg, const struct trace_slice *slice)
{
	struct load *load = arg;
	struct builder *b = load->b;
	struct timeline *t = b->t;
	uint32_t domain = load->batch ? load->batch->domain : b->track_domain[slice->track], row = t->slice_count;
	int rc;

	if (slice->kind == EVENT_LOST || slice->kind == EVENT_CLOCK_PAIR)
		return 0;
	if (looks_are_on(b, slice->track))
		return looks_take_slice(b, slice, domain);
	rc = reserve_slice(b);
	if (rc == 0)
		rc = details_of(b, load->batch, slice, &t->detail[row]);
	if (rc < 0)
		return rc;
	if (t->origin)
		t->origin[row] = origin_of(load, slice);
	t->begin[row] = clocks_ns(b, domain, slice->begin);
	t->end[row] = end_of(load, slice, domain);
	if (t->end[row] < t->begin[row])
		t->end[row] = t->begin[row];
	t->name[row] = slice->name;
	t->depth[row] = slice->depth;
	t->kind[row] = slice->kind;
	t->flags[row] = flags_of(slice);
	b->track[row] = slice->track;
	t->slice_count++;
	return collective_of(b, slice, row);
}

/* ---- Events that are not slices ---- */

static int take_point(struct builder *b, const struct trace_batch *batch, uint32_t track, uint32_t i)
{
	struct timeline *t = b->t;

	if (t->point_count >= TIMELINE_NONE - 1)
		return -E2BIG;
	if (ROOM_FOR(t->points, b->point_capacity, t->point_count + 1) < 0)
		return -ENOMEM;
	t->points[t->point_count++] = (struct timeline_point){
		.time = clocks_ns(b, batch->domain, batch->time[i]),
		.value = counter_value(batch, i),
		.pointer = batch->field[FIELD_POINTER] ? batch->field[FIELD_POINTER][i] : 0,
		.track = track,
		.name = batch->name[i],
		.kind = batch->kind[i],
	};
	return 0;
}

static int take_flow(struct builder *b, const struct trace_batch *batch, uint32_t track, uint32_t i)
{
	if (b->flow_count >= TIMELINE_NONE - 1)
		return -E2BIG;
	if (ROOM_FOR(b->flows, b->flow_capacity, b->flow_count + 1) < 0)
		return -ENOMEM;
	b->flows[b->flow_count++] = (struct flow_point){
		.time = clocks_ns(b, batch->domain, batch->time[i]),
		.id = batch->field[FIELD_FLOW] ? batch->field[FIELD_FLOW][i] : 0,
		.track = track,
		.name = batch->name[i],
		.domain = (uint16_t)batch->domain,
		.arrives = batch->phase[i] == PHASE_FLOW_IN,
	};
	return 0;
}

static void count_lost(struct timeline *t, const struct trace_batch *batch, uint32_t i)
{
	uint64_t reason = batch->field[FIELD_REASON] ? batch->field[FIELD_REASON][i] : 0;

	if (!batch->field[FIELD_COUNT])
		return;
	t->lost_by_reason[reason < LOST_REASON_COUNT ? reason : 0] += batch->field[FIELD_COUNT][i];
	if (reason != LOST_NAMES)
		t->lost += batch->field[FIELD_COUNT][i];
}

static int take_event(struct builder *b, const struct trace_batch *batch, uint32_t track, uint32_t i)
{
	uint8_t kind = batch->kind[i];

	if (kind == EVENT_LOST)
		count_lost(b->t, batch, i);
	if (kind == EVENT_CLOCK_PAIR)
		return pairs_take(b, batch, track, i);
	if (kind == EVENT_LOST)
		return 0;
	switch (batch->phase[i]) {
	case PHASE_INSTANT:
		return take_point(b, batch, track, i);
	case PHASE_ASYNC_BEGIN:
		return ranges_begin(b, batch, track, i);
	case PHASE_ASYNC_END:
		return ranges_end(b, batch, track, i);
	case PHASE_FLOW_OUT:
	case PHASE_FLOW_IN:
		return take_flow(b, batch, track, i);
	default:
		return 0;
	}
}

/* ---- Blocks ---- */

/* Also tracks that have no events have their place. */
static int reach_tracks(struct builder *b, size_t count)
{
	size_t before = b->track_limit;

	if (ROOM_FOR(b->track_domain, b->track_limit, count) < 0)
		return -ENOMEM;
	for (size_t i = before; i < b->track_limit; i++)
		b->track_domain[i] = UINT16_MAX;
	return 0;
}

static int note_domain(struct builder *b, uint32_t track, uint32_t domain)
{
	if (reach_tracks(b, (size_t)track + 1) < 0)
		return -ENOMEM;
	b->track_domain[track] = domain < TRACE_DOMAIN_MAX ? (uint16_t)domain : UINT16_MAX;
	if (b->t->track_count <= track)
		b->t->track_count = track + 1;
	return 0;
}

static int note_tracks(struct builder *b, const struct trace_batch *batch)
{
	int rc = 0;

	for (size_t i = 0; i < batch->segment_count && rc == 0; i++)
		rc = note_domain(b, batch->segments[i].track, batch->domain);
	for (size_t i = 0; i < batch->open_count && rc == 0; i++)
		rc = note_domain(b, batch->open[i].track, batch->domain);
	return rc;
}

static int take_batch(struct load *load, struct trace_pairing *pairing, const struct trace_batch *batch)
{
	struct builder *b = load->b;
	int rc = note_tracks(b, batch);

	load->batch = batch;
	for (size_t k = 0; k < batch->segment_count && rc == 0; k++) {
		const struct trace_segment *s = &batch->segments[k];

		bool look = looks_are_on(b, s->track);

		for (uint32_t i = s->first; i < s->first + s->count && rc == 0; i++)
			rc = look ? looks_take_event(b, batch, s->track, i) : take_event(b, batch, s->track, i);
	}
	if (rc == 0)
		rc = details_begin_batch(b, batch);
	if (rc == 0)
		rc = trace_pairing_feed(pairing, batch, take_slice, load);
	if (rc == 0)
		rc = details_end_batch(b, batch);
	b->t->events += batch->count;
	return rc;
}

static int note_fed(struct load *load, size_t block)
{
	if (!load->b->origins)
		return 0;
	if (ROOM_FOR(load->fed, load->fed_capacity, load->fed_count + 1) < 0)
		return -ENOMEM;
	load->fed[load->fed_count++] = block;
	return 0;
}

/* Blocks that cannot be read are in the reader's report; the others still count. */
static int read_blocks(struct load *load, struct trace_pairing *pairing, const struct timeline_options *options)
{
	struct trace_reader *r = load->b->reader;
	struct trace_batch batch = TRACE_BATCH_INIT;
	size_t first = 0, count = trace_reader_block_count(r);
	int rc = reach_tracks(load->b, trace_reader_track_count(r));

	if (options && options->windowed)
		trace_reader_window(r, trace_reader_ticks_from_start_ns(r, 0, options->from_ns),
				    trace_reader_ticks_from_start_ns(r, 0, options->to_ns), &first, &count);
	for (size_t i = first; i < count && rc == 0; i++) {
		struct error damage;
		int decoded = trace_reader_decode(r, i, &batch, &damage);

		if (decoded == -ENOMEM)
			rc = decoded;
		else if (decoded == 0)
			rc = note_fed(load, i);
		if (rc == 0 && decoded == 0)
			rc = take_batch(load, pairing, &batch);
		if (options && options->progress && i % 16 == 0)
			options->progress(options->progress_arg, i - first, count - first);
		if (rc == 0 && options && options->stop && i % 16 == 0 && options->stop(options->stop_arg))
			rc = -ECANCELED;
	}
	if (rc == 0 && options && options->progress)
		options->progress(options->progress_arg, count - first, count - first);
	load->batch = NULL;
	trace_batch_release(&batch);
	return rc;
}

static void trim(struct builder *b)
{
	struct timeline *t = b->t;

	ROOM_TRIM(t->begin, t->slice_count);
	ROOM_TRIM(t->end, t->slice_count);
	ROOM_TRIM(t->name, t->slice_count);
	ROOM_TRIM(t->detail, t->slice_count);
	ROOM_TRIM(t->kind, t->slice_count);
	ROOM_TRIM(t->flags, t->slice_count);
	if (t->origin)
		ROOM_TRIM(t->origin, t->slice_count);
	ROOM_TRIM(t->depth, t->slice_count);
	ROOM_TRIM(b->track, t->slice_count);
	ROOM_TRIM(t->details, t->detail_count);
	ROOM_TRIM(t->points, t->point_count);
	ROOM_TRIM(t->looks, t->look_count);
	ROOM_TRIM(t->collectives, t->collective_count);
}

int load_blocks(struct builder *b, const struct timeline_options *options, struct error *err)
{
	struct load load = { .b = b };
	struct trace_pairing *pairing;
	int rc = trace_pairing_new(&pairing);

	b->origins = options && options->origins;
	if (rc == 0)
		rc = reserve_slice(b); /* columns are never NULL */
	if (rc == 0)
		rc = read_blocks(&load, pairing, options);
	if (rc == 0)
		rc = trace_pairing_finish(pairing, INT64_MAX, take_slice, &load);
	trace_pairing_free(pairing);
	free(load.fed);
	ranges_finish(b);
	details_release(b);
	ranges_release(b);
	trim(b);
	if (rc == -E2BIG)
		return error_set(err, rc, "the trace has more than four thousand million events of one sort");
	return rc < 0 ? error_errno(err, rc, "cannot read the events") : 0;
}
