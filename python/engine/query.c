/*
 * query.c - questions in SQL, for inferscope.query().
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "engine.h"

#include "query/query.h"
#include "rules/settings.h"

/* A question under way. */
struct asking {
	struct trace_reader *reader;
	struct query *query;
	struct sql_query *rows;
	PyObject *patterns, *rules;
	struct settings *settings; /* of the analysis; NULL: not yet */
	struct report_source source;
	double until;     /* CLOCK_MONOTONIC, seconds; 0: no limit */
	bool interrupted; /* a signal's handler raised */
	bool late;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Asked without the lock of the interpreter; Ctrl-C is Python's to handle. */
static bool must_stop(void *arg)
{
	struct asking *a = arg;
	PyGILState_STATE state;

	a->late = a->until > 0 && now() >= a->until;
	if (a->late)
		return true;
	state = PyGILState_Ensure();
	a->interrupted = PyErr_CheckSignals() != 0;
	PyGILState_Release(state);
	return a->interrupted;
}

static int analyze(void *arg, const struct timeline *t, struct analysis **ret, struct error *err)
{
	struct asking *a = arg;
	PyGILState_STATE state;
	int rc = 0;

	if (!a->settings) { /* most questions need none */
		state = PyGILState_Ensure();
		rc = engine_settings(&a->settings, a->patterns, a->rules);
		PyGILState_Release(state);
	}
	return rc ? error_set(err, -EINVAL, "the settings cannot be read") : settings_analyze(a->settings, t, &a->source, ret, err);
}

static PyObject *cell(struct sql_query *rows, int column)
{
	const char *text;
	const void *data;
	size_t size;
	int64_t integer;
	double number;

	if (sql_query_text(rows, column, &text, &size))
		return PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
	if (sql_query_blob(rows, column, &data, &size))
		return PyBytes_FromStringAndSize(data, (Py_ssize_t)size);
	if (sql_query_is_integer(rows, column) && sql_query_integer(rows, column, &integer))
		return PyLong_FromLongLong(integer);
	if (sql_query_number(rows, column, &number))
		return PyFloat_FromDouble(number);
	Py_RETURN_NONE;
}

static PyObject *row_tuple(struct sql_query *rows, int columns)
{
	PyObject *row = PyTuple_New(columns);

	for (int i = 0; row && i < columns; i++) {
		PyObject *value = cell(rows, i);

		if (!value || PyTuple_SetItem(row, i, value) < 0)
			Py_CLEAR(row);
	}
	return row;
}

static PyObject *names_tuple(struct sql_query *rows)
{
	int columns = sql_query_columns(rows);
	PyObject *names = PyTuple_New(columns);

	for (int i = 0; names && i < columns; i++) {
		const char *text = sql_query_column_name(rows, i);
		PyObject *name = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");

		if (!name || PyTuple_SetItem(names, i, name) < 0)
			Py_CLEAR(names);
	}
	return names;
}

/* The next row: 1, 0 past the last, negative with err. */
static int step(struct asking *a, struct error *err)
{
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = sql_query_step(a->rows, err);
	Py_END_ALLOW_THREADS
	return rc;
}

static PyObject *fetch(struct asking *a, struct error *err)
{
	PyObject *list = PyList_New(0);
	int columns = sql_query_columns(a->rows), rc = 0;

	while (list && (rc = step(a, err)) > 0) {
		PyObject *row = row_tuple(a->rows, columns);

		if (!row || PyList_Append(list, row) < 0)
			Py_CLEAR(list);
		Py_XDECREF(row);
	}
	if (rc < 0)
		Py_CLEAR(list);
	return list;
}

static void *raise_why(const struct engine_state *state, const struct asking *a, const char *path, const struct error *err, double timeout)
{
	const struct error *failure = a->query ? query_failure(a->query) : NULL;

	if (a->interrupted || PyErr_Occurred())
		return NULL; /* the exception is there */
	if (a->late) {
		PyObject *text = PyUnicode_FromFormat("the question was not done after %d milliseconds", (int)(timeout * 1000));

		if (text)
			PyErr_SetObject(PyExc_TimeoutError, text);
		Py_XDECREF(text);
	} else if (err->exit_code == 2 && !failure) {
		PyErr_SetString(PyExc_ValueError, err->text);
	} else {
		raise_error(state, path, failure ? failure : err);
	}
	return NULL;
}

PyObject *query_traces(PyObject *module, PyObject *args)
{
	const struct engine_state *state = PyModule_GetState(module);
	struct strings paths = { 0 };
	struct asking a = { 0 };
	const struct query_options options = { .stop = must_stop, .stop_arg = &a, .analyze = analyze, .analyze_arg = &a };
	PyObject *list, *names = NULL, *rows = NULL, *ret = NULL;
	const char *text;
	struct error err = { 0 };
	double timeout;
	bool given;
	int rc;

	if (!PyArg_ParseTuple(args, "O!O!O!sd:query", &PyList_Type, &list, &PyList_Type, &a.patterns, &PyList_Type, &a.rules, &text,
			      &timeout))
		return NULL;
	given = PyList_Size(a.patterns) > 0 || PyList_Size(a.rules) > 1; /* then it is looked at in any case */
	if (strings_of(list, &paths) < 0 || (given && engine_settings(&a.settings, a.patterns, a.rules) < 0)) {
		free(paths.list);
		return NULL;
	}
	a.source = (struct report_source){ .path = paths.count ? paths.list[0] : "", .version = INFERSCOPE_VERSION };
	a.until = timeout > 0 ? now() + timeout : 0;
	Py_BEGIN_ALLOW_THREADS
	rc = engine_open(&a.reader, &paths, false, &a.source.format, &err);
	rc = rc ? rc : query_open(&a.query, a.reader, &options, &err);
	rc = rc ? rc : query_run(a.query, text, &a.rows, &err);
	Py_END_ALLOW_THREADS
	if (rc == 0) {
		names = names_tuple(a.rows);
		rows = names ? fetch(&a, &err) : NULL;
	}
	if (rows)
		ret = PyTuple_Pack(2, names, rows);
	else
		raise_why(state, &a, paths.count ? paths.list[0] : "", &err, timeout);
	Py_XDECREF(names);
	Py_XDECREF(rows);
	sql_query_free(a.rows);
	query_close(a.query);
	trace_reader_close(a.reader);
	settings_free(a.settings);
	free(paths.list);
	return ret;
}
