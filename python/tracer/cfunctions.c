/*
 * cfunctions.c - names of functions written in C.
 *
 * A function is known by its method definition, which is static or outlives the
 * run; everything else that can be called by the text of its name.  Threads may
 * come at once: whoever gets a place puts the key there, and the first to name
 * it names it for all.
 */
#include <stdio.h>
#include <string.h>

#include "tracer.h"

#define TABLE_SIZE 16384u /* a power of two */

static struct {
	const void *key;
	uint32_t id;
} table[TABLE_SIZE];

static uint32_t intern(const char *module, const char *name)
{
	char text[NAME_MAX_BYTES];
	int n = snprintf(text, sizeof text, "%s%s%s", module, *module ? "." : "", name);

	return tracer.inside->intern(tracer.inside->thread(), text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static const char *owner_of(PyCFunctionObject *function)
{
	PyObject *self = function->m_self;
	const char *module = NULL;

	if (self && !PyModule_Check(self))
		return PyType_Check(self) ? ((PyTypeObject *)self)->tp_name : Py_TYPE(self)->tp_name;
	if (function->m_module && PyUnicode_Check(function->m_module))
		module = PyUnicode_AsUTF8(function->m_module);
	if (!module)
		PyErr_Clear();
	return module && strcmp(module, "builtins") != 0 ? module : "";
}

/* Does this place have the key, or has it got it now? */
static bool is_place_of(size_t at, const void *key)
{
	const void *seen = __atomic_load_n(&table[at].key, __ATOMIC_RELAXED);

	if (!seen)
		(void)__atomic_compare_exchange_n(&table[at].key, &seen, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return !seen || seen == key;
}

static uint32_t by_key(const void *key, const char *owner, const char *name)
{
	size_t at = ((uintptr_t)key >> 4) * 2654435761u % TABLE_SIZE;
	uint32_t id, seen = 0;

	for (size_t probe = 0; probe < 16; probe++, at = (at + 1) % TABLE_SIZE) {
		if (!is_place_of(at, key))
			continue;
		id = __atomic_load_n(&table[at].id, __ATOMIC_RELAXED);
		if (id)
			return id;
		id = intern(owner, name);
		if (__atomic_compare_exchange_n(&table[at].id, &seen, id, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return id;
		return seen;
	}
	return intern(owner, name);
}

static uint32_t by_name(PyObject *callable)
{
	if (PyType_Check(callable))
		return intern("", ((PyTypeObject *)callable)->tp_name);
	return intern(Py_TYPE(callable)->tp_name, "__call__");
}

uint32_t tracer_c_function(PyObject *callable)
{
	PyObject *type, *value, *traceback;
	uint32_t id;

	if (PyMethod_Check(callable))
		callable = PyMethod_GET_FUNCTION(callable);
	if (PyFunction_Check(callable))
		return 0;
	PyErr_Fetch(&type, &value, &traceback);
	if (PyCFunction_Check(callable)) {
		PyCFunctionObject *function = (PyCFunctionObject *)callable;

		/* one method of many types (object.__reduce__) has one name: that of the first it was seen with */
		id = by_key(function->m_ml, owner_of(function), function->m_ml->ml_name);
	} else if (Py_TYPE(callable) == &PyMethodDescr_Type || Py_TYPE(callable) == &PyClassMethodDescr_Type) {
		PyMethodDescrObject *descriptor = (PyMethodDescrObject *)callable;

		id = by_key(descriptor->d_method, PyDescr_TYPE(descriptor)->tp_name, descriptor->d_method->ml_name);
	} else {
		id = by_name(callable);
	}
	PyErr_Restore(type, value, traceback);
	return id;
}
