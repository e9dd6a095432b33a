/*
 * cmd_export.c - `inferscope export`: a trace in the formats of other tools.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "base/file.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/export_match.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/printer.h"
#include "cmd/progress.h"
#include "cmd/rule_files.h"
#include "export/export.h"
#include "timeline/timeline.h"

static const char *const weights[] = { "wall", "cpu", "gpu", NULL };
static const char *const switches[] = { "off", "on", NULL };

struct export {
	const char *format_name, *output;
	const char *window, *kinds, *steps;
	double shortest_us;
	int weight, findings;
	struct option_list rule_files;
	struct settings *settings; /* of the analysis; NULL: there is none */
	bool named_by_us; /* `output` */
	bool kept;        /* there was such a file */
	const struct export_format *format;
	struct export_options options;
};

/* ---- What was asked for ------------------------------------------------------------ */

static int unknown_format(const char *name)
{
	char list[256] = "";

	for (size_t i = 0; export_format_at(i); i++) {
		strcat(list, i ? ", " : "");
		strcat(list, export_format_at(i)->name);
	}
	return fail(EXIT_USAGE, "export: there is no format '%.40s'; there are %s", name, list);
}

static int choose_format(struct export *x)
{
	bool named = x->output && strcmp(x->output, "-") != 0;

	if (x->format_name)
		x->format = export_format_named(x->format_name);
	else
		x->format = named ? export_format_of_file(x->output) : export_format_at(0);
	if (x->format)
		return 0;
	if (x->format_name)
		return unknown_format(x->format_name);
	return fail(EXIT_USAGE, "export: cannot tell the format from the name '%.200s'; give --format", x->output);
}

/* "3" or "3-5"; an open end is the last. */
static int set_steps(struct export *x)
{
	struct export_options *o = &x->options;
	char *end;

	if (!x->steps)
		return 0;
	o->first_step = o->last_step = strtoll(x->steps, &end, 10);
	if (end != x->steps && *end == '-')
		o->last_step = end[1] ? strtoll(end + 1, &end, 10) : (end++, INT64_MAX);
	if (end == x->steps || *end || o->first_step < 0 || o->last_step < o->first_step)
		return fail(EXIT_USAGE, "export: --steps expects a number or a range, as in 3 or 3-5, not '%.60s'", x->steps);
	if (x->window)
		return fail(EXIT_USAGE, "export: --steps and --window both say which part of the run is meant; give one of them");
	return 0;
}

static int set_filter(struct export *x)
{
	struct row_filter *filter = &x->options.filter;
	struct error err = { 0 };

	filter->command = "export";
	filter->whole_scopes = true;
	filter->shortest_ns = (int64_t)(x->shortest_us * 1000);
	x->options.weight = (enum export_weight)x->weight;
	if ((x->kinds && row_filter_set_kinds(filter, x->kinds, &err) < 0) ||
	    (x->window && row_filter_set_window(filter, x->window, &err) < 0))
		return fail_with(&err, EXIT_USAGE);
	return set_steps(x);
}

/* The name of the trace, or of the folder of traces, with the suffix of the format, in the working directory. */
static char *default_output(const char *trace, const struct export_format *format)
{
	size_t end = strlen(trace), suffix = strcspn(format->suffixes, " "), begin, size;
	char *path = NULL;

	while (end > 0 && trace[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && trace[begin - 1] != '/'; begin--)
		;
	size = strcspn(trace + begin, "./");
	if (size == 0 || strcmp(trace, "-") == 0) {
		trace = "trace";
		begin = 0;
		size = strlen(trace);
	}
	return asprintf(&path, "%.*s%.*s", (int)size, trace + begin, (int)suffix, format->suffixes) < 0 ? NULL : path;
}

static int spare_terminal(const struct export *x)
{
	bool shown = x->output && strcmp(x->output, "-") == 0 && isatty(STDOUT_FILENO);

	if (!shown || !x->format->binary)
		return 0;
	return fail(EXIT_USAGE, "export: %s is no text and would garble the terminal; give -o FILE, or a pipe", x->format->name);
}

/* ---- Writing --------------------------------------------------------------------------- */

static int hand_to_printer(void *arg, const void *data, size_t size)
{
	struct printer *printer = arg;

	printer_check(printer, buffer_append(&printer->buf, data, size));
	return printer_ready(printer) ? 0 : printer->error ? printer->error : -EPIPE;
}

/* Failures of the output are told by printer_close(); here only those of the trace. */
static int write_trace(const struct export *x, struct trace_reader *reader, struct printer *printer)
{
	struct progress progress = PROGRESS_INIT("writing");
	struct export_options options = x->options;
	struct export_out out;
	struct error err = { 0 };
	int rc = export_out_init(&out, hand_to_printer, printer, export_packing_of(x->format, x->output));

	options.progress = progress_step;
	options.progress_arg = &progress;
	if (rc == 0)
		rc = export_trace(reader, x->format, &options, &out, &err);
	progress_end(&progress);
	export_out_release(&out);
	if (rc == 0 || printer->error || rc == -EPIPE)
		return 0;
	if (!err.code)
		error_errno(&err, rc, "cannot export");
	return fail_with(&err, EXIT_ENVIRONMENT);
}

static int write_file(struct export *x, struct trace_reader *reader)
{
	struct printer printer;
	struct error err = { 0 };
	int status;

	if (printer_open(&printer, x->output, &err) < 0)
		return fail_with(&err, EXIT_ENVIRONMENT);
	status = write_trace(x, reader, &printer);
	if (status == 0 && printer.error == 0 && x->named_by_us && file_keep_older(x->output, &x->kept, &err) < 0)
		status = fail_with(&err, EXIT_ENVIRONMENT); /* a name we chose may be that of the file the trace was made of */
	if (status == 0)
		return printer_close(&printer);
	printer_discard(&printer);
	return status;
}

/* What the analysis has found goes along, where the format has a place for it. */
static int with_findings(struct export *x, struct trace_reader *reader, const struct report_source *source)
{
	struct progress progress = PROGRESS_INIT("reading events");
	const struct timeline_options options = { .progress = progress_step, .progress_arg = &progress,
						  .origins = x->options.filter.depth >= 0 }; /* export/depths.h asks for them */
	struct timeline *timeline = NULL;
	struct analysis *analysis = NULL;
	struct error err = { 0 };
	int rc, status;

	rc = timeline_build(&timeline, reader, &options, &err);
	progress_end(&progress);
	if (rc == 0)
		rc = settings_analyze(x->settings, timeline, source, &analysis, &err);
	x->options.analysis = analysis;
	status = rc < 0 ? fail_with(&err, EXIT_ENVIRONMENT) : write_file(x, reader);
	analysis_free(analysis);
	timeline_free(timeline);
	return status;
}

static int export_files(struct export *x, char **paths, int count)
{
	const struct input_options options = { .output = x->output };
	struct report_source source;
	struct input_about about;
	struct trace_reader *reader;
	int status = input_open_many(&reader, paths, count, &options, &about);

	if (status)
		return status;
	source = (struct report_source){ .path = about.title, .format = about.format, .version = INFERSCOPE_VERSION };
	status = input_check_any(reader, about.title);
	status = status ? status : export_match_check(reader, &x->options.filter, x->kinds, about.title);
	if (status == 0)
		status = x->settings ? with_findings(x, reader, &source) : write_file(x, reader);
	if (status == 0)
		input_warn_of_damage(reader, about.title);
	trace_reader_close(reader);
	input_about_release(&about);
	return status;
}

/* What goes to standard output says itself that it is there. */
static void say_written(const struct export *x)
{
	if (strcmp(x->output, "-") != 0)
		notice(x->kept ? "wrote %s; the older one is %s.old" : "wrote %s", x->output, x->output);
}

static int export_to(struct export *x, char **paths, int count)
{
	char *made = x->output ? NULL : default_output(paths[0], x->format);
	int status;

	if (!x->output && !made)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	x->named_by_us = made;
	x->output = x->output ? x->output : made;
	status = spare_terminal(x);
	status = status ? status : export_files(x, paths, count);
	if (status == 0)
		say_written(x);
	free(made);
	return status;
}

int cmd_export(int argc, char **argv)
{
	struct export x = { .options = EXPORT_OPTIONS_INIT, .findings = 1 };
	struct row_filter *filter = &x.options.filter;
	struct config config;
	struct error err = { 0 };
	int count, status;
	const struct option_row rows[] = {
		OPTION_TEXT(0, "format", "FORMAT", &x.format_name,
			    "perfetto, chrome, kineto, speedscope, collapsed, pprof or firefox; as the suffix of FILE says unless given, else "
			    "perfetto"),
		OPTION_TEXT('o', "output", "FILE", &x.output,
			    "write to FILE, named after the trace unless given; - is standard output, a name that ends in .gz is compressed"),
		OPTION_TEXT(0, "window", "FROM:TO", &x.window, "only what is between FROM and TO, milliseconds after the start of the trace"),
		OPTION_TEXT(0, "steps", "N[-M]", &x.steps, "only the time of these steps"),
		OPTION_TEXT(0, "kind", "KIND,...", &x.kinds, "only these kinds of events"),
		OPTION_TEXT(0, "name", "PATTERN", &filter->name, "only names that match a shell pattern"),
		OPTION_INT(0, "thread", "TID", &filter->thread, 0, INT32_MAX, "only this thread"),
		OPTION_INT(0, "process", "PID", &filter->process, 0, INT32_MAX, "only this process"),
		OPTION_INT(0, "depth", "N", &filter->depth, 1, 65535, "only slices that are inside fewer than N others"),
		OPTION_REAL(0, "min-duration", "US", &x.shortest_us, 0, 1e15, "only slices of at least US microseconds"),
		OPTION_CHOICE(0, "weight", "wall|cpu|gpu", &x.weight, weights,
			      "what stacks are weighed by, in speedscope, collapsed, pprof and firefox; wall unless given"),
		OPTION_CHOICE(0, "findings", "on|off", &x.findings, switches,
			      "mark what the analysis found, in perfetto and chrome, and steps in kineto; on unless given; off needs no memory for the trace"),
		OPTION_CONFIG(0, "communication", "PATTERN,...", &config, CONFIG_COMMUNICATION,
			      "device work that is communication, besides the well-known kinds; !PATTERN is not"),
		OPTION_LIST(0, "rules-file", "FILE", &x.rule_files, "what else to find, and from where on: a YAML file (docs/rules.md); may be given again"),
		OPTION_END,
	};
	const struct options options = {
		.command = "export",
		.arguments = "[options] TRACE...",
		.description =
			"Writes a trace, of whatever tool, for another one: Perfetto (ui.perfetto.dev), Chrome, PyTorch's (Kineto, HTA), speedscope, "
			"flame graphs from collapsed stacks, pprof, the Firefox Profiler. The file appears when it is whole.",
		.examples = "  inferscope export trace.sbt\n"
			    "  inferscope export trace.sbt -o trace.json.gz\n"
			    "  inferscope export --format kineto --steps 3-5 trace.sbt\n"
			    "  inferscope export --format collapsed --weight cpu -o - trace.sbt | flamegraph.pl > cpu.svg\n",
		.rows = rows,
	};

	if (config_init(&config) < 0)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	count = command_options(&options, argc, argv);
	status = count < 1 ? fail(EXIT_USAGE, "export: expected a trace, as in 'inferscope export trace.sbt'") : command_config(&config);
	status = status ? status : choose_format(&x);
	status = status ? status : set_filter(&x);
	if (status == 0 && x.findings && x.format->findings && rule_files_open(&x.settings, "export", &config, &x.rule_files, &err) < 0)
		status = fail_with(&err, EXIT_USAGE);
	status = status ? status : export_to(&x, argv + 1, count);
	settings_free(x.settings);
	config_release(&config);
	return status;
}
