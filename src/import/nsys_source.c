/*
 * nsys_source.c - the rows of all tables in the order of time.
 *
 * Every table is sorted by SQLite, which goes to disk when there is much to
 * sort, and of all tables the earliest row is taken.  So memory does not depend
 * on the size of the file, and a block of the trace holds what happened at one
 * time.  A table that cannot be sorted because some of it cannot be read is
 * gone through as it lies, around what is damaged.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "import/nsys.h"

#define SOURCES_MAX 32
#define TIME_MAX ((int64_t)1 << 61) /* 73 years: what is later is no time */
#define HOLES_MAX 1000              /* places of a table that are passed over */

struct source {
	struct nsys_row row; /* its query is NULL at the end */
};

struct sources {
	struct source items[SOURCES_MAX];
	size_t count;
	const struct nsys_table *broken[SOURCES_MAX];
	size_t broken_count;
};

void nsys_damage(struct nsys *n, const char *table, int64_t row, const char *reason)
{
	char text[256];

	if (row >= 0)
		snprintf(text, sizeof text, "table %s, row %" PRId64 ": %s", table, row, reason);
	else
		snprintf(text, sizeof text, "table %s: %s", table, reason);
	output_damage(n->o, 0, 0, text);
}

/* ---- Statements ------------------------------------------------------------------ */

/* Whether the table has the first column that it is to have, which is the time. */
static bool has_time(struct nsys *n, const struct nsys_table *t)
{
	char name[64];

	snprintf(name, sizeof name, "%.*s", (int)strcspn(t->columns, " |"), t->columns);
	return sql_column_exists(n->sql, t->name, name);
}

/* Appends the name of the first of "a|b|c" that the table has, or NULL. */
static int select_column(struct nsys *n, struct buffer *text, const char *table, const char *names, size_t size)
{
	char name[64];

	while (size) {
		const char *bar = memchr(names, '|', size);
		size_t length = bar ? (size_t)(bar - names) : size;

		snprintf(name, sizeof name, "%.*s", (int)length, names);
		if (sql_column_exists(n->sql, table, name))
			return buffer_printf(text, ", \"%s\"", name);
		names += length + (bar != NULL);
		size -= length + (bar != NULL);
	}
	return buffer_printf(text, ", NULL");
}

int nsys_select(struct nsys *n, struct buffer *text, const char *table, const char *columns)
{
	int rc = buffer_printf(text, "SELECT rowid");

	while (rc == 0 && *columns) {
		size_t size = strcspn(columns, " ");

		rc = select_column(n, text, table, columns, size);
		columns += size;
		columns += strspn(columns, " ");
	}
	return rc ? rc : buffer_printf(text, " FROM \"%s\" NOT INDEXED WHERE ", table);
}

enum order { BY_TIME, BY_NUMBER };

/* BY_NUMBER: rows after `after`, all of them, so that each that can be read shows how far it goes. */
static int open_query(struct nsys *n, const struct nsys_table *t, enum order order, int64_t after, struct sql_query **ret,
		      struct error *err)
{
	struct buffer text = BUFFER_INIT;
	int rc = nsys_select(n, &text, t->name, t->columns);

	if (rc == 0)
		rc = order == BY_TIME ? buffer_printf(&text, "%s ORDER BY 2, 3 DESC", t->where ? t->where : "1")
				      : buffer_printf(&text, "rowid > ?1 ORDER BY rowid");
	rc = rc ? error_set(err, rc, "out of memory") : sql_query(n->sql, ret, t->name, (const char *)text.data, err);
	buffer_release(&text);
	if (rc == 0 && order == BY_NUMBER)
		sql_query_bind(*ret, 1, after);
	return rc;
}

/* ---- Rows ------------------------------------------------------------------------- */

static const char *check_times(const struct nsys_row *r)
{
	if (r->start < 0 || r->start > TIME_MAX || (r->has_end && r->end > TIME_MAX))
		return "its times are absurd";
	if (r->has_end && r->end < r->start)
		return "it ends before it starts";
	return r->table->device && r->start == 0 && r->has_end && r->end == 0 ? "the device said no times" : NULL;
}

/* Gives the row at hand to its reader. */
static int read_row(struct nsys *n, struct nsys_row *r, struct error *err)
{
	const char *skip = NULL;
	int rc = 0;

	if (!sql_query_integer(r->query, 1, &r->start)) {
		if (r->table->where)
			return 0; /* not one of its rows */
		skip = "its time is no number";
	}
	r->has_end = sql_query_integer(r->query, 2, &r->end);
	if (!skip)
		skip = check_times(r);
	nsys_arguments(n);
	if (!skip)
		rc = r->table->read(n, r, &skip, err);
	if (skip) {
		output_report(n->o)->skipped++;
		nsys_damage(n, r->table->name, r->id, skip);
	}
	return rc;
}

/* Steps; the row's number and time are then known.  As sql_query_step(). */
static int next_row(struct nsys_row *r, struct error *err)
{
	int rc = sql_query_step(r->query, err);

	if (rc <= 0)
		return rc;
	if (!sql_query_integer(r->query, 0, &r->id))
		r->id = -1;
	if (!sql_query_integer(r->query, 1, &r->start))
		r->start = INT64_MAX;
	return 1;
}

/* Failures that are not the file's. */
static bool is_fatal(int rc)
{
	return rc == -ENOMEM || rc == -EIO || rc == -ECANCELED;
}

/* ---- Tables that are damaged --------------------------------------------------------- */

/* Rows after *after, until one cannot be read; *after is then the last that could, and *ret_end why it ended. */
static int read_run(struct nsys *n, const struct nsys_table *t, int64_t *after, int *ret_end, struct error *err, struct error *why)
{
	struct nsys_row row = { .table = t };
	int rc = 0;

	*ret_end = open_query(n, t, BY_NUMBER, *after, &row.query, why);
	if (*ret_end)
		return 0;
	while (rc == 0 && (*ret_end = next_row(&row, why)) > 0) {
		if (row.id <= *after) { /* numbers rise, unless they are no numbers of rows */
			*ret_end = -EBADMSG;
			break;
		}
		rc = read_row(n, &row, err);
		*after = row.id;
	}
	sql_query_free(row.query);
	return rc;
}

/* Whether there is a way to the first row after this one, if only to find that there is none.  *ret is its number. */
static bool reach(struct sql_query *q, int64_t after, int64_t *ret)
{
	int rc;

	sql_query_reset(q);
	sql_query_bind(q, 1, after);
	rc = sql_query_step(q, NULL);
	if (rc <= 0 || !sql_query_integer(q, 0, ret))
		*ret = INT64_MAX;
	return rc == 0 || (rc > 0 && *ret > after);
}

/*
 * The least number from which rows can be reached again, when that is not the
 * case from *after: further and further ahead until they can, then back by
 * halves.  A page that leads to others may be lost while these are not.
 */
static bool pass_hole(struct sql_query *q, int64_t *after)
{
	int64_t bad = *after, good = bad, unused;
	int doubled = 0;

	do {
		if (doubled == 63)
			return false;
		if (__builtin_add_overflow(bad, (int64_t)1 << doubled++, &good))
			good = INT64_MAX;
	} while (!reach(q, good, &unused));
	while ((uint64_t)good - (uint64_t)bad > 1) {
		int64_t middle = bad + (int64_t)(((uint64_t)good - (uint64_t)bad) / 2);

		if (reach(q, middle, &unused))
			good = middle;
		else
			bad = middle;
	}
	*after = good;
	return true;
}

/* Past what could not be read.  False when there is nothing beyond it. */
static bool pass_damage(struct nsys *n, const struct nsys_table *t, struct sql_query *q, int end, int64_t *after)
{
	int64_t next;

	if (end == -EFBIG && reach(q, *after, &next) && next != INT64_MAX) {
		output_report(n->o)->skipped++;
		nsys_damage(n, t->name, next, "a cell of it is too long");
		*after = next;
		return true;
	}
	if (!t->where) /* it is said of the table as a whole */
		nsys_damage(n, t->name, *after + 1, "here rows cannot be read: the database is malformed");
	if (reach(q, *after, &next)) /* the way is there and the row is not */
		*after = next;
	else if (!pass_hole(q, after))
		return false;
	return *after != INT64_MAX;
}

static int read_broken(struct nsys *n, const struct nsys_table *t, struct error *err)
{
	struct error why = { 0 };
	struct sql_query *numbers;
	int64_t after = -1;
	char text[160];
	int end = 0, rc = read_run(n, t, &after, &end, err, &why);

	if (rc || end == 0)
		return rc;
	snprintf(text, sizeof text, "SELECT rowid FROM \"%s\" NOT INDEXED WHERE rowid > ?1 ORDER BY rowid", t->name);
	if (sql_query(n->sql, &numbers, t->name, text, NULL)) {
		nsys_damage(n, t->name, -1, why.text);
		return 0;
	}
	for (int holes = 0; rc == 0 && end < 0 && !is_fatal(end) && holes < HOLES_MAX; holes++) {
		if (!pass_damage(n, t, numbers, end, &after))
			break;
		rc = read_run(n, t, &after, &end, err, &why);
	}
	sql_query_free(numbers);
	if (rc == 0 && is_fatal(end)) {
		if (err)
			*err = why;
		return end;
	}
	return rc;
}

/* ---- All tables ----------------------------------------------------------------------- */

/* To the next row.  A table that cannot be sorted is put aside; 0 unless nothing works any more. */
static int advance(struct sources *all, struct source *s, struct error *err)
{
	struct error why = { 0 };
	int rc = next_row(&s->row, &why);

	if (rc > 0)
		return 0;
	sql_query_free(s->row.query);
	s->row.query = NULL;
	if (rc == 0)
		return 0;
	if (is_fatal(rc)) {
		if (err)
			*err = why;
		return rc;
	}
	all->broken[all->broken_count++] = s->row.table;
	return 0;
}

static int add_table(struct nsys *n, struct sources *all, const struct nsys_table *t, struct error *err)
{
	struct source *s = &all->items[all->count];
	struct error why = { 0 };
	int rc;

	if (all->count == SOURCES_MAX || !sql_table_exists(n->sql, t->name) ||
	    (t->needs && !sql_column_exists(n->sql, t->name, t->needs)))
		return 0;
	if (!has_time(n, t)) {
		nsys_damage(n, t->name, -1, "it has no column for the time");
		return 0;
	}
	*s = (struct source){ .row.table = t };
	rc = open_query(n, t, BY_TIME, 0, &s->row.query, &why);
	if (is_fatal(rc)) {
		if (err)
			*err = why;
		return rc;
	}
	if (rc) {
		nsys_damage(n, t->name, -1, why.text);
		return 0;
	}
	all->count++;
	return advance(all, s, err);
}

static int add_tables(struct nsys *n, struct sources *all, const struct nsys_table *tables, struct error *err)
{
	int rc = 0;

	for (; rc == 0 && tables->name; tables++)
		rc = add_table(n, all, tables, err);
	return rc;
}

static struct source *earliest(struct sources *all)
{
	struct source *best = NULL;

	for (size_t i = 0; i < all->count; i++) {
		struct source *s = &all->items[i];

		if (s->row.query && (!best || s->row.start < best->row.start))
			best = s;
	}
	return best;
}

static int read_sorted(struct nsys *n, struct sources *all, struct error *err)
{
	struct source *s;
	int rc = 0;

	while (rc == 0 && (s = earliest(all))) {
		rc = read_row(n, &s->row, err);
		if (rc == 0)
			rc = advance(all, s, err);
	}
	return rc;
}

int nsys_read_events(struct nsys *n, struct error *err)
{
	struct sources all = { .count = 0 };
	int rc = add_tables(n, &all, nsys_nvtx_tables, err);

	if (rc == 0)
		rc = add_tables(n, &all, nsys_cpu_tables, err);
	if (rc == 0)
		rc = add_tables(n, &all, nsys_gpu_tables, err);
	if (rc == 0)
		rc = read_sorted(n, &all, err);
	for (size_t i = 0; i < all.count; i++)
		sql_query_free(all.items[i].row.query);
	for (size_t i = 0; rc == 0 && i < all.broken_count; i++)
		rc = read_broken(n, all.broken[i], err);
	return rc;
}
