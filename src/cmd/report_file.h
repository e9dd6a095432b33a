/*
 * report_file.h - a report as a file, or on a terminal.
 */
#ifndef CMD_REPORT_FILE_H
#define CMD_REPORT_FILE_H

#include <stdbool.h>

#include "base/error.h"
#include "page/page.h"
#include "report/report.h"

enum report_format { REPORT_TEXT, REPORT_MARKDOWN, REPORT_JSON, REPORT_HTML };
extern const char *const report_formats[]; /* "text", "md", "json", "html"; NULL at the end */

/* Of the suffix of a file; -1: it tells nothing. */
int report_format_of(const char *path);

/* Appends the report.  0 or -ENOMEM; `text` and `page` are for these formats only. */
int report_append(enum report_format format, const struct analysis *a, const struct report_source *source,
		  const struct report_text_options *text, const struct page_options *page, struct buffer *out);

/* The file appears under its name when it is whole; an older one becomes PATH.old. */
int report_file_write(const char *path, const struct buffer *report, struct error *err);

/* How wide what a descriptor leads to is, and what it can show. */
struct report_view_options report_view_for(int fd);

#endif
