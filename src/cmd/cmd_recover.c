/*
 * cmd_recover.c - `inferscope recover`: makes a trace of what a killed recorder left behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/install_path.h"
#include "cmd/options.h"
#include "cmd/printer.h"
#include "record/recover.h"

static int print_result(const struct recover_result *r)
{
	struct printer out;
	char a[TEXT_COUNT_SIZE], b[32], c[32];

	printer_stdout(&out);
	printer_printf(&out, "recovered %s: %s from the unfinished trace and %s from memory",
		       text_count(a, r->from_file + r->from_rings, "event", "events"), text_group_digits(b, r->from_file),
		       text_group_digits(c, r->from_rings));
	if (r->lost)
		printer_printf(&out, "; %s had been overwritten or refused", text_group_digits(a, r->lost));
	else
		printer_printf(&out, "; none lost");
	if (r->damage_bytes)
		printer_printf(&out, "; %s at the end of the unfinished trace could not be read", text_byte_size(a, r->damage_bytes));
	if (r->running)
		printer_printf(&out, "; %s still running, no longer recorded", text_count(a, r->running, "process is", "processes are"));
	printer_printf(&out, "\ntrace in ");
	printer_terminal(&out, r->trace_path, strlen(r->trace_path), 0);
	printer_printf(&out, " (%s)\n", text_byte_size(a, r->trace_bytes));
	return printer_close(&out);
}

/* The library, if it is one that programs would load. */
static char *trusted_runtime(void)
{
	char *runtime = install_path_runtime(), *culprit = NULL;

	if (!runtime || install_path_trusted(runtime, &culprit))
		return runtime;
	warning("%s is not loaded, since others can write to %s: what a killed program had not recorded of CUDA is left out", runtime,
		culprit ? culprit : "it");
	free(culprit);
	free(runtime);
	return NULL;
}

int cmd_recover(int argc, char **argv)
{
	const char *trace = NULL;
	const struct option_row rows[] = {
		OPTION_TEXT(0, "trace", "FILE", &trace, "where the trace goes, instead of where the recording was meant to"),
		OPTION_END,
	};
	const struct options options = {
		.command = "recover",
		.arguments = "[options] DIR",
		.description = "Makes a readable trace of what a recorder that was killed left behind: the unfinished trace and "
			       "the memory of the processes, in the session folder DIR. 'inferscope doctor' lists such folders. "
			       "The folder is removed when the trace is there.",
		.examples = "  inferscope doctor\n"
			    "  inferscope recover /dev/shm/inferscope-a1B2c3\n",
		.rows = rows,
	};
	struct recover_result result;
	struct error err = { 0 };
	char *runtime;
	int rc;

	if (command_options(&options, argc, argv) != 1)
		return fail(EXIT_USAGE, "recover: expected one session folder; 'inferscope doctor' lists them");
	runtime = trusted_runtime();
	rc = recover_session(argv[1], trace, runtime, &result, &err);
	free(runtime);
	if (rc != 0)
		return fail_with(&err, EXIT_INPUT);
	if (result.trouble.code)
		warning("%s", result.trouble.text);
	return print_result(&result);
}
