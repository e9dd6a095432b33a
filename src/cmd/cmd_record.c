/*
 * cmd_record.c - `inferscope record`: records the processes that attach, for somebody who tells it when to stop.
 *
 * What Profiler.start() runs.  It says in one line of JSON where the session
 * is, and in another, when it has ended, what was recorded.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_writer.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/output_names.h"
#include "cmd/printer.h"
#include "cmd/recording.h"

/* ---- What the trace calls the program ---------------------------------------- */

#define COMMAND_MAX (1u << 20)

/* The words of a command line as /proc has it, each ending in NUL; allocated. */
static char **split_words(char *text, size_t size)
{
	size_t count = 0, n = 0;
	char **words;

	for (size_t i = 0; i < size; i++)
		count += text[i] == '\0';
	words = calloc(count + 1, sizeof *words);
	for (char *at = text; words && n < count; at += strlen(at) + 1)
		words[n++] = at;
	return words;
}

/* Of a process whose command line nobody may read, there is none.  NULL when out of memory. */
static char **command_of(pid_t pid, struct buffer *text)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	if (file_read_whole(path, COMMAND_MAX, text) != 0)
		buffer_clear(text);
	return split_words((char *)text->data, text->size);
}

/* ---- What it says ------------------------------------------------------------ */

static int print_line(struct json_writer *j, struct printer *out)
{
	json_close(j);
	printer_check(out, j->error);
	printer_printf(out, "\n");
	return printer_close(out);
}

static void say_ready(void *arg, const char *session)
{
	struct printer out;
	struct json_writer j = { .out = &out.buf, .compact = true };

	printer_stdout(&out);
	json_open(&j, NULL, '{');
	json_text(&j, "session", session);
	json_text(&j, "runtime", arg);
	(void)print_line(&j, &out);
}

static void put_sentence(void *arg, const char *sentence)
{
	json_text(arg, NULL, sentence);
}

static int say_result(const struct recorder_result *r)
{
	struct printer out;
	struct json_writer j = { .out = &out.buf, .compact = true };
	char path[PATH_MAX];

	printer_stdout(&out);
	json_open(&j, NULL, '{');
	json_unsigned(&j, "events", r->totals.recorded - (r->dropped < r->totals.recorded ? r->dropped : r->totals.recorded));
	json_unsigned(&j, "lost", r->totals.lost);
	json_unsigned(&j, "processes", r->totals.processes);
	json_unsigned(&j, "threads", r->totals.threads);
	json_text(&j, "trace", file_place_name(r->place.path, r->place.number, path));
	json_unsigned(&j, "trace_bytes", r->trace_bytes);
	json_unsigned(&j, "skipped_calls", r->totals.skipped_calls);
	json_unsigned(&j, "short_calls", r->totals.short_calls);
	json_unsigned(&j, "short_left_out", r->totals.left_out);
	json_open(&j, "notes", '[');
	recording_warnings(r, put_sentence, &j);
	json_close(&j);
	return print_line(&j, &out);
}

/* ---- The command ------------------------------------------------------------- */

static int serve(const struct config *config, pid_t pid, char *runtime)
{
	struct recorder_options options = recording_settings(config);
	const struct recorder_service service = { .input_fd = STDIN_FILENO, .pid = pid, .ready = say_ready, .arg = runtime };
	struct buffer command = BUFFER_INIT;
	struct recorder_result result;
	struct error err = { 0 };
	char **words = command_of(pid, &command);
	int status;

	options.argv = words;
	if (options.gpu == CONFIG_GPU_NSYS) /* which would have to start the program */
		options.gpu = CONFIG_GPU_AUTO;
	options.runtime_path = runtime;
	if (!words)
		status = fail(EXIT_ENVIRONMENT, "out of memory");
	else if (recorder_serve(&options, &service, &result, &err) != 0)
		status = fail_with(&err, EXIT_ENVIRONMENT);
	else
		status = say_result(&result);
	free(words);
	buffer_release(&command);
	return status;
}

static int record(struct config *config, pid_t pid)
{
	int status = command_config(config);
	char *runtime;

	if (status == 0)
		status = output_names_expand(config);
	if (status)
		return status;
	runtime = recording_runtime();
	status = runtime ? serve(config, pid, runtime) : EXIT_ENVIRONMENT;
	free(runtime);
	return status;
}

int cmd_record(int argc, char **argv)
{
	struct config config;
	int64_t pid = 0;
	const struct option_row rows[] = {
		OPTION_INT(0, "for", "PID", &pid, 1, INT_MAX, "the process whose end, at the latest, is the end of the recording"),
		RECORDING_OPTIONS(&config),
		OPTION_END,
	};
	const struct options options = {
		.command = "record",
		.arguments = "[options] --for PID",
		.description = "Records the processes that attach to it, for a program that starts no other: a notebook, or a "
			       "script with a profiler of its own. Prints one line of JSON with the session and the runtime to put "
			       "into INFERSCOPE_SESSION and INFERSCOPE_RUNTIME; records until its standard input ends or has the "
			       "line 'stop', until process PID ends, or until SIGTERM; then prints what was recorded, as another "
			       "line of JSON.",
		.examples = "  sleep 60 | inferscope record --trace minute.sbt --for $$\n"
			    "  inferscope record --overflow block --for 4711\n",
		.rows = rows,
	};
	int status;

	if (config_init(&config) < 0)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	if (command_options(&options, argc, argv) != 0)
		status = fail(EXIT_USAGE, "record: expected no arguments but options; see 'inferscope record --help'");
	else if (pid == 0)
		status = fail(EXIT_USAGE, "record: expected a process to record for, as in 'inferscope record --for $$'");
	else
		status = record(&config, (pid_t)pid);
	config_release(&config);
	return status;
}
