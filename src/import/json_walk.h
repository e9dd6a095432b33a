/*
 * json_walk.h - goes through a file of events in JSON, of any size and in any state.
 *
 * The events are the elements of an array: the whole document, or a member of
 * an object whose other members say something about the file.  Several
 * documents may follow each other, and events may stand without an array.
 *
 * An event that is no JSON is read once more, carefully (import/json.h); when
 * that fails too, the walk goes on at the next place that looks like an event
 * and reports what lies between.
 */
#ifndef IMPORT_JSON_WALK_H
#define IMPORT_JSON_WALK_H

#include "import/json.h"
#include "import/output.h"
#include "import/stream.h"

#define JSON_TOO_DEEP "an argument that is nested more than 30 deep and is left out"
#define JSON_EVENT_MAX ((size_t)8 << 20)     /* longer events are passed over */
#define JSON_PROPERTY_MAX ((size_t)64 << 10) /* so are longer members of the document */

struct json_walk;

struct json_reader {
	/* An event, with j before its brace.  Reads all of it, and only then acts on it: it may be given again, with
	 * more input or to be read carefully.  Negative: the walk ends with that. */
	int (*event)(void *arg, struct json_walk *w, struct json *j, struct error *err);
	/* A member of the document beside the events. */
	void (*member)(void *arg, const struct json_text *key, const struct json_value *value);
	const char *events;            /* key of the events in a document that is an object */
	const char *const *first_keys; /* by which an event is told from other objects; up to a NULL */
};

int json_walk_file(const char *path, const struct json_reader *reader, void *arg, struct output *o,
		   const struct import_options *options, struct error *err);
/* The same of text in memory, taken in steps of that many bytes (0: all at once). */
int json_walk_text(const char *text, size_t size, size_t step, const struct json_reader *reader, void *arg,
		   struct output *o, struct error *err);

/* For event(): what is to be said of the one at hand, which is used all the same. */
void json_walk_note(struct json_walk *w, const struct json *j, const char *reason);
/* For event(): the one at hand, from its brace to where the reader is, cannot be used. */
void json_walk_skip(struct json_walk *w, const struct json *j, const char *reason);

#endif
