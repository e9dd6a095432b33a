/*
 * dictionary_function.c - names of events that are functions of the program.
 *
 * Such a name is a string of its own, a frame that says where the function is,
 * and an entry that ties the two.  Found again by all of it: the same text at
 * another place is another name.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/dictionary.h"

void dictionary_functions_release(struct function_table *table)
{
	free(table->places);
	buffer_release(&table->text);
}

/* ---- Finding ---- */

static uint32_t hash_function(const struct function_name *f)
{
	const uint32_t parts[] = { f->module, f->function, f->file, f->line };
	uint32_t hash = 0;

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		hash = (hash ^ parts[i]) * 0x9e3779b1u ^ hash >> 15;
	return hash;
}

static bool is_text(const struct dictionary *d, uint32_t string, struct trace_text text)
{
	const struct dictionary_string *s = &d->strings[string - 1];

	return s->size == text.size && memcmp(d->log.data + s->offset, text.data, text.size) == 0;
}

/* Where the function is, or the free place where it belongs. */
static struct function_name *find_place(const struct dictionary *d, const struct function_name *f, struct trace_text text)
{
	const struct function_table *t = &d->functions;
	uint32_t at = hash_function(f) & (t->size - 1);

	for (; t->places[at].name; at = (at + 1) & (t->size - 1)) {
		const struct function_name *p = &t->places[at];

		if (p->module == f->module && p->function == f->function && p->file == f->file && p->line == f->line &&
		    is_text(d, p->name, text))
			break;
	}
	return &t->places[at];
}

static bool grow_functions(struct function_table *t)
{
	struct function_table larger = { .size = t->size ? 2 * t->size : 256 };

	if (2 * (t->used + 1) <= t->size)
		return true;
	larger.places = calloc(larger.size, sizeof *larger.places);
	if (!larger.places)
		return false;
	for (uint32_t i = 0; i < t->size; i++) {
		uint32_t at = hash_function(&t->places[i]) & (larger.size - 1);

		while (t->places[i].name && larger.places[at].name)
			at = (at + 1) & (larger.size - 1);
		if (t->places[i].name)
			larger.places[at] = t->places[i];
	}
	free(t->places);
	t->places = larger.places;
	t->size = larger.size;
	return true;
}

/* ---- Adding ---- */

/* The frame has been defined, unless its number is the next one. */
static uint32_t add_function(struct dictionary *d, const struct trace_frame *frame, struct trace_text text)
{
	uint32_t name = dictionary_own_string(d, text.data, text.size);

	if (name == 0 || (frame->id == d->next_frame && dictionary_frame(d, frame)) || dictionary_tie(d, name, frame->id))
		return 0;
	return name;
}

uint32_t dictionary_frame_name(struct dictionary *d, const struct trace_frame *frame, const char *text, size_t size)
{
	struct function_name key = { frame->module, frame->function, frame->file, frame->line, 0 }, *place;
	struct trace_text name = { size ? text : "", size < TRACE_STRING_MAX ? size : TRACE_STRING_MAX };

	if (!grow_functions(&d->functions))
		return 0;
	place = find_place(d, &key, name);
	if (place->name)
		return place->name;
	key.name = add_function(d, frame, name);
	if (key.name) {
		*place = key;
		d->functions.used++;
	}
	return key.name;
}

static bool has_module(const struct trace_function *f)
{
	return f->module.size && !(f->module.size == 8 && memcmp(f->module.data, "builtins", 8) == 0);
}

uint32_t dictionary_function(struct dictionary *d, const struct trace_function *f)
{
	struct buffer *text = &d->functions.text;
	struct trace_frame frame = {
		.id = d->next_frame,
		.function = dictionary_string(d, f->qualname.data, f->qualname.size),
		.line = f->line,
	};
	int rc = 0;

	buffer_clear(text);
	if (has_module(f)) {
		rc = buffer_append(text, f->module.data, f->module.size);
		rc = rc ? rc : buffer_append(text, ".", 1);
	}
	rc = rc ? rc : buffer_append(text, f->qualname.data, f->qualname.size);
	if (f->module.size)
		frame.module = dictionary_string(d, f->module.data, f->module.size);
	if (f->file.size)
		frame.file = dictionary_string(d, f->file.data, f->file.size);
	if (rc || frame.function == 0 || (f->module.size && !frame.module) || (f->file.size && !frame.file))
		return 0;
	return dictionary_frame_name(d, &frame, (const char *)text->data, text->size);
}
