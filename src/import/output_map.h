/*
 * output_map.h - from two numbers of a file to one of ours.
 */
#ifndef IMPORT_OUTPUT_MAP_H
#define IMPORT_OUTPUT_MAP_H

#include <stddef.h>
#include <stdint.h>

struct output_map {
	struct output_map_place {
		uint64_t a, b;
		uint32_t value; /* plus one; 0: free */
	} * places;
	size_t size, used;
};

/* UINT32_MAX when it is not there. */
uint32_t output_map_find(const struct output_map *map, uint64_t a, uint64_t b);
/* For a pair that is not there yet; 0 or -ENOMEM. */
int output_map_add(struct output_map *map, uint64_t a, uint64_t b, uint32_t value);
void output_map_clear(struct output_map *map);
void output_map_release(struct output_map *map);

#endif
