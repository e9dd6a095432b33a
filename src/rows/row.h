/*
 * row.h - an event or a slice of a trace with its fields, as `inferscope dump`
 * prints it and exports write it.
 */
#ifndef ROWS_ROW_H
#define ROWS_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/reader.h"

/* What is remarkable about a row. */
#define ROW_ENCLOSING 1u  /* began before the window */
#define ROW_UNFINISHED 2u /* its end was not recorded */
#define ROW_BEGIN_LOST 4u /* its begin was lost: it began at start_us at the earliest */
#define ROW_UNMATCHED 8u  /* an end without a begin */
#define ROW_CONTINUES 16u /* goes on beyond the window */
#define ROW_GOES_ON 32u   /* a part of a range whose next part begins where this one ends */

struct row {
	const char *type;  /* event_type */
	const char *phase; /* of asynchronous ranges and flows; else NULL */
	uint8_t kind;
	uint8_t event_phase; /* enum event_phase; a whole slice is PHASE_COMPLETE */
	uint8_t parent_kind; /* of a slice from a begin to an end: of the one around it, EVENT_NONE when that is not known */
	bool has_start, has_end;
	bool deep;   /* of a slice: in the filter's set of those that are too deep */
	bool paired; /* made of a begin and an end: where it ends is its place among the rows, else where it begins */
	unsigned flags;
	uint32_t track, name;
	uint32_t domain; /* clock domain of the block: of an imported trace, which file */
	int64_t start_ns, end_ns; /* since the start of the trace */
	uint16_t cpu, depth;
	uint64_t present; /* field mask */
	uint64_t field[FIELD_LIMIT];
	struct trace_blob metadata;
};

/* Fields that are shown as they are; NULL past the last. */
struct row_field {
	unsigned field;
	const char *name;
};
const struct row_field *row_plain_field(size_t i);
/* The name of one of these, NULL for the others. */
const char *row_field_name(unsigned field);

/* "states" or "host": seen from outside, not on the track that its numbers name; else NULL. */
const char *row_outside(const struct trace_track *track);

/* Takes the fields an event has, on top of those that are there already. */
void row_add_fields(struct row *row, const struct trace_batch *batch, uint32_t event);

#endif
