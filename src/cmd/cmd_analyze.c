/*
 * cmd_analyze.c - `inferscope analyze`: where the time of a trace went.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/printer.h"
#include "cmd/progress.h"
#include "report/report.h"
#include "timeline/timeline.h"

static const char *const formats[] = { "text", "md", "json", NULL };
enum format { FORMAT_UNSET = -1, FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_JSON };

struct analyze {
	const char *output;
	int format;
	int64_t top;
	struct work_rules *rules;
};

/* As the suffix of the file says; text on standard output. */
static int choose_format(struct analyze *c)
{
	const char *dot = c->output ? strrchr(c->output, '.') : NULL;

	if (c->format != FORMAT_UNSET)
		return 0;
	if (!c->output || strcmp(c->output, "-") == 0 || (dot && strcmp(dot, ".txt") == 0))
		c->format = FORMAT_TEXT;
	else if (dot && strcmp(dot, ".md") == 0)
		c->format = FORMAT_MARKDOWN;
	else if (dot && strcmp(dot, ".json") == 0)
		c->format = FORMAT_JSON;
	else
		return fail(EXIT_USAGE,
			    "analyze: cannot tell the format from the name '%s'; give --format text, --format md or --format json", c->output);
	return 0;
}

static struct report_text_options text_options(const struct analyze *c, bool terminal)
{
	struct report_text_options options = { .top = (unsigned)c->top, .color = terminal && command_color(STDOUT_FILENO) };
	struct winsize size;

	if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
		options.columns = size.ws_col;
	return options;
}

static int print(const struct analyze *c, const struct analysis *a, const struct report_source *source)
{
	bool terminal = (!c->output || strcmp(c->output, "-") == 0) && isatty(STDOUT_FILENO);
	struct report_text_options options = text_options(c, terminal);
	struct error err = { 0 };
	struct printer out;

	if (printer_open(&out, c->output, &err) < 0)
		return fail_with(&err, EXIT_ENVIRONMENT);
	if (c->format == FORMAT_JSON)
		printer_check(&out, report_json(a, source, &out.buf));
	else if (c->format == FORMAT_MARKDOWN)
		printer_check(&out, report_markdown(a, source, &out.buf));
	else
		printer_check(&out, report_text(a, source, &options, &out.buf));
	return printer_close(&out);
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
		rc = analysis_run(&analysis, timeline, &(struct analysis_options){ .rules = c->rules }, &err);
	status = rc < 0 ? fail_with(&err, EXIT_ENVIRONMENT) : print(c, analysis, source);
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
	status = analyze_reader(c, reader, &(struct report_source){ .path = about.title, .format = about.format });
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

int cmd_analyze(int argc, char **argv)
{
	struct analyze c = { .format = FORMAT_UNSET, .top = 10 };
	struct config config;
	int count, status;
	const struct option_row rows[] = {
		OPTION_TEXT('o', "output", "FILE", &c.output, "write to FILE; - is standard output"),
		OPTION_CHOICE(0, "format", "text|md|json", &c.format, formats,
			      "how to print; as the suffix of FILE says unless given, else text"),
		OPTION_INT(0, "top", "N", &c.top, 1, 1000000, "rows of each table in the text; 10 unless given"),
		OPTION_CONFIG(0, "communication", "PATTERN,...", &config, CONFIG_COMMUNICATION,
			      "device work that is communication, besides the well-known kinds; !PATTERN is not"),
		OPTION_END,
	};
	const struct options options = {
		.command = "analyze",
		.arguments = "[options] TRACE...",
		.description =
			"Says whether a trace can be believed, where its time went, and why devices were idle. Reads SBT, the JSON "
			"of PyTorch's profiler (Kineto) and of Chrome, SQLite exports of Nsight Systems and Perfetto's traces, "
			"compressed with gzip or zstd or not. Several files, or a folder, are the ranks of one job.",
		.examples = "  inferscope analyze trace.sbt\n"
			    "  inferscope analyze trace.json.gz --format json --output - | jq .devices\n"
			    "  inferscope analyze ranks/\n"
			    "  inferscope analyze trace.json.gz -o report.md\n"
			    "  inferscope analyze --communication 'my_all_reduce*' trace.json\n",
		.rows = rows,
	};

	if (config_init(&config) < 0)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	count = command_options(&options, argc, argv);
	status = count < 1 ? fail(EXIT_USAGE, "analyze: expected a trace, as in 'inferscope analyze trace.json.gz'") :
			     command_config(&config);
	if (status == 0)
		status = choose_format(&c);
	if (status == 0 && work_rules_new(&c.rules) < 0)
		status = fail(EXIT_ENVIRONMENT, "out of memory");
	if (status == 0)
		status = add_rules(c.rules, config_string(&config, CONFIG_COMMUNICATION));
	if (status == 0)
		status = analyze_files(&c, argv + 1, count);
	work_rules_free(c.rules);
	config_release(&config);
	return status;
}
