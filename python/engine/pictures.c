/*
 * pictures.c - charts of figures that Python has, drawn as those of an analysis are.
 */
#include <errno.h>
#include <string.h>

#include "engine.h"

#include "base/error.h"
#include "chart/chart.h"

#define PICTURES_MOST 8
#define BARS_MOST 50
#define POINTS_MOST 20000

/* Names of inks that Python may ask for. */
static const struct {
	const char *name;
	enum chart_ink ink;
} inks[] = {
	{ "high", INK_HIGH }, { "medium", INK_MEDIUM }, { "low", INK_LOW }, { "compute", INK_COMPUTE }, { "wait", INK_WAIT },
};

static enum chart_ink ink_of(const char *name)
{
	for (size_t i = 0; i < sizeof inks / sizeof inks[0]; i++)
		if (strcmp(inks[i].name, name) == 0)
			return inks[i].ink;
	return INK_COMPUTE;
}

static int no_memory(int rc)
{
	if (rc < 0)
		PyErr_NoMemory();
	return rc < 0 ? -1 : 0;
}

static int refuse(const char *text)
{
	PyErr_SetString(PyExc_ValueError, text);
	return -1;
}

/* ---- Bars ------------------------------------------------------------------- */

static int put_bar(struct chart *c, PyObject *row)
{
	const char *label, *ink;
	struct chart_bar *bar;
	double value;

	if (!PyArg_ParseTuple(row, "sds", &label, &value, &ink))
		return -1;
	if (no_memory(chart_add_bar(c, label, strlen(label), value, &bar)) < 0)
		return -1;
	bar->ink = ink_of(ink);
	return 0;
}

/* ---- Lines ------------------------------------------------------------------- */

static int put_points(struct chart_line *line, PyObject *xs, PyObject *ys)
{
	Py_ssize_t count = PyList_Size(xs);

	if (count < 0 || PyList_Size(ys) != count || count > POINTS_MOST)
		return PyErr_Occurred() ? -1 : refuse("a line has as many x as y, and not too many");
	for (Py_ssize_t i = 0; i < count; i++) {
		double x = PyFloat_AsDouble(PyList_GetItem(xs, i)), y = PyFloat_AsDouble(PyList_GetItem(ys, i));

		if (PyErr_Occurred() || no_memory(chart_add_point(line, x, y)) < 0)
			return -1;
	}
	return 0;
}

static int put_line(struct chart_panel *panel, PyObject *row)
{
	struct chart_line *line;
	PyObject *xs, *ys;
	const char *label;

	if (!PyArg_ParseTuple(row, "sOO", &label, &xs, &ys))
		return -1;
	if (panel->line_count == CHART_LINES)
		return refuse("a panel has too many lines");
	if (no_memory(chart_add_line(panel, label, strlen(label), &line)) < 0)
		return -1;
	line->steps = true;
	return put_points(line, xs, ys);
}

static int put_panel(struct chart *c, PyObject *row)
{
	struct chart_panel *panel;
	const char *title;
	PyObject *lines;
	double least;
	int rc;

	if (!PyArg_ParseTuple(row, "sdO", &title, &least, &lines))
		return -1;
	if (c->panel_count == CHART_PANELS || PyList_Size(lines) < 0)
		return PyErr_Occurred() ? -1 : refuse("a chart has too many panels");
	rc = no_memory(chart_add_panel(c, title, strlen(title), &panel));
	if (rc == 0)
		panel->least = least;
	for (Py_ssize_t i = 0; rc == 0 && i < PyList_Size(lines); i++)
		rc = put_line(panel, PyList_GetItem(lines, i));
	return rc;
}

/* ---- A chart ------------------------------------------------------------------ */

/* Its words are those of the tuple, which outlives it. */
static int chart_of(struct chart *c, PyObject *row)
{
	PyObject *bars, *panels;
	Py_ssize_t count;
	int rc = 0;

	if (!PyArg_ParseTuple(row, "sssdiOO", &c->title, &c->axis, &c->nothing, &c->full, &c->digits, &bars, &panels))
		return -1;
	if (PyList_Size(bars) < 0 || PyList_Size(panels) < 0)
		return -1;
	count = PyList_Size(bars);
	c->form = PyList_Size(panels) ? CHART_LINED : CHART_BARS;
	c->left_out = count > BARS_MOST ? (size_t)count - BARS_MOST : 0;
	for (Py_ssize_t i = 0; rc == 0 && i < count && i < BARS_MOST; i++)
		rc = put_bar(c, PyList_GetItem(bars, i));
	for (Py_ssize_t i = 0; rc == 0 && i < PyList_Size(panels); i++)
		rc = put_panel(c, PyList_GetItem(panels, i));
	return rc;
}

static PyObject *bytes_of(const struct chart *first, enum chart_format format)
{
	struct buffer text = BUFFER_INIT;
	struct error err = { 0 };
	PyObject *bytes = NULL;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = chart_append(format, first, &text, &err);
	Py_END_ALLOW_THREADS
	if (rc == 0)
		bytes = PyBytes_FromStringAndSize((const char *)text.data, (Py_ssize_t)text.size);
	else if (rc == -ENOMEM)
		PyErr_NoMemory();
	else
		PyErr_SetString(PyExc_RuntimeError, err.text);
	buffer_release(&text);
	return bytes;
}

static int format_of(const char *name)
{
	for (int i = 0; chart_formats[i]; i++)
		if (strcmp(chart_formats[i], name) == 0)
			return i;
	return refuse("charts are svg or png");
}

PyObject *draw_pictures(PyObject *module, PyObject *args)
{
	struct chart charts[PICTURES_MOST] = { 0 };
	PyObject *list, *bytes = NULL;
	const char *name;
	Py_ssize_t count;
	int format, rc = 0;

	(void)module;
	if (!PyArg_ParseTuple(args, "Os:draw", &list, &name) || (format = format_of(name)) < 0 || (count = PyList_Size(list)) < 0)
		return NULL;
	if (count < 1 || count > PICTURES_MOST) {
		refuse("a picture has one to eight charts");
		return NULL;
	}
	for (Py_ssize_t i = 0; i < count && rc == 0; i++) {
		rc = chart_of(&charts[i], PyList_GetItem(list, i));
		charts[i].below = i + 1 < count ? &charts[i + 1] : NULL;
	}
	if (rc == 0)
		bytes = bytes_of(&charts[0], (enum chart_format)format);
	for (Py_ssize_t i = 0; i < count; i++)
		chart_release(&charts[i]);
	return bytes;
}
