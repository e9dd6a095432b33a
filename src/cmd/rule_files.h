/*
 * rule_files.h - the rules of the command: ours, the user's, and those that the command line names.
 */
#ifndef CMD_RULE_FILES_H
#define CMD_RULE_FILES_H

#include "cmd/options.h"
#include "rules/rules.h"

/* Reads and checks all of them.  0, or an exit code, having said what is wrong. */
int rule_files_open(struct rules **ret, const struct option_list *files);

#endif
