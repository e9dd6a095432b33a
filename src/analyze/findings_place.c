/* findings_place.c - where in somebody's code time is spent; see findings_parts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/findings_parts.h"
#include "base/array.h"

/* Frames of others: libraries, the interpreter, what has no source. */
static bool is_library(const char *text, size_t size)
{
	static const char *const anywhere[] = { "site-packages/", "dist-packages/", "/lib/python", "<frozen", NULL };
	static const char *const front[] = { "torch/", "torch.", "nn.Module:", "<", "threading.py", "contextlib.py", "runpy.py",
					     "multiprocessing/", "concurrent/", "asyncio/", "transformers/", "numpy/", "scipy/", "PIL/",
					     "importlib", "queue.py", "functools.py", "weakref.py", "typing.py", "tqdm/", NULL };

	for (const char *const *f = front; *f; f++)
		if (size >= strlen(*f) && memcmp(text, *f, strlen(*f)) == 0)
			return true;
	for (const char *const *w = anywhere; *w; w++)
		if (memmem(text, size, *w, strlen(*w)))
			return true;
	return false;
}

/* What a package installs as a command, such as torchrun. */
static bool is_command(const char *file, size_t size)
{
	return memmem(file, size, "/bin/", 5) && (size < 3 || memcmp(file + size - 3, ".py", 3) != 0);
}

bool is_own_function(const struct timeline *t, uint32_t name)
{
	const struct trace_frame *frame = t->reader ? trace_reader_function(t->reader, name) : NULL;
	size_t size, file_size = 0;
	const char *text = timeline_string(t, name, &size), *file = "";

	if (frame && frame->file)
		file = timeline_string(t, frame->file, &file_size);
	return size > 0 && !is_library(text, size) && !is_library(file, file_size) && !is_command(file, file_size);
}

uint32_t operator_of(const struct timeline *t, uint32_t slice)
{
	while (slice != TIMELINE_NONE && t->kind[slice] != EVENT_OP)
		slice = t->parent[slice];
	return slice;
}

uint32_t place_of(const struct timeline *t, uint32_t slice)
{
	uint32_t other = TIMELINE_NONE;

	for (uint32_t at = slice; at != TIMELINE_NONE; at = t->parent[at]) {
		if (t->kind[at] == EVENT_CPU_CALL && is_own_function(t, t->name[at]))
			return at;
		if (other == TIMELINE_NONE && (t->kind[at] == EVENT_SCOPE || t->kind[at] == EVENT_OP))
			other = at;
	}
	return other != TIMELINE_NONE ? other : slice;
}

int places_add(struct place_table *table, const struct timeline *t, uint32_t slice, int64_t time)
{
	struct place_time *place;
	uint32_t name;

	if (time <= 0)
		return 0;
	table->time = time_sum(table->time, time);
	table->adds++;
	if (slice == TIMELINE_NONE)
		return 0;
	name = slice_name(t, slice);
	if (!table->of_name)
		table->of_name = calloc((size_t)t->string_count + 1, sizeof *table->of_name);
	if (!table->of_name)
		return -ENOMEM;
	if (!table->of_name[name]) {
		if (ARRAY_GROW(table->places, table->capacity, table->count + 1) < 0)
			return -ENOMEM;
		table->places[table->count++] = (struct place_time){ .name = name, .slice = slice };
		table->of_name[name] = (uint32_t)table->count;
	}
	place = &table->places[table->of_name[name] - 1];
	place->time = time_sum(place->time, time);
	place->count++;
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct place_time *x = a, *y = b;

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

void places_sort(struct place_table *table)
{
	if (table->count)
		qsort(table->places, table->count, sizeof *table->places, compare_places);
}

void places_release(struct place_table *table)
{
	free(table->places);
	free(table->of_name);
	*table = (struct place_table){ 0 };
}
