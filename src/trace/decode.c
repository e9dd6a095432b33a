/*
 * decode.c - see decode.h.
 *
 * First the tables at the front of the payload (decode_front.c); then, with
 * all counts known to be possible, memory for the arrays; then one column
 * after the other.  Which events have a value is looked up by shape, so that
 * no branch depends on the mixture of events.
 */
#include "trace/decode.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/decode_state.h"

/* ---- Memory ---- */

void trace_batch_release(struct trace_batch *batch)
{
	struct trace_batch_memory *m = batch->memory;

	if (m) {
		ZSTD_freeDCtx(m->zstd);
		buffer_release(&m->raw);
		buffer_release(&m->arrays);
		buffer_release(&m->shapes);
		buffer_release(&m->segments);
		buffer_release(&m->open);
		buffer_release(&m->dense);
		buffer_release(&m->depths);
		free(m);
	}
	*batch = (struct trace_batch)TRACE_BATCH_INIT;
}

static int prepare_memory(struct trace_batch *batch)
{
	struct trace_batch_memory *m = batch->memory ? batch->memory : calloc(1, sizeof *m);

	if (!m)
		return -ENOMEM;
	if (!m->zstd)
		m->zstd = ZSTD_createDCtx();
	*batch = (struct trace_batch){ .memory = m };
	return m->zstd ? 0 : -ENOMEM;
}

/* A piece of memory that is handed out from the front; without a base it only counts. */
struct arena {
	uint8_t *base;
	size_t used;
};

static void *carve(struct arena *a, size_t count, size_t size)
{
	uint8_t *array = a->base ? a->base + a->used : NULL;

	a->used += (count * size + 63) & ~(size_t)63;
	return array;
}

static bool is_plain_field(unsigned field)
{
	return field >= FIELD_DURATION && field != FIELD_METADATA;
}

static void lay_out(struct decoder *d, struct arena *a)
{
	struct trace_batch *b = d->batch;
	size_t n = b->count;

	b->time = carve(a, n, sizeof *b->time);
	b->present = carve(a, n, sizeof *b->present);
	b->name = carve(a, n, sizeof *b->name);
	b->cpu = carve(a, n, sizeof *b->cpu);
	b->depth = carve(a, n, sizeof *b->depth);
	b->kind = carve(a, n, 1);
	b->phase = carve(a, n, 1);
	d->shape = carve(a, n, sizeof *d->shape);
	d->has = carve(a, d->shape_count, 1);
	d->motions = carve(a, d->shape_count, sizeof *d->motions);
	for (unsigned f = 0; f < FIELD_LIMIT; f++)
		b->field[f] = is_plain_field(f) && (d->fields | d->ones) & BIT(f) ? carve(a, n, sizeof **b->field) : NULL;
	b->metadata = d->fields & BIT(FIELD_METADATA) ? carve(a, n, sizeof *b->metadata) : NULL;
}

static int make_arrays(struct decoder *d)
{
	struct arena arena = { 0 };

	lay_out(d, &arena);
	arena.base = room(&d->memory->arrays, arena.used);
	arena.used = 0;
	d->dense = room(&d->memory->dense, ((size_t)d->batch->count + 1) * sizeof *d->dense);
	d->depths = room(&d->memory->depths, d->depth_count * sizeof *d->depths);
	if (!arena.base || !d->dense || !d->depths)
		return -ENOMEM;
	lay_out(d, &arena);
	return 0;
}

/* ---- Columns ---- */

/* Differences to values, beginning anew in each segment. */
static void accumulate(struct decoder *d)
{
	const struct trace_batch *b = d->batch;
	size_t k = 0;

	for (size_t s = 0; s < b->segment_count; s++) {
		uint32_t end = b->segments[s].first + b->segments[s].count;
		uint64_t value = 0;

		for (uint32_t i = b->segments[s].first; i < end; i++) {
			if (!d->has[d->shape[i]])
				continue;
			value += d->dense[k];
			d->dense[k++] = value;
		}
	}
}

static int decode_shapes(struct decoder *d)
{
	struct trace_batch *b = d->batch;
	uint16_t largest = 0;

	if (!d->columns[FIELD_SHAPE].data) {
		memset(d->shape, 0, b->count * sizeof *d->shape);
	} else if (d->columns[FIELD_SHAPE].encoding == SBT_BYTES) {
		for (uint32_t i = 0; i < b->count; i++)
			d->shape[i] = d->columns[FIELD_SHAPE].data[i];
	} else {
		if (column_numbers(&d->columns[FIELD_SHAPE], d->dense, b->count))
			return bad(d, "malformed column of shapes");
		if (d->columns[FIELD_SHAPE].encoding == SBT_PACKED_DELTA) {
			memset(d->shape, 0, b->count * sizeof *d->shape);
			d->has[0] = 1; /* everybody has a shape */
			accumulate(d);
		}
		for (uint32_t i = 0; i < b->count; i++)
			d->shape[i] = d->dense[i] < d->shape_count ? (uint16_t)d->dense[i] : UINT16_MAX;
	}
	for (uint32_t i = 0; i < b->count; i++)
		largest = d->shape[i] > largest ? d->shape[i] : largest;
	return b->count && largest >= d->shape_count ? bad(d, "event of a shape that is not in the table") : 0;
}

static void decode_kinds(struct decoder *d)
{
	struct trace_batch *b = d->batch;
	const struct shape *shapes = d->shapes;

	for (uint32_t i = 0; i < b->count; i++) {
		const struct shape *s = &shapes[d->shape[i]];

		b->kind[i] = s->kind;
		b->phase[i] = s->phase;
		b->present[i] = s->mask | s->ones;
	}
}

static int decode_times(struct decoder *d)
{
	struct trace_batch *b = d->batch;
	const int64_t *bases = (const int64_t *)(b->segments + b->segment_count);

	if (column_numbers(&d->columns[FIELD_TIME], (uint64_t *)b->time, b->count))
		return bad(d, "malformed column of times");
	if (d->columns[FIELD_TIME].encoding != SBT_PACKED_DELTA)
		return 0;
	for (size_t s = 0; s < b->segment_count; s++) {
		uint64_t time = (uint64_t)b->first_time + (uint64_t)bases[s];
		uint32_t end = b->segments[s].first + b->segments[s].count;

		for (uint32_t i = b->segments[s].first; i < end; i++) {
			time += (uint64_t)b->time[i];
			b->time[i] = (int64_t)time;
		}
	}
	return 0;
}

/* Fills d->has for the field, and returns how many events have it. */
static size_t find_holders(struct decoder *d, unsigned field)
{
	size_t shapes = 0, events = 0;

	for (size_t i = 0; i < d->shape_count; i++)
		shapes += d->has[i] = d->shapes[i].mask >> field & 1;
	if (shapes == d->shape_count)
		return d->batch->count;
	for (uint32_t i = 0; i < d->batch->count; i++)
		events += d->has[d->shape[i]];
	return events;
}

/* The field's values to d->dense, one for each event that has it. */
static int decode_dense(struct decoder *d, unsigned field)
{
	const struct column *c = &d->columns[field];
	size_t count = find_holders(d, field);

	if (column_numbers(c, d->dense, count))
		return bad(d, "malformed column");
	if (c->encoding == SBT_PACKED_DELTA)
		accumulate(d);
	d->dense[count] = 0; /* read, but not used, once the last value is out */
	return 0;
}

static int decode_names(struct decoder *d)
{
	struct trace_batch *b = d->batch;
	uint64_t all = 0;
	size_t k = 0;

	if (!(d->fields & BIT(FIELD_NAME))) {
		memset(b->name, 0, b->count * sizeof *b->name);
		return 0;
	}
	if (decode_dense(d, FIELD_NAME))
		return -EBADMSG;
	for (uint32_t i = 0; i < b->count; i++) {
		uint8_t has = d->has[d->shape[i]];
		uint64_t value = d->dense[k] & -(uint64_t)has;

		b->name[i] = (uint32_t)value;
		all |= value;
		k += has;
	}
	return all > UINT32_MAX ? bad(d, "string number out of range") : 0;
}

/* For cpu and depth: numbers of 16 bits, and what stands for none. */
static int decode_short(struct decoder *d, unsigned field, uint16_t *out, uint16_t none)
{
	size_t k = 0;

	if (!(d->fields & BIT(field))) {
		for (uint32_t i = 0; i < d->batch->count; i++)
			out[i] = none;
		return 0;
	}
	/* nearly always: a thread's events all have a CPU, and it stays the same for long */
	if (d->columns[field].encoding == SBT_RUNS && find_holders(d, field) == d->batch->count)
		return column_short_runs(&d->columns[field], out, d->batch->count) ? bad(d, "malformed column") : 0;
	if (decode_dense(d, field))
		return -EBADMSG;
	for (uint32_t i = 0; i < d->batch->count; i++) {
		uint8_t has = d->has[d->shape[i]];
		uint64_t value = has ? d->dense[k] : none;

		out[i] = (uint16_t)(value > UINT16_MAX ? UINT16_MAX : value);
		k += has;
	}
	return 0;
}

static int decode_field(struct decoder *d, unsigned field)
{
	uint64_t *out = d->batch->field[field];
	size_t k = 0;

	if (decode_dense(d, field))
		return -EBADMSG;
	for (uint32_t i = 0; i < d->batch->count; i++) {
		uint8_t has = d->has[d->shape[i]];

		out[i] = d->dense[k] & -(uint64_t)has;
		k += has;
	}
	for (uint32_t i = 0; d->ones & BIT(field) && i < d->batch->count; i++)
		out[i] |= d->shapes[d->shape[i]].ones >> field & 1;
	return 0;
}

static int decode_metadata(struct decoder *d)
{
	const struct column *c = &d->columns[FIELD_METADATA];
	struct cursor in = cursor_of(c->data, c->size);
	size_t count = find_holders(d, FIELD_METADATA), k = 0;

	if (!column_can_hold(c, count))
		return bad(d, "malformed column of metadata");
	for (size_t i = 0; i < count; i++)
		d->dense[i] = cursor_uv(&in);
	for (uint32_t i = 0; i < d->batch->count; i++) {
		uint64_t size = 0;
		const uint8_t *data = NULL;

		if (d->has[d->shape[i]]) {
			size = d->dense[k++];
			data = cursor_bytes(&in, size);
		}
		d->batch->metadata[i] = (struct trace_blob){ data, (uint32_t)size };
	}
	return in.bad || cursor_left(&in) ? bad(d, "malformed column of metadata") : 0;
}

/* ---- All of it ---- */

static int decode_columns(struct decoder *d)
{
	struct trace_batch *b = d->batch;
	int rc = decode_shapes(d);

	if (rc)
		return rc;
	decode_kinds(d);
	rc = decode_times(d);
	rc = rc ? rc : decode_names(d);
	rc = rc ? rc : decode_short(d, FIELD_CPU, b->cpu, EVENT_CPU_UNKNOWN);
	if (rc == 0 && d->fields & BIT(FIELD_DEPTH) && d->columns[FIELD_DEPTH].encoding == SBT_DEPTH)
		rc = decode_depths(d);
	else
		rc = rc ? rc : decode_short(d, FIELD_DEPTH, b->depth, 0);
	for (unsigned f = 0; rc == 0 && f < FIELD_LIMIT; f++)
		if (b->field[f])
			rc = decode_field(d, f);
	if (rc == 0 && b->metadata)
		rc = decode_metadata(d);
	return rc;
}

int decode_events(struct trace_batch *batch, const struct sbt_block *block, const uint8_t *stored,
		  const char **ret_reason)
{
	struct decoder d = { .batch = batch };
	int rc = prepare_memory(batch);

	if (rc)
		return rc;
	d.memory = batch->memory;
	rc = decode_payload(d.memory->zstd, block, stored, &d.memory->raw, &d.reason);
	if (rc == 0) {
		d.in = cursor_of(d.memory->raw.data, d.memory->raw.size);
		batch->count = block->count;
		batch->domain = block->domain;
		batch->first_time = block->first_time;
		batch->last_time = block->last_time;
		batch->lost = block->lost;
		rc = decode_front(&d);
	}
	rc = rc ? rc : make_arrays(&d);
	rc = rc ? rc : decode_columns(&d);
	if (rc)
		*batch = (struct trace_batch){ .memory = d.memory };
	*ret_reason = d.reason;
	return rc;
}
