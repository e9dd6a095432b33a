/*
 * gc.c - garbage collections: each is a call of gc.generation 0, 1 or 2, inside whatever the thread was doing.
 *
 * The interpreter tells those in gc.callbacks of them.  A program may count,
 * clear or replace what is in that list, so we are not in it: the interpreter
 * gets a list with nothing but us in it, and we tell those in the program's.
 * Where the interpreter keeps its list is looked for, not known: next to that
 * of gc.garbage, and both are what a module `gc` made of our own has.
 */
#include <patchlevel.h>
#if PY_VERSION_HEX < 0x030b0000
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_interp.h>
#undef Py_BUILD_CORE
#endif

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "frames.h"

#define GENERATIONS 3

struct watcher {
	PyObject_HEAD
	vectorcallfunc call;
	PyObject *program; /* the list that is gc.callbacks */
};

/* The interpreter owns the list, the list the watcher, and that the program's list: all go when the interpreter does. */
static struct {
	PyObject **slot; /* where the interpreter has its list */
	PyObject *list;
	struct watcher *watcher; /* NULL: not there */
	Py_ssize_t rest; /* entries of the list after the first, see new_list() */
	int telling; /* calls of the program's callbacks that have not come back */
	PyObject *key; /* "generation" */
	uint32_t names[GENERATIONS];
} gc;

/* ---- Events ----------------------------------------------------------------------- */

/* Newer interpreters may have other generations, or none. */
static size_t generation_of(PyObject *info)
{
	PyObject *value = PyDict_Check(info) ? PyDict_GetItemWithError(info, gc.key) : NULL; /* borrowed */
	long generation = value && PyLong_Check(value) ? PyLong_AsLong(value) : 0;

	if (PyErr_Occurred()) {
		PyErr_Clear();
		return 0;
	}
	return generation < 0 ? 0 : generation < GENERATIONS ? (size_t)generation : GENERATIONS - 1;
}

static uint32_t name_of(size_t generation)
{
	uint32_t id = __atomic_load_n(&gc.names[generation], __ATOMIC_RELAXED);
	char text[NAME_MAX_BYTES], qualname[32];

	if (INFERSCOPE_LIKELY(id != 0))
		return id;
	snprintf(qualname, sizeof qualname, "generation %zu", generation);
	id = tracer.inside->intern(tracer.inside->thread(), text, tracer_compose(text, "gc", qualname, "", 0));
	__atomic_store_n(&gc.names[generation], id, __ATOMIC_RELAXED);
	return id;
}

static void collection_ends(struct tracer_thread *me)
{
	uint32_t id = me->collecting;

	me->collecting = 0;
	if (id)
		call_end(me, EVENT_CPU_CALL, id, false);
}

static void collection_begins(struct tracer_thread *me, PyObject *info)
{
	uint32_t id = name_of(generation_of(info));

	collection_ends(me); /* one of whose end nobody told us */
	if (BEFORE_312 && me->inherited && me->inherited == me->t->depth)
		tracer_check_inherited(me, frame_innermost());
	call_begin(me, EVENT_CPU_CALL, id, false);
	me->collecting = id;
}

static void drop_rest(void)
{
	Py_ssize_t rest = gc.rest;

	gc.rest = 0;
	if (rest && PyList_SetSlice(gc.list, 1, 1 + rest, NULL) != 0)
		PyErr_Clear();
}

/* As the interpreter does it. */
static void tell_program(PyObject *list, PyObject *const *args)
{
	gc.telling++;
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
		PyObject *callback = Py_NewRef(PyList_GET_ITEM(list, i));
		PyObject *result = PyObject_Vectorcall(callback, args, 2, NULL);

		if (!result)
			PyErr_WriteUnraisable(callback);
		Py_XDECREF(result);
		Py_DECREF(callback);
	}
	gc.telling--;
}

static bool is_recording(void)
{
	return tracer.on && tracer.inside->joined();
}

/* What the program's callbacks do is no part of a collection. */
static PyObject *on_collection(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	PyObject *program = ((struct watcher *)self)->program;
	struct tracer_thread *me = tracer_thread;

	(void)names;
	if (PyVectorcall_NARGS(nargs) != 2 || !PyUnicode_Check(args[0]))
		Py_RETURN_NONE;
	drop_rest();
	if (PyUnicode_CompareWithASCIIString(args[0], "start") == 0) {
		tell_program(program, args);
		if (is_recording() && (me || (me = tracer_thread_make()) != NULL))
			collection_begins(me, args[1]);
	} else {
		if (me)
			collection_ends(me);
		tell_program(program, args);
	}
	Py_RETURN_NONE;
}

/* ---- The watcher ------------------------------------------------------------------ */

static void watcher_free(PyObject *self)
{
	PyObject *program = ((struct watcher *)self)->program;

	if (gc.watcher == (struct watcher *)self)
		gc.watcher = NULL;
	PyObject_Free(self);
	Py_DECREF(program);
}

/* Called without a check of how deep calls are: there must be room for it wherever a collection begins. */
static PyTypeObject watcher_type = {
	PyVarObject_HEAD_INIT(NULL, 0)
	.tp_name = "inferscope._tracer.watcher",
	.tp_basicsize = sizeof(struct watcher),
	.tp_dealloc = watcher_free,
	.tp_vectorcall_offset = offsetof(struct watcher, call),
	.tp_call = PyVectorcall_Call,
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
};

static PyObject *new_watcher(PyObject *program)
{
	struct watcher *watcher = PyType_Ready(&watcher_type) == 0 ? PyObject_New(struct watcher, &watcher_type) : NULL;

	if (!watcher)
		return NULL;
	watcher->call = on_collection;
	watcher->program = Py_NewRef(program);
	return (PyObject *)watcher;
}

/* A list of it that no collection looks at and nobody finds in gc.get_objects().  A thread may be in the middle of the
 * program's list: it goes on in ours with what would have come next.  Who begins with the first of ours finds no other. */
static PyObject *new_list(PyObject *watcher, PyObject *program)
{
	PyObject *list = watcher ? PyList_GetSlice(program, 0, PyList_GET_SIZE(program)) : NULL;

	if (list && PyList_GET_SIZE(list) > 0)
		(void)PyList_SetItem(list, 0, Py_NewRef(watcher));
	else if (list && PyList_Append(list, watcher) != 0)
		Py_CLEAR(list);
	if (list)
		PyObject_GC_UnTrack(list);
	return list;
}

/* ---- The interpreter's list --------------------------------------------------------- */

PyMODINIT_FUNC PyInit_gc(void) __attribute__((weak)); /* not every interpreter needs to show it */

/* A module of ours that nobody else sees, from which to have what the interpreter has.  Importing it would show. */
static PyObject *make_module(void)
{
	PyObject *made = PyInit_gc ? PyInit_gc() : NULL, *spec = PySys_GetObject("implementation"); /* borrowed; it has a name */

	if (!made || Py_TYPE(made) != &PyModuleDef_Type) /* before 3.10 it is the module */
		return made;
	made = spec ? PyModule_FromDefAndSpec((PyModuleDef *)made, spec) : NULL;
	if (made && PyModule_ExecDef(made, PyModule_GetDef(made)) != 0)
		Py_CLEAR(made);
	return made;
}

/* Where its memory ends: from 3.11 on it is a part of _PyRuntime. */
static const void *interpreter_end(PyInterpreterState *interpreter)
{
#if PY_VERSION_HEX < 0x030b0000
	return interpreter + 1;
#else
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!dladdr1(interpreter, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol || !info.dli_sname ||
	    strcmp(info.dli_sname, "_PyRuntime") != 0)
		return interpreter;
	return (const char *)info.dli_saddr + symbol->st_size;
#endif
}

static PyObject **find_slot(PyInterpreterState *interpreter, PyObject *garbage, PyObject *callbacks)
{
	PyObject **at = (PyObject **)interpreter, **end = (PyObject **)interpreter_end(interpreter);

	if (!garbage || !callbacks || !PyList_CheckExact(callbacks))
		return NULL;
	for (; end - at > 1; at++)
		if (at[0] == garbage && at[1] == callbacks)
			return at + 1;
	return NULL;
}

/* The reference that the interpreter has to its list moves into ours. */
static void replace(PyObject **slot, PyObject *callbacks)
{
	PyObject *watcher = new_watcher(callbacks), *list = new_list(watcher, callbacks);

	if (list) {
		gc.slot = slot;
		gc.list = list;
		gc.rest = PyList_GET_SIZE(list) - 1;
		gc.watcher = (struct watcher *)watcher;
		__atomic_store_n(slot, list, __ATOMIC_RELEASE);
		Py_DECREF(callbacks);
	}
	Py_XDECREF(watcher);
}

void tracer_gc_install(void)
{
	PyObject *module, *space, *callbacks;
	PyObject **slot;

	if (gc.watcher || tracer.interpreter != PyInterpreterState_Main())
		return;
	if (!gc.key)
		gc.key = PyUnicode_InternFromString("generation");
	module = gc.key ? make_module() : NULL;
	space = module ? PyModule_GetDict(module) : NULL;
	callbacks = space ? PyDict_GetItemString(space, "callbacks") : NULL;
	slot = space ? find_slot(tracer.interpreter, PyDict_GetItemString(space, "garbage"), callbacks) : NULL;
	if (slot)
		replace(slot, callbacks);
	else
		tracer.inside->note("Garbage collections are not recorded: this interpreter's inside is not as we know it");
	if (space)
		PyDict_Clear(space); /* its functions refer to it: it would be there for the next collection to find */
	Py_XDECREF(module);
	PyErr_Clear();
}

static void put_right(PyObject *space)
{
	if (space && PyDict_GetItemString(space, "callbacks") == gc.list)
		(void)PyDict_SetItemString(space, "callbacks", gc.watcher->program);
	PyErr_Clear();
}

/* A module `gc` that the program imports after us has the interpreter's list; it gets the program's before the program runs. */
void tracer_gc_look(void)
{
	PyObject *type, *value, *traceback, *module;
	PyModuleDef *definition;

	if (!gc.watcher)
		return;
	PyErr_Fetch(&type, &value, &traceback);
	module = tracer_loaded("gc");
	if (module && PyModule_Check(module)) {
		definition = PyModule_GetDef(module);
		put_right(PyModule_GetDict(module));
		put_right(definition ? definition->m_base.m_copy : NULL); /* what other interpreters get, before 3.10 */
	}
	PyErr_Clear();
	PyErr_Restore(type, value, traceback);
}

/* Is somebody looking at our list, who would go on with the program's in the middle?  Without a GIL that cannot be known. */
static bool is_in_use(void)
{
#ifdef Py_GIL_DISABLED
	return true;
#else
	return gc.telling > 0 || PyList_GET_SIZE(gc.list) != 1 + gc.rest;
#endif
}

/* Where it has to stay it only passes on what it is told. */
void tracer_gc_remove(void)
{
	if (!gc.watcher)
		return;
	if (tracer_thread)
		collection_ends(tracer_thread);
	tracer_gc_look();
	if (*gc.slot != gc.list || is_in_use())
		return;
	*gc.slot = Py_NewRef(gc.watcher->program);
	Py_DECREF(gc.list); /* and with it the watcher */
}
