/*
 * unknown_command.h - what to do about a first word that is no command.
 */
#ifndef CMD_UNKNOWN_COMMAND_H
#define CMD_UNKNOWN_COMMAND_H

#include <stddef.h>

/* argv[1] is that word; next() has the names of the commands.  A trace is analysed, with the words behind it; for all else a
 * sentence says what was probably meant.  Returns an exit code. */
int unknown_command(int argc, char **argv, const char *(*next)(void *arg, size_t i));

/* The same for an option without a command. */
int unknown_global_option(const char *word);

#endif
