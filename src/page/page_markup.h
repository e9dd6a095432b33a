/*
 * page_markup.h - what can be read without the page's code: HTML and SVG.
 *
 * The words and figures are those of the other reports (report/report_parts.h).
 * Everything that a trace may contain goes through page_text() or page_name();
 * page_put() is for words of ours.
 */
#ifndef PAGE_PAGE_MARKUP_H
#define PAGE_PAGE_MARKUP_H

#include "page/page_data.h"
#include "report/report_parts.h"

struct page {
	struct buffer *out;
	const struct analysis *a;
	const struct report_source *source;
	int error; /* the first failure */
};

/* ---- page_markup.c ---- */

void page_put(struct page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *page_time(char *out, double ns);                           /* "1.50 µs"; out has room for 32 bytes; returns it */
void page_words(struct page *p, const char *name);               /* ours; '_' becomes a blank */
void page_text(struct page *p, const char *text, size_t size);   /* <bdi>, up to 4 kB of it */
void page_sentence(struct page *p, const char *text);            /* the same up to a NUL */
void page_name(struct page *p, const char *text, size_t size);   /* <bdi>; a long one cut, and unfolded when it is clicked */
void page_string(struct page *p, uint32_t name);                 /* the same of a string of the trace */

/* From the doctype to the end of the head; then the body up to where the facts of the data go. */
void page_markup_head(struct page *p);
void page_markup_body(struct page *p);
/* What became of the data, and the end of the part that is for reading. */
void page_markup_end(struct page *p, const struct page_data_facts *facts);

/* ---- its parts ---- */

void page_markup_tiles(struct page *p);     /* page_markup_tiles.c */
void page_markup_breakdown(struct page *p); /* page_markup_bar.c */
void page_markup_findings(struct page *p);  /* page_markup_findings.c; with notes */
void page_markup_tops(struct page *p);      /* page_markup_tables.c: devices, ranks, then the largest of each table */
void page_markup_integrity(struct page *p); /* page_markup_run.c */
void page_markup_run(struct page *p, const struct page_data_facts *facts);

#endif
