/*
 * query_wrong.h - what to say of a question that cannot be asked.
 */
#ifndef QUERY_QUERY_WRONG_H
#define QUERY_QUERY_WRONG_H

#include "base/error.h"
#include "sql/sandbox.h"

/* Of the last failure of sql_query(), which was `code`: what SQLite says and where, and what to do.  Returns code. */
int query_wrong(const struct sql *sql, int code, struct error *err);

#endif
