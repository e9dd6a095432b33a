/*
 * template_file.h - a template of the user's, as a file.
 */
#ifndef CMD_TEMPLATE_FILE_H
#define CMD_TEMPLATE_FILE_H

#include "template/template.h"

/* The format that the name of a template tells, "report.md.in" or "report.md", as report_format_of() does; -1: none. */
int template_file_report_format(const char *path);

/* Reads and checks it.  0, or an exit code, having said what is wrong. */
int template_file_open(struct template **ret, const char *path, enum template_format format);

#endif
