/* protobuf.c - see protobuf.h. */
#include "import/protobuf.h"

#include <errno.h>

enum { PB_GROUP = 3, PB_GROUP_END = 4 };

static uint64_t fixed(struct cursor *c, size_t size)
{
	const uint8_t *data = cursor_bytes(c, size);
	uint64_t value = 0;

	for (size_t i = 0; data && i < size; i++)
		value |= (uint64_t)data[i] << 8 * i;
	return value;
}

/* Most numbers are of one byte. */
static inline uint64_t varint(struct cursor *c)
{
	return c->at < c->end && *c->at < 128 ? *c->at++ : cursor_uv(c);
}

static inline int read_tag(struct cursor *c, struct pb_field *ret)
{
	uint64_t tag = varint(c);

	if (c->bad || tag >> 3 == 0 || tag > UINT32_MAX)
		return -EBADMSG;
	*ret = (struct pb_field){ .number = (uint32_t)(tag >> 3), .wire = tag & 7 };
	return 0;
}

static inline int read_value(struct cursor *c, struct pb_field *f)
{
	switch (f->wire) {
	case PB_VARINT:
		f->value = varint(c);
		break;
	case PB_FIXED64:
		f->value = fixed(c, 8);
		break;
	case PB_FIXED32:
		f->value = fixed(c, 4);
		break;
	case PB_BYTES: {
		uint64_t size = varint(c);

		f->data = cursor_bytes(c, size);
		f->size = c->bad ? 0 : (size_t)size;
		break;
	}
	default:
		return -EBADMSG;
	}
	return c->bad ? -EBADMSG : 0;
}

/* After the start of a group: up to its end. */
static int skip_group(struct cursor *c)
{
	for (unsigned depth = 1; depth;) {
		struct pb_field f;

		if (read_tag(c, &f))
			return -EBADMSG;
		if (f.wire == PB_GROUP && ++depth > PB_GROUP_DEPTH_MAX)
			return -EBADMSG;
		if (f.wire == PB_GROUP_END)
			depth--;
		else if (f.wire != PB_GROUP && read_value(c, &f))
			return -EBADMSG;
	}
	return 0;
}

int pb_next(struct cursor *c, struct pb_field *ret)
{
	while (c->at < c->end) {
		struct pb_field f;

		if (read_tag(c, &f))
			return -EBADMSG;
		if (f.wire != PB_GROUP) {
			if (read_value(c, &f))
				return -EBADMSG;
			*ret = f;
			return 1;
		}
		if (skip_group(c))
			return -EBADMSG;
	}
	return c->bad ? -EBADMSG : 0;
}

struct pb_numbers pb_numbers_of(const struct pb_field *f, enum pb_wire wire)
{
	return (struct pb_numbers){ pb_message(f), (uint8_t)wire, f->wire != PB_BYTES, f->value };
}

bool pb_number(struct pb_numbers *n, uint64_t *ret)
{
	if (n->one) {
		n->one = false;
		*ret = n->value;
		return true;
	}
	if (n->c.at >= n->c.end)
		return false;
	*ret = n->wire == PB_FIXED64 ? fixed(&n->c, 8) : cursor_uv(&n->c);
	return !n->c.bad;
}

double pb_double_of_bits(uint64_t bits)
{
	union {
		uint64_t bits;
		double number;
	} u = { .bits = bits };

	return u.number;
}

double pb_double(const struct pb_field *f)
{
	return f->wire == PB_FIXED64 ? pb_double_of_bits(f->value) : 0;
}
