/*
 * dump_row.h - one line of `inferscope dump`: an event or a slice with its
 * fields, as JSON or as CSV.
 */
#ifndef CMD_DUMP_ROW_H
#define CMD_DUMP_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "trace/reader.h"

/* What is remarkable about a row; in JSON a member that is true, in CSV a word in the column `flags`. */
#define ROW_ENCLOSING 1u  /* began before the window */
#define ROW_UNFINISHED 2u /* its end was not recorded */
#define ROW_BEGIN_LOST 4u /* its begin was lost: it began at start_us at the earliest */
#define ROW_UNMATCHED 8u  /* an end without a begin */
#define ROW_CONTINUES 16u /* goes on beyond the window */
#define ROW_GOES_ON 32u   /* a part of a range whose next part begins where this one ends */

struct dump_row {
	const char *type;  /* event_type */
	const char *phase; /* of asynchronous ranges and flows; else NULL */
	uint8_t kind;
	bool has_start, has_end;
	unsigned flags;
	uint32_t track, name;
	int64_t start_ns, end_ns; /* since the start of the trace */
	uint16_t cpu, depth;
	uint64_t present; /* field mask */
	uint64_t field[FIELD_LIMIT];
	struct trace_blob metadata;
};

/* The name of a field that is shown as it is, NULL for the others. */
const char *dump_row_field_name(unsigned field);

/* Takes the fields an event has, on top of those that are there already. */
void dump_row_add_fields(struct dump_row *row, const struct trace_batch *batch, uint32_t event);

int dump_row_json(const struct dump_row *row, const struct trace_reader *reader, struct buffer *out);
int dump_row_csv(const struct dump_row *row, const struct trace_reader *reader, struct buffer *out);
int dump_csv_header(struct buffer *out);

#endif
