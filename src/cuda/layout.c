/* layout.c - see layout.h. */
#include "cuda/layout.h"

#define PROBE 2048u /* bytes; two records of any kind fit */

uint16_t layout_least(unsigned kind)
{
	static const uint16_t least[KIND_LIMIT] = {
		[KIND_MEMCPY] = 64,  [KIND_MEMSET] = 64, [KIND_DRIVER] = 40,   [KIND_RUNTIME] = 40, [KIND_DEVICE] = 152,
		[KIND_CONTEXT] = 16, [KIND_KERNEL] = 144, [KIND_NAME] = 32,    [KIND_OVERHEAD] = 40, [KIND_MEMCPY2] = 72,
		[KIND_EVENT] = 24,   [KIND_SYNC] = 40,	 [KIND_MEMORY] = 80,   [KIND_POOL] = 72,    [KIND_ENVIRONMENT] = 40,
		[KIND_HOST_NODE] = 56, [KIND_HOST_LAUNCH] = 48,
	};

	return kind < KIND_LIMIT ? least[kind] : 0;
}

/* A buffer that has the same kind wherever a record could begin: the distance of the first two records is their size. */
static size_t size_of(layout_walk *next, unsigned kind)
{
	_Alignas(8) uint8_t buffer[PROBE];
	uint64_t word = kind;
	void *first = NULL, *second;
	ptrdiff_t size;

	for (size_t i = 0; i < PROBE; i += sizeof word)
		memcpy(buffer + i, &word, sizeof word);
	if (next(buffer, PROBE, &first) != 0 || first != buffer)
		return 0;
	second = first;
	if (next(buffer, PROBE, &second) != 0)
		return 0;
	size = (uint8_t *)second - buffer;
	return size > 0 && size < (ptrdiff_t)PROBE ? (size_t)size : 0;
}

void layout_ask(layout_walk *next, uint16_t ret[KIND_LIMIT])
{
	for (unsigned kind = 0; kind < KIND_LIMIT; kind++) {
		size_t size = layout_least(kind) ? size_of(next, kind) : 0;

		ret[kind] = size >= layout_least(kind) ? (uint16_t)size : 0;
	}
}

#define MAX_LIMIT_REACHED 12
#define INVALID_KIND 21

static uint32_t kind_of(const uint8_t *at, const uint8_t *end)
{
	uint32_t kind = 0;

	if (end - at >= (ptrdiff_t)sizeof kind)
		memcpy(&kind, at, sizeof kind);
	return kind;
}

size_t layout_record(const uint16_t sizes[KIND_LIMIT], const uint8_t *at, const uint8_t *end)
{
	uint32_t kind = kind_of(at, end);

	return kind < KIND_LIMIT && sizes[kind] <= end - at ? sizes[kind] : 0;
}

int layout_first(const uint16_t sizes[KIND_LIMIT], uint8_t *buffer, size_t valid, void **record)
{
	uint32_t kind = kind_of(buffer, buffer + valid);

	if (layout_record(sizes, buffer, buffer + valid)) {
		*record = buffer;
		return 0;
	}
	return kind < KIND_LIMIT && sizes[kind] ? MAX_LIMIT_REACHED : INVALID_KIND;
}

size_t layout_valid(const uint16_t sizes[KIND_LIMIT], const uint8_t *buffer, size_t size)
{
	const uint8_t *at = buffer, *end = buffer + size;
	size_t length;

	while ((length = layout_record(sizes, at, end)) > 0)
		at += length;
	if (kind_of(at, end)) /* at least one that cannot be read */
		at += end - at < 8 ? end - at : 8;
	return (size_t)(at - buffer);
}
