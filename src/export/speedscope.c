/*
 * speedscope.c - speedscope's own JSON: a profile a thread.
 *
 * By the clock a profile has every begin and end ("evented"), so that its time
 * order view is the trace; by the processor or the device it has stacks with
 * weights ("sampled"), since these times have holes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/formats.h"
#include "export/stacks.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct scope {
	struct stacks *s;
	struct export_out *out;
	uint32_t *frame_of; /* of a string: its frame + 1 */
	uint32_t *names;    /* of frames */
	uint32_t frames;
	struct buffer weights; /* of samples */
	bool first;
};

static int say(struct scope *x, const char *text)
{
	export_out_check(x->out, buffer_append(&x->out->buf, text, strlen(text)));
	return export_out_ready(x->out) ? 0 : x->out->error;
}

static void quote(struct scope *x, const char *text, size_t size)
{
	export_out_check(x->out, text_append_json(&x->out->buf, text, size));
}

static void comma(struct scope *x)
{
	if (!x->first)
		(void)say(x, ",\n");
	x->first = false;
}

static uint32_t frame_of(struct scope *x, uint32_t name)
{
	if (name >= x->s->timeline->string_count)
		name = 0;
	if (!x->frame_of[name]) {
		x->names[x->frames] = name;
		x->frame_of[name] = ++x->frames;
	}
	return x->frame_of[name] - 1;
}

/* ---- Evented ---------------------------------------------------------------------------- */

static int put_edge(struct scope *x, char type, uint32_t node, int64_t time)
{
	comma(x);
	export_out_check(x->out, buffer_printf(&x->out->buf, "{\"type\":\"%c\",\"frame\":%u,\"at\":%lld}", type,
					       frame_of(x, x->s->nodes[node].name), (long long)stacks_since_start(x->s, time)));
	return export_out_ready(x->out) ? 0 : x->out->error;
}

static int on_open(void *arg, uint32_t node, int64_t time)
{
	return put_edge(arg, 'O', node, time);
}

static int on_close(void *arg, uint32_t node, int64_t time)
{
	return put_edge(arg, 'C', node, time);
}

/* ---- Sampled ------------------------------------------------------------------------------ */

static void put_stack(struct scope *x, uint32_t node)
{
	if (x->s->nodes[node].parent != STACKS_NONE) {
		put_stack(x, x->s->nodes[node].parent);
		(void)say(x, ",");
	}
	export_out_check(x->out, buffer_printf(&x->out->buf, "%u", frame_of(x, x->s->nodes[node].name)));
}

static int on_sample(void *arg, uint32_t node, int64_t begin, int64_t weight)
{
	struct scope *x = arg;

	(void)begin;
	export_out_check(x->out, buffer_printf(&x->weights, "%s%lld", x->first ? "" : ",", (long long)weight));
	comma(x);
	(void)say(x, "[");
	put_stack(x, node);
	return say(x, "]");
}

/* ---- The file -------------------------------------------------------------------------------- */

static int put_profile(struct scope *x, size_t thread)
{
	static const struct stacks_sink edges = { .open = on_open, .close = on_close }, samples = { .sample = on_sample };
	bool evented = x->s->options->weight == EXPORT_WALL;
	char process[160], name[160], text[400];
	int64_t total = 0;
	int rc;

	stacks_process_name(x->s, thread, process, sizeof process);
	stacks_thread_name(x->s, thread, name, sizeof name);
	snprintf(text, sizeof text, "%s %s", process, name);
	(void)say(x, evented ? "{\"type\":\"evented\",\"name\":" : "{\"type\":\"sampled\",\"name\":");
	quote(x, text, strlen(text));
	(void)say(x, evented ? ",\"unit\":\"nanoseconds\",\"events\":[" : ",\"unit\":\"nanoseconds\",\"samples\":[");
	x->first = true;
	buffer_clear(&x->weights);
	rc = stacks_walk(x->s, thread, evented ? &edges : &samples, x);
	if (!evented) {
		(void)say(x, "],\"weights\":[");
		export_out_check(x->out, buffer_append(&x->out->buf, x->weights.data, x->weights.size));
		for (uint32_t i = 0; i < x->s->node_count; i++)
			total = stacks_add(total, x->s->nodes[i].thread == thread ? x->s->nodes[i].weight : 0);
	}
	export_out_check(x->out, buffer_printf(&x->out->buf, "],\"startValue\":%lld,\"endValue\":%lld}",
					       (long long)(evented ? stacks_since_start(x->s, x->s->threads[thread].begin) : 0),
					       (long long)(evented ? stacks_since_start(x->s, x->s->threads[thread].end) : total)));
	return rc;
}

static void put_frame(struct scope *x, uint32_t name)
{
	const struct trace_reader *r = x->s->timeline->reader;
	const struct trace_frame *function = trace_reader_function(r, name);
	size_t size;
	const char *text = trace_reader_string(r, name, &size);

	(void)say(x, "{\"name\":");
	quote(x, size ? text : "[no name]", size ? size : 9);
	if (function) {
		text = trace_reader_string(r, function->file, &size);
		(void)say(x, ",\"file\":");
		quote(x, text, size);
		export_out_check(x->out, buffer_printf(&x->out->buf, ",\"line\":%u", (unsigned)function->line));
	}
	(void)say(x, "}");
}

/* Frames come last: JSON has no order, and by then all of them are known. */
static int write_file(struct scope *x)
{
	int rc = say(x, "{\"$schema\":\"" SCHEMA "\",\"exporter\":\"inferscope\",\"activeProfileIndex\":0,\"profiles\":[\n");

	for (size_t i = 0; i < x->s->thread_count && rc == 0; i++) {
		rc = say(x, i ? ",\n" : "");
		rc = rc ? rc : put_profile(x, i);
	}
	if (rc < 0)
		return rc;
	(void)say(x, "\n],\"shared\":{\"frames\":[");
	for (uint32_t i = 0; i < x->frames; i++) {
		(void)say(x, i ? ",\n" : "\n");
		put_frame(x, x->names[i]);
	}
	return say(x, "\n]}}\n");
}

EXPORT_WRITER(export_speedscope)
{
	struct scope x = { .out = out };
	struct stacks s;
	int rc = stacks_open(&s, reader, options, err);

	if (rc < 0)
		return rc;
	x.s = &s;
	x.frame_of = calloc((size_t)s.timeline->string_count + 1, sizeof *x.frame_of);
	x.names = calloc((size_t)s.timeline->string_count + 1, sizeof *x.names);
	rc = x.frame_of && x.names ? write_file(&x) : -ENOMEM;
	free(x.frame_of);
	free(x.names);
	buffer_release(&x.weights);
	stacks_close(&s);
	return rc;
}
