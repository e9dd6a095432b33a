/*
 * analyze.c - what `inferscope analyze` says, for inferscope.analyzer, and the analysis for what else is made of one.
 */
#include <stdlib.h>

#include "engine.h"

#include "analyze/analysis.h"
#include "report/report.h"
#include "rules/settings.h"

/* What is to be analyzed. */
struct task {
	struct strings paths;
	const char *title; /* NULL: the first path */
};

/* Without the lock of the interpreter. */
static int analyze_task(const struct task *task, const struct settings *settings, engine_use use, void *arg, struct error *err)
{
	struct report_source source = { .path = task->title ? task->title : task->paths.list[0], .version = INFERSCOPE_VERSION };
	const struct timeline_options options = { 0 };
	struct trace_reader *reader = NULL;
	struct timeline *timeline = NULL;
	struct analysis *analysis = NULL;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = engine_open(&reader, &task->paths, true, &source.format, err);
	rc = rc ? rc : timeline_build(&timeline, reader, &options, err);
	rc = rc ? rc : settings_analyze(settings, timeline, &source, &analysis, err);
	rc = rc ? rc : use(arg, analysis, &source, err);
	analysis_free(analysis);
	timeline_free(timeline);
	trace_reader_close(reader);
	Py_END_ALLOW_THREADS
	return rc;
}

/* With the lock of the interpreter; a warning may be an exception. */
static void warn_of_rules(const char *path, const char *reason)
{
	(void)PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "%s is ignored: %s", path, reason);
}

static void warn_of_config(const char *sentence)
{
	(void)PyErr_WarnEx(PyExc_RuntimeWarning, sentence, 1);
}

int engine_settings(struct settings **ret, PyObject *patterns, PyObject *rules)
{
	struct strings asked = { 0 }, files = { 0 };
	struct error err = { 0 };
	int rc = strings_of(patterns, &asked) < 0 || strings_of(rules, &files) < 0 ? -1 : 0;

	if (rc == 0) {
		const struct settings_request request = {
			.rules = { .ours = files.count && files.list[0][0] ? files.list[0] : NULL,
				   .asked = (const char *const *)files.list + 1,
				   .count = files.count ? files.count - 1 : 0,
				   .warn = warn_of_rules },
			.communication = (const char *const *)asked.list,
			.communication_count = asked.count,
			.warn = warn_of_config,
		};

		rc = settings_open(ret, &request, &err);
		if (rc < 0 && !PyErr_Occurred())
			PyErr_SetString(err.exit_code == 2 ? PyExc_ValueError : PyExc_RuntimeError, err.text);
	}
	free(asked.list);
	free(files.list);
	if (rc == 0 && PyErr_Occurred()) {
		settings_free(*ret);
		*ret = NULL;
	}
	return PyErr_Occurred() ? -1 : rc;
}

static void raise_failure(const struct engine_state *state, const struct task *task, const struct error *err)
{
	if (err->exit_code == 2) /* a template, a rule */
		PyErr_SetString(PyExc_ValueError, err->text);
	else if (err->exit_code == 4)
		PyErr_SetString(PyExc_RuntimeError, err->text);
	else if (err->code)
		raise_error(state, task->paths.list[0], err);
	else
		PyErr_NoMemory();
}

int engine_analyze(const struct engine_state *state, const struct engine_lists *lists, const char *title, engine_use use, void *arg)
{
	struct task task = { .title = title };
	struct settings *settings = NULL;
	struct error err = { 0 };
	int rc = strings_of(lists->paths, &task.paths);

	if (rc == 0 && task.paths.count == 0) {
		PyErr_SetString(PyExc_ValueError, "there is no trace to analyze");
		rc = -1;
	}
	rc = rc ? rc : engine_settings(&settings, lists->patterns, lists->rules);
	if (rc == 0) {
		rc = analyze_task(&task, settings, use, arg, &err);
		if (rc < 0)
			raise_failure(state, &task, &err);
	}
	settings_free(settings);
	free(task.paths.list);
	return rc < 0 ? -1 : 0;
}

static int use_as_json(void *arg, const struct analysis *a, const struct report_source *source, struct error *err)
{
	(void)err;
	return report_json(a, source, arg);
}

PyObject *analyze_traces(PyObject *module, PyObject *args)
{
	struct buffer text = BUFFER_INIT;
	struct engine_lists lists;
	PyObject *dict = NULL;

	if (!PyArg_ParseTuple(args, "OOO:analyze", &lists.paths, &lists.patterns, &lists.rules))
		return NULL;
	if (engine_analyze(PyModule_GetState(module), &lists, NULL, use_as_json, &text) == 0)
		dict = from_json(&text);
	buffer_release(&text);
	return dict;
}
