/*
 * query_events.c - the table `events`: what the file has, event by event, without a timeline.
 */
#include <string.h>

#include "query/query_state.h"

enum { ID, TS, KIND, PHASE, TRACK, NAME, DUR, EVENT_VALUE, CPU, CORRELATION, BYTES };

struct events_cursor {
	sqlite3_vtab_cursor base;
	size_t block, end;
	struct trace_batch batch;
	size_t segment;
	uint32_t event, segment_end;
	bool over;
};

static int events_connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **ret, char **ret_error)
{
	(void)db;
	(void)argc;
	(void)argv;
	(void)ret_error;
	return query_connect(arg, EVENTS_COLUMNS, ret);
}

static int events_plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
	char *operators = sqlite3_malloc(info->nConstraint + 1);
	int argument = 0;

	(void)base;
	if (!operators)
		return SQLITE_NOMEM;
	for (int i = 0; i < info->nConstraint; i++)
		if (info->aConstraint[i].usable && info->aConstraint[i].iColumn == TS && query_is_bound(info->aConstraint[i].op)) {
			operators[argument] = (char)info->aConstraint[i].op;
			info->aConstraintUsage[i].argvIndex = ++argument;
		}
	operators[argument] = 0;
	info->idxStr = operators;
	info->needToFreeIdxStr = 1;
	info->estimatedCost = argument ? 1e5 : 1e7;
	info->estimatedRows = argument ? 100000 : 10000000;
	return SQLITE_OK;
}

static int events_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct events_cursor *c = sqlite3_malloc(sizeof *c);

	(void)base;
	if (!c)
		return SQLITE_NOMEM;
	memset(c, 0, sizeof *c);
	*ret = &c->base;
	return SQLITE_OK;
}

static int events_close(sqlite3_vtab_cursor *base)
{
	struct events_cursor *c = (struct events_cursor *)base;

	trace_batch_release(&c->batch);
	sqlite3_free(c);
	return SQLITE_OK;
}

static void enter_segment(struct events_cursor *c)
{
	const struct trace_segment *s = &c->batch.segments[c->segment];

	c->event = s->first;
	c->segment_end = s->first + s->count;
}

/* From where it stands to an event; blocks that cannot be read are left out. */
static void settle(struct events_cursor *c, struct query *q)
{
	while (c->event >= c->segment_end) {
		if (c->segment + 1 < c->batch.segment_count) {
			c->segment++;
			enter_segment(c);
			continue;
		}
		if (c->block >= c->end) {
			c->over = true;
			return;
		}
		c->batch.segment_count = 0;
		if (trace_reader_decode(q->reader, c->block++, &c->batch, NULL) == 0 && c->batch.segment_count) {
			c->segment = 0;
			enter_segment(c);
		}
	}
}

static int events_filter(sqlite3_vtab_cursor *base, int plan, const char *operators, int argc, sqlite3_value **argv)
{
	struct events_cursor *c = (struct events_cursor *)base;
	struct query *q = ((struct query_vtab *)base->pVtab)->q;
	int64_t from = INT64_MIN, to = INT64_MAX;

	(void)plan;
	for (int i = 0; i < argc; i++)
		query_bound(argv[i], (unsigned char)operators[i], &from, &to);
	c->block = 0;
	c->end = trace_reader_block_count(q->reader);
	if (argc)
		trace_reader_window(q->reader, trace_reader_ticks_from_start_ns(q->reader, 0, from),
				    trace_reader_ticks_from_start_ns(q->reader, 0, to), &c->block, &c->end);
	c->batch.segment_count = 0;
	c->segment = 0;
	c->event = c->segment_end = 0;
	c->over = false;
	settle(c, q);
	return SQLITE_OK;
}

static int events_next(sqlite3_vtab_cursor *base)
{
	struct events_cursor *c = (struct events_cursor *)base;

	c->event++;
	settle(c, ((struct query_vtab *)base->pVtab)->q);
	return SQLITE_OK;
}

static int events_eof(sqlite3_vtab_cursor *base)
{
	return ((const struct events_cursor *)base)->over;
}

/* ---- Cells ------------------------------------------------------------------------- */

static const char *phase_name(uint8_t phase)
{
	static const char *const names[PHASE_COUNT] = { "begin",     "end",      "complete", "instant", "async_begin",
							 "async_end", "flow_out", "flow_in" };

	return phase < PHASE_COUNT ? names[phase] : NULL;
}

static bool has(const struct events_cursor *c, unsigned field)
{
	return trace_batch_present(&c->batch, c->event) >> field & 1 && c->batch.field[field];
}

static int64_t time_cell(const struct events_cursor *c, const struct query *q, int64_t ticks)
{
	return trace_reader_since_start_ns(q->reader, c->batch.domain, ticks);
}

static void field_cell(const struct events_cursor *c, unsigned field, sqlite3_context *context)
{
	if (has(c, field))
		sqlite3_result_int64(context, (sqlite3_int64)c->batch.field[field][c->event]);
}

static void value_cell(const struct events_cursor *c, sqlite3_context *context)
{
	double value;

	if (has(c, FIELD_VALUE)) {
		memcpy(&value, &c->batch.field[FIELD_VALUE][c->event], sizeof value);
		cell_number(context, value);
	} else {
		field_cell(c, FIELD_INTEGER, context);
	}
}

static void duration_cell(const struct events_cursor *c, const struct query *q, sqlite3_context *context)
{
	int64_t begin = c->batch.time[c->event], end;

	if (has(c, FIELD_DURATION) && !__builtin_add_overflow(begin, (int64_t)c->batch.field[FIELD_DURATION][c->event], &end))
		sqlite3_result_int64(context, time_cell(c, q, end) - time_cell(c, q, begin));
}

static int events_cell(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct events_cursor *c = (const struct events_cursor *)base;
	const struct query *q = ((const struct query_vtab *)base->pVtab)->q;
	const struct trace_batch *b = &c->batch;
	uint32_t i = c->event;

	switch (column) {
	case ID:
		sqlite3_result_int64(context, (sqlite3_int64)((uint64_t)(c->block - 1) << TIMELINE_ORIGIN_BITS | i));
		break;
	case TS:
		sqlite3_result_int64(context, time_cell(c, q, b->time[i]));
		break;
	case KIND:
		cell_static(context, event_kind_name(b->kind[i]));
		break;
	case PHASE:
		cell_static(context, phase_name(b->phase[i]));
		break;
	case TRACK:
		sqlite3_result_int64(context, b->segments[c->segment].track);
		break;
	case NAME:
		cell_string(q, b->name[i], context);
		break;
	case DUR:
		duration_cell(c, q, context);
		break;
	case EVENT_VALUE:
		value_cell(c, context);
		break;
	case CPU:
		if (b->cpu[i] != EVENT_CPU_UNKNOWN)
			sqlite3_result_int(context, b->cpu[i]);
		break;
	default:
		field_cell(c, column == CORRELATION ? FIELD_CORRELATION : FIELD_BYTES, context);
	}
	return SQLITE_OK;
}

static int events_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct events_cursor *c = (const struct events_cursor *)base;

	*ret = (sqlite3_int64)((uint64_t)(c->block - 1) << TIMELINE_ORIGIN_BITS | c->event);
	return SQLITE_OK;
}

const sqlite3_module query_events_module = {
	.xConnect = events_connect, .xBestIndex = events_plan, .xDisconnect = query_disconnect, .xOpen = events_open, .xClose = events_close,
	.xFilter = events_filter, .xNext = events_next, .xEof = events_eof, .xColumn = events_cell, .xRowid = events_id,
};
