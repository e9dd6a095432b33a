/* query.c - see query.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/query_state.h"
#include "query/query_wrong.h"

#define TABLES_MAX 32u

/* Those with a module of their own. */
static const struct {
	const char *name, *columns;
	const sqlite3_module *module;
} own[] = {
	{ "slices", SLICES_COLUMNS, &query_slices_module },
	{ "args", ARGS_COLUMNS, &query_args_module },
	{ "events", EVENTS_COLUMNS, &query_events_module },
};
#define OWN (sizeof own / sizeof own[0])

/* The i-th of those with numbered rows; NULL past the last. */
static const struct query_table *numbered(size_t i)
{
	const struct query_table *const lists[] = { query_world_tables, query_time_tables, query_finding_tables };

	for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++)
		for (const struct query_table *t = lists[k]; t->name; t++)
			if (i-- == 0)
				return t;
	return NULL;
}

const char *query_table_name(size_t i)
{
	const struct query_table *table = i < OWN ? NULL : numbered(i - OWN);

	return i < OWN ? own[i].name : table ? table->name : NULL;
}

const char *query_table_columns(size_t i)
{
	const struct query_table *table = i < OWN ? NULL : numbered(i - OWN);

	return i < OWN ? own[i].columns : table ? table->columns : NULL;
}

static int add_tables(struct query *q, struct error *err)
{
	const struct query_table *table;
	int rc = 0;

	for (size_t i = 0; i < OWN && rc == 0; i++)
		rc = sql_module(q->sql, own[i].name, own[i].module, q, err);
	for (size_t i = 0; rc == 0 && i < TABLES_MAX && (table = numbered(i)); i++) {
		q->tables[i] = (struct query_table_of){ q, table };
		rc = sql_module(q->sql, table->name, &query_rows_module, &q->tables[i], err);
	}
	return rc;
}

int query_open(struct query **ret, struct trace_reader *reader, const struct query_options *options, struct error *err)
{
	struct query *q = calloc(1, sizeof *q);
	int rc;

	if (!q)
		return error_errno(err, -ENOMEM, "cannot open the trace for questions");
	q->reader = reader;
	q->options = options ? *options : (struct query_options){ 0 };
	rc = sql_open_memory(&q->sql, "query", &(struct sql_options){ .stop = q->options.stop, .stop_arg = q->options.stop_arg, .broad = true },
			     err);
	if (rc == 0)
		rc = add_tables(q, err);
	if (rc < 0) {
		query_close(q);
		return rc;
	}
	*ret = q;
	return 0;
}

void query_close(struct query *q)
{
	if (!q)
		return;
	sql_close(q->sql);
	query_unload(q);
	free(q);
}

int query_run(struct query *q, const char *text, struct sql_query **ret, struct error *err)
{
	struct error said = { 0 };
	int rc;

	q->from_ns = INT64_MAX; /* nothing yet */
	q->to_ns = INT64_MIN;
	q->failure = (struct error){ 0 };
	rc = sql_query(q->sql, ret, NULL, text, &said);
	return rc == 0 ? 0 : query_wrong(q->sql, rc, err);
}

const struct error *query_failure(const struct query *q)
{
	return q->failure.code ? &q->failure : NULL;
}

bool query_is_complete(const char *text)
{
	return sqlite3_complete(text);
}
