/*
 * cmd_analyze.c - `inferscope analyze`: where the time of a trace went.
 */
#include <string.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "base/log.h"
#include "cmd/analyze.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/printer.h"
#include "cmd/progress.h"
#include "cmd/report_file.h"
#include "cmd/rule_files.h"
#include "timeline/timeline.h"

#define LOG_TAG "analyze"
#define FORMAT_UNSET (-1)
#define REPORT_NAME "report.md"

struct analyze {
	const char *output; /* a file; NULL: standard output alone */
	int format;
	int64_t top; /* 0: as each output thinks best */
	int view;    /* where the terminal view goes: a descriptor; -1: nowhere */
	bool brief;  /* of the view: the diagnosis alone */
	struct work_rules *rules;
	struct option_list rule_files;
	struct rules *own; /* what users want to be told */
	int64_t clock_margin; /* ns */
};

/* Without --output, --format says what goes to standard output; else it is report.md and the terminal view. */
static int choose_output(struct analyze *c)
{
	bool dash = c->output && strcmp(c->output, "-") == 0;

	c->view = dash || (!c->output && c->format != FORMAT_UNSET) ? -1 : STDOUT_FILENO;
	if (!c->output && c->format == FORMAT_UNSET)
		c->output = REPORT_NAME;
	else if (dash)
		c->output = NULL;
	if (c->format == FORMAT_UNSET)
		c->format = c->output ? report_format_of(c->output) : REPORT_TEXT;
	if (c->format == FORMAT_UNSET)
		return fail(EXIT_USAGE,
			    "analyze: cannot tell the format from the name '%s'; give --format text, --format md or --format json", c->output);
	return 0;
}

static struct report_text_options text_options(const struct analyze *c)
{
	struct report_text_options options = { .top = (unsigned)c->top };
	struct report_view_options view;

	if (!c->output) {
		view = report_view_for(STDOUT_FILENO);
		options.columns = view.columns >= 80 ? view.columns : 0;
		options.color = view.color;
		options.ascii = view.ascii;
	}
	return options;
}

static int print(const struct analyze *c, const struct analysis *a, const struct report_source *source)
{
	struct report_text_options options = text_options(c);
	struct printer out;

	printer_stdout(&out);
	printer_check(&out, report_append((enum report_format)c->format, a, source, &options, &out.buf));
	return printer_close(&out);
}

static int write_report(const struct analyze *c, const struct analysis *a, const struct report_source *source)
{
	struct report_text_options options = text_options(c);
	struct buffer report = BUFFER_INIT;
	struct error err = { 0 };
	int rc = report_append((enum report_format)c->format, a, source, &options, &report);

	if (rc == 0)
		rc = report_file_write(c->output, &report, &err);
	buffer_release(&report);
	return rc < 0 ? fail_with(&err, EXIT_ENVIRONMENT) : 0;
}

static int show_view(const struct analyze *c, const struct analysis *a, const struct report_source *source, bool written)
{
	struct report_view_options options = report_view_for(c->view);
	struct printer out;

	options.top = (unsigned)c->top;
	options.report = written ? c->output : NULL;
	options.trace = source->path;
	printer_stdout(&out);
	out.fd = c->view;
	printer_check(&out, c->brief ? report_diagnosis(a, source, &options, &out.buf) : report_terminal(a, source, &options, &out.buf));
	return printer_close(&out);
}

/* A report that cannot be written is no reason not to show what would be in it. */
static int tell(const struct analyze *c, const struct analysis *a, const struct report_source *source)
{
	int status, shown = 0;

	if (!c->output)
		return print(c, a, source);
	status = write_report(c, a, source);
	if (c->view >= 0)
		shown = show_view(c, a, source, status == 0);
	return status ? status : shown;
}

/* Times that may be wrong are worth a word on the terminal, whatever the report's format. */
static void warn_of_clocks(const struct analysis *a)
{
	for (size_t i = 0; i < a->check_count; i++)
		if (strcmp(a->checks[i].name, "clock_sync") == 0 && a->checks[i].status == CHECK_WARN)
			log_warn("%s", a->checks[i].detail);
}

static int analyze_reader(const struct analyze *c, struct trace_reader *reader, const struct report_source *source)
{
	struct progress progress = PROGRESS_INIT("reading events");
	const struct timeline_options options = { .progress = progress_step, .progress_arg = &progress };
	struct timeline *timeline = NULL;
	struct analysis *analysis = NULL;
	struct error err = { 0 };
	int rc, status;

	rc = timeline_build(&timeline, reader, &options, &err);
	progress_end(&progress);
	if (rc == 0)
		rc = analysis_run(&analysis, timeline,
				  &(struct analysis_options){ .rules = c->rules,
							      .thresholds = rules_thresholds(c->own),
							      .clock_margin = &c->clock_margin },
				  &err);
	if (rc == 0)
		rc = rule_files_apply(c->own, analysis, source, &err);
	if (rc == 0)
		warn_of_clocks(analysis);
	status = rc < 0 ? fail_with(&err, EXIT_ENVIRONMENT) : tell(c, analysis, source);
	analysis_free(analysis);
	timeline_free(timeline);
	return status;
}

static int analyze_files(const struct analyze *c, char **paths, int count)
{
	const struct input_options options = { .lean = true, .output = c->output };
	struct input_about about;
	struct trace_reader *reader;
	int status = input_open_many(&reader, paths, count, &options, &about);

	if (status)
		return status;
	status = analyze_reader(c, reader, &(struct report_source){ .path = about.title, .format = about.format, .version = INFERSCOPE_VERSION });
	if (status == 0)
		input_warn_of_damage(reader, about.title);
	trace_reader_close(reader);
	input_about_release(&about);
	return status;
}

/* Patterns with commas between them. */
static int add_rules(struct work_rules *rules, const char *patterns)
{
	char pattern[512];

	while (*patterns) {
		size_t size = strcspn(patterns, ",");

		if (size > 0 && size < sizeof pattern) {
			memcpy(pattern, patterns, size);
			pattern[size] = 0;
			if (work_rules_add(rules, pattern) < 0)
				return fail(EXIT_USAGE, "analyze: the pattern '%s' cannot be taken", pattern);
		} else if (size > 0) {
			return fail(EXIT_USAGE, "analyze: the pattern '%.60s...' is too long", patterns);
		}
		patterns += size + (patterns[size] == ',');
	}
	return 0;
}

/* By the settings, and with those of them that are rules. */
static int analyze_with(struct analyze *c, const struct config *config, char **paths, int count)
{
	int status;

	c->clock_margin = config_integer(config, CONFIG_SYNC_ERROR_MARGIN_US) * 1000;
	status = work_rules_new(&c->rules) < 0 ? fail(EXIT_ENVIRONMENT, "out of memory") : 0;

	if (status == 0)
		status = add_rules(c->rules, config_string(config, CONFIG_COMMUNICATION));
	if (status == 0)
		status = rule_files_open(&c->own, &c->rule_files);
	if (status == 0)
		status = analyze_files(c, paths, count);
	rules_free(c->own);
	work_rules_free(c->rules);
	return status;
}

int analyze_recording(const struct config *config, const char *trace, const char *report, bool show)
{
	struct analyze c = { .output = report, .format = report_format_of(report), .view = show ? STDERR_FILENO : -1, .brief = true };

	return analyze_with(&c, config, &(char *){ (char *)trace }, 1);
}

int cmd_analyze(int argc, char **argv)
{
	struct analyze c = { .format = FORMAT_UNSET };
	struct config config;
	int count, status;
	const struct option_row rows[] = {
		OPTION_TEXT('o', "output", "FILE", &c.output, "write the report to FILE, report.md unless given; - is standard output"),
		OPTION_CHOICE(0, "format", "text|md|json", &c.format, report_formats,
			      "of the report; as the suffix of FILE says unless given, else text; without --output it goes to standard "
			      "output"),
		OPTION_INT(0, "top", "N", &c.top, 1, 1000000, "rows of each table; 5 on a terminal and 10 in text unless given"),
		OPTION_CONFIG(0, "color", "auto|always|never", &config, CONFIG_COLOR,
			      "colours on standard output and error; auto, on a terminal, unless given"),
		OPTION_CONFIG(0, "communication", "PATTERN,...", &config, CONFIG_COMMUNICATION,
			      "device work that is communication, besides the well-known kinds; !PATTERN is not"),
		OPTION_LIST(0, "rules-file", "FILE", &c.rule_files, "what else to find, and from where on: a YAML file (docs/rules.md); may be given again"),
		OPTION_END,
	};
	const struct options options = {
		.command = "analyze",
		.arguments = "[options] TRACE...",
		.description =
			"Says whether a trace can be believed, where its time went, why devices were idle, and what to change "
			"first: in short on the terminal, and at length in report.md, an older one of which becomes report.md.old. "
			"Reads SBT, the JSON of PyTorch's profiler (Kineto) and of Chrome, SQLite exports of Nsight Systems and "
			"Perfetto's traces, compressed with gzip or zstd or not. Several files, or a folder, are the ranks of one job.",
		.examples = "  inferscope analyze trace.sbt\n"
			    "  inferscope analyze trace.json.gz --format json --output - | jq .devices\n"
			    "  inferscope analyze ranks/\n"
			    "  inferscope analyze trace.json.gz -o slow-step.md\n"
			    "  inferscope analyze trace.sbt --format text | less\n"
			    "  inferscope analyze --communication 'my_all_reduce*' trace.json\n"
			    "  inferscope analyze --rules-file rules.yaml trace.sbt\n",
		.rows = rows,
	};

	if (config_init(&config) < 0)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	count = command_options(&options, argc, argv);
	status = count < 1 ? fail(EXIT_USAGE, "analyze: expected a trace, as in 'inferscope analyze trace.json.gz'") :
			     command_config(&config);
	if (status == 0)
		status = choose_output(&c);
	if (status == 0)
		status = analyze_with(&c, &config, argv + 1, count);
	config_release(&config);
	return status;
}
