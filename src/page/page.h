/*
 * page.h - the report as one HTML file that needs nothing else (docs/report-page.md).
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include "report/report.h"

struct page_options {
	size_t size_most; /* bytes that the file should not exceed: slices are left out until it fits; 0: PAGE_SIZE */
	int64_t from, to; /* ns: all slices of this part of the run are to be there, and it is shown first; 0, 0: none */
};
#define PAGE_SIZE 4900000

/* 0 or -ENOMEM. */
int page_append(const struct analysis *a, const struct report_source *source, const struct page_options *options, struct buffer *out);

#endif
