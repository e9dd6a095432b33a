/*
 * encode_payload.c - writes the columns of a block as docs/sbt-format.md,
 * sections 3.2 to 3.4, lays them out.
 */
#include "trace/encode.h"

#include "trace/encode_state.h"

static int append_u8(struct buffer *out, uint8_t value)
{
	return buffer_append(out, &value, 1);
}

static int append_shapes(const struct encoder *e, struct buffer *out)
{
	int rc = buffer_append_uv(out, e->shape_count);

	for (uint32_t i = 0; rc == 0 && i < e->shape_count; i++) {
		rc = append_u8(out, e->shapes[i].kind);
		rc = rc ? rc : append_u8(out, e->shapes[i].phase);
		rc = rc ? rc : buffer_append_uv(out, e->shapes[i].mask);
	}
	return rc;
}

/* Differences wrap: times come from outside. */
static int append_difference(struct buffer *out, int64_t time, int64_t from)
{
	return buffer_append_sv(out, (int64_t)((uint64_t)time - (uint64_t)from));
}

static int append_segments(const struct encoder *e, struct buffer *out)
{
	const struct segment *segments = (const struct segment *)e->segments.data;
	size_t count = e->segments.size / sizeof *segments;
	int rc = buffer_append_uv(out, count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = buffer_append_uv(out, segments[i].track);
		rc = rc ? rc : buffer_append_uv(out, segments[i].count);
		rc = rc ? rc : buffer_append_uv(out, segments[i].source_index);
		rc = rc ? rc : append_difference(out, segments[i].base, e->sum.first_time);
	}
	return rc;
}

static int append_open(const struct encoder *e, struct buffer *out)
{
	const uint8_t *at = e->open.data;
	int rc = buffer_append_uv(out, e->open_tracks);

	for (size_t i = 0; rc == 0 && i < e->open_tracks; i++) {
		uint32_t head[2];
		struct open_slice slice;

		memcpy(head, at, sizeof head);
		at += sizeof head;
		rc = buffer_append_uv(out, head[0]);
		rc = rc ? rc : buffer_append_uv(out, head[1]);
		for (uint32_t d = 0; rc == 0 && d < head[1]; d++, at += sizeof slice) {
			memcpy(&slice, at, sizeof slice);
			rc = append_u8(out, slice.kind);
			rc = rc ? rc : buffer_append_uv(out, slice.name);
			rc = rc ? rc : append_difference(out, slice.begin, e->sum.first_time);
		}
	}
	return rc;
}

static int append_column(struct buffer *out, uint8_t field, uint8_t encoding, const struct buffer *content)
{
	int rc = append_u8(out, field);

	rc = rc ? rc : append_u8(out, encoding);
	rc = rc ? rc : buffer_append_uv(out, content->size);
	return rc ? rc : buffer_append(out, content->data, content->size);
}

static int append_shape_ids(struct encoder *e, struct buffer *out)
{
	if (e->shape_count <= 1)
		return 0;
	packer_clear(&e->scratch);
	if (e->shape_count <= UINT8_MAX + 1u) {
		for (uint32_t i = 0; i < e->sum.count; i++)
			e->scratch.data[i] = (uint8_t)e->shape_ids[i];
		e->scratch.size = e->scratch.count = e->sum.count;
	} else {
		for (uint32_t i = 0; i < e->sum.count; i++)
			packer_put(&e->scratch, e->shape_ids[i]);
	}
	return packer_finish(&e->scratch, FIELD_SHAPE, SBT_PACKED, out);
}

static int append_cpus(struct encoder *e, struct buffer *out)
{
	int rc = 0;

	if (e->cpu_run) {
		rc = buffer_append_uv(&e->cpus, e->cpu);
		rc = rc ? rc : buffer_append_uv(&e->cpus, e->cpu_run);
	}
	return rc || e->cpus.size == 0 ? rc : append_column(out, FIELD_CPU, SBT_RUNS, &e->cpus);
}

static int append_blobs(const struct encoder *e, struct buffer *out)
{
	int rc = append_u8(out, FIELD_METADATA);

	rc = rc ? rc : append_u8(out, SBT_BLOBS);
	rc = rc ? rc : buffer_append_uv(out, e->blob_sizes.size + e->blobs.size);
	rc = rc ? rc : buffer_append(out, e->blob_sizes.data, e->blob_sizes.size);
	return rc ? rc : buffer_append(out, e->blobs.data, e->blobs.size);
}

static int append_numbers(struct encoder *e, unsigned field, struct buffer *out)
{
	uint8_t encoding = BIT(field) & DELTA_FIELDS ? SBT_PACKED_DELTA : field == FIELD_INTEGER ? SBT_PACKED_SIGNED : SBT_PACKED;

	return packer_finish(&e->columns[field], (uint8_t)field, encoding, out);
}

static bool has_depths(const struct encoder *e)
{
	for (uint32_t i = 0; i < e->shape_count; i++)
		if (e->shapes[i].mask & BIT(FIELD_DEPTH))
			return true;
	return false;
}

static int append_columns(struct encoder *e, struct buffer *out)
{
	int rc = append_shape_ids(e, out);

	if (rc == 0 && e->sum.count)
		rc = packer_finish(&e->times, FIELD_TIME, SBT_PACKED_DELTA, out);
	if (rc == 0 && e->names.count)
		rc = packer_finish(&e->names, FIELD_NAME, SBT_PACKED, out);
	if (rc == 0)
		rc = append_cpus(e, out);
	if (rc == 0 && has_depths(e))
		rc = append_column(out, FIELD_DEPTH, SBT_DEPTH, &e->depths);
	if (rc == 0 && e->doubles.size)
		rc = append_column(out, FIELD_VALUE, SBT_DOUBLE, &e->doubles);
	for (unsigned field = FIELD_DURATION; rc == 0 && field < FIELD_LIMIT; field++)
		if (e->columns[field].count)
			rc = append_numbers(e, field, out);
	return rc || e->blob_sizes.size == 0 ? rc : append_blobs(e, out);
}

int encoder_finish(struct encoder *e, struct buffer *payload, struct encode_summary *ret)
{
	int rc;

	if (e->sum.count == 0)
		e->sum.first_time = e->sum.last_time = e->last_time;
	rc = append_shapes(e, payload);
	rc = rc ? rc : append_segments(e, payload);
	rc = rc ? rc : append_open(e, payload);
	rc = rc ? rc : append_columns(e, payload);
	if (rc == 0)
		*ret = e->sum;
	return rc;
}
