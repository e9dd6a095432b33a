/*
 * array.h - arrays that grow.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>

/* Makes *array hold at least `count` items of `size` bytes, new ones zero; *capacity says how many it holds.  0 or -ENOMEM,
 * and then all is as it was. */
int array_grow(void **array, size_t *capacity, size_t count, size_t size);

/* The same for a pointer of any type. */
#define ARRAY_GROW(array, capacity, count) array_grow((void **)&(array), &(capacity), count, sizeof *(array))

#endif
