/*
 * variables.h - environment variables that a program is started with, beside those we have.
 */
#ifndef RECORD_VARIABLES_H
#define RECORD_VARIABLES_H

#include <stddef.h>

struct variables {
	char **list; /* NAME=VALUE, NULL after the last; NULL itself when there are none */
	size_t count;
};

/* -ENOMEM.  The later of two of one name counts. */
int variables_set(struct variables *variables, const char *name, const char *value);

/* Takes over copies of what another list has. */
int variables_copy(struct variables *variables, const struct variables *from);

void variables_release(struct variables *variables);

#endif
