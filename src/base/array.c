#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int array_grow(void **array, size_t *capacity, size_t count, size_t size)
{
	size_t grown = *capacity ? *capacity : 8;
	char *bigger;

	if (count <= *capacity)
		return 0;
	while (grown < count)
		grown = grown > SIZE_MAX / 2 ? count : grown * 2;
	if (grown > SIZE_MAX / size)
		return -ENOMEM;
	bigger = realloc(*array, grown * size);
	if (!bigger)
		return -ENOMEM;
	memset(bigger + *capacity * size, 0, (grown - *capacity) * size);
	*array = bigger;
	*capacity = grown;
	return 0;
}
