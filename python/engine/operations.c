/*
 * operations.c - how long operations of a program take, for inferscope.BottleneckProfiler.
 *
 *      log = Operations()
 *      load = Operation(log, "load", type)
 *      log.begin(memory=True, clocks=False, scopes=False, gpu=None)
 *      with load: ...
 *      log.end()       a dictionary for each name
 */
#include <stdlib.h>
#include <unistd.h>

#include "operation_log.h"

static void log_dealloc(PyObject *self);

static struct log *log_of(PyObject *self)
{
	return (struct log *)self;
}

static struct operation *operation_of(PyObject *self)
{
	return (struct operation *)self;
}

/* ---- Operation: a context manager ------------------------------------------------------- */

static PyObject *operation_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
	static char *words[] = { "log", "name", "type", "scope", NULL };
	PyObject *log, *name, *sort, *scope = Py_None;
	struct operation *op;

	if (!PyArg_ParseTupleAndKeywords(args, names, "OUO|O:Operation", words, &log, &name, &sort, &scope))
		return NULL;
	if (PyType_GetSlot(Py_TYPE(log), Py_tp_dealloc) != (void *)log_dealloc) { /* of static types 3.9 raises */
		PyErr_SetString(PyExc_TypeError, "an operation belongs to Operations");
		return NULL;
	}
	op = (struct operation *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (!op)
		return NULL;
	Py_INCREF(log);
	Py_INCREF(name);
	Py_INCREF(sort);
	op->log = log_of(log);
	op->name = name;
	op->type = sort;
	if (scope != Py_None) {
		Py_INCREF(scope);
		op->scope = scope;
	}
	return (PyObject *)op;
}

static void operation_dealloc(PyObject *self)
{
	struct operation *op = operation_of(self);
	PyTypeObject *type = Py_TYPE(self);

	Py_XDECREF((PyObject *)op->log);
	Py_XDECREF(op->name);
	Py_XDECREF(op->type);
	Py_XDECREF(op->scope);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

/* What a scope says of itself never stops the program. */
static void call_scope(const struct operation *op, const char *method, PyObject *args)
{
	PyObject *function = PyObject_GetAttrString(op->scope, method);
	PyObject *result = function ? PyObject_CallObject(function, args) : NULL;

	if (!result)
		PyErr_Clear();
	Py_XDECREF(result);
	Py_XDECREF(function);
}

static PyObject *operation_enter(PyObject *self, PyObject *unused)
{
	struct operation *op = operation_of(self);

	(void)unused;
	if (op->log->scopes && op->scope && atomic_load_explicit(&op->log->session, memory_order_relaxed))
		call_scope(op, "__enter__", NULL);
	operation_begin(op);
	Py_INCREF(self);
	return self;
}

static PyObject *operation_exit(PyObject *self, PyObject *args)
{
	struct operation *op = operation_of(self);

	if (operation_end(op, PyTuple_Size(args) > 0 && PyTuple_GetItem(args, 0) != Py_None))
		call_scope(op, "__exit__", args);
	Py_RETURN_NONE;
}

/* As a decorator: what inferscope.scope does. */
static PyObject *operation_call(PyObject *self, PyObject *args, PyObject *names)
{
	PyObject *module, *function, *result = NULL;

	if (!PyArg_ParseTuple(args, "O:Operation", &function))
		return NULL;
	(void)names;
	module = PyImport_ImportModule("inferscope._decorate");
	if (module)
		result = PyObject_CallMethod(module, "decorate", "OO", self, function);
	Py_XDECREF(module);
	return result;
}

static PyMethodDef operation_methods[] = {
	{ "__enter__", operation_enter, METH_NOARGS, NULL },
	{ "__exit__", operation_exit, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot operation_slots[] = {
	{ Py_tp_doc, "Operation(log, name, type, scope=None)\n--\n\nA context manager, and decorator, whose runs are counted in the log." },
	{ Py_tp_new, (void *)operation_new },
	{ Py_tp_dealloc, (void *)operation_dealloc },
	{ Py_tp_call, (void *)operation_call },
	{ Py_tp_methods, operation_methods },
	{ 0, NULL },
};

static PyType_Spec operation_spec = {
	.name = "inferscope._engine.Operation",
	.basicsize = sizeof(struct operation),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = operation_slots,
};

/* ---- Operations: the log ------------------------------------------------------------------ */

static PyObject *log_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
	struct log *log;

	if (!PyArg_ParseTuple(args, ":Operations"))
		return NULL;
	(void)names;
	log = (struct log *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
	if (!log)
		return NULL;
	log->statm = -1;
	log->page = sysconf(_SC_PAGESIZE);
	log->asyncio = PyUnicode_InternFromString("asyncio");
	if (log->asyncio)
		return (PyObject *)log;
	Py_DECREF(log);
	return NULL;
}

static void log_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	struct log *log = log_of(self);

	operation_log_release(log);
	Py_XDECREF(log->gpu);
	Py_XDECREF(log->asyncio);
	Py_XDECREF(log->running_loop);
	Py_XDECREF(log->current_task);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF(type);
}

static void set_gpu(struct log *log, PyObject *function)
{
	PyObject *before = log->gpu;

	log->gpu = function == Py_None ? NULL : function;
	Py_XINCREF(log->gpu);
	Py_XDECREF(before);
}

static PyObject *log_begin(PyObject *self, PyObject *args, PyObject *names)
{
	static char *words[] = { "memory", "clocks", "scopes", "gpu", NULL };
	struct log *log = log_of(self);
	int memory, clocks, scopes;
	PyObject *gpu = Py_None;

	if (!PyArg_ParseTupleAndKeywords(args, names, "ppp|O:begin", words, &memory, &clocks, &scopes, &gpu))
		return NULL;
	if (atomic_load(&log->session)) {
		PyErr_SetString(PyExc_RuntimeError, "it has begun already");
		return NULL;
	}
	log->clocks = clocks;
	log->scopes = scopes;
	set_gpu(log, gpu);
	operation_log_start(log, memory);
	Py_RETURN_NONE;
}

static PyObject *log_set_gpu(PyObject *self, PyObject *function)
{
	set_gpu(log_of(self), function);
	Py_RETURN_NONE;
}

static PyObject *log_abandon(PyObject *self, PyObject *unused)
{
	(void)unused;
	operation_log_abandon(log_of(self));
	Py_RETURN_NONE;
}

/* Whole blocks of one thread, appended to a list of (count, ns). */
static int append_blocks(PyObject *list, const struct operation_stats *s)
{
	size_t count = operation_stats_whole_blocks(s);
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		PyObject *pair = Py_BuildValue("(KK)", (unsigned long long)s->blocks[i].count, (unsigned long long)s->blocks[i].ns);

		rc = pair ? PyList_Append(list, pair) : -1;
		Py_XDECREF(pair);
	}
	return rc;
}

/* The sum of all threads that have run it, and their blocks. */
static int collect(struct log *log, uint32_t number, struct operation_stats *sum, PyObject *blocks, unsigned *ret_threads)
{
	struct operation_stats *one = malloc(sizeof *one);
	unsigned threads = 0;
	int rc = 0;

	if (!one) {
		PyErr_NoMemory();
		return -1;
	}
	for (struct slot *s = operation_log_next(log, NULL); s && rc == 0; s = operation_log_next(log, s)) {
		if (!operation_log_copy(log, s, number, one))
			continue;
		threads++;
		operation_stats_merge(sum, one);
		rc = append_blocks(blocks, one);
	}
	free(one);
	*ret_threads = threads;
	return rc;
}

#define ULL(value) ((unsigned long long)(value))

static PyObject *row_dict(const struct operation_stats *s, PyObject *name, PyObject *type, PyObject *blocks, unsigned threads)
{
	return Py_BuildValue(
		"{s:O,s:O,s:O,s:I,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:d,s:d,s:d,s:L,s:L,s:L,s:L}", "name", name, "type", type,
		"blocks", blocks, "threads", threads, "count", ULL(s->count), "failures", ULL(s->failures), "unfinished", ULL(s->unfinished),
		"total_ns", ULL(s->total.wall), "self_ns", ULL(s->self.wall), "process_ns", ULL(s->total.process), "thread_ns",
		ULL(s->total.thread), "self_process_ns", ULL(s->self.process), "self_thread_ns", ULL(s->self.thread), "min_ns",
		ULL(s->min_ns), "max_ns", ULL(s->max_ns), "p50_ns", operation_stats_quantile(s, 0.5), "p95_ns",
		operation_stats_quantile(s, 0.95), "p99_ns", operation_stats_quantile(s, 0.99), "memory_bytes", (long long)s->memory,
		"memory_most_bytes", (long long)s->memory_most, "gpu_bytes", (long long)s->gpu, "gpu_most_bytes", (long long)s->gpu_most);
}

/* None for an operation that has not come. */
static PyObject *row_of(struct log *log, uint32_t number)
{
	struct operation_stats *sum = calloc(1, sizeof *sum);
	bool other = number == NAMES_MOST - 1;
	PyObject *blocks = sum ? PyList_New(0) : PyErr_NoMemory(), *row = NULL;
	PyObject *name = other ? Py_None : log->names[number].name, *type = other ? Py_None : log->names[number].type;
	unsigned threads;

	if (blocks && collect(log, number, sum, blocks, &threads) == 0) {
		if (sum->count)
			row = row_dict(sum, name, type, blocks, threads);
		else
			Py_INCREF(row = Py_None);
	}
	Py_XDECREF(blocks);
	free(sum);
	return row;
}

static int append_row(PyObject *list, struct log *log, uint32_t number)
{
	PyObject *row = row_of(log, number);
	int rc = row && row != Py_None ? PyList_Append(list, row) : row ? 0 : -1;

	Py_XDECREF(row);
	return rc;
}

static PyObject *log_rows(PyObject *self, PyObject *unused)
{
	struct log *log = log_of(self);
	PyObject *list = PyList_New(0);
	int rc = list ? 0 : -1;

	(void)unused;
	for (uint32_t i = 0; i < log->name_count && rc == 0; i++)
		rc = append_row(list, log, i);
	if (rc == 0)
		rc = append_row(list, log, NAMES_MOST - 1);
	if (rc < 0)
		Py_CLEAR(list);
	return list;
}

static PyObject *log_end(PyObject *self, PyObject *unused)
{
	struct log *log = log_of(self);

	operation_log_stop(log);
	set_gpu(log, Py_None);
	return log_rows(self, unused);
}

static PyObject *log_dropped(PyObject *self, PyObject *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(atomic_load(&log_of(self)->dropped));
}

static PyMethodDef log_methods[] = {
	{ "begin", (PyCFunction)(void (*)(void))log_begin, METH_VARARGS | METH_KEYWORDS,
	  "begin(memory, clocks, scopes, gpu=None)\n--\n\nStarts counting anew; memory: what it grows by, clocks: time on processors, scopes: "
	  "tells who records, gpu: a function that gives bytes of its memory." },
	{ "end", log_end, METH_NOARGS, "end()\n--\n\nStops counting; operations that run end now, as unfinished.  Gives rows()." },
	{ "rows", log_rows, METH_NOARGS, "rows()\n--\n\nA dictionary for each operation that has ended; those beyond the first 999 share one." },
	{ "dropped", log_dropped, METH_NOARGS, "dropped()\n--\n\nHow many runs were not counted, since too many were open." },
	{ "abandon", log_abandon, METH_NOARGS, "abandon()\n--\n\nStops counting, in a forked child." },
	{ "set_gpu", log_set_gpu, METH_O, "set_gpu(function)\n--\n\nFrom now on it is asked; None: nobody is." },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot log_slots[] = {
	{ Py_tp_doc, "Operations()\n--\n\nHow often operations run, and how long." },
	{ Py_tp_new, (void *)log_new },
	{ Py_tp_dealloc, (void *)log_dealloc },
	{ Py_tp_methods, log_methods },
	{ 0, NULL },
};

static PyType_Spec log_spec = {
	.name = "inferscope._engine.Operations",
	.basicsize = sizeof(struct log),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = log_slots,
};

static int add_type(PyObject *module, const char *name, PyType_Spec *spec)
{
	PyObject *type = PyType_FromSpec(spec);

	if (type && PyModule_AddObject(module, name, type) == 0)
		return 0;
	Py_XDECREF(type);
	return -1;
}

int add_operations(PyObject *module)
{
	return add_type(module, "Operations", &log_spec) < 0 ? -1 : add_type(module, "Operation", &operation_spec);
}
