/*
 * perfetto_args.c - arguments of events: fields of ours where they have that meaning, else MessagePack.
 */
#include "import/perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/msgpack.h"

#define ARGS_MAX 65536u /* bytes of all arguments of an event */

/* Fields of DebugAnnotation. */
enum {
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NESTED = 8,
	ANNOTATION_JSON = 9,
	ANNOTATION_NAME = 10,
	ANNOTATION_DICT = 11,
	ANNOTATION_ARRAY = 12,
	ANNOTATION_STRING_IID = 17
};

/* The names that Kineto and Perfetto's GPU producers use; beside them those of our own fields. */
static const struct {
	const char *name;
	uint32_t meaning;
} names[] = {
	{ "cpu", FIELD_CPU },
	{ "correlation", FIELD_CORRELATION },
	{ "correlation_id", FIELD_CORRELATION },
	{ "External id", FIELD_OPERATOR },
	{ "external id", FIELD_OPERATOR },
	{ "device", MEANING_DEVICE },
	{ "device_id", MEANING_DEVICE },
	{ "stream", MEANING_STREAM },
	{ "stream_id", MEANING_STREAM },
	{ "bytes", FIELD_BYTES },
	{ "grid", MEANING_GRID },
	{ "block", MEANING_BLOCK },
	{ "registers per thread", FIELD_REGISTERS },
	{ "registers_per_thread", FIELD_REGISTERS },
	{ "shared memory", FIELD_SHARED_MEMORY },
	{ "shared_mem_static", FIELD_SHARED_MEMORY },
	{ "shared_mem_dynamic", FIELD_SHARED_MEMORY },
	{ "graph id", FIELD_GRAPH },
	{ "wait_on_cuda_event_record_corr_id", FIELD_WAIT },
	{ "Collective name", MEANING_COLLECTIVE },
	{ "Group size", MEANING_KEPT },
	{ "In msg nelems", MEANING_KEPT },
	{ "Out msg nelems", MEANING_KEPT },
	{ "In msg size", MEANING_KEPT },
	{ "Out msg size", MEANING_KEPT },
	{ "dtype", MEANING_KEPT },
	{ "Process Group Name", MEANING_KEPT },
	{ "Process Group Ranks", MEANING_KEPT },
};

uint32_t meaning_of(struct text name)
{
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strlen(names[i].name) == name.size && memcmp(names[i].name, name.data, name.size) == 0)
			return names[i].meaning;
	for (uint32_t field = FIELD_CORRELATION; field < FIELD_LIMIT; field++) {
		const char *text = event_field_name(field);

		if (field != FIELD_METADATA && field != FIELD_FLOW && text && strlen(text) == name.size &&
		    memcmp(text, name.data, name.size) == 0)
			return field;
	}
	return MEANING_NONE;
}

static void put_field(struct perfetto_event *pe, uint32_t meaning, int64_t value)
{
	if (meaning == MEANING_DEVICE && value >= 0 && value < UINT32_MAX) {
		pe->device = (uint32_t)value;
		pe->has_device = true;
	} else if (meaning == MEANING_STREAM && value >= 0) {
		pe->stream = (uint64_t)value;
		pe->has_stream = true;
	} else if (meaning == FIELD_SHARED_MEMORY && pe->e.present & 1u << FIELD_SHARED_MEMORY) {
		pe->e.field[FIELD_SHARED_MEMORY] += (uint64_t)value; /* static and dynamic */
	} else if (meaning && meaning < FIELD_LIMIT && value >= 0) {
		import_event_set(&pe->e, (enum event_field)meaning, (uint64_t)value);
	}
}

void args_clear(struct perfetto *p)
{
	buffer_clear(&p->args);
	p->arg_count = 0;
}

/* ---- Values as MessagePack ---------------------------------------------------- */

/* What is longer does not fit the trace, which the output counts. */
static int write_text(struct buffer *b, struct text text)
{
	return msgpack_write_string(b, text.data, text.size < OUTPUT_METADATA_MAX ? text.size : OUTPUT_METADATA_MAX);
}

static int write_annotation(struct perfetto *p, const struct sequence *s, struct cursor c, unsigned depth);

#define UNKNOWN_SIZE 48

/* A text by its number; `room` is for one that nobody gave. */
static struct text text_of(struct perfetto *p, const struct sequence *s, enum intern_table table, uint64_t iid,
			   char *room)
{
	const struct interned *entry = intern_find(s, table, iid);

	if (entry)
		return intern_text(s, entry);
	output_report(p->o)->repaired++;
	return (struct text){ room,
			      (size_t)snprintf(room, UNKNOWN_SIZE, "[unknown %s %llu]",
					       table == INTERN_ARG_NAME ? "name" : "text", (unsigned long long)iid) };
}

static struct text annotation_name(struct perfetto *p, const struct sequence *s, struct cursor c, char *room,
				   uint32_t *ret_meaning)
{
	struct text name = { "", 0 };
	struct pb_field f;

	*ret_meaning = MEANING_NONE;
	while (pb_next(&c, &f) > 0) {
		if (f.number == ANNOTATION_NAME_IID) {
			const struct interned *entry = intern_find(s, INTERN_ARG_NAME, f.value);

			name = text_of(p, s, INTERN_ARG_NAME, f.value, room);
			*ret_meaning = entry ? entry->extra : MEANING_NONE;
		} else if (f.number == ANNOTATION_NAME) {
			name = pb_text(&f);
			*ret_meaning = meaning_of(name);
		}
	}
	return name;
}

static uint32_t count_fields(struct cursor c, uint32_t number)
{
	struct pb_field f;
	uint32_t count = 0;

	while (pb_next(&c, &f) > 0)
		count += f.number == number;
	return count;
}

/* The entries of a dictionary or the values of an array. */
static int write_members(struct perfetto *p, const struct sequence *s, struct cursor c, uint32_t number, unsigned depth)
{
	uint32_t count = count_fields(c, number), meaning;
	bool dict = number == ANNOTATION_DICT;
	char room[UNKNOWN_SIZE];
	int rc = dict ? msgpack_write_map(&p->args, count) : msgpack_write_array(&p->args, count);
	struct pb_field f;

	while (rc == 0 && pb_next(&c, &f) > 0) {
		if (f.number != number)
			continue;
		if (dict && p->args.size < ARGS_MAX)
			rc = write_text(&p->args, annotation_name(p, s, pb_message(&f), room, &meaning));
		else if (dict)
			rc = msgpack_write_nil(&p->args);
		if (rc == 0)
			rc = write_annotation(p, s, pb_message(&f), depth + 1);
	}
	return rc;
}

/* The older form: keys and values side by side. */
static int write_nested(struct buffer *b, struct cursor c, unsigned depth)
{
	uint32_t keys = count_fields(c, 2), values = count_fields(c, 3), items = count_fields(c, 4);
	struct cursor k = c;
	struct pb_field f, key;
	int rc = 0;

	if (depth > PERFETTO_DEPTH_MAX)
		return msgpack_write_nil(b);
	if (keys && keys == values) {
		rc = msgpack_write_map(b, keys);
		while (rc == 0 && pb_next(&c, &f) > 0) {
			if (f.number != 3)
				continue;
			while (pb_next(&k, &key) > 0 && key.number != 2)
				;
			rc = write_text(b, pb_text(&key));
			if (rc == 0)
				rc = write_nested(b, pb_message(&f), depth + 1);
		}
		return rc;
	}
	if (items) {
		rc = msgpack_write_array(b, items);
		while (rc == 0 && pb_next(&c, &f) > 0)
			if (f.number == 4)
				rc = write_nested(b, pb_message(&f), depth + 1);
		return rc;
	}
	while (pb_next(&c, &f) > 0) {
		switch (f.number) {
		case 1: /* what it is, where nothing is in it */
			if (f.value == 1 || f.value == 2)
				return f.value == 1 ? msgpack_write_map(b, 0) : msgpack_write_array(b, 0);
			break;
		case 5:
			return msgpack_write_int(b, (int64_t)f.value);
		case 6:
			return msgpack_write_double(b, pb_double(&f));
		case 7:
			return msgpack_write_bool(b, f.value);
		case 8:
			return write_text(b, pb_text(&f));
		default:
			break;
		}
	}
	return msgpack_write_nil(b);
}

static int write_annotation(struct perfetto *p, const struct sequence *s, struct cursor c, unsigned depth)
{
	struct cursor all = c;
	char room[UNKNOWN_SIZE];
	struct pb_field f;

	while (depth <= PERFETTO_DEPTH_MAX && p->args.size < ARGS_MAX && pb_next(&c, &f) > 0) {
		switch (f.number) {
		case ANNOTATION_BOOL:
			return msgpack_write_bool(&p->args, f.value);
		case ANNOTATION_UINT:
		case ANNOTATION_POINTER:
			return msgpack_write_uint(&p->args, f.value);
		case ANNOTATION_INT:
			return msgpack_write_int(&p->args, (int64_t)f.value);
		case ANNOTATION_DOUBLE:
			return msgpack_write_double(&p->args, pb_double(&f));
		case ANNOTATION_STRING:
		case ANNOTATION_JSON:
			return write_text(&p->args, pb_text(&f));
		case ANNOTATION_STRING_IID:
			return write_text(&p->args, text_of(p, s, INTERN_ARG_TEXT, f.value, room));
		case ANNOTATION_NESTED:
			return write_nested(&p->args, pb_message(&f), depth + 1);
		case ANNOTATION_DICT:
		case ANNOTATION_ARRAY:
			return write_members(p, s, all, f.number, depth);
		default:
			break;
		}
	}
	return msgpack_write_nil(&p->args);
}

/* ---- Values as fields --------------------------------------------------------- */

static bool text_integer(struct text text, int64_t *ret)
{
	uint64_t value = 0;

	if (!text.size || text.size > 18)
		return false;
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(text.data[i] - '0');
	}
	*ret = (int64_t)value;
	return true;
}

static bool annotation_integer(const struct pb_field *f, int64_t *ret)
{
	if (f->number == ANNOTATION_UINT || f->number == ANNOTATION_INT || f->number == ANNOTATION_POINTER) {
		*ret = (int64_t)f->value;
		return true;
	}
	if (f->number == ANNOTATION_DOUBLE && pb_double(f) >= 0 && pb_double(f) < 1e15) {
		*ret = (int64_t)pb_double(f);
		return true;
	}
	return f->number == ANNOTATION_STRING && text_integer(pb_text(f), ret);
}

/* "grid": [x, y, z] */
static bool set_dimensions(struct perfetto_event *pe, enum event_field first, struct cursor c)
{
	struct pb_field f, g;
	unsigned seen = 0;

	while (seen < 3 && pb_next(&c, &f) > 0) {
		struct cursor inner = pb_message(&f);
		int64_t value;

		if (f.number != ANNOTATION_ARRAY)
			continue;
		while (pb_next(&inner, &g) > 0)
			if (annotation_integer(&g, &value) && value >= 0) {
				import_event_set(&pe->e, (enum event_field)(first + seen), (uint64_t)value);
				break;
			}
		seen++;
	}
	return seen;
}

/* True when the argument is a field now. */
static bool set_field(struct perfetto_event *pe, uint32_t meaning, struct cursor c)
{
	struct pb_field f;
	int64_t value;

	if (meaning == MEANING_GRID || meaning == MEANING_BLOCK)
		return set_dimensions(pe, meaning == MEANING_GRID ? FIELD_GRID_X : FIELD_BLOCK_X, c);
	while (pb_next(&c, &f) > 0)
		if (annotation_integer(&f, &value) && value >= 0) {
			put_field(pe, meaning, value);
			return true;
		}
	return false;
}

/* Whether an argument of this meaning is a field of an event of this kind. */
static bool is_field(uint8_t kind, uint32_t meaning)
{
	if (kind == EVENT_NONE || meaning == MEANING_NONE || meaning >= MEANING_COLLECTIVE)
		return false;
	if (kind == EVENT_CPU_CALL || meaning == FIELD_CPU)
		return meaning == FIELD_CPU;
	if (kind_on_device(kind))
		return true;
	if (kind == EVENT_OP || kind == EVENT_SCOPE)
		return meaning == FIELD_OPERATOR || meaning == FIELD_CORRELATION || meaning == FIELD_LINK;
	return meaning < MEANING_DEVICE;
}

/* In our own export an argument that is no natural number was no field, whatever it is called, nor was a place. */
static bool may_be_field(const struct perfetto *p, uint32_t meaning, struct cursor c)
{
	struct pb_field f;

	if (!p->ours || meaning == FIELD_CPU || meaning == FIELD_CORRELATION || meaning == FIELD_OPERATOR)
		return true;
	if (meaning >= MEANING_DEVICE)
		return false;
	while (pb_next(&c, &f) > 0)
		if (f.number == ANNOTATION_UINT || f.number == ANNOTATION_POINTER)
			return true;
	return false;
}

int args_annotation(struct perfetto *p, const struct sequence *s, struct cursor c, struct perfetto_event *pe,
		    uint8_t kind)
{
	char room[UNKNOWN_SIZE];
	uint32_t meaning;
	struct text name = annotation_name(p, s, c, room, &meaning);
	bool kept = kind_on_device(kind) && meaning >= MEANING_COLLECTIVE;
	int rc;

	if (is_field(kind, meaning) && may_be_field(p, meaning, c) && set_field(pe, meaning, c))
		return 0;
	if (!p->ours && kind == EVENT_GPU_KERNEL && meaning == MEANING_COLLECTIVE)
		pe->e.kind = EVENT_COLLECTIVE;
	if ((p->lean && !kept) || p->args.size >= ARGS_MAX)
		return 0;
	rc = write_text(&p->args, name);
	p->arg_count++;
	return rc ? rc : write_annotation(p, s, c, 1);
}

/* ---- Others ------------------------------------------------------------------- */

int args_text(struct perfetto *p, const char *key, struct text value)
{
	int rc;

	if (p->lean || !value.size || p->args.size >= ARGS_MAX)
		return 0;
	rc = msgpack_write_text(&p->args, key);
	p->arg_count++;
	return rc ? rc : write_text(&p->args, value);
}

int args_number(struct perfetto *p, const char *key, uint64_t value)
{
	int rc;

	if (p->lean || p->args.size >= ARGS_MAX)
		return 0;
	rc = msgpack_write_text(&p->args, key);
	p->arg_count++;
	return rc ? rc : msgpack_write_uint(&p->args, value);
}

static int put_name(struct perfetto *p, struct text name)
{
	p->arg_count++;
	return write_text(&p->args, name);
}

int args_integer(struct perfetto *p, struct text name, int64_t value)
{
	if (p->lean || p->args.size >= ARGS_MAX)
		return 0;
	return put_name(p, name) ? -ENOMEM : msgpack_write_int(&p->args, value);
}

int args_double(struct perfetto *p, struct text name, double value)
{
	if (p->lean || p->args.size >= ARGS_MAX)
		return 0;
	return put_name(p, name) ? -ENOMEM : msgpack_write_double(&p->args, value);
}

bool args_is_field(uint32_t meaning)
{
	return meaning != MEANING_NONE && meaning < MEANING_GRID;
}

int args_named(struct perfetto *p, uint32_t meaning, struct text name, struct text value, struct perfetto_event *pe)
{
	int64_t number;
	int rc;

	if (args_is_field(meaning) && text_integer(value, &number)) {
		put_field(pe, meaning, number);
		return 0;
	}
	if (p->lean || p->args.size >= ARGS_MAX)
		return 0;
	rc = write_text(&p->args, name);
	p->arg_count++;
	return rc ? rc : write_text(&p->args, value);
}

/* SourceLocation */
int args_source(struct perfetto *p, struct cursor c)
{
	struct pb_field f;
	int rc = 0;

	while (rc == 0 && pb_next(&c, &f) > 0) {
		if (f.number == 2)
			rc = args_text(p, "source_file", pb_text(&f));
		else if (f.number == 3)
			rc = args_text(p, "source_function", pb_text(&f));
		else if (f.number == 4)
			rc = args_number(p, "source_line", f.value);
	}
	return rc;
}

int args_finish(struct perfetto *p, struct perfetto_event *pe)
{
	int rc;

	pe->e.metadata = NULL;
	pe->e.metadata_size = 0;
	if (!p->arg_count)
		return 0;
	buffer_clear(&p->metadata);
	rc = msgpack_write_map(&p->metadata, p->arg_count);
	if (rc == 0)
		rc = buffer_append(&p->metadata, p->args.data, p->args.size);
	pe->e.metadata = p->metadata.data;
	pe->e.metadata_size = p->metadata.size;
	return rc;
}
