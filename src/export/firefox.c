/*
 * firefox.c - the Firefox Profiler's processed profile, version 48.
 *
 * A thread has tables of its own: stacks, one a node, and functions with their
 * frames and strings, one a name, by which the profiler merges.  Samples are
 * stacks with a time and a weight in milliseconds ("tracing-ms"), so that the
 * call tree has exact times.  They are in the order of time, as the profiler
 * expects: work of a device is met in the order of its launches.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "export/formats.h"
#include "export/stacks.h"

#define VERSION 48 /* of the format; newer profilers take it and convert it */

struct fox_sample {
	int64_t begin, weight;
	uint32_t node;
};

struct fox {
	struct stacks *s;
	struct export_out *out;
	struct fox_sample *samples; /* of the thread at hand: they are written a column after the other */
	size_t sample_count, sample_capacity;
	uint32_t first_node; /* of the thread at hand: its stacks are numbered from here */
	uint32_t *function_of; /* of a string: its function in the thread at hand + 1 */
	uint32_t *functions;   /* strings */
	uint32_t function_count;
};

static void say(struct fox *x, const char *text)
{
	export_out_check(x->out, buffer_append(&x->out->buf, text, strlen(text)));
	(void)export_out_ready(x->out);
}

static void quote(struct fox *x, const char *text, size_t size)
{
	export_out_check(x->out, text_append_json(&x->out->buf, text, size));
}

/* Nanoseconds as milliseconds, exactly. */
static void put_ms(struct fox *x, int64_t ns)
{
	uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	export_out_check(x->out, buffer_printf(&x->out->buf, "%s%llu.%06llu", ns < 0 ? "-" : "", (unsigned long long)(size / 1000000),
					       (unsigned long long)(size % 1000000)));
}

static int on_sample(void *arg, uint32_t node, int64_t begin, int64_t weight)
{
	struct fox *x = arg;

	if (x->sample_count == x->sample_capacity && ARRAY_GROW(x->samples, x->sample_capacity, 2 * x->sample_count + 64) != 0)
		return -ENOMEM;
	x->samples[x->sample_count++] = (struct fox_sample){ .begin = begin, .weight = weight, .node = node };
	return 0;
}

/* Those that begin together stay in an order that does not depend on the library's sort. */
static int by_time(const void *a, const void *b)
{
	const struct fox_sample *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* ---- Tables ------------------------------------------------------------------------------ */

/* Negative: none. */
static void put_cell(struct fox *x, bool first, int64_t value)
{
	say(x, first ? "" : ",");
	if (value < 0)
		say(x, "null");
	else
		export_out_check(x->out, buffer_printf(&x->out->buf, "%lld", (long long)value));
}

static uint32_t name_of(const struct fox *x, uint32_t node)
{
	uint32_t name = x->s->nodes[node].name;

	return name < x->s->timeline->string_count ? name : 0;
}

static void number_functions(struct fox *x)
{
	for (uint32_t i = x->first_node; i < x->s->node_count; i++) {
		uint32_t name = name_of(x, i);

		if (x->function_of[name])
			continue;
		x->functions[x->function_count] = name;
		x->function_of[name] = ++x->function_count;
	}
}

static void forget_functions(struct fox *x)
{
	while (x->function_count > 0)
		x->function_of[x->functions[--x->function_count]] = 0;
}

/* A column of `count` numbers. */
static void column(struct fox *x, const char *name, uint32_t count, int64_t (*cell)(const struct fox *x, uint32_t i))
{
	export_out_check(x->out, buffer_printf(&x->out->buf, "\"%s\":[", name));
	for (uint32_t i = 0; i < count; i++)
		put_cell(x, i == 0, cell(x, i));
	say(x, "],");
}

/* The same word in all of them. */
static void constant(struct fox *x, const char *name, uint32_t count, const char *word)
{
	export_out_check(x->out, buffer_printf(&x->out->buf, "\"%s\":[", name));
	for (uint32_t i = 0; i < count; i++) {
		say(x, i ? "," : "");
		say(x, word);
	}
	say(x, "],");
}

static int64_t own_number(const struct fox *x, uint32_t i)
{
	(void)x;
	return i;
}

static int64_t stack_frame(const struct fox *x, uint32_t i)
{
	return (int64_t)x->function_of[name_of(x, x->first_node + i)] - 1;
}

static int64_t stack_prefix(const struct fox *x, uint32_t i)
{
	uint32_t parent = x->s->nodes[x->first_node + i].parent;

	return parent == STACKS_NONE ? -1 : (int64_t)(parent - x->first_node);
}

static int64_t function_line(const struct fox *x, uint32_t i)
{
	const struct trace_frame *function = trace_reader_function(x->s->timeline->reader, x->functions[i]);

	return function ? (int64_t)function->line : -1;
}

/* A string for each function, its name; and for its file one after all of these. */
static int64_t function_file(const struct fox *x, uint32_t i)
{
	return function_line(x, i) < 0 ? -1 : (int64_t)i + x->function_count;
}

static void put_strings(struct fox *x)
{
	const struct trace_reader *r = x->s->timeline->reader;
	size_t size;

	say(x, "\"stringArray\":[");
	for (uint32_t i = 0; i < x->function_count; i++) {
		const char *text = trace_reader_string(r, x->functions[i], &size);

		say(x, i ? "," : "");
		quote(x, size ? text : "[no name]", size ? size : 9);
	}
	for (uint32_t i = 0; i < x->function_count; i++) {
		const struct trace_frame *function = trace_reader_function(r, x->functions[i]);
		const char *text = trace_reader_string(r, function ? function->file : 0, &size);

		say(x, ",");
		quote(x, text, size);
	}
	say(x, "]");
}

static void put_length(struct fox *x, uint64_t length)
{
	export_out_check(x->out, buffer_printf(&x->out->buf, "\"length\":%llu}", (unsigned long long)length));
}

static void put_tables(struct fox *x)
{
	uint32_t stacks = x->s->node_count - x->first_node, functions = x->function_count;

	say(x, ",\"stackTable\":{");
	column(x, "frame", stacks, stack_frame);
	column(x, "prefix", stacks, stack_prefix);
	constant(x, "category", stacks, "0");
	constant(x, "subcategory", stacks, "0");
	put_length(x, stacks);
	say(x, ",\"frameTable\":{");
	constant(x, "address", functions, "-1");
	constant(x, "inlineDepth", functions, "0");
	constant(x, "category", functions, "null");
	constant(x, "subcategory", functions, "null");
	column(x, "func", functions, own_number);
	constant(x, "nativeSymbol", functions, "null");
	constant(x, "innerWindowID", functions, "null");
	constant(x, "implementation", functions, "null");
	column(x, "line", functions, function_line);
	constant(x, "column", functions, "null");
	put_length(x, functions);
	say(x, ",\"funcTable\":{");
	column(x, "name", functions, own_number);
	constant(x, "isJS", functions, "false");
	constant(x, "relevantForJS", functions, "false");
	constant(x, "resource", functions, "-1");
	column(x, "fileName", functions, function_file);
	column(x, "lineNumber", functions, function_line);
	constant(x, "columnNumber", functions, "null");
	put_length(x, functions);
	say(x, ",\"resourceTable\":{\"lib\":[],\"name\":[],\"host\":[],\"type\":[],\"length\":0}"
	       ",\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0}"
	       ",\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],\"category\":[],\"length\":0},");
	put_strings(x);
}

/* ---- Threads ------------------------------------------------------------------------------- */

static void put_samples(struct fox *x)
{
	if (x->sample_count)
		qsort(x->samples, x->sample_count, sizeof *x->samples, by_time);
	say(x, ",\"samples\":{\"stack\":[");
	for (size_t i = 0; i < x->sample_count; i++)
		put_cell(x, i == 0, x->samples[i].node - x->first_node);
	say(x, "],\"time\":[");
	for (size_t i = 0; i < x->sample_count; i++) {
		say(x, i ? "," : "");
		put_ms(x, stacks_since_start(x->s, x->samples[i].begin));
	}
	say(x, "],\"weight\":[");
	for (size_t i = 0; i < x->sample_count; i++) {
		say(x, i ? "," : "");
		put_ms(x, x->samples[i].weight);
	}
	say(x, "],\"weightType\":\"tracing-ms\",");
	put_length(x, x->sample_count);
}

static void put_about(struct fox *x, size_t thread)
{
	const struct timeline *t = x->s->timeline;
	const struct timeline_track *track = &t->tracks[x->s->threads[thread].track];
	const struct timeline_process *p = track->process == TIMELINE_NONE ? NULL : &t->processes[track->process];
	char process[160], name[160];

	stacks_process_name(x->s, thread, process, sizeof process);
	stacks_thread_name(x->s, thread, name, sizeof name);
	say(x, "{\"processType\":\"default\",\"processName\":");
	quote(x, process, strlen(process));
	say(x, ",\"name\":");
	quote(x, name, strlen(name));
	export_out_check(x->out, buffer_printf(&x->out->buf, ",\"isMainThread\":%s,\"pid\":\"%llu\",\"tid\":%llu",
					       p && track->os_id == p->pid ? "true" : "false", (unsigned long long)(p ? p->pid : 0),
					       (unsigned long long)track->os_id));
	say(x, ",\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":");
	put_ms(x, stacks_since_start(x->s, x->s->threads[thread].begin));
	say(x, ",\"unregisterTime\":null,\"pausedRanges\":[]");
}

static int put_thread(struct fox *x, size_t thread)
{
	static const struct stacks_sink sink = { .sample = on_sample };
	int rc;

	x->sample_count = 0;
	x->first_node = x->s->node_count;
	rc = stacks_walk(x->s, thread, &sink, x);
	if (rc < 0)
		return rc;
	put_about(x, thread);
	put_samples(x);
	number_functions(x);
	put_tables(x);
	forget_functions(x);
	say(x, "}");
	return x->out->error;
}

static int write_file(struct fox *x)
{
	const struct timeline *t = x->s->timeline;
	int64_t start = t->start_ns > 0 && t->origin_ns > INT64_MIN ? stacks_add(t->start_ns, -t->origin_ns) : 0;
	int rc = 0;

	say(x, "{\"meta\":{\"interval\":1,\"startTime\":");
	put_ms(x, start);
	export_out_check(x->out, buffer_printf(&x->out->buf,
					       ",\"processType\":0,\"product\":\"InferScope\",\"stackwalk\":0,\"version\":27,"
					       "\"preprocessedProfileVersion\":%d,\"symbolicated\":true,\"markerSchema\":[],"
					       "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}]},"
					       "\"libs\":[],\"pages\":[],\"threads\":[\n", VERSION));
	for (size_t i = 0; i < x->s->thread_count && rc == 0; i++) {
		say(x, i ? ",\n" : "");
		rc = put_thread(x, i);
	}
	say(x, "\n]}\n");
	return rc ? rc : x->out->error;
}

EXPORT_WRITER(export_firefox)
{
	struct fox x = { .out = out };
	struct stacks s;
	int rc = stacks_open(&s, reader, options, err);

	if (rc < 0)
		return rc;
	x.s = &s;
	x.function_of = calloc((size_t)s.timeline->string_count + 1, sizeof *x.function_of);
	x.functions = calloc((size_t)s.timeline->string_count + 1, sizeof *x.functions);
	rc = x.function_of && x.functions ? write_file(&x) : -ENOMEM;
	free(x.function_of);
	free(x.functions);
	free(x.samples);
	stacks_close(&s);
	return rc;
}
