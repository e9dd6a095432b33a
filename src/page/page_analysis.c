/* page_analysis.c - the analysis JSON with shorter texts, for when names take more room than all the rest. */
#include <errno.h>
#include <string.h>

#include "page/page_parts.h"

#define ESCAPE_MOST 12u /* bytes of a character that is two escaped units */

/* Bytes of the character or escape at `at`, which is inside a string. */
static size_t unit_size(const char *at, const char *end)
{
	size_t size = 1;

	if (*at == '\\')
		size = end - at > 1 && at[1] == 'u' ? 6 : 2;
	else
		while (at + size < end && ((uint8_t)at[size] & 0xc0) == 0x80)
			size++;
	return size < (size_t)(end - at) ? size : (size_t)(end - at);
}

static bool is_surrogate(const char *at, const char *end)
{
	return end - at >= 6 && at[0] == '\\' && at[1] == 'u' && (at[2] == 'd' || at[2] == 'D');
}

/* The quote that ends a string. */
static const char *string_end(const char *at, const char *end)
{
	while (at < end && *at != '"')
		at += *at == '\\' && end - at > 1 ? 2 : 1;
	return at;
}

/* The first place at or after `from` at which a string may be cut, counted from its begin. */
static const char *cut_at(const char *begin, const char *end, size_t from)
{
	const char *at = begin;

	while (at < end && ((size_t)(at - begin) < from || is_surrogate(at, end)))
		at += unit_size(at, end);
	return at;
}

static int append_cut(struct buffer *out, const char *begin, const char *end, size_t most)
{
	size_t size = (size_t)(end - begin);
	const char *front = end, *back = end;
	int rc;

	if (size > most + ESCAPE_MOST) {
		front = cut_at(begin, end, most / 2);
		back = cut_at(begin, end, size - most / 2);
	}
	rc = buffer_append(out, begin, (size_t)(front - begin));
	if (rc == 0 && front < end)
		rc = buffer_append(out, "\xe2\x80\xa6", 3);
	return rc ? rc : buffer_append(out, back, (size_t)(end - back));
}

int page_analysis_cut(const struct buffer *json, size_t most, struct buffer *out)
{
	const char *at = (const char *)json->data, *end = at + json->size;
	int rc = 0;

	while (at < end && rc == 0) {
		const char *quote = memchr(at, '"', (size_t)(end - at)), *stop;

		if (!quote)
			return buffer_append(out, at, (size_t)(end - at));
		rc = buffer_append(out, at, (size_t)(quote + 1 - at));
		stop = string_end(quote + 1, end);
		if (rc == 0)
			rc = append_cut(out, quote + 1, stop, most);
		at = stop;
		if (rc == 0 && at < end)
			rc = buffer_append(out, at++, 1);
	}
	return rc;
}
