/* export_match.c - see export_match.h. */
#include "cmd/export_match.h"

#include <stdio.h>

#include "base/buffer.h"
#include "cmd/command.h"
#include "rows/row_walk.h"

/* The last time in the trace, since its start. */
static int64_t end_of(const struct trace_reader *reader)
{
	int64_t end = 0;

	for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
		const struct trace_block *block = trace_reader_block(reader, i);
		int64_t last = trace_reader_since_start_ns(reader, block->domain, block->last_time);

		end = last > end ? last : end;
	}
	return end;
}

static int check_window(const struct trace_reader *reader, const struct row_filter *filter, const char *title)
{
	int64_t end = end_of(reader);

	if (!filter->windowed || filter->from_ns <= end)
		return 0;
	return fail(EXIT_USAGE, "export: --window begins at %g ms, and %s ends at %g ms", (double)filter->from_ns / 1e6, title,
		    (double)end / 1e6);
}

static int found(void *arg, const struct row *row)
{
	(void)arg;
	(void)row;
	return 1;
}

/* The options that select, as they are typed. */
static int append_selection(struct buffer *out, const struct row_filter *filter, const char *kinds)
{
	int rc = 0;

	if (filter->name)
		rc = buffer_printf(out, " --name '%s'", filter->name);
	if (rc == 0 && kinds)
		rc = buffer_printf(out, " --kind %s", kinds);
	if (rc == 0 && filter->thread >= 0)
		rc = buffer_printf(out, " --thread %lld", (long long)filter->thread);
	if (rc == 0 && filter->process >= 0)
		rc = buffer_printf(out, " --process %lld", (long long)filter->process);
	if (rc == 0 && filter->shortest_ns > 0)
		rc = buffer_printf(out, " --min-duration %g", (double)filter->shortest_ns / 1e3);
	if (rc == 0 && filter->windowed)
		rc = buffer_printf(out, " --window %g:%g", (double)filter->from_ns / 1e6, (double)filter->to_ns / 1e6);
	return rc ? rc : buffer_append(out, "", 1);
}

int export_match_check(struct trace_reader *reader, const struct row_filter *filter, const char *kinds, const char *title)
{
	struct row_filter all_depths = *filter;
	struct buffer selection = BUFFER_INIT;
	struct error err = { 0 };
	uint64_t decoded;
	int status = check_window(reader, filter, title), rc;

	if (status || append_selection(&selection, filter, kinds) || selection.size == 1) {
		buffer_release(&selection);
		return status;
	}
	all_depths.depth = -1;
	rc = row_walk(reader, &all_depths, found, NULL, &decoded, &err);
	if (rc < 0)
		status = fail_with(&err, EXIT_ENVIRONMENT);
	else if (rc == 0)
		status = fail(EXIT_NO, "export: nothing in %s matches%s; no file was written", title, (const char *)selection.data);
	buffer_release(&selection);
	return status;
}
