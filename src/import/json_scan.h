/*
 * json_scan.h - finds the next byte of interest, 16 at a time where the machine can.
 */
#ifndef IMPORT_JSON_SCAN_H
#define IMPORT_JSON_SCAN_H

#ifdef __SSE2__
#include <emmintrin.h>

/* The first quote or backslash; may lie beyond the end, where it means nothing. */
static inline const char *json_scan_string(const char *at, const char *end)
{
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');

	for (; at < end; at += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
		int hits =
			_mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));

		if (hits)
			return at + __builtin_ctz((unsigned)hits);
	}
	return end;
}

/* The first quote, bracket or brace. */
static inline const char *json_scan_nesting(const char *at, const char *end)
{
	const __m128i quote = _mm_set1_epi8('"'), bit = _mm_set1_epi8(0x20);
	const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}'); /* brackets are these without the bit */

	for (; at < end; at += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at), folded = _mm_or_si128(bytes, bit);
		__m128i hit = _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close));
		int hits = _mm_movemask_epi8(_mm_or_si128(hit, _mm_cmpeq_epi8(bytes, quote)));

		if (hits)
			return at + __builtin_ctz((unsigned)hits);
	}
	return end;
}

/* The first byte that is not white (1 to 32).  There is one: text ends in zeroes. */
static inline const char *json_scan_space(const char *at)
{
	const __m128i one = _mm_set1_epi8(1), last = _mm_set1_epi8(31);

	for (;; at += 16) {
		__m128i bytes = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)at), one);
		int others = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, last), bytes)) ^ 0xffff;

		if (others)
			return at + __builtin_ctz((unsigned)others);
	}
}

#else

static inline const char *json_scan_space(const char *at)
{
	while ((unsigned char)(*at - 1) < ' ')
		at++;
	return at;
}

static inline const char *json_scan_string(const char *at, const char *end)
{
	while (at < end && *at != '"' && *at != '\\')
		at++;
	return at;
}

static inline const char *json_scan_nesting(const char *at, const char *end)
{
	while (at < end && *at != '"' && (*at | 0x20) != '{' && (*at | 0x20) != '}')
		at++;
	return at;
}

#endif

#endif
