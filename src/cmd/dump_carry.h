/*
 * dump_carry.h - the begins of slices that go on beyond their block.
 *
 * A slice is printed where it ends, with the fields its begin had.  When the
 * begin was in an earlier block, that block is gone by then; its fields are
 * kept here, one row for each open slice.
 */
#ifndef CMD_DUMP_CARRY_H
#define CMD_DUMP_CARRY_H

#include <stddef.h>
#include <stdint.h>

#include "cmd/dump_row.h"

struct dump_carry {
	struct carried *entries; /* open addressing; capacity is 0 or a power of two */
	size_t capacity, used;
};

/* Keeps a copy of the row, in place of an older one of the same track and depth. */
int dump_carry_put(struct dump_carry *carry, const struct dump_row *row);
/* The row kept for this track, depth and name, or NULL.  Valid until the next put. */
const struct dump_row *dump_carry_get(const struct dump_carry *carry, uint32_t track, uint16_t depth, uint32_t name);
void dump_carry_release(struct dump_carry *carry);

#endif
