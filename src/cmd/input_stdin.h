/*
 * input_stdin.h - standard input as a trace, which "-" stands for.
 */
#ifndef CMD_INPUT_STDIN_H
#define CMD_INPUT_STDIN_H

#include "base/error.h"

/* A path for `path`: for "-" that of a temporary file with all that comes on standard input, which is read at the first call and
 * gone when this process is; any other is itself.  NULL, having said in err why not. */
const char *input_stdin_path(const char *path, struct error *err);

/* What to call such a path in front of people. */
const char *input_stdin_name(const char *path);

/* The same inside a sentence, which is changed in place. */
void input_stdin_rename(struct error *err);

#endif
