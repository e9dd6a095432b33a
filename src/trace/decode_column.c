/*
 * decode_column.c - see decode_column.h.
 *
 * Packed values are read by loads of eight bytes, masked by their code, with
 * one check of the total length in front instead of one a value.
 */
#include "trace/decode_column.h"

#include <errno.h>

#include "base/varint.h"
#include "trace/format.h"

static const uint64_t code_mask[4] = { 0xff, 0xffff, 0xffffffff, UINT64_MAX };

bool column_is_integral(const struct column *c)
{
	return c->data && c->encoding <= SBT_RUNS;
}

bool column_can_hold(const struct column *c, uint64_t count)
{
	switch (c->encoding) {
	case SBT_BYTES:
		return c->size == count;
	case SBT_PACKED:
	case SBT_PACKED_SIGNED:
	case SBT_PACKED_DELTA:
		return c->size >= count + (count + 3) / 4;
	case SBT_DOUBLE:
		return c->size / 8 >= count && c->size == 8 * count;
	case SBT_BLOBS:
		return c->size >= count;
	default:
		return true;
	}
}

static void read_bytes(const uint8_t *data, uint64_t *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = data[i];
}

static void read_doubles(const uint8_t *data, uint64_t *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = get64(data + 8 * i);
}

/* Length of the data that a control byte stands for. */
static unsigned control_length(unsigned control)
{
	return (1u << (control & 3)) + (1u << (control >> 2 & 3)) + (1u << (control >> 4 & 3)) + (1u << (control >> 6));
}

/* Bytes of data that the control bytes ask for, or -1 if unused codes are not 0. */
static int64_t packed_length(const uint8_t *control, size_t count)
{
	size_t full = (count + 3) / 4, unused = 4 * full - count;
	int64_t length = -(int64_t)unused;

	if (unused && control[full - 1] >> (8 - 2 * unused))
		return -1;
	for (size_t i = 0; i < full; i++)
		length += control_length(control[i]);
	return length;
}

static int read_packed(const struct column *c, uint64_t *out, size_t count)
{
	size_t head = (count + 3) / 4, i;
	const uint8_t *control = c->data, *at = c->data + head;

	if (c->size < head || packed_length(control, count) != (int64_t)(c->size - head))
		return -EBADMSG;
	for (i = 0; i + 4 <= count; i += 4) {
		unsigned codes = *control++;

		out[i] = get64(at) & code_mask[codes & 3];
		at += (size_t)1 << (codes & 3);
		out[i + 1] = get64(at) & code_mask[codes >> 2 & 3];
		at += (size_t)1 << (codes >> 2 & 3);
		out[i + 2] = get64(at) & code_mask[codes >> 4 & 3];
		at += (size_t)1 << (codes >> 4 & 3);
		out[i + 3] = get64(at) & code_mask[codes >> 6];
		at += (size_t)1 << (codes >> 6);
	}
	for (unsigned codes = i < count ? *control : 0; i < count; i++, codes >>= 2) {
		out[i] = get64(at) & code_mask[codes & 3];
		at += (size_t)1 << (codes & 3);
	}
	return 0;
}

static int read_signed(const struct column *c, uint64_t *out, size_t count)
{
	int rc = read_packed(c, out, count);

	for (size_t i = 0; rc == 0 && i < count; i++)
		out[i] = (uint64_t)zigzag_decode(out[i]);
	return rc;
}

/* The length of the next run; 0 when it does not fit. */
static uint64_t next_run(struct cursor *in, size_t room, uint64_t *ret_value)
{
	uint64_t value = cursor_uv(in), length = cursor_uv(in);

	*ret_value = value;
	return in->bad || length > room ? 0 : length;
}

static int read_runs(const struct column *c, uint64_t *out, size_t count)
{
	struct cursor in = cursor_of(c->data, c->size);
	uint64_t value, length;

	for (size_t i = 0; i < count; i += length) {
		length = next_run(&in, count - i, &value);
		if (length == 0)
			return -EBADMSG;
		for (uint64_t k = 0; k < length; k++)
			out[i + k] = value;
	}
	return cursor_left(&in) ? -EBADMSG : 0;
}

int column_short_runs(const struct column *c, uint16_t *out, size_t count)
{
	struct cursor in = cursor_of(c->data, c->size);
	uint64_t value, length;

	for (size_t i = 0; i < count; i += length) {
		length = next_run(&in, count - i, &value);
		if (length == 0)
			return -EBADMSG;
		value = value > UINT16_MAX ? UINT16_MAX : value;
		for (uint64_t k = 0; k < length; k++)
			out[i + k] = (uint16_t)value;
	}
	return cursor_left(&in) ? -EBADMSG : 0;
}

int column_numbers(const struct column *c, uint64_t *out, size_t count)
{
	if (!column_can_hold(c, count))
		return -EBADMSG;
	switch (c->encoding) {
	case SBT_BYTES:
		read_bytes(c->data, out, count);
		return 0;
	case SBT_PACKED:
		return read_packed(c, out, count);
	case SBT_PACKED_SIGNED:
	case SBT_PACKED_DELTA:
		return read_signed(c, out, count);
	case SBT_RUNS:
		return read_runs(c, out, count);
	case SBT_DOUBLE:
		read_doubles(c->data, out, count);
		return 0;
	default:
		return -EBADMSG;
	}
}
