/*
 * input_paths.h - which files are meant by the paths a command was given: a folder stands for the traces in it.
 */
#ifndef CMD_INPUT_PATHS_H
#define CMD_INPUT_PATHS_H

#include <stddef.h>

#include "base/error.h"

struct input_paths {
	char **paths;
	size_t count, capacity;
	struct input_identity *identities; /* of each */
	size_t ignored;     /* files in folders that are no traces */
	char *first_ignored;
	size_t repeated;    /* files that are there already, by whatever name */
	char *first_repeated, *repeats; /* and which that one is */
};
#define INPUT_PATHS_INIT { 0 }

/* Adds a file ("-": standard input), or the traces of a folder in the order of their names, not those in folders below; none
 * that is there already.  `except` (may be NULL) is left out in folders: what is going to be written. */
int input_paths_add(struct input_paths *list, const char *path, const char *except, struct error *err);
void input_paths_release(struct input_paths *list);

#endif
