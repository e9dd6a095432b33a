/*
 * end.c - what the trace is to have of the interpreter: which one it is, the exception that ends the program, and whether
 * any code of the program's own ran.
 *
 * An exception that the program has not caught is kept by the interpreter in
 * sys.last_value when it prints it; there it is when functions of atexit are
 * called.  Others keep their exceptions there as well (a debugger, pytest): the
 * program's own has come all the way, so that nothing has called the outermost
 * of its frames.  None of the program's code runs for what is told: it has had
 * its say when the exception was printed.
 */
#include <string.h>

#include "tracer.h"

#include <frameobject.h>

#define MEMBERS 16 /* of a tuple, of those in an exception */

/* The interpreter's module, or one like it that the program does not see: it is to see what it would see without us. */
static PyObject *get_atexit(void)
{
	PyObject *module = tracer_loaded("atexit"), *imp = tracer_loaded("_imp"), *importlib = tracer_loaded("_frozen_importlib");
	PyObject *spec, *done = NULL;

	if (module)
		return Py_NewRef(module);
	if (!imp || !importlib)
		return NULL;
	spec = PyObject_CallMethod(importlib, "ModuleSpec", "sO", "atexit", Py_None);
	module = spec ? PyObject_CallMethod(imp, "create_builtin", "O", spec) : NULL;
	if (module)
		done = PyObject_CallMethod(imp, "exec_builtin", "O", module);
	Py_XDECREF(done);
	Py_XDECREF(spec);
	return module;
}

void tracer_at_exit(PyCFunction function)
{
	static PyMethodDef definitions[2]; /* those who ask */
	static size_t count;
	PyObject *module = NULL, *callable = NULL, *result = NULL;

	if (count < sizeof definitions / sizeof definitions[0]) {
		definitions[count] = (PyMethodDef){ "at_exit", function, METH_NOARGS, NULL };
		callable = PyCFunction_New(&definitions[count++], NULL);
		module = get_atexit();
	}
	if (module && callable)
		result = PyObject_CallMethod(module, "register", "O", callable);
	Py_XDECREF(result);
	Py_XDECREF(callable);
	PyErr_Clear(); /* the module stays: in 3.9 it has the list, until the program imports another */
}

/* ---- The interpreter -------------------------------------------------------------- */

void tracer_tell_interpreter(void)
{
	PyObject *path = PySys_GetObject("executable"); /* borrowed */
	const char *text = path && PyUnicode_Check(path) ? PyUnicode_AsUTF8(path) : NULL, *version = Py_GetVersion();
	char words[64];

	if (text && text[0])
		tracer.inside->fact("interpreter", text);
	snprintf(words, sizeof words, "Python %.*s", (int)strcspn(version, " "), version);
	tracer.inside->fact("version", words);
	PyErr_Clear();
}

/* ---- The exception ---------------------------------------------------------------- */

/* Is its text made by the interpreter alone? */
static bool is_plain(PyObject *object, int depth)
{
	if (object == Py_None || PyUnicode_CheckExact(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
	    PyBytes_CheckExact(object))
		return true;
	if (!PyTuple_CheckExact(object) || depth > 1 || PyTuple_GET_SIZE(object) > MEMBERS)
		return false;
	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++)
		if (!is_plain(PyTuple_GET_ITEM(object, i), depth + 1))
			return false;
	return true;
}

/* The nearest type that was not made by the program. */
static PyTypeObject *native_type(PyTypeObject *type)
{
	while (type && type->tp_flags & Py_TPFLAGS_HEAPTYPE)
		type = type->tp_base;
	return type;
}

/* As the interpreter prints it: "module.Name", without the module for what is the interpreter's or the script's. */
static void tell_type(PyTypeObject *type)
{
	PyObject *name = NULL, *module = NULL;
	const char *front = NULL, *text = type->tp_name;
	char words[256];

	if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
		name = ((PyHeapTypeObject *)type)->ht_qualname;
		module = type->tp_dict ? PyDict_GetItemString(type->tp_dict, "__module__") : NULL; /* borrowed */
		text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
		front = module && PyUnicode_CheckExact(module) ? PyUnicode_AsUTF8(module) : NULL;
	}
	if (front && (strcmp(front, "builtins") == 0 || strcmp(front, "__main__") == 0))
		front = NULL;
	snprintf(words, sizeof words, "%s%s%s", front ? front : "", front ? "." : "", text ? text : "an exception");
	tracer.inside->fact("exception", words);
	PyErr_Clear();
}

static void tell_message(PyObject *value)
{
	PyTypeObject *type = native_type(Py_TYPE(value));
	PyObject *args = PyExceptionInstance_Check(value) ? ((PyBaseExceptionObject *)value)->args : NULL;
	PyObject *message = type && type->tp_str && args && is_plain(args, 0) ? type->tp_str(value) : NULL;
	const char *text = message && PyUnicode_Check(message) ? PyUnicode_AsUTF8(message) : NULL;
	char words[FACT_MAX_BYTES];

	if (text && text[0]) {
		snprintf(words, sizeof words, "%.*s", (int)strcspn(text, "\r\n"), text);
		tracer.inside->fact("message", words);
	}
	Py_XDECREF(message);
	PyErr_Clear();
}

/* That of an exception that has gone through all callers; there is none for one that came before anything was called. */
static bool came_all_the_way(PyObject *traceback)
{
	PyFrameObject *frame, *caller;

	if (!traceback || traceback == Py_None)
		return true;
	if (!PyTraceBack_Check(traceback))
		return false;
	frame = (PyFrameObject *)((PyTracebackObject *)traceback)->tb_frame;
	caller = PyFrame_GetBack(frame);
	Py_XDECREF(caller);
	return !caller;
}

static PyObject *tell_end(PyObject *self, PyObject *unused)
{
	PyObject *value = PySys_GetObject("last_value"), *traceback = PySys_GetObject("last_traceback"); /* borrowed */

	(void)self;
	(void)unused;
	if (tracer.on && !tracer.main_seen)
		tracer.inside->fact("ran_nothing", "yes");
	if (value && PyExceptionInstance_Check(value) && came_all_the_way(traceback)) {
		Py_INCREF(value);
		tell_type(Py_TYPE(value));
		tell_message(value);
		Py_DECREF(value);
	}
	Py_RETURN_NONE;
}

void tracer_await_end(void)
{
	static bool awaited;

	if (!awaited && PyInterpreterState_Get() == PyInterpreterState_Main())
		tracer_at_exit(tell_end);
	awaited = true;
}
