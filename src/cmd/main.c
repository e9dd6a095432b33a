/*
 * main.c - the table of commands, and what is not a command: --help, --version.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/builtin.h"
#include "cmd/command.h"
#include "cmd/printer.h"
#include "cmd/unknown_command.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

/* In the order of --help; builtin.h says how to add one. */
static const struct command commands[] = {
	{ "run", cmd_run, "run a program and record it" },
	{ "monitor", cmd_monitor, "run a program, record it, and show it meanwhile" },
	{ "top", cmd_top, "look at a process that runs already" },
	{ "record", cmd_record, "record the processes that attach, for a notebook or a script" },
	{ "import", cmd_import, "make a trace of those that other tools wrote" },
	{ "analyze", cmd_analyze, "say where the time of a trace went" },
	{ "view", cmd_view, "show where the time of a trace went, in the browser" },
	{ "info", cmd_info, "say what is in a trace" },
	{ "dump", cmd_dump, "print the events of a trace as JSON or CSV" },
	{ "export", cmd_export, "write a trace for another tool" },
	{ "query", cmd_query, "answer questions to a trace, in SQL" },
	{ "trim", cmd_trim, "take a part of a trace, to keep or to give to somebody else" },
	{ "recover", cmd_recover, "make a trace of what a killed recorder left behind" },
	{ "config", cmd_config, "show the settings and where they come from" },
	{ "doctor", cmd_doctor, "say what is available here, and what each missing thing costs" },
	{ NULL, NULL, NULL }
};

static const struct command *find_command(const char *name)
{
	const struct command *command;

	for (command = commands; command->name; command++)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}

static const char *command_name(void *arg, size_t i)
{
	(void)arg;
	return commands[i].name;
}

static int print_help(int fd)
{
	const struct command *command;
	struct printer out;

	printer_stdout(&out);
	out.fd = fd;
	printer_printf(&out, "usage: inferscope COMMAND [options] [arguments]\n\n"
			     "Finds out where the time of an AI workload goes.\n\ncommands:\n");
	for (command = commands; command->name; command++)
		printer_printf(&out, "  %-10s  %s\n", command->name, command->help);
	printer_printf(&out, "\n'inferscope COMMAND --help' has the options of a command, with examples;\n"
			     "'man inferscope-COMMAND' says more.  'inferscope --version' shows the version.\n");
	return printer_close(&out);
}

static int print_version(void)
{
	struct printer out;

	printer_stdout(&out);
	printer_printf(&out, "inferscope %s\n", INFERSCOPE_VERSION);
	return printer_close(&out);
}

/* argv[2] is the command. */
static int help_about(int argc, char **argv)
{
	const struct command *command = find_command(argv[2]);

	if (!command)
		return unknown_command(argc - 1, argv + 1, command_name);
	return command->run(2, (char *[]){ argv[2], (char *)"--help", NULL });
}

/* A stream that we were started without is not to become a file of ours, with what we print in it: its place is taken,
 * by something that cannot be used as the stream could, and that no program we start inherits. */
static void occupy_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

int main(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : NULL;
	const struct command *command;

	occupy_streams();
	if (!first)
		return print_help(STDERR_FILENO) ? EXIT_ENVIRONMENT : EXIT_USAGE;
	if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0)
		return print_version();
	if (strcmp(first, "help") == 0 && argc > 2)
		return help_about(argc, argv);
	if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0)
		return print_help(STDOUT_FILENO);
	if (first[0] == '-' && first[1])
		return unknown_global_option(first);
	command = find_command(first);
	return command ? command->run(argc - 1, argv + 1) : unknown_command(argc, argv, command_name);
}
