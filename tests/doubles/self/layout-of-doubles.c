/* Places of fields as the doubles have them, by name: their names and the door's cannot be in one file. */
#include <string.h>

#include "cupti_layout.h"
#include "layout-of-doubles.h"

int offset_in_doubles(const char *record, const char *field)
{
#define FIELD(of, name, offset, width, since) \
	if (strcmp(record, #of) == 0 && strcmp(field, #name) == 0) \
		return offset;
	LAYOUT_FIELDS(FIELD)
#undef FIELD
	return -1;
}

size_t size_in_doubles(int release, unsigned kind)
{
	return layout_size(release, (int)kind);
}
