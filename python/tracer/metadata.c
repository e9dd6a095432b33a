/*
 * metadata.c - Python values as MessagePack.
 *
 * What does not fit is left out, whole; the map then has "..." as its last
 * key.  What is not JSON-able is kept as its repr.
 */
#include <string.h>

#include "tracer.h"

#define DEPTH_MAX 16
#define REPR_MAX 200 /* characters */

struct writer {
	uint8_t *out;
	size_t size, room;
	bool cut;
};

static bool put(struct writer *w, const void *bytes, size_t size)
{
	if (size > w->room - w->size) {
		w->cut = true;
		return false;
	}
	memcpy(w->out + w->size, bytes, size);
	w->size += size;
	return true;
}

/* A type byte and a number of some bytes after it, most significant first. */
static bool put_number(struct writer *w, uint8_t type, uint64_t value, int bytes)
{
	uint8_t text[9];

	text[0] = type;
	for (int i = 0; i < bytes; i++)
		text[1 + i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
	return put(w, text, (size_t)bytes + 1);
}

static bool put_text(struct writer *w, const char *text, size_t size)
{
	size_t before = w->size;

	if (put_number(w, 0xda, size, 2) && put(w, text, size))
		return true;
	w->size = before;
	return false;
}

static bool put_unicode(struct writer *w, PyObject *text)
{
	Py_ssize_t size;
	const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
	PyObject *replaced;
	bool done;

	if (bytes)
		return size <= 0xffff ? put_text(w, bytes, (size_t)size) : !(w->cut = true);
	PyErr_Clear(); /* lone surrogates */
	replaced = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
	if (!replaced) {
		PyErr_Clear();
		return put_text(w, "?", 1);
	}
	done = PyBytes_GET_SIZE(replaced) <= 0xffff && put_text(w, PyBytes_AS_STRING(replaced), (size_t)PyBytes_GET_SIZE(replaced));
	w->cut |= !done;
	Py_DECREF(replaced);
	return done;
}

static bool put_repr(struct writer *w, PyObject *value)
{
	PyObject *repr = PyObject_Repr(value), *cut;
	bool done;

	if (!repr) {
		PyErr_Clear();
		return put_text(w, "<no repr>", 9);
	}
	cut = PyUnicode_Substring(repr, 0, REPR_MAX);
	done = cut && put_unicode(w, cut);
	PyErr_Clear();
	Py_XDECREF(cut);
	Py_DECREF(repr);
	return done;
}

static bool put_integer(struct writer *w, PyObject *value)
{
	int overflow;
	long long number = PyLong_AsLongLongAndOverflow(value, &overflow);

	if (overflow)
		return put_repr(w, value);
	return put_number(w, 0xd3, (uint64_t)number, 8);
}

static bool put_float(struct writer *w, PyObject *value)
{
	double number = PyFloat_AS_DOUBLE(value);
	uint64_t bits;

	memcpy(&bits, &number, sizeof bits);
	return put_number(w, 0xcb, bits, 8);
}

static bool put_value(struct writer *w, PyObject *value, int depth);

/* The header of a list or map is written when it is known how much of it fitted. */
static void set_count(struct writer *w, size_t at, uint8_t type, uint32_t count)
{
	w->out[at] = type;
	w->out[at + 1] = (uint8_t)(count >> 8);
	w->out[at + 2] = (uint8_t)count;
}

static bool put_list(struct writer *w, PyObject *list, int depth)
{
	PyObject *items = PySequence_Fast(list, "");
	size_t at = w->size;
	uint32_t count = 0;

	if (!items || !put_number(w, 0xdc, 0, 2)) {
		PyErr_Clear();
		Py_XDECREF(items);
		return false;
	}
	for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items) && count < 0xffff; i++, count++)
		if (!put_value(w, PySequence_Fast_GET_ITEM(items, i), depth + 1))
			break;
	set_count(w, at, 0xdc, count);
	Py_DECREF(items);
	return true;
}

static bool put_pair(struct writer *w, PyObject *key, PyObject *value, int depth)
{
	size_t before = w->size;

	if ((PyUnicode_Check(key) ? put_unicode(w, key) : put_repr(w, key)) && put_value(w, value, depth + 1))
		return true;
	w->size = before;
	return false;
}

static bool put_map(struct writer *w, PyObject *map, int depth)
{
	PyObject *items = PyDict_Items(map); /* a repr could change the dictionary under us */
	size_t at = w->size;
	uint32_t count = 0;

	if (!items || !put_number(w, 0xde, 0, 2)) {
		PyErr_Clear();
		Py_XDECREF(items);
		return false;
	}
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items) && count < 0xfffe; i++) {
		PyObject *pair = PyList_GET_ITEM(items, i);

		count += put_pair(w, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1), depth);
	}
	set_count(w, at, 0xde, count);
	Py_DECREF(items);
	return true;
}

static bool put_value(struct writer *w, PyObject *value, int depth)
{
	if (value == Py_None)
		return put_number(w, 0xc0, 0, 0);
	if (PyBool_Check(value))
		return put_number(w, value == Py_True ? 0xc3 : 0xc2, 0, 0);
	if (PyLong_Check(value))
		return put_integer(w, value);
	if (PyFloat_Check(value))
		return put_float(w, value);
	if (PyUnicode_Check(value))
		return put_unicode(w, value);
	if (depth < DEPTH_MAX && PyDict_Check(value))
		return put_map(w, value, depth);
	if (depth < DEPTH_MAX && (PyList_Check(value) || PyTuple_Check(value)))
		return put_list(w, value, depth);
	return put_repr(w, value);
}

/* Always a map: anything else becomes its one value. */
size_t tracer_metadata(uint8_t *out, size_t size, PyObject *metadata)
{
	static const uint8_t mark[] = { 0xa3, '.', '.', '.', 0xc3 }; /* "...": true */
	struct writer w = { out, 0, size - sizeof mark, false };
	PyObject *type, *value, *traceback;
	uint32_t count;

	PyErr_Fetch(&type, &value, &traceback);
	if (PyDict_Check(metadata)) {
		(void)put_map(&w, metadata, 0);
	} else {
		(void)put_number(&w, 0xde, 0, 2);
		set_count(&w, 0, 0xde, put_text(&w, "value", 5) && put_value(&w, metadata, 1));
	}
	if (w.cut) {
		count = (uint32_t)out[1] << 8 | out[2];
		memcpy(out + w.size, mark, sizeof mark);
		w.size += sizeof mark;
		set_count(&w, 0, 0xde, count + 1);
	}
	PyErr_Restore(type, value, traceback);
	return w.size;
}
