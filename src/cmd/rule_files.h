/*
 * rule_files.h - what an analysis is made by, for commands: the configuration, and the rules: ours, the user's, and those that the
 * command line names.
 */
#ifndef CMD_RULE_FILES_H
#define CMD_RULE_FILES_H

#include "cmd/options.h"
#include "config/config.h"
#include "rules/settings.h"

/* Reads and checks all of them, warning of files that are passed over; `command` is for messages. */
int rule_files_open(struct settings **ret, const char *command, const struct config *config, const struct option_list *files,
		    struct error *err);

#endif
