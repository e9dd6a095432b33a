/*
 * cmd_top.c - `inferscope top`: looks at a process that runs already, without touching it.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/live_settings.h"
#include "cmd/options.h"
#include "cmd/printer.h"
#include "live/lines.h"
#include "live/outside.h"
#include "live/snapshot_json.h"
#include "system/proc.h"

#define COMMAND_MAX (1u << 20)
#define LOOKS_ONCE 4 /* rates need two readings, which are made between looks */

struct top {
	struct live_settings settings;
	bool once, json;
	pid_t pid;
};

/* ---- The process ---------------------------------------------------------------------------- */

/* Its command line as it is shown, and of that the program; of one that nobody may read, its name. */
static void read_command(pid_t pid, struct live_settings *s)
{
	struct buffer text = BUFFER_INIT;
	char path[64], *out = s->command;
	size_t size = sizeof s->command;

	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	out[0] = s->program[0] = '\0';
	if (file_read_whole(path, COMMAND_MAX, &text) == 0 && text.size > 0 && buffer_append(&text, "", 1) == 0) {
		text.size--;
		(void)live_outside_program((const char *)text.data, text.size, s->program, sizeof s->program);
		for (size_t i = 0; i + 1 < text.size; i++)
			if (text.data[i] == '\0')
				text.data[i] = ' ';
		snprintf(out, size, "%.*s", (int)(text.size < size ? text.size : size), (const char *)text.data);
	}
	if (!out[0])
		(void)proc_thread_name(pid, pid, out, size);
	if (!s->program[0])
		(void)proc_thread_name(pid, pid, s->program, sizeof s->program);
	buffer_release(&text);
}

/* What the kernel shows only to who could also change the process. */
static void say_missing_rights(pid_t pid)
{
	int fd = proc_open(pid, 0, "syscall");

	if (fd >= 0)
		close(fd);
	else if (fd == -EACCES || fd == -EPERM)
		warning("what process %d reads, writes and waits for is not shown: that needs to be its user, or root", (int)pid);
}

/* ---- What is printed -------------------------------------------------------------------------- */

static int print_once(const struct top *top, const struct live_snapshot *snapshot)
{
	struct printer out;

	printer_stdout(&out);
	if (top->json) {
		printer_check(&out, live_snapshot_json(&out.buf, snapshot, false));
		printer_printf(&out, "\n");
	} else {
		printer_check(&out, live_text(&out.buf, snapshot));
	}
	return printer_close(&out);
}

static int look(struct top *top, const struct live_options *options)
{
	struct error err = { 0 };
	struct live *live;
	bool ended = false;
	int status = 0;

	signal(SIGPIPE, SIG_IGN); /* a reader of ours who has gone is told by EPIPE */
	if (live_new(&live, options, &err) != 0)
		return fail_with(&err, EXIT_ENVIRONMENT);
	live_settings_say_page(live);
	command_hold_messages(live_view_of(live) == LIVE_VIEW_TERMINAL);
	if (live_top(live, top->pid, &err) != 0)
		status = -1;
	else if (options->looks)
		status = print_once(top, live_last(live));
	else
		ended = live_last(live)->state == LIVE_ENDED;
	live_free(live); /* before anything is said */
	command_hold_messages(false);
	if (ended)
		notice("process %d has ended", (int)top->pid);
	return status < 0 ? fail_with(&err, EXIT_ENVIRONMENT) : status;
}

/* ---- The command ------------------------------------------------------------------------------ */

static int show(struct top *top, struct config *config)
{
	struct live_options options = { .title = "top", .command = top->settings.command, .program = top->settings.program };
	int status = command_config(config);

	if (status == 0)
		status = live_settings_take(&top->settings, command_color(STDERR_FILENO), &options);
	if (status)
		return status;
	if (top->once || top->json) {
		options.looks = LOOKS_ONCE;
		options.view = LIVE_VIEW_NONE;
	}
	read_command(top->pid, &top->settings);
	say_missing_rights(top->pid);
	return look(top, &options);
}

static int take_pid(struct top *top, int count, char **arguments)
{
	int64_t pid;

	if (count == 2 && top->settings.web && !top->settings.web[0])
		return fail(EXIT_USAGE, "top: expected the number of one process; a port for the page is written with =, as in --web=%.20s",
			    arguments[0]);
	if (count != 1)
		return fail(EXIT_USAGE, "top: expected the number of one process, as in 'inferscope top 1234'");
	if (text_parse_integer(arguments[0], 1, INT_MAX, &pid) != 0)
		return fail(EXIT_USAGE, "top: expected the number of a process, not '%.60s'", arguments[0]);
	top->pid = (pid_t)pid;
	return 0;
}

int cmd_top(int argc, char **argv)
{
	struct config config;
	struct top top = { .settings = LIVE_SETTINGS_INIT };
	const struct option_row rows[] = {
		OPTION_FLAG(0, "once", &top.once, "look once, print what was seen as text, and end"),
		OPTION_FLAG(0, "json", &top.json, "look once, print what was seen as JSON, and end"),
		LIVE_OPTIONS(&top.settings, live_settings_is_address),
		OPTION_CONFIG(0, "color", "auto|always|never", &config, CONFIG_COLOR, "colours on standard error; auto, on a terminal, unless given"),
		OPTION_END,
	};
	const struct options options = {
		.command = "top",
		.arguments = "[options] PID",
		.description = "Looks at a process that runs already, and at all that it started: processors, memory, GPUs, files, threads and "
			       "what they wait for, and alerts. The process is neither stopped nor asked, and nothing is recorded. Press ? for "
			       "the keys.",
		.examples = "  inferscope top 1234\n"
			    "  inferscope top --once 1234\n"
			    "  inferscope top --json 1234\n"
			    "  inferscope top --plain --interval 5 1234 2>top.log\n",
		.rows = rows,
	};
	int count, status;

	if (config_init(&config) < 0)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	count = command_options(&options, argc, argv);
	status = take_pid(&top, count, argv + 1);
	if (status == 0)
		status = show(&top, &config);
	live_settings_release(&top.settings);
	config_release(&config);
	return status;
}
