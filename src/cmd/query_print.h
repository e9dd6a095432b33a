/*
 * query_print.h - the rows of a question, as a table for people, as CSV or as JSON.
 *
 *      struct query_printer p;
 *      query_printer_init(&p, &out, QUERY_TABLE, rows);
 *      while (sql_query_step(rows, &err) > 0)
 *              query_printer_row(&p);
 *      query_printer_end(&p);
 *
 * A table is as wide as its first rows need; they are kept until there are
 * QUERY_SAMPLE of them.
 */
#ifndef CMD_QUERY_PRINT_H
#define CMD_QUERY_PRINT_H

#include "cmd/printer.h"
#include "sql/sandbox.h"

enum query_format { QUERY_TABLE, QUERY_CSV, QUERY_JSON };
#define QUERY_SAMPLE 500u
#define QUERY_COLUMNS 128u

struct query_printer {
	struct printer *out;
	enum query_format format;
	struct sql_query *rows;
	int columns;
	uint64_t count;
	unsigned widths[QUERY_COLUMNS];
	bool right[QUERY_COLUMNS]; /* numbers */
	struct buffer kept;        /* cells of the first rows: an uint32_t size and text each */
	uint32_t kept_rows;
	bool begun;
	struct buffer keys;               /* of JSON: one for each column, unlike the others; NUL-terminated */
	size_t key_places[QUERY_COLUMNS]; /* in `keys` */
};

void query_printer_init(struct query_printer *p, struct printer *out, enum query_format format, struct sql_query *rows);
bool query_printer_row(struct query_printer *p); /* false: nobody reads any more */
void query_printer_end(struct query_printer *p);

#endif
