/* chrome_event.c - what becomes of an event; see chrome.h. */
#include "import/chrome.h"

struct json_text chrome_plain(struct chrome *c, const struct json_text *text)
{
	if (!text->escaped)
		return *text;
	buffer_clear(&c->text);
	if (json_unescape(text, &c->text))
		return *text;
	return (struct json_text){ (const char *)c->text.data, c->text.size, false };
}

uint32_t chrome_string(struct chrome *c, const struct json_text *text)
{
	struct json_text plain = chrome_plain(c, text);

	return output_string(c->output, plain.data, plain.size);
}

/* ---- Times --------------------------------------------------------------------- */

static bool read_time(const struct json_value *value, int64_t *ret)
{
	return (value->type == JSON_NUMBER || value->type == JSON_STRING) &&
	       json_decimal(value->text.data, value->text.size, 3, ret);
}

/* None is 0, and so is a negative one; both are counted.  False when it is absurd. */
static bool read_duration(struct chrome *c, const struct chrome_event *e, int64_t *ret)
{
	*ret = 0;
	if (e->duration.type == JSON_NUMBER || e->duration.type == JSON_STRING) {
		if (!read_time(&e->duration, ret))
			return false;
		if (*ret >= 0)
			return true;
		*ret = 0;
	}
	output_report(c->output)->repaired++;
	return true;
}

/* ---- Kinds --------------------------------------------------------------------- */

static enum event_kind kind_of(enum chrome_class class)
{
	static const uint8_t kinds[CLASS_COUNT] = {
		[CLASS_OTHER] = EVENT_SCOPE,
		[CLASS_SCOPE] = EVENT_SCOPE,
		[CLASS_OP] = EVENT_OP,
		[CLASS_CALL] = EVENT_CPU_CALL,
		[CLASS_RUNTIME] = EVENT_RUNTIME_CALL,
		[CLASS_KERNEL] = EVENT_GPU_KERNEL,
		[CLASS_COPY] = EVENT_D2D_COPY,
		[CLASS_SET] = EVENT_MEMSET,
		[CLASS_SYNC] = EVENT_SYNC,
		[CLASS_DEVICE_SCOPE] = EVENT_SCOPE,
		[CLASS_MEMORY] = EVENT_SCOPE,
		[CLASS_LAUNCH_FLOW] = EVENT_SCOPE,
	};

	return kinds[class];
}

static void set_number(struct chrome *c, enum chrome_arg arg, enum event_field field)
{
	if (c->args.present & 1u << arg && c->args.number[arg] >= 0)
		import_event_set(&c->event, field, (uint64_t)c->args.number[arg]);
}

static void set_triple(struct chrome *c, enum chrome_arg arg, const uint64_t *xyz, enum event_field first)
{
	if (c->args.present & 1u << arg)
		for (unsigned i = 0; i < 3; i++)
			import_event_set(&c->event, first + i, xyz[i]);
}

static void set_fields(struct chrome *c)
{
	set_number(c, ARG_EXTERNAL_ID, FIELD_OPERATOR);
	set_number(c, ARG_CORRELATION, FIELD_CORRELATION);
	set_number(c, ARG_SHARED_MEMORY, FIELD_SHARED_MEMORY);
	set_number(c, ARG_REGISTERS, FIELD_REGISTERS);
	set_number(c, ARG_BYTES, FIELD_BYTES);
	set_number(c, ARG_GRAPH, FIELD_GRAPH);
	set_number(c, ARG_WAIT, FIELD_WAIT);
	set_number(c, ARG_ADDRESS, FIELD_POINTER);
	set_triple(c, ARG_GRID, c->args.grid, FIELD_GRID_X);
	set_triple(c, ARG_BLOCK, c->args.block, FIELD_BLOCK_X);
}

static void set_metadata(struct chrome *c)
{
	c->event.metadata = c->args.kept ? c->args.pack.data : NULL;
	c->event.metadata_size = c->args.kept ? c->args.pack.size : 0;
}

static void set_copy(struct chrome *c, const struct chrome_event *e)
{
	uint64_t memory;

	c->event.kind = (uint8_t)chrome_copy_kind(&e->name, &c->args.kind, &memory);
	if (memory)
		import_event_set(&c->event, FIELD_MEMORY_KIND, memory);
}

/* Where a stream has a row of another number: those of all streams together, and of devices other than GPUs. */
static void keep_other_thread(struct chrome *c, const struct chrome_event *e)
{
	int64_t tid;

	if (e->tid.type == JSON_NUMBER && json_decimal(e->tid.text.data, e->tid.text.size, 0, &tid) &&
	    tid != c->args.number[ARG_STREAM])
		chrome_keep_thread(c, e);
}

/* Kind, fields and place of what takes time, or begins or ends. */
static void describe(struct chrome *c, const struct chrome_event *e)
{
	struct import_event *event = &c->event;

	event->kind = (uint8_t)kind_of(e->class);
	event->track = chrome_on_device(e->class) ? chrome_stream(c, e) : chrome_thread(c, e);
	set_fields(c);
	if (chrome_on_device(e->class) && c->args.present & 1u << ARG_STREAM)
		keep_other_thread(c, e);
	set_metadata(c);
	if (e->class == CLASS_COPY)
		set_copy(c, e);
	else if (e->class == CLASS_KERNEL && c->args.collective)
		event->kind = EVENT_COLLECTIVE;
	c->correlated |= (c->args.present & 1u << ARG_CORRELATION) != 0;
}

/* ---- Phases -------------------------------------------------------------------- */

static uint64_t hash_more(uint64_t hash, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
	return hash;
}

/* Ids are of a category (and scope, if it says so).  Those of launches are correlations, and stay what they are. */
static uint64_t flow_of(const struct chrome_event *e)
{
	uint64_t id = 0, hash = 0xcbf29ce484222325u;
	bool number = e->id.text.data && json_natural(e->id.text.data, e->id.text.size, &id);

	if (number && e->class == CLASS_LAUNCH_FLOW)
		return id;
	hash = hash_more(hash, e->category.data, e->category.size);
	if (e->scope_id.type == JSON_STRING)
		hash = hash_more(hash, e->scope_id.text.data, e->scope_id.text.size);
	if (!number)
		return e->id.text.data ? hash_more(hash, e->id.text.data, e->id.text.size) : hash;
	return hash_more(hash, (const char *)&id, sizeof id);
}

static void use_flow(struct chrome *c, const struct chrome_event *e, enum event_phase phase)
{
	bool other;

	c->event.kind = EVENT_FLOW;
	c->event.phase = phase;
	c->event.track = chrome_any_track(c, e, &other);
	import_event_set(&c->event, FIELD_FLOW, flow_of(e));
	if (other)
		chrome_keep_thread(c, e);
	set_metadata(c);
}

static void use_async(struct chrome *c, const struct chrome_event *e, enum event_phase phase)
{
	c->event.kind = phase == PHASE_INSTANT ? EVENT_INSTANT : EVENT_SCOPE;
	c->event.phase = phase;
	c->event.track = chrome_thread(c, e);
	import_event_set(&c->event, FIELD_FLOW, flow_of(e));
	set_metadata(c);
}

/* The sign of the size says whether memory was taken or given back. */
static void use_memory(struct chrome *c, const struct chrome_event *e)
{
	int64_t *bytes = &c->args.number[ARG_BYTES];
	bool given_back = c->args.present & 1u << ARG_BYTES && *bytes < 0;

	if (given_back)
		*bytes = -*bytes;
	c->event.kind = given_back ? EVENT_MEMORY_FREE : EVENT_MEMORY_ALLOC;
	c->event.phase = PHASE_INSTANT;
	c->event.track = chrome_thread(c, e);
	set_fields(c);
	set_metadata(c);
}

static void use_instant(struct chrome *c, const struct chrome_event *e, enum event_kind kind)
{
	if (e->class == CLASS_MEMORY && c->args.present & 1u << ARG_BYTES) {
		use_memory(c, e);
		return;
	}
	c->event.kind = (uint8_t)kind;
	c->event.phase = PHASE_INSTANT;
	c->event.track = chrome_on_device(e->class) ? chrome_stream(c, e) : chrome_thread(c, e);
	set_metadata(c);
}

/* Fills c->event; NULL, or why there is none. */
static const char *use_phase(struct chrome *c, const struct chrome_event *e)
{
	int64_t duration;

	switch (e->phase) {
	case 'X':
		if (!read_duration(c, e, &duration))
			return "an event with an absurd duration";
		c->event.phase = PHASE_COMPLETE;
		describe(c, e);
		import_event_set(&c->event, FIELD_DURATION, (uint64_t)duration);
		return NULL;
	case 'B':
	case 'E':
		c->event.phase = e->phase == 'B' ? PHASE_BEGIN : PHASE_END;
		describe(c, e);
		return NULL;
	case 'b':
	case 'S':
		use_async(c, e, PHASE_ASYNC_BEGIN);
		return NULL;
	case 'e':
	case 'F':
		use_async(c, e, PHASE_ASYNC_END);
		return NULL;
	case 'n':
	case 'T':
	case 'p':
		use_async(c, e, PHASE_INSTANT);
		return NULL;
	case 's':
		use_flow(c, e, PHASE_FLOW_OUT);
		return NULL;
	case 't':
	case 'f':
		use_flow(c, e, PHASE_FLOW_IN);
		return NULL;
	case 'P':
		use_instant(c, e, EVENT_CPU_SAMPLE);
		return NULL;
	case 'i':
	case 'I':
	case 'R':
	case 'N':
	case 'O':
	case 'D':
	case 'v':
	case 'V':
	case 'c':
		use_instant(c, e, EVENT_INSTANT);
		return NULL;
	default:
		return "an event of an unknown phase";
	}
}

/* The arguments, unless they have been read already as what they are. */
static void need_args(struct chrome *c, struct chrome_event *e, bool careful)
{
	struct json j = json_inside(&e->args, careful);

	if (!e->read || e->read_class != e->class || e->read_phase != e->phase)
		chrome_read_args(c, e, &j);
}

/* ---- Names --------------------------------------------------------------------- */

static struct json_text trimmed(struct json_text text)
{
	while (text.size && text.data[text.size - 1] == ' ')
		text.size--;
	return text;
}

static void use_name(struct chrome *c, struct chrome_event *e, bool careful)
{
	struct json_text text;

	if (e->name.size < 11 || (memcmp(e->name.data, "process_", 8) && memcmp(e->name.data, "thread_name", 11)))
		return;
	need_args(c, e, careful);
	text = chrome_plain(c, &c->args.text);
	text = trimmed(text);
	if (!text.size)
		return;
	if (JSON_IS(&e->name, "process_name"))
		chrome_name_process(c, e, &text);
	else if (JSON_IS(&e->name, "process_labels"))
		chrome_label_process(c, e, &text);
	else if (JSON_IS(&e->name, "thread_name"))
		chrome_name_thread(c, e, &text);
}

/* ---- All of it ----------------------------------------------------------------- */

/* In a lean trace, arrows that say what the correlation says are left out. */
static bool is_redundant(const struct chrome *c, const struct chrome_event *e)
{
	return c->lean && c->correlated && e->class == CLASS_LAUNCH_FLOW &&
	       (e->phase == 's' || e->phase == 't' || e->phase == 'f');
}

static const char *why_unusable(struct chrome *c, const struct chrome_event *e)
{
	if (e->phase == 0)
		return "an event without a phase";
	if (!e->name.data && e->phase != 'E')
		return "an event without a name";
	if (e->time.type == JSON_NONE || e->time.type == JSON_NULL)
		return "an event without a time";
	return read_time(&e->time, &c->event.time) ? NULL : "an event with an absurd time";
}

int chrome_use(struct chrome *c, struct json_walk *w, const struct json *j, struct chrome_event *e, struct error *err)
{
	const char *reason;

	if (e->phase == 'M' && e->name.data) {
		use_name(c, e, j->careful);
		return 0;
	}
	if (is_redundant(c, e) || e->phase == '(' || e->phase == ')')
		return 0;
	reason = why_unusable(c, e);
	if (!reason && e->phase == 'C') {
		c->event.kind = EVENT_COUNTER;
		c->event.phase = PHASE_INSTANT;
		c->event.track = chrome_process_track(c, e);
		c->event.metadata_size = 0;
		return chrome_count(c, e, j->careful, err);
	}
	if (!reason) {
		if (JSON_IS(&e->name, "[memory]") && e->class == CLASS_OTHER)
			e->class = CLASS_MEMORY;
		c->event.present = 0;
		c->event.metadata_size = 0;
		need_args(c, e, j->careful);
		output_report(c->output)->cut += c->args.pack.cut;
		if (c->args.pack.deep)
			json_walk_note(w, j, JSON_TOO_DEEP);
		reason = use_phase(c, e);
	}
	if (reason) {
		json_walk_skip(w, j, reason);
		return 0;
	}
	c->event.name = chrome_string(c, &e->name);
	return output_event(c->output, &c->event, err);
}
