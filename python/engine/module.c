/*
 * module.c - inferscope._engine: what Python calls.
 */
#include <errno.h>
#include <string.h>

#include "engine.h"

#include "cmd/info_print.h"
#include "cmd/summary.h"

static struct engine_state *state_of(PyObject *module)
{
	return PyModule_GetState(module);
}

/* ---- Opening -------------------------------------------------------------------- */

void raise_error(const struct engine_state *state, const char *path, const struct error *err)
{
	if (err->code == -ENOMEM)
		PyErr_NoMemory();
	else if (strstr(err->text, path))
		PyErr_SetString(state->error, err->text);
	else if (err->offset > 0)
		PyErr_Format(state->error, "%s: %s, at byte %llu", path, err->text, (unsigned long long)err->offset);
	else
		PyErr_Format(state->error, "%s: %s", path, err->text);
}

static struct trace_reader *open_trace(const struct engine_state *state, PyObject *path)
{
	const char *name = PyBytes_AsString(path);
	struct trace_reader *reader = NULL;
	struct error err = { 0 };
	int rc;

	if (!name)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	rc = trace_reader_open(&reader, name, &err);
	Py_END_ALLOW_THREADS
	if (rc != 0)
		raise_error(state, name, &err);
	return rc == 0 ? reader : NULL;
}

/* ---- read_events ------------------------------------------------------------------ */

/* A time in nanoseconds, or None for "not given". */
static int parse_ns(PyObject *object, int64_t *ret, bool *ret_given)
{
	long long value;

	if (object == Py_None)
		return 0;
	value = PyLong_AsLongLong(object);
	if (value == -1 && PyErr_Occurred())
		return -1;
	*ret = value;
	*ret_given = true;
	return 0;
}

static int parse_limit(PyObject *object, Py_ssize_t *ret)
{
	if (object == Py_None)
		return 0;
	*ret = PyLong_AsSsize_t(object);
	if (*ret == -1 && PyErr_Occurred())
		return -1;
	if (*ret >= 0)
		return 0;
	PyErr_SetString(PyExc_ValueError, "limit is a number of events, so 0 or more");
	return -1;
}

static PyObject *read_events(PyObject *module, PyObject *args, PyObject *names)
{
	static char *words[] = { "path", "start_ns", "end_ns", "limit", NULL };
	PyObject *path = NULL, *from = Py_None, *to = Py_None, *limit = Py_None, *list = NULL;
	struct events_request request = { .from_ns = INT64_MIN, .to_ns = INT64_MAX, .limit = -1 };
	struct trace_reader *reader;

	if (!PyArg_ParseTupleAndKeywords(args, names, "O&|OOO:read_events", words, PyUnicode_FSConverter, &path, &from, &to,
					 &limit))
		return NULL;
	if (parse_ns(from, &request.from_ns, &request.windowed) == 0 && parse_ns(to, &request.to_ns, &request.windowed) == 0 &&
	    parse_limit(limit, &request.limit) == 0 && (reader = open_trace(state_of(module), path)) != NULL) {
		list = events_list(reader, state_of(module), &request);
		trace_reader_close(reader);
	}
	Py_DECREF(path);
	return list;
}

/* ---- outline ---------------------------------------------------------------------- */

static PyObject *process_dict(struct rows *rows, const struct trace_process *process)
{
	const struct trace_process *parent =
		process->parent < 0 ? NULL : trace_reader_process(rows->reader, (uint32_t)process->parent);
	PyObject *dict = PyDict_New();

	if (!dict)
		return NULL;
	if (put_text_key(dict, "process_id", PyLong_FromUnsignedLongLong(process->pid)) < 0 ||
	    put_text_key(dict, "parent_process_id", parent ? PyLong_FromUnsignedLongLong(parent->pid) : Py_BuildValue("")) < 0 ||
	    put_text_key(dict, "name", rows_string(rows, process->name)) < 0 ||
	    put_text_key(dict, "ended", PyBool_FromLong(process->flags & TRACE_PROCESS_ENDED)) < 0)
		Py_CLEAR(dict);
	return dict;
}

static PyObject *process_list(struct rows *rows)
{
	PyObject *list = PyList_New(0), *dict;

	for (size_t i = 0; list && i < trace_reader_process_count(rows->reader); i++) {
		const struct trace_process *process = trace_reader_process(rows->reader, (uint32_t)i);

		if (!process)
			continue;
		dict = process_dict(rows, process);
		if (!dict || PyList_Append(list, dict) < 0)
			Py_CLEAR(list);
		Py_XDECREF(dict);
	}
	return list;
}

static PyObject *device_dict(struct rows *rows, const struct trace_device *device)
{
	const char *kind = trace_device_kind_name(device->kind);
	PyObject *dict = PyDict_New();

	if (!dict)
		return NULL;
	if (put_text_key(dict, "device_id", PyLong_FromUnsignedLong(device->index)) < 0 ||
	    put_text_key(dict, "kind", PyUnicode_FromString(kind ? kind : "unknown")) < 0 ||
	    put_text_key(dict, "name", rows_string(rows, device->name)) < 0)
		Py_CLEAR(dict);
	return dict;
}

static PyObject *device_list(struct rows *rows)
{
	PyObject *list = PyList_New(0), *dict;

	for (size_t i = 0; list && i < trace_reader_device_count(rows->reader); i++) {
		const struct trace_device *device = trace_reader_device(rows->reader, (uint32_t)i);

		if (!device)
			continue;
		dict = device_dict(rows, device);
		if (!dict || PyList_Append(list, dict) < 0)
			Py_CLEAR(list);
		Py_XDECREF(dict);
	}
	return list;
}

static int64_t end_of(const struct trace_reader *reader)
{
	int64_t ns, end = 0;

	for (size_t i = 0; i < trace_reader_block_count(reader); i++) {
		const struct trace_block *block = trace_reader_block(reader, i);

		ns = trace_reader_since_start_ns(reader, block->domain, block->last_time);
		end = ns > end ? ns : end;
	}
	return end;
}

static PyObject *outline_dict(struct rows *rows)
{
	const struct trace_reader *reader = rows->reader;
	int64_t start = trace_reader_ns(reader, 0, trace_reader_ticks_from_start_ns(reader, 0, 0));
	PyObject *dict = PyDict_New();

	if (!dict)
		return NULL;
	if (put_text_key(dict, "start_raw_ns", PyLong_FromLongLong(start)) < 0 ||
	    put_text_key(dict, "end_ns", PyLong_FromLongLong(end_of(reader))) < 0 ||
	    put_text_key(dict, "complete", PyBool_FromLong(trace_reader_report(reader)->complete)) < 0 ||
	    put_text_key(dict, "processes", process_list(rows)) < 0 ||
	    put_text_key(dict, "devices", device_list(rows)) < 0)
		Py_CLEAR(dict);
	return dict;
}

static PyObject *outline(PyObject *module, PyObject *args)
{
	PyObject *path = NULL, *dict = NULL;
	struct trace_reader *reader;
	struct rows rows;

	if (!PyArg_ParseTuple(args, "O&:outline", PyUnicode_FSConverter, &path))
		return NULL;
	reader = open_trace(state_of(module), path);
	if (reader && rows_init(&rows, state_of(module), reader) == 0) {
		dict = outline_dict(&rows);
		rows_release(&rows);
	}
	trace_reader_close(reader);
	Py_DECREF(path);
	return dict;
}

/* ---- info -------------------------------------------------------------------------- */

/* No "#" in a format: compiled with the headers of 3.14, an earlier Python takes that for the old kind and refuses. */
PyObject *from_json(const struct buffer *text)
{
	PyObject *json = PyImport_ImportModule("json");
	PyObject *string = json ? PyUnicode_DecodeUTF8((const char *)text->data, (Py_ssize_t)text->size, NULL) : NULL;
	PyObject *dict = string ? PyObject_CallMethod(json, "loads", "O", string) : NULL;

	Py_XDECREF(string);
	Py_XDECREF(json);
	return dict;
}

static PyObject *info_of(const struct engine_state *state, struct trace_reader *reader, const char *path)
{
	struct summary summary = { 0 };
	struct info about = { .path = path, .reader = reader, .summary = &summary, .top = SIZE_MAX };
	struct buffer text = BUFFER_INIT;
	struct error err = { 0 };
	PyObject *dict = NULL;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = summary_collect(&summary, reader, &err);
	if (rc == 0)
		rc = info_json(&about, &text);
	Py_END_ALLOW_THREADS
	if (rc == 0)
		dict = from_json(&text);
	else if (err.code)
		raise_error(state, path, &err);
	else
		PyErr_NoMemory();
	buffer_release(&text);
	summary_release(&summary);
	return dict;
}

static PyObject *info(PyObject *module, PyObject *args)
{
	PyObject *path = NULL, *dict = NULL;
	struct trace_reader *reader;

	if (!PyArg_ParseTuple(args, "O&:info", PyUnicode_FSConverter, &path))
		return NULL;
	reader = open_trace(state_of(module), path);
	if (reader)
		dict = info_of(state_of(module), reader, PyBytes_AsString(path));
	trace_reader_close(reader);
	Py_DECREF(path);
	return dict;
}

static PyMethodDef methods[] = {
	{ "read_events", (PyCFunction)(void (*)(void))read_events, METH_VARARGS | METH_KEYWORDS,
	  "read_events(path, start_ns=None, end_ns=None, limit=None)\n--\n\n"
	  "The events of a trace, also of one that is still growing, as dictionaries in the order of their start.  A scope or "
	  "call is one event; one that was open at the end of the trace ends there and is 'unfinished'.  The window is "
	  "nanoseconds since the start of the trace, and whatever overlaps it is in it.  With a limit, reading stops after "
	  "so many." },
	{ "info", info, METH_VARARGS, "info(path)\n--\n\nWhat 'inferscope info --format json' says of a trace." },
	{ "outline", outline, METH_VARARGS,
	  "outline(path)\n--\n\nStart and end of a trace, its processes and devices, without reading the events." },
	{ "fit_clock", (PyCFunction)(void (*)(void))fit_clock, METH_VARARGS | METH_KEYWORDS,
	  "fit_clock(samples, times, nominal=1.0, drift_ppm=0.0)\n--\n\n"
	  "Times of one clock on another.  A sample is (host before, device, host after), the device's clock having been read "
	  "between the two; before or after may be None.  All are whole nanoseconds.  Returns a dictionary: 'times' has "
	  "(host, bound of the error) for each of times, 'segments' the lines between which the clock was set, 'outliers' how "
	  "many samples fit none." },
	{ "waits_for_device", waits_for_device, METH_O,
	  "waits_for_device(name)\n--\n\nWhether the call of a GPU runtime of this name waits for all that the device does." },
	{ "analyze", analyze_traces, METH_VARARGS,
	  "analyze(paths, communication)\n--\n\nWhat 'inferscope analyze --format json' says of traces: paths and patterns are lists of "
	  "bytes." },
	{ "report", report_traces, METH_VARARGS,
	  "report(paths, communication, title, format)\n--\n\nThe report that 'inferscope analyze --format FORMAT' writes, as bytes: text, "
	  "md, html or json.  title stands for the path; None: the first path." },
	{ "render", render_traces, METH_VARARGS,
	  "render(paths, communication, title, format, name, template)\n--\n\nThe report after a template, md or html, as bytes; name is "
	  "for messages.  Raises ValueError with file, line and column." },
	{ "render_analysis", render_analysis, METH_VARARGS,
	  "render_analysis(json, format, name, template)\n--\n\nThe report after a template of an analysis that is there already, as JSON in bytes." },
	{ "charts", chart_traces, METH_VARARGS,
	  "charts(paths, communication, format)\n--\n\nThe charts that 'inferscope analyze --charts' writes: a dictionary of bytes by name.  "
	  "format is svg or png." },
	{ "query", query_traces, METH_VARARGS,
	  "query(paths, communication, rules, sql, timeout)\n--\n\nThe answer of 'inferscope query': names of the columns, and rows as "
	  "tuples.  timeout is seconds; 0: none." },
	{ "export", export_traces, METH_VARARGS,
	  "export(paths, communication, rules, output, format, from_ms, to_ms, first_step, last_step, kinds, name, thread, process, "
	  "depth, min_us, weight, findings)\n--\n\nWhat 'inferscope export' does." },
	{ "gpus", ask_gpus, METH_VARARGS,
	  "gpus(timeout, max_age)\n--\n\nWhat NVML says of NVIDIA's GPUs: why there is nothing to say, or None; the age of the answer in "
	  "seconds; a dictionary for each GPU.  An answer younger than max_age will do; one that takes longer than timeout is not waited for." },
	{ "draw", draw_pictures, METH_VARARGS,
	  "draw(charts, format)\n--\n\nOne picture, svg or png, with charts one below the other.  A chart is a tuple: title, what the axis is, what is "
	  "said where there is nothing, where the axis ends (0: where it must), and bars, (label, value, ink), or panels, (title, least, "
	  "[(label, xs, ys)])." },
	{ NULL, NULL, 0, NULL },
};

/* ---- The module -------------------------------------------------------------------- */

static int module_exec(PyObject *module)
{
	struct engine_state *state = state_of(module);

	state->error = PyErr_NewExceptionWithDoc("inferscope.TraceError", "A trace that cannot be read; the text says why.",
						 PyExc_ValueError, NULL);
	if (!state->error || rows_make_keys(state) < 0 || add_meter(module) < 0 || add_operations(module) < 0)
		return -1;
	Py_INCREF(state->error);
	if (PyModule_AddObject(module, "TraceError", state->error) == 0)
		return 0;
	Py_DECREF(state->error);
	return -1;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	Py_VISIT(state_of(module)->error);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct engine_state *state = state_of(module);

	Py_CLEAR(state->error);
	for (size_t i = 0; i < KEY_COUNT; i++)
		Py_CLEAR(state->keys[i]);
	for (size_t i = 0; i < FIELD_LIMIT; i++)
		Py_CLEAR(state->fields[i]);
	return 0;
}

static void module_free(void *module)
{
	(void)module_clear(module);
}

static PyModuleDef_Slot slots[] = {
	{ Py_mod_exec, (void *)module_exec },
#ifdef Py_mod_multiple_interpreters
	{ Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED },
#endif
#ifdef Py_mod_gil
	{ Py_mod_gil, Py_MOD_GIL_NOT_USED },
#endif
	{ 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "inferscope._engine",
	.m_doc = "Reads traces, and what the system says.",
	.m_size = sizeof(struct engine_state),
	.m_methods = methods,
	.m_slots = slots,
	.m_traverse = module_traverse,
	.m_clear = module_clear,
	.m_free = module_free,
};

PyMODINIT_FUNC PyInit__engine(void);

PyMODINIT_FUNC PyInit__engine(void)
{
	return PyModuleDef_Init(&definition);
}
