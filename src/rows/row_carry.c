/* row_carry.c - see row_carry.h. */
#include "rows/row_carry.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Entries are never removed: the next slice at the same place of the same track reuses them, so that there are as many
 * as the trace's stacks are deep. */
struct carried {
	bool taken;
	struct row row;
	uint8_t *metadata; /* owned */
};

static struct carried *place_of(const struct row_carry *carry, uint32_t track, uint16_t depth)
{
	size_t mask = carry->capacity - 1;
	size_t at = (track * 2654435761u + depth * 40503u) & mask;

	while (carry->entries[at].taken &&
	       (carry->entries[at].row.track != track || carry->entries[at].row.depth != depth))
		at = (at + 1) & mask;
	return &carry->entries[at];
}

static int grow(struct row_carry *carry)
{
	struct row_carry larger = { .capacity = carry->capacity ? carry->capacity * 2 : 64, .used = carry->used };
	size_t i;

	larger.entries = calloc(larger.capacity, sizeof *larger.entries);
	if (!larger.entries)
		return -ENOMEM;
	for (i = 0; i < carry->capacity; i++)
		if (carry->entries[i].taken)
			*place_of(&larger, carry->entries[i].row.track, carry->entries[i].row.depth) =
				carry->entries[i];
	free(carry->entries);
	*carry = larger;
	return 0;
}

int row_carry_put(struct row_carry *carry, const struct row *row)
{
	struct carried *entry;
	uint8_t *metadata = NULL;

	if (carry->used * 2 >= carry->capacity && grow(carry) < 0)
		return -ENOMEM;
	if (row->metadata.size > 0) {
		metadata = malloc(row->metadata.size);
		if (!metadata)
			return -ENOMEM;
		memcpy(metadata, row->metadata.data, row->metadata.size);
	}
	entry = place_of(carry, row->track, row->depth);
	carry->used += !entry->taken;
	free(entry->metadata);
	*entry = (struct carried){ true, *row, metadata };
	entry->row.metadata.data = metadata;
	return 0;
}

const struct row *row_carry_get(const struct row_carry *carry, uint32_t track, uint16_t depth, uint32_t name)
{
	const struct carried *entry = carry->capacity ? place_of(carry, track, depth) : NULL;

	return entry && entry->taken && entry->row.name == name ? &entry->row : NULL;
}

void row_carry_release(struct row_carry *carry)
{
	size_t i;

	for (i = 0; i < carry->capacity; i++)
		free(carry->entries[i].metadata);
	free(carry->entries);
	*carry = (struct row_carry){ 0 };
}
