/*
 * cmd_monitor.c - `inferscope monitor`: runs a program, records it, and shows it meanwhile.
 *
 * It is `run` with somebody who looks on, and with defaults for a program that
 * runs for long: no calls of Python functions, a trace that is bounded, no
 * analysis at the end.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/late_options.h"
#include "cmd/live_settings.h"
#include "cmd/options.h"
#include "cmd/recording.h"
#include "cmd/run_program.h"
#include "live/lines.h"
#include "live/outside.h"

#define MAX_FILE_MB "512"
#define ALERTS_LISTED 10u

struct monitor {
	struct live_settings settings;
	const char *step;
	struct live *live;
	struct recorder_onlooker onlooker;
	int streams[3];
};

/* ---- Around the program ------------------------------------------------------------------ */

static void join_command(char *const argv[], char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; argv[i] && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " " : "", argv[i]);
}

/* Of the words the first three, which is where a program and its script are. */
static void name_program(char *const argv[], char *out, size_t size)
{
	struct buffer text = BUFFER_INIT;
	int rc = 0;

	for (size_t i = 0; argv[i] && i < 3 && rc == 0; i++)
		rc = buffer_append(&text, argv[i], strlen(argv[i]) + 1);
	if (rc == 0)
		(void)live_outside_program((const char *)text.data, text.size, out, size);
	buffer_release(&text);
}

static int begin(void *arg, char *const argv[], struct recorder_options *options)
{
	struct monitor *m = arg;
	struct live_options live = { .title = "monitor", .command = m->settings.command, .program = m->settings.program, .step = m->step,
				     .output = true };
	struct error err = { 0 };
	int status = live_settings_take(&m->settings, command_color(STDERR_FILENO), &live);

	if (status)
		return status;
	join_command(argv, m->settings.command, sizeof m->settings.command);
	name_program(argv, m->settings.program, sizeof m->settings.program);
	if (live_new(&m->live, &live, &err) != 0)
		return fail_with(&err, EXIT_ENVIRONMENT);
	live_settings_say_page(m->live);
	live_streams(m->live, m->streams);
	m->onlooker = live_onlooker(m->live);
	options->onlooker = &m->onlooker;
	options->streams = m->streams;
	options->look_ns = (int64_t)(m->settings.interval_s * 1e9);
	command_hold_messages(live_view_of(m->live) == LIVE_VIEW_TERMINAL);
	return 0;
}

/* Who looked elsewhere is told what there was. */
static int list_alerts(const struct live_snapshot *s, struct buffer *text)
{
	char more[TEXT_COUNT_SIZE];
	uint32_t count = s->alert_count < ALERTS_LISTED ? s->alert_count : ALERTS_LISTED;
	int rc = 0;

	for (uint32_t i = 0; i < count && rc == 0; i++)
		rc = live_alert_line(text, &s->alerts[i], command_color(STDERR_FILENO));
	if (rc == 0 && s->alert_count > count)
		rc = buffer_printf(text, "and %s\n", text_count(more, s->alert_count - count, "more alert", "more alerts"));
	return rc;
}

static void end(void *arg)
{
	struct monitor *m = arg;
	struct buffer text = BUFFER_INIT;

	if (m->live && live_view_of(m->live) == LIVE_VIEW_TERMINAL)
		(void)list_alerts(live_last(m->live), &text);
	live_free(m->live); /* from here on the terminal is as it was */
	m->live = NULL;
	command_hold_messages(false);
	(void)file_write_all(STDERR_FILENO, text.data, text.size);
	buffer_release(&text);
}

/* ---- The command -------------------------------------------------------------------------- */

static int set_default(struct config *config, enum config_key key, enum config_origin least, const char *text)
{
	struct error err = { 0 };

	if (config_value(config, key)->origin >= least || config_set(config, key, text, &err) == 0)
		return 0;
	return fail_with(&err, EXIT_ENVIRONMENT);
}

static int monitor(struct late_options *late, struct monitor *m, int count, char **arguments)
{
	struct run_company company = { .before = begin, .after = end, .arg = m };
	struct config *config = late->config;
	int status = late_options_config(late, &count, arguments);

	company.passed_on = late_options_passed_on(late);
	if (status == 0)
		status = set_default(config, CONFIG_CALLS, CONFIG_FROM_FILE, "off");
	if (status == 0)
		status = set_default(config, CONFIG_MAX_FILE_MB, CONFIG_FROM_FILE, MAX_FILE_MB);
	if (status == 0 && config_value(config, CONFIG_REPORT)->origin < CONFIG_FROM_COMMAND_LINE)
		status = set_default(config, CONFIG_DETAIL, CONFIG_FROM_FILE, "light");
	if (status == 0) /* one that is meant for `run` is not */
		status = set_default(config, CONFIG_REPORT, CONFIG_FROM_COMMAND_LINE, "none");
	return status ? status : run_program(config, count, arguments, &company);
}

int cmd_monitor(int argc, char **argv)
{
	struct config config;
	struct monitor m = { .settings = LIVE_SETTINGS_INIT, .streams = { -1, -1, -1 } };
	bool divided = false;
	const struct option_row rows[] = {
		LIVE_OPTIONS(&m.settings, live_settings_is_port),
		OPTION_REAL(0, "stall", "TIMES", &m.settings.alerts.stall, 2, 1000000,
			    "alert when there was no step for so many times the usual; 10 unless given"),
		OPTION_REAL(0, "bottleneck-threshold", "SHARE", &m.settings.alerts.bottleneck, 0.001, 1,
			    "alert when steps spend more than this share of their time waiting for input; 0.05 unless given"),
		OPTION_TEXT(0, "step", "NAME", &m.step, "the scope or operator that begins a step; found out unless given"),
		OPTION_CONFIG(0, "report", "FILE", &config, CONFIG_REPORT,
			      "analyse the trace at the end, into this file, as .md, .html, .txt or .json"),
		RECORDING_OPTIONS(&config),
		RUN_OPTION_GPU(&config),
		OPTION_CONFIG(0, "calls", "on|off", &config, CONFIG_CALLS, "record calls of Python functions; off unless given"),
		OPTION_CONFIG(0, "detail", "auto|full|light", &config, CONFIG_DETAIL,
			      "light, unless given or with --report: operators of PyTorch for a part of the time, if all of it would take "
			      "more than a four-hundredth; full: everything; auto: less of short calls only"),
		RUN_OPTIONS(&config),
		OPTION_END,
	};
	const struct options options = {
		.command = "monitor",
		.arguments = RUN_ARGUMENTS,
		.description = "Runs a program and records it, as run does, and shows meanwhile what it does: processors, memory, GPUs, "
			       "steps, threads and what they wait for, and alerts while there is time to act. What the program writes to "
			       "this terminal is printed when the view is left. The trace is kept below 512 MB, without calls of Python "
			       "functions, unless told otherwise. The exit status is the program's own. Press ? for the keys.",
		.examples = "  inferscope monitor train.py --epochs 3\n"
			    "  inferscope monitor --web -m serving\n"
			    "  inferscope monitor --plain --interval 10 ./infer 2>monitor.log\n"
			    "  inferscope monitor --alert 'slow: steps.median_s > 0.5' --on-alert 'slow=snapshot:30' train.py\n"
			    "  inferscope monitor --on-alert '*=log:alerts.log' --memory-threshold 0.9 train.py\n",
		.rows = rows,
		.stop_at_argument = true,
		.argument_letters = RUN_ARGUMENT_LETTERS,
		.ret_divided = &divided,
	};
	struct late_options late = { .options = &options, .config = &config };
	int count, status;

	if (config_init(&config) < 0)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	count = command_options(&options, argc, argv);
	late.divided = divided;
	if (count < 1)
		status = fail(EXIT_USAGE, "monitor: expected a program to run, as in 'inferscope monitor train.py'");
	else
		status = monitor(&late, &m, count, argv + 1);
	late_options_release(&late);
	live_settings_release(&m.settings);
	config_release(&config);
	return status;
}
