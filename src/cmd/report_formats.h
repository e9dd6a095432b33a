/*
 * report_formats.h - the formats of a report, for the command and for the Python package.
 */
#ifndef CMD_REPORT_FORMATS_H
#define CMD_REPORT_FORMATS_H

#include "page/page.h"
#include "report/report.h"
#include "template/template.h"

enum report_format { REPORT_TEXT, REPORT_MARKDOWN, REPORT_JSON, REPORT_HTML };
extern const char *const report_formats[]; /* "text", "md", "json", "html"; NULL at the end */

/* Of the suffix of a file; -1: it tells nothing. */
int report_format_of(const char *path);

/* Appends the report.  0 or -ENOMEM; `text` and `page` are for these formats only. */
int report_append(enum report_format format, const struct analysis *a, const struct report_source *source,
		  const struct report_text_options *text, const struct page_options *page, struct buffer *out);

/* The same after a template. */
int report_append_template(const struct template *t, const struct analysis *a, const struct report_source *source, struct buffer *out,
			   struct error *err);

#endif
