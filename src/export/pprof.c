/*
 * pprof.c - pprof's protobuf (profile.proto), always gzip.
 *
 * A sample is a stack of a thread with the time that was its own and how often
 * it was entered; process and thread are labels.  Functions of the program have
 * their file and line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/formats.h"
#include "export/stacks.h"

/* Fields of messages, as profile.proto numbers them. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5, PROFILE_STRING = 6, PROFILE_TIME = 9,
       PROFILE_DURATION = 10, PROFILE_PERIOD_TYPE = 11, PROFILE_PERIOD = 12 };
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4, FUNCTION_LINE = 5 };

/* Strings that every profile has; then come the trace's own as they are used. */
enum { TEXT_EMPTY, TEXT_WEIGHT, TEXT_NANOSECONDS, TEXT_SLICES, TEXT_COUNT, TEXT_PROCESS, TEXT_THREAD, TEXTS };

struct profile {
	const struct stacks *s;
	struct export_out *out;
	struct buffer part, inner; /* messages in the making */
	uint32_t *text_of;     /* of a string of the trace: its number in the profile, 0: not yet */
	uint8_t *is_function;  /* of a string: its function and location are written */
	uint32_t texts;
};

static void put_number(struct profile *p, struct buffer *to, unsigned field, uint64_t value)
{
	export_out_check(p->out, buffer_append_uv(to, field << 3));
	export_out_check(p->out, buffer_append_uv(to, value));
}

static void put_bytes(struct profile *p, struct buffer *to, unsigned field, const void *data, size_t size)
{
	export_out_check(p->out, buffer_append_uv(to, field << 3 | 2));
	export_out_check(p->out, buffer_append_uv(to, size));
	export_out_check(p->out, buffer_append(to, data, size));
}

/* What is in `part` becomes a field of the profile. */
static void put_part(struct profile *p, unsigned field)
{
	put_bytes(p, &p->out->buf, field, p->part.data, p->part.size);
	buffer_clear(&p->part);
}

/* Protobuf wants UTF-8: what is not becomes visible. */
static uint32_t add_text(struct profile *p, const char *text, size_t size)
{
	buffer_clear(&p->inner);
	export_out_check(p->out, text_append_terminal(&p->inner, text, size, 0));
	put_bytes(p, &p->out->buf, PROFILE_STRING, p->inner.data, p->inner.size);
	return p->texts++;
}

static uint32_t text_of(struct profile *p, uint32_t string)
{
	size_t size;
	const char *text;

	if (string == 0)
		return TEXT_EMPTY;
	if (string >= p->s->timeline->string_count)
		return TEXT_EMPTY;
	if (!p->text_of[string]) {
		text = timeline_string(p->s->timeline, string, &size);
		p->text_of[string] = add_text(p, text, size);
	}
	return p->text_of[string];
}

static void put_head(struct profile *p)
{
	static const char *const weights[] = { "wall", "cpu", "gpu" };
	const char *const texts[TEXTS] = { "", weights[p->s->options->weight], "nanoseconds", "slices", "count", "process", "thread" };
	const uint32_t types[2][2] = { { TEXT_WEIGHT, TEXT_NANOSECONDS }, { TEXT_SLICES, TEXT_COUNT } };

	for (unsigned i = 0; i < TEXTS; i++)
		(void)add_text(p, texts[i], strlen(texts[i]));
	for (unsigned i = 0; i < 2; i++) {
		put_number(p, &p->part, TYPE_TYPE, types[i][0]);
		put_number(p, &p->part, TYPE_UNIT, types[i][1]);
		put_part(p, PROFILE_SAMPLE_TYPE);
	}
	put_number(p, &p->part, TYPE_TYPE, TEXT_WEIGHT);
	put_number(p, &p->part, TYPE_UNIT, TEXT_NANOSECONDS);
	put_part(p, PROFILE_PERIOD_TYPE);
	put_number(p, &p->out->buf, PROFILE_PERIOD, 1);
	if (p->s->timeline->start_ns > 0)
		put_number(p, &p->out->buf, PROFILE_TIME, (uint64_t)p->s->timeline->start_ns);
	put_number(p, &p->out->buf, PROFILE_DURATION, (uint64_t)p->s->timeline->duration);
}

/* A name is a function with one location, both with its number and one more. */
static uint64_t location_of(struct profile *p, uint32_t string)
{
	const struct trace_frame *frame = trace_reader_function(p->s->timeline->reader, string);
	uint64_t id = (uint64_t)string + 1;
	uint32_t name, file;

	if (string >= p->s->timeline->string_count || p->is_function[string])
		return id;
	p->is_function[string] = 1;
	name = text_of(p, string);
	file = frame ? text_of(p, frame->file) : TEXT_EMPTY;
	put_number(p, &p->part, FUNCTION_ID, id);
	put_number(p, &p->part, FUNCTION_NAME, name);
	put_number(p, &p->part, FUNCTION_SYSTEM_NAME, name);
	put_number(p, &p->part, FUNCTION_FILE, file);
	if (frame)
		put_number(p, &p->part, FUNCTION_LINE, frame->line);
	put_part(p, PROFILE_FUNCTION);
	buffer_clear(&p->inner);
	put_number(p, &p->inner, LINE_FUNCTION, id);
	if (frame)
		put_number(p, &p->inner, LINE_LINE, frame->line);
	put_number(p, &p->part, LOCATION_ID, id);
	put_bytes(p, &p->part, LOCATION_LINE, p->inner.data, p->inner.size);
	put_part(p, PROFILE_LOCATION);
	return id;
}

static void put_label(struct profile *p, unsigned key, uint32_t text)
{
	buffer_clear(&p->inner);
	put_number(p, &p->inner, LABEL_KEY, key);
	put_number(p, &p->inner, LABEL_TEXT, text);
	put_bytes(p, &p->part, SAMPLE_LABEL, p->inner.data, p->inner.size);
}

/* The innermost comes first; what it refers to is written before it. */
static void put_sample(struct profile *p, uint32_t node, uint32_t process, uint32_t thread)
{
	const struct stack_node *nodes = p->s->nodes;

	for (uint32_t i = node; i != STACKS_NONE; i = nodes[i].parent)
		(void)location_of(p, nodes[i].name);
	for (uint32_t i = node; i != STACKS_NONE; i = nodes[i].parent)
		put_number(p, &p->part, SAMPLE_LOCATION, (uint64_t)nodes[i].name + 1);
	put_number(p, &p->part, SAMPLE_VALUE, (uint64_t)nodes[node].weight);
	put_number(p, &p->part, SAMPLE_VALUE, nodes[node].count);
	put_label(p, TEXT_PROCESS, process);
	put_label(p, TEXT_THREAD, thread);
	put_part(p, PROFILE_SAMPLE);
}

static int write_profile(struct profile *p)
{
	uint32_t known = STACKS_NONE, process = 0, thread = 0;
	char text[160];

	put_head(p);
	for (uint32_t i = 0; i < p->s->node_count && export_out_ready(p->out); i++) {
		const struct stack_node *n = &p->s->nodes[i];

		if (n->weight == 0)
			continue;
		if (n->thread != known) {
			known = n->thread;
			stacks_process_name(p->s, known, text, sizeof text);
			process = add_text(p, text, strlen(text));
			stacks_thread_name(p->s, known, text, sizeof text);
			thread = add_text(p, text, strlen(text));
		}
		put_sample(p, i, process, thread);
	}
	return p->out->error;
}

EXPORT_WRITER(export_pprof)
{
	static const struct stacks_sink none = { 0 };
	struct profile p = { .out = out };
	struct stacks s;
	int rc = stacks_open(&s, reader, options, err);

	if (rc < 0)
		return rc;
	p.s = &s;
	p.text_of = calloc((size_t)s.timeline->string_count + 1, sizeof *p.text_of);
	p.is_function = calloc((size_t)s.timeline->string_count + 1, 1);
	rc = p.text_of && p.is_function ? 0 : -ENOMEM;
	for (size_t i = 0; i < s.thread_count && rc == 0; i++)
		rc = stacks_walk(&s, i, &none, NULL);
	rc = rc ? rc : write_profile(&p);
	free(p.text_of);
	free(p.is_function);
	buffer_release(&p.part);
	buffer_release(&p.inner);
	stacks_close(&s);
	return rc;
}
