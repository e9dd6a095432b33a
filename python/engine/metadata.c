/*
 * metadata.c - MessagePack as Python values.
 *
 * The bytes are checked before anything is made of them, so counts and depths
 * can be believed here.
 */
#include "engine.h"

#include "base/msgpack.h"

static PyObject *next_object(struct cursor *c);

static PyObject *array_object(struct cursor *c, uint32_t count)
{
	PyObject *list = PyList_New(0), *item;

	for (uint32_t i = 0; list && i < count; i++) {
		item = next_object(c);
		if (!item || PyList_Append(list, item) < 0)
			Py_CLEAR(list);
		Py_XDECREF(item);
	}
	return list;
}

/* What cannot be a key (a list, a map) becomes its text. */
static PyObject *next_key(struct cursor *c)
{
	PyObject *key = next_object(c), *text;

	if (!key || !(PyList_Check(key) || PyDict_Check(key)))
		return key;
	text = PyObject_Repr(key);
	Py_DECREF(key);
	return text;
}

static PyObject *map_object(struct cursor *c, uint32_t count)
{
	PyObject *dict = PyDict_New(), *key, *value;

	for (uint32_t i = 0; dict && i < count; i++) {
		key = next_key(c);
		value = key ? next_object(c) : NULL;
		if (!value || PyDict_SetItem(dict, key, value) < 0)
			Py_CLEAR(dict);
		Py_XDECREF(key);
		Py_XDECREF(value);
	}
	return dict;
}

static PyObject *next_object(struct cursor *c)
{
	struct msgpack_value v;

	if (msgpack_read(c, &v) < 0)
		Py_RETURN_NONE;
	switch (v.type) {
	case MSGPACK_BOOL:
		return PyBool_FromLong(v.boolean);
	case MSGPACK_INT:
		return PyLong_FromLongLong(v.integer);
	case MSGPACK_UINT:
		return PyLong_FromUnsignedLongLong(v.natural);
	case MSGPACK_DOUBLE:
		return PyFloat_FromDouble(v.number);
	case MSGPACK_STRING:
		return PyUnicode_DecodeUTF8((const char *)v.data, v.size, "replace");
	case MSGPACK_BYTES:
		return PyBytes_FromStringAndSize((const char *)v.data, v.size);
	case MSGPACK_ARRAY:
		return array_object(c, v.count);
	case MSGPACK_MAP:
		return map_object(c, v.count);
	default:
		Py_RETURN_NONE;
	}
}

PyObject *metadata_object(const uint8_t *data, size_t size)
{
	struct cursor c = cursor_of(data, size);

	if (msgpack_validate(data, size) != 0)
		Py_RETURN_NONE;
	return next_object(&c);
}
