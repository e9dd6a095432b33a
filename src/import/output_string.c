/*
 * output_string.c - strings to numbers.
 *
 * A trace has few different names and says them again and again.  A cache of
 * those seen lately, by a hash that takes eight bytes at a time, spares most
 * looks into the writer's dictionary.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/output_state.h"

#define CACHE_SIZE 4096u
#define CACHED_MAX 512u /* bytes of a string that is worth a copy */

struct output_string_cache {
	struct {
		uint64_t hash;
		uint32_t size, number, room;
		char *text;
	} places[CACHE_SIZE];
};

void output_string_cache_free(struct output_string_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < CACHE_SIZE; i++)
		free(cache->places[i].text);
	free(cache);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_text(const char *text, size_t size)
{
	uint64_t hash = size, word = 0;

	for (; size >= 8; text += 8, size -= 8) {
		memcpy(&word, text, 8);
		hash = mix(hash, word);
	}
	word = 0;
	memcpy(&word, text, size);
	return mix(hash, word);
}

/* The name that all strings beyond the limits share; the text is the recorder's. */
static uint32_t refused(struct output *o)
{
	static const char text[] = "[too many names]";

	o->names_refused++;
	if (o->string_refused == 0)
		o->string_refused = trace_writer_string(o->writer, text, sizeof text - 1);
	return o->string_refused;
}

static uint32_t intern(struct output *o, const char *text, size_t size)
{
	uint32_t number;

	if (o->string_last >= OUTPUT_STRINGS_MAX || o->string_bytes + size > OUTPUT_STRING_BYTES_MAX)
		number = refused(o);
	else
		number = trace_writer_string(o->writer, text, size);
	if (number == 0) {
		output_fail(o, -ENOMEM);
		return OUTPUT_NONE;
	}
	if (number > o->string_last) {
		o->string_last = number;
		o->string_bytes += size;
	}
	return number;
}

static void remember(struct output *o, size_t at, uint64_t hash, const char *text, size_t size, uint32_t number)
{
	char *copy;

	if (size > o->cache->places[at].room) {
		copy = realloc(o->cache->places[at].text, (size + 31) / 32 * 32);
		if (!copy)
			return;
		o->cache->places[at].text = copy;
		o->cache->places[at].room = (uint32_t)((size + 31) / 32 * 32);
	}
	memcpy(o->cache->places[at].text, text, size);
	o->cache->places[at].hash = hash;
	o->cache->places[at].size = (uint32_t)size;
	o->cache->places[at].number = number;
}

uint32_t output_string(struct output *o, const char *text, size_t size)
{
	uint64_t hash;
	uint32_t number;
	size_t at;

	if (size == 0)
		return 0;
	if (size > OUTPUT_STRING_MAX) {
		size = OUTPUT_STRING_MAX;
		o->report->cut++;
	}
	if (size > CACHED_MAX)
		return intern(o, text, size);
	if (!o->cache && !(o->cache = calloc(1, sizeof *o->cache))) {
		output_fail(o, -ENOMEM);
		return OUTPUT_NONE;
	}
	hash = hash_text(text, size);
	at = hash % CACHE_SIZE;
	if (o->cache->places[at].hash == hash && o->cache->places[at].size == size &&
	    memcmp(o->cache->places[at].text, text, size) == 0)
		return o->cache->places[at].number;
	number = intern(o, text, size);
	if (number != OUTPUT_NONE)
		remember(o, at, hash, text, size, number);
	return number;
}
