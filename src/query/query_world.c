/* query_world.c - tables of what there is: names, processes, tracks, devices. */
#include "query/query_state.h"

/* ---- names -------------------------------------------------------------------------- */

static int64_t name_count(const struct query *q)
{
	return (int64_t)trace_reader_string_count(q->reader);
}

static void name_cell(const struct query *q, int64_t row, int column, sqlite3_context *context)
{
	if (column == 0)
		sqlite3_result_int64(context, row);
	else
		cell_string(q, (uint32_t)row, context);
}

/* ---- processes ------------------------------------------------------------------------ */

static int64_t process_count(const struct query *q)
{
	return q->timeline->process_count;
}

static void process_cell(const struct query *q, int64_t row, int column, sqlite3_context *context)
{
	const struct timeline_process *p = &q->timeline->processes[row];

	switch (column) {
	case 0:
		sqlite3_result_int64(context, row);
		break;
	case 1:
		sqlite3_result_int64(context, (sqlite3_int64)p->pid);
		break;
	case 2:
		cell_string(q, p->name, context);
		break;
	case 3:
		cell_string(q, p->command, context);
		break;
	case 4:
		cell_index(context, p->parent);
		break;
	case 5:
		if (p->rank >= 0)
			sqlite3_result_int64(context, p->rank);
		break;
	default:
		if (p->host < q->timeline->host_count)
			cell_string(q, q->timeline->hosts[p->host].name, context);
	}
}

/* ---- tracks ----------------------------------------------------------------------------- */

static int64_t track_count(const struct query *q)
{
	return q->timeline->track_count;
}

static void track_cell(const struct query *q, int64_t row, int column, sqlite3_context *context)
{
	const struct timeline *t = q->timeline;
	const struct timeline_track *k = &t->tracks[row];

	switch (column) {
	case 0:
		sqlite3_result_int64(context, row);
		break;
	case 1:
		cell_static(context, trace_track_kind_name(k->kind));
		break;
	case 2:
		cell_string(q, k->name, context);
		break;
	case 3:
		if (k->process != TIMELINE_NONE)
			sqlite3_result_int64(context, (sqlite3_int64)t->processes[k->process].pid);
		break;
	case 4:
		if (k->kind == TRACK_THREAD || k->kind == TRACK_STATES)
			sqlite3_result_int64(context, (sqlite3_int64)k->os_id);
		break;
	case 5:
		if (k->device != TIMELINE_NONE)
			sqlite3_result_int64(context, t->devices[k->device].index);
		break;
	case 6:
		if (k->kind == TRACK_STREAM)
			sqlite3_result_int64(context, (sqlite3_int64)k->os_id);
		break;
	default:
		cell_index(context, k->parent);
	}
}

/* ---- devices ---------------------------------------------------------------------------- */

static int64_t device_count(const struct query *q)
{
	return q->timeline->device_count;
}

static void device_cell(const struct query *q, int64_t row, int column, sqlite3_context *context)
{
	const struct timeline_device *d = &q->timeline->devices[row];

	switch (column) {
	case 0:
		sqlite3_result_int64(context, row);
		break;
	case 1:
		sqlite3_result_int64(context, d->index);
		break;
	case 2:
		cell_static(context, trace_device_kind_name(d->kind));
		break;
	case 3:
		cell_string(q, d->name, context);
		break;
	case 4:
		if (d->rank >= 0)
			sqlite3_result_int64(context, d->rank);
		break;
	case 5:
		if (d->memory)
			sqlite3_result_int64(context, (sqlite3_int64)d->memory);
		break;
	default:
		if (d->multiprocessors)
			sqlite3_result_int64(context, d->multiprocessors);
	}
}

const struct query_table query_world_tables[] = {
	{ "names", "id INTEGER, name TEXT", NEEDS_DICTIONARY, -1, NULL, name_count, NULL, name_cell },
	{ "processes", "id INTEGER, process INTEGER, name TEXT, command TEXT, parent INTEGER, rank INTEGER, host TEXT", NEEDS_ANY, -1, NULL,
	  process_count, NULL, process_cell },
	{ "tracks",
	  "id INTEGER, kind TEXT, name TEXT, process INTEGER, thread INTEGER, device INTEGER, stream INTEGER, parent INTEGER",
	  NEEDS_ANY, -1, NULL, track_count, NULL, track_cell },
	{ "devices", "id INTEGER, device INTEGER, kind TEXT, name TEXT, rank INTEGER, memory INTEGER, multiprocessors INTEGER", NEEDS_ANY, -1,
	  NULL, device_count, NULL, device_cell },
	{ 0 },
};
