/*
 * protobuf.h - reads Protocol Buffers' wire format, field by field.
 *
 *      struct cursor c = cursor_of(data, size);
 *      struct pb_field f;
 *      while ((rc = pb_next(&c, &f)) > 0)
 *              if (f.number == 8)
 *                      time = f.value;
 *
 * Nothing is trusted and nothing is copied.  What a field does not have is 0
 * (a number asked for its bytes has none, and the other way round), so that a
 * file which gives a known field another type than its schema does no harm.
 */
#ifndef IMPORT_PROTOBUF_H
#define IMPORT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"

#define PB_GROUP_DEPTH_MAX 32

enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_field {
	uint32_t number;
	uint8_t wire;        /* enum pb_wire */
	uint64_t value;      /* of a number */
	const uint8_t *data; /* of bytes, a text, a message or packed numbers */
	size_t size;
};

/* The next field: 1, 0 at the end, -EBADMSG.  Groups, which nobody writes any more, are passed over. */
int pb_next(struct cursor *c, struct pb_field *ret);

/* Numbers that a repeated field gives, one by one or packed. */
struct pb_numbers {
	struct cursor c;
	uint8_t wire;
	bool one;
	uint64_t value;
};
struct pb_numbers pb_numbers_of(const struct pb_field *f, enum pb_wire wire);
bool pb_number(struct pb_numbers *n, uint64_t *ret); /* false at the end, and at what is malformed */

double pb_double(const struct pb_field *f);
double pb_double_of_bits(uint64_t bits);
static inline uint64_t pb_bits_of_double(double value)
{
	union {
		double number;
		uint64_t bits;
	} u = { .number = value };

	return u.bits;
}

static inline struct cursor pb_message(const struct pb_field *f)
{
	return cursor_of(f->data, f->size);
}

#endif
