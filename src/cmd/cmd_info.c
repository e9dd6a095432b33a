/*
 * cmd_info.c - `inferscope info`: what is in a trace.
 */
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/info_print.h"
#include "cmd/input.h"
#include "cmd/input_stdin.h"
#include "cmd/options.h"
#include "cmd/printer.h"
#include "cmd/summary.h"
#include "trace/reader.h"

static const char *const formats[] = { "text", "json", NULL };
enum format { FORMAT_TEXT, FORMAT_JSON };

static int print(const struct info *info, enum format format)
{
	struct printer out;

	printer_stdout(&out);
	if (format == FORMAT_JSON)
		printer_check(&out, info_json(info, &out.buf));
	else
		info_print_text(info, &out);
	return printer_close(&out);
}

static int describe(const char *path, enum format format, size_t top)
{
	struct error err = { 0 };
	struct summary summary = { 0 };
	struct info info = { .path = input_stdin_name(path), .summary = &summary, .top = top };
	struct trace_reader *reader;
	int status = input_open(&reader, path);

	if (status)
		return status;
	info.reader = reader;
	if (summary_collect(&summary, reader, &err) < 0)
		status = fail_with(&err, EXIT_ENVIRONMENT);
	else
		status = input_check_readable(reader, path, summary.blocks);
	if (status == 0) {
		input_warn_of_damage(reader, path);
		status = print(&info, format);
	}
	summary_release(&summary);
	trace_reader_close(reader);
	return status;
}

int cmd_info(int argc, char **argv)
{
	int format = FORMAT_TEXT, count;
	int64_t top = 10;
	const struct option_row rows[] = {
		OPTION_CHOICE(0, "format", "text|json", &format, formats, "how to print; text unless given"),
		OPTION_INT(0, "top", "N", &top, 0, 1000000,
			   "list the N scopes, functions and operators with the most time, and the N busiest threads; 10 unless "
			   "given"),
		OPTION_END,
	};
	const struct options options = {
		.command = "info",
		.arguments = "[options] TRACE",
		.description =
			"Says what is in a trace: how long it is, what ran, its hosts, processes and threads, events "
			"by kind, what was lost and why, how good the clock is, what is damaged, and which scopes, "
			"functions and operators took the most time.",
		.examples = "  inferscope info trace.sbt\n"
			    "  inferscope info --top 30 trace.sbt\n"
			    "  inferscope info --format json trace.sbt\n",
		.rows = rows,
	};

	count = command_options(&options, argc, argv);
	if (count != 1)
		return fail(EXIT_USAGE, "info: expected one trace, as in 'inferscope info trace.sbt'");
	return describe(argv[1], (enum format)format, (size_t)top);
}
