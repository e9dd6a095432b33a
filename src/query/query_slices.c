/*
 * query_slices.c - the table `slices`.
 *
 * Slices are numbered by track and begin.  SQLite offers what it would like to
 * sort or group by; by name we have an order of our own, so that it need not
 * sort millions of rows to count them.
 */
#include <errno.h>
#include <string.h>

#include "query/query_state.h"

enum { ID, TS, DUR, END, NAME, KIND, TRACK, THREAD, PROCESS, DEVICE, STREAM, PARENT, DEPTH, LAUNCH, CORRELATION, BYTES, UNFINISHED };

/* How to go through it; what has a value comes in this order. */
#define PLAN_ID 1
#define PLAN_NAME 2
#define PLAN_TRACK 4
#define PLAN_KIND 8
#define PLAN_NAMES_UP 16   /* all, by name */
#define PLAN_NAMES_DOWN 32

#define AHEAD 24u /* rows */

struct slices_cursor {
	sqlite3_vtab_cursor base;
	const struct timeline *t;
	const struct query_names *names; /* NULL: in the order of numbers */
	uint32_t at, end;                /* places in names->order, or slices */
	bool down;                       /* at goes from end - 1 down to first */
	uint32_t first;
	uint32_t slice;
	bool over;
	uint32_t track, last_track;      /* in the order of numbers: the one at hand and the last */
	int64_t from, to;                /* of begins, on the timeline */
	int kind;                        /* -1: all */
};

static int slices_connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **ret, char **ret_error)
{
	(void)db;
	(void)argc;
	(void)argv;
	(void)ret_error;
	return query_connect(arg, SLICES_COLUMNS, ret);
}

/* ---- Planning ------------------------------------------------------------------------ */

/* A constraint on this column by equality that can be used; -1: none. */
static int equality(const sqlite3_index_info *info, int column)
{
	for (int i = 0; i < info->nConstraint; i++)
		if (info->aConstraint[i].usable && info->aConstraint[i].iColumn == column && info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ)
			return i;
	return -1;
}

/* Names are compared by their bytes alone: another collation is not ours. */
static bool is_binary(sqlite3_index_info *info, int constraint)
{
	const char *collation = sqlite3_vtab_collation(info, constraint);

	return !collation || strcmp(collation, "BINARY") == 0;
}

static int slices_plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
	static const struct {
		int column, bit;
		double rows;
	} equal[] = { { ID, PLAN_ID, 1 }, { NAME, PLAN_NAME, 1e3 }, { TRACK, PLAN_TRACK, 1e5 }, { KIND, PLAN_KIND, 5e5 } };
	struct query_vtab *t = (struct query_vtab *)base;
	char *operators = sqlite3_malloc(info->nConstraint + 1);
	int argument = 0, times = 0;
	double rows = 1e6;
	int64_t from, to;

	if (!operators)
		return SQLITE_NOMEM;
	query_bounds(info, TS, &from, &to);
	query_widen(t->q, from, to);
	for (size_t k = 0; k < sizeof equal / sizeof equal[0]; k++) {
		int i = equality(info, equal[k].column);

		if (i < 0 || ((equal[k].bit == PLAN_NAME || equal[k].bit == PLAN_KIND) && !is_binary(info, i)))
			continue;
		info->aConstraintUsage[i].argvIndex = ++argument;
		info->idxNum |= equal[k].bit;
		rows = equal[k].rows < rows ? equal[k].rows : rows;
	}
	for (int i = 0; i < info->nConstraint; i++)
		if (info->aConstraint[i].usable && info->aConstraint[i].iColumn == TS && query_is_bound(info->aConstraint[i].op)) {
			operators[times++] = (char)info->aConstraint[i].op;
			info->aConstraintUsage[i].argvIndex = ++argument;
		}
	operators[times] = 0;
	info->idxStr = operators;
	info->needToFreeIdxStr = 1;
	rows = times ? rows / 10 : rows;
	if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn == NAME && !(info->idxNum & (PLAN_ID | PLAN_NAME | PLAN_TRACK)) && !times) {
		info->idxNum |= info->aOrderBy[0].desc ? PLAN_NAMES_DOWN : PLAN_NAMES_UP;
		info->orderByConsumed = 1;
	} else if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn == ID && !info->aOrderBy[0].desc) {
		info->orderByConsumed = 1; /* also of one name */
	}
	info->estimatedRows = (sqlite3_int64)(rows < 1 ? 1 : rows);
	info->estimatedCost = rows < 1 ? 1 : rows;
	return SQLITE_OK;
}

/* ---- Going through it ------------------------------------------------------------------- */

static int slices_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct slices_cursor *c = sqlite3_malloc(sizeof *c);

	(void)base;
	if (!c)
		return SQLITE_NOMEM;
	memset(c, 0, sizeof *c);
	*ret = &c->base;
	return SQLITE_OK;
}

static int slices_close(sqlite3_vtab_cursor *cursor)
{
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static bool is_wanted(const struct slices_cursor *c, uint32_t slice)
{
	return (c->kind < 0 || c->t->kind[slice] == c->kind) && c->t->begin[slice] >= c->from && c->t->begin[slice] < c->to;
}

/* The next track that has slices in the time. */
static bool enter_track(struct slices_cursor *c, uint32_t track)
{
	const struct timeline *t = c->t;

	for (; track <= c->last_track && track < t->track_count; track++) {
		c->at = c->from > 0 ? timeline_first_at(t, track, c->from) : t->tracks[track].first;
		c->end = c->to <= t->duration ? timeline_first_at(t, track, c->to) : t->tracks[track].first + t->tracks[track].count;
		if (c->at < c->end) {
			c->track = track;
			return true;
		}
	}
	return false;
}

/* By name, slices are all over the memory: what is looked at soon is fetched meanwhile. */
static void fetch_ahead(const struct slices_cursor *c)
{
	uint32_t slice;

	if (c->down ? c->at < c->first + AHEAD : c->at + AHEAD >= c->end)
		return;
	slice = c->names->order[c->down ? c->at - AHEAD : c->at + AHEAD];
	__builtin_prefetch(&c->t->begin[slice]);
	__builtin_prefetch(&c->t->end[slice]);
	__builtin_prefetch(&c->t->name[slice]);
}

/* To the next one that is wanted, from c->at on. */
static void settle(struct slices_cursor *c)
{
	for (;;) {
		if (c->names)
			fetch_ahead(c);
		if (c->names && c->down) {
			if (c->at == c->first)
				break;
			c->slice = c->names->order[--c->at];
		} else if (c->at < c->end) {
			c->slice = c->names ? c->names->order[c->at] : c->at;
			c->at++;
		} else if (c->names || c->track == TIMELINE_NONE || !enter_track(c, c->track + 1)) {
			break;
		} else {
			continue;
		}
		if (is_wanted(c, c->slice))
			return;
	}
	c->over = true;
}

static int slices_next(sqlite3_vtab_cursor *base)
{
	settle((struct slices_cursor *)base);
	return SQLITE_OK;
}

static int slices_eof(sqlite3_vtab_cursor *base)
{
	return ((const struct slices_cursor *)base)->over;
}

static int need_names(struct query *q)
{
	if (q->names)
		return SQLITE_OK;
	return query_names_new(&q->names, q->timeline) < 0 ? SQLITE_NOMEM : SQLITE_OK;
}

/* A number that can be the number of something below `count`. */
static bool number_below(sqlite3_value *value, uint32_t count, uint32_t *ret)
{
	int64_t number = sqlite3_value_int64(value);

	if (sqlite3_value_numeric_type(value) != SQLITE_INTEGER || number < 0 || number >= count)
		return false;
	*ret = (uint32_t)number;
	return true;
}

/* Slices of a name, or all by name. */
static int begin_names(struct slices_cursor *c, struct query *q, sqlite3_value *name, bool down)
{
	int status = need_names(q);

	if (status != SQLITE_OK)
		return status;
	c->names = q->names;
	c->first = 0;
	c->end = c->t->slice_count;
	if (name) {
		const char *text = (const char *)sqlite3_value_text(name);

		if (sqlite3_value_type(name) != SQLITE_TEXT || !text)
			c->end = 0;
		else
			query_names_find(c->names, c->t, text, (size_t)sqlite3_value_bytes(name), &c->first, &c->end);
	}
	c->down = down;
	c->at = down ? c->end : c->first;
	return SQLITE_OK;
}

/* By number, track by track. */
static void begin_numbers(struct slices_cursor *c, int plan, sqlite3_value *id, sqlite3_value *track)
{
	uint32_t first = 0;

	c->names = NULL;
	c->at = c->end = 0;
	c->track = TIMELINE_NONE;
	c->last_track = c->t->track_count ? c->t->track_count - 1 : 0;
	if (plan & PLAN_ID) {
		if (number_below(id, c->t->slice_count, &c->at))
			c->end = c->at + 1;
		return;
	}
	if (plan & PLAN_TRACK) {
		if (!number_below(track, c->t->track_count, &first))
			return;
		c->last_track = first;
	}
	(void)enter_track(c, first);
}

static int kind_of(sqlite3_value *value)
{
	const char *text = (const char *)sqlite3_value_text(value);
	unsigned kind = text ? event_kind_from_name(text) : EVENT_NONE;

	return kind == EVENT_NONE ? 1000 : (int)kind; /* none has this one */
}

static int slices_filter(sqlite3_vtab_cursor *base, int plan, const char *operators, int argc, sqlite3_value **argv)
{
	struct slices_cursor *c = (struct slices_cursor *)base;
	struct query *q = ((struct query_vtab *)base->pVtab)->q;
	sqlite3_value *id = NULL, *name = NULL, *track = NULL;
	int argument = 0, status = query_need(q, NEEDS_PART);
	int64_t from = INT64_MIN, to = INT64_MAX, zero;

	if (status != SQLITE_OK)
		return status;
	c->t = q->timeline;
	c->over = false;
	id = plan & PLAN_ID ? argv[argument++] : NULL;
	name = plan & PLAN_NAME ? argv[argument++] : NULL;
	track = plan & PLAN_TRACK ? argv[argument++] : NULL;
	c->kind = plan & PLAN_KIND ? kind_of(argv[argument++]) : -1;
	for (int i = 0; argument < argc; i++, argument++)
		query_bound(argv[argument], (unsigned char)operators[i], &from, &to);
	zero = c->t->origin_ns;
	c->from = from <= zero ? 0 : from - zero;
	c->to = to == INT64_MAX ? INT64_MAX : to <= zero ? 0 : to - zero;
	if (!id && !track && (name || plan & (PLAN_NAMES_UP | PLAN_NAMES_DOWN)))
		status = begin_names(c, q, name, plan & PLAN_NAMES_DOWN);
	else
		begin_numbers(c, plan, id, track);
	if (status == SQLITE_OK)
		settle(c);
	return status;
}

/* ---- Cells ------------------------------------------------------------------------------------ */

static void track_cell(const struct query *q, const struct timeline_track *track, int column, sqlite3_context *context)
{
	const struct timeline *t = q->timeline;
	bool thread = track->kind == TRACK_THREAD, stream = track->kind == TRACK_STREAM;

	if ((column == THREAD && thread) || (column == STREAM && stream))
		sqlite3_result_int64(context, (sqlite3_int64)track->os_id);
	else if (column == PROCESS && track->process != TIMELINE_NONE)
		sqlite3_result_int64(context, (sqlite3_int64)t->processes[track->process].pid);
	else if (column == DEVICE && track->device != TIMELINE_NONE)
		sqlite3_result_int64(context, t->devices[track->device].index);
}

static void detail_cell(const struct timeline *t, uint32_t slice, int column, sqlite3_context *context)
{
	const struct timeline_detail *d = t->detail[slice] == TIMELINE_NONE ? NULL : &t->details[t->detail[slice]];
	uint64_t value = !d ? 0 : column == BYTES ? d->bytes : d->correlation;

	if (value)
		sqlite3_result_int64(context, (sqlite3_int64)value);
}

/* Of device work, the call that launched it. */
static void launch_cell(const struct timeline *t, uint32_t slice, sqlite3_context *context)
{
	if (timeline_is_device_work(t->kind[slice]) || t->kind[slice] == EVENT_SYNC)
		cell_index(context, t->link[slice]);
}

static int slices_cell(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct slices_cursor *c = (const struct slices_cursor *)base;
	const struct query *q = ((const struct query_vtab *)base->pVtab)->q;
	const struct timeline *t = c->t;
	uint32_t i = c->slice, track;

	switch (column) {
	case ID:
		sqlite3_result_int64(context, i);
		break;
	case TS:
		sqlite3_result_int64(context, t->begin[i] + t->origin_ns);
		break;
	case DUR:
		sqlite3_result_int64(context, t->end[i] - t->begin[i]);
		break;
	case END:
		sqlite3_result_int64(context, t->end[i] + t->origin_ns);
		break;
	case NAME:
		cell_string(q, t->name[i], context);
		break;
	case KIND:
		cell_static(context, event_kind_name(t->kind[i]));
		break;
	case PARENT:
		cell_index(context, t->parent[i]);
		break;
	case DEPTH:
		sqlite3_result_int(context, t->depth[i]);
		break;
	case LAUNCH:
		launch_cell(t, i, context);
		break;
	case CORRELATION:
	case BYTES:
		detail_cell(t, i, column, context);
		break;
	case UNFINISHED:
		sqlite3_result_int(context, (t->flags[i] & SLICE_OPEN) != 0);
		break;
	default:
		track = c->names || c->track == TIMELINE_NONE ? timeline_track_of(t, i) : c->track;
		if (column == TRACK)
			sqlite3_result_int64(context, track);
		else
			track_cell(q, &t->tracks[track], column, context);
	}
	return SQLITE_OK;
}

static int slices_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((const struct slices_cursor *)base)->slice;
	return SQLITE_OK;
}

const sqlite3_module query_slices_module = {
	.xConnect = slices_connect, .xBestIndex = slices_plan, .xDisconnect = query_disconnect, .xOpen = slices_open, .xClose = slices_close,
	.xFilter = slices_filter, .xNext = slices_next, .xEof = slices_eof, .xColumn = slices_cell, .xRowid = slices_id,
};
