/*
 * columns.h - text of unknown origin in so many columns of a terminal.
 *
 * What a name of a trace does to a line is known before it is printed: nothing
 * in it moves the cursor, hides or reorders what stands beside it, and it takes
 * no more columns than it was given.
 */
#ifndef REPORT_COLUMNS_H
#define REPORT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Columns of a character: 1, 2 (most of Chinese, Japanese, Korean, emoji), 0 (it joins the one before); -1: nobody knows. */
int columns_of(uint32_t c);

/* Of text that is safe already. */
size_t columns_width(const char *s, size_t size);

enum columns_cut {
	COLUMNS_CUT_END,   /* "the begin..." */
	COLUMNS_CUT_MIDDLE /* "the be...end" */
};

struct columns_options {
	size_t columns; /* at most; 0: no limit */
	enum columns_cut cut;
	bool ascii; /* write nothing else; other characters are escaped */
};

/* Unsafe characters, and those whose width nobody knows, as \n, \x1b or \u{202e}, bytes that are not UTF-8 as \xff, and no
 * more than two marks on one character.  Returns the columns that it took, or -ENOMEM. */
int columns_append(struct buffer *out, const char *s, size_t size, const struct columns_options *options);

#endif
