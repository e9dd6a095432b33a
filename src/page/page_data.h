/*
 * page_data.h - a trace as the compressed streams that the page's code reads (docs/report-page.md, "Streams").
 */
#ifndef PAGE_PAGE_DATA_H
#define PAGE_PAGE_DATA_H

#include "page/page.h"

/* What the page says about its own data. */
struct page_data_facts {
	uint64_t slices, slices_here;
	int64_t quantum;
	bool exact, links;
	bool range, range_whole; /* a part of the run was asked for; all slices of it are there */
};

/* Appends the script elements, in at most options->size_most bytes (0 means 0 here), unless the model, the analysis and what
 * else is no slices take more than that alone.  0 or -ENOMEM, and then `out` is as it was. */
int page_data_append(const struct analysis *a, const struct report_source *source, const struct page_options *options,
		     struct buffer *out, struct page_data_facts *ret_facts);

#endif
