/*
 * report.c - the reports and charts that `inferscope analyze` writes, for inferscope.reporter.
 */
#include <errno.h>
#include <string.h>

#include "engine.h"

#include "chart/chart.h"
#include "cmd/report_formats.h"

/* The place of a text in a list, or -1 with an exception. */
static int index_of(const char *text, const char *const *list, const char *what)
{
	for (int i = 0; list[i]; i++)
		if (strcmp(list[i], text) == 0)
			return i;
	PyErr_Format(PyExc_ValueError, "there is no %s '%s'", what, text);
	return -1;
}

/* Bytes, or None for NULL; false with an exception. */
static bool title_of(PyObject *object, const char **ret)
{
	*ret = object == Py_None ? NULL : PyBytes_AsString(object);
	return *ret || object == Py_None;
}

static PyObject *bytes_of(const struct buffer *text)
{
	return PyBytes_FromStringAndSize((const char *)text->data, (Py_ssize_t)text->size);
}

/* ---- Reports of ours --------------------------------------------------------------- */

struct report {
	int format;
	struct buffer text;
};

static int use_as_report(void *arg, const struct analysis *a, const struct report_source *source, struct error *err)
{
	const struct report_text_options options = { 0 };
	const struct page_options page = { 0 };
	struct report *report = arg;

	(void)err;
	return report_append((enum report_format)report->format, a, source, &options, &page, &report->text);
}

PyObject *report_traces(PyObject *module, PyObject *args)
{
	PyObject *name, *bytes = NULL;
	struct engine_lists lists;
	struct report report = { .text = BUFFER_INIT };
	const char *title, *format;

	if (!PyArg_ParseTuple(args, "OOOOs:report", &lists.paths, &lists.patterns, &lists.rules, &name, &format) || !title_of(name, &title))
		return NULL;
	report.format = index_of(format, report_formats, "format");
	if (report.format >= 0 && engine_analyze(PyModule_GetState(module), &lists, title, use_as_report, &report) == 0)
		bytes = bytes_of(&report.text);
	buffer_release(&report.text);
	return bytes;
}

/* ---- After a template ---------------------------------------------------------------- */

static const char *const template_formats[] = { [TEMPLATE_MARKDOWN] = "md", [TEMPLATE_HTML] = "html", NULL };

struct rendering {
	const struct template *template;
	struct buffer text;
};

static int use_as_template(void *arg, const struct analysis *a, const struct report_source *source, struct error *err)
{
	struct rendering *r = arg;

	return report_append_template(r->template, a, source, &r->text, err);
}

/* The template of an object of bytes; NULL with an exception. */
static struct template *parse(PyObject *bytes, const char *name, int format)
{
	struct template *t = NULL;
	struct error err = { 0 };
	Py_ssize_t size;
	char *text;

	if (PyBytes_AsStringAndSize(bytes, &text, &size) < 0)
		return NULL;
	if (template_parse(&t, name, text, (size_t)size, (enum template_format)format, &err) == 0)
		return t;
	if (err.code == -ENOMEM)
		PyErr_NoMemory();
	else
		PyErr_SetString(PyExc_ValueError, err.text);
	return NULL;
}

PyObject *render_traces(PyObject *module, PyObject *args)
{
	PyObject *whole, *text, *bytes = NULL;
	struct engine_lists lists;
	const char *title, *format, *name;
	struct rendering r = { .text = BUFFER_INIT };
	struct template *t;
	int index;

	if (!PyArg_ParseTuple(args, "OOOOssO:render", &lists.paths, &lists.patterns, &lists.rules, &whole, &format, &name, &text) ||
	    !title_of(whole, &title))
		return NULL;
	index = index_of(format, template_formats, "format of templates");
	t = index < 0 ? NULL : parse(text, name, index);
	r.template = t;
	if (t && engine_analyze(PyModule_GetState(module), &lists, title, use_as_template, &r) == 0)
		bytes = bytes_of(&r.text);
	template_free(t);
	buffer_release(&r.text);
	return bytes;
}

/* Of an analysis alone, as JSON. */
PyObject *render_analysis(PyObject *module, PyObject *args)
{
	PyObject *json, *text, *bytes = NULL;
	const char *format, *name;
	struct buffer out = BUFFER_INIT;
	struct error err = { 0 };
	struct template *t;
	int index;

	(void)module;
	if (!PyArg_ParseTuple(args, "SssS:render_analysis", &json, &format, &name, &text))
		return NULL;
	index = index_of(format, template_formats, "format of templates");
	t = index < 0 ? NULL : parse(text, name, index);
	if (t && template_render(t, PyBytes_AsString(json), (size_t)PyBytes_Size(json), &out, &err) == 0)
		bytes = bytes_of(&out);
	else if (t && err.code == -ENOMEM)
		PyErr_NoMemory();
	else if (t)
		PyErr_SetString(PyExc_ValueError, err.text);
	template_free(t);
	buffer_release(&out);
	return bytes;
}

/* ---- Charts --------------------------------------------------------------------------- */

#define CHARTS_MOST 32

struct pictures {
	int format;
	struct buffer list[CHARTS_MOST];
	size_t count;
};

static int use_as_charts(void *arg, const struct analysis *a, const struct report_source *source, struct error *err)
{
	struct pictures *p = arg;
	struct chart chart;
	int rc = 0;

	(void)source;
	while (p->count < chart_count() && p->count < CHARTS_MOST && rc == 0) {
		rc = chart_make(&chart, p->count, a);
		if (rc < 0)
			break;
		rc = chart_append((enum chart_format)p->format, &chart, &p->list[p->count++], err);
		chart_release(&chart);
	}
	return rc;
}

static PyObject *pictures_dict(const struct pictures *p)
{
	PyObject *dict = PyDict_New();

	for (size_t i = 0; dict && i < p->count; i++)
		if (put_text_key(dict, chart_name(i), bytes_of(&p->list[i])) < 0)
			Py_CLEAR(dict);
	return dict;
}

PyObject *chart_traces(PyObject *module, PyObject *args)
{
	PyObject *dict = NULL;
	struct engine_lists lists;
	struct pictures pictures = { 0 };
	const char *format;

	if (!PyArg_ParseTuple(args, "OOOs:charts", &lists.paths, &lists.patterns, &lists.rules, &format))
		return NULL;
	pictures.format = index_of(format, chart_formats, "format of charts");
	if (pictures.format >= 0 && engine_analyze(PyModule_GetState(module), &lists, NULL, use_as_charts, &pictures) == 0)
		dict = pictures_dict(&pictures);
	for (size_t i = 0; i < pictures.count; i++)
		buffer_release(&pictures.list[i]);
	return dict;
}
