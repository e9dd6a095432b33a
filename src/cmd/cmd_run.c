/*
 * cmd_run.c - `inferscope run`: runs a program and records it.
 *
 * The exit status is the program's own.  All that we say goes to standard
 * error, and only before the program starts or after it has ended.
 */
#include "cmd/apply.h"
#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/late_options.h"
#include "cmd/options.h"
#include "cmd/recording.h"
#include "cmd/run_program.h"

int cmd_run(int argc, char **argv)
{
	struct config config;
	struct run_company company = { 0 };
	bool divided = false;
	const struct option_row rows[] = {
		OPTION_CONFIG(0, "report", "FILE", &config, CONFIG_REPORT,
			      "where the report goes, as .md, .html, .txt or .json; report.md unless given, none for no analysis"),
		OPTION_TEXT(0, "apply", "ADVICE", &company.apply,
			    "follow advice about the program's environment, with commas between: " APPLY_NAMES
			    "; what that changes is said, and variables that are set stay as they are"),
		RECORDING_OPTIONS(&config),
		RUN_OPTION_GPU(&config),
		OPTION_CONFIG(0, "calls", "on|off", &config, CONFIG_CALLS, "record calls of Python functions; on unless given"),
		OPTION_CONFIG(0, "detail", "auto|full|light", &config, CONFIG_DETAIL,
			      "full: everything; auto, unless given: less of short calls where that would take more than a two-hundredth "
			      "of the time; light: operators of PyTorch for a part of the time as well"),
		RUN_OPTIONS(&config),
		OPTION_END,
	};
	const struct options options = {
		.command = "run",
		.arguments = RUN_ARGUMENTS,
		.description = "Runs a program, records what it does, and what its children do, into a trace, and says at the end "
			       "what limited it and what to change first, with a report of the rest. A Python script, module or code, a "
			       ".pyz and a folder with a __main__.py run under the Python of the environment that inferscope is "
			       "installed in, else of the active one, else python3; anything else is executed as it is. The exit "
			       "status is the program's own, 128 and the number for a signal. An older trace or report of the same "
			       "name becomes FILE.old.",
		.examples = "  inferscope run generate.py --prompt hello\n"
			    "  inferscope run --c-calls --exclude 'logging.*,*/site-packages/*' -m serving\n"
			    "  inferscope run ./infer --prompt hello\n"
			    "  inferscope run --trace night.sbt --report night.md --last 60 ./serve\n"
			    "  mpirun -n 4 inferscope run -o 'rank{rank}.sbt' --report 'rank{rank}.md' train.py\n"
			    "  inferscope run --gpu nsys generate.py\n"
			    "  inferscope run --apply threads,allocator train.py\n"
			    "  inferscope run --overflow block -- ./burst --threads 8\n",
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
		status = fail(EXIT_USAGE, "run: expected a program to run, as in 'inferscope run ./infer'");
	else
		status = late_options_config(&late, &count, argv + 1);
	company.passed_on = late_options_passed_on(&late);
	if (count >= 1 && status == 0)
		status = run_program(&config, count, argv + 1, &company);
	late_options_release(&late);
	config_release(&config);
	return status;
}
