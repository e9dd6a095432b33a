/*
 * chrome.h - the insides of the importer of Chrome's JSON, of which Kineto's is
 * a dialect: chrome.c (files), chrome_parse.c (an event as text),
 * chrome_args.c (its arguments), chrome_kind.c (what categories mean),
 * chrome_place.c (processes, threads, streams and their names) and
 * chrome_event.c (what becomes of it).
 */
#ifndef IMPORT_CHROME_H
#define IMPORT_CHROME_H

#include "import/json_walk.h"
#include "import/output.h"

/* What an event is about; by its category, whatever its phase. */
enum chrome_class {
	CLASS_OTHER, /* a category that we do not know */
	CLASS_SCOPE,
	CLASS_OP,
	CLASS_CALL, /* of a function */
	CLASS_RUNTIME,
	/* from here on on a stream of a device */
	CLASS_KERNEL,
	CLASS_COPY,
	CLASS_SET,
	CLASS_SYNC,
	CLASS_DEVICE_SCOPE,
	/* and no more */
	CLASS_MEMORY,
	CLASS_LAUNCH_FLOW, /* arrows from calls to device work, which the correlation says too */
	CLASS_COUNT
};

static inline bool chrome_on_device(enum chrome_class class)
{
	return class >= CLASS_KERNEL && class <= CLASS_DEVICE_SCOPE;
}

enum chrome_class chrome_class_of(const struct json_text *category);
/* The category that slices of the class have unless they say so; NULL: they always do. */
const char *chrome_usual_category(enum chrome_class class);

/* Arguments with a meaning. */
enum chrome_arg {
	ARG_OTHER,
	ARG_EXTERNAL_ID,
	ARG_CORRELATION,
	ARG_DEVICE,
	ARG_STREAM,
	ARG_GRID,
	ARG_BLOCK,
	ARG_SHARED_MEMORY,
	ARG_REGISTERS,
	ARG_BYTES,
	ARG_GRAPH,
	ARG_WAIT,
	ARG_ADDRESS,
	ARG_KIND, /* of a copy */
	ARG_NAME,
	ARG_LABELS,
	/* from here on they stay arguments, also in a lean trace */
	ARG_COLLECTIVE,
	ARG_RANKS, /* of a process group; in a lean trace their number */
	ARG_KEPT,
	/* and these in memory events */
	ARG_MEMORY,
	ARG_COUNT
};

/* One event, as its text has it. */
struct chrome_event {
	char phase, read_phase;
	char scope; /* of an instant: 't', 'p' or 'g'; 0: it does not say */
	enum chrome_class class, read_class; /* read_...: with what in mind the arguments have been read */
	bool read;
	struct json_text name, category;
	struct json_value time, duration, pid, tid, id, scope_id, args;
};

/* What was found among the arguments. */
struct chrome_args {
	uint32_t present; /* bit ARG_x: number[ARG_x] counts */
	int64_t number[ARG_COUNT];
	uint64_t grid[3], block[3];
	struct json_text kind, text; /* text: of ARG_NAME or ARG_LABELS */
	bool collective;
	uint32_t kept; /* entries in the pack; what the event itself was like comes first */
	struct json_pack pack;
};

struct chrome_places;

#define CHROME_ARG_SIZES 35 /* lengths of the names of arguments with a meaning */

struct chrome {
	struct output *output;
	bool lean, correlated; /* correlated: calls and device work say what belongs together */
	struct chrome_places *places;
	struct chrome_args args;
	uint8_t first_row[CHROME_ARG_SIZES]; /* chrome_args.c: of its table, by length */
	struct import_event event;
	struct buffer text; /* a name without its escapes */
	uint8_t pack[OUTPUT_METADATA_MAX];
};

/* Of text in memory, in steps of that many bytes: for tests. */
int chrome_read_text(const char *text, size_t size, size_t step, struct output *o, struct error *err);

/* chrome_parse.c: status in j; nothing is done with it. */
void chrome_parse(struct chrome *c, struct json *j, struct chrome_event *e);
/* chrome_args.c */
void chrome_args_init(struct chrome *c);
void chrome_read_args(struct chrome *c, struct chrome_event *e, struct json *j); /* j is before the brace */
/* The thread of an event on a stream of another number; afterwards. */
void chrome_keep_thread(struct chrome *c, const struct chrome_event *e);
/* Every argument that is a number becomes a counter. */
int chrome_count(struct chrome *c, const struct chrome_event *e, bool careful, struct error *err);
/* chrome_event.c: 0, or negative when the import is to end. */
int chrome_use(struct chrome *c, struct json_walk *w, const struct json *j, struct chrome_event *e, struct error *err);

/* A text without escapes; lives until the next call. */
struct json_text chrome_plain(struct chrome *c, const struct json_text *text);
uint32_t chrome_string(struct chrome *c, const struct json_text *text);

/* chrome_kind.c: of a copy, by its name, or by its kind ("HtoD") where the name does not say. */
enum event_kind chrome_copy_kind(const struct json_text *name, const struct json_text *kind, uint64_t *ret_memory);

/* chrome_place.c.  Where an event belongs, OUTPUT_NONE when it cannot be told. */
int chrome_places_new(struct chrome_places **ret, struct output *o);
void chrome_places_free(struct chrome_places *p);
uint32_t chrome_thread(struct chrome *c, const struct chrome_event *e);
bool chrome_is_pseudo(const struct json_value *pid); /* of what belongs to no process, as Kineto writes it */
uint32_t chrome_process_track(struct chrome *c, const struct chrome_event *e);
uint32_t chrome_stream(struct chrome *c, const struct chrome_event *e);
/* A stream if there is one, else the thread; *ret_other: a stream that has another number than the event's thread. */
uint32_t chrome_any_track(struct chrome *c, const struct chrome_event *e, bool *ret_other);
void chrome_name_process(struct chrome *c, const struct chrome_event *e, const struct json_text *name);
void chrome_label_process(struct chrome *c, const struct chrome_event *e, const struct json_text *label);
void chrome_name_thread(struct chrome *c, const struct chrome_event *e, const struct json_text *name);

#endif
