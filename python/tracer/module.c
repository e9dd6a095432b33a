/*
 * module.c - inferscope._tracer: what Python calls.
 */
#include <errno.h>
#include <string.h>

#include "detail.h"

struct tracer tracer = { .index = -1 };

struct tracer_state *tracer_state_of(PyObject *module)
{
	return PyModule_GetState(module);
}

PyObject *tracer_loaded(const char *name)
{
	PyObject *modules = PySys_GetObject("modules"); /* borrowed */

	return modules && PyDict_Check(modules) ? PyDict_GetItemString(modules, name) : NULL;
}

/* ---- Recording -------------------------------------------------------------------- */

static PyObject *py_link(PyObject *module, PyObject *args)
{
	const char *path;
	int rc;

	(void)module;
	if (!PyArg_ParseTuple(args, "s:link", &path))
		return NULL;
	rc = tracer_link(path);
	switch (rc) {
	case 0:
		return PyBool_FromLong(tracer.inside->joined());
	case -ENOENT:
		return PyErr_Format(PyExc_FileNotFoundError, "there is no %s", path);
	case -EPERM:
		return PyErr_Format(PyExc_PermissionError, "%s could have been written by others", path);
	default:
		return PyErr_Format(PyExc_ImportError, "%s is of another release", path);
	}
}

static int need_link(void)
{
	if (!tracer.inside)
		PyErr_SetString(PyExc_RuntimeError, "link() comes first");
	return tracer.inside ? 0 : -1;
}

static PyObject *py_join(PyObject *module, PyObject *args)
{
	const char *folder;
	int rc;

	(void)module;
	if (!PyArg_ParseTuple(args, "s:join", &folder) || need_link() < 0)
		return NULL;
	rc = tracer.inside->join(folder);
	if (rc < 0)
		return PyErr_Format(PyExc_OSError, "cannot record into the session %s: %s", folder, strerror(-rc));
	Py_RETURN_NONE;
}

static PyObject *py_leave(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (tracer.inside)
		tracer.inside->leave();
	Py_RETURN_NONE;
}

static PyObject *py_flush(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (tracer.inside) {
		Py_BEGIN_ALLOW_THREADS
		tracer.inside->flush();
		Py_END_ALLOW_THREADS
	}
	Py_RETURN_NONE;
}

static PyObject *py_joined(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyBool_FromLong(tracer.inside && tracer.inside->joined());
}

static PyObject *py_note(PyObject *module, PyObject *args)
{
	const char *text;

	(void)module;
	if (!PyArg_ParseTuple(args, "s:note", &text))
		return NULL;
	if (tracer.inside)
		tracer.inside->note(text);
	Py_RETURN_NONE;
}

static int start_calls(struct tracer_state *state)
{
	if (!state->has_index && tracer_request_index() < 0) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_RuntimeError, "code objects have no room for our numbers");
		return -1;
	}
	state->has_index = true;
	tracer.interpreter = PyInterpreterState_Get();
	tracer.on = true;
	tracer.plain = !tracer.options.c_calls;
	if (tracer_hook_install(state) == 0) {
		tracer_gc_install();
		return 0;
	}
	tracer.on = tracer.plain = false;
	return -1;
}

/* Without calls nobody tells us when PyTorch is loaded, but imports are announced. */
static int on_audit(const char *event, PyObject *args, void *unused)
{
	PyObject *name = strcmp(event, "import") == 0 && PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : NULL;
	const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;

	(void)unused;
	if (name && !text)
		PyErr_Clear();
	if (text && !tracer.options.calls && tracer.inside->joined())
		tracer_torch_look(text);
	return 0;
}

static void watch_imports(void)
{
	static bool watching; /* there is no way back */

	if (!watching)
		watching = PySys_AddAuditHook(on_audit, NULL) == 0;
	PyErr_Clear();
}

static PyObject *py_start(PyObject *module, PyObject *args, PyObject *names)
{
	static char *words[] = { "calls", "c_calls", "ops", "shapes", "include", "exclude", "afresh", "full", "light", NULL };
	int calls = 1, c_calls = 0, ops = 1, shapes = 0, afresh = 0, full = 1, light = 0;
	const char *included = NULL, *excluded = NULL;
	struct tracer_state *state = tracer_state_of(module);

	if (!PyArg_ParseTupleAndKeywords(args, names, "|$ppppzzppp:start", words, &calls, &c_calls, &ops, &shapes, &included,
					 &excluded, &afresh, &full, &light) || need_link() < 0)
		return NULL;
	if (tracer.on)
		Py_RETURN_NONE;
	if (tracer_filter_set(included, excluded) < 0)
		return PyErr_NoMemory();
	/* Whatever an earlier filter has decided is decided again; after 256 recordings some may be wrong for one. */
	tracer.known = (tracer.known + (1u << CODE_FILTER_SHIFT)) | CODE_KNOWN;
	tracer.options = (struct tracer_options){ calls, c_calls, ops, shapes, full || c_calls, light };
	tracer_company_look(tracer_loaded("greenlet") ? "greenlet" : "", "");
	tracer_company_look(tracer_loaded("torch._dynamo") ? "torch._dynamo" : "", "");
	detail_start();
	tracer_tasks_look(state);
	tracer_torch_look(tracer_loaded("torch") ? "torch" : "");
	if (afresh) { /* the interpreter is just starting: what is open is of no interest */
		tracer_forget_stack();
		tracer.inside->thread_name("MainThread");
		tracer_tell_interpreter();
		tracer_await_end();
	}
	if (calls && start_calls(state) < 0)
		return NULL;
	if (!calls && ops)
		watch_imports();
	Py_RETURN_NONE;
}

static PyObject *py_stop(PyObject *module, PyObject *unused)
{
	(void)unused;
	if (tracer.on) {
		tracer_gc_remove();
		tracer_hook_remove(tracer_state_of(module));
	}
	tracer.on = tracer.plain = false;
	if (tracer.torch > 0)
		tracer.inside->torch_stop();
	tracer_itt_leave();
	if (tracer.torch != -1)
		tracer.torch = 0;
	Py_RETURN_NONE;
}

static PyObject *py_stats(PyObject *module, PyObject *unused)
{
	struct process_header *header = tracer.inside && tracer.inside->joined() ? tracer.rt->memory->process.header : NULL;
	struct ring_header *rings;
	uint64_t events = 0, skipped = 0;

	(void)module;
	(void)unused;
	if (!header)
		return PyDict_New();
	rings = layout_rings(tracer.rt->memory->process.map);
	for (uint32_t i = 0; i < atomic_load(&header->rings); i++) {
		events += atomic_load(&rings[i].produced) - atomic_load(&rings[i].extra);
		skipped += atomic_load(&rings[i].skipped);
	}
	return Py_BuildValue("{s:K,s:K,s:K,s:K,s:I}", "events", (unsigned long long)events, "skipped_calls",
			     (unsigned long long)skipped, "functions", (unsigned long long)atomic_load(&header->functions),
			     "functions_skipped", (unsigned long long)atomic_load(&header->functions_skipped), "threads",
			     atomic_load(&header->rings));
}

static PyMethodDef methods[] = {
	{ "link", py_link, METH_VARARGS, "Loads the runtime library; true when a recorder's session was joined." },
	{ "join", py_join, METH_VARARGS, "Joins the session in this folder." },
	{ "leave", py_leave, METH_NOARGS, "Leaves the session: nothing more is recorded." },
	{ "flush", py_flush, METH_NOARGS, "Has work of GPUs that has ended written." },
	{ "joined", py_joined, METH_NOARGS, "Is somebody recording?" },
	{ "note", py_note, METH_VARARGS, "Something for the recorder to tell the user." },
	{ "start", (PyCFunction)(void (*)(void))py_start, METH_VARARGS | METH_KEYWORDS, "Records calls and operators." },
	{ "stop", py_stop, METH_NOARGS, "Stops doing so." },
	{ "stats", py_stats, METH_NOARGS, "Counts of this process." },
	{ NULL, NULL, 0, NULL },
};

/* ---- The module -------------------------------------------------------------------- */

static int module_exec(PyObject *module)
{
	struct tracer_state *state = tracer_state_of(module);

	state->tool = -1;
	state->tasks = PyDict_New();
	if (!state->tasks || tracer_add_scope(module, state) < 0)
		return -1;
	return PyModule_AddFunctions(module, tracer_scope_methods);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	struct tracer_state *state = tracer_state_of(module);

	Py_VISIT(state->scope_type);
	Py_VISIT(state->callback_type);
	Py_VISIT(state->task_type);
	Py_VISIT(state->tasks);
	Py_VISIT(state->current_task);
	Py_VISIT(state->running_loop);
	Py_VISIT(state->current_greenlet);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct tracer_state *state = tracer_state_of(module);

	Py_CLEAR(state->tasks);
	Py_CLEAR(state->current_task);
	Py_CLEAR(state->running_loop);
	Py_CLEAR(state->current_greenlet);
	for (size_t i = 0; i < sizeof state->names / sizeof state->names[0]; i++)
		Py_CLEAR(state->names[i].name);
	return 0;
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
	.m_name = "inferscope._tracer",
	.m_doc = "Records what a Python program does.  An internal matter of inferscope.",
	.m_size = sizeof(struct tracer_state),
	.m_methods = methods,
	.m_slots = slots,
	.m_traverse = module_traverse,
	.m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__tracer(void);

PyMODINIT_FUNC PyInit__tracer(void)
{
	return PyModuleDef_Init(&definition);
}
