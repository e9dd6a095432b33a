/*
 * mutate-sqlite.c - databases that are wrong where SQLite looks: in the header of the file and of pages, in the list of
 * cells and in their first bytes.  Other inputs of the target are rows, which need no help.
 */
#include "mutate.h"

#define FILE_HEADER 100
#define PAGE_HEADER 12
#define CELLS 16 /* of which the places are changed */
#define FRONT 16 /* of a cell */

static size_t page_size(const uint8_t *data)
{
	size_t size = (size_t)data[16] << 8 | data[17];

	return size == 1 ? 65536 : size < 512 ? 512 : size;
}

/* A place in a page that says where others are. */
static size_t pick_place(const uint8_t *data, size_t size, struct chance *c)
{
	size_t page = page_size(data), start = pick(c, (size + page - 1) / page) * page, header = start ? start : FILE_HEADER, cell;

	if (header + PAGE_HEADER + 2 * CELLS >= size)
		return pick(c, size);
	switch (pick(c, 4)) {
	case 0:
		return pick(c, FILE_HEADER);
	case 1:
		return header + pick(c, PAGE_HEADER);
	case 2:
		return header + PAGE_HEADER - 4 + pick(c, 2 * CELLS);
	default:
		cell = header + PAGE_HEADER - 4 + 2 * pick(c, CELLS);
		cell = start + ((size_t)data[cell] << 8 | data[cell + 1]) + pick(c, FRONT);
		return cell < size ? cell : pick(c, size);
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct chance c = chance_of(seed);

	if (size <= FILE_HEADER + PAGE_HEADER + 2 * CELLS || memcmp(data, "SQLite format 3", 16) != 0 || pick(&c, 4) == 0)
		return LLVMFuzzerMutate(data, size, max);
	for (size_t i = 1 + pick(&c, 8); i; i--)
		data[pick_place(data, size, &c)] = (uint8_t)pick_number(&c);
	return size;
}
