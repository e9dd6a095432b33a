/*
 * dump_print.h - one line of `inferscope dump`, as JSON or as CSV.
 *
 * What is remarkable about a row is in JSON a member that is true, in CSV a word in the column `flags`.
 */
#ifndef CMD_DUMP_PRINT_H
#define CMD_DUMP_PRINT_H

#include "base/buffer.h"
#include "rows/row.h"

int dump_row_json(const struct row *row, const struct trace_reader *reader, struct buffer *out);
int dump_row_csv(const struct row *row, const struct trace_reader *reader, struct buffer *out);
int dump_csv_header(struct buffer *out);

#endif
