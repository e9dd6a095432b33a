/*
 * cmd_trim.c - `inferscope trim`: a part of a trace, to keep or to give to somebody else.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/unfinished.h"
#include "record/trace_file.h"
#include "rows/row_filter.h"
#include "timeline/timeline.h"
#include "trace/copy.h"
#include "trace/redact.h"

struct trim {
	const char *path, *output, *window, *steps, *redact_list;
	struct trace_reader *reader;
	struct trace_copy_window part;
	struct trace_file file;
};

/* ---- Which part ------------------------------------------------------------------------ */

static int find_window(struct trim *t, struct error *err)
{
	struct row_filter filter = ROW_FILTER_INIT;
	int rc;

	filter.command = "trim";
	rc = row_filter_set_window(&filter, t->window, err);
	t->part.from_ns = filter.from_ns < 0 ? 0 : filter.from_ns;
	t->part.to_ns = filter.to_ns < TRACE_PART_END ? filter.to_ns : TRACE_PART_END;
	return rc;
}

/* "3:7", from the begin of step 3 to that of step 7; either may be missing. */
static bool parse_steps(const char *text, uint64_t *from, uint64_t *to)
{
	char *end;

	*from = 0;
	*to = UINT64_MAX;
	if (*text != ':') {
		if (*text < '0' || *text > '9')
			return false;
		*from = strtoull(text, &end, 10);
		text = end;
		if (*text == '\0') { /* one step */
			*to = *from + 1;
			return true;
		}
	}
	if (*text++ != ':')
		return false;
	if (*text) {
		if (*text < '0' || *text > '9')
			return false;
		*to = strtoull(text, &end, 10);
		text = end;
	}
	return *text == '\0' && *from < *to;
}

static int take_steps(struct trim *t, const struct timeline *timeline, uint64_t from, uint64_t to, struct error *err)
{
	int64_t begin = INT64_MAX, end = INT64_MIN;

	err->exit_code = EXIT_INPUT;
	if (timeline->step_count == 0)
		return error_set(err, -ENOENT, "trim: no steps are known of this trace; --window FROM:TO takes a part by its time");
	for (uint32_t i = 0; i < timeline->step_count; i++) {
		const struct timeline_step *s = &timeline->steps[i];

		if (s->number < 0 || (uint64_t)s->number < from || (uint64_t)s->number >= to)
			continue;
		begin = s->begin < begin ? s->begin : begin;
		end = s->end > end ? s->end : end;
	}
	if (begin >= end)
		return error_set(err, -ENOENT, "trim: there is no step in %s; this trace has steps %lld to %lld", t->steps,
				 (long long)timeline->steps[0].number, (long long)timeline->steps[timeline->step_count - 1].number);
	t->part.from_ns = begin + timeline->origin_ns;
	t->part.to_ns = end + timeline->origin_ns;
	return 0;
}

static int find_steps(struct trim *t, struct error *err)
{
	const struct timeline_options options = { 0 };
	struct timeline *timeline;
	uint64_t from, to;
	int rc;

	if (!parse_steps(t->steps, &from, &to)) {
		err->exit_code = EXIT_USAGE;
		return error_set(err, -EINVAL, "trim: --steps expects FROM:TO or one number, as in 10:20, not '%.60s'", t->steps);
	}
	rc = timeline_build(&timeline, t->reader, &options, err);
	if (rc)
		return rc;
	rc = take_steps(t, timeline, from, to, err);
	timeline_free(timeline);
	return rc;
}

static int find_part(struct trim *t, struct error *err)
{
	t->part.from_ns = 0;
	t->part.to_ns = TRACE_PART_END;
	return t->window ? find_window(t, err) : t->steps ? find_steps(t, err) : 0;
}

/* ---- Writing it ------------------------------------------------------------------------ */

static void print_closing_line(const struct trim *t, uint64_t events)
{
	struct buffer name = BUFFER_INIT;
	struct stat st = { 0 };
	char count[TEXT_COUNT_SIZE], size[32];

	stat(t->output, &st);
	(void)text_append_terminal(&name, t->output, strlen(t->output), 0);
	fprintf(stderr, "inferscope: %s in %.*s (%s)\n", text_count(count, events, "event", "events"), (int)name.size, (const char *)name.data,
		text_byte_size(size, (uint64_t)st.st_size));
	buffer_release(&name);
}

static int write_part(struct trim *t, int fd, uint64_t *ret_events, struct error *err)
{
	struct clock_reading now;
	struct trace_writer_options options = { 0 };
	struct trace_writer *writer;
	int rc, closed;

	clock_read_all(CLOCK_SOURCE_MONOTONIC, &now);
	options.created_ns = now.realtime_ns;
	rc = trace_writer_open(&writer, fd, &options, err);
	if (rc)
		return rc;
	rc = trace_copy_window(t->reader, writer, &t->part, err);
	*ret_events = trace_writer_totals(writer).events;
	closed = trace_writer_close(writer, NULL, rc ? NULL : err);
	return rc ? rc : closed;
}

static int write_file(struct trim *t)
{
	struct error err = { 0 };
	uint64_t events = 0;
	char name[PATH_MAX];
	int fd, rc;

	unfinished_begin();
	rc = trace_file_create(&t->file, t->output, &fd, &err);
	unfinished_is(rc ? NULL : t->file.partial);
	if (rc)
		return fail_with(&err, EXIT_ENVIRONMENT);
	rc = write_part(t, fd, &events, &err);
	if (rc == 0)
		rc = trace_file_publish(&t->file, 0, &err);
	if (rc) {
		trace_file_remove(&t->file);
		return fail_with(&err, EXIT_ENVIRONMENT);
	}
	if (events == 0)
		warning("nothing happened in that part of %s", t->path);
	t->output = file_place_name(t->output, t->file.place.number, name);
	if (command_says_more())
		print_closing_line(t, events);
	return EXIT_OK;
}

static int trim_trace(struct trim *t)
{
	struct error err = { 0 };
	unsigned what = 0;
	int rc = t->redact_list ? trace_redact_parse(t->redact_list, &what, &err) : 0;
	int status = rc ? fail_with(&err, EXIT_USAGE) : input_spare(t->path, t->output);

	status = status ? status : input_open(&t->reader, t->path);
	if (status)
		return status;
	rc = find_part(t, &err);
	if (rc == 0 && what)
		rc = trace_redact_new(&t->part.redact, what);
	status = rc ? fail_with(&err, EXIT_ENVIRONMENT) : write_file(t);
	if (status == 0)
		input_warn_of_damage(t->reader, t->path);
	trace_redact_free(t->part.redact);
	trace_reader_close(t->reader);
	return status;
}

int cmd_trim(int argc, char **argv)
{
	struct trim t = { 0 };
	const struct option_row rows[] = {
		OPTION_TEXT('o', "output", "FILE", &t.output, "where the part goes"),
		OPTION_TEXT(0, "window", "FROM:TO", &t.window, "only what happened between these milliseconds since the start of the trace"),
		OPTION_TEXT(0, "steps", "FROM:TO", &t.steps, "only from the begin of step FROM to that of step TO; one number is one step"),
		OPTION_TEXT(0, "redact", "WHAT,...", &t.redact_list,
			    "replace names (of the program's functions, scopes, kernels, threads), paths, and leave out args"),
		OPTION_END,
	};
	const struct options options = {
		.command = "trim",
		.arguments = "[options] TRACE -o FILE",
		.description =
			"Writes a part of a trace as a trace of its own, to keep or to give to somebody else: by time, by steps, or all of "
			"it. With --redact, names and paths are replaced by numbered ones, the same name always by the same, so that "
			"the part can be analysed by people who are not to know them.",
		.examples = "  inferscope trim trace.sbt --steps 10:20 -o small.sbt\n"
			    "  inferscope trim trace.sbt --window 1500:1750 -o moment.sbt\n"
			    "  inferscope trim trace.sbt --redact names,paths,args -o public.sbt\n",
		.rows = rows,
	};
	int count = command_options(&options, argc, argv);

	if (count != 1 || !t.output)
		return fail(EXIT_USAGE, "trim: expected a trace and where its part goes, as in 'inferscope trim trace.sbt --steps 10:20 -o small.sbt'");
	if (t.window && t.steps)
		return fail(EXIT_USAGE, "trim: --window and --steps both say which part; give one or the other");
	if (!t.window && !t.steps && !t.redact_list)
		return fail(EXIT_USAGE, "trim: say which part with --window FROM:TO or --steps FROM:TO, or what to replace with --redact");
	t.path = argv[1];
	return trim_trace(&t);
}
