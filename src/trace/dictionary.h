/*
 * dictionary.h - what the writer has said about strings, tracks, processes...
 *
 * One log of encoded entries (docs/sbt-format.md, section 4), in the order in
 * which they were made.  The log from the start is a full dictionary, its tail
 * is a delta; strings are interned by content, their text living in the log.
 * Functions are in dictionary_function.c: each has a string of its own.
 */
#ifndef TRACE_DICTIONARY_H
#define TRACE_DICTIONARY_H

#include "base/buffer.h"
#include "trace/writer.h"

struct dictionary {
	struct buffer log;
	struct buffer entry; /* the entry under construction */
	struct dictionary_string {
		uint64_t offset; /* of the text, in the log */
		uint32_t size, hash;
		bool own; /* a function's: content does not find it */
	} * strings; /* number n is strings[n - 1] */
	uint32_t string_count, string_capacity;
	uint32_t *table; /* string numbers by hash; 0 is free */
	uint32_t table_size;
	uint32_t next_frame; /* above all that have been defined */
	struct function_table {
		struct function_name {
			uint32_t module, function, file, line;
			uint32_t name; /* string number; 0: the place is free */
		} * places;
		uint32_t size, used;
		struct buffer text; /* under construction */
	} functions;
};

void dictionary_release(struct dictionary *d);

uint32_t dictionary_string(struct dictionary *d, const char *text, size_t size);
/* A string of its own, whatever others say the same. */
uint32_t dictionary_own_string(struct dictionary *d, const char *text, size_t size);
/* All return 0, -ENOMEM, or -E2BIG for an entry of more than 8 MiB. */
int dictionary_host(struct dictionary *d, const struct trace_host *host);
int dictionary_process(struct dictionary *d, const struct trace_process *process);
int dictionary_track(struct dictionary *d, const struct trace_track *track);
int dictionary_device(struct dictionary *d, const struct trace_device *device);
int dictionary_clock(struct dictionary *d, const struct trace_clock *clock);
int dictionary_frame(struct dictionary *d, const struct trace_frame *frame);
int dictionary_stack(struct dictionary *d, const struct trace_stack *stack);
int dictionary_tie(struct dictionary *d, uint32_t string, uint32_t frame); /* the entry `function` */

/* String numbers, or 0 when out of memory. */
uint32_t dictionary_function(struct dictionary *d, const struct trace_function *function);
uint32_t dictionary_frame_name(struct dictionary *d, const struct trace_frame *frame, const char *text, size_t size);
void dictionary_functions_release(struct function_table *table);

/* The end of the last whole entry at or before `from` + limit; *ret_count gets the number of entries passed. */
size_t dictionary_cut(const struct dictionary *d, size_t from, size_t limit, uint32_t *ret_count);

#endif
