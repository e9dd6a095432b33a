/*
 * cmd_dump.c - `inferscope dump`: the events of a trace as JSON or CSV.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/dump_print.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/printer.h"
#include "rows/row_walk.h"
#include "trace/reader.h"

static const char *const formats[] = { "json", "csv", NULL };
enum format { FORMAT_UNSET = -1, FORMAT_JSON, FORMAT_CSV };

struct dump {
	struct trace_reader *reader;
	struct printer out;
	enum format format;
	uint64_t rows;
};

static int print_row(void *arg, const struct row *row)
{
	struct dump *dump = arg;

	if (dump->format == FORMAT_CSV) {
		printer_check(&dump->out, dump_row_csv(row, dump->reader, &dump->out.buf));
	} else {
		printer_printf(&dump->out, dump->rows ? ",\n" : "\n");
		printer_check(&dump->out, dump_row_json(row, dump->reader, &dump->out.buf));
	}
	dump->rows++;
	return printer_ready(&dump->out) ? 0 : dump->out.error;
}

static void print_begin(struct dump *dump)
{
	if (dump->format == FORMAT_CSV)
		printer_check(&dump->out, dump_csv_header(&dump->out.buf));
	else
		printer_printf(&dump->out, "[");
}

static void print_end(struct dump *dump)
{
	if (dump->format == FORMAT_JSON)
		printer_printf(&dump->out, "\n]\n");
}

/* Failures of the output are told by printer_close(); here only what the trace is to blame for. */
static int print_trace(struct dump *dump, const char *path, const struct row_filter *filter)
{
	struct error err = { 0 };
	uint64_t decoded;
	int rc, status = 0;

	print_begin(dump);
	rc = row_walk(dump->reader, filter, print_row, dump, &decoded, &err);
	print_end(dump);
	if (rc < 0 && dump->out.error == 0)
		status = fail_with(&err, EXIT_ENVIRONMENT);
	if (rc == 0)
		status = input_check_readable(dump->reader, path, decoded);
	if (status == 0)
		input_warn_of_damage(dump->reader, path);
	return status;
}

static int dump_trace(const char *path, const char *output, enum format format, const struct row_filter *filter)
{
	struct dump dump = { .format = format };
	struct error err = { 0 };
	int status = input_spare(path, output);

	if (status == 0)
		status = input_open(&dump.reader, path);
	if (status)
		return status;
	if (printer_open(&dump.out, output, &err) < 0) {
		status = fail_with(&err, EXIT_ENVIRONMENT);
	} else {
		status = print_trace(&dump, path, filter);
		if (status)
			printer_discard(&dump.out);
		else
			status = printer_close(&dump.out);
	}
	trace_reader_close(dump.reader);
	return status;
}

/* The suffix of the file decides, where there is one. */
static int choose_format(int *format, const char *output)
{
	const char *dot = output ? strrchr(output, '.') : NULL;

	if (*format != FORMAT_UNSET)
		return 0;
	if (!output || strcmp(output, "-") == 0 || (dot && strcmp(dot, ".json") == 0))
		*format = FORMAT_JSON;
	else if (dot && strcmp(dot, ".csv") == 0)
		*format = FORMAT_CSV;
	else
		return fail(EXIT_USAGE,
			    "dump: cannot tell the format from the name '%s'; give --format json or --format csv",
			    output);
	return 0;
}

struct window_options {
	const char *window;
	double from, to; /* -1: not given */
};

static int set_window(struct row_filter *filter, const struct window_options *w, struct error *err)
{
	bool range = w->from >= 0 || w->to >= 0;

	if (w->window && range) {
		err->exit_code = EXIT_USAGE;
		return error_set(err, -EINVAL,
				 "dump: --window says the same as --from and --to; give one or the other");
	}
	if (w->window)
		return row_filter_set_window(filter, w->window, err);
	if (range)
		return row_filter_set_range(filter, w->from >= 0 ? w->from : 0, w->to >= 0 ? w->to : 1e300, err);
	return 0;
}

int cmd_dump(int argc, char **argv)
{
	struct row_filter filter = ROW_FILTER_INIT;
	struct window_options window = { NULL, -1, -1 };
	const char *output = NULL, *kinds = NULL;
	int format = FORMAT_UNSET, count, status;
	struct error err = { 0 };
	const struct option_row rows[] = {
		OPTION_CHOICE(0, "format", "json|csv", &format, formats,
			      "how to print; as the suffix of FILE says unless given, else json"),
		OPTION_TEXT('o', "output", "FILE", &output, "write to FILE; - is standard output"),
		OPTION_REAL(0, "from", "MS", &window.from, 0, 1e15,
			    "leave out what ends before MS milliseconds after the start of the trace"),
		OPTION_REAL(0, "to", "MS", &window.to, 0, 1e15, "leave out what begins at MS milliseconds or later"),
		OPTION_TEXT(0, "window", "FROM:TO", &window.window, "the same as --from FROM --to TO"),
		OPTION_TEXT(0, "kind", "KIND,...", &kinds, "only these kinds of events"),
		OPTION_TEXT(0, "name", "PATTERN", &filter.name, "only names that match a shell pattern"),
		OPTION_INT(0, "thread", "TID", &filter.thread, 0, INT32_MAX, "only this thread"),
		OPTION_INT(0, "process", "PID", &filter.process, 0, INT32_MAX, "only this process"),
		OPTION_END,
	};
	const struct options options = {
		.command = "dump",
		.arguments = "[options] TRACE",
		.description =
			"Prints the events of a trace, as a JSON array with one event a line or as CSV. A scope is two "
			"events, scope_enter and scope_exit; a slice of another kind is one, where it ends. Times are "
			"microseconds since the start of the trace.",
		.examples = "  inferscope dump trace.sbt\n"
			    "  inferscope dump --kind gpu_kernel,h2d_copy -o gpu.csv trace.sbt\n"
			    "  inferscope dump --window 1200:1210 --name 'decode*' trace.sbt\n",
		.rows = rows,
	};

	count = command_options(&options, argc, argv);
	if (count != 1)
		return fail(EXIT_USAGE, "dump: expected one trace, as in 'inferscope dump trace.sbt'");
	if ((kinds && row_filter_set_kinds(&filter, kinds, &err) < 0) || set_window(&filter, &window, &err) < 0)
		return fail_with(&err, EXIT_USAGE);
	status = choose_format(&format, output);
	return status ? status : dump_trace(argv[1], output, (enum format)format, &filter);
}
