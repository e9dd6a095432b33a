/*
 * analyze.c - what `inferscope analyze` says, for inferscope.analyzer, and the analysis for what else is made of one.
 */
#include <stdlib.h>

#include "engine.h"

#include "analyze/analysis.h"
#include "report/report.h"
#include "rules/rules_files.h"

/* What is to be analyzed, and how: lists of bytes. */
struct task {
	struct strings paths, patterns, rules; /* rules: the first are ours, or an empty path */
	const char *title; /* NULL: the first path */
};

static int analyze_timeline(const struct timeline *timeline, const struct task *task, struct rules *rules, const struct report_source *source,
			    engine_use use, void *arg, struct error *err)
{
	struct analysis_options how = { .thresholds = rules_thresholds(rules) };
	struct work_rules *classes = NULL;
	struct analysis *analysis = NULL;
	int rc = work_rules_new(&classes);

	for (size_t i = 0; i < task->patterns.count && rc == 0; i++)
		rc = work_rules_add(classes, task->patterns.list[i]);
	if (rc)
		error_set(err, rc, "a pattern of communication cannot be taken");
	how.rules = classes;
	rc = rc ? rc : analysis_run(&analysis, timeline, &how, err);
	rc = rc ? rc : rules_apply(rules, analysis, source, err);
	rc = rc ? rc : use(arg, analysis, source, err);
	analysis_free(analysis);
	work_rules_free(classes);
	return rc;
}

/* Without the lock of the interpreter. */
static int analyze_task(const struct task *task, struct rules *rules, engine_use use, void *arg, struct error *err)
{
	struct report_source source = { .path = task->title ? task->title : task->paths.list[0], .version = INFERSCOPE_VERSION };
	const struct timeline_options options = { 0 };
	struct trace_reader *reader = NULL;
	struct timeline *timeline = NULL;
	int rc;

	Py_BEGIN_ALLOW_THREADS
	rc = engine_open(&reader, &task->paths, true, &source.format, err);
	rc = rc ? rc : timeline_build(&timeline, reader, &options, err);
	rc = rc ? rc : analyze_timeline(timeline, task, rules, &source, use, arg, err);
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

static int read_rules(const struct task *task, struct rules **ret, struct error *err)
{
	char **list = task->rules.list;
	const struct rules_files files = {
		.ours = task->rules.count && list[0][0] ? list[0] : NULL,
		.asked = (const char *const *)list + 1,
		.count = task->rules.count ? task->rules.count - 1 : 0,
		.warn = warn_of_rules,
	};

	return rules_open(ret, &files, err);
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

static int analyze_lists(const struct engine_state *state, const struct task *task, engine_use use, void *arg)
{
	struct rules *rules = NULL;
	struct error err = { 0 };
	int rc;

	if (task->paths.count == 0) {
		PyErr_SetString(PyExc_ValueError, "there is no trace to analyze");
		return -1;
	}
	rc = read_rules(task, &rules, &err);
	if (rc == 0 && !PyErr_Occurred())
		rc = analyze_task(task, rules, use, arg, &err);
	rules_free(rules);
	if (rc && !PyErr_Occurred())
		raise_failure(state, task, &err);
	return PyErr_Occurred() ? -1 : 0;
}

int engine_analyze(const struct engine_state *state, const struct engine_lists *lists, const char *title, engine_use use, void *arg)
{
	struct task task = { .title = title };
	int rc = -1;

	if (strings_of(lists->paths, &task.paths) == 0 && strings_of(lists->patterns, &task.patterns) == 0 &&
	    strings_of(lists->rules, &task.rules) == 0)
		rc = analyze_lists(state, &task, use, arg);
	free(task.paths.list);
	free(task.patterns.list);
	free(task.rules.list);
	return rc;
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
