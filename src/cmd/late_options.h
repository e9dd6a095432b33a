/*
 * late_options.h - options of ours that were typed behind the script: `inferscope run script.py --report r.md`.
 *
 *      struct late_options late = { .options = &options, .config = &config, .divided = divided };
 *      status = late_options_config(&late, &count, words);     the words that remain are the program's
 *      late_options_release(&late);
 *
 * What stands behind the script is the script's.  The report, the log level and the size of memory are ours where they
 * are the last words, have a value that we take and the script cannot know them: its text does not name them, and it
 * leaves no parsing to others.  No "--" may stand before them.
 */
#ifndef CMD_LATE_OPTIONS_H
#define CMD_LATE_OPTIONS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "cmd/options.h"
#include "config/config.h"

struct late_options {
	const struct options *options; /* of the command */
	struct config *config;         /* gets those that are ours */
	bool divided;                  /* "--" stood before the words */
	struct buffer taken;           /* a sentence about them; empty: there are none */
	struct buffer passed_on;       /* about options of ours that are the program's; text with a NUL; empty: there are none */
};

/* Takes what is ours off the end of the words, reads the settings as command_config() does, and says what was taken. */
int late_options_config(struct late_options *late, int *count, char **words);

/* What to say of a program that did not understand its arguments; NULL: nothing. */
const char *late_options_passed_on(const struct late_options *late);

void late_options_release(struct late_options *late);

#endif
