/*
 * rule_files.h - which files of rules there are.
 *
 * In rising precedence: the one that comes with us, those in the folder rules/
 * of the user's configuration folder, by name, and those of the command line.
 */
#ifndef CMD_RULE_FILES_H
#define CMD_RULE_FILES_H

#include "cmd/options.h"
#include "report/report.h"
#include "rules/rules.h"

/* Reads and checks all of them.  0, or an exit code, having said what is wrong. */
int rule_files_open(struct rules **ret, const struct option_list *files);

/* Adds what the rules find to the findings. */
int rule_files_apply(struct rules *r, struct analysis *a, const struct report_source *source, struct error *err);

#endif
