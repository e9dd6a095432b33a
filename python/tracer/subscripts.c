/*
 * subscripts.c - 3.11: obj[key] comes through the frame hook.
 *
 * 3.11 has an instruction for it that runs a __getitem__ written in Python in
 * place, without asking whether there is a hook.  It is made only for functions
 * whose version fits 16 bits.  A version says nothing but that the function has
 * not changed since it was given; so functions of this name get one from the far
 * end of its range: when their class is made, and when they are called.
 */
#include "interpreter_frame.h"

#include "calls.h"
#include "subscripts.h"

#if PY_VERSION_HEX >= 0x030b0000 && BEFORE_312

static void keep_visible(PyObject *object)
{
	static uint32_t versions = 0x80000000u;
	PyFunctionObject *function = (PyFunctionObject *)object;

	if (object && PyFunction_Check(object) && function->func_version < 0x10000u)
		function->func_version = __atomic_add_fetch(&versions, 1, __ATOMIC_RELAXED);
}

static bool mentions(const PyCodeObject *code, const char *name)
{
	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_names); i++)
		if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_names, i), name) == 0)
			return true;
	return false;
}

/* The body of a class is code that is not a function's and has a namespace of its own. */
bool subscripts_matter(const PyCodeObject *code)
{
	if (code->co_flags & CO_OPTIMIZED)
		return PyUnicode_CompareWithASCIIString(code->co_name, "__getitem__") == 0;
	return mentions(code, "__getitem__");
}

PyObject *subscripts_enter(FRAME *frame)
{
	if (frame->f_code->co_flags & CO_OPTIMIZED)
		keep_visible((PyObject *)frame->f_func);
	else if (frame->f_locals && PyDict_Check(frame->f_locals))
		return Py_NewRef(frame->f_locals);
	return NULL;
}

void subscripts_leave(PyObject *namespace)
{
	PyObject *type, *value, *traceback;

	if (!namespace)
		return;
	PyErr_Fetch(&type, &value, &traceback);
	keep_visible(PyDict_GetItemString(namespace, "__getitem__"));
	PyErr_Restore(type, value, traceback);
	Py_DECREF(namespace);
}

#elif BEFORE_312

bool subscripts_matter(const PyCodeObject *code)
{
	(void)code;
	return false;
}

PyObject *subscripts_enter(FRAME *frame)
{
	(void)frame;
	return NULL;
}

void subscripts_leave(PyObject *namespace)
{
	(void)namespace;
}

#endif
