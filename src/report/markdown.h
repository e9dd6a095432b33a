/*
 * markdown.h - what the files of the Markdown report share.
 *
 * Whatever comes from the trace stands in code spans, where Markdown, HTML,
 * mentions and links mean nothing.
 */
#ifndef REPORT_MARKDOWN_H
#define REPORT_MARKDOWN_H

#include "report/report_parts.h"

struct markdown {
	struct buffer *out;
	const struct timeline *timeline;
	int error; /* the first failure */
};

/* report_markdown.c */
void markdown_put(struct markdown *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void markdown_code(struct markdown *m, const char *text, size_t size); /* cut, if it is very long */
void markdown_name(struct markdown *m, uint32_t name);                 /* the same of a string of the trace */
void markdown_text(struct markdown *m, const char *text);              /* all of it, up to a NUL */

/* report_markdown_tables.c: devices, ranks, operators, device work, and the long ones folded */
void markdown_tables(struct markdown *m, const struct analysis *a);

#endif
