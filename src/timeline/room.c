/* room.c - arrays of the builder, and times that stay in range. */
#include <errno.h>
#include <stdlib.h>

#include "timeline/build.h"

int room_for(void **array, size_t *capacity, size_t count, size_t size)
{
	size_t grown = *capacity ? *capacity : 64;
	void *bigger;

	if (count <= *capacity)
		return 0;
	while (grown < count)
		grown = grown > SIZE_MAX / 2 ? count : grown + grown / 2;
	if (grown > SIZE_MAX / size)
		return -ENOMEM;
	bigger = realloc(*array, grown * size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*capacity = grown;
	return 0;
}

void room_trim(void **array, size_t count, size_t size)
{
	void *smaller = *array ? realloc(*array, (count ? count : 1) * size) : NULL;

	if (smaller)
		*array = smaller;
}

int64_t time_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

int64_t time_subtract(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return b > 0 ? INT64_MIN : INT64_MAX;
	return difference;
}
