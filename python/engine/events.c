/*
 * events.c - a trace as a list of dictionaries.
 *
 * The walk over the trace is that of `inferscope dump`, which hands a slice
 * over where it ends; they are put in the order of their start here.
 */
#include <errno.h>
#include <stdlib.h>

#include "rows/row_walk.h"
#include "engine.h"

#define BREATH 8192 /* rows after which other threads and signal handlers have their turn */

struct found {
	int64_t start_ns;
	uint32_t depth;
	size_t sequence;
	PyObject *dict;
};

struct collection {
	struct rows rows;
	struct found *found;
	size_t count, capacity;
	Py_ssize_t limit;
};

static int make_room(struct collection *c)
{
	size_t capacity = c->capacity ? c->capacity * 2 : 1024;
	struct found *larger;

	if (c->count < c->capacity)
		return 0;
	larger = reallocarray(c->found, capacity, sizeof *larger);
	if (!larger) {
		PyErr_NoMemory();
		return -1;
	}
	c->found = larger;
	c->capacity = capacity;
	return 0;
}

static int breathe(void)
{
	Py_BEGIN_ALLOW_THREADS
	Py_END_ALLOW_THREADS
	return PyErr_CheckSignals();
}

/* 1 when there are enough, -1 with an exception. */
static int collect(void *arg, const struct row *row)
{
	struct collection *c = arg;
	PyObject *dict;

	if (c->limit >= 0 && c->count >= (size_t)c->limit)
		return 1;
	if (make_room(c) < 0 || (c->count % BREATH == BREATH - 1 && breathe() < 0))
		return -1;
	dict = rows_dict(&c->rows, row);
	if (!dict)
		return -1;
	c->found[c->count] = (struct found){ .start_ns = row->has_start ? row->start_ns : row->end_ns,
					     .depth = row->depth,
					     .sequence = c->count,
					     .dict = dict };
	c->count++;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* The list takes over the dictionaries. */
static PyObject *sorted_list(struct collection *c)
{
	PyObject *list = PyList_New((Py_ssize_t)c->count);

	if (!list)
		return NULL;
	if (c->count > 1)
		qsort(c->found, c->count, sizeof *c->found, by_start);
	for (size_t i = 0; i < c->count; i++)
		PyList_SetItem(list, (Py_ssize_t)i, c->found[i].dict);
	c->count = 0;
	return list;
}

PyObject *events_list(struct trace_reader *reader, const struct engine_state *state, const struct events_request *request)
{
	struct row_filter filter = ROW_FILTER_INIT;
	struct collection c = { .limit = request->limit };
	struct error err = { 0 };
	PyObject *list = NULL;
	uint64_t decoded;
	int rc;

	filter.whole_scopes = true;
	filter.windowed = request->windowed;
	filter.from_ns = request->from_ns;
	filter.to_ns = request->to_ns;
	if (rows_init(&c.rows, state, reader) < 0)
		return NULL;
	rc = row_walk(reader, &filter, collect, &c, &decoded, &err);
	if (rc >= 0)
		list = sorted_list(&c);
	else if (!PyErr_Occurred())
		PyErr_NoMemory();
	while (c.count > 0)
		Py_DECREF(c.found[--c.count].dict);
	free(c.found);
	rows_release(&c.rows);
	return list;
}
