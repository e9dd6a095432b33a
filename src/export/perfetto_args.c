/* perfetto_args.c - fields and metadata of events as annotations. */
#include <string.h>

#include "base/msgpack.h"
#include "export/perfetto.h"
#include "ring/event.h"

#define BIT(field) ((uint64_t)1 << (field))
/* What has a place of its own in every event. */
#define OWN                                                                                                            \
	(BIT(FIELD_SHAPE) | BIT(FIELD_TIME) | BIT(FIELD_NAME) | BIT(FIELD_DEPTH) | BIT(FIELD_DURATION) |               \
	 BIT(FIELD_METADATA))
#define FRAMES_MAX 64u

/* Fields of TrackEvent and DebugAnnotation. */
enum { EVENT_ANNOTATION = 4 };
enum {
	ARG_IID = 1,
	ARG_BOOL = 2,
	ARG_UINT = 3,
	ARG_INT = 4,
	ARG_DOUBLE = 5,
	ARG_STRING = 6,
	ARG_NESTED = 8,
	ARG_NAME = 10,
	ARG_DICT = 11,
	ARG_ARRAY = 12
};
enum { NESTED_DICT = 1, NESTED_ARRAY = 2 };

double pf_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

/* ---- Fields as annotations ----------------------------------------------------------- */

/* "function (file:line)", the innermost first. */
static void put_frame(struct pf *p, uint32_t id, struct buffer *out)
{
	const struct trace_frame *frame = trace_reader_frame(p->reader, id);
	size_t opened = proto_open(out), size = 0, file_size = 0;
	const char *function = frame ? trace_reader_string(p->reader, frame->function, &size) : "";
	const char *file = frame ? trace_reader_string(p->reader, frame->file, &file_size) : "";
	struct buffer text = BUFFER_INIT;
	int rc = buffer_append(&text, function, size);

	if (file_size)
		rc |= buffer_append(&text, " (", 2) | buffer_append(&text, file, file_size) |
		      buffer_printf(&text, ":%u)", frame->line);
	if (rc == 0)
		rc = proto_text(out, ARG_STRING, (const char *)text.data, text.size);
	pf_check(p, rc | proto_close(out, ARG_ARRAY, opened));
	buffer_release(&text);
}

static void put_stack(struct pf *p, uint64_t id, struct buffer *out)
{
	const struct trace_stack *stack = id < UINT32_MAX ? trace_reader_stack(p->reader, (uint32_t)id) : NULL;

	for (uint32_t i = 0; stack && i < stack->count && i < FRAMES_MAX; i++)
		put_frame(p, stack->frames[i], out);
}

static void put_field(struct pf *p, struct pf_sequence *s, unsigned field, uint64_t value, struct buffer *out)
{
	uint32_t iid = pf_field_name(p, s, field);
	size_t opened = proto_open(out);
	int rc = proto_number(out, ARG_IID, iid);

	if (field == FIELD_VALUE)
		rc |= proto_double(out, ARG_DOUBLE, pf_double(value));
	else if (field == FIELD_STACK)
		put_stack(p, value, out);
	else
		rc |= proto_number(out, field == FIELD_INTEGER ? ARG_INT : ARG_UINT, value);
	pf_check(p, rc | proto_close(out, EVENT_ANNOTATION, opened));
}

static uint64_t value_of(const struct trace_batch *b, uint32_t event, unsigned field)
{
	if (field == FIELD_CPU)
		return b->cpu[event];
	return b->field[field] ? b->field[field][event] : 0;
}

void pf_args(struct pf *p, struct pf_sequence *s, uint32_t event, uint64_t without, struct buffer *out)
{
	const struct trace_batch *b = p->batch;
	uint64_t present = trace_batch_present(b, event), left = present & ~(OWN | without) & (BIT(FIELD_LIMIT) - 1);

	if (b->cpu[event] == EVENT_CPU_UNKNOWN)
		left &= ~BIT(FIELD_CPU);
	for (; left; left &= left - 1) {
		unsigned field = (unsigned)__builtin_ctzll(left);

		put_field(p, s, field, value_of(b, event, field), out);
	}
	if (present & BIT(FIELD_METADATA) && b->metadata && !(without & BIT(FIELD_METADATA)))
		pf_metadata(p, s, &b->metadata[event], out);
}

/* ---- Metadata as annotations ----------------------------------------------------------- */

static int put_value(struct pf *p, struct pf_sequence *s, struct cursor *c, unsigned depth, struct buffer *out);

static int put_key(struct pf *p, struct pf_sequence *s, const struct msgpack_value *key, struct buffer *out)
{
	const char *text = key->type == MSGPACK_STRING ? (const char *)key->data : "?";
	size_t size = key->type == MSGPACK_STRING ? key->size : 1;
	uint32_t iid = pf_key_name(p, s, text, size);

	return iid ? proto_number(out, ARG_IID, iid) : proto_text(out, ARG_NAME, text, size);
}

/* Pairs of a map, each an annotation in field `number`.  A key that is no text is "?". */
static int put_pairs(struct pf *p, struct pf_sequence *s, struct cursor *c, uint32_t count, uint32_t number,
		     unsigned depth, struct buffer *out)
{
	struct msgpack_value key;
	int rc = 0;

	while (count-- && rc == 0) {
		size_t opened = proto_open(out);
		struct cursor at = *c;

		if (msgpack_read(c, &key) || (key.type != MSGPACK_STRING && (*c = at, msgpack_skip(c))))
			return -1;
		pf_check(p, put_key(p, s, &key, out));
		rc = put_value(p, s, c, depth + 1, out);
		pf_check(p, proto_close(out, number, opened));
	}
	return rc;
}

static int put_values(struct pf *p, struct pf_sequence *s, struct cursor *c, uint32_t count, unsigned depth,
		      struct buffer *out)
{
	int rc = 0;

	while (count-- && rc == 0) {
		size_t opened = proto_open(out);

		rc = put_value(p, s, c, depth + 1, out);
		pf_check(p, proto_close(out, ARG_ARRAY, opened));
	}
	return rc;
}

static int put_hex(const struct msgpack_value *v, struct buffer *out)
{
	struct buffer text = BUFFER_INIT;
	int rc = 0;

	for (uint32_t i = 0; i < v->size && rc == 0; i++)
		rc = buffer_printf(&text, "%02x", v->data[i]);
	rc |= proto_bytes(out, ARG_STRING, text.data, text.size);
	buffer_release(&text);
	return rc;
}

/* A list or map without entries would be nothing at all; the older form of nested values can say it. */
static int put_empty(struct pf *p, uint32_t type, struct buffer *out)
{
	size_t opened = proto_open(out);

	pf_check(p, proto_number(out, 1, type) | proto_close(out, ARG_NESTED, opened));
	return 0;
}

/* The value of an annotation; nil has none.  Not 0: what follows cannot be read. */
static int put_value(struct pf *p, struct pf_sequence *s, struct cursor *c, unsigned depth, struct buffer *out)
{
	struct msgpack_value v;

	if (depth > MSGPACK_DEPTH_MAX || msgpack_read(c, &v))
		return -1;
	switch (v.type) {
	case MSGPACK_BOOL:
		pf_check(p, proto_number(out, ARG_BOOL, v.boolean));
		break;
	case MSGPACK_INT:
		pf_check(p, proto_number(out, ARG_INT, (uint64_t)v.integer));
		break;
	case MSGPACK_UINT:
		pf_check(p, proto_number(out, ARG_UINT, v.natural));
		break;
	case MSGPACK_DOUBLE:
		pf_check(p, proto_double(out, ARG_DOUBLE, v.number));
		break;
	case MSGPACK_STRING:
		pf_check(p, proto_text(out, ARG_STRING, (const char *)v.data, v.size));
		break;
	case MSGPACK_BYTES:
		pf_check(p, put_hex(&v, out));
		break;
	case MSGPACK_ARRAY:
		return v.count ? put_values(p, s, c, v.count, depth, out) : put_empty(p, NESTED_ARRAY, out);
	case MSGPACK_MAP:
		return v.count ? put_pairs(p, s, c, v.count, ARG_DICT, depth, out) : put_empty(p, NESTED_DICT, out);
	default:
		break;
	}
	return 0;
}

void pf_metadata(struct pf *p, struct pf_sequence *s, const struct trace_blob *metadata, struct buffer *out)
{
	struct cursor c = cursor_of(metadata->data, metadata->size);
	struct msgpack_value head;

	if (metadata->size && msgpack_read(&c, &head) == 0 && head.type == MSGPACK_MAP)
		(void)put_pairs(p, s, &c, head.count, EVENT_ANNOTATION, 0, out);
}

static size_t open_named(struct pf *p, struct pf_sequence *s, const char *key, struct buffer *out)
{
	uint32_t iid = pf_key_name(p, s, key, strlen(key));
	size_t opened = proto_open(out);

	pf_check(p, iid ? proto_number(out, ARG_IID, iid) : proto_string(out, ARG_NAME, key));
	return opened;
}

void pf_arg_text(struct pf *p, struct pf_sequence *s, const char *key, const char *text, struct buffer *out)
{
	size_t opened = open_named(p, s, key, out);

	pf_check(p, proto_string(out, ARG_STRING, text) | proto_close(out, EVENT_ANNOTATION, opened));
}

void pf_arg_number(struct pf *p, struct pf_sequence *s, const char *key, double value, struct buffer *out)
{
	size_t opened = open_named(p, s, key, out);

	pf_check(p, proto_double(out, ARG_DOUBLE, value) | proto_close(out, EVENT_ANNOTATION, opened));
}
