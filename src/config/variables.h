/*
 * variables.h - the environment variables of ours that there are, to find those that are misspelt.
 */
#ifndef CONFIG_VARIABLES_H
#define CONFIG_VARIABLES_H

#include <stdbool.h>

#include "base/buffer.h"

/* The i-th of all names, those of settings included; NULL past the last. */
const char *variables_name(void *arg, size_t i);

/* A sentence about those of `environment` that begin as ours do and are not known, with what was probably meant; nothing when
 * there are none.  -ENOMEM. */
int variables_say_unknown(char *const environment[], struct buffer *out);

#endif
