/*
 * report.h - an analysis, for programs and for people.
 *
 * All names that come from the trace are made safe for where they go.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "analyze/analysis.h"
#include "base/buffer.h"

/* What only the command knows. */
struct report_source {
	const char *path;   /* as the user gave it; "8 files" when there are several */
	const char *format; /* "sbt", "chrome", ... */
};

/* The analysis JSON, version 1.  0 or -ENOMEM. */
int report_json(const struct analysis *a, const struct report_source *source, struct buffer *out);

/* For a ticket or a review. */
int report_markdown(const struct analysis *a, const struct report_source *source, struct buffer *out);

struct report_text_options {
	unsigned columns; /* of the terminal; 0: 100 */
	bool color;
	unsigned top;     /* rows of each table; 0: 10 */
};
/* What `inferscope analyze` shows on a terminal. */
int report_text(const struct analysis *a, const struct report_source *source, const struct report_text_options *options, struct buffer *out);

#endif
