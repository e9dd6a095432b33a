/*
 * analyze.h - `inferscope analyze` for other commands.
 */
#ifndef CMD_ANALYZE_H
#define CMD_ANALYZE_H

#include <stdbool.h>

#include "base/file_place.h"
#include "config/config.h"

/* Analyses a trace by the settings, writes the report (report_format_of() knows the name of its place) and, if `show`, prints
 * the diagnosis on standard error.  Returns an exit code, having said what went wrong. */
int analyze_recording(const struct config *config, const char *trace, struct file_place *report, bool show);

/* The same for any traces, printing nothing. */
int analyze_to_file(const struct config *config, char **traces, int count, const char *report);

#endif
