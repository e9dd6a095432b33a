/*
 * events.c - a JSON list of events as `inferscope dump` writes it, and as
 * others write it by hand: event_type, name, start_us, end_us, thread_id,
 * cpu_id, device_id, grid_dim, block_dim, bytes.
 */
#include "import/events.h"

#include <errno.h>
#include <stdlib.h>

#include "import/importer.h"

#define FUNCTIONS_MAX (1u << 17) /* different ones; the others have a name only */

/* ---- Meaning ------------------------------------------------------------------- */

/* A text without its escapes, in one of three places. */
static struct json_text plain(struct events *v, unsigned place, const struct json_text *text)
{
	struct buffer *buf = &v->text[place];

	buffer_clear(buf);
	if (!text->escaped || json_unescape(text, buf))
		return *text;
	return (struct json_text){ (const char *)buf->data, buf->size, false };
}

static unsigned kind_of(const struct json_text *type)
{
	const char *name;

	for (unsigned kind = 1; kind < EVENT_KIND_COUNT; kind++) {
		name = event_kind_name(kind);
		if (name && json_is(type, name, strlen(name)))
			return kind;
	}
	return EVENT_NONE;
}

static bool read_us(const struct json_value *value, int64_t *ret)
{
	return (value->type == JSON_NUMBER || value->type == JSON_STRING) &&
	       json_decimal(value->text.data, value->text.size, 3, ret);
}

static bool phase_named(const struct json_text *text, uint8_t *ret)
{
	static const char *const names[PHASE_COUNT] = { [PHASE_BEGIN] = "begin",
							[PHASE_END] = "end",
							[PHASE_COMPLETE] = "complete",
							[PHASE_INSTANT] = "instant",
							[PHASE_ASYNC_BEGIN] = "async_begin",
							[PHASE_ASYNC_END] = "async_end",
							[PHASE_FLOW_OUT] = "flow_out",
							[PHASE_FLOW_IN] = "flow_in" };

	for (uint8_t phase = 0; phase < PHASE_COUNT; phase++)
		if (text->data && json_is(text, names[phase], strlen(names[phase]))) {
			*ret = phase;
			return true;
		}
	return false;
}

/* What these say is of one instant; a list may have them end when they begin. */
static bool is_point(unsigned kind)
{
	return kind == EVENT_INSTANT || kind == EVENT_COUNTER || kind == EVENT_CPU_SAMPLE || kind == EVENT_MEMORY_ALLOC ||
	       kind == EVENT_MEMORY_FREE || kind == EVENT_LOST;
}

/* Phase and times.  NULL, or why the event cannot be used; "" when there is nothing to it. */
static const char *set_phase(struct events *v, const struct events_row *r)
{
	struct import_event *e = &v->event;
	int64_t start = 0, end = 0;
	bool has_start = read_us(&r->start, &start), has_end = read_us(&r->end, &end);

	if (!has_start && !has_end)
		return r->start.type == JSON_NUMBER ? "an event with an absurd time" : "an event without a time";
	if ((r->start.type == JSON_NUMBER && !has_start) || (r->end.type == JSON_NUMBER && !has_end))
		return "an event with an absurd time";
	e->time = has_start ? start : end;
	if (JSON_IS(&r->type, "scope_enter")) {
		e->phase = PHASE_BEGIN;
	} else if (JSON_IS(&r->type, "scope_exit")) {
		if (r->unfinished)
			return "";
		e->phase = PHASE_END;
		e->time = has_end ? end : start;
	} else if (phase_named(&r->phase, &e->phase)) {
		if (e->phase == PHASE_END && has_end)
			e->time = end;
	} else if (!has_start) {
		e->phase = PHASE_END;
	} else if (has_end && !(start == end && is_point(kind_of(&r->type)))) {
		e->phase = PHASE_COMPLETE;
	} else {
		e->phase = r->unfinished ? PHASE_BEGIN : PHASE_INSTANT;
	}
	if (e->phase == PHASE_COMPLETE) {
		output_report(v->output)->repaired += end < start;
		import_event_set(e, FIELD_DURATION, end < start ? 0 : (uint64_t)end - (uint64_t)start);
	}
	return NULL;
}

static void set_kind(struct events *v, const struct events_row *r)
{
	struct import_event *e = &v->event;
	static const struct json_text key = { "event_type", 10, false };
	struct json_value type = { JSON_STRING, r->type };

	e->kind = (uint8_t)kind_of(&r->type);
	if (e->kind != EVENT_NONE)
		return;
	e->kind = e->phase == PHASE_INSTANT ? EVENT_INSTANT : EVENT_SCOPE;
	if (!JSON_IS(&r->type, "scope_enter") && !JSON_IS(&r->type, "scope_exit"))
		events_keep(v, &key, &type);
}

static void set_triple(struct import_event *e, const struct json_value *value, enum event_field first)
{
	struct json j = json_inside(value, false);
	struct json_value item;
	bool start = true;
	uint64_t number;

	if (value->type != JSON_ARRAY)
		return;
	json_enter(&j, '[');
	for (unsigned i = 0; i < 3 && json_element(&j, &start); i++) {
		json_value(&j, JSON_IN_ARRAY, &item);
		if (j.status == JSON_OK && item.type == JSON_NUMBER &&
		    json_natural(item.text.data, item.text.size, &number))
			import_event_set(e, first + i, number);
	}
}

/* Whole numbers that a double cannot hold stay what they are. */
static void set_value(struct import_event *e, const struct json_value *value)
{
	const int64_t exact = (int64_t)1 << 53;
	int64_t integer;
	double number;
	uint64_t bits;

	if (value->type != JSON_NUMBER || !json_double(value->text.data, value->text.size, &number))
		return;
	if ((number > (double)exact || number < (double)-exact) && !memchr(value->text.data, '.', value->text.size) &&
	    !memchr(value->text.data, 'e', value->text.size) &&
	    json_decimal(value->text.data, value->text.size, 0, &integer)) {
		import_event_set(e, FIELD_INTEGER, (uint64_t)integer);
		return;
	}
	memcpy(&bits, &number, sizeof bits);
	import_event_set(e, FIELD_VALUE, bits);
}

static unsigned memory_kind(const struct json_text *text)
{
	const char *name;

	for (unsigned kind = 0; text->data && kind < MEMORY_KIND_COUNT; kind++) {
		name = event_memory_kind_name(kind);
		if (name && json_is(text, name, strlen(name)))
			return kind;
	}
	return MEMORY_UNKNOWN;
}

static void set_reason(struct import_event *e, const struct json_value *value)
{
	const char *name;
	uint64_t number;

	for (unsigned reason = 1; reason < LOST_REASON_COUNT; reason++) {
		name = event_lost_reason_name(reason);
		if (value->type == JSON_STRING && name && json_is(&value->text, name, strlen(name)))
			import_event_set(e, FIELD_REASON, reason);
	}
	if (value->type == JSON_NUMBER && json_natural(value->text.data, value->text.size, &number))
		import_event_set(e, FIELD_REASON, number);
}

static void set_fields(struct events *v, const struct events_row *r)
{
	struct import_event *e = &v->event;

	for (uint32_t left = r->fields; left; left &= left - 1) {
		unsigned field = (unsigned)__builtin_ctz(left);

		import_event_set(e, field, r->field[field]);
	}
	if (r->unmatched)
		import_event_set(e, FIELD_DEPTH, EVENT_DEPTH_UNMATCHED);
	set_triple(e, &r->grid, FIELD_GRID_X);
	set_triple(e, &r->block, FIELD_BLOCK_X);
	set_value(e, &r->value);
	set_reason(e, &r->reason);
	if (r->memory_from.data || r->memory_to.data)
		import_event_set(e, FIELD_MEMORY_KIND,
				 MEMORY_KINDS(memory_kind(&r->memory_from), memory_kind(&r->memory_to)));
}

static void set_metadata(struct events *v, const struct events_row *r)
{
	struct json j = json_inside(&r->metadata, v->pack.careful);
	struct json_value value;
	struct json_text key;
	bool first = true;

	if (r->metadata.type == JSON_OBJECT)
		for (json_enter(&j, '{'); json_member(&j, &first, &key);) {
			json_value(&j, JSON_IN_OBJECT, &value);
			if (j.status == JSON_OK)
				events_keep(v, &key, &value);
		}
	json_pack_end(&v->pack, v->kept);
	output_report(v->output)->cut += v->pack.cut;
	v->event.metadata = v->pack.data;
	v->event.metadata_size = v->kept ? v->pack.size : 0;
}

/* ---- Names and places ----------------------------------------------------------- */

static bool is_function(const struct events_row *r)
{
	return r->module.size || r->file.size || r->present & 1u << KEY_LINE;
}

/* "module.qualname" is what a function is called; both parts are wanted here. */
static uint32_t function_name(struct events *v, const struct events_row *r, struct json_text name)
{
	struct json_text module = plain(v, 1, &r->module), file = plain(v, 2, &r->file);
	struct trace_function function = { .module = { module.data, module.size }, .file = { file.data, file.size } };
	uint32_t number;

	if (module.size && module.size < name.size && memcmp(name.data, module.data, module.size) == 0 &&
	    name.data[module.size] == '.') {
		name.data += module.size + 1;
		name.size -= module.size + 1;
	}
	function.qualname = (struct trace_text){ name.data, name.size };
	function.line =
		r->present & 1u << KEY_LINE && r->number[KEY_LINE] <= UINT32_MAX ? (uint32_t)r->number[KEY_LINE] : 0;
	number = trace_writer_function(v->output->writer, &function);
	if (number > v->last_function) {
		v->last_function = number;
		v->functions++;
	}
	return number ? number : OUTPUT_NONE;
}

static uint32_t name_of(struct events *v, const struct events_row *r)
{
	struct json_text name = plain(v, 0, &r->name);

	if (is_function(r) && name.size && name.size < OUTPUT_STRING_MAX && r->file.size < OUTPUT_STRING_MAX &&
	    r->module.size < OUTPUT_STRING_MAX && v->functions < FUNCTIONS_MAX)
		return function_name(v, r, name);
	return output_string(v->output, name.data, name.size);
}

static uint32_t task_track(struct events *v, const struct events_row *r, uint32_t process)
{
	uint64_t number = r->number[KEY_TASK_ID];
	uint32_t track = output_map_find(&v->tasks, process, number);
	struct json_text name;

	if (track != OUTPUT_NONE)
		return track;
	track = output_add_track(v->output,
				 (struct trace_track){ .kind = TRACK_TASK,
						       .process = process == OUTPUT_NONE ? -1 : (int64_t)process,
						       .os_id = number,
						       .device = -1,
						       .parent = -1 });
	if (track == OUTPUT_NONE || output_map_add(&v->tasks, process, number, track))
		return OUTPUT_NONE;
	name = plain(v, 0, &r->task);
	output_track_name(v->output, track, name.data, name.size);
	return track;
}

static bool is_device_work(unsigned kind)
{
	return kind >= EVENT_GPU_KERNEL && kind <= EVENT_MEMSET;
}

/* What was seen of a thread from outside lies beside its own events. */
static bool is_outside(const struct events_row *r)
{
	return JSON_IS(&r->track, "host") || (JSON_IS(&r->track, "states") && r->present & 1u << KEY_THREAD);
}

static uint32_t outside_track(struct output *o, const struct events_row *r, uint32_t process)
{
	return JSON_IS(&r->track, "host") ? output_host_track(o) : output_states(o, process, r->number[KEY_THREAD]);
}

/* A thread's number beside a device's is of the one that asked for the work. */
static uint32_t track_of(struct events *v, const struct events_row *r)
{
	struct output *o = v->output;
	uint32_t process = r->present & 1u << KEY_PROCESS ? output_process(o, r->number[KEY_PROCESS]) : OUTPUT_NONE;
	bool on_device =
		r->present & 1u << KEY_DEVICE &&
		(is_device_work(v->event.kind) || r->present & 1u << KEY_STREAM || !(r->present & 1u << KEY_THREAD));

	if (is_outside(r))
		return outside_track(o, r, process);
	if (r->present & 1u << KEY_TASK_ID)
		return task_track(v, r, process);
	if (on_device || r->present & 1u << KEY_STREAM) {
		uint32_t device = r->present & 1u << KEY_DEVICE ? output_device(o, r->number[KEY_DEVICE]) : OUTPUT_NONE;

		return output_stream(o, device, process, r->present & 1u << KEY_STREAM ? r->number[KEY_STREAM] : 0);
	}
	if (r->present & 1u << KEY_THREAD)
		return output_thread(o, process, r->number[KEY_THREAD]);
	return output_process_track(o, process);
}

/* ---- All of it ------------------------------------------------------------------ */

static const char *understand(struct events *v, const struct events_row *r)
{
	const char *reason;

	v->event.present = 0;
	if (!r->type.data)
		return "an event without a type";
	if (!r->name.data)
		return "an event without a name";
	reason = set_phase(v, r);
	if (reason)
		return reason;
	set_kind(v, r);
	set_fields(v, r);
	set_metadata(v, r);
	return NULL;
}

static int read_event(void *arg, struct json_walk *w, struct json *j, struct error *err)
{
	struct events *v = arg;
	const char *reason;
	struct events_row r;

	events_parse(v, j, &r);
	if (j->status != JSON_OK)
		return 0;
	reason = understand(v, &r);
	if (reason) {
		if (*reason)
			json_walk_skip(w, j, reason);
		return 0;
	}
	if (v->pack.deep)
		json_walk_note(w, j, JSON_TOO_DEEP);
	v->event.track = track_of(v, &r);
	v->event.name = name_of(v, &r);
	return output_event(v->output, &v->event, err);
}

static void read_member(void *arg, const struct json_text *key, const struct json_value *value)
{
	(void)arg;
	(void)key;
	(void)value;
}

static const char *const first_keys[] = { "event_type", "phase",     "name",       "start_us",
					  "end_us",     "thread_id", "process_id", NULL };
static const struct json_reader reader = {
	.event = read_event, .member = read_member, .events = "events", .first_keys = first_keys
};

static struct events *events_new(struct output *o)
{
	struct events *v = calloc(1, sizeof *v);

	if (!v)
		return NULL;
	v->output = o;
	v->lean = output_lean(o);
	output_format(o, IMPORT_EVENTS);
	return v;
}

static void events_free(struct events *v)
{
	output_map_release(&v->tasks);
	for (size_t i = 0; i < sizeof v->text / sizeof v->text[0]; i++)
		buffer_release(&v->text[i]);
	free(v);
}

static int events_read(const char *path, struct output *o, const struct import_options *options, struct error *err)
{
	struct events *v = events_new(o);
	int rc;

	if (!v)
		return error_set(err, -ENOMEM, "out of memory");
	rc = json_walk_file(path, &reader, v, o, options, err);
	events_free(v);
	return rc;
}

int events_read_text(const char *text, size_t size, size_t step, struct output *o, struct error *err)
{
	struct events *v = events_new(o);
	int rc;

	if (!v)
		return error_set(err, -ENOMEM, "out of memory");
	rc = json_walk_text(text, size, step, &reader, v, o, err);
	events_free(v);
	return rc;
}

/* Chrome's events may have an argument of that name, but only behind their own keys. */
static bool events_detect(const uint8_t *head, size_t size)
{
	static const char ours[] = "\"event_type\"", *const theirs[] = { "\"traceEvents\"", "\"ph\"" };
	const uint8_t *found = memmem(head, size, ours, sizeof ours - 1);
	size_t at = size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (at < size && json_is_space((char)head[at]))
		at++;
	if (!found || (head[at] != '[' && head[at] != '{'))
		return false;
	for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++)
		if (memmem(head, (size_t)(found - head), theirs[i], strlen(theirs[i])))
			return false;
	return true;
}

const struct importer events_importer = { .format = IMPORT_EVENTS, .detect = events_detect, .read = events_read };
