/*
 * row_carry.h - the begins of slices that go on beyond their block.
 *
 * A slice is printed where it ends, with the fields its begin had.  When the
 * begin was in an earlier block, that block is gone by then; its fields are
 * kept here, one row for each open slice.
 */
#ifndef ROWS_ROW_CARRY_H
#define ROWS_ROW_CARRY_H

#include <stddef.h>
#include <stdint.h>

#include "rows/row.h"

struct row_carry {
	struct carried *entries; /* open addressing; capacity is 0 or a power of two */
	size_t capacity, used;
};

/* Keeps a copy of the row, in place of an older one of the same track and depth. */
int row_carry_put(struct row_carry *carry, const struct row *row);
/* The row kept for this track, depth and name, or NULL.  Valid until the next put. */
const struct row *row_carry_get(const struct row_carry *carry, uint32_t track, uint16_t depth, uint32_t name);
void row_carry_release(struct row_carry *carry);

#endif
