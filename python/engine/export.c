/*
 * export.c - traces in the formats of other tools, for inferscope.export().
 */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#include "base/file.h"
#include "export/export.h"
#include "rules/settings.h"
#include "timeline/timeline.h"

/* What Python asks for, in the order of the arguments. */
struct wish {
	PyObject *paths, *patterns, *rules;
	const char *output, *format, *kinds, *name, *weight;
	double from_ms, to_ms, shortest_us; /* from_ms negative: no window */
	long long first_step, last_step, thread, process, depth;
	int findings;

	struct settings *settings; /* of the analysis; NULL: no findings */
};

static int usage(struct error *err, const char *text, const char *what)
{
	err->exit_code = 2;
	return error_set(err, -EINVAL, text, what);
}

static int set_options(const struct wish *w, struct export_options *o, struct error *err)
{
	struct row_filter *filter = &o->filter;
	int rc = 0;

	filter->command = "export";
	filter->whole_scopes = true;
	filter->name = w->name;
	filter->thread = w->thread;
	filter->process = w->process;
	filter->depth = w->depth;
	filter->shortest_ns = (int64_t)(w->shortest_us * 1000);
	o->first_step = w->first_step;
	o->last_step = w->last_step;
	o->weight = strcmp(w->weight, "cpu") == 0 ? EXPORT_CPU : strcmp(w->weight, "gpu") == 0 ? EXPORT_GPU : EXPORT_WALL;
	if (w->from_ms >= 0)
		rc = row_filter_set_range(filter, w->from_ms, w->to_ms, err);
	if (rc == 0 && w->kinds)
		rc = row_filter_set_kinds(filter, w->kinds, err);
	return rc;
}

static int write_file(void *arg, const void *data, size_t size)
{
	const struct file_draft *draft = arg;

	return file_write_all(draft->fd, data, size);
}

static int write_trace(struct trace_reader *reader, const struct export_format *format, const struct export_options *options,
		       const char *path, struct error *err)
{
	struct file_draft draft = FILE_DRAFT_INIT;
	struct export_out out = { 0 };
	int rc = file_draft_open(&draft, path, err);

	rc = rc ? rc : export_out_init(&out, write_file, &draft, export_packing_of(format, path));
	rc = rc ? rc : export_trace(reader, format, options, &out, err);
	export_out_release(&out);
	if (rc == 0)
		return file_draft_commit(&draft, err);
	file_draft_discard(&draft);
	return err->code ? rc : error_errno(err, rc, "cannot write '%s'", path);
}

/* With what the analysis found, where that is wanted. */
static int export_reader(struct trace_reader *reader, const struct wish *w, const struct export_format *format,
			 struct export_options *options, const struct report_source *source, struct error *err)
{
	const struct timeline_options how = { .origins = w->depth >= 0 };
	struct timeline *timeline = NULL;
	struct analysis *analysis = NULL;
	int rc = 0;

	if (w->settings && format->findings) {
		rc = timeline_build(&timeline, reader, &how, err);
		rc = rc ? rc : settings_analyze(w->settings, timeline, source, &analysis, err);
		options->analysis = analysis;
	}
	rc = rc ? rc : write_trace(reader, format, options, w->output, err);
	analysis_free(analysis);
	timeline_free(timeline);
	return rc;
}

/* Without the lock of the interpreter. */
static int export_paths(const struct strings *paths, const struct wish *w, struct error *err)
{
	const struct export_format *format = w->format ? export_format_named(w->format) : export_format_of_file(w->output);
	struct export_options options = EXPORT_OPTIONS_INIT;
	struct trace_reader *reader = NULL;
	struct report_source source = { .path = paths->count ? paths->list[0] : "", .version = INFERSCOPE_VERSION };
	int rc;

	if (!format)
		return w->format ? usage(err, "there is no format '%.40s'", w->format) :
				   usage(err, "cannot tell the format from the name '%.200s'; give format", w->output);
	rc = set_options(w, &options, err);
	rc = rc ? rc : engine_open(&reader, paths, false, &source.format, err);
	rc = rc ? rc : export_reader(reader, w, format, &options, &source, err);
	trace_reader_close(reader);
	return rc;
}

PyObject *export_traces(PyObject *module, PyObject *args)
{
	struct strings paths = { 0 };
	struct error err = { 0 };
	struct wish w = { 0 };
	int rc;

	if (!PyArg_ParseTuple(args, "O!O!O!yzddLLzzLLLdsp:export", &PyList_Type, &w.paths, &PyList_Type, &w.patterns, &PyList_Type,
			      &w.rules, &w.output, &w.format, &w.from_ms, &w.to_ms, &w.first_step, &w.last_step, &w.kinds, &w.name,
			      &w.thread, &w.process, &w.depth, &w.shortest_us, &w.weight, &w.findings))
		return NULL;
	if (strings_of(w.paths, &paths) < 0 || (w.findings && engine_settings(&w.settings, w.patterns, w.rules) < 0)) {
		free(paths.list);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS
	rc = export_paths(&paths, &w, &err);
	Py_END_ALLOW_THREADS
	if (rc < 0 && err.exit_code == 2)
		PyErr_SetString(PyExc_ValueError, err.text);
	else if (rc < 0)
		raise_error(PyModule_GetState(module), paths.count ? paths.list[0] : "", &err);
	settings_free(w.settings);
	free(paths.list);
	if (rc < 0)
		return NULL;
	Py_RETURN_NONE;
}
