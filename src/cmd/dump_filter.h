/*
 * dump_filter.h - which rows `inferscope dump` prints.
 */
#ifndef CMD_DUMP_FILTER_H
#define CMD_DUMP_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cmd/dump_row.h"

struct dump_filter {
	uint64_t types;         /* one bit a type of row; 0: all */
	const char *name;       /* shell pattern, or NULL */
	int64_t thread;         /* -1: all */
	int64_t process;        /* -1: all */
	bool whole_scopes;      /* a scope is one row, as slices of other kinds are */
	bool windowed;          /* only [from_ns, to_ns), since the start of the trace */
	int64_t from_ns, to_ns;
};
#define DUMP_FILTER_INIT { .thread = -1, .process = -1, .from_ns = INT64_MIN, .to_ns = INT64_MAX }

/* "scope,gpu_kernel"; also scope_enter and scope_exit.  The errors are -EINVAL, a sentence, and exit_code 2. */
int dump_filter_set_kinds(struct dump_filter *filter, const char *list, struct error *err);
/* "A:B" in milliseconds, either of which may be missing. */
int dump_filter_set_window(struct dump_filter *filter, const char *window, struct error *err);
int dump_filter_set_range(struct dump_filter *filter, double from_ms, double to_ms, struct error *err);

/* Everything but the window, which depends on what the row is. */
bool dump_filter_match(const struct dump_filter *filter, const struct dump_row *row, const struct trace_reader *reader);

#endif
