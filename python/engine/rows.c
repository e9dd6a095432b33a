/*
 * rows.c - one row of `inferscope dump` as a dictionary.
 *
 * The names are those of its JSON, with two differences that suit programs:
 * start_us and end_us are whole and always there, and start_ns and end_ns have
 * the nanoseconds.  An event without a duration ends when it starts.
 */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define BIT(field) (UINT64_C(1) << (field))
#define GRID (BIT(FIELD_GRID_X) | BIT(FIELD_GRID_Y) | BIT(FIELD_GRID_Z))
#define BLOCK (BIT(FIELD_BLOCK_X) | BIT(FIELD_BLOCK_Y) | BIT(FIELD_BLOCK_Z))

static const char *const key_names[KEY_COUNT] = {
	[KEY_EVENT_TYPE] = "event_type", [KEY_PHASE] = "phase",         [KEY_NAME] = "name",
	[KEY_START_US] = "start_us",     [KEY_END_US] = "end_us",       [KEY_START_NS] = "start_ns",
	[KEY_END_NS] = "end_ns",         [KEY_THREAD_ID] = "thread_id", [KEY_STREAM_ID] = "stream_id",
	[KEY_TASK_ID] = "task_id",       [KEY_TASK] = "task",           [KEY_PROCESS_ID] = "process_id",
	[KEY_CPU_ID] = "cpu_id",         [KEY_DEVICE_ID] = "device_id", [KEY_HOST] = "host",
	[KEY_DEPTH] = "depth",           [KEY_MODULE] = "module",       [KEY_FUNCTION] = "function",
	[KEY_FILE] = "file",             [KEY_LINE] = "line",           [KEY_VALUE] = "value",
	[KEY_GRID_DIM] = "grid_dim",     [KEY_BLOCK_DIM] = "block_dim", [KEY_REASON] = "reason",
	[KEY_MEMORY_FROM] = "memory_from", [KEY_MEMORY_TO] = "memory_to",
	[KEY_METADATA] = "metadata",     [KEY_ENCLOSING] = "enclosing", [KEY_UNFINISHED] = "unfinished",
	[KEY_BEGIN_LOST] = "begin_lost", [KEY_UNMATCHED] = "unmatched", [KEY_CONTINUES] = "continues",
	[KEY_GOES_ON] = "goes_on",     [KEY_TRACK] = "track",
};

int rows_make_keys(struct engine_state *state)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (!(state->keys[i] = PyUnicode_InternFromString(key_names[i])))
			return -1;
	for (unsigned i = 0; i < FIELD_LIMIT; i++)
		if (row_field_name(i) && !(state->fields[i] = PyUnicode_InternFromString(row_field_name(i))))
			return -1;
	return 0;
}

int put(PyObject *dict, PyObject *key, PyObject *value)
{
	int rc = value ? PyDict_SetItem(dict, key, value) : -1;

	Py_XDECREF(value);
	return rc;
}

int put_text_key(PyObject *dict, const char *key, PyObject *value)
{
	int rc = value ? PyDict_SetItemString(dict, key, value) : -1;

	Py_XDECREF(value);
	return rc;
}

/* ---- Strings ------------------------------------------------------------------ */

int rows_init(struct rows *rows, const struct engine_state *state, const struct trace_reader *reader)
{
	*rows = (struct rows){ .state = state, .reader = reader, .count = trace_reader_string_count(reader) };
	rows->strings = calloc(rows->count + 1, sizeof *rows->strings);
	if (rows->strings)
		return 0;
	PyErr_NoMemory();
	return -1;
}

void rows_release(struct rows *rows)
{
	for (size_t i = 0; rows->strings && i < rows->count; i++)
		Py_XDECREF(rows->strings[i]);
	free(rows->strings);
	rows->strings = NULL;
}

PyObject *rows_string(struct rows *rows, uint32_t string)
{
	size_t size;
	const char *text = trace_reader_string(rows->reader, string, &size);

	if (string >= rows->count)
		return PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
	if (!rows->strings[string])
		rows->strings[string] = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
	Py_XINCREF(rows->strings[string]);
	return rows->strings[string];
}

/* ---- Parts of a row ------------------------------------------------------------ */

struct making {
	struct rows *rows;
	const struct row *row;
	PyObject *dict;
};

static int set(struct making *m, enum key key, PyObject *value)
{
	return put(m->dict, m->rows->state->keys[key], value);
}

static int set_number(struct making *m, enum key key, uint64_t value)
{
	return set(m, key, PyLong_FromUnsignedLongLong(value));
}

/* Text of the trace, where it has any. */
static int set_text(struct making *m, enum key key, uint32_t string)
{
	return string ? set(m, key, rows_string(m->rows, string)) : 0;
}

static int64_t whole_us(int64_t ns)
{
	return ns / 1000 - (ns % 1000 < 0);
}

static int set_times(struct making *m)
{
	const struct row *row = m->row;
	bool has_end = row->has_end || (row->flags & (ROW_UNFINISHED | ROW_CONTINUES));
	int64_t start = row->has_start ? row->start_ns : row->end_ns, end = has_end ? row->end_ns : start;

	if (end < start) /* a clock that was fitted with little to go by */
		end = start;
	if (set(m, KEY_START_US, PyLong_FromLongLong(whole_us(start))) < 0 ||
	    set(m, KEY_END_US, PyLong_FromLongLong(whole_us(end))) < 0 ||
	    set(m, KEY_START_NS, PyLong_FromLongLong(start)) < 0)
		return -1;
	return set(m, KEY_END_NS, PyLong_FromLongLong(end));
}

static int set_track(struct making *m, const struct trace_track *track)
{
	const struct trace_track *parent;

	switch (track->kind) {
	case TRACK_THREAD:
	case TRACK_STATES:
		return set_number(m, KEY_THREAD_ID, track->os_id);
	case TRACK_STREAM:
		return set_number(m, KEY_STREAM_ID, track->os_id);
	case TRACK_TASK: /* and the thread that it was first seen in */
		parent = track->parent < 0 ? NULL : trace_reader_track(m->rows->reader, (uint32_t)track->parent);
		if (parent && parent->kind == TRACK_THREAD && set_number(m, KEY_THREAD_ID, parent->os_id) < 0)
			return -1;
		return set_number(m, KEY_TASK_ID, track->os_id) < 0 ? -1 : set_text(m, KEY_TASK, track->name);
	default:
		return 0;
	}
}

static int set_outside(struct making *m, const struct trace_track *track)
{
	const char *name = row_outside(track);

	return name ? set(m, KEY_TRACK, PyUnicode_InternFromString(name)) : 0;
}

static int set_host(struct making *m, const struct trace_process *process)
{
	const struct trace_host *host = trace_reader_host(m->rows->reader, process->host);

	return host && trace_reader_host_count(m->rows->reader) > 1 ? set_text(m, KEY_HOST, host->name) : 0;
}

static int set_place(struct making *m)
{
	const struct trace_reader *reader = m->rows->reader;
	const struct trace_track *track = trace_reader_track(reader, m->row->track);
	const struct trace_process *process;
	const struct trace_device *device;

	if (!track)
		return 0;
	process = track->process < 0 ? NULL : trace_reader_process(reader, (uint32_t)track->process);
	device = track->device < 0 ? NULL : trace_reader_device(reader, (uint32_t)track->device);
	if (set_track(m, track) < 0 || set_outside(m, track) < 0)
		return -1;
	if (process && (set_number(m, KEY_PROCESS_ID, process->pid) < 0 || set_host(m, process) < 0))
		return -1;
	if (device && set_number(m, KEY_DEVICE_ID, device->index) < 0)
		return -1;
	if (track->kind != TRACK_THREAD && track->kind != TRACK_TASK)
		return 0;
	return set(m, KEY_CPU_ID, PyLong_FromLong(m->row->cpu == EVENT_CPU_UNKNOWN ? -1 : m->row->cpu));
}

static int set_function(struct making *m)
{
	const struct trace_frame *frame = trace_reader_function(m->rows->reader, m->row->name);

	if (!frame)
		return 0;
	if (set_text(m, KEY_MODULE, frame->module) < 0 || set_text(m, KEY_FUNCTION, frame->function) < 0 ||
	    set_text(m, KEY_FILE, frame->file) < 0)
		return -1;
	return frame->line ? set_number(m, KEY_LINE, frame->line) : 0;
}

static PyObject *triple(const uint64_t *xyz)
{
	return Py_BuildValue("[KKK]", (unsigned long long)xyz[0], (unsigned long long)xyz[1], (unsigned long long)xyz[2]);
}

static int set_value(struct making *m)
{
	double value;

	if (m->row->present & BIT(FIELD_VALUE)) {
		memcpy(&value, &m->row->field[FIELD_VALUE], sizeof value);
		return set(m, KEY_VALUE, PyFloat_FromDouble(value));
	}
	if (m->row->present & BIT(FIELD_INTEGER))
		return set(m, KEY_VALUE, PyLong_FromLongLong((int64_t)m->row->field[FIELD_INTEGER]));
	return 0;
}

static int set_reason(struct making *m)
{
	uint64_t reason = m->row->field[FIELD_REASON];
	const char *name = reason < LOST_REASON_COUNT ? event_lost_reason_name((unsigned)reason) : NULL;

	return name ? set(m, KEY_REASON, PyUnicode_FromString(name)) : set_number(m, KEY_REASON, reason);
}

/* Nothing is said about memory of unknown kind. */
static int set_memory_kind(struct making *m, enum key key, unsigned kind)
{
	const char *name = kind == MEMORY_UNKNOWN ? NULL : event_memory_kind_name(kind);

	return name ? set(m, key, PyUnicode_FromString(name)) : 0;
}

static int set_fields(struct making *m)
{
	const struct row *row = m->row;
	PyObject *const *names = m->rows->state->fields;

	if (set_value(m) < 0)
		return -1;
	if (row->present & BIT(FIELD_DEPTH) && row->depth != EVENT_DEPTH_UNMATCHED && set_number(m, KEY_DEPTH, row->depth) < 0)
		return -1;
	if (row->present & GRID && set(m, KEY_GRID_DIM, triple(&row->field[FIELD_GRID_X])) < 0)
		return -1;
	if (row->present & BLOCK && set(m, KEY_BLOCK_DIM, triple(&row->field[FIELD_BLOCK_X])) < 0)
		return -1;
	for (uint64_t left = row->present; left; left &= left - 1) {
		unsigned field = (unsigned)__builtin_ctzll(left);

		if (field < FIELD_LIMIT && names[field] &&
		    put(m->dict, names[field], PyLong_FromUnsignedLongLong(row->field[field])) < 0)
			return -1;
	}
	if (row->present & BIT(FIELD_MEMORY_KIND) &&
	    (set_memory_kind(m, KEY_MEMORY_FROM, MEMORY_KIND_FROM(row->field[FIELD_MEMORY_KIND])) < 0 ||
	     set_memory_kind(m, KEY_MEMORY_TO, MEMORY_KIND_TO(row->field[FIELD_MEMORY_KIND])) < 0))
		return -1;
	return row->present & BIT(FIELD_REASON) ? set_reason(m) : 0;
}

static int set_flags(struct making *m)
{
	for (unsigned i = 0; m->row->flags >> i; i++)
		if (m->row->flags >> i & 1 && set(m, KEY_ENCLOSING + i, PyBool_FromLong(1)) < 0)
			return -1;
	return 0;
}

/* ---- A row ---------------------------------------------------------------------- */

PyObject *rows_dict(struct rows *rows, const struct row *row)
{
	struct making m = { rows, row, PyDict_New() };

	if (!m.dict)
		return NULL;
	if (set(&m, KEY_EVENT_TYPE, PyUnicode_InternFromString(row->type)) < 0 ||
	    (row->phase && set(&m, KEY_PHASE, PyUnicode_InternFromString(row->phase)) < 0) ||
	    set(&m, KEY_NAME, rows_string(rows, row->name)) < 0 || set_times(&m) < 0 || set_place(&m) < 0 ||
	    set_fields(&m) < 0 || set_function(&m) < 0 ||
	    (row->metadata.size && set(&m, KEY_METADATA, metadata_object(row->metadata.data, row->metadata.size)) < 0) ||
	    set_flags(&m) < 0)
		Py_CLEAR(m.dict);
	return m.dict;
}
