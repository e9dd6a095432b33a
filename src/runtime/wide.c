/*
 * wide.c - see wide.h.  By hand, since wcstombs() depends on the program's locale.
 */
#include "runtime/wide.h"

_Static_assert(sizeof(wchar_t) == 4, "wchar_t is UTF-32");

#define REPLACEMENT 0xfffdu

static size_t put(uint32_t c, char *ret)
{
	static const uint8_t first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = size; i-- > 1; c >>= 6)
		ret[i] = (char)(0x80 | (c & 0x3f));
	ret[0] = (char)(first[size] | c);
	return size;
}

size_t inferscope_wide(const wchar_t *text, char ret[static WIDE_MAX])
{
	size_t size = 0;

	for (; *text && size <= WIDE_MAX - 4; text++) {
		uint32_t c = (uint32_t)*text;

		size += put(c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? REPLACEMENT : c, ret + size);
	}
	return size;
}
