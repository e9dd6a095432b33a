/*
 * hook_monitor.c - CPython 3.12 and later: sys.monitoring (PEP 669).
 *
 * The events of all threads come to callbacks of a type of our own, whose
 * vectorcall is the C function itself.  A function that is left out answers
 * DISABLE, and costs nothing from then on.
 */
#include <stddef.h>
#include <string.h>

#include "calls.h"
#include "detail.h"
#include "frames.h"

#if !BEFORE_312

#include <structmember.h>

struct callback {
	PyObject_HEAD
	vectorcallfunc call;
};

static struct tracer_thread *this_thread(void)
{
	struct tracer_thread *me = tracer_thread;

	return INFERSCOPE_LIKELY(me != NULL) ? me : tracer_thread_make();
}

/* One object for the process.  A callback does not look at itself: without a GIL it can be taken away while it runs. */
static PyObject *disable(void)
{
	return Py_NewRef(tracer.disable);
}

/* The first argument of the frame that runs, by its name, which may be anything. */
static PyObject *first_argument(PyCodeObject *code)
{
	PyFrameObject *frame = PyEval_GetFrame();
	PyObject *names, *value = NULL;

	if (!frame || code->co_argcount == 0)
		return NULL;
	names = PyCode_GetVarnames(code);
	if (names && PyTuple_GET_SIZE(names) > 0)
		value = PyFrame_GetVar(frame, PyTuple_GET_ITEM(names, 0));
	Py_XDECREF(names);
	PyErr_Clear();
	Py_XDECREF(value); /* the frame has it */
	return value;
}

static __attribute__((noinline)) uintptr_t prepare(PyCodeObject *code, uintptr_t extra)
{
	PyObject *error = PyErr_GetRaisedException();
	uint32_t id;

	if (!code_is_known(extra))
		extra = tracer_first_sight(code, PyEval_GetGlobals(), NULL);
	if (extra & CODE_SPECIAL) {
		id = tracer_special(extra, first_argument(code));
		if (id)
			extra = (extra & (CODE_FILTER | CODE_FLAGS)) | (uintptr_t)id << CODE_SHIFT;
	}
	PyErr_SetRaisedException(error);
	return extra;
}

/* What the code object in the first argument is known by. */
static inline uintptr_t extra_of(PyObject *const *args)
{
	uintptr_t extra = code_extra((PyCodeObject *)args[0]);

	return INFERSCOPE_UNLIKELY(!code_is_known(extra) || (extra & CODE_SPECIAL)) ? prepare((PyCodeObject *)args[0], extra) : extra;
}

/* ---- Short functions (detail.h) ---------------------------------------------------- */

/* By name: answered DISABLE when it began.  Until events are restarted its ends may do so too. */
static bool gone[NAME_LIMIT];

static bool is_open(const struct runtime_thread *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->depth && i < t->open_limit; i++)
		if (t->open[i] == OPEN_ENTRY(EVENT_CPU_CALL, id))
			return true;
	return false;
}

/* May a function not be seen any more, by anybody?  Not while one of it is open, of which we want the end; not where others call
 * as well; and not if it can be left and entered in its middle. */
static bool may_go(const struct tracer_thread *me, const PyCodeObject *code, uint32_t id)
{
	return !(code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) && !is_open(me->t, id) &&
	       (detail_is_quiet(me) || detail_is_alone());
}

static PyObject *go(uint32_t id)
{
	gone[id] = true;
	return disable();
}

/* Is this thread inside a short function? */
static bool is_shut(struct tracer_thread *me)
{
	if (me->shut && me->shut_start != tracer.starts)
		me->shut = 0;
	return me->shut != 0;
}

/* A call begins while not all are recorded. */
static __attribute__((noinline)) PyObject *start_with_care(struct tracer_thread *me, const PyCodeObject *code, uint32_t id)
{
	if (is_shut(me)) { /* one that is short itself will hardly be worth recording elsewhere */
		if (detail_may_go(me, id) && may_go(me, code, id))
			return go(id);
		me->passed++;
		me->shut += id == me->shut_name;
		Py_RETURN_NONE;
	}
	if (detail_leaves_out(me, id) && may_go(me, code, id)) {
		detail_count_left_out(me);
		return go(id);
	}
	call_begin(me, EVENT_CPU_CALL, id, true);
	if (detail_is_short(me, id)) {
		detail_count_short(me, id);
		me->shut = 1;
		me->shut_name = id;
		me->shut_start = tracer.starts;
	}
	Py_RETURN_NONE;
}

/* A call ends while not all are recorded. */
static __attribute__((noinline)) PyObject *end_with_care(struct tracer_thread *me, uint32_t id)
{
	if (gone[id] && !is_open(me->t, id)) { /* nor does its end matter, unless a thread that waits has one open */
		if (detail_is_alone())
			return disable();
		Py_RETURN_NONE;
	}
	if (!is_shut(me) || (id == me->shut_name && --me->shut == 0))
		call_end(me, EVENT_CPU_CALL, id, true);
	Py_RETURN_NONE;
}

static inline PyObject *start(struct tracer_thread *me, PyObject *const *args, uint32_t id)
{
	if (INFERSCOPE_UNLIKELY(me->short_below | me->shut))
		return start_with_care(me, (const PyCodeObject *)args[0], id);
	call_begin(me, EVENT_CPU_CALL, id, true);
	Py_RETURN_NONE;
}

static inline PyObject *end(struct tracer_thread *me, uint32_t id)
{
	if (INFERSCOPE_UNLIKELY(me->short_below | me->shut))
		return end_with_care(me, id);
	call_end(me, EVENT_CPU_CALL, id, true);
	Py_RETURN_NONE;
}

/* ---- Callbacks ---------------------------------------------------------------------- */

static __attribute__((noinline)) PyObject *start_slow(PyObject *const *args)
{
	struct tracer_thread *me = this_thread();
	uintptr_t extra = extra_of(args);

	if (!(extra & CODE_SKIP)) {
		if (me && !(extra & CODE_SPECIAL))
			return start(me, args, CODE_NAME(extra));
		if (me && !is_shut(me))
			call_begin(me, EVENT_CPU_CALL, CODE_NAME(extra), true);
		Py_RETURN_NONE;
	}
	if (me)
		tracer_count_skipped(me);
	if (!(extra & CODE_SPECIAL))
		return disable();
	Py_RETURN_NONE;
}

/* PY_START and PY_RESUME. */
static PyObject *on_start(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	struct tracer_thread *me = tracer_thread;
	uintptr_t extra = code_extra((PyCodeObject *)args[0]);

	(void)self;
	(void)nargs;
	(void)names;
	if (INFERSCOPE_UNLIKELY(!me || !code_is_plain(extra)))
		return start_slow(args);
	return start(me, args, CODE_NAME(extra));
}

static __attribute__((noinline)) PyObject *return_slow(PyObject *const *args)
{
	struct tracer_thread *me = this_thread();
	uintptr_t extra = extra_of(args);

	if (extra & CODE_SKIP)
		return disable();
	if (me && !(extra & CODE_SPECIAL))
		return end(me, CODE_NAME(extra));
	if (me && !is_shut(me))
		call_end(me, EVENT_CPU_CALL, CODE_NAME(extra), true);
	Py_RETURN_NONE;
}

/* PY_RETURN and PY_YIELD. */
static PyObject *on_return(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	struct tracer_thread *me = tracer_thread;
	uintptr_t extra = code_extra((PyCodeObject *)args[0]);

	(void)self;
	(void)nargs;
	(void)names;
	if (INFERSCOPE_UNLIKELY(!me || !code_is_plain(extra)))
		return return_slow(args);
	return end(me, CODE_NAME(extra));
}

/* PY_THROW; this and the next cannot be disabled. */
static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	struct tracer_thread *me = this_thread();
	uintptr_t extra = extra_of(args);

	(void)self;
	(void)nargs;
	(void)names;
	if (me && !(extra & CODE_SKIP))
		Py_DECREF(start(me, args, CODE_NAME(extra)));
	Py_RETURN_NONE;
}

static PyObject *on_unwind(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	struct tracer_thread *me = this_thread();
	uintptr_t extra = extra_of(args);

	(void)self;
	(void)nargs;
	(void)names;
	if (me && !(extra & CODE_SKIP))
		Py_DECREF(end(me, CODE_NAME(extra)));
	Py_RETURN_NONE;
}

/* CALL; what is called is the third argument. */
static PyObject *on_call(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	struct tracer_thread *me = this_thread();
	uint32_t id = me ? tracer_c_function(args[2]) : 0;

	(void)self;
	(void)nargs;
	(void)names;
	if (id)
		call_begin(me, EVENT_CPU_CALL, id, false);
	Py_RETURN_NONE;
}

/* C_RETURN and C_RAISE. */
static PyObject *on_c_return(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	struct tracer_thread *me = this_thread();
	uint32_t id = me ? tracer_c_function(args[2]) : 0;

	(void)self;
	(void)nargs;
	(void)names;
	if (id)
		call_end(me, EVENT_CPU_CALL, id, true);
	Py_RETURN_NONE;
}

static const struct {
	const char *event;
	vectorcallfunc call;
	bool c_call;
} table[] = {
	{ "PY_START", on_start, false },   { "PY_RESUME", on_start, false },  { "PY_RETURN", on_return, false },
	{ "PY_YIELD", on_return, false },  { "PY_THROW", on_throw, false },   { "PY_UNWIND", on_unwind, false },
	{ "CALL", on_call, true },         { "C_RETURN", on_c_return, true }, { "C_RAISE", on_c_return, true },
};
#define EVENTS (sizeof table / sizeof table[0])

/* ---- The type ------------------------------------------------------------------- */

static void callback_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	type->tp_free(self);
	Py_DECREF(type);
}

static PyMemberDef callback_members[] = {
	{ "__vectorcalloffset__", T_PYSSIZET, offsetof(struct callback, call), READONLY, NULL },
	{ NULL, 0, 0, 0, NULL },
};

static PyType_Slot callback_slots[] = {
	{ Py_tp_members, callback_members },
	{ Py_tp_dealloc, (void *)callback_free },
	{ Py_tp_call, (void *)PyVectorcall_Call },
	{ 0, NULL },
};

static PyType_Spec callback_spec = {
	.name = "inferscope._tracer.callback",
	.basicsize = sizeof(struct callback),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
	.slots = callback_slots,
};

static PyObject *new_callback(struct tracer_state *state, vectorcallfunc call)
{
	struct callback *c;

	if (!state->callback_type)
		state->callback_type = PyType_FromSpec(&callback_spec);
	c = state->callback_type ? PyObject_New(struct callback, (PyTypeObject *)state->callback_type) : NULL;
	if (c)
		c->call = call;
	return (PyObject *)c;
}

/* ---- sys.monitoring -------------------------------------------------------------- */

static PyObject *monitoring(void)
{
	PyObject *module = PySys_GetObject("monitoring"); /* borrowed */

	if (!module)
		PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is not there");
	return module;
}

/* Never 2, a profiler's: cProfile, in a program of any kind, takes no other number and fails when it is taken. */
static int choose_tool(PyObject *module)
{
	static const int tools[] = { 4, 3, 5 };

	for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++) {
		PyObject *result = PyObject_CallMethod(module, "use_tool_id", "is", tools[i], "inferscope");

		if (result) {
			Py_DECREF(result);
			return tools[i];
		}
		PyErr_Clear();
	}
	PyErr_SetString(PyExc_RuntimeError, "all numbers of sys.monitoring are taken");
	return -1;
}

/* Registers the callback of one event; its bit, or -1. */
static long register_event(struct tracer_state *state, PyObject *module, size_t i, bool on)
{
	PyObject *events = PyObject_GetAttrString(module, "events");
	PyObject *bit = events ? PyObject_GetAttrString(events, table[i].event) : NULL;
	PyObject *callback = bit ? (on ? new_callback(state, table[i].call) : Py_NewRef(Py_None)) : NULL;
	PyObject *old = callback ? PyObject_CallMethod(module, "register_callback", "iOO", state->tool, bit, callback) : NULL;
	long value = old ? PyLong_AsLong(bit) : -1;

	Py_XDECREF(old);
	Py_XDECREF(callback);
	Py_XDECREF(bit);
	Py_XDECREF(events);
	return value;
}

static int set_events(PyObject *module, int tool, long mask)
{
	PyObject *result = PyObject_CallMethod(module, "set_events", "il", tool, mask);

	Py_XDECREF(result);
	return result ? 0 : -1;
}

/* Whatever answered DISABLE is seen again. */
static int restart(PyObject *module)
{
	PyObject *result = PyObject_CallMethod(module, "restart_events", NULL);

	memset(gone, false, sizeof gone);
	Py_XDECREF(result);
	return result ? 0 : -1;
}

void tracer_hook_again(void)
{
}

void tracer_hook_reopen(void)
{
	PyObject *error = PyErr_GetRaisedException(), *module = monitoring();

	if (module)
		(void)restart(module);
	PyErr_SetRaisedException(error);
}

int tracer_hook_install(struct tracer_state *state)
{
	PyObject *module = monitoring();
	long mask = 0, bit;

	if (!module)
		return -1;
	if (!tracer.disable)
		tracer.disable = PyObject_GetAttrString(module, "DISABLE");
	if (!tracer.disable)
		return -1;
	state->tool = choose_tool(module);
	if (state->tool < 0)
		return -1;
	for (size_t i = 0; i < EVENTS; i++) {
		if (table[i].c_call && !tracer.options.c_calls)
			continue;
		bit = register_event(state, module, i, true);
		if (bit < 0)
			return -1;
		if (strncmp(table[i].event, "C_R", 3) != 0) /* these come with CALL */
			mask |= bit;
	}
	if (set_events(module, state->tool, mask) != 0)
		return -1;
	return tracer.starts == 1 ? 0 : restart(module); /* what an earlier recording left out may be asked for in this one */
}

void tracer_hook_remove(struct tracer_state *state)
{
	PyObject *module = monitoring(), *result;

	if (!module || state->tool < 0) {
		PyErr_Clear();
		return;
	}
	(void)set_events(module, state->tool, 0);
	PyErr_Clear();
	for (size_t i = 0; i < EVENTS; i++) {
		(void)register_event(state, module, i, false);
		PyErr_Clear();
	}
	result = PyObject_CallMethod(module, "free_tool_id", "i", state->tool);
	Py_XDECREF(result);
	PyErr_Clear();
	state->tool = -1;
}

#endif
