#include "system/id_list.h"

#include "system/proc.h"

/* The next range, "3" or "3-5", with the comma behind it.  False at the end, and at anything else. */
static bool next_range(const char **text, uint32_t *first, uint32_t *last)
{
	const char *at = *text;
	uint64_t from, to;

	if (!proc_number(&at, &from))
		return false;
	to = from;
	if (*at == '-') {
		at++;
		if (!proc_number(&at, &to))
			return false;
	}
	if (to < from || to >= ID_LIST_MAX)
		return false;
	*text = at + (*at == ',');
	*first = (uint32_t)from;
	*last = (uint32_t)to;
	return true;
}

uint32_t id_list_count(const char *text)
{
	uint32_t first, last, count = 0;

	while (next_range(&text, &first, &last)) {
		count += last - first + 1;
		if (count > ID_LIST_MAX)
			return 0;
	}
	return *text == '\0' || *text == '\n' ? count : 0;
}

bool id_list_at(const char *text, uint32_t index, uint32_t *ret)
{
	uint32_t first, last;

	while (next_range(&text, &first, &last)) {
		if (index <= last - first) {
			*ret = first + index;
			return true;
		}
		index -= last - first + 1;
	}
	return false;
}
