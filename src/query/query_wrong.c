/* query_wrong.c - see query_wrong.h. */
#include "query/query_wrong.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "query/query.h"

#define TABLES "'inferscope query --tables' lists them"

static bool begins(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* ---- Names that are meant --------------------------------------------------------------- */

static const char *table_name(void *arg, size_t i)
{
	(void)arg;
	return query_table_name(i);
}

/* The names of all columns, each with a NUL. */
static int append_columns(struct buffer *names)
{
	const char *at;
	int rc = 0;

	for (size_t i = 0; rc == 0 && (at = query_table_columns(i)); i++) {
		while (rc == 0 && *at) {
			at += strspn(at, " ,");
			rc = buffer_append(names, at, strcspn(at, " ,"));
			rc = rc ? rc : buffer_append(names, "", 1);
			at += strcspn(at, ",");
		}
	}
	return rc;
}

static const char *column_name(void *arg, size_t i)
{
	const struct buffer *names = arg;
	size_t at = 0;

	while (at < names->size && i-- > 0)
		at += strlen((const char *)names->data + at) + 1;
	return at < names->size ? (const char *)names->data + at : NULL;
}

/* Of "no such table: main.slice" the last word, without what stands before a dot. */
static const char *missing_name(const char *message)
{
	const char *name = strrchr(message, ' '), *dot = strrchr(message, '.');

	return dot && dot > name ? dot + 1 : name + 1;
}

static void advise_name(const char *message, char *out, size_t size)
{
	bool table = begins(message, "no such table");
	struct buffer names = BUFFER_INIT;
	const char *near = NULL;

	if (table)
		near = text_nearest(missing_name(message), table_name, NULL);
	else if (append_columns(&names) == 0)
		near = text_nearest(missing_name(message), column_name, &names);
	if (near)
		snprintf(out, size, "did you mean '%s'? " TABLES, near);
	else
		snprintf(out, size, "%s", TABLES);
	buffer_release(&names);
}

/* ---- What to do ----------------------------------------------------------------------------- */

static void advise(const char *message, char *out, size_t size)
{
	if (begins(message, "no such table: ") || begins(message, "no such column: "))
		advise_name(message, out, size);
	else if (begins(message, "no such function") || begins(message, "not authorized to use function"))
		snprintf(out, size, "docs/query.md says which there are");
	else
		out[0] = '\0';
}

/* Of a text that is not one question there is no place to be told. */
static const char *other_than_one(const char *message)
{
	if (strcmp(message, SQL_SEVERAL) == 0)
		return "there is more than one question: ask one at a time, or write them to standard input, each on lines of its own and with a semicolon at the end";
	if (strcmp(message, SQL_EMPTY) == 0)
		return "the question is empty: ask one, as in 'SELECT * FROM steps', or none to be asked for it; " TABLES " and their columns";
	return NULL;
}

int query_wrong(const struct sql *sql, int code, struct error *err)
{
	const char *message = sql_message(sql), *whole = other_than_one(message);
	char where[40] = "", what[200];
	int at = sql_message_offset(sql);

	err->exit_code = code == -ENOMEM ? 4 : 2;
	if (whole)
		return error_set(err, code, "%s", whole);
	if (sql_refused(sql)[0])
		return error_set(err, code, "%s is refused: a question can only read the tables of the trace; " TABLES, sql_refused(sql));
	if (at >= 0)
		snprintf(where, sizeof where, ", at character %d", at + 1);
	advise(message, what, sizeof what);
	return error_set(err, code, "%.200s%s%s%s", message, where, what[0] ? "; " : "", what);
}
