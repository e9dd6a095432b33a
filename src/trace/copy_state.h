/*
 * copy_state.h - the copying of a trace, shared by copy.c (all of it, or from a time on) and copy_window.c (a part).
 */
#ifndef TRACE_COPY_STATE_H
#define TRACE_COPY_STATE_H

#include "base/buffer.h"
#include "trace/copy.h"

#define COPY_EXTRA_MAX 8000u /* bytes of fields that fit an event's continuation slots */

struct copy {
	struct trace_reader *from;
	struct trace_writer *to;
	struct trace_redact *redact; /* NULL: texts stay as they are */
	uint32_t *strings;           /* number there by number here; 0: not yet */
	uint32_t *private_strings;   /* the same of names that are replaced */
	size_t string_count;
	bool *frames, *stacks; /* by number: are they there? */
	size_t frame_count, stack_count;
	uint8_t extra[COPY_EXTRA_MAX];
	struct buffer metadata; /* of the event at hand, where it is replaced */
	int failure;            /* the first of a name, a frame or a stack that could not be stored */
};

struct copy *copy_new(struct trace_reader *from, struct trace_writer *to, struct trace_redact *redact); /* NULL: out of memory */
void copy_free(struct copy *c);

/* Everything but the events, and what they alone name. */
int copy_all_but_events(struct copy *c, struct error *err);
/* The name of an event of that kind on that track. */
uint32_t copy_name(struct copy *c, uint32_t id, uint8_t kind, uint32_t track);
/* Events of one track; the batch's arrays may be other than the file has them. */
int copy_segment(struct copy *c, const struct trace_batch *b, const struct trace_segment *s, struct error *err);

#endif
