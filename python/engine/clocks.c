/*
 * clocks.c - the fit of one clock to another, for inferscope.timeline.
 */
#include <errno.h>
#include <stdlib.h>

#include "engine.h"

#include "timeline/calls.h"
#include "timeline/clock_sync.h"

/* An integer, or None for a side that is not there. */
static int read_side(PyObject *tuple, Py_ssize_t i, int64_t none, int64_t *ret)
{
	PyObject *item = PySequence_GetItem(tuple, i);
	long long value = none;

	if (!item)
		return -1;
	if (item != Py_None)
		value = PyLong_AsLongLong(item);
	Py_DECREF(item);
	if (PyErr_Occurred())
		return -1;
	*ret = value;
	return 0;
}

static int read_sample(PyObject *object, struct clock_sample *ret)
{
	if (PySequence_Size(object) != 3) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_ValueError, "a sample is (host before, device, host after)");
		return -1;
	}
	return read_side(object, 0, CLOCK_NO_BEFORE, &ret->before) < 0 || read_side(object, 1, 0, &ret->device) < 0 ||
			       read_side(object, 2, CLOCK_NO_AFTER, &ret->after) < 0 ?
		       -1 :
		       0;
}

static struct clock_sample *read_samples(PyObject *list, size_t *ret_count)
{
	Py_ssize_t count = PyList_Size(list);
	struct clock_sample *samples = count < 0 ? NULL : calloc((size_t)count + 1, sizeof *samples);

	if (!samples) {
		if (!PyErr_Occurred())
			PyErr_NoMemory();
		return NULL;
	}
	for (Py_ssize_t i = 0; i < count; i++)
		if (read_sample(PyList_GetItem(list, i), &samples[i]) < 0) {
			free(samples);
			return NULL;
		}
	*ret_count = (size_t)count;
	return samples;
}

/* A list of (host, bound of its error). */
static PyObject *convert_times(const struct clock_sync *sync, PyObject *times)
{
	Py_ssize_t count = PyList_Size(times);
	PyObject *list = count < 0 ? NULL : PyList_New(count);

	for (Py_ssize_t i = 0; list && i < count; i++) {
		long long device = PyLong_AsLongLong(PyList_GetItem(times, i));
		PyObject *pair = device == -1 && PyErr_Occurred() ? NULL :
				 Py_BuildValue("Ld", (long long)clock_sync_host(sync, device), clock_sync_error(sync, device));

		if (!pair || PyList_SetItem(list, i, pair) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *segment_list(const struct clock_sync *sync)
{
	PyObject *list = PyList_New(0);

	for (size_t i = 0; list && i < clock_sync_segment_count(sync); i++) {
		const struct clock_segment *s = clock_sync_segment(sync, i);
		PyObject *dict = Py_BuildValue("{s:L,s:L,s:d,s:d,s:L,s:n}", "first_ns", (long long)s->first, "last_ns", (long long)s->last,
					       "slope", s->slope, "slope_error", s->slope_error, "offset_ns", (long long)s->offset_ns,
					       "samples", (Py_ssize_t)s->samples);

		if (!dict || PyList_Append(list, dict) < 0)
			Py_CLEAR(list);
		Py_XDECREF(dict);
	}
	return list;
}

static PyObject *fit_dict(const struct clock_sync *sync, PyObject *times)
{
	PyObject *dict = PyDict_New();

	if (dict && (put_text_key(dict, "times", convert_times(sync, times)) < 0 ||
		     put_text_key(dict, "segments", segment_list(sync)) < 0 ||
		     put_text_key(dict, "outliers", PyLong_FromSize_t(clock_sync_outliers(sync))) < 0))
		Py_CLEAR(dict);
	return dict;
}

PyObject *fit_clock(PyObject *module, PyObject *args, PyObject *names)
{
	static char *words[] = { "samples", "times", "nominal", "drift_ppm", NULL };
	struct clock_sync_options options = { .nominal = 1 };
	PyObject *list, *times, *dict = NULL;
	struct clock_sync *sync = NULL;
	struct clock_sample *samples;
	struct error err = { 0 };
	size_t count = 0;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, names, "O!O!|dd:fit_clock", words, &PyList_Type, &list, &PyList_Type, &times,
					 &options.nominal, &options.drift_ppm))
		return NULL;
	samples = read_samples(list, &count);
	if (!samples)
		return NULL;
	if (clock_sync_fit(&sync, samples, count, &options, &err) == 0)
		dict = fit_dict(sync, times);
	else if (err.code == -ENOMEM)
		PyErr_NoMemory();
	else
		PyErr_SetString(PyExc_ValueError, err.text);
	clock_sync_free(sync);
	free(samples);
	return dict;
}

PyObject *waits_for_device(PyObject *module, PyObject *name)
{
	PyObject *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8String(name) : NULL;
	bool waits;

	(void)module;
	if (!text) {
		if (!PyErr_Occurred())
			PyErr_SetString(PyExc_TypeError, "the name of a call is a string");
		return NULL;
	}
	waits = call_classify(PyBytes_AsString(text), (size_t)PyBytes_Size(text)) == CALL_SYNC_DEVICE;
	Py_DECREF(text);
	return PyBool_FromLong(waits);
}
