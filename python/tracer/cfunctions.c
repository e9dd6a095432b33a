/*
 * cfunctions.c - names of functions written in C.
 *
 * A function is known by its method definition, which is static or outlives the
 * run; everything else that can be called by the text of its name.
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

static uint32_t by_key(const void *key, const char *owner, const char *name)
{
	size_t at = ((uintptr_t)key >> 4) * 2654435761u % TABLE_SIZE;

	for (size_t probe = 0; probe < 16; probe++, at = (at + 1) % TABLE_SIZE) {
		if (__atomic_load_n(&table[at].key, __ATOMIC_ACQUIRE) == key)
			return table[at].id;
		if (!table[at].key) {
			uint32_t id = intern(owner, name);
			const void *none = NULL;

			table[at].id = id;
			__atomic_compare_exchange_n(&table[at].key, &none, key, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
			return id;
		}
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
