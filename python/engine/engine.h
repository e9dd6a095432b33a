/*
 * engine.h - inferscope._engine, the extension that reads traces, and the system.
 *
 *      module.c    the module: what Python calls
 *      events.c    a trace as a list of dictionaries
 *      rows.c      one row of `inferscope dump` as a dictionary
 *      metadata.c  MessagePack as Python values
 *      clocks.c    one clock fitted to another
 *      analyze.c   the analysis of traces
 *      report.c    reports and charts of it
 *      query.c     questions to them, in SQL
 *      export.c    the same traces for other tools
 *      open.c      opens them, of whatever format
 *      trackers.c  a process and what it may use, at the moment
 *      thread_list.c  its threads
 *      gpus.c      GPUs, at the moment
 *      operations.c, operation_log.c, operation_stats.c  how long operations of the program take
 *      pictures.c  charts of figures that Python has
 *
 * Of CPython it uses the stable ABI of 3.9, so that one file serves all.
 * Functions that return an object return NULL with an exception set.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/buffer.h"
#include "rows/row.h"
#include "trace/reader.h"

/* The keys of dictionaries are made once. */
enum key {
	KEY_EVENT_TYPE,
	KEY_PHASE,
	KEY_NAME,
	KEY_START_US,
	KEY_END_US,
	KEY_START_NS,
	KEY_END_NS,
	KEY_THREAD_ID,
	KEY_STREAM_ID,
	KEY_TASK_ID,
	KEY_TASK,
	KEY_TRACK,
	KEY_PROCESS_ID,
	KEY_CPU_ID,
	KEY_DEVICE_ID,
	KEY_HOST,
	KEY_DEPTH,
	KEY_MODULE,
	KEY_FUNCTION,
	KEY_FILE,
	KEY_LINE,
	KEY_VALUE,
	KEY_GRID_DIM,
	KEY_BLOCK_DIM,
	KEY_REASON,
	KEY_MEMORY_FROM,
	KEY_MEMORY_TO,
	KEY_METADATA,
	KEY_ENCLOSING,
	KEY_UNFINISHED,
	KEY_BEGIN_LOST,
	KEY_UNMATCHED,
	KEY_CONTINUES,
	KEY_GOES_ON,
	KEY_COUNT
};

struct engine_state {
	PyObject *error; /* inferscope.TraceError */
	PyObject *keys[KEY_COUNT];
	PyObject *fields[FIELD_LIMIT]; /* likewise, of the fields that are shown as they are; else NULL */
};

/* While a trace is being turned into objects: strings that have been made already. */
struct rows {
	const struct engine_state *state;
	const struct trace_reader *reader;
	PyObject **strings; /* by number */
	size_t count;
};
int rows_init(struct rows *rows, const struct engine_state *state, const struct trace_reader *reader);
void rows_release(struct rows *rows);
PyObject *rows_dict(struct rows *rows, const struct row *row);
PyObject *rows_string(struct rows *rows, uint32_t string); /* a new reference */

/* Keys for the state; 0 or -1 with an exception. */
int rows_make_keys(struct engine_state *state);

/* dict[key] = value, and lets go of the value; takes NULL as the failure it is. */
int put(PyObject *dict, PyObject *key, PyObject *value);
int put_text_key(PyObject *dict, const char *key, PyObject *value);

/* None when it is not MessagePack. */
PyObject *metadata_object(const uint8_t *data, size_t size);

/* A list of dictionaries in the order of their start; the enclosing one before what is inside it. */
struct events_request {
	bool windowed;
	int64_t from_ns, to_ns; /* since the start of the trace */
	Py_ssize_t limit;       /* negative: none */
};
PyObject *events_list(struct trace_reader *reader, const struct engine_state *state, const struct events_request *request);

/* The strings of a list of bytes, which must live as long as they are used; `list` is the caller's to free, also after a failure. */
struct strings {
	char **list;
	size_t count;
};
int strings_of(PyObject *list, struct strings *ret); /* 0, or -1 with an exception */

/* open.c: traces of any format, several of which are the ranks of one job; lean: without what no analysis looks at. */
struct error;
int engine_open(struct trace_reader **ret, const struct strings *paths, bool lean, const char **ret_format, struct error *err);

/* analyze.c: the analysis of traces.  `use` gets it without the lock of the interpreter and returns 0 or negative errno; `title`
 * stands for the path, unless NULL.  0, or -1 with an exception. */
struct engine_lists { /* of bytes */
	PyObject *paths, *patterns; /* of communication */
	PyObject *rules;            /* files; the first has ours, or is empty */
};
struct analysis;
struct report_source;
struct error;
typedef int (*engine_use)(void *arg, const struct analysis *a, const struct report_source *source, struct error *err);
int engine_analyze(const struct engine_state *state, const struct engine_lists *lists, const char *title, engine_use use, void *arg);

/* analyze.c: what analyses are made by: the user's files, patterns and rules as above.  0, or -1 with an exception. */
struct settings;
int engine_settings(struct settings **ret, PyObject *patterns, PyObject *rules);

/* module.c */
void raise_error(const struct engine_state *state, const char *path, const struct error *err);
PyObject *from_json(const struct buffer *text);

/* What module.c has in its table. */
PyObject *fit_clock(PyObject *module, PyObject *args, PyObject *names);
PyObject *waits_for_device(PyObject *module, PyObject *name);
PyObject *analyze_traces(PyObject *module, PyObject *args);
PyObject *report_traces(PyObject *module, PyObject *args);
PyObject *render_traces(PyObject *module, PyObject *args);
PyObject *render_analysis(PyObject *module, PyObject *args);
PyObject *chart_traces(PyObject *module, PyObject *args);
PyObject *query_traces(PyObject *module, PyObject *args);
PyObject *export_traces(PyObject *module, PyObject *args);
PyObject *ask_gpus(PyObject *module, PyObject *args);
PyObject *draw_pictures(PyObject *module, PyObject *args);

/* trackers.c: the type of meters into the module; 0, or -1 with an exception. */
int add_meter(PyObject *module);
/* operations.c: likewise. */
int add_operations(PyObject *module);
/* OSError of a negative errno value; NULL. */
PyObject *raise_errno(int rc);
/* The list with the item in it, of which it lets go; NULL, with an exception, in place of the list. */
PyObject *append(PyObject *list, PyObject *item);
/* thread_list.c: tuples of number, name, ns on a processor, ns in the queue for one, and state. */
PyObject *thread_list(pid_t pid);

#endif
