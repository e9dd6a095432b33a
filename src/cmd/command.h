/*
 * command.h - what all commands share: exit codes, messages, settings.
 *
 * A message is one sentence on standard error, "inferscope: " before it.  All
 * that is printed is made safe for a terminal first (base/text.h), so that
 * messages may quote file names, keys and names from traces as they are.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stdbool.h>

#include "base/error.h"
#include "base/log.h"
#include "config/config.h"

struct options;

enum exit_code {
	EXIT_OK = 0,
	EXIT_NO = 1,          /* the answer is "no" */
	EXIT_USAGE = 2,       /* wrong options or settings */
	EXIT_INPUT = 3,       /* a file that cannot be understood */
	EXIT_ENVIRONMENT = 4, /* something is missing or refused: space, rights, a library */
};

/* Print a sentence and return `status`, so that a command can end in one line. */
int fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
int fail_with(const struct error *err, int status); /* err->exit_code, when there is one, beats status */
void warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What is no warning: that a file was written, say. */
void notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* False when only errors are to be said (the setting `log_level`): then warning() and notice() say nothing. */
bool command_says_more(void);

/* While somebody else has the terminal, messages are kept; the end of it prints them.  From any thread. */
void command_hold_messages(bool hold);

/* Whether what goes to this descriptor is coloured: as the setting `color` says, which command_config() reads; else not with
 * NO_COLOR, always with CLICOLOR_FORCE, else on a terminal that can. */
bool command_color(int fd);

/* Parses the options.  Prints the help and exits, or prints what is wrong and exits with EXIT_USAGE; otherwise returns
 * the number of arguments, which are then in argv[1] and up. */
int command_options(const struct options *options, int argc, char **argv);

/* Reads the settings behind those the options have set, prints the warnings, and sends the log to standard error from
 * the configured level on.  Returns 0 or an exit code, having said why. */
int command_config(struct config *config);

#endif
