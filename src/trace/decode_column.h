/*
 * decode_column.h - one column's bytes to numbers.
 */
#ifndef TRACE_DECODE_COLUMN_H
#define TRACE_DECODE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct column {
	const uint8_t *data; /* NULL: no such column */
	size_t size;
	uint8_t encoding;
};

/* Whether the encoding suits whole numbers. */
bool column_is_integral(const struct column *c);

/* Whether a column of this encoding and size can hold `count` values at all.  Cheap, to be asked before allocating. */
bool column_can_hold(const struct column *c, uint64_t count);

/*
 * Decodes exactly `count` values to out, or returns -EBADMSG.  Signed ones come as two's complement, differences of
 * SBT_PACKED_DELTA as such.  The column's bytes must be followed by 8 readable ones.
 */
int column_numbers(const struct column *c, uint64_t *out, size_t count);
/* The same for a column of runs of small numbers, larger ones being held at UINT16_MAX. */
int column_short_runs(const struct column *c, uint16_t *out, size_t count);

#endif
