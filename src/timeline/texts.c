/* texts.c - the texts that a timeline has of its own, each once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/build.h"

struct text {
	uint64_t hash;
	char *text;
};

struct timeline_texts {
	struct text *table; /* open addressing */
	size_t capacity, used;
};

static uint64_t hash_of(const char *text, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
	return hash;
}

static struct text *place_of(const struct timeline_texts *texts, uint64_t hash, const char *text, size_t size)
{
	size_t mask = texts->capacity - 1, at = (size_t)(hash ^ hash >> 32) & mask;

	for (; texts->table[at].text; at = (at + 1) & mask)
		if (texts->table[at].hash == hash && strlen(texts->table[at].text) == size &&
		    memcmp(texts->table[at].text, text, size) == 0)
			break;
	return &texts->table[at];
}

static int grow(struct timeline_texts *texts)
{
	struct timeline_texts larger = { .capacity = texts->capacity ? texts->capacity * 2 : 64, .used = texts->used };

	larger.table = calloc(larger.capacity, sizeof *larger.table);
	if (!larger.table)
		return -ENOMEM;
	for (size_t i = 0; i < texts->capacity; i++) {
		const struct text *old = &texts->table[i];

		if (old->text)
			*place_of(&larger, old->hash, old->text, strlen(old->text)) = *old;
	}
	free(texts->table);
	*texts = larger;
	return 0;
}

/* A text ends at its first NUL. */
int texts_intern(struct timeline_texts **texts, const char *text, size_t size, const char **ret)
{
	size_t length = strnlen(text, size);
	uint64_t hash = hash_of(text, length);
	struct text *place;

	if (!*texts && !(*texts = calloc(1, sizeof **texts)))
		return -ENOMEM;
	if ((*texts)->used * 2 >= (*texts)->capacity && grow(*texts) < 0)
		return -ENOMEM;
	place = place_of(*texts, hash, text, length);
	if (!place->text) {
		place->text = strndup(text, length);
		if (!place->text)
			return -ENOMEM;
		place->hash = hash;
		(*texts)->used++;
	}
	*ret = place->text;
	return 0;
}

void texts_free(struct timeline_texts *texts)
{
	if (!texts)
		return;
	for (size_t i = 0; i < texts->capacity; i++)
		free(texts->table[i].text);
	free(texts->table);
	free(texts);
}
