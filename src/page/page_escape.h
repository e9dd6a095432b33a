/*
 * page_escape.h - text of unknown origin in HTML.
 *
 * Fine as the text of an element and in an attribute with double quotes:
 * & < > " ' are entities, what is not UTF-8 is U+FFFD, controls are pictures of
 * themselves, and what would reorder or hide its neighbours is spelt out as
 * U+202E in angle brackets.  0 or -ENOMEM.
 */
#ifndef PAGE_PAGE_ESCAPE_H
#define PAGE_PAGE_ESCAPE_H

#include <stdbool.h>

#include "base/buffer.h"

int page_escape(struct buffer *out, const char *s, size_t size);

/* In at most `most` characters of the text, the middle left out where there are more; *ret_cut says whether there are. */
int page_escape_cut(struct buffer *out, const char *s, size_t size, size_t most, bool *ret_cut);

#endif
