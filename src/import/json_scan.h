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

#else

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
