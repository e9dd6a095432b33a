/*
 * cmd_import.c - `inferscope import`: traces of other tools become one SBT trace.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/input_paths.h"
#include "cmd/options.h"
#include "cmd/unfinished.h"
#include "import/import.h"
#include "record/trace_file.h"

struct importing {
	const char *output;
	struct input_options options;
	struct input_paths list;
	struct trace_file file;
	struct import_reports reports;
};

/* ---- What is said -------------------------------------------------------------------- */

static void print_closing_line(const struct importing *c)
{
	struct buffer name = BUFFER_INIT;
	uint64_t events = 0, skipped = 0, repaired = 0, cut = 0;
	struct stat st = { 0 };
	char a[TEXT_COUNT_SIZE], b[TEXT_COUNT_SIZE];

	for (size_t i = 0; i < c->reports.count; i++) {
		events += c->reports.files[i].events;
		skipped += c->reports.files[i].skipped;
		repaired += c->reports.files[i].repaired;
		cut += c->reports.files[i].cut;
	}
	stat(c->output, &st);
	(void)text_append_terminal(&name, c->output, strlen(c->output), 0);
	fprintf(stderr, "inferscope: %s of %s", text_count(a, events, "event", "events"),
		text_count(b, c->reports.count, "file", "files"));
	if (skipped)
		fprintf(stderr, ", %s skipped", text_group_digits(a, skipped));
	if (repaired)
		fprintf(stderr, ", %s repaired", text_group_digits(a, repaired));
	if (cut)
		fprintf(stderr, ", %s cut", text_count(a, cut, "argument", "arguments"));
	fprintf(stderr, "; trace in %.*s (%s", (int)name.size, (const char *)name.data,
		text_byte_size(a, (uint64_t)st.st_size));
	if (events)
		fprintf(stderr, ", %.1f bytes an event", (double)st.st_size / (double)events);
	fprintf(stderr, ")\n");
	buffer_release(&name);
}

static int import_files(struct importing *c)
{
	struct error err = { 0 };
	char name[PATH_MAX];
	int fd, rc;

	unfinished_begin();
	rc = trace_file_create(&c->file, c->output, &fd, &err);
	unfinished_is(rc ? NULL : c->file.partial);
	if (rc)
		return fail_with(&err, EXIT_ENVIRONMENT);
	rc = input_import(fd, &c->list, &c->options, &c->reports, &err);
	if (rc == 0)
		rc = trace_file_publish(&c->file, 0, &err);
	if (rc) {
		trace_file_remove(&c->file);
		return fail_with(&err, EXIT_INPUT);
	}
	c->output = file_place_name(c->output, c->file.place.number, name);
	if (command_says_more())
		print_closing_line(c);
	return EXIT_OK;
}

int cmd_import(int argc, char **argv)
{
	struct importing c = { .output = "trace.sbt", .list = INPUT_PATHS_INIT };
	const struct option_row rows[] = {
		OPTION_TEXT('o', "output", "FILE", &c.output, "where the trace goes; trace.sbt unless given"),
		OPTION_FLAG(0, "lean", &c.options.lean,
			    "leave out arguments of events that no analysis looks at: faster, and the trace is smaller"),
		OPTION_END,
	};
	const struct options options = {
		.command = "import",
		.arguments = "[options] TRACE...",
		.description =
			"Makes one trace of those that other tools wrote: JSON of Chrome and of PyTorch's profiler (Kineto), "
			"SQLite "
			"exports of Nsight Systems, Perfetto, JSON of 'inferscope dump', and SBT. The format is told by the "
			"content, and "
			"so is compression with gzip or zstd. A folder stands for the traces in it. Several files are the "
			"ranks of one job. Of a damaged file all that can be read is taken.",
		.examples = "  inferscope import trace.json.gz -o trace.sbt\n"
			    "  inferscope import rank0.json rank1.json rank2.json rank3.json -o job.sbt\n"
			    "  inferscope import traces/ -o job.sbt\n",
		.rows = rows,
	};
	int count = command_options(&options, argc, argv), status;

	if (count < 1)
		return fail(EXIT_USAGE,
			    "import: expected a trace of another tool, as in 'inferscope import trace.json.gz -o trace.sbt'");
	status = input_expand(&c.list, argv + 1, count, c.output);
	status = status ? status : import_files(&c);
	import_reports_release(&c.reports);
	input_paths_release(&c.list);
	return status;
}
