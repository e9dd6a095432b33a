/*
 * scope.c - scope, mark_event, counter: what a program says of itself.
 *
 * A scope object holds nothing but its name and how often it is open, so it may
 * be entered any number of times, also inside itself and in several threads.
 * Nothing here raises (misuse.c).
 */
#include <string.h>

#include "calls.h"

struct scope {
	PyObject_HEAD
	PyObject *name;
	uint32_t id;
	uint32_t generation; /* of the session that id was looked up in; 0: none */
	uint32_t open;       /* how often it has been entered and not left */
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

/* "<int>": a number for each would be a name for each. */
static PyObject *name_of_type(PyObject *object)
{
	PyObject *name = PyUnicode_FromFormat("<%.100s>", Py_TYPE(object)->tp_name);

	PyErr_Clear();
	return name;
}

/* What is to be a name is one, or its type's is taken: a new reference; NULL when out of memory. */
static inline PyObject *checked_name(PyObject *name)
{
	if (INFERSCOPE_LIKELY(PyUnicode_Check(name)))
		return Py_NewRef(name);
	tracer_misuse(MISUSE_NAME);
	return name_of_type(name);
}

uint32_t tracer_name(struct tracer_state *state, PyObject *name)
{
	size_t at = ((uintptr_t)name >> 4) % (sizeof state->names / sizeof state->names[0]);

	if (INFERSCOPE_LIKELY(state->names[at].name == name))
		return state->names[at].id;
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

/* Threads may share a scope. */
static inline void opened(struct scope *self)
{
#ifdef Py_GIL_DISABLED
	__atomic_add_fetch(&self->open, 1, __ATOMIC_RELAXED);
#else
	self->open++;
#endif
}

/* False when it is not open. */
static inline bool left(struct scope *self)
{
#ifdef Py_GIL_DISABLED
	uint32_t open = __atomic_load_n(&self->open, __ATOMIC_RELAXED);

	while (open && !__atomic_compare_exchange_n(&self->open, &open, open - 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return open > 0;
#else
	return self->open > 0 && self->open-- > 0;
#endif
}

static PyObject *scope_enter(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
	struct tracer_thread *me;
	struct tracer_task *task;
	uint32_t id;

	(void)args;
	(void)nargs;
	(void)names;
	opened((struct scope *)self);
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

static PyObject *scope_exit(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
	struct tracer_thread *me;
	struct tracer_task *task;

	(void)args;
	(void)nargs;
	(void)names;
	if (INFERSCOPE_UNLIKELY(!left((struct scope *)self))) {
		tracer_misuse(MISUSE_EXIT);
	} else if (recording() && (me = this_thread()) != NULL) {
		task = tracer_current_task(state_of(self));
		if (task)
			tracer_task_end(task);
		else
			call_end(me, EVENT_SCOPE, scope_id((struct scope *)self), true);
	}
	Py_RETURN_NONE;
}

/* The function in the scope, or as it is.  Wrapping is a matter of Python: inferscope._decorate knows coroutines and generators. */
static PyObject *decorate(PyObject *scope, PyObject *function)
{
	PyObject *module = PyImport_ImportModule("inferscope._decorate");
	PyObject *result = module ? PyObject_CallMethod(module, "decorate", "OO", scope, function) : NULL;

	Py_XDECREF(module);
	if (result)
		return result;
	tracer_misuse(MISUSE_DECORATED);
	return Py_NewRef(function);
}

static PyObject *scope_call(PyObject *self, PyObject *args, PyObject *names)
{
	if (PyTuple_GET_SIZE(args) != 1 || (names && PyDict_GET_SIZE(names) > 0))
		tracer_misuse(MISUSE_DECORATED);
	return PyTuple_GET_SIZE(args) > 0 ? decorate(self, PyTuple_GET_ITEM(args, 0)) : Py_NewRef(self);
}

/* Takes over the name; NULL: out of memory. */
static PyObject *scope_named(PyTypeObject *type, PyObject *name)
{
	struct scope *self = name ? PyObject_New(struct scope, type) : NULL;

	if (!self) {
		Py_XDECREF(name);
		return PyErr_NoMemory();
	}
	self->name = name;
	self->id = 0;
	self->generation = 0;
	self->open = 0;
	return (PyObject *)self;
}

/* NULL, with an exception, where it has none.  Static and class methods have had one since 3.10, theirs. */
static PyObject *qualified_name(PyObject *function)
{
	PyObject *inner = PyFunction_Check(function) ? Py_NewRef(function) : PyObject_GetAttrString(function, "__func__");
	PyObject *name = inner ? PyObject_GetAttrString(inner, "__qualname__") : NULL;

	Py_XDECREF(inner);
	return name;
}

/* "@scope" without a name: the function has to stay one. */
static PyObject *bare_decorator(PyTypeObject *type, PyObject *function)
{
	PyObject *name = qualified_name(function), *scope, *result;

	tracer_misuse(MISUSE_BARE);
	if (!name || !PyUnicode_Check(name))
		Py_XSETREF(name, name_of_type(function));
	scope = scope_named(type, name);
	result = scope ? decorate(scope, function) : NULL;
	Py_XDECREF(scope);
	return result;
}

static bool is_decorated(PyObject *object)
{
	return PyFunction_Check(object) || Py_TYPE(object) == &PyStaticMethod_Type || Py_TYPE(object) == &PyClassMethod_Type;
}

static PyObject *new_scope(PyTypeObject *type, PyObject *name)
{
	if (INFERSCOPE_LIKELY(name && PyUnicode_Check(name)))
		return scope_named(type, Py_NewRef(name));
	if (!name)
		return scope_named(type, PyUnicode_FromString("?"));
	return is_decorated(name) ? bare_decorator(type, name) : scope_named(type, checked_name(name));
}

static PyObject *scope_vectorcall(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *names)
{
	static const char *const words[] = { "name" };
	Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
	PyObject *name;

	if (INFERSCOPE_LIKELY(!names && nargs == 1))
		name = args[0];
	else if (!tracer_arguments(words, 1, args, nargs, names, &name) || !name)
		tracer_misuse(MISUSE_SCOPE);
	return new_scope((PyTypeObject *)type, name);
}

static PyObject *scope_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
	static char *words[] = { "name", NULL };
	PyObject *name = NULL;

	if (!PyArg_ParseTupleAndKeywords(args, named, "O:scope", words, &name))
		tracer_misuse(MISUSE_SCOPE);
	return new_scope(type, name);
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
	{ "__enter__", (PyCFunction)(void (*)(void))scope_enter, METH_FASTCALL | METH_KEYWORDS, NULL },
	{ "__exit__", (PyCFunction)(void (*)(void))scope_exit, METH_FASTCALL | METH_KEYWORDS, NULL },
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

static inline void say_mark(PyObject *module, PyObject *name, PyObject *metadata)
{
	struct tracer_thread *me;
	uint32_t id;

	if (!recording() || (me = this_thread()) == NULL)
		return;
	id = tracer_name(tracer_state_of(module), name);
	if (!metadata || metadata == Py_None)
		mark(me, id);
	else
		mark_with(me, id, metadata);
}

static void count(struct tracer_thread *me, uint32_t id, double value)
{
	slot_word *slot;
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	tracer_settle(me);
	if (!emit_enter(tracer.rt, me->t))
		return;
	slot = emit_room(tracer.rt, me->t);
	emit_slot(tracer.rt, me->t, slot, EVENT_COUNTER, EVENT_FLAGS(PHASE_INSTANT, FIELD_VALUE, 0), id, 0, emit_depth(me->t->depth),
		  bits);
	emit_leave(me->t);
}

/* Without asking it: a tensor would have to be waited for. */
static inline bool is_number(PyObject *value)
{
	const PyNumberMethods *number = Py_TYPE(value)->tp_as_number;

	return PyFloat_CheckExact(value) || (number && (number->nb_float || number->nb_index));
}

static inline void say_counter(PyObject *module, PyObject *name, PyObject *value)
{
	struct tracer_thread *me;
	double number;

	if (!recording() || (me = this_thread()) == NULL) {
		if (INFERSCOPE_UNLIKELY(!is_number(value)))
			tracer_misuse(MISUSE_VALUE);
		return;
	}
	number = PyFloat_AsDouble(value);
	if (INFERSCOPE_UNLIKELY(number == -1.0 && PyErr_Occurred())) {
		tracer_misuse(MISUSE_VALUE);
		return;
	}
	count(me, tracer_name(tracer_state_of(module), name), number);
}

typedef void (*saying)(PyObject *module, PyObject *name, PyObject *more);

/* Arguments that are not as usual: what can be made of them. */
static __attribute__((noinline)) void say_oddly(saying say, PyObject *module, PyObject *name, PyObject *more)
{
	name = name ? checked_name(name) : NULL;
	if (name)
		say(module, name, more);
	Py_XDECREF(name);
}

/* mark_event(NAME), (NAME, METADATA) or (NAME, metadata=METADATA) */
static inline bool is_usual_mark(PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
	if (nargs < 1 || nargs > 2 || !PyUnicode_Check(args[0]))
		return false;
	return !names || (nargs == 1 && PyTuple_GET_SIZE(names) == 1 &&
			  PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "metadata") == 0);
}

static PyObject *mark_event(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
	static const char *const words[] = { "name", "metadata" };
	PyObject *given[2];

	if (INFERSCOPE_LIKELY(is_usual_mark(args, nargs, names))) {
		say_mark(module, args[0], nargs == 2 || names ? args[1] : NULL);
		Py_RETURN_NONE;
	}
	if (!tracer_arguments(words, 2, args, nargs, names, given) || !given[0])
		tracer_misuse(MISUSE_MARK);
	say_oddly(say_mark, module, given[0], given[1]);
	Py_RETURN_NONE;
}

static PyObject *counter(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
	static const char *const words[] = { "name", "value" };
	PyObject *given[2];

	if (INFERSCOPE_LIKELY(!names && nargs == 2 && PyUnicode_Check(args[0]))) {
		say_counter(module, args[0], args[1]);
		Py_RETURN_NONE;
	}
	if (!tracer_arguments(words, 2, args, nargs, names, given) || !given[0] || !given[1])
		tracer_misuse(MISUSE_COUNTER);
	if (given[1])
		say_oddly(say_counter, module, given[0], given[1]);
	Py_RETURN_NONE;
}

PyMethodDef tracer_scope_methods[] = {
	{ "mark_event", (PyCFunction)(void (*)(void))mark_event, METH_FASTCALL | METH_KEYWORDS,
	  "mark_event(name, metadata=None)\n--\n\nA point in time.  Metadata is a dictionary of what JSON can hold, nested as you "
	  "like; anything else is kept as its repr, cut at 200 characters, and all of it at about 1,000 bytes." },
	{ "counter", (PyCFunction)(void (*)(void))counter, METH_FASTCALL | METH_KEYWORDS,
	  "counter(name, value)\n--\n\nThe value of something from now on: queue length, tokens a second, bytes in use." },
	{ NULL, NULL, 0, NULL },
};
