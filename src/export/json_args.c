/* json_args.c - the arguments of an event; see json_export.h. */
#include "base/msgpack.h"
#include "export/json_export.h"

#define BIT(field) (UINT64_C(1) << (field))
#define GRID (BIT(FIELD_GRID_X) | BIT(FIELD_GRID_Y) | BIT(FIELD_GRID_Z))
#define BLOCK (BIT(FIELD_BLOCK_X) | BIT(FIELD_BLOCK_Y) | BIT(FIELD_BLOCK_Z))
#define STACK_FRAMES 64u /* of a call stack that are written, from the innermost */

/* ---- What an importer kept ------------------------------------------------------ */

static bool is_key(const struct msgpack_value *value, const char *text)
{
	return value->type == MSGPACK_STRING && value->size == strlen(text) && memcmp(value->data, text, value->size) == 0;
}

/* Whether the key is one of ours, with its value. */
static bool take_origin(struct json_origin *origin, struct cursor *c)
{
	struct msgpack_value key, value;
	struct cursor before;

	if (cursor_left(c) < 4 || c->at[0] >> 5 != 5 || c->at[1] != 'c' || msgpack_read(c, &key)) /* a short string, "c..." */
		return false;
	before = *c;
	if (msgpack_read(c, &value))
		return false;
	if (is_key(&key, "cat") && value.type == MSGPACK_STRING)
		origin->category = (struct trace_text){ (const char *)value.data, value.size };
	else if (is_key(&key, "chrome_ph") && value.type == MSGPACK_STRING && value.size == 1)
		origin->phase = (char)value.data[0];
	else if (is_key(&key, "chrome_s") && value.type == MSGPACK_STRING && value.size == 1)
		origin->scope = (char)value.data[0];
	else if (is_key(&key, "chrome_pid") && (value.type == MSGPACK_STRING || value.type == MSGPACK_INT))
		origin->pid = before;
	else if (is_key(&key, "chrome_tid") && value.type == MSGPACK_INT)
		origin->tid = before;
	else
		return false;
	return true;
}

struct json_origin json_origin_of(const struct row *row)
{
	struct json_origin origin = { .args = cursor_of(row->metadata.data, row->metadata.size) };
	struct msgpack_value head;
	struct cursor next;

	if (row->metadata.size == 0)
		return origin;
	if (origin.args.at[0] >> 4 == 8)
		head = (struct msgpack_value){ .type = MSGPACK_MAP, .count = *origin.args.at++ & 15 };
	else if (msgpack_read(&origin.args, &head) || head.type != MSGPACK_MAP)
		return origin;
	origin.arg_count = head.count;
	for (next = origin.args; origin.arg_count && take_origin(&origin, &next); origin.args = next)
		origin.arg_count--;
	return origin;
}

/* ---- Fields ---------------------------------------------------------------------- */

struct args {
	struct export_out *out;
	bool begun;
};

static void put_lead(struct args *a)
{
	if (a->begun)
		JSON(a->out, ",");
	else
		JSON(a->out, ",\"args\":{");
	a->begun = true;
}
#define KEY(a, name) (put_lead(a), JSON((a)->out, "\"" name "\":"))

static bool has(const struct row *row, enum event_field field)
{
	return (row->present & BIT(field)) != 0;
}

static void put_triple(struct export_out *out, const uint64_t *xyz)
{
	JSON(out, "[");
	json_unsigned_to(out, xyz[0]);
	JSON(out, ",");
	json_unsigned_to(out, xyz[1]);
	JSON(out, ",");
	json_unsigned_to(out, xyz[2]);
	JSON(out, "]");
}

static void put_natural(struct args *a, const struct row *row, enum event_field field, const char *key, size_t size)
{
	if (!has(row, field))
		return;
	put_lead(a);
	json_bytes(a->out, key, size);
	json_unsigned_to(a->out, row->field[field]);
}
#define NUMBER(a, row, which, name) put_natural(a, row, which, "\"" name "\":", sizeof(name) + 2)

static void put_string(struct args *a, const struct json_export *x, uint32_t string)
{
	size_t size;
	const char *text = trace_reader_string(x->reader, string, &size);

	json_quoted_to(a->out, text, size);
}

static bool is_memory(const struct row *row)
{
	return row->kind == EVENT_MEMORY_ALLOC || row->kind == EVENT_MEMORY_FREE;
}

static void put_device(struct args *a, const struct json_export *x, const struct trace_track *track)
{
	if (track->device < 0 || (uint64_t)track->device >= x->places.device_count)
		return;
	KEY(a, "device");
	json_unsigned_to(a->out, x->places.device_numbers[track->device]);
}

static void put_stream(struct args *a, const struct json_export *x, const struct row *row)
{
	const struct trace_track *track = trace_reader_track(x->reader, row->track);

	if (track && track->kind == TRACK_DEVICE && is_memory(row))
		put_device(a, x, track);
	if (!track || track->kind != TRACK_STREAM || (x->kineto && row->kind == EVENT_SCOPE) || row->kind == EVENT_FLOW)
		return;
	put_device(a, x, track);
	KEY(a, "stream");
	json_signed_to(a->out, (int64_t)track->os_id);
}

/* Bytes that were given back are negative there. */
static void put_bytes(struct args *a, const struct row *row)
{
	if (!has(row, FIELD_BYTES))
		return;
	if (!is_memory(row)) {
		KEY(a, "bytes");
	} else {
		KEY(a, "Bytes");
		if (row->kind == EVENT_MEMORY_FREE && row->field[FIELD_BYTES])
			JSON(a->out, "-");
	}
	json_unsigned_to(a->out, row->field[FIELD_BYTES]);
}

static void put_frame(struct args *a, const struct json_export *x, const struct trace_frame *frame, struct buffer *text)
{
	size_t size;
	const char *part = trace_reader_string(x->reader, frame->file, &size);

	export_out_check(a->out, buffer_append(text, ";", text->size > 0));
	export_out_check(a->out, buffer_append(text, part, size));
	if (size)
		export_out_check(a->out, buffer_printf(text, "(%u): ", frame->line));
	part = trace_reader_string(x->reader, frame->function, &size);
	export_out_check(a->out, buffer_append(text, part, size));
}

static void put_stack(struct args *a, const struct json_export *x, const struct row *row)
{
	uint64_t id = has(row, FIELD_STACK) ? row->field[FIELD_STACK] : UINT64_MAX;
	const struct trace_stack *stack = id <= UINT32_MAX ? trace_reader_stack(x->reader, (uint32_t)id) : NULL;
	struct buffer text = BUFFER_INIT;

	for (uint32_t i = 0; stack && i < stack->count && i < STACK_FRAMES; i++) {
		const struct trace_frame *frame = trace_reader_frame(x->reader, stack->frames[i]);

		if (frame)
			put_frame(a, x, frame, &text);
	}
	if (text.size) {
		KEY(a, "Call stack");
		json_quoted_to(a->out, (const char *)text.data, text.size);
	}
	buffer_release(&text);
}

static void put_memory_kinds(struct args *a, const struct row *row)
{
	static const char *const ways[] = { [EVENT_H2D_COPY] = "HtoD", [EVENT_D2H_COPY] = "DtoH", [EVENT_D2D_COPY] = "DtoD" };
	const char *from = event_memory_kind_name(MEMORY_KIND_FROM(row->field[FIELD_MEMORY_KIND]));
	const char *to = event_memory_kind_name(MEMORY_KIND_TO(row->field[FIELD_MEMORY_KIND]));

	KEY(a, "kind");
	json_text_to(a->out, ways[row->kind]);
	if (!has(row, FIELD_MEMORY_KIND))
		return;
	KEY(a, "memory_from");
	json_text_to(a->out, from ? from : "unknown");
	KEY(a, "memory_to");
	json_text_to(a->out, to ? to : "unknown");
}

static bool is_copy(const struct row *row)
{
	return row->kind >= EVENT_H2D_COPY && row->kind <= EVENT_D2D_COPY;
}

/* What device work, the calls that ask for it, and memory have. */
static void put_work(struct args *a, const struct json_export *x, const struct row *row)
{
	NUMBER(a, row, FIELD_OPERATOR, "External id");
	put_stream(a, x, row);
	if (row->kind == EVENT_OP && !x->imported) /* the number that its gradient has, too */
		NUMBER(a, row, FIELD_CORRELATION, "Sequence number");
	else
		NUMBER(a, row, FIELD_CORRELATION, "correlation");
	NUMBER(a, row, FIELD_REGISTERS, "registers per thread");
	NUMBER(a, row, FIELD_SHARED_MEMORY, "shared memory");
	if ((row->present & GRID) == GRID) {
		KEY(a, "grid");
		put_triple(a->out, row->field + FIELD_GRID_X);
	}
	if ((row->present & BLOCK) == BLOCK) {
		KEY(a, "block");
		put_triple(a->out, row->field + FIELD_BLOCK_X);
	}
	put_bytes(a, row);
	NUMBER(a, row, FIELD_GRAPH, "graph id");
	NUMBER(a, row, FIELD_WAIT, "wait_on_cuda_event_record_corr_id");
	NUMBER(a, row, FIELD_POINTER, "Addr");
	if (is_copy(row) && !x->imported)
		put_memory_kinds(a, row);
}

static void put_reason(struct args *a, const struct row *row)
{
	uint64_t reason = row->field[FIELD_REASON];
	const char *name = reason < LOST_REASON_COUNT ? event_lost_reason_name((unsigned)reason) : NULL;

	KEY(a, "reason");
	if (name)
		json_text_to(a->out, name);
	else
		json_unsigned_to(a->out, reason);
}

/* What only some events of our own have. */
static void put_rest(struct args *a, const struct json_export *x, const struct row *row)
{
	double value;

	if (has(row, FIELD_VALUE)) {
		memcpy(&value, &row->field[FIELD_VALUE], sizeof value);
		KEY(a, "value");
		json_double_to(a->out, value);
	}
	if (has(row, FIELD_INTEGER)) {
		KEY(a, "integer");
		json_signed_to(a->out, (int64_t)row->field[FIELD_INTEGER]);
	}
	NUMBER(a, row, FIELD_COUNT, "count");
	if (has(row, FIELD_REASON))
		put_reason(a, row);
	NUMBER(a, row, FIELD_NUMA_NODE, "numa_node");
	NUMBER(a, row, FIELD_ID, "id");
	NUMBER(a, row, FIELD_LINK, "link");
	put_stack(a, x, row);
}

#define PLAIN_FIELDS                                                                                                          \
	(BIT(FIELD_VALUE) | BIT(FIELD_INTEGER) | BIT(FIELD_COUNT) | BIT(FIELD_REASON) | BIT(FIELD_NUMA_NODE) | BIT(FIELD_ID) | \
	 BIT(FIELD_LINK) | BIT(FIELD_STACK))

static void put_flags(struct args *a, const struct row *row)
{
	if (row->flags & ROW_UNFINISHED) {
		KEY(a, "unfinished");
		JSON(a->out, "true");
	}
	if (row->flags & ROW_CONTINUES) {
		KEY(a, "continues");
		JSON(a->out, "true");
	}
	if (row->flags & ROW_BEGIN_LOST) {
		KEY(a, "begin_lost");
		JSON(a->out, "true");
	}
	if (row->flags & ROW_UNMATCHED) {
		KEY(a, "unmatched");
		JSON(a->out, "true");
	}
	if (row->flags & ROW_GOES_ON) {
		KEY(a, "goes_on");
		JSON(a->out, "true");
	}
}

static void put_function(struct args *a, const struct json_export *x, const struct row *row)
{
	const struct trace_frame *frame = trace_reader_function(x->reader, row->name);

	if (!frame)
		return;
	if (frame->module) {
		KEY(a, "module");
		put_string(a, x, frame->module);
	}
	if (frame->file) {
		KEY(a, "file");
		put_string(a, x, frame->file);
	}
	if (frame->line) {
		KEY(a, "line");
		json_unsigned_to(a->out, frame->line);
	}
}

/* The numbers that torch gives to calls of Python functions; imported ones have theirs. */
static void put_call(struct args *a, struct json_export *x, const struct row *row)
{
	uint64_t id, parent;

	if (!x->kineto || !row->paired || row->track >= x->places.track_count)
		return;
	if (json_call_ids(&x->calls, row, &id, &parent) < 0) {
		export_out_check(a->out, -ENOMEM);
		return;
	}
	KEY(a, "Python id");
	json_unsigned_to(a->out, id);
	KEY(a, "Python parent id");
	if (parent)
		json_unsigned_to(a->out, parent);
	else
		JSON(a->out, "null");
}

/* ---- The rest ------------------------------------------------------------------------ */

/* What torch calls otherwise than we do is called as torch does. */
static bool put_torch_key(struct args *a, const struct row *row, struct cursor *c)
{
	struct cursor next = *c;
	struct msgpack_value key;

	if (row->kind != EVENT_OP || msgpack_read(&next, &key) || !is_key(&key, "shapes"))
		return false;
	JSON(a->out, "\"Input Dims\"");
	*c = next;
	return true;
}

static bool put_pair(struct args *a, const struct json_export *x, const struct row *row, struct cursor *c)
{
	put_lead(a);
	if (!(x->kineto && !x->imported && put_torch_key(a, row, c)) && !json_key_to(a->out, c))
		return false;
	JSON(a->out, ":");
	return json_value_to(a->out, c);
}

/* A map that is not well-formed is left out from where it is not. */
static void put_metadata(struct args *a, const struct json_export *x, const struct row *row, const struct json_origin *origin)
{
	struct cursor c = origin->args;

	for (uint32_t i = 0; i < origin->arg_count; i++) {
		struct args before = *a;
		size_t size = a->out->buf.size;

		if (!put_pair(a, x, row, &c)) {
			a->out->buf.size = size;
			*a = before;
			return;
		}
	}
}

void json_args_to(struct json_export *x, const struct row *row, const struct json_origin *origin)
{
	struct args a = { x->out, false };

	put_work(&a, x, row);
	if (row->present & PLAIN_FIELDS)
		put_rest(&a, x, row);
	if (row->flags)
		put_flags(&a, row);
	if (row->cpu != EVENT_CPU_UNKNOWN) {
		KEY(&a, "cpu");
		json_unsigned_to(a.out, row->cpu);
	}
	if (row->kind == EVENT_CPU_CALL) {
		put_call(&a, x, row);
		put_function(&a, x, row);
	}
	if (origin->arg_count)
		put_metadata(&a, x, row, origin);
	if (a.begun)
		JSON(a.out, "}");
}
