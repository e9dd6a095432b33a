/*
 * chrome_place.c - processes, threads and streams, and their names; see chrome.h.
 *
 * Names come before or after the events they are for, or for nothing at all:
 * Kineto names sixteen GPUs whether they are there or not.  So a name waits
 * here until there is something to name.
 */
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/array.h"
#include "import/chrome.h"

#define WAITING_MAX 65536u                  /* names that wait */
#define WAITING_BYTES_MAX ((size_t)4 << 20) /* all of them together */
#define ENTRIES_MAX (1u << 18)              /* of the index; what is beyond is found the slow way */
#define DEVICE_PID_LIMIT 1024               /* in place of the process, Kineto writes the number of the device */

enum entry_kind {
	ENTRY_NONE,
	ENTRY_PROCESS,     /* pid -> process */
	ENTRY_THREAD,      /* pid, tid -> track */
	ENTRY_STREAM,      /* device, stream -> track */
	ENTRY_ROW,         /* pid, tid -> track of a stream that is there called so */
	ENTRY_NAME,        /* pid, tid -> waiting name */
	ENTRY_PROCESS_NAME /* pid -> waiting name */
};

struct entry {
	uint64_t a, b;
	uint32_t kind, value;
};

/* The text of a number, to know it again. */
struct remembered {
	enum json_type type;
	size_t size;
	char text[24];
};

struct chrome_places {
	struct output *output;
	struct remembered last_pid, last_tid; /* of last_thread: one event after the other is of the same thread */
	uint32_t last_thread;
	struct entry *entries;
	size_t count, capacity; /* capacity: a power of two */
	struct buffer names;    /* waiting: size (4 bytes), text */
	uint32_t waiting;
	uint32_t main_process;
	unsigned main_weight; /* how sure that is */
	uint64_t labelled;    /* the device whose label was seen last, plus 1 */
};

int chrome_places_new(struct chrome_places **ret, struct output *o)
{
	struct chrome_places *p = calloc(1, sizeof *p);

	if (!p)
		return -ENOMEM;
	p->output = o;
	p->main_process = p->last_thread = OUTPUT_NONE;
	*ret = p;
	return 0;
}

void chrome_places_free(struct chrome_places *p)
{
	if (!p)
		return;
	free(p->entries);
	buffer_release(&p->names);
	free(p);
}

/* ---- The index ---------------------------------------------------------------- */

static size_t slot_of(const struct chrome_places *p, uint32_t kind, uint64_t a, uint64_t b)
{
	uint64_t hash = (a * 0x9e3779b97f4a7c15u ^ b) * 0xd6e8feb86659fd93u + kind * 0xa0761d6478bd642fu;
	size_t at = (size_t)(hash ^ hash >> 32) & (p->capacity - 1);

	while (p->entries[at].kind && (p->entries[at].kind != kind || p->entries[at].a != a || p->entries[at].b != b))
		at = (at + 1) & (p->capacity - 1);
	return at;
}

static uint32_t look_up(const struct chrome_places *p, uint32_t kind, uint64_t a, uint64_t b)
{
	const struct entry *entry;

	if (p->capacity == 0)
		return OUTPUT_NONE;
	entry = &p->entries[slot_of(p, kind, a, b)];
	return entry->kind ? entry->value : OUTPUT_NONE;
}

static int grow(struct chrome_places *p)
{
	struct chrome_places larger = { .capacity = p->capacity ? p->capacity * 2 : 256 };

	larger.entries = calloc(larger.capacity, sizeof *larger.entries);
	if (!larger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < p->capacity; i++) {
		const struct entry *e = &p->entries[i];

		if (e->kind)
			larger.entries[slot_of(&larger, e->kind, e->a, e->b)] = *e;
	}
	free(p->entries);
	p->entries = larger.entries;
	p->capacity = larger.capacity;
	return 0;
}

/* What does not fit any more is not found; then it is asked for again. */
static void enter(struct chrome_places *p, uint32_t kind, uint64_t a, uint64_t b, uint32_t value)
{
	size_t at;

	if (p->count >= ENTRIES_MAX || ((p->count + 1) * 2 > p->capacity && grow(p)))
		return;
	at = slot_of(p, kind, a, b);
	p->count += p->entries[at].kind == 0;
	p->entries[at] = (struct entry){ a, b, kind, value };
}

/* ---- Names that wait ---------------------------------------------------------- */

static void let_wait(struct chrome_places *p, uint32_t kind, uint64_t a, uint64_t b, const struct json_text *name)
{
	uint32_t size = (uint32_t)name->size, at = look_up(p, kind, a, b), old;

	if (at != OUTPUT_NONE) {
		memcpy(&old, p->names.data + at, sizeof old);
		if (old == size && memcmp(p->names.data + at + sizeof old, name->data, size) == 0)
			return;
	}
	at = (uint32_t)p->names.size;
	if (p->waiting >= WAITING_MAX || p->names.size + name->size > WAITING_BYTES_MAX ||
	    buffer_append(&p->names, &size, sizeof size) || buffer_append(&p->names, name->data, size)) {
		output_report(p->output)->cut++;
		return;
	}
	p->waiting++;
	enter(p, kind, a, b, at);
}

static bool waiting(const struct chrome_places *p, uint32_t kind, uint64_t a, uint64_t b, const char **ret,
		    size_t *ret_size)
{
	uint32_t at = look_up(p, kind, a, b), size;

	if (at == OUTPUT_NONE)
		return false;
	memcpy(&size, p->names.data + at, sizeof size);
	*ret = (const char *)p->names.data + at + sizeof size;
	*ret_size = size;
	return true;
}

/* ---- Numbers of processes and threads ------------------------------------------ */

struct number {
	uint64_t value;
	bool named;    /* value is made from the text */
	bool trailing; /* a number ends the text */
	uint64_t last; /* that number */
};

static uint64_t hash_name(const struct json_text *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < text->size; i++)
		hash = (hash ^ (uint8_t)text->data[i]) * 0x100000001b3u;
	return (uint64_t)1 << 32 | (uint32_t)(hash ^ hash >> 32); /* larger than what systems give out */
}

static struct number number_of(const struct json_value *value)
{
	const struct json_text *text = &value->text;
	struct number n = { 0 };
	size_t digits = 0;
	int64_t number;

	if ((value->type != JSON_NUMBER && value->type != JSON_STRING) || text->size == 0)
		return n;
	if (json_decimal(text->data, text->size, 0, &number)) {
		n.value = (uint64_t)number;
		return n;
	}
	n.named = true;
	n.value = hash_name(text);
	while (digits < text->size && text->data[text->size - digits - 1] >= '0' &&
	       text->data[text->size - digits - 1] <= '9')
		digits++;
	n.trailing = json_natural(text->data + text->size - digits, digits, &n.last);
	return n;
}

/* ---- Processes and threads ----------------------------------------------------- */

static void name_new_process(struct chrome *c, uint32_t process, const struct number *pid,
			     const struct json_value *value)
{
	struct json_text plain;
	const char *name;
	size_t size;

	if (waiting(c->places, ENTRY_PROCESS_NAME, pid->value, 0, &name, &size)) {
		output_process_name(c->output, process, name, size);
	} else if (pid->named) {
		plain = chrome_plain(c, &value->text);
		output_process_name(c->output, process, plain.data, plain.size);
	}
}

/* Kineto's overhead is of process -1, and what the profiler says about itself of processes that are none. */
bool chrome_is_pseudo(const struct json_value *pid)
{
	if (pid->type == JSON_STRING)
		return JSON_IS(&pid->text, "Spans") || JSON_IS(&pid->text, "Traces") || JSON_IS(&pid->text, "");
	return pid->type == JSON_NUMBER && pid->text.size && pid->text.data[0] == '-';
}

static uint32_t process_of(struct chrome *c, const struct json_value *value, const struct number *pid)
{
	struct chrome_places *p = c->places;
	uint32_t process;

	if (p->main_process != OUTPUT_NONE && chrome_is_pseudo(value))
		return p->main_process;
	process = look_up(p, ENTRY_PROCESS, pid->value, 0);
	if (process != OUTPUT_NONE)
		return process;
	process = output_process(c->output, (int64_t)pid->value < 0 ? 0 : pid->value);
	if (process == OUTPUT_NONE)
		return process;
	enter(p, ENTRY_PROCESS, pid->value, 0, process);
	name_new_process(c, process, pid, value);
	return process;
}

/* Device work belongs to the process that makes the calls; until there are any, to the one that seems most like it. */
static const uint8_t main_weights[CLASS_COUNT] = {
	[CLASS_SCOPE] = 1, [CLASS_CALL] = 2, [CLASS_OP] = 3, [CLASS_RUNTIME] = 4
};

static void note_main(struct chrome *c, const struct chrome_event *e, const struct number *pid)
{
	uint32_t process;

	if (pid->named || (int64_t)pid->value < 0)
		return;
	process = process_of(c, &e->pid, pid);
	if (process == OUTPUT_NONE)
		return;
	c->places->main_weight = main_weights[e->class];
	c->places->main_process = process;
}

/* "worker 3" is thread 3, unless another one is that already. */
static uint64_t choose_tid(struct chrome *c, uint64_t pid, const struct number *tid)
{
	if (tid->trailing && look_up(c->places, ENTRY_THREAD, pid, tid->last) == OUTPUT_NONE)
		return tid->last;
	return tid->value;
}

static uint32_t new_thread(struct chrome *c, const struct chrome_event *e, const struct number *pid,
			   const struct number *tid, uint32_t process)
{
	uint64_t number = tid->named ? choose_tid(c, pid->value, tid) : tid->value;
	uint32_t track = output_thread(c->output, process, number);
	struct json_text plain;
	const char *name;
	size_t size;

	if (track == OUTPUT_NONE)
		return track;
	enter(c->places, ENTRY_THREAD, pid->value, tid->value, track);
	enter(c->places, ENTRY_THREAD, pid->value, number, track);
	if (waiting(c->places, ENTRY_NAME, pid->value, tid->value, &name, &size)) {
		output_track_name(c->output, track, name, size);
	} else if (tid->named) {
		plain = chrome_plain(c, &e->tid.text);
		output_track_name(c->output, track, plain.data, plain.size);
	}
	return track;
}

static bool is_remembered(const struct remembered *r, const struct json_value *value)
{
	return r->type == value->type && r->size == value->text.size &&
	       (r->size == 0 || memcmp(r->text, value->text.data, r->size) == 0);
}

static void remember(struct remembered *r, const struct json_value *value)
{
	r->type = value->type;
	r->size = value->text.size;
	if (r->size)
		memcpy(r->text, value->text.data, r->size);
}

static uint32_t find_thread(struct chrome *c, const struct chrome_event *e)
{
	struct number pid = number_of(&e->pid), tid = number_of(&e->tid);
	uint32_t track = look_up(c->places, ENTRY_THREAD, pid.value, tid.value), process;

	if (main_weights[e->class] > c->places->main_weight)
		note_main(c, e, &pid);
	if (track != OUTPUT_NONE)
		return track;
	process = process_of(c, &e->pid, &pid);
	return process == OUTPUT_NONE ? process : new_thread(c, e, &pid, &tid, process);
}

uint32_t chrome_thread(struct chrome *c, const struct chrome_event *e)
{
	struct chrome_places *p = c->places;

	if (p->last_thread != OUTPUT_NONE && main_weights[e->class] <= p->main_weight &&
	    is_remembered(&p->last_tid, &e->tid) && is_remembered(&p->last_pid, &e->pid))
		return p->last_thread;
	p->last_thread = find_thread(c, e);
	if (e->pid.text.size > sizeof p->last_pid.text || e->tid.text.size > sizeof p->last_tid.text) {
		uint32_t found = p->last_thread;

		p->last_thread = OUTPUT_NONE;
		return found;
	}
	remember(&p->last_pid, &e->pid);
	remember(&p->last_tid, &e->tid);
	return p->last_thread;
}

uint32_t chrome_process_track(struct chrome *c, const struct chrome_event *e)
{
	struct number pid = number_of(&e->pid);
	uint32_t process = process_of(c, &e->pid, &pid);

	return process == OUTPUT_NONE ? process : output_process_track(c->output, process);
}

/* ---- Streams ------------------------------------------------------------------- */

/* The device, OUTPUT_NONE when the event does not say. */
static uint64_t device_of(const struct chrome_args *args, const struct number *pid)
{
	int64_t index = args->present & 1u << ARG_DEVICE ? args->number[ARG_DEVICE]
			: pid->named                     ? -1
							 : (int64_t)pid->value;

	if (args->present & 1u << ARG_DEVICE ? index < 0 || index >= OUTPUT_NONE
					     : index < 0 || index >= DEVICE_PID_LIMIT)
		return OUTPUT_NONE;
	return (uint64_t)index;
}

static uint64_t stream_of(const struct chrome_args *args, const struct number *tid)
{
	if (args->present & 1u << ARG_STREAM)
		return (uint64_t)args->number[ARG_STREAM];
	return tid->named && tid->trailing ? tid->last : tid->value;
}

static void name_new_stream(struct chrome *c, const struct number *pid, const struct number *tid, uint64_t stream,
			    uint32_t track)
{
	const char *name;
	size_t size;

	if ((int64_t)stream < 0)
		output_track_name(c->output, track, "any stream", 10);
	if (waiting(c->places, ENTRY_NAME, pid->value, tid->value, &name, &size))
		output_track_name(c->output, track, name, size);
}

uint32_t chrome_stream(struct chrome *c, const struct chrome_event *e)
{
	struct chrome_places *p = c->places;
	struct number pid = number_of(&e->pid), tid = number_of(&e->tid);
	uint64_t device = device_of(&c->args, &pid), stream = stream_of(&c->args, &tid);
	uint32_t track = look_up(p, ENTRY_STREAM, device, stream), process = p->main_process;

	if (track == OUTPUT_NONE) {
		if (device == OUTPUT_NONE)
			process = process_of(c, &e->pid, &pid);
		track = output_stream(c->output, device == OUTPUT_NONE ? OUTPUT_NONE : output_device(c->output, device),
				      process, stream);
		if (track == OUTPUT_NONE)
			return track;
		enter(p, ENTRY_STREAM, device, stream, track);
		name_new_stream(c, &pid, &tid, stream, track);
	}
	if ((pid.value != device || tid.value != stream) &&
	    look_up(p, ENTRY_ROW, pid.value, tid.value) == OUTPUT_NONE) {
		enter(p, ENTRY_ROW, pid.value, tid.value, track);
		name_new_stream(c, &pid, &tid, stream, track);
	}
	return track;
}

static uint32_t find_stream(const struct chrome_places *p, const struct number *pid, const struct number *tid)
{
	uint32_t track = look_up(p, ENTRY_ROW, pid->value, tid->value);

	return track != OUTPUT_NONE ? track : look_up(p, ENTRY_STREAM, pid->value, tid->value);
}

uint32_t chrome_any_track(struct chrome *c, const struct chrome_event *e, bool *ret_other)
{
	struct number pid = number_of(&e->pid), tid = number_of(&e->tid);
	uint32_t track = find_stream(c->places, &pid, &tid);

	*ret_other = !tid.named && track != OUTPUT_NONE && track != look_up(c->places, ENTRY_STREAM, pid.value, tid.value);
	if (track != OUTPUT_NONE)
		return track;
	/* an arrow to work that comes later in the file: no process of that number has been seen, but devices have such */
	if (e->class == CLASS_LAUNCH_FLOW && e->phase == 'f' && !pid.named && !tid.named && pid.value < DEVICE_PID_LIMIT &&
	    look_up(c->places, ENTRY_PROCESS, pid.value, 0) == OUTPUT_NONE)
		return chrome_stream(c, e);
	return chrome_thread(c, e);
}

/* ---- Names --------------------------------------------------------------------- */

void chrome_name_process(struct chrome *c, const struct chrome_event *e, const struct json_text *name)
{
	struct number pid = number_of(&e->pid);
	uint32_t process = look_up(c->places, ENTRY_PROCESS, pid.value, 0);

	if (process != OUTPUT_NONE)
		output_process_name(c->output, process, name->data, name->size);
	else
		let_wait(c->places, ENTRY_PROCESS_NAME, pid.value, 0, name);
}

/* "GPU 0" says what we know; "MTIA 9" is as much of a name as that device has. */
void chrome_label_process(struct chrome *c, const struct chrome_event *e, const struct json_text *label)
{
	struct chrome_places *p = c->places;
	struct number pid = number_of(&e->pid);
	uint32_t device;

	if (pid.named || pid.value >= DEVICE_PID_LIMIT || p->labelled == pid.value + 1 ||
	    strncasecmp(label->data, "GPU", 3) == 0 || strncasecmp(label->data, "CPU", 3) == 0 || label->size < 3)
		return;
	if (look_up(p, ENTRY_PROCESS, pid.value, 0) != OUTPUT_NONE)
		return;
	p->labelled = pid.value + 1;
	device = output_device(c->output, pid.value);
	output_device_describe(c->output, device, DEVICE_OTHER, label->data, label->size, NULL, 0);
}

void chrome_name_thread(struct chrome *c, const struct chrome_event *e, const struct json_text *name)
{
	struct number pid = number_of(&e->pid), tid = number_of(&e->tid);
	uint32_t thread = look_up(c->places, ENTRY_THREAD, pid.value, tid.value),
		 stream = find_stream(c->places, &pid, &tid);

	if (thread != OUTPUT_NONE)
		output_track_name(c->output, thread, name->data, name->size);
	if (stream != OUTPUT_NONE)
		output_track_name(c->output, stream, name->data, name->size);
	if (thread == OUTPUT_NONE && stream == OUTPUT_NONE)
		let_wait(c->places, ENTRY_NAME, pid.value, tid.value, name);
}
