/*
 * query_args.c - the table `args`: the arguments of slices, one a row.
 *
 * The timeline does not keep them; it knows where in the file a slice begins,
 * and the block is read again.  All of them are read in the order of the file,
 * so that each block is decoded once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack.h"
#include "query/query_state.h"

enum { SLICE, KEY, VALUE };
#define PLAN_ALL 0
#define PLAN_SLICE 1
#define NO_BLOCK SIZE_MAX

/* Keys are paths: "a", "a.b", "a[2].b"; all of them one after the other in `keys`. */
struct argument {
	uint32_t key, key_size;
	struct msgpack_value value;
};

struct args_cursor {
	sqlite3_vtab_cursor base;
	const struct timeline *t;
	uint32_t *order; /* slices by place in the file; NULL: one alone */
	uint32_t at, end;
	uint32_t slice;
	bool over;

	size_t block; /* that the batch is of */
	struct trace_batch batch;
	struct argument *arguments; /* of the slice */
	size_t count, capacity, argument;
	struct buffer keys, path;
};

static int args_connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **ret, char **ret_error)
{
	(void)db;
	(void)argc;
	(void)argv;
	(void)ret_error;
	return query_connect(arg, ARGS_COLUMNS, ret);
}

/* Who asks for the arguments of certain slices is not served by going through those of all. */
static int args_plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
	bool wanted = false;

	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];

		if (c->iColumn != SLICE || c->op != SQLITE_INDEX_CONSTRAINT_EQ)
			continue;
		wanted = true;
		if (!c->usable || info->idxNum == PLAN_SLICE)
			continue;
		info->idxNum = PLAN_SLICE;
		info->aConstraintUsage[i].argvIndex = 1;
	}
	if (wanted && info->idxNum != PLAN_SLICE)
		return SQLITE_CONSTRAINT;
	if (!wanted)
		query_widen(((struct query_vtab *)base)->q, INT64_MIN, INT64_MAX);
	info->estimatedCost = info->idxNum == PLAN_SLICE ? 100 : 1e7;
	info->estimatedRows = info->idxNum == PLAN_SLICE ? 10 : 10000000;
	return SQLITE_OK;
}

static int args_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct args_cursor *c = sqlite3_malloc(sizeof *c);

	(void)base;
	if (!c)
		return SQLITE_NOMEM;
	memset(c, 0, sizeof *c);
	c->block = NO_BLOCK;
	*ret = &c->base;
	return SQLITE_OK;
}

static int args_close(sqlite3_vtab_cursor *base)
{
	struct args_cursor *c = (struct args_cursor *)base;

	trace_batch_release(&c->batch);
	buffer_release(&c->keys);
	buffer_release(&c->path);
	free(c->arguments);
	free(c->order);
	sqlite3_free(c);
	return SQLITE_OK;
}

/* ---- The arguments of one slice ------------------------------------------------------ */

static int add(struct args_cursor *c, const struct msgpack_value *value)
{
	struct argument *larger;
	uint32_t key = (uint32_t)c->keys.size;

	if (c->count == c->capacity) {
		larger = reallocarray(c->arguments, c->capacity ? 2 * c->capacity : 16, sizeof *larger);
		if (!larger)
			return -ENOMEM;
		c->arguments = larger;
		c->capacity = c->capacity ? 2 * c->capacity : 16;
	}
	if (buffer_append(&c->keys, c->path.data, c->path.size) < 0)
		return -ENOMEM;
	c->arguments[c->count++] = (struct argument){ key, (uint32_t)c->path.size, *value };
	return 0;
}

static int flatten(struct args_cursor *c, struct cursor *in, unsigned depth);

static int flatten_member(struct args_cursor *c, struct cursor *in, unsigned depth)
{
	struct msgpack_value key;
	size_t size = c->path.size;
	int rc = msgpack_read(in, &key);

	if (rc == 0 && (key.type == MSGPACK_ARRAY || key.type == MSGPACK_MAP))
		return -EBADMSG;
	if (rc == 0 && size)
		rc = buffer_append(&c->path, ".", 1);
	if (rc == 0 && key.type == MSGPACK_STRING)
		rc = buffer_append(&c->path, key.data, key.size);
	else if (rc == 0 && key.type == MSGPACK_INT)
		rc = buffer_printf(&c->path, "%lld", (long long)key.integer);
	rc = rc ? rc : flatten(c, in, depth + 1);
	c->path.size = size;
	return rc;
}

static int flatten_item(struct args_cursor *c, struct cursor *in, unsigned depth, uint32_t i)
{
	size_t size = c->path.size;
	int rc = buffer_printf(&c->path, "[%u]", i);

	rc = rc ? rc : flatten(c, in, depth + 1);
	c->path.size = size;
	return rc;
}

static int flatten(struct args_cursor *c, struct cursor *in, unsigned depth)
{
	struct msgpack_value value;
	int rc = depth > MSGPACK_DEPTH_MAX ? -EBADMSG : msgpack_read(in, &value);

	if (rc < 0)
		return rc;
	if (value.type != MSGPACK_MAP && value.type != MSGPACK_ARRAY)
		return add(c, &value);
	for (uint32_t i = 0; i < value.count && rc == 0; i++)
		rc = value.type == MSGPACK_MAP ? flatten_member(c, in, depth) : flatten_item(c, in, depth, i);
	return rc;
}

/* The block that the slice begins in; false: it cannot be read. */
static bool have_block(struct args_cursor *c, struct query *q, size_t block)
{
	if (c->block == block)
		return true;
	c->block = trace_reader_decode(q->reader, block, &c->batch, NULL) == 0 ? block : NO_BLOCK;
	return c->block == block;
}

/* What cannot be read of them ends them. */
static int load_slice(struct args_cursor *c, struct query *q, uint32_t slice)
{
	uint64_t origin = c->t->origin[slice], event = origin & ((1u << TIMELINE_ORIGIN_BITS) - 1);
	const struct trace_blob *blob;
	struct cursor in;

	c->slice = slice;
	c->count = c->argument = 0;
	buffer_clear(&c->keys);
	buffer_clear(&c->path);
	if (origin == TIMELINE_NO_ORIGIN || !have_block(c, q, (size_t)(origin >> TIMELINE_ORIGIN_BITS)) || event >= c->batch.count ||
	    !c->batch.metadata)
		return 0;
	blob = &c->batch.metadata[event];
	if (blob->size == 0)
		return 0;
	in = cursor_of(blob->data, blob->size);
	return flatten(c, &in, 0) == -ENOMEM ? -ENOMEM : 0;
}

/* ---- One slice after the other ---------------------------------------------------------- */

static int settle(struct args_cursor *c, struct query *q)
{
	while (c->argument >= c->count) {
		if (c->at >= c->end) {
			c->over = true;
			return SQLITE_OK;
		}
		if (load_slice(c, q, c->order ? c->order[c->at] : c->at) < 0)
			return SQLITE_NOMEM;
		c->at++;
	}
	return SQLITE_OK;
}

static int by_origin(const void *a, const void *b, void *arg)
{
	const uint64_t *origin = arg;
	uint64_t x = origin[*(const uint32_t *)a], y = origin[*(const uint32_t *)b];

	return x < y ? -1 : x > y;
}

static int order_slices(struct args_cursor *c)
{
	const struct timeline *t = c->t;

	free(c->order);
	c->order = malloc(((size_t)t->slice_count + 1) * sizeof *c->order);
	if (!c->order)
		return SQLITE_NOMEM;
	for (uint32_t i = 0; i < t->slice_count; i++)
		c->order[i] = i;
	qsort_r(c->order, t->slice_count, sizeof *c->order, by_origin, t->origin);
	return SQLITE_OK;
}

static int args_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc, sqlite3_value **argv)
{
	struct args_cursor *c = (struct args_cursor *)base;
	struct query *q = ((struct query_vtab *)base->pVtab)->q;
	int status = query_need(q, NEEDS_PART);

	(void)text;
	if (status != SQLITE_OK)
		return status;
	c->t = q->timeline;
	c->over = false;
	c->at = c->end = 0;
	c->count = c->argument = 0;
	if (plan == PLAN_SLICE && argc == 1) {
		int64_t slice = sqlite3_value_int64(argv[0]);

		if (sqlite3_value_type(argv[0]) == SQLITE_INTEGER && slice >= 0 && slice < c->t->slice_count) {
			c->at = (uint32_t)slice;
			c->end = c->at + 1;
		}
	} else {
		status = order_slices(c);
		c->end = c->t->slice_count;
	}
	return status == SQLITE_OK ? settle(c, q) : status;
}

static int args_next(sqlite3_vtab_cursor *base)
{
	struct args_cursor *c = (struct args_cursor *)base;

	c->argument++;
	return settle(c, ((struct query_vtab *)base->pVtab)->q);
}

static int args_eof(sqlite3_vtab_cursor *base)
{
	return ((const struct args_cursor *)base)->over;
}

static void value_cell(const struct msgpack_value *value, sqlite3_context *context)
{
	switch (value->type) {
	case MSGPACK_BOOL:
		sqlite3_result_int(context, value->boolean);
		break;
	case MSGPACK_INT:
		sqlite3_result_int64(context, value->integer);
		break;
	case MSGPACK_UINT:
		sqlite3_result_double(context, (double)value->natural);
		break;
	case MSGPACK_DOUBLE:
		sqlite3_result_double(context, value->number);
		break;
	case MSGPACK_STRING:
		sqlite3_result_text(context, (const char *)value->data, (int)value->size, SQLITE_TRANSIENT);
		break;
	case MSGPACK_BYTES:
		sqlite3_result_blob(context, value->data, (int)value->size, SQLITE_TRANSIENT);
		break;
	default:
		break;
	}
}

static int args_cell(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct args_cursor *c = (const struct args_cursor *)base;
	const struct argument *a = &c->arguments[c->argument];

	if (column == SLICE)
		sqlite3_result_int64(context, c->slice);
	else if (column == KEY)
		sqlite3_result_text(context, (const char *)c->keys.data + a->key, (int)a->key_size, SQLITE_TRANSIENT);
	else
		value_cell(&a->value, context);
	return SQLITE_OK;
}

static int args_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct args_cursor *c = (const struct args_cursor *)base;

	*ret = (sqlite3_int64)((uint64_t)c->slice << 16 | (c->argument & 0xffff));
	return SQLITE_OK;
}

const sqlite3_module query_args_module = {
	.xConnect = args_connect, .xBestIndex = args_plan, .xDisconnect = query_disconnect, .xOpen = args_open, .xClose = args_close,
	.xFilter = args_filter, .xNext = args_next, .xEof = args_eof, .xColumn = args_cell, .xRowid = args_id,
};
