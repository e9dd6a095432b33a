/*
 * events.h - the insides of the importer of event lists: events_row.c (an
 * event as text) and events.c (what becomes of it).
 */
#ifndef IMPORT_EVENTS_H
#define IMPORT_EVENTS_H

#include "import/json_walk.h"
#include "import/output_state.h"

enum events_key {
	KEY_OTHER,
	KEY_TYPE,
	KEY_PHASE,
	KEY_NAME,
	KEY_START,
	KEY_END,
	KEY_VALUE,
	KEY_GRID,
	KEY_BLOCK,
	KEY_REASON,
	KEY_METADATA,
	KEY_MODULE,
	KEY_FILE,
	KEY_TASK,
	KEY_TRACK,
	KEY_MEMORY_FROM,
	KEY_MEMORY_TO,
	KEY_UNMATCHED,
	KEY_UNFINISHED,
	KEY_IGNORED,
	/* numbers that are no fields of the event */
	KEY_THREAD,
	KEY_STREAM,
	KEY_TASK_ID,
	KEY_PROCESS,
	KEY_DEVICE,
	KEY_LINE,
	KEY_NUMBERS, /* how many keys there are up to here */
	/* and fields, by their number */
	KEY_FIELD = 64
};

/* One event, as its text has it. */
struct events_row {
	struct json_text type, phase, name, module, file, task, track, memory_from, memory_to;
	struct json_value start, end, value, grid, block, reason, metadata;
	bool unmatched, unfinished;
	uint32_t present; /* bit KEY_x */
	uint64_t number[KEY_NUMBERS];
	uint32_t fields; /* bit FIELD_x */
	uint64_t field[FIELD_LIMIT];
};

struct events {
	struct output *output;
	bool lean;
	uint32_t functions, last_function;
	struct output_map tasks; /* process and number to track */
	struct buffer text[3];
	struct import_event event;
	struct json_pack pack;
	uint32_t kept;
	uint8_t memory[OUTPUT_METADATA_MAX];
};

/* Status in j; beside the row, what nobody knows is in v->pack, which is begun. */
void events_parse(struct events *v, struct json *j, struct events_row *r);
/* One more pair for the metadata. */
void events_keep(struct events *v, const struct json_text *key, const struct json_value *value);

/* Of text in memory, in steps of that many bytes: for tests. */
int events_read_text(const char *text, size_t size, size_t step, struct output *o, struct error *err);

#endif
