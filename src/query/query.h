/*
 * query.h - questions to a trace, in SQL.
 *
 *      struct query *q;
 *      query_open(&q, reader, &options, &err);
 *      query_run(q, "SELECT name, sum(dur) FROM slices GROUP BY name", &rows, &err);
 *      while (sql_query_step(rows, &err) > 0) ...
 *      sql_query_free(rows);
 *      query_close(q);
 *
 * The tables are made while they are read (docs/query.md has them).  Nothing is
 * read of the trace before a question needs it; one that is about a part of the
 * run alone, by constants, reads only that part.  One question at a time.
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include "analyze/analysis.h"
#include "sql/sandbox.h"
#include "trace/reader.h"

struct query_options {
	bool (*stop)(void *arg); /* asked a few times a second; true ends the question.  May be NULL */
	void *stop_arg;
	void (*progress)(void *arg, uint64_t done, uint64_t total); /* of blocks of events; may be NULL */
	void *progress_arg;
	/* How the analysis is made, when a question needs it; NULL: as usual. */
	int (*analyze)(void *arg, const struct timeline *t, struct analysis **ret, struct error *err);
	void *analyze_arg;
};

struct query;

int query_open(struct query **ret, struct trace_reader *reader, const struct query_options *options, struct error *err);
void query_close(struct query *q);

/* One SELECT.  What is wrong with it is said in err, -EINVAL with exit_code 2, with the place where SQLite knows it. */
int query_run(struct query *q, const char *text, struct sql_query **ret, struct error *err);

/* Why the last question failed while it ran, where the trace is to blame and not the question; else NULL. */
const struct error *query_failure(const struct query *q);

/* The tables, and their columns with types, as CREATE TABLE has them; NULL past the last. */
const char *query_table_name(size_t i);
const char *query_table_columns(size_t i);

/* Whether a text, as it is typed line by line, has come to the semicolon that ends a question. */
bool query_is_complete(const char *text);

#endif
