/*
 * analyze.c - what `inferscope analyze` says, for inferscope.analyzer.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine.h"

#include "analyze/analysis.h"
#include "import/temporary.h"
#include "report/report.h"

/* The strings of a list, which must live as long as they are used. */
struct strings {
	char **list;
	size_t count;
};

static int strings_of(PyObject *list, struct strings *ret)
{
	Py_ssize_t count = PyList_Size(list);

	if (count < 0)
		return -1;
	ret->list = calloc((size_t)count + 1, sizeof *ret->list);
	if (!ret->list) {
		PyErr_NoMemory();
		return -1;
	}
	for (; ret->count < (size_t)count; ret->count++)
		if (!(ret->list[ret->count] = PyBytes_AsString(PyList_GetItem(list, (Py_ssize_t)ret->count))))
			return -1;
	return 0;
}

static int open_imported(struct trace_reader **ret, const struct strings *paths, const char **ret_format, struct error *err)
{
	const struct import_options options = { .lean = true };
	struct import_reports reports = { 0 };
	struct import *im = NULL;
	int fd = temporary_open(err), copy = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int rc = copy < 0 ? -1 : import_open(&im, copy, &options, err);

	for (size_t i = 0; i < paths->count && rc == 0; i++)
		rc = import_add(im, paths->list[i], err);
	if (rc == 0)
		rc = import_close(im, &reports, err);
	else
		import_abandon(im);
	if (rc == 0 && reports.count)
		*ret_format = import_format_name(reports.files[0].format);
	import_reports_release(&reports);
	if (rc == 0)
		return trace_reader_open_fd(ret, fd, paths->list[0], err);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int open_any(struct trace_reader **ret, const struct strings *paths, const char **ret_format, struct error *err)
{
	const struct import_options options = { 0 };
	struct error ignored = { 0 };
	char damage[160];
	int fd;

	*ret_format = import_format_name(IMPORT_SBT);
	if (paths->count != 1 || import_detect(paths->list[0], &ignored) != IMPORT_SBT)
		return open_imported(ret, paths, ret_format, err);
	fd = temporary_unpacked(paths->list[0], &options, damage, err);
	return fd < 0 ? fd : trace_reader_open_fd(ret, fd, paths->list[0], err);
}

static int analyze_reader(struct trace_reader *reader, const struct strings *patterns, const struct report_source *source,
			  struct buffer *text, struct error *err)
{
	const struct timeline_options options = { 0 };
	struct analysis_options how = { 0 };
	struct work_rules *rules = NULL;
	struct timeline *timeline = NULL;
	struct analysis *analysis = NULL;
	int rc = work_rules_new(&rules);

	for (size_t i = 0; i < patterns->count && rc == 0; i++)
		rc = work_rules_add(rules, patterns->list[i]);
	if (rc)
		error_set(err, rc, "a pattern of communication cannot be taken");
	how.rules = rules;
	rc = rc ? rc : timeline_build(&timeline, reader, &options, err);
	rc = rc ? rc : analysis_run(&analysis, timeline, &how, err);
	rc = rc ? rc : report_json(analysis, source, text);
	analysis_free(analysis);
	timeline_free(timeline);
	work_rules_free(rules);
	return rc;
}

static PyObject *analyze_paths(const struct engine_state *state, const struct strings *paths, const struct strings *patterns)
{
	struct report_source source = { .path = paths->list[0] };
	struct trace_reader *reader = NULL;
	struct buffer text = BUFFER_INIT;
	struct error err = { 0 };
	PyObject *dict = NULL;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = open_any(&reader, paths, &source.format, &err);
	if (rc == 0)
		rc = analyze_reader(reader, patterns, &source, &text, &err);
	trace_reader_close(reader);
	Py_END_ALLOW_THREADS
	if (rc == 0)
		dict = from_json(&text);
	else if (err.code)
		raise_error(state, paths->list[0], &err);
	else
		PyErr_NoMemory();
	buffer_release(&text);
	return dict;
}

PyObject *analyze_traces(PyObject *module, PyObject *args)
{
	PyObject *paths, *patterns, *dict = NULL;
	struct strings files = { 0 }, rules = { 0 };

	if (!PyArg_ParseTuple(args, "OO:analyze", &paths, &patterns))
		return NULL;
	if (strings_of(paths, &files) == 0 && strings_of(patterns, &rules) == 0) {
		if (files.count)
			dict = analyze_paths(PyModule_GetState(module), &files, &rules);
		else
			PyErr_SetString(PyExc_ValueError, "there is no trace to analyze");
	}
	free(files.list);
	free(rules.list);
	return dict;
}
