/* query_time.c - tables of what has a time, other than slices: steps, counters, instants, states, gaps, flows. */
#include <errno.h>
#include <stdlib.h>

#include "query/query_state.h"

static int64_t since_start(const struct query *q, int64_t time)
{
	return time + q->timeline->origin_ns;
}

void query_made_release(struct query_made *made)
{
	free(made->counters);
	free(made->states);
	free(made->instants);
	free(made->thread_states);
	*made = (struct query_made){ 0 };
}

/* Columns 0 and 1 of tables of spans. */
static void span_cell(const struct query *q, int64_t begin, int64_t end, int column, sqlite3_context *context)
{
	sqlite3_result_int64(context, column == 0 ? since_start(q, begin) : end - begin);
}

/* ---- steps ------------------------------------------------------------------------------ */

static int64_t step_count(const struct query *q)
{
	return q->timeline->step_count;
}

static void step_cell(const struct query *q, int64_t row, int column, sqlite3_context *context)
{
	const struct timeline_step *s = &q->timeline->steps[row];

	switch (column) {
	case 0:
		sqlite3_result_int64(context, row);
		break;
	case 1:
	case 2:
		span_cell(q, s->begin, s->end, column - 1, context);
		break;
	case 3:
		sqlite3_result_int64(context, s->number);
		break;
	case 4:
		cell_string(q, s->name, context);
		break;
	case 5:
		if (s->process != TIMELINE_NONE)
			sqlite3_result_int64(context, (sqlite3_int64)q->timeline->processes[s->process].pid);
		break;
	default:
		cell_index(context, s->slice);
	}
}

/* ---- counters: those of the program, and those that were read from outside ------------------ */

static int by_time(const void *a, const void *b)
{
	const struct query_counter *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

static int make_counters(struct query *q)
{
	const struct timeline *t = q->timeline;
	struct query_made *m = &q->made;

	if (m->counters)
		return 0;
	m->counters = malloc(((size_t)t->point_count + t->look_count + 1) * sizeof *m->counters);
	if (!m->counters)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->point_count; i++)
		if (t->points[i].kind == EVENT_COUNTER)
			m->counters[m->counter_count++] = (struct query_counter){
				t->points[i].time, t->points[i].value, t->points[i].track, t->points[i].name, NULL
			};
	for (uint32_t i = 0; i < t->look_count; i++)
		if (t->looks[i].kind == LOOK_COUNTER)
			m->counters[m->counter_count++] = (struct query_counter){
				t->looks[i].begin, t->looks[i].value, t->looks[i].track, t->looks[i].name, t->looks[i].what
			};
	qsort(m->counters, m->counter_count, sizeof *m->counters, by_time);
	return 0;
}

static int64_t counter_count(const struct query *q)
{
	return (int64_t)q->made.counter_count;
}

static int64_t counter_time(const struct query *q, int64_t row)
{
	return since_start(q, q->made.counters[row].time);
}

static void counter_cell(const struct query *q, int64_t row, int column, sqlite3_context *context)
{
	const struct query_counter *c = &q->made.counters[row];

	switch (column) {
	case 0:
		sqlite3_result_int64(context, counter_time(q, row));
		break;
	case 1:
		cell_string(q, c->name, context);
		break;
	case 2:
		cell_number(context, c->value);
		break;
	case 3:
		sqlite3_result_int64(context, c->track);
		break;
	default:
		cell_static(context, c->what);
	}
}

/* ---- instants, and what else is a point: allocations, and who freed them ----------------------- */

static int make_instants(struct query *q)
{
	const struct timeline *t = q->timeline;
	struct query_made *m = &q->made;

	if (m->instants)
		return 0;
	m->instants = malloc(((size_t)t->point_count + 1) * sizeof *m->instants);
	if (!m->instants)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->point_count; i++)
		if (t->points[i].kind != EVENT_COUNTER)
			m->instants[m->instant_count++] = i;
	return 0;
}

static int64_t instant_count(const struct query *q)
{
	return (int64_t)q->made.instant_count;
}

static const struct timeline_point *instant(const struct query *q, int64_t row)
{
	return &q->timeline->points[q->made.instants[row]];
}

static int64_t instant_time(const struct query *q, int64_t row)
{
	return since_start(q, instant(q, row)->time);
}

/* The index of the device that a point is of: memory is. */
static void device_cell(const struct query *q, uint32_t track, sqlite3_context *context)
{
	const struct timeline *t = q->timeline;
	uint32_t device = track < t->track_count ? t->tracks[track].device : TIMELINE_NONE;

	if (device < t->device_count)
		sqlite3_result_int64(context, t->devices[device].index);
}

static void instant_cell(const struct query *q, int64_t row, int column, sqlite3_context *context)
{
	const struct timeline_point *p = instant(q, row);

	switch (column) {
	case 0:
		sqlite3_result_int64(context, since_start(q, p->time));
		break;
	case 1:
		cell_static(context, event_kind_name(p->kind));
		break;
	case 2:
		cell_string(q, p->name, context);
		break;
	case 3:
		sqlite3_result_int64(context, p->track);
		break;
	case 4:
		if (p->kind == EVENT_MEMORY_ALLOC || p->kind == EVENT_MEMORY_FREE)
			sqlite3_result_int64(context, (sqlite3_int64)p->value);
		break;
	case 5:
		if (p->pointer)
			sqlite3_result_int64(context, (sqlite3_int64)p->pointer);
		break;
	default:
		device_cell(q, p->track, context);
	}
}

/* ---- states of threads, seen from outside -------------------------------------------------------- */

static int make_thread_states(struct query *q)
{
	const struct timeline *t = q->timeline;
	struct query_made *m = &q->made;

	if (m->thread_states)
		return 0;
	m->thread_states = malloc(((size_t)t->look_count + 1) * sizeof *m->thread_states);
	if (!m->thread_states)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->look_count; i++)
		if (t->looks[i].kind == LOOK_STATE)
			m->thread_states[m->thread_state_count++] = i;
	return 0;
}

static int64_t thread_state_count(const struct query *q)
{
	return (int64_t)q->made.thread_state_count;
}

static void thread_state_cell(const struct query *q, int64_t row, int column, sqlite3_context *context)
{
	const struct timeline_look *l = &q->timeline->looks[q->made.thread_states[row]];

	switch (column) {
	case 0:
	case 1:
		span_cell(q, l->begin, l->end, column, context);
		break;
	case 2:
		sqlite3_result_int64(context, (sqlite3_int64)q->timeline->tracks[l->track].os_id);
		break;
	case 3:
		cell_string(q, l->name, context);
		break;
	case 4:
		cell_static(context, l->what);
		break;
	default:
		sqlite3_result_int64(context, l->samples);
	}
}

/* ---- states of devices ---------------------------------------------------------------------------- */

static bool same_work(const struct query_state *s, const struct device_moment *m)
{
	for (unsigned c = 0; c < WORK_CLASS_COUNT; c++)
		if ((s->running[c] > 0) != (m->running[c] > 0))
			return false;
	return true;
}

/* A moment, or more of the state before it. */
static int add_moment(struct query_made *made, size_t *capacity, uint32_t device, const struct device_moment *m)
{
	struct query_state *last = made->state_count ? &made->states[made->state_count - 1] : NULL, *larger;

	if (last && last->device == device && same_work(last, m)) {
		last->end = m->end;
		return 0;
	}
	if (made->state_count == *capacity) {
		size_t grown = *capacity * 2;

		larger = reallocarray(made->states, grown, sizeof *larger);
		if (!larger)
			return -ENOMEM;
		made->states = larger;
		*capacity = grown;
	}
	made->states[made->state_count++] = (struct query_state){
		m->begin, m->end, device, { m->running[0], m->running[1], m->running[2] }
	};
	return 0;
}

static int walk_device(struct query *q, size_t *capacity, uint32_t device)
{
	const struct timeline_states *states = &q->analysis->states;
	const struct device_states *d = &states->devices[device];
	struct device_walk walk;
	struct device_moment moment;
	int rc = 0;

	device_walk_start(&walk, q->timeline, states, &d->order, d->all.from);
	while (rc == 0 && device_walk_next(&walk, d->all.to, &moment))
		rc = add_moment(&q->made, capacity, device, &moment);
	return rc;
}

static int make_device_states(struct query *q)
{
	size_t capacity = 1024;
	int rc = 0;

	if (q->made.states)
		return 0;
	q->made.states = malloc(capacity * sizeof *q->made.states);
	if (!q->made.states)
		return -ENOMEM;
	for (uint32_t i = 0; i < q->analysis->states.count && rc == 0; i++)
		rc = walk_device(q, &capacity, i);
	return rc;
}

static int64_t device_state_count(const struct query *q)
{
	return (int64_t)q->made.state_count;
}

static const char *state_name(const struct query_state *s)
{
	if (s->running[WORK_COMPUTE])
		return s->running[WORK_COMMUNICATION] ? "compute+communication" : s->running[WORK_COPY] ? "compute+copy" : "compute";
	if (s->running[WORK_COMMUNICATION])
		return s->running[WORK_COPY] ? "communication+copy" : "communication";
	return s->running[WORK_COPY] ? "copy" : "idle";
}

static void device_state_cell(const struct query *q, int64_t row, int column, sqlite3_context *context)
{
	const struct query_state *s = &q->made.states[row];

	switch (column) {
	case 0:
	case 1:
		span_cell(q, s->begin, s->end, column, context);
		break;
	case 2:
		sqlite3_result_int64(context, q->timeline->devices[s->device].index);
		break;
	default:
		cell_static(context, state_name(s));
	}
}

/* ---- gaps ------------------------------------------------------------------------------------------ */

static int64_t gap_count(const struct query *q)
{
	int64_t count = 0;

	for (uint32_t i = 0; i < q->analysis->states.count; i++)
		count += q->analysis->states.devices[i].gap_count;
	return count;
}

static void gap_cell(const struct query *q, int64_t row, int column, sqlite3_context *context)
{
	const struct device_states *d = q->analysis->states.devices;
	const struct timeline_gap *gap;

	for (; row >= d->gap_count; d++)
		row -= d->gap_count;
	gap = &d->gaps[row];
	switch (column) {
	case 0:
	case 1:
		span_cell(q, gap->begin, gap->end, column, context);
		break;
	case 2:
		sqlite3_result_int64(context, q->timeline->devices[d->device].index);
		break;
	case 3:
		cell_static(context, idle_cause_name(gap->cause));
		break;
	case 4:
		cell_index(context, gap->next);
		break;
	case 5:
		cell_index(context, gap->launch);
		break;
	case 6:
		cell_index(context, gap->blocking);
		break;
	default:
		cell_index(context, gap->top);
	}
}

/* ---- flows ------------------------------------------------------------------------------------------- */

static int64_t flow_count(const struct query *q)
{
	return q->timeline->flow_count;
}

static void flow_cell(const struct query *q, int64_t row, int column, sqlite3_context *context)
{
	const struct timeline_flow *f = &q->timeline->flows[row];

	if (column == 0)
		sqlite3_result_int64(context, row);
	else if (column == 1)
		cell_string(q, f->name, context);
	else
		cell_index(context, column == 2 ? f->from : f->to);
}

const struct query_table query_time_tables[] = {
	{ "steps", "id INTEGER, ts INTEGER, dur INTEGER, number INTEGER, name TEXT, process INTEGER, slice INTEGER", NEEDS_TIMELINE, -1, NULL,
	  step_count, NULL, step_cell },
	{ "counters", "ts INTEGER, name TEXT, value REAL, track INTEGER, what TEXT", NEEDS_PART, 0, make_counters, counter_count, counter_time,
	  counter_cell },
	{ "instants", "ts INTEGER, kind TEXT, name TEXT, track INTEGER, bytes INTEGER, pointer INTEGER, device INTEGER", NEEDS_PART, 0,
	  make_instants, instant_count, instant_time, instant_cell },
	{ "thread_states", "ts INTEGER, dur INTEGER, thread INTEGER, state TEXT, what TEXT, samples INTEGER", NEEDS_TIMELINE, -1,
	  make_thread_states, thread_state_count, NULL, thread_state_cell },
	{ "device_states", "ts INTEGER, dur INTEGER, device INTEGER, state TEXT", NEEDS_ANALYSIS, -1, make_device_states, device_state_count,
	  NULL, device_state_cell },
	{ "idle_gaps",
	  "ts INTEGER, dur INTEGER, device INTEGER, cause TEXT, next INTEGER, launch INTEGER, blocking INTEGER, during INTEGER",
	  NEEDS_ANALYSIS, -1, NULL, gap_count, NULL, gap_cell },
	{ "flows", "id INTEGER, name TEXT, source INTEGER, target INTEGER", NEEDS_TIMELINE, -1, NULL, flow_count, NULL, flow_cell },
	{ 0 },
};
