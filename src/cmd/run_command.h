/*
 * run_command.h - what is executed for the words that `run` and `monitor` were given.
 */
#ifndef CMD_RUN_COMMAND_H
#define CMD_RUN_COMMAND_H

#include <stdbool.h>

struct run_command {
	char **argv;       /* the words, behind an interpreter where they need one */
	char *interpreter; /* NULL: there is none in front */
};

/* X.py, X.pyz, a folder with a __main__.py, -m and -c are for Python; all else is executed as it is.  Returns 0, or an exit
 * code, having said why that cannot be run. */
int run_command_make(struct run_command *ret, int count, char **words);
void run_command_release(struct run_command *command);

/* Whether a word is called as a text in Python is. */
bool run_command_is_script(const char *word);

#endif
