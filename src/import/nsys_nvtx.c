/*
 * nsys_nvtx.c - what programs say about themselves: ranges, marks, and the
 * names of domains and categories, which are events too.
 *
 * PyTorch announces its operators as "aten::mul, seq = 45328, op_id = 990726,
 * sizes = [[2, 3]]" (torch.autograd.profiler.emit_nvtx).  The numbers differ
 * from call to call, so such a range becomes an operator with a name that comes
 * again, and what follows it becomes arguments.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "import/nsys.h"
#include "import/output_state.h"

#define TABLE "NVTX_EVENTS"
#define NAMES_MAX 65536u    /* domains, and categories */
#define NAME_MAX_BYTES 256u

/* ENUM_NSYS_EVENT_TYPE; those of NVTX and, in the seventies, of texts in its format. */
enum {
	TYPE_CATEGORY = 33, TYPE_MARK = 34, TYPE_THREAD = 39, TYPE_RANGE = 59, TYPE_ASYNC = 60, TYPE_TEXT_CATEGORY = 64,
	TYPE_TEXT_MARK = 65, TYPE_TEXT_RANGE = 70, TYPE_TEXT_ASYNC = 71, TYPE_DOMAIN = 75, TYPE_DOMAIN_END = 76
};
#define NAMING "(33, 39, 64, 75)"
#define ASYNC "(60, 71)"

#define COLUMNS "eventType globalTid text textId domainId category rangeId color uint64Value int64Value doubleValue" \
		" uint32Value int32Value floatValue jsonText|jsonTextId"
enum {
	TYPE = 3, THREAD, TEXT, TEXT_ID, DOMAIN, CATEGORY, RANGE, COLOR, UINT64, INT64, DOUBLE, UINT32, INT32, FLOAT, JSON,
	OWN
};

static uint32_t text_of(struct nsys *n, struct sql_query *q)
{
	uint32_t name = nsys_text(n, q, TEXT);

	return name ? name : nsys_text(n, q, TEXT_ID);
}

/* ---- Names ------------------------------------------------------------------------------ */

/* Domains have numbers of their process. */
static uint64_t domain_key(struct sql_query *q)
{
	int64_t global = 0, domain = 0;

	sql_query_integer(q, THREAD, &global);
	sql_query_integer(q, DOMAIN, &domain);
	return nsys_pid(global) << 40 ^ (uint64_t)domain;
}

static bool raw_text(struct nsys *n, struct sql_query *q, const char **ret, size_t *ret_size)
{
	int64_t id;

	if (sql_query_text(q, TEXT, ret, ret_size))
		return true;
	return sql_query_integer(q, TEXT_ID, &id) && nsys_text_of(n, id, ret, ret_size);
}

/* The text goes to the end of n->names, with a NUL behind it. */
static void keep_name(struct nsys *n, struct output_map *map, uint64_t a, uint64_t b, struct sql_query *q)
{
	uint32_t place = (uint32_t)n->names.size;
	const char *text;
	size_t size;

	if (map->used >= NAMES_MAX || output_map_find(map, a, b) != OUTPUT_NONE || !raw_text(n, q, &text, &size))
		return;
	size = size < NAME_MAX_BYTES ? size : NAME_MAX_BYTES;
	if (buffer_append(&n->names, text, size) || buffer_append(&n->names, "", 1) || output_map_add(map, a, b, place))
		output_fail(n->o, -ENOMEM);
}

static bool read_name(struct nsys *n, struct sql_query *q)
{
	int64_t type = 0, category = 0;

	sql_query_integer(q, TYPE, &type);
	if (type == TYPE_DOMAIN)
		keep_name(n, &n->domains, domain_key(q), 0, q);
	else if ((type == TYPE_CATEGORY || type == TYPE_TEXT_CATEGORY) && sql_query_integer(q, CATEGORY, &category))
		keep_name(n, &n->categories, domain_key(q), (uint64_t)category, q);
	return true;
}

void nsys_read_nvtx_names(struct nsys *n)
{
	if (sql_column_exists(n->sql, TABLE, "eventType"))
		nsys_each(n, TABLE, "start end " COLUMNS, "eventType IN " NAMING, read_name, NULL);
}

static bool read_thread_name(struct nsys *n, struct sql_query *q)
{
	int64_t global;
	uint32_t track;
	const char *text;
	size_t size;

	if (!sql_query_integer(q, THREAD, &global) || !sql_query_text(q, TEXT, &text, &size))
		return true;
	track = output_map_find(&n->threads, (uint64_t)global, 0);
	if (track != OUTPUT_NONE)
		output_track_name(n->o, track, text, size);
	return true;
}

void nsys_read_nvtx_threads(struct nsys *n)
{
	if (sql_column_exists(n->sql, TABLE, "eventType"))
		nsys_each(n, TABLE, "start end " COLUMNS, "eventType = 39", read_thread_name, NULL);
}

/* ---- Arguments ----------------------------------------------------------------------------- */

/* The name that goes with a number, or the number. */
static void add_name(struct nsys *n, const char *key, uint32_t place, int64_t otherwise)
{
	if (place == OUTPUT_NONE)
		nsys_argument_integer(n, key, otherwise);
	else
		nsys_argument_text(n, key, (const char *)n->names.data + place, strlen((const char *)n->names.data + place));
}

static void add_arguments(struct nsys *n, struct sql_query *q)
{
	int64_t number;
	size_t before;

	if (output_lean(n->o))
		return;
	if (sql_query_integer(q, DOMAIN, &number) && number != 0)
		add_name(n, "domain", output_map_find(&n->domains, domain_key(q), 0), number);
	if (sql_query_integer(q, CATEGORY, &number) && number != 0)
		add_name(n, "category", output_map_find(&n->categories, domain_key(q), (uint64_t)number), number);
	nsys_argument_cell(n, "color", q, COLOR);
	before = n->metadata.size; /* of a union, one is set */
	for (int column = UINT64; n->metadata.size == before && column <= FLOAT; column++)
		nsys_argument_cell(n, "payload", q, column);
	nsys_argument_cell(n, "json", q, JSON);
}

/* ---- Operators ------------------------------------------------------------------------------- */

/* Whether the text at hand goes on with this and a number. */
static bool take_number(const char **text, const char *end, const char *key, int64_t *ret)
{
	size_t size = strlen(key);
	const char *at = *text + size;

	if ((size_t)(end - *text) <= size || memcmp(*text, key, size) != 0 || *at < '0' || *at > '9')
		return false;
	for (*ret = 0; at < end && *at >= '0' && *at <= '9' && *ret < INT64_MAX / 10 - 9; at++)
		*ret = *ret * 10 + (*at - '0');
	*text = at;
	return at == end || *at == ',';
}

/* How much of the text is the operator's name; 0 when it is no operator.  Its numbers become arguments. */
static size_t operator_name(struct nsys *n, const char *text, size_t size)
{
	static const char sizes[] = ", sizes = ";
	const char *end = text + size, *at = memmem(text, size, ", ", 2);
	int64_t sequence = -1, number = -1;
	size_t length;

	while (at && memcmp(at, ", seq = ", (size_t)(end - at) < 8 ? (size_t)(end - at) : 8) != 0 &&
	       memcmp(at, ", op_id = ", (size_t)(end - at) < 10 ? (size_t)(end - at) : 10) != 0)
		at = memmem(at + 2, (size_t)(end - at - 2), ", ", 2);
	if (!at || at == text)
		return 0;
	length = (size_t)(at - text);
	take_number(&at, end, ", seq = ", &sequence);
	take_number(&at, end, ", op_id = ", &number);
	if (sequence < 0 && number < 0)
		return 0;
	if (sequence >= 0)
		nsys_argument_integer(n, "seq", sequence);
	if (number >= 0)
		nsys_argument_integer(n, "op_id", number);
	if ((size_t)(end - at) > sizeof sizes - 1 && memcmp(at, sizes, sizeof sizes - 1) == 0)
		nsys_argument_text(n, "sizes", at + sizeof sizes - 1, (size_t)(end - at) - (sizeof sizes - 1));
	return length;
}

/* ---- Events ------------------------------------------------------------------------------------- */

static int read_range(struct nsys *n, const struct nsys_row *r, struct error *err)
{
	uint32_t track = nsys_thread(n, r->query, THREAD);
	enum event_kind kind = EVENT_SCOPE;
	struct import_event e;
	const char *text;
	size_t size, length = 0;

	if (sql_query_text(r->query, TEXT, &text, &size))
		length = operator_name(n, text, size);
	if (length)
		kind = EVENT_OP;
	e = nsys_event(r, kind, track, length ? output_string(n->o, text, length) : text_of(n, r->query));
	add_arguments(n, r->query);
	return nsys_put(n, &e, err);
}

/* Ranges of several processes may have the same number. */
static uint64_t flow_of(const struct nsys_row *r)
{
	int64_t global = 0, range = r->id;

	sql_query_integer(r->query, THREAD, &global);
	sql_query_integer(r->query, RANGE, &range);
	return nsys_pid(global) << 40 ^ (uint64_t)range;
}

static int read_async(struct nsys *n, const struct nsys_row *r, enum event_phase phase, struct error *err)
{
	struct import_event e = nsys_event(r, EVENT_SCOPE, nsys_thread(n, r->query, THREAD), text_of(n, r->query));

	e.phase = (uint8_t)phase;
	e.present = 0;
	import_event_set(&e, FIELD_FLOW, flow_of(r));
	if (phase == PHASE_ASYNC_BEGIN)
		add_arguments(n, r->query);
	return nsys_put(n, &e, err);
}

static int read_mark(struct nsys *n, const struct nsys_row *r, struct error *err)
{
	struct import_event e = nsys_event(r, EVENT_INSTANT, nsys_thread(n, r->query, THREAD), text_of(n, r->query));

	e.phase = PHASE_INSTANT;
	e.present = 0;
	add_arguments(n, r->query);
	return nsys_put(n, &e, err);
}

static int read_nvtx(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	int64_t type = TYPE_RANGE;

	(void)skip;
	sql_query_integer(r->query, TYPE, &type);
	switch (type) {
	case TYPE_RANGE:
	case TYPE_TEXT_RANGE:
		return read_range(n, r, err);
	case TYPE_ASYNC:
	case TYPE_TEXT_ASYNC:
		return read_async(n, r, PHASE_ASYNC_BEGIN, err);
	case TYPE_MARK:
	case TYPE_TEXT_MARK:
		return read_mark(n, r, err);
	default:
		return 0; /* names, and what has no meaning in time */
	}
}

/* The same rows by their ends; what is wrong with one is said at its begin. */
static int read_async_end(struct nsys *n, const struct nsys_row *r, const char **skip, struct error *err)
{
	int64_t begin, type = 0;

	(void)skip;
	if (!sql_query_integer(r->query, TYPE, &type) || (type != TYPE_ASYNC && type != TYPE_TEXT_ASYNC))
		return 0;
	if (!sql_query_integer(r->query, OWN, &begin) || begin < 0 || begin > r->start)
		return 0;
	return read_async(n, r, PHASE_ASYNC_END, err);
}

const struct nsys_table nsys_nvtx_tables[] = {
	{ TABLE, "start end " COLUMNS, NULL, NULL, false, read_nvtx },
	{ TABLE, "end - " COLUMNS " start", "eventType IN " ASYNC " AND \"end\" IS NOT NULL", "eventType", false, read_async_end },
	{ NULL, NULL, NULL, NULL, false, NULL },
};
