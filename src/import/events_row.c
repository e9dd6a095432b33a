/* events_row.c - an event of a list as text; see events.h. */
#include "import/events.h"

static const struct {
	const char *name;
	unsigned key;
} keys[] = {
	{ "event_type", KEY_TYPE },
	{ "phase", KEY_PHASE },
	{ "name", KEY_NAME },
	{ "start_us", KEY_START },
	{ "end_us", KEY_END },
	{ "thread_id", KEY_THREAD },
	{ "process_id", KEY_PROCESS },
	{ "cpu_id", KEY_FIELD + FIELD_CPU },
	{ "device_id", KEY_DEVICE },
	{ "stream_id", KEY_STREAM },
	{ "depth", KEY_FIELD + FIELD_DEPTH },
	{ "value", KEY_VALUE },
	{ "grid_dim", KEY_GRID },
	{ "block_dim", KEY_BLOCK },
	{ "bytes", KEY_FIELD + FIELD_BYTES },
	{ "correlation_id", KEY_FIELD + FIELD_CORRELATION },
	{ "flow_id", KEY_FIELD + FIELD_FLOW },
	{ "stack_id", KEY_FIELD + FIELD_STACK },
	{ "shared_memory", KEY_FIELD + FIELD_SHARED_MEMORY },
	{ "registers", KEY_FIELD + FIELD_REGISTERS },
	{ "pointer", KEY_FIELD + FIELD_POINTER },
	{ "numa_node", KEY_FIELD + FIELD_NUMA_NODE },
	{ "count", KEY_FIELD + FIELD_COUNT },
	{ "id", KEY_FIELD + FIELD_ID },
	{ "link", KEY_FIELD + FIELD_LINK },
	{ "operator_id", KEY_FIELD + FIELD_OPERATOR },
	{ "graph_id", KEY_FIELD + FIELD_GRAPH },
	{ "wait_id", KEY_FIELD + FIELD_WAIT },
	{ "memory_from", KEY_MEMORY_FROM },
	{ "memory_to", KEY_MEMORY_TO },
	{ "reason", KEY_REASON },
	{ "metadata", KEY_METADATA },
	{ "module", KEY_MODULE },
	{ "file", KEY_FILE },
	{ "line", KEY_LINE },
	{ "task_id", KEY_TASK_ID },
	{ "task", KEY_TASK },
	{ "track", KEY_TRACK },
	{ "unmatched", KEY_UNMATCHED },
	{ "unfinished", KEY_UNFINISHED },
	{ "continues", KEY_UNFINISHED },
	{ "enclosing", KEY_IGNORED },
	{ "begin_lost", KEY_IGNORED },
	{ "goes_on", KEY_IGNORED },
	{ "host", KEY_IGNORED },
};

static unsigned key_of(const struct json_text *text)
{
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		if (json_is(text, keys[i].name, strlen(keys[i].name)))
			return keys[i].key;
	return KEY_OTHER;
}

static void set_text(struct json_text *to, const struct json_value *value)
{
	*to = value->type == JSON_STRING ? value->text : (struct json_text){ 0 };
}

static void set_number(struct events_row *r, unsigned key, const struct json_value *value)
{
	uint64_t number;
	int64_t integer;

	if (value->type != JSON_NUMBER && value->type != JSON_STRING)
		return;
	if (!json_natural(value->text.data, value->text.size, &number)) {
		if (!json_decimal(value->text.data, value->text.size, 0, &integer) || integer < 0)
			return;
		number = (uint64_t)integer;
	}
	if (key >= KEY_FIELD) {
		r->fields |= 1u << (key - KEY_FIELD);
		r->field[key - KEY_FIELD] = number;
	} else {
		r->present |= 1u << key;
		r->number[key] = number;
	}
}

/* What nobody knows is kept beside the metadata. */
void events_keep(struct events *v, const struct json_text *key, const struct json_value *value)
{
	size_t before = v->pack.size;

	if (json_pack_text(&v->pack, key, true) && json_pack_value(&v->pack, value))
		v->kept++;
	else
		v->pack.size = before;
}

/* Other tools may mean something else by it. */
static void set_track(struct events *v, struct events_row *r, const struct json_text *key, const struct json_value *value)
{
	set_text(&r->track, value);
	if (JSON_IS(&r->track, "states") || JSON_IS(&r->track, "host"))
		return;
	r->track = (struct json_text){ 0 };
	if (!v->lean)
		events_keep(v, key, value);
}

static void set_member(struct events *v, struct events_row *r, const struct json_text *name,
		       const struct json_value *value)
{
	unsigned key = key_of(name);

	switch (key) {
	case KEY_TYPE:
		return set_text(&r->type, value);
	case KEY_PHASE:
		return set_text(&r->phase, value);
	case KEY_NAME:
		return set_text(&r->name, value);
	case KEY_MODULE:
		return set_text(&r->module, value);
	case KEY_FILE:
		return set_text(&r->file, value);
	case KEY_TASK:
		return set_text(&r->task, value);
	case KEY_TRACK:
		return set_track(v, r, name, value);
	case KEY_MEMORY_FROM:
		return set_text(&r->memory_from, value);
	case KEY_MEMORY_TO:
		return set_text(&r->memory_to, value);
	case KEY_START:
		r->start = *value;
		return;
	case KEY_END:
		r->end = *value;
		return;
	case KEY_VALUE:
		r->value = *value;
		return;
	case KEY_GRID:
		r->grid = *value;
		return;
	case KEY_BLOCK:
		r->block = *value;
		return;
	case KEY_REASON:
		r->reason = *value;
		return;
	case KEY_METADATA:
		r->metadata = *value;
		return;
	case KEY_UNMATCHED:
		r->unmatched = value->type == JSON_TRUE;
		return;
	case KEY_UNFINISHED:
		r->unfinished = value->type == JSON_TRUE;
		return;
	case KEY_IGNORED:
		return;
	case KEY_OTHER:
		if (!v->lean)
			events_keep(v, name, value);
		return;
	default:
		set_number(r, key, value);
	}
}

void events_parse(struct events *v, struct json *j, struct events_row *r)
{
	struct json_value value;
	struct json_text key;
	bool first = true;

	memset(r, 0, offsetof(struct events_row, field));
	v->kept = 0;
	v->pack = (struct json_pack){ .data = v->memory, .limit = sizeof v->memory, .careful = j->careful };
	json_pack_begin(&v->pack);
	for (json_enter(j, '{'); json_member(j, &first, &key);) {
		json_value(j, JSON_IN_OBJECT, &value);
		if (j->status == JSON_OK)
			set_member(v, r, &key, &value);
	}
}
