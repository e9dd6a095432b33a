/*
 * scope.c - scope, mark_event, counter: what a program says of itself.
 *
 * A scope object holds nothing but its name, so it may be entered any number of
 * times, also inside itself and in several threads.
 */
#include <string.h>

#include "calls.h"

struct scope {
	PyObject_HEAD
	PyObject *name;
	uint32_t id;
	uint32_t generation; /* of the session that id was looked up in; 0: none */
};

static inline bool recording(void)
{
	return tracer.inside && tracer.inside->joined();
}

static struct tracer_thread *this_thread(void)
{
	return tracer_thread ? tracer_thread : tracer_thread_make();
}

static uint32_t intern(PyObject *name)
{
	Py_ssize_t size;
	const char *text = PyUnicode_AsUTF8AndSize(name, &size);

	if (!text) { /* lone surrogates */
		PyErr_Clear();
		text = "?";
		size = 1;
	}
	return tracer.inside->intern(tracer.inside->thread(), text, strnlen(text, (size_t)size));
}

uint32_t tracer_name(struct tracer_state *state, PyObject *name)
{
	size_t at = ((uintptr_t)name >> 4) % (sizeof state->names / sizeof state->names[0]);

	if (INFERSCOPE_LIKELY(state->names[at].name == name))
		return state->names[at].id;
	if (!PyUnicode_Check(name)) {
		PyErr_Format(PyExc_TypeError, "a name is a string, not %.100s", Py_TYPE(name)->tp_name);
		return 0;
	}
#ifdef Py_GIL_DISABLED
	return intern(name);
#else
	Py_INCREF(name); /* so that nothing else gets its address */
	Py_XSETREF(state->names[at].name, name);
	return state->names[at].id = intern(name);
#endif
}

/* ---- scope ---------------------------------------------------------------------- */

static struct tracer_state *state_of(PyObject *self)
{
	return PyType_GetModuleState(Py_TYPE(self));
}

/* Threads may share a scope, so its number is there before the generation says so. */
static uint32_t scope_id(struct scope *self)
{
	uint32_t generation = tracer.rt->generation, id;

	if (INFERSCOPE_LIKELY(__atomic_load_n(&self->generation, __ATOMIC_ACQUIRE) == generation))
		return self->id;
	id = tracer_name(state_of((PyObject *)self), self->name);
	self->id = id;
	__atomic_store_n(&self->generation, generation, __ATOMIC_RELEASE);
	return id;
}

static PyObject *scope_enter(PyObject *self, PyObject *unused)
{
	struct tracer_thread *me;
	struct tracer_task *task;
	uint32_t id;

	(void)unused;
	if (recording() && (me = this_thread()) != NULL) {
		id = scope_id((struct scope *)self);
		task = tracer_current_task(state_of(self));
		if (task)
			tracer_task_begin(task, id);
		else
			call_begin(me, EVENT_SCOPE, id, false);
	}
	return Py_NewRef(self);
}

static PyObject *scope_exit(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
	struct tracer_thread *me;
	struct tracer_task *task;

	(void)args;
	(void)nargs;
	if (recording() && (me = this_thread()) != NULL) {
		task = tracer_current_task(state_of(self));
		if (task)
			tracer_task_end(task);
		else
			call_end(me, EVENT_SCOPE, scope_id((struct scope *)self), true);
	}
	Py_RETURN_NONE;
}

/* As a decorator.  Wrapping is a matter of Python: inferscope._decorate knows coroutines and generators. */
static PyObject *scope_call(PyObject *self, PyObject *args, PyObject *names)
{
	PyObject *module, *result = NULL, *function;

	(void)names;
	if (!PyArg_ParseTuple(args, "O:scope", &function))
		return NULL;
	module = PyImport_ImportModule("inferscope._decorate");
	if (module)
		result = PyObject_CallMethod(module, "decorate", "OO", self, function);
	Py_XDECREF(module);
	return result;
}

static PyObject *new_scope(PyTypeObject *type, PyObject *name)
{
	struct scope *self;

	if (!PyUnicode_Check(name))
		return PyErr_Format(PyExc_TypeError, "a scope's name is a string, not %.100s", Py_TYPE(name)->tp_name);
	self = PyObject_New(struct scope, type);
	if (!self)
		return NULL;
	self->name = Py_NewRef(name);
	self->id = 0;
	self->generation = 0;
	return (PyObject *)self;
}

static PyObject *scope_vectorcall(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *names)
{
	Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
	Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;

	if (nargs + named != 1 || (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "name") != 0)) {
		PyErr_SetString(PyExc_TypeError, "scope() takes one argument, its name");
		return NULL;
	}
	return new_scope((PyTypeObject *)type, args[0]);
}

static PyObject *scope_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
	static char *words[] = { "name", NULL };
	PyObject *name;

	return PyArg_ParseTupleAndKeywords(args, named, "O:scope", words, &name) ? new_scope(type, name) : NULL;
}

static void scope_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	Py_DECREF(((struct scope *)self)->name);
	type->tp_free(self);
	Py_DECREF(type);
}

static PyObject *scope_repr(PyObject *self)
{
	return PyUnicode_FromFormat("scope(%R)", ((struct scope *)self)->name);
}

static PyObject *scope_get_name(PyObject *self, void *unused)
{
	(void)unused;
	return Py_NewRef(((struct scope *)self)->name);
}

static PyMethodDef scope_methods[] = {
	{ "__enter__", scope_enter, METH_NOARGS, NULL },
	{ "__exit__", (PyCFunction)(void (*)(void))scope_exit, METH_FASTCALL, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef scope_properties[] = {
	{ "name", scope_get_name, NULL, "the name on the timeline", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static const char scope_doc[] = "scope(name)\n--\n\n"
				"A range of the program's time, on the timeline under this name:\n\n"
				"    with scope(\"tokenize\"):\n        ...\n\n"
				"    @scope(\"decode\")\n    def decode(tokens): ...\n\n"
				"Inside an asyncio task or a greenlet it is on the task's own track.";

static PyType_Slot scope_slots[] = {
	{ Py_tp_new, (void *)scope_new },
	{ Py_tp_dealloc, (void *)scope_free },
	{ Py_tp_repr, (void *)scope_repr },
	{ Py_tp_call, (void *)scope_call },
	{ Py_tp_methods, scope_methods },
	{ Py_tp_getset, scope_properties },
	{ Py_tp_doc, (void *)scope_doc },
	{ 0, NULL },
};

static PyType_Spec scope_spec = {
	.name = "inferscope.scope",
	.basicsize = sizeof(struct scope),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = scope_slots,
};

int tracer_add_scope(PyObject *module, struct tracer_state *state)
{
	state->scope_type = PyType_FromModuleAndSpec(module, &scope_spec, NULL);
	if (!state->scope_type)
		return -1;
	((PyTypeObject *)state->scope_type)->tp_vectorcall = scope_vectorcall;
	Py_INCREF(state->scope_type);
	if (PyModule_AddObject(module, "scope", state->scope_type) == 0)
		return 0;
	Py_DECREF(state->scope_type);
	return -1;
}

/* ---- Marks and counters ------------------------------------------------------------ */

static void mark(struct tracer_thread *me, uint32_t id)
{
	struct runtime_thread *t = me->t;
	slot_word *slot;

	tracer_settle(me);
	if (!emit_enter(tracer.rt, t))
		return;
	slot = emit_room(tracer.rt, t);
	emit_slot(tracer.rt, t, slot, EVENT_INSTANT, EVENT_FLAGS(PHASE_INSTANT, 0, 0), id, 0, emit_depth(t->depth), 0);
	emit_leave(t);
}

static void mark_with(struct tracer_thread *me, uint32_t id, PyObject *metadata)
{
	uint8_t fields[EMIT_FIELDS_MAX];
	size_t size = tracer_metadata(fields + 3, sizeof fields - 3, metadata);

	fields[0] = FIELD_METADATA;
	fields[1] = (uint8_t)size;
	fields[2] = (uint8_t)(size >> 8);
	tracer_settle(me);
	if (!emit_enter(tracer.rt, me->t))
		return;
	tracer.inside->emit_fields(me->t, EVENT_INSTANT, EVENT_FLAGS(PHASE_INSTANT, 0, 0), id, 0, fields, size + 3);
	emit_leave(me->t);
}

static PyObject *mark_event(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
	Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
	PyObject *metadata = Py_None;
	struct tracer_thread *me;
	uint32_t id;

	if (nargs < 1 || nargs + named > 2 ||
	    (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "metadata") != 0)) {
		PyErr_SetString(PyExc_TypeError, "mark_event() takes a name, and optionally metadata");
		return NULL;
	}
	if (nargs + named == 2)
		metadata = args[1];
	if (!recording() || (me = this_thread()) == NULL)
		Py_RETURN_NONE;
	id = tracer_name(tracer_state_of(module), args[0]);
	if (!id)
		return NULL;
	if (metadata == Py_None)
		mark(me, id);
	else
		mark_with(me, id, metadata);
	Py_RETURN_NONE;
}

static PyObject *counter(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
	struct tracer_thread *me;
	double value;
	uint64_t bits;
	uint32_t id;

	if (nargs != 2) {
		PyErr_SetString(PyExc_TypeError, "counter() takes a name and a number");
		return NULL;
	}
	value = PyFloat_AsDouble(args[1]);
	if (value == -1.0 && PyErr_Occurred())
		return NULL;
	if (!recording() || (me = this_thread()) == NULL)
		Py_RETURN_NONE;
	id = tracer_name(tracer_state_of(module), args[0]);
	if (!id)
		return NULL;
	memcpy(&bits, &value, sizeof bits);
	tracer_settle(me);
	if (emit_enter(tracer.rt, me->t)) {
		slot_word *slot = emit_room(tracer.rt, me->t);

		emit_slot(tracer.rt, me->t, slot, EVENT_COUNTER, EVENT_FLAGS(PHASE_INSTANT, FIELD_VALUE, 0), id, 0,
			  emit_depth(me->t->depth), bits);
		emit_leave(me->t);
	}
	Py_RETURN_NONE;
}

PyMethodDef tracer_scope_methods[] = {
	{ "mark_event", (PyCFunction)(void (*)(void))mark_event, METH_FASTCALL | METH_KEYWORDS,
	  "mark_event(name, metadata=None)\n--\n\nA point in time.  Metadata is a dictionary of what JSON can hold, nested as you "
	  "like; anything else is kept as its repr, cut at 200 characters, and all of it at about 1,000 bytes." },
	{ "counter", (PyCFunction)(void (*)(void))counter, METH_FASTCALL,
	  "counter(name, value)\n--\n\nThe value of something from now on: queue length, tokens a second, bytes in use." },
	{ NULL, NULL, 0, NULL },
};
