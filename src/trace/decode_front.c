/*
 * decode_front.c - decompresses a payload and reads what stands before the
 * columns: shapes, segments, open tracks, and where the columns are.
 */
#include <errno.h>

#include "trace/decode_state.h"

int decode_payload(ZSTD_DCtx *zstd, const struct sbt_block *block, const uint8_t *stored, struct buffer *out,
		   const char **ret_reason)
{
	size_t got = block->stored_size;

	if (block->codec > SBT_ZSTD) {
		*ret_reason = "unknown compression";
		return -ENOTSUP;
	}
	*ret_reason = "payload is larger than a block may be";
	if (block->raw_size > SBT_RAW_MAX)
		return -EBADMSG;
	if (!room(out, block->raw_size))
		return -ENOMEM;
	*ret_reason = "payload does not decompress to its stated size";
	if (block->codec == SBT_ZSTD)
		got = ZSTD_decompressDCtx(zstd, out->data, block->raw_size, stored, block->stored_size);
	if (got != block->raw_size)
		return -EBADMSG;
	if (block->codec == SBT_PLAIN)
		memcpy(out->data, stored, got);
	memset(out->data + got, 0, 8);
	out->size = got;
	return 0;
}

static int read_shapes(struct decoder *d)
{
	uint64_t count = cursor_uv(&d->in);

	if (count > SBT_SHAPES_MAX || count > cursor_left(&d->in) / 3)
		return bad(d, "impossible number of shapes");
	d->shapes = room(&d->memory->shapes, (count + 1) * sizeof *d->shapes);
	if (!d->shapes)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		d->shapes[i].kind = cursor_u8(&d->in);
		d->shapes[i].phase = cursor_u8(&d->in);
		d->shapes[i].mask = cursor_uv(&d->in);
	}
	d->shape_count = count;
	return 0;
}

static void widen_tracks(struct decoder *d, uint64_t track)
{
	d->depth_count = track >= d->depth_count ? track + 1 : d->depth_count;
}

static int read_segments(struct decoder *d)
{
	struct trace_batch *b = d->batch;
	uint64_t count = cursor_uv(&d->in), events = 0;

	if (count > cursor_left(&d->in) / 4)
		return bad(d, "impossible number of segments");
	/* time bases lie behind the segments, for decode_times() */
	b->segments = room(&d->memory->segments, count * (sizeof *b->segments + sizeof(int64_t)));
	if (!b->segments)
		return -ENOMEM;
	b->segment_count = count;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t track = cursor_uv(&d->in), size = cursor_uv(&d->in);

		if (track >= TRACE_TRACK_MAX || size > b->count - events)
			return bad(d, "impossible segment");
		b->segments[i] =
			(struct trace_segment){ (uint32_t)track, (uint32_t)events, (uint32_t)size, cursor_uv(&d->in) };
		((int64_t *)(b->segments + count))[i] = cursor_sv(&d->in);
		events += size;
		widen_tracks(d, track);
	}
	return events == b->count ? 0 : bad(d, "segments do not add up to the number of events");
}

static int read_open_track(struct decoder *d)
{
	struct trace_batch *b = d->batch;
	uint64_t track = cursor_uv(&d->in), depth = cursor_uv(&d->in);

	if (track >= TRACE_TRACK_MAX || depth > UINT16_MAX + 1u || depth > cursor_left(&d->in) / 3 ||
	    b->open_count + depth > SBT_OPEN_MAX)
		return bad(d, "impossible open track");
	if (buffer_reserve(&d->memory->open, depth * sizeof *b->open))
		return -ENOMEM;
	b->open = (struct trace_open_slice *)d->memory->open.data;
	for (uint64_t i = 0; i < depth; i++) {
		struct trace_open_slice *s = &b->open[b->open_count++];

		*s = (struct trace_open_slice){ .track = (uint32_t)track, .depth = (uint16_t)i };
		s->kind = cursor_u8(&d->in);
		s->name = (uint32_t)cursor_uv(&d->in);
		s->begin = (int64_t)((uint64_t)b->first_time + (uint64_t)cursor_sv(&d->in));
	}
	d->memory->open.size += depth * sizeof *b->open;
	widen_tracks(d, track);
	return 0;
}

static int read_open(struct decoder *d)
{
	uint64_t count = cursor_uv(&d->in);
	int rc = 0;

	buffer_clear(&d->memory->open);
	if (count > cursor_left(&d->in) / 2)
		return bad(d, "impossible number of open tracks");
	for (uint64_t i = 0; rc == 0 && i < count; i++)
		rc = read_open_track(d);
	return rc;
}

static int list_columns(struct decoder *d)
{
	while (cursor_left(&d->in)) {
		uint8_t field = cursor_u8(&d->in);
		struct column c = { .encoding = cursor_u8(&d->in) };

		c.size = cursor_uv(&d->in);
		c.data = cursor_bytes(&d->in, c.size);
		if (d->in.bad)
			break;
		if (field < FIELD_LIMIT && d->columns[field].data)
			return bad(d, "two columns of one field");
		if (field < FIELD_LIMIT)
			d->columns[field] = c;
	}
	return d->in.bad ? bad(d, "payload ends too early") : 0;
}

static bool encoding_suits(const struct column *c, unsigned field)
{
	if (field == FIELD_METADATA)
		return c->encoding == SBT_BLOBS;
	if (field == FIELD_VALUE)
		return c->encoding == SBT_DOUBLE;
	return column_is_integral(c) || (field == FIELD_DEPTH && c->encoding == SBT_DEPTH);
}

/* Of a grid or a block, what is not there beside x is 1. */
static uint64_t beside(uint64_t mask)
{
	return (mask & BIT(FIELD_GRID_X) ? BIT(FIELD_GRID_Y) | BIT(FIELD_GRID_Z) : 0) |
	       (mask & BIT(FIELD_BLOCK_X) ? BIT(FIELD_BLOCK_Y) | BIT(FIELD_BLOCK_Z) : 0);
}

/* A field without a column that can be decoded is a field that no event has. */
static void settle_fields(struct decoder *d)
{
	uint64_t known = BIT(FIELD_TIME);

	for (unsigned f = FIELD_SHAPE; f < FIELD_LIMIT; f++) {
		struct column *c = &d->columns[f];

		if (c->data && encoding_suits(c, f))
			known |= BIT(f);
		else
			c->data = NULL;
	}
	for (size_t i = 0; i < d->shape_count; i++) {
		struct shape *s = &d->shapes[i];
		uint64_t told = s->mask;

		s->mask = (told & known & ~BIT(FIELD_SHAPE)) | BIT(FIELD_TIME);
		s->ones = beside(s->mask) & ~told;
		d->fields |= s->mask;
		d->ones |= s->ones;
	}
}

static int check_counts(struct decoder *d)
{
	const struct column *shape = &d->columns[FIELD_SHAPE], *time = &d->columns[FIELD_TIME];
	uint64_t count = d->batch->count;

	if (count == 0)
		return 0;
	if (d->shape_count == 0 || (d->shape_count > 1 && !shape->data))
		return bad(d, "events without shapes");
	if (!time->data)
		return bad(d, "events without times");
	if (!column_can_hold(time, count) || (shape->data && !column_can_hold(shape, count)))
		return bad(d, "columns are shorter than the number of events");
	return 0;
}

int decode_front(struct decoder *d)
{
	uint32_t count = d->batch->count;
	int rc = count > SBT_EVENTS_MAX || count > cursor_left(&d->in) ? bad(d, "more events than a block may have")
								       : read_shapes(d);

	rc = rc ? rc : read_segments(d);
	rc = rc ? rc : read_open(d);
	if (rc == 0 && d->in.bad)
		rc = bad(d, "payload ends too early");
	rc = rc ? rc : list_columns(d);
	if (rc == 0)
		settle_fields(d);
	return rc ? rc : check_counts(d);
}
