/*
 * cmd_run.c - `inferscope run`: runs a program and records it.
 *
 * The exit status is the program's own.  All that we say goes to standard
 * error, and only before the program starts or after it has ended.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/runtime_path.h"
#include "record/recorder.h"

/* ---- What to run ------------------------------------------------------------- */

static bool is_script(const char *argument)
{
	size_t n = strlen(argument);

	return n > 3 && strcmp(argument + n - 3, ".py") == 0;
}

static const char *python(char *path, size_t size)
{
	const char *venv = getenv("VIRTUAL_ENV");

	if (venv && venv[0] == '/') {
		snprintf(path, size, "%s/bin/python", venv);
		if (access(path, X_OK) == 0)
			return path;
	}
	return "python3";
}

/* A script that is not there: the exit code is a shell's. */
static int check_script(const char *script)
{
	struct stat st;

	if (stat(script, &st) != 0)
		return errno == EACCES ? fail(126, "cannot read the script %s: %s", script, strerror(errno)) :
					 fail(127, "there is no script %s", script);
	if (S_ISDIR(st.st_mode))
		return fail(126, "cannot run %s: it is a directory", script);
	if (access(script, R_OK) != 0)
		return fail(126, "cannot read the script %s: %s", script, strerror(errno));
	return 0;
}

/* The command line to execute: SCRIPT.py, -m and -c get an interpreter in front.  Allocated; NULL and *ret_status set
 * when it cannot be run. */
static char **make_command(int count, char **arguments, char *interpreter, size_t size, int *ret_status)
{
	bool script = is_script(arguments[0]);
	bool needs_python = script || strcmp(arguments[0], "-m") == 0 || strcmp(arguments[0], "-c") == 0;
	char **argv;
	int n = 0;

	*ret_status = script ? check_script(arguments[0]) : 0;
	if (*ret_status)
		return NULL;
	argv = calloc((size_t)count + 2, sizeof *argv);
	if (!argv) {
		*ret_status = fail(EXIT_ENVIRONMENT, "out of memory");
		return NULL;
	}
	if (needs_python)
		argv[n++] = (char *)python(interpreter, size);
	for (int i = 0; i < count; i++)
		argv[n++] = arguments[i];
	return argv;
}

static int run_unrecorded(char *const argv[])
{
	int code;

	execvp(argv[0], argv);
	code = errno;
	return fail(code == ENOENT ? 127 : 126, "cannot run %s: %s", argv[0], strerror(code));
}

/* ---- What to say ------------------------------------------------------------- */

static void print_losses(const struct recorder_result *r)
{
	char a[32];

	if (r->totals.lost == 0 && r->dropped == 0)
		fprintf(stderr, ", none lost");
	if (r->totals.lost)
		fprintf(stderr, ", %s lost", text_group_digits(a, r->totals.lost));
	if (r->dropped)
		fprintf(stderr, ", the oldest %s dropped as asked", text_group_digits(a, r->dropped));
}

static void print_counts(const struct recorder_result *r, uint64_t kept)
{
	char a[32];

	fprintf(stderr, "%s events of %u process%s and %u thread%s", text_group_digits(a, kept), r->totals.processes,
		r->totals.processes == 1 ? "" : "es", r->totals.threads, r->totals.threads == 1 ? "" : "s");
	print_losses(r);
}

static void print_closing_line(const struct recorder_result *r, const char *trace)
{
	uint64_t kept = r->totals.recorded - (r->dropped < r->totals.recorded ? r->dropped : r->totals.recorded);
	char b[32];
	struct buffer name = BUFFER_INIT;

	fprintf(stderr, "inferscope: ");
	if (r->totals.processes == 0 && r->totals.refused_processes == 0)
		fprintf(stderr, "nothing to record: the program does not use inferscope.h, or may not load the runtime "
				"(it is static, or has raised privileges)");
	else
		print_counts(r, kept);
	(void)text_append_terminal(&name, trace, strlen(trace), 0);
	fprintf(stderr, "; trace in %.*s (%s", (int)name.size, (const char *)name.data, text_byte_size(b, r->trace_bytes));
	if (kept)
		fprintf(stderr, ", %.1f bytes an event", (double)r->trace_bytes / (double)kept);
	fprintf(stderr, ")\n");
	buffer_release(&name);
}

static void report(const struct recorder_result *r, const char *trace)
{
	char a[32];

	if (r->trouble.code)
		warning("the trace is not whole: %s%s%s%s", r->trouble.text, r->unwritten ? "; " : "",
			r->unwritten ? text_group_digits(a, r->unwritten) : "", r->unwritten ? " events could not be written" : "");
	if (r->totals.refused_processes)
		warning("%u process%s could not be recorded: no room for %s in the session folder", r->totals.refused_processes,
			r->totals.refused_processes == 1 ? "" : "es", r->totals.refused_processes == 1 ? "it" : "them");
	if (r->totals.names_refused)
		warning("%s events have the name [too many names]: put what varies in metadata, not in names",
			text_group_digits(a, r->totals.names_refused));
	if (r->totals.lost > r->unwritten)
		warning("events were lost: try a larger --trace-size-mb, or fewer events");
	print_closing_line(r, trace);
}

/* ---- The command ------------------------------------------------------------- */

static int record(const struct config *config, char *const argv[])
{
	struct recorder_options options = {
		.argv = argv,
		.trace_path = config_string(config, CONFIG_TRACE),
		.budget_bytes = (uint64_t)config_integer(config, CONFIG_TRACE_SIZE_MB) << 20,
		.overflow = (enum ring_overflow)config_integer(config, CONFIG_OVERFLOW),
		.block_timeout_ms = (uint32_t)config_integer(config, CONFIG_BLOCK_TIMEOUT_MS),
		.max_file_bytes = (uint64_t)config_integer(config, CONFIG_MAX_FILE_MB) << 20,
		.last_seconds = (double)config_integer(config, CONFIG_LAST_SECONDS),
		.leave_streams = true,
	};
	struct recorder_result result;
	struct error err = { 0 };
	char *runtime = runtime_path_find(), *culprit = NULL;

	if (!runtime)
		return fail(EXIT_ENVIRONMENT, "libinferscope-rt.so is not beside this program nor where it was installed; "
					      "install InferScope again");
	if (!runtime_path_trusted(runtime, &culprit)) {
		fail(EXIT_ENVIRONMENT, "no program would load %s: others can write to %s; try 'chmod go-w' on it", runtime,
		     culprit ? culprit : "it");
		free(culprit);
		free(runtime);
		return EXIT_ENVIRONMENT;
	}
	options.runtime_path = runtime;
	if (recorder_run(&options, &result, &err) != 0) {
		free(runtime);
		return fail_with(&err, EXIT_ENVIRONMENT);
	}
	free(runtime);
	report(&result, options.trace_path);
	return result.exit_status;
}

static int run(struct config *config, int count, char **arguments)
{
	char interpreter[4096];
	int status = command_config(config);
	char **argv;

	if (status)
		return status;
	argv = make_command(count, arguments, interpreter, sizeof interpreter, &status);
	if (!argv)
		return status;
	if (config_bool(config, CONFIG_ENABLED)) {
		status = record(config, argv);
	} else {
		warning("not recording, because the setting 'enabled' is off");
		status = run_unrecorded(argv);
	}
	free(argv);
	return status;
}

int cmd_run(int argc, char **argv)
{
	struct config config;
	const struct option_row rows[] = {
		OPTION_CONFIG(0, "trace", "FILE", &config, CONFIG_TRACE, "where the trace goes; trace.sbt unless given"),
		OPTION_CONFIG(0, "log-level", "LEVEL", &config, CONFIG_LOG_LEVEL, "what to tell: debug, info, warn or error"),
		OPTION_CONFIG(0, "trace-size-mb", "N", &config, CONFIG_TRACE_SIZE_MB,
			      "memory for events on their way to the file, for all processes; 100 unless given"),
		OPTION_CONFIG(0, "overflow", "wrap|discard|block", &config, CONFIG_OVERFLOW,
			      "when that memory is full: overwrite the oldest events, refuse new ones, or wait a moment"),
		OPTION_CONFIG(0, "max-file-mb", "N", &config, CONFIG_MAX_FILE_MB, "drop the oldest events to keep the trace below N MB"),
		OPTION_CONFIG(0, "last", "SECONDS", &config, CONFIG_LAST_SECONDS, "keep only the last SECONDS of the run, at least"),
		OPTION_END,
	};
	const struct options options = {
		.command = "run",
		.arguments = "[options] [--] SCRIPT.py|-m MODULE|-c CODE|COMMAND [ARGUMENTS]",
		.description = "Runs a program and records what it does, and what its children do, into a trace. A Python "
			       "script, module or code runs under the active virtual environment's interpreter, else python3; "
			       "anything else is executed as it is. The exit status is the program's own, 128 and the number for "
			       "a signal. An older trace of the same name becomes FILE.old.",
		.examples = "  inferscope run ./infer --prompt hello\n"
			    "  inferscope run --trace night.sbt --last 60 ./serve\n"
			    "  inferscope run --overflow block -- ./burst --threads 8\n",
		.rows = rows,
		.stop_at_argument = true,
		.argument_letters = "mc",
	};
	int count, status;

	if (config_init(&config) < 0)
		return fail(EXIT_ENVIRONMENT, "out of memory");
	count = command_options(&options, argc, argv);
	if (count < 1)
		status = fail(EXIT_USAGE, "run: expected a program to run, as in 'inferscope run ./infer'");
	else
		status = run(&config, count, argv + 1);
	config_release(&config);
	return status;
}
