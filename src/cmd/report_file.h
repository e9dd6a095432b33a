/*
 * report_file.h - a report as a file, or on a terminal.
 */
#ifndef CMD_REPORT_FILE_H
#define CMD_REPORT_FILE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/file_place.h"
#include "cmd/report_formats.h"
#include "report/report.h"

/* The file appears under its name when it is whole; an older one becomes PATH.old. */
int report_file_write(const char *path, const struct buffer *report, struct error *err);
/* The same where others may want the name (base/file_place.h). */
int report_file_write_at(struct file_place *place, const struct buffer *report, struct error *err);
/* The same as the first, for what is made again rather than kept: an older one is gone. */
int report_file_replace(const char *path, const struct buffer *report, struct error *err);

/* How wide what a descriptor leads to is, and what it can show. */
struct report_view_options report_view_for(int fd);

#endif
