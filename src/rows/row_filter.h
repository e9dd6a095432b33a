/*
 * row_filter.h - which rows of a trace are wanted.
 */
#ifndef ROWS_ROW_FILTER_H
#define ROWS_ROW_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "rows/row.h"
#include "rows/row_set.h"

struct row_filter {
	const char *command;    /* for messages */
	uint64_t types;         /* one bit a type of row; 0: all */
	const char *name;       /* shell pattern, or NULL */
	int64_t thread;         /* -1: all */
	int64_t process;        /* -1: all */
	int64_t depth;          /* only slices that are inside fewer than this; -1: all */
	const struct row_set *deep; /* the others, by their begins; NULL: their recorded depth tells */
	int64_t shortest_ns;    /* only slices that last this long; 0: all */
	bool whole_scopes;      /* a scope is one row, as slices of other kinds are */
	bool windowed;          /* only [from_ns, to_ns), since the start of the trace */
	int64_t from_ns, to_ns;
	void (*progress)(void *arg, uint64_t done, uint64_t total); /* of blocks, for who wants to know; may be NULL */
	void *progress_arg;
};
#define ROW_FILTER_INIT { .command = "dump", .thread = -1, .process = -1, .depth = -1, .from_ns = INT64_MIN, .to_ns = INT64_MAX }

/* "scope,gpu_kernel"; also scope_enter and scope_exit.  The errors are -EINVAL, a sentence, and exit_code 2. */
int row_filter_set_kinds(struct row_filter *filter, const char *list, struct error *err);
/* "A:B" in milliseconds, either of which may be missing. */
int row_filter_set_window(struct row_filter *filter, const char *window, struct error *err);
int row_filter_set_range(struct row_filter *filter, double from_ms, double to_ms, struct error *err);

/* Thread and process alone; then everything but the window, which depends on what the row is. */
bool row_filter_match_track(const struct row_filter *filter, uint32_t number, const struct trace_reader *reader);
bool row_filter_match(const struct row_filter *filter, const struct row *row, const struct trace_reader *reader);

#endif
