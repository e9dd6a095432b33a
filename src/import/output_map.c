/* output_map.c - see output_map.h. */
#include "import/output_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t home(const struct output_map *map, uint64_t a, uint64_t b)
{
	uint64_t hash = (a * 0x9e3779b97f4a7c15u ^ b) * 0xff51afd7ed558ccdu;

	return (size_t)(hash ^ hash >> 32) & (map->size - 1);
}

static struct output_map_place *place_of(const struct output_map *map, uint64_t a, uint64_t b)
{
	size_t at = home(map, a, b);

	while (map->places[at].value && (map->places[at].a != a || map->places[at].b != b))
		at = (at + 1) & (map->size - 1);
	return &map->places[at];
}

uint32_t output_map_find(const struct output_map *map, uint64_t a, uint64_t b)
{
	return map->size ? place_of(map, a, b)->value - 1 : UINT32_MAX;
}

static int grow(struct output_map *map)
{
	struct output_map larger = { .size = map->size ? 2 * map->size : 64, .used = map->used };

	larger.places = calloc(larger.size, sizeof *larger.places);
	if (!larger.places)
		return -ENOMEM;
	for (size_t i = 0; i < map->size; i++)
		if (map->places[i].value)
			*place_of(&larger, map->places[i].a, map->places[i].b) = map->places[i];
	free(map->places);
	*map = larger;
	return 0;
}

int output_map_add(struct output_map *map, uint64_t a, uint64_t b, uint32_t value)
{
	if (2 * (map->used + 1) > map->size && grow(map))
		return -ENOMEM;
	*place_of(map, a, b) = (struct output_map_place){ a, b, value + 1 };
	map->used++;
	return 0;
}

void output_map_clear(struct output_map *map)
{
	if (map->used)
		memset(map->places, 0, map->size * sizeof *map->places);
	map->used = 0;
}

void output_map_release(struct output_map *map)
{
	free(map->places);
	*map = (struct output_map){ 0 };
}
