/* run_program.c - see run_program.h. */
#include "cmd/run_program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/apply.h"
#include "cmd/command.h"
#include "cmd/install_path.h"
#include "cmd/output_names.h"
#include "cmd/recording.h"
#include "cmd/run_command.h"
#include "cmd/run_ending.h"
#include "cmd/run_nsys.h"
#include "record/doors.h"
#include "record/orphans.h"

#define LOG_TAG "run"

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
	char a[TEXT_COUNT_SIZE], b[TEXT_COUNT_SIZE], c[TEXT_COUNT_SIZE];

	fprintf(stderr, "%s of %s and %s", text_count(a, kept, "event", "events"), text_count(b, r->totals.processes, "process", "processes"),
		text_count(c, r->totals.threads, "thread", "threads"));
	print_losses(r);
	if (r->totals.short_ns)
		fprintf(stderr, ", less of calls below %s (--detail)", text_duration(a, (double)r->totals.short_ns));
}

static void print_nothing(const struct recorder_result *r)
{
	if (r->exit_signal)
		fprintf(stderr, "nothing to record: signal %d (%s) ended the program, which had neither run Python yet nor called "
				"inferscope.h", r->exit_signal, strsignal(r->exit_signal));
	else if (r->totals.unopened_code)
		fprintf(stderr, "nothing was recorded");
	else
		fprintf(stderr, "nothing to record: the program uses neither Python nor inferscope.h, or may not load the runtime "
				"(it is static, has raised privileges, or is a Python that 'inferscope doctor' does not list)");
}

static void print_closing_line(const struct recorder_result *r, const char *trace)
{
	uint64_t kept = r->totals.recorded - (r->dropped < r->totals.recorded ? r->dropped : r->totals.recorded);
	char b[32];
	struct buffer name = BUFFER_INIT;

	fprintf(stderr, "inferscope: ");
	if (r->totals.processes == 0 && r->totals.refused_processes == 0)
		print_nothing(r);
	else
		print_counts(r, kept);
	(void)text_append_terminal(&name, trace, strlen(trace), 0);
	fprintf(stderr, "; trace in %.*s (%s", (int)name.size, (const char *)name.data, text_byte_size(b, r->trace_bytes));
	if (kept)
		fprintf(stderr, ", %.1f bytes an event", (double)r->trace_bytes / (double)kept);
	fprintf(stderr, ")\n");
	buffer_release(&name);
}

static void print_warning(void *arg, const char *sentence)
{
	(void)arg;
	warning("%s", sentence);
}

/* The option with which a Python ignores the environment (-I, -E) or what it finds through it (-S); NULL: none. */
static const char *door_shutter(char *const argv[])
{
	const char *slash = strrchr(argv[0], '/');

	if (strncmp(slash ? slash + 1 : argv[0], "python", 6) != 0)
		return NULL;
	for (size_t i = 1; argv[i] && argv[i][0] == '-' && argv[i][1] && argv[i][1] != '-'; i++) {
		size_t n = strcspn(argv[i] + 1, "cmXWIES");

		switch (argv[i][1 + n]) {
		case 'I':
		case 'E':
		case 'S':
			return argv[i];
		case 'X':
		case 'W':
			i += argv[i][2 + n] == '\0' && argv[i + 1];
			break;
		case 'c':
		case 'm':
			return NULL;
		}
	}
	return NULL;
}

static void print_shut_door(char *const argv[])
{
	const char *option = door_shutter(argv);

	if (option)
		warning("Python's calls are not recorded: with %s it does not look where inferscope tells it to", option);
}

static void print_taken_doors(const char *runtime)
{
	char sentence[LOG_MESSAGE_MAX];

	for (size_t i = 0; doors_taken(i, runtime, sentence, sizeof sentence); i++)
		if (sentence[0])
			warning("%s", sentence);
}

/* ---- The command ------------------------------------------------------------- */

/* What our runtime and our Python package read, where it is not what they assume, or not what they would inherit. */
static int make_variables(const struct config *config, struct variables *variables)
{
	static const enum config_key keys[] = { CONFIG_CALLS,  CONFIG_DETAIL,  CONFIG_C_CALLS, CONFIG_OPS,
						CONFIG_SHAPES, CONFIG_INCLUDE, CONFIG_EXCLUDE, CONFIG_GPU_ARGS };
	int rc = 0;

	for (size_t i = 0; i < sizeof keys / sizeof keys[0] && rc == 0; i++) {
		const struct config_key_info *info = &config_keys[keys[i]];
		const struct config_value *value = config_value(config, keys[i]);
		bool flag = info->type == CONFIG_BOOL;

		if (strcmp(value->text, info->initial) != 0 || getenv(info->environment))
			rc = variables_set(variables, info->environment, !flag ? value->text : value->number ? "1" : "0");
	}
	if (rc == 0 && config_integer(config, CONFIG_GPU) != CONFIG_GPU_AUTO) /* a profiler inside is to leave GPUs alone, too */
		rc = variables_set(variables, config_keys[CONFIG_GPU].environment, "off");
	return rc;
}

/* What of the program's environment is changed is said before it starts. */
static int follow_advice(const char *list, struct variables *variables)
{
	struct buffer said = BUFFER_INIT;
	const char *wrong = NULL;
	int rc = apply_advice(list, variables, &said, &wrong), status = 0;

	if (rc == -EINVAL)
		status = fail(EXIT_USAGE, "run: there is no advice '%.*s' to apply; there are: " APPLY_NAMES, (int)strcspn(wrong, ","), wrong);
	else if (rc < 0)
		status = fail(EXIT_ENVIRONMENT, "out of memory");
	for (size_t at = 0, n; status == 0 && at < said.size; at += n + 1) {
		n = (size_t)((const uint8_t *)memchr(said.data + at, '\n', said.size - at) - (said.data + at));
		notice("applied %.*s", (int)n, (const char *)said.data + at);
	}
	buffer_release(&said);
	return status;
}

static int record_in_company(struct recorder_options *options, const struct run_company *company, struct recorder_result *result)
{
	struct error err = { 0 };
	int status = 0, rc = 0;

	if (company && company->before)
		status = company->before(company->arg, options->command, options);
	if (status == 0)
		rc = recorder_run(options, result, &err);
	if (company && company->after)
		company->after(company->arg);
	return rc != 0 ? fail_with(&err, EXIT_ENVIRONMENT) : status;
}

/* Where others recorded meanwhile, the trace has another name than was asked for; from here on the settings have that one. */
static int note_trace(struct config *config, const struct recorder_result *result)
{
	struct error err = { 0 };
	char name[PATH_MAX];

	(void)file_place_name(config_string(config, CONFIG_TRACE), result->place.number, name);
	return config_set(config, CONFIG_TRACE, name, &err) == 0 ? 0 : fail_with(&err, EXIT_ENVIRONMENT);
}

/* nsys: has what else records the program; NULL: nothing does. */
static int record_with(struct config *config, struct recorder_options *options, const struct run_nsys *nsys,
		       const struct run_company *company)
{
	struct recorder_result result;
	struct file_place report;
	struct error err = { 0 };
	sigset_t mask;
	int status;

	if (file_place_look(&report, config_string(config, CONFIG_REPORT), &err) != 0)
		return fail_with(&err, EXIT_ENVIRONMENT);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	status = record_in_company(options, company, &result);
	if (status == 0)
		status = note_trace(config, &result);
	if (status)
		return status;
	recording_warnings(&result, print_warning, NULL);
	print_shut_door(options->command);
	if (nsys) {
		result.exit_status = run_nsys_status(nsys, result.exit_status);
		run_nsys_join(nsys, config_string(config, CONFIG_TRACE), &result, &mask);
	}
	if (config_integer(config, CONFIG_LOG_LEVEL) <= LOG_LEVEL_INFO)
		print_taken_doors(options->runtime_path);
	run_ending(config, &result, &report, &mask);
	if (command_says_more())
		print_closing_line(&result, config_string(config, CONFIG_TRACE));
	if (company->passed_on && result.exit_status == EXIT_USAGE)
		warning("%s", company->passed_on);
	return result.exit_status;
}

/* Nobody has asked for it, so that what is in its way is no reason not to run the program. */
static int choose_nsys(struct config *config, struct run_nsys *nsys, char *const argv[])
{
	struct error err = { 0 };

	if (!run_nsys_is_needed(argv[0]) || run_nsys_prepare(nsys, argv) != 0)
		return 0;
	nsys->instead = true;
	return config_set(config, CONFIG_GPU, "nsys", &err) == 0 ? 0 : fail_with(&err, EXIT_ENVIRONMENT);
}

static int record(struct config *config, char *const argv[], const struct run_company *company)
{
	struct recorder_options options = recording_settings(config);
	struct variables variables = { NULL, 0 };
	struct run_nsys nsys = RUN_NSYS_INIT;
	char *runtime = recording_runtime(), *door = install_path_door();
	int status = runtime ? 0 : EXIT_ENVIRONMENT;
	bool by_nsys;

	if (!door)
		log_debug("there is no folder with our sitecustomize.py, so Python is not recorded");
	if (status == 0 && options.gpu == CONFIG_GPU_AUTO && !(company && company->before))
		status = choose_nsys(config, &nsys, argv);
	options.gpu = (enum config_gpu)config_integer(config, CONFIG_GPU);
	by_nsys = options.gpu == CONFIG_GPU_NSYS;
	if (status == 0 && by_nsys && !nsys.instead)
		status = run_nsys_prepare(&nsys, argv);
	options.argv = by_nsys ? nsys.argv : argv;
	options.command = argv;
	options.runtime_path = runtime;
	options.python_door = door;
	options.variables = &variables;
	options.leave_streams = true;
	options.wait_all = config_bool(config, CONFIG_WAIT_ALL);
	if (config_integer(config, CONFIG_LOG_LEVEL) < LOG_LEVEL_ERROR)
		options.waiting = print_warning;
	if (options.wait_all && !orphans_can_be_listed())
		warning("nothing will be waited for: this kernel does not say whose children there are (CONFIG_PROC_CHILDREN)");
	if (status == 0 && make_variables(config, &variables) != 0)
		status = fail(EXIT_ENVIRONMENT, "out of memory");
	if (status == 0 && company && company->apply)
		status = follow_advice(company->apply, &variables);
	if (status == 0)
		status = record_with(config, &options, by_nsys ? &nsys : NULL, company);
	run_nsys_release(&nsys);
	variables_release(&variables);
	free(door);
	free(runtime);
	return status;
}

int run_program(struct config *config, int count, char **arguments, const struct run_company *company)
{
	struct run_command command;
	int status = output_names_expand(config);

	if (status == 0)
		status = run_ending_check(config);
	status = status ? status : run_command_make(&command, count, arguments);
	if (status)
		return status;
	if (config_bool(config, CONFIG_ENABLED)) {
		status = record(config, command.argv, company);
	} else {
		warning("not recording, because the setting 'enabled' is off");
		status = run_unrecorded(command.argv);
	}
	run_command_release(&command);
	return status;
}
