/*
 * cmd_analyze.c - `inferscope analyze`: where the time of a trace went.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "base/log.h"
#include "cmd/analyze.h"
#include "cmd/builtin.h"
#include "cmd/chart_files.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/printer.h"
#include "cmd/progress.h"
#include "cmd/report_file.h"
#include "cmd/rule_files.h"
#include "cmd/template_file.h"
#include "rows/row_filter.h"
#include "timeline/timeline.h"

#define LOG_TAG "analyze"
#define FORMAT_UNSET (-1)
#define REPORT_NAME "report.md"

struct analyze {
	const char *output; /* a file; NULL: standard output alone */
	struct file_place *place; /* of that, where others may want the name; NULL: nobody does */
	int format;
	int64_t top; /* 0: as each output thinks best */
	int view;    /* where the terminal view goes: a descriptor; -1: nowhere */
	bool brief;  /* of the view: the diagnosis alone */
	struct option_list rule_files;
	struct settings *settings;
	const char *template_path;
	struct template *template; /* NULL: the report is one of ours */
	const char *charts;        /* a folder; NULL: none */
	int chart_format;
	const char *range;
	struct page_options page;
};

/* A template is for one of two formats, which its name tells unless something else does. */
static int open_template(struct analyze *c)
{
	if (!c->template_path)
		return 0;
	if (c->format == FORMAT_UNSET && c->output && strcmp(c->output, "-") != 0)
		c->format = report_format_of(c->output);
	if (c->format == FORMAT_UNSET)
		c->format = template_file_report_format(c->template_path);
	if (c->format != REPORT_MARKDOWN && c->format != REPORT_HTML)
		return fail(EXIT_USAGE, "analyze: a template is for one of two formats; give --format md or --format html");
	return template_file_open(&c->template, c->template_path, c->format == REPORT_HTML ? TEMPLATE_HTML : TEMPLATE_MARKDOWN);
}

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
			    "analyze: cannot tell the format from the name '%s'; give --format text, md, json or html", c->output);
	return 0;
}

/* A part of the run, as `dump` has it.  It changes no figure, so that it is for what shows slices alone. */
static int choose_range(struct analyze *c)
{
	struct row_filter filter = ROW_FILTER_INIT;
	struct error err = { 0 };

	if (!c->range)
		return 0;
	if (c->template || c->format != REPORT_HTML)
		return fail(EXIT_USAGE, "analyze: --range is for the page alone, since all figures are of the whole run; give --format "
					"html%s", c->template ? " without --template" : "");
	if (row_filter_set_window(&filter, c->range, &err) < 0 || filter.from_ns >= filter.to_ns)
		return fail(EXIT_USAGE, "analyze: --range expects FROM:TO in milliseconds, as in 10:20.5, with TO the later, not '%.60s'",
			    c->range);
	c->page.from = filter.from_ns;
	c->page.to = filter.to_ns;
	return 0;
}

static int check_range(const struct analyze *c, const struct timeline *t, struct error *err)
{
	if (c->page.from <= t->duration)
		return 0;
	err->exit_code = EXIT_USAGE;
	return error_set(err, -EINVAL, "analyze: --range begins at %.3f ms, and the run is over after %.3f ms",
			 (double)c->page.from / 1e6, (double)t->duration / 1e6);
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

static int make_report(const struct analyze *c, const struct analysis *a, const struct report_source *source, struct buffer *out,
		       struct error *err)
{
	struct report_text_options options = text_options(c);

	if (c->template)
		return report_append_template(c->template, a, source, out, err);
	return report_append((enum report_format)c->format, a, source, &options, &c->page, out);
}

static int print(const struct analyze *c, const struct analysis *a, const struct report_source *source)
{
	struct error err = { 0 };
	struct printer out;
	int rc;

	printer_stdout(&out);
	rc = make_report(c, a, source, &out.buf, &err);
	if (rc < 0 && err.code) {
		printer_discard(&out);
		return fail_with(&err, EXIT_ENVIRONMENT);
	}
	printer_check(&out, rc);
	return printer_close(&out);
}

static int write_report(const struct analyze *c, const struct analysis *a, const struct report_source *source)
{
	struct buffer report = BUFFER_INIT;
	struct error err = { 0 };
	int rc = make_report(c, a, source, &report, &err);

	if (rc == 0)
		rc = c->place ? report_file_write_at(c->place, &report, &err) : report_file_write(c->output, &report, &err);
	buffer_release(&report);
	return rc < 0 ? fail_with(&err, EXIT_ENVIRONMENT) : 0;
}

static int show_view(const struct analyze *c, const struct analysis *a, const struct report_source *source, bool written)
{
	struct report_view_options options = report_view_for(c->view);
	struct printer out;
	char name[PATH_MAX];

	options.top = (unsigned)c->top;
	options.report = !written ? NULL : c->place ? file_place_name(c->output, c->place->number, name) : c->output;
	options.trace = source->path;
	printer_stdout(&out);
	out.fd = c->view;
	printer_check(&out, c->brief ? report_diagnosis(a, source, &options, &out.buf) : report_terminal(a, source, &options, &out.buf));
	return printer_close(&out);
}

/* A report that cannot be written is no reason not to show what would be in it. */
static int tell(const struct analyze *c, const struct analysis *a, const struct report_source *source)
{
	int status, shown = 0, drawn;

	status = c->output ? write_report(c, a, source) : print(c, a, source);
	if (c->output && c->view >= 0)
		shown = show_view(c, a, source, status == 0);
	drawn = c->charts ? chart_files_write(c->charts, (enum chart_format)c->chart_format, a) : 0;
	return status ? status : shown ? shown : drawn;
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
		rc = check_range(c, timeline, &err);
	if (rc == 0)
		rc = settings_analyze(c->settings, timeline, source, &analysis, &err);
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

static int analyze_with(struct analyze *c, const struct config *config, char **paths, int count)
{
	struct error err = { 0 };
	int status;

	if (rule_files_open(&c->settings, "analyze", config, &c->rule_files, &err) < 0)
		return fail_with(&err, EXIT_USAGE);
	status = analyze_files(c, paths, count);
	settings_free(c->settings);
	return status;
}

int analyze_recording(const struct config *config, const char *trace, struct file_place *report, bool show)
{
	struct analyze c = { .output = report->path, .place = report, .format = report_format_of(report->path),
			     .view = show ? STDERR_FILENO : -1, .brief = true };

	return analyze_with(&c, config, &(char *){ (char *)trace }, 1);
}

int analyze_to_file(const struct config *config, char **traces, int count, const char *report)
{
	struct analyze c = { .output = report, .format = report_format_of(report), .view = -1 };

	return analyze_with(&c, config, traces, count);
}

int cmd_analyze(int argc, char **argv)
{
	struct analyze c = { .format = FORMAT_UNSET };
	struct config config;
	int count, status;
	const struct option_row rows[] = {
		OPTION_TEXT('o', "output", "FILE", &c.output, "write the report to FILE, report.md unless given; - is standard output"),
		OPTION_CHOICE(0, "format", "text|md|json|html", &c.format, report_formats,
			      "of the report; as the suffix of FILE says unless given, else text; without --output it goes to standard "
			      "output"),
		OPTION_TEXT(0, "range", "FROM:TO", &c.range,
			    "of a page: every slice between FROM and TO milliseconds, and of the rest what there is room for; the page opens "
			    "there"),
		OPTION_TEXT(0, "template", "FILE", &c.template_path,
			    "make the report after FILE (docs/templates.md), as md or html; as the suffix of the output or of FILE says "
			    "unless --format is given"),
		OPTION_TEXT(0, "charts", "DIR", &c.charts, "write charts of findings, resources, steps and the breakdown into the folder DIR"),
		OPTION_CHOICE(0, "chart-format", "svg|png", &c.chart_format, chart_formats, "of the charts; svg unless given, png needs cairo"),
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
			    "  inferscope analyze trace.sbt -o report.html\n"
			    "  inferscope analyze trace.sbt --range 1200:1250.5 -o part.html\n"
			    "  inferscope analyze trace.sbt --format text | less\n"
			    "  inferscope analyze trace.sbt --charts charts/\n"
			    "  inferscope analyze trace.sbt --template report.md.in -o ours.md\n"
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
		status = open_template(&c);
	if (status == 0)
		status = choose_output(&c);
	if (status == 0)
		status = choose_range(&c);
	if (status == 0)
		status = analyze_with(&c, &config, argv + 1, count);
	template_free(c.template);
	config_release(&config);
	return status;
}
