/* query_load.c - what is read of the trace, and when. */
#include <errno.h>

#include "query/query_state.h"

/* ---- What is loaded ------------------------------------------------------------- */

void query_unload(struct query *q)
{
	query_names_free(q->names);
	query_made_release(&q->made);
	analysis_free(q->analysis);
	timeline_free(q->timeline);
	q->names = NULL;
	q->analysis = NULL;
	q->timeline = NULL;
}

static bool is_loaded(const struct query *q, int64_t from, int64_t to)
{
	return q->timeline && (!q->partial || (from >= q->loaded_from && to <= q->loaded_to));
}

/* Does a slice that begins in the part go on behind the blocks that were read?  Then where it ends is not known. */
static bool is_cut(const struct timeline *t, int64_t from, int64_t to)
{
	for (uint32_t i = 0; i < t->slice_count; i++)
		if (t->flags[i] & SLICE_OPEN && t->begin[i] + t->origin_ns >= from && t->begin[i] + t->origin_ns <= to)
			return true;
	return false;
}

static int load(struct query *q, int64_t from, int64_t to)
{
	bool partial = from > INT64_MIN || to < INT64_MAX;
	const struct timeline_options options = {
		.progress = q->options.progress, .progress_arg = q->options.progress_arg, .origins = true,
		.stop = q->options.stop, .stop_arg = q->options.stop_arg,
		.windowed = partial, .from_ns = from > 0 ? from : 0, .to_ns = to
	};

	if (is_loaded(q, from, to))
		return SQLITE_OK;
	query_unload(q);
	if (timeline_build(&q->timeline, q->reader, &options, &q->failure) < 0)
		return q->failure.code == -ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
	q->partial = partial;
	q->loaded_from = from;
	q->loaded_to = to;
	return partial && is_cut(q->timeline, from, to) ? load(q, INT64_MIN, INT64_MAX) : SQLITE_OK;
}

static int analyze(struct query *q)
{
	int rc = q->options.analyze ? q->options.analyze(q->options.analyze_arg, q->timeline, &q->analysis, &q->failure) :
				      analysis_run(&q->analysis, q->timeline, &(struct analysis_options){ 0 }, &q->failure);

	if (rc == 0)
		return SQLITE_OK;
	return rc == -ENOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

int query_need(struct query *q, enum query_needs needs)
{
	int status = SQLITE_OK;

	if ((needs == NEEDS_ANY || needs == NEEDS_PART) && q->from_ns < q->to_ns)
		status = load(q, q->from_ns, q->to_ns);
	else if (needs == NEEDS_ANY || needs == NEEDS_PART)
		status = q->timeline ? SQLITE_OK : load(q, 0, 0);
	else if (needs >= NEEDS_TIMELINE)
		status = load(q, INT64_MIN, INT64_MAX);
	return status == SQLITE_OK && needs == NEEDS_ANALYSIS && !q->analysis ? analyze(q) : status;
}

/* ---- The part of the run that a question is about --------------------------------- */

void query_widen(struct query *q, int64_t from_ns, int64_t to_ns)
{
	q->from_ns = from_ns < q->from_ns ? from_ns : q->from_ns;
	q->to_ns = to_ns > q->to_ns ? to_ns : q->to_ns;
}

/* A whole number at or below, or at or above, that is not further away than it has to be. */
static int64_t whole(double value, bool up)
{
	if (!(value > -9.2e18))
		return INT64_MIN;
	if (!(value < 9.2e18))
		return INT64_MAX;
	return (int64_t)value + (up ? 1 : -1);
}

void query_bound(sqlite3_value *value, unsigned char op, int64_t *from, int64_t *to)
{
	int type = sqlite3_value_type(value);
	int64_t low, high;

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return;
	low = type == SQLITE_INTEGER ? sqlite3_value_int64(value) : whole(sqlite3_value_double(value), false);
	high = type == SQLITE_INTEGER ? sqlite3_value_int64(value) : whole(sqlite3_value_double(value), true);
	high = high == INT64_MAX ? high : high + 1; /* what is below it is in */
	if (op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE && low > *from)
		*from = low;
	if (op != SQLITE_INDEX_CONSTRAINT_GT && op != SQLITE_INDEX_CONSTRAINT_GE && high < *to)
		*to = high;
}

bool query_is_bound(unsigned char op)
{
	return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE ||
	       op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

void query_bounds(sqlite3_index_info *info, int time, int64_t *ret_from, int64_t *ret_to)
{
	*ret_from = INT64_MIN;
	*ret_to = INT64_MAX;
#if SQLITE_VERSION_NUMBER >= 3038000
	for (int i = 0; i < info->nConstraint; i++) {
		sqlite3_value *value = NULL;

		if (info->aConstraint[i].iColumn == time && query_is_bound(info->aConstraint[i].op) &&
		    sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK && value)
			query_bound(value, info->aConstraint[i].op, ret_from, ret_to);
	}
#else
	(void)info;
	(void)time;
#endif
}
