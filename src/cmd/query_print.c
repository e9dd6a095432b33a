/* query_print.c - see query_print.h. */
#include "cmd/query_print.h"

#include <math.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"

#define WIDEST 100u /* columns of a cell; a longer text is cut */

void query_printer_init(struct query_printer *p, struct printer *out, enum query_format format, struct sql_query *rows)
{
	int columns = sql_query_columns(rows);

	*p = (struct query_printer){ .out = out, .format = format, .rows = rows,
				     .columns = columns < (int)QUERY_COLUMNS ? columns : (int)QUERY_COLUMNS };
}

/* ---- Cells as text -------------------------------------------------------------------- */

/* Bytes as SQL writes them: x'0aff'. */
static void append_blob(struct query_printer *p, struct buffer *out, const void *data, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *bytes = data;

	printer_check(p->out, buffer_append(out, "x'", 2));
	for (size_t i = 0; i < size; i++)
		printer_check(p->out, buffer_append(out, (const char[]){ digits[bytes[i] >> 4], digits[bytes[i] & 15] }, 2));
	printer_check(p->out, buffer_append(out, "'", 1));
}

static void append_text(struct query_printer *p, struct buffer *out, const char *text, size_t size)
{
	printer_check(p->out, p->format == QUERY_CSV ? text_append_csv(out, text, size) : text_append_terminal(out, text, size, WIDEST));
}

/* True: it was one.  Nothing but hexadecimal digits, so that only a table has to cut it. */
static bool cell_blob(struct query_printer *p, int column, struct buffer *out)
{
	struct buffer text = BUFFER_INIT;
	const void *data;
	size_t size;

	if (!sql_query_blob(p->rows, column, &data, &size))
		return false;
	append_blob(p, &text, data, p->format == QUERY_TABLE && size > WIDEST ? WIDEST : size);
	append_text(p, out, (const char *)text.data, text.size);
	buffer_release(&text);
	return true;
}

/* A cell as it is shown in a table, and in CSV.  True: it is a number. */
static bool cell_text(struct query_printer *p, int column, struct buffer *out)
{
	const char *text;
	size_t size;
	int64_t integer;
	double number;

	if (sql_query_text(p->rows, column, &text, &size)) {
		append_text(p, out, text, size);
		return false;
	}
	if (cell_blob(p, column, out))
		return false;
	if (sql_query_is_integer(p->rows, column) && sql_query_integer(p->rows, column, &integer))
		printer_check(p->out, buffer_printf(out, "%lld", (long long)integer));
	else if (sql_query_number(p->rows, column, &number))
		printer_check(p->out, isinf(number) ? buffer_printf(out, number < 0 ? "-inf" : "inf") : json_append_number(out, number));
	return true;
}

/* ---- A table ----------------------------------------------------------------------------- */

static void print_cell(struct query_printer *p, int column, const char *text, size_t size)
{
	unsigned width = (unsigned)printer_width(text, size), pad = p->widths[column] > width ? p->widths[column] - width : 0;
	bool last = column + 1 == p->columns;

	if (column)
		printer_printf(p->out, "  ");
	if (p->right[column])
		printer_printf(p->out, "%*s", (int)pad, "");
	printer_check(p->out, buffer_append(&p->out->buf, text, size));
	if (!p->right[column] && !last)
		printer_printf(p->out, "%*s", (int)pad, "");
}

static void print_head(struct query_printer *p)
{
	for (int i = 0; i < p->columns; i++) {
		struct buffer name = BUFFER_INIT;
		const char *text = sql_query_column_name(p->rows, i);

		printer_check(p->out, text_append_terminal(&name, text, strlen(text), WIDEST));
		print_cell(p, i, (const char *)name.data, name.size);
		buffer_release(&name);
	}
	printer_printf(p->out, "\n");
	for (int i = 0; i < p->columns; i++) {
		printer_printf(p->out, i ? "  " : "");
		for (unsigned k = 0; k < p->widths[i]; k++)
			printer_printf(p->out, "-");
	}
	printer_printf(p->out, "\n");
}

static void measure_head(struct query_printer *p)
{
	for (int i = 0; i < p->columns; i++) {
		const char *text = sql_query_column_name(p->rows, i);
		unsigned width = (unsigned)printer_width(text, strlen(text));

		p->widths[i] = width < WIDEST ? width : WIDEST;
		p->right[i] = true; /* until there is a text */
	}
}

/* Keeps the row at hand, for the widths. */
static void keep(struct query_printer *p)
{
	struct buffer cell = BUFFER_INIT;

	for (int i = 0; i < p->columns; i++) {
		uint32_t size;
		unsigned width;

		buffer_clear(&cell);
		if (!cell_text(p, i, &cell) || sql_query_null(p->rows, i))
			p->right[i] = p->right[i] && sql_query_null(p->rows, i);
		width = (unsigned)printer_width((const char *)cell.data, cell.size);
		p->widths[i] = width > p->widths[i] ? width : p->widths[i];
		size = (uint32_t)cell.size;
		printer_check(p->out, buffer_append(&p->kept, &size, sizeof size));
		printer_check(p->out, buffer_append(&p->kept, cell.data, cell.size));
	}
	p->kept_rows++;
	buffer_release(&cell);
}

/* The rows that were kept; from then on each is printed as it comes. */
static void print_kept(struct query_printer *p)
{
	size_t at = 0;

	if (p->begun)
		return;
	p->begun = true;
	print_head(p);
	for (uint32_t r = 0; r < p->kept_rows; r++) {
		for (int i = 0; i < p->columns && at + sizeof(uint32_t) <= p->kept.size; i++) {
			uint32_t size;

			memcpy(&size, p->kept.data + at, sizeof size);
			at += sizeof size;
			print_cell(p, i, (const char *)p->kept.data + at, size);
			at += size;
		}
		printer_printf(p->out, "\n");
	}
	buffer_release(&p->kept);
}

static void table_row(struct query_printer *p)
{
	struct buffer cell = BUFFER_INIT;

	if (p->count == 0)
		measure_head(p);
	if (!p->begun && p->kept_rows < QUERY_SAMPLE) {
		keep(p);
		return;
	}
	print_kept(p);
	for (int i = 0; i < p->columns; i++) {
		buffer_clear(&cell);
		(void)cell_text(p, i, &cell);
		print_cell(p, i, (const char *)cell.data, cell.size);
	}
	printer_printf(p->out, "\n");
	buffer_release(&cell);
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

static void csv_head(struct query_printer *p)
{
	for (int i = 0; i < p->columns; i++) {
		const char *name = sql_query_column_name(p->rows, i);

		printer_printf(p->out, i ? "," : "");
		printer_check(p->out, text_append_csv(&p->out->buf, name, strlen(name)));
	}
	printer_printf(p->out, "\n");
}

static void csv_row(struct query_printer *p)
{
	for (int i = 0; i < p->columns; i++) {
		printer_printf(p->out, i ? "," : "");
		(void)cell_text(p, i, &p->out->buf);
	}
	printer_printf(p->out, "\n");
}

/* Whether a column that has its key already has this one, or any column asks for it. */
static bool is_taken(const struct query_printer *p, const char *key, int columns)
{
	for (int i = 0; i < columns; i++)
		if (strcmp((const char *)p->keys.data + p->key_places[i], key) == 0)
			return true;
	return false;
}

static bool is_column(const struct query_printer *p, const char *key)
{
	for (int i = 0; i < p->columns; i++)
		if (strcmp(sql_query_column_name(p->rows, i), key) == 0)
			return true;
	return false;
}

/* "n", and for further columns of that name "n_2", "n_3". */
static void make_key(struct query_printer *p, int column, struct buffer *out)
{
	const char *name = sql_query_column_name(p->rows, column);
	bool found = false;

	for (unsigned number = 1; !found && p->out->error == 0; number++) {
		buffer_clear(out);
		printer_check(p->out, number == 1 ? buffer_append(out, name, strlen(name)) : buffer_printf(out, "%s_%u", name, number));
		printer_check(p->out, buffer_append(out, "", 1));
		found = p->out->error == 0 && !is_taken(p, (const char *)out->data, column) &&
		       (number == 1 || !is_column(p, (const char *)out->data));
	}
}

static void make_keys(struct query_printer *p)
{
	struct buffer key = BUFFER_INIT;

	for (int i = 0; i < p->columns; i++) {
		make_key(p, i, &key);
		p->key_places[i] = p->keys.size;
		printer_check(p->out, buffer_append(&p->keys, key.data, key.size));
	}
	buffer_release(&key);
}

static void json_blob(struct query_printer *p, struct json_writer *j, const char *key, const void *data, size_t size)
{
	struct buffer text = BUFFER_INIT;

	append_blob(p, &text, data, size);
	json_string(j, key, (const char *)text.data, text.size);
	buffer_release(&text);
}

static void json_cell(struct query_printer *p, struct json_writer *j, const char *key, int column)
{
	const char *text;
	const void *data;
	size_t size;
	int64_t integer;
	double number;

	if (sql_query_text(p->rows, column, &text, &size))
		json_string(j, key, text, size);
	else if (sql_query_blob(p->rows, column, &data, &size))
		json_blob(p, j, key, data, size);
	else if (sql_query_is_integer(p->rows, column) && sql_query_integer(p->rows, column, &integer))
		json_integer(j, key, integer);
	else if (sql_query_number(p->rows, column, &number))
		json_number(j, key, number);
	else
		json_null(j, key);
}

static void json_row(struct query_printer *p)
{
	struct json_writer j = { .out = &p->out->buf, .compact = true };

	if (p->count == 0)
		make_keys(p);
	if (p->out->error)
		return;
	printer_printf(p->out, p->count ? ",\n" : "\n");
	json_open(&j, NULL, '{');
	for (int i = 0; i < p->columns; i++)
		json_cell(p, &j, (const char *)p->keys.data + p->key_places[i], i);
	json_close(&j);
	printer_check(p->out, j.error);
}

bool query_printer_row(struct query_printer *p)
{
	if (p->count == 0 && p->format == QUERY_CSV)
		csv_head(p);
	if (p->count == 0 && p->format == QUERY_JSON)
		printer_printf(p->out, "[");
	if (p->format == QUERY_TABLE)
		table_row(p);
	else if (p->format == QUERY_CSV)
		csv_row(p);
	else
		json_row(p);
	p->count++;
	return printer_ready(p->out);
}

void query_printer_end(struct query_printer *p)
{
	if (p->format == QUERY_TABLE && p->count == 0)
		measure_head(p);
	if (p->format == QUERY_TABLE)
		print_kept(p);
	if (p->format == QUERY_CSV && p->count == 0)
		csv_head(p);
	if (p->format == QUERY_JSON)
		printer_printf(p->out, p->count ? "\n]\n" : "[]\n");
	buffer_release(&p->keys);
	buffer_release(&p->kept);
}
