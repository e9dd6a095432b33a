/* query_rows.c - tables with numbered rows, and cells. */
#include <math.h>
#include <string.h>

#include "query/query_state.h"

/* ---- Cells ----------------------------------------------------------------------- */

void cell_string(const struct query *q, uint32_t string, sqlite3_context *context)
{
	size_t size;
	const char *text = trace_reader_string(q->reader, string, &size);

	if (string)
		sqlite3_result_text(context, text, (int)size, SQLITE_STATIC);
}

void cell_number(sqlite3_context *context, double value)
{
	if (!isnan(value))
		sqlite3_result_double(context, value);
}

void cell_index(sqlite3_context *context, uint32_t index)
{
	if (index != TIMELINE_NONE)
		sqlite3_result_int64(context, index);
}

void cell_static(sqlite3_context *context, const char *text)
{
	if (text)
		sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}

/* ---- All modules ------------------------------------------------------------------ */

int query_connect(struct query *q, const char *columns, sqlite3_vtab **ret)
{
	struct query_vtab *t = sqlite3_malloc(sizeof *t);
	int status = t ? sql_declare(q->sql, columns) : SQLITE_NOMEM;

	if (status != SQLITE_OK) {
		sqlite3_free(t);
		return status;
	}
	*t = (struct query_vtab){ .q = q };
	*ret = &t->base;
	return SQLITE_OK;
}

int query_disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

/* ---- The module of tables with numbered rows ------------------------------------------------------------------- */

struct rows_table {
	struct query_vtab vtab;
	const struct query_table *table;
};

struct rows_cursor {
	sqlite3_vtab_cursor base;
	int64_t row, end;
};

/* How a query goes through a table: all of it, one row, or a part of the time. */
enum { PLAN_ALL, PLAN_ROW, PLAN_TIME };

static int rows_connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **ret, char **ret_error)
{
	const struct query_table_of *of = arg;
	sqlite3_vtab *made;
	struct rows_table *t;
	int status = query_connect(of->q, of->table->columns, &made);

	(void)db;
	(void)argc;
	(void)argv;
	(void)ret_error;
	if (status != SQLITE_OK)
		return status;
	t = sqlite3_realloc(made, sizeof *t);
	if (!t) {
		sqlite3_free(made);
		return SQLITE_NOMEM;
	}
	t->table = of->table;
	*ret = &t->vtab.base;
	return SQLITE_OK;
}

/* The first column is the number of the row. */
static bool is_numbered(const struct query_table *table)
{
	return strncmp(table->columns, "id ", 3) == 0;
}

/* A constraint that can be used, is handed to xFilter() as the next argument. */
static void use(sqlite3_index_info *info, int i, int *argument)
{
	info->aConstraintUsage[i].argvIndex = ++*argument;
}

/* The column that rises from row to row; -2: none. */
static int sorted_by(const struct query_table *table)
{
	return table->time >= 0 ? table->time : is_numbered(table) ? 0 : -2;
}

static int rows_plan(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct rows_table *t = (const struct rows_table *)base;
	int time = t->table->time, argument = 0;
	int64_t from, to;
	char *operators = sqlite3_malloc(info->nConstraint + 1);

	if (!operators)
		return SQLITE_NOMEM;
	if (t->table->needs == NEEDS_PART) {
		query_bounds(info, time, &from, &to);
		query_widen(t->vtab.q, from, to);
	} else if (t->table->needs >= NEEDS_TIMELINE) {
		query_widen(t->vtab.q, INT64_MIN, INT64_MAX);
	}
	info->idxNum = PLAN_ALL;
	for (int i = 0; i < info->nConstraint && info->idxNum != PLAN_ROW; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];

		if (!c->usable)
			continue;
		if (is_numbered(t->table) && c->iColumn == 0 && c->op == SQLITE_INDEX_CONSTRAINT_EQ) {
			for (int k = 0; k < i; k++)
				info->aConstraintUsage[k].argvIndex = 0;
			argument = 0;
			use(info, i, &argument);
			info->idxNum = PLAN_ROW;
		} else if (time >= 0 && c->iColumn == time && query_is_bound(c->op)) {
			operators[argument] = (char)c->op;
			use(info, i, &argument);
			info->idxNum = PLAN_TIME;
		}
	}
	operators[argument] = 0;
	info->idxStr = operators;
	info->needToFreeIdxStr = 1;
	info->estimatedCost = info->idxNum == PLAN_ROW ? 1 : info->idxNum == PLAN_TIME ? 1e3 : 1e5;
	info->estimatedRows = info->idxNum == PLAN_ROW ? 1 : info->idxNum == PLAN_TIME ? 1000 : 100000;
	info->orderByConsumed = info->nOrderBy == 1 && !info->aOrderBy[0].desc && info->aOrderBy[0].iColumn == sorted_by(t->table);
	return SQLITE_OK;
}

static int rows_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct rows_cursor *c = sqlite3_malloc(sizeof *c);

	(void)base;
	if (!c)
		return SQLITE_NOMEM;
	*c = (struct rows_cursor){ .row = 0 };
	*ret = &c->base;
	return SQLITE_OK;
}

static int rows_close(sqlite3_vtab_cursor *cursor)
{
	sqlite3_free(cursor);
	return SQLITE_OK;
}

/* The first row at this time or later. */
static int64_t first_at(const struct rows_table *t, int64_t count, int64_t time)
{
	int64_t low = 0, high = count;

	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (t->table->time_of(t->vtab.q, middle) < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int rows_filter(sqlite3_vtab_cursor *base, int plan, const char *operators, int argc, sqlite3_value **argv)
{
	struct rows_cursor *c = (struct rows_cursor *)base;
	const struct rows_table *t = (const struct rows_table *)base->pVtab;
	int64_t count, from = INT64_MIN, to = INT64_MAX;
	int status = query_need(t->vtab.q, t->table->needs);

	if (status == SQLITE_OK && t->table->prepare && t->table->prepare(t->vtab.q) < 0)
		status = SQLITE_NOMEM;
	if (status != SQLITE_OK)
		return status;
	count = t->table->count(t->vtab.q);
	c->row = 0;
	c->end = count;
	if (plan == PLAN_ROW) {
		c->row = sqlite3_value_type(argv[0]) == SQLITE_INTEGER ? sqlite3_value_int64(argv[0]) : -1;
		c->end = c->row >= 0 && c->row < count ? c->row + 1 : c->row;
	}
	for (int i = 0; i < argc && plan == PLAN_TIME; i++)
		query_bound(argv[i], (unsigned char)operators[i], &from, &to);
	if (plan == PLAN_TIME) {
		c->row = first_at(t, count, from);
		c->end = first_at(t, count, to);
	}
	return SQLITE_OK;
}

static int rows_next(sqlite3_vtab_cursor *base)
{
	((struct rows_cursor *)base)->row++;
	return SQLITE_OK;
}

static int rows_eof(sqlite3_vtab_cursor *base)
{
	const struct rows_cursor *c = (const struct rows_cursor *)base;

	return c->row >= c->end;
}

static int rows_cell(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct rows_table *t = (const struct rows_table *)base->pVtab;

	t->table->cell(t->vtab.q, ((const struct rows_cursor *)base)->row, column, context);
	return SQLITE_OK;
}

static int rows_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = ((const struct rows_cursor *)base)->row;
	return SQLITE_OK;
}

const sqlite3_module query_rows_module = {
	.xConnect = rows_connect, .xBestIndex = rows_plan, .xDisconnect = query_disconnect, .xOpen = rows_open, .xClose = rows_close,
	.xFilter = rows_filter, .xNext = rows_next, .xEof = rows_eof, .xColumn = rows_cell, .xRowid = rows_id,
};
