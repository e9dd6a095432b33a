/*
 * sandbox.h - SQLite databases that somebody else wrote.
 *
 *      struct sql *s;
 *      sql_open(&s, fd, "report.sqlite", NULL, &err);
 *      if (sql_table_exists(s, "StringIds")) {
 *              sql_query(s, &q, "StringIds", "SELECT id, value FROM StringIds", &err);
 *              while ((rc = sql_query_step(q, &err)) > 0)
 *                      sql_query_integer(q, 0, &id);
 *              sql_query_free(q);
 *      }
 *      sql_close(s);
 *
 * The database is read and nothing else: SQLite gets a descriptor instead of a
 * name (sandbox_file.h), so no journal beside the file is looked at or made.
 * Of SQL there are SELECTs of real tables and a list of harmless functions;
 * views, virtual tables, generated columns, pragmas and recursion are refused,
 * and a column is what its values are, not what the schema says.  A query ends
 * after as many steps as a file of that size can need.
 *
 * Failures of the database have err->exit_code 3, those of the machine 4, and
 * say which table it was.
 */
#ifndef SQL_SANDBOX_H
#define SQL_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define SQL_CELL_MAX ((size_t)16 << 20) /* a longer cell fails its query with -EFBIG */
#define SQL_TEXT_MAX ((size_t)1 << 20)  /* what is longer is cut when it is fetched */
#define SQL_MEMORY_CELL_MAX ((size_t)128 << 10) /* the same of a database in memory; also the length of its queries */
#define SQL_COLUMNS_MAX 100             /* of a table in memory */

struct sql_options {
	bool (*stop)(void *arg); /* asked a few times a second while a query runs; true ends it with -ECANCELED.  May be NULL */
	void *stop_arg;
	bool broad;     /* in memory: what the user asks himself, with more functions and recursion; only `stop` ends it */
	uint64_t steps; /* of SQLite's machine, over all queries; 0: enough for a file of that size; in memory a few seconds' worth */
};

struct sql;
struct sql_query;

/* Takes over fd, a regular file or memory; `name` is for messages.  options may be NULL.  A file that ends early is opened:
 * what is missing reads as zeroes, which fail as soon as a query gets there. */
int sql_open(struct sql **ret, int fd, const char *name, const struct sql_options *options, struct error *err);
void sql_close(struct sql *s); /* after its queries */

/*
 * A database of our own, in memory, for queries that somebody else wrote: what
 * is said above holds for these, too.  Tables are made, filled and emptied by
 * the functions below and by nothing else; names of tables and columns (which
 * have spaces between them) are ours.
 */
int sql_open_memory(struct sql **ret, const char *name, const struct sql_options *options, struct error *err);
int sql_create(struct sql *s, const char *table, const char *columns, struct error *err);
/* Rows of all columns: bind the cells, others are NULL, then sql_insert_row(); sql_query_free() at the end. */
int sql_insert(struct sql *s, struct sql_query **ret, const char *table, const char *columns, struct error *err);
int sql_insert_row(struct sql_query *q, struct error *err);
int sql_empty(struct sql *s, const char *table, struct error *err);

/* A table that is made while it is read: sqlite3.h has the interface.  `module` has no xCreate, and both live as long as s. */
struct sqlite3_module;
int sql_module(struct sql *s, const char *table, const struct sqlite3_module *module, void *arg, struct error *err);
/* In its xConnect, instead of sqlite3_declare_vtab(): the columns as CREATE TABLE has them.  A code of SQLite's. */
int sql_declare(struct sql *s, const char *columns);

uint64_t sql_size(const struct sql *s);    /* bytes of the file */
uint64_t sql_missing(const struct sql *s); /* bytes that ought to follow, by the file's own word */
uint64_t sql_read(const struct sql *s);    /* bytes that were fetched so far, some of them more than once */

/* A table that can be read, whatever else has that name. */
bool sql_table_exists(struct sql *s, const char *table);
/* Something that is no such table has the name. */
bool sql_table_refused(struct sql *s, const char *table);
bool sql_column_exists(struct sql *s, const char *table, const char *column);
/* Whether a row is found by this column without looking at all of them. */
bool sql_column_is_key(struct sql *s, const char *table, const char *column);

/* One SELECT.  `table` is for messages, and lives as long as the query. */
int sql_query(struct sql *s, struct sql_query **ret, const char *table, const char *text, struct error *err);
void sql_query_bind(struct sql_query *q, int parameter, int64_t value); /* counted from 1; before the first step */
void sql_query_bind_number(struct sql_query *q, int parameter, double value); /* NAN is NULL */
void sql_query_bind_text(struct sql_query *q, int parameter, const char *text, size_t size); /* copied; cut as when fetched */
int sql_query_columns(const struct sql_query *q);
const char *sql_query_column_name(const struct sql_query *q, int column); /* as the query has it; any bytes */
/* 1: there is a row, 0: there are no more. */
int sql_query_step(struct sql_query *q, struct error *err);
void sql_query_reset(struct sql_query *q); /* to bind and step again */
void sql_query_free(struct sql_query *q);

/* Of the row at hand, columns counted from 0.  False when the cell is NULL or of another type; a number with a fraction
 * is no integer.  A text lives until the next step, has at most SQL_TEXT_MAX bytes, and they may be any. */
bool sql_query_null(struct sql_query *q, int column);
bool sql_query_is_integer(struct sql_query *q, int column); /* by its type, as SQLite has it */
bool sql_query_integer(struct sql_query *q, int column, int64_t *ret);
bool sql_query_number(struct sql_query *q, int column, double *ret);
bool sql_query_text(struct sql_query *q, int column, const char **ret, size_t *ret_size);
bool sql_query_blob(struct sql_query *q, int column, const void **ret, size_t *ret_size); /* as long as a text at most */

/* What SQLite says of the last failure, without the name of the database, and where in the query's text that is (in bytes;
 * -1: nowhere in particular). */
const char *sql_message(const struct sql *s);
int sql_message_offset(const struct sql *s);
/* What is said of a text that is not one query. */
#define SQL_SEVERAL "is more than one expression"
#define SQL_EMPTY "is empty"
/* What the sandbox refused in the last query, as "PRAGMA" or "the table sqlite_schema"; "": nothing. */
const char *sql_refused(const struct sql *s);

#endif
