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
	const char *version; /* of the program that writes the report; NULL: not said */
};

/* The analysis JSON, version 1.  0 or -ENOMEM. */
int report_json(const struct analysis *a, const struct report_source *source, struct buffer *out);

/* For a ticket or a review. */
int report_markdown(const struct analysis *a, const struct report_source *source, struct buffer *out);

struct report_view_options {
	unsigned columns; /* of the terminal; 0: 80; at most 120 are used */
	bool color;
	bool ascii;         /* the terminal knows nothing else */
	unsigned top;       /* rows of each table; 0: 5 */
	const char *report; /* the file that has all of it, and the trace, both to be named at the end; NULL: not */
	const char *trace;
};
/* What a run ends with: what was recorded, what limits it, where the time goes, what to change first.  About ten lines. */
int report_diagnosis(const struct analysis *a, const struct report_source *source, const struct report_view_options *options,
		     struct buffer *out);
/* The same, and what takes the most time: what `inferscope analyze` shows on a terminal. */
int report_terminal(const struct analysis *a, const struct report_source *source, const struct report_view_options *options,
		    struct buffer *out);

struct report_text_options {
	unsigned columns; /* 0: 100 */
	bool color, ascii;
	unsigned top;     /* rows of each table; 0: 10 */
};
/* All of it as plain text: the diagnosis, then findings, devices and tables at length. */
int report_text(const struct analysis *a, const struct report_source *source, const struct report_text_options *options, struct buffer *out);

#endif
