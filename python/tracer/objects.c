/*
 * objects.c - functions that need a closer look: which nn.Module is called, what a thread is called.
 *
 * `self` is looked at only in the functions that functions.c has marked.
 */
#include <stdio.h>
#include <string.h>

#include "tracer.h"

#define TABLE_SIZE 8192u /* a power of two */
#define PROBES 32u

/* Threads that have no GIL come to the tables one at a time.  Nothing that is done there waits for another thread. */
#ifdef Py_GIL_DISABLED
static PyMutex tables;
#define tables_enter() PyMutex_Lock(&tables)
#define tables_leave() PyMutex_Unlock(&tables)
#else
#define tables_enter() ((void)0)
#define tables_leave() ((void)0)
#endif

/* Modules by address and type.  One that is freed and whose place another of its type takes keeps its number. */
static struct {
	const void *self;
	const void *type;
	uint32_t id;
} modules[TABLE_SIZE];

/* How many of each type there are. */
static struct {
	const void *type;
	uint32_t count;
} types[1024];

static uint32_t next_of(const void *type)
{
	size_t at = ((uintptr_t)type >> 4) * 2654435761u % 1024;

	for (size_t probe = 0; probe < PROBES; probe++, at = (at + 1) % 1024) {
		if (!types[at].type)
			types[at].type = type;
		if (types[at].type == type)
			return types[at].count++;
	}
	return 0;
}

/* As torch.profiler calls them, so that people and tools recognise them: "nn.Module: Linear_3". */
static uint32_t name_module(PyTypeObject *type)
{
	char text[NAME_MAX_BYTES];
	const char *dot = strrchr(type->tp_name, '.');
	int n = snprintf(text, sizeof text, "nn.Module: %s_%u", dot ? dot + 1 : type->tp_name, next_of(type));

	return tracer.inside->intern(tracer.inside->thread(), text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static uint32_t module_name(PyObject *self)
{
	size_t at = ((uintptr_t)self >> 4) * 2654435761u % TABLE_SIZE;

	for (size_t probe = 0; probe < PROBES; probe++, at = (at + 1) % TABLE_SIZE) {
		if (modules[at].self == self && modules[at].type == Py_TYPE(self))
			return modules[at].id;
		if (!modules[at].self || modules[at].self == self) {
			modules[at].self = self;
			modules[at].type = Py_TYPE(self);
			return modules[at].id = name_module(Py_TYPE(self));
		}
	}
	return 0; /* thousands of modules: the function's own name */
}

static void name_thread(PyObject *self)
{
	PyObject *type, *value, *traceback, *name;
	const char *text;

	PyErr_Fetch(&type, &value, &traceback);
	name = PyObject_GetAttrString(self, "_name");
	text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
	if (text)
		tracer.inside->thread_name(text);
	Py_XDECREF(name);
	PyErr_Clear();
	PyErr_Restore(type, value, traceback);
}

/* Does a profiler of PyTorch want to be told about CUDA? */
static bool wants_cuda(PyObject *profiler)
{
	PyObject *activities = PyObject_GetAttrString(profiler, "kineto_activities");
	PyObject *iterator = activities ? PyObject_GetIter(activities) : NULL, *item;
	bool wants = false;

	while (!wants && iterator && (item = PyIter_Next(iterator))) {
		PyObject *name = PyObject_GetAttrString(item, "name");

		wants = name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "CUDA") == 0;
		Py_XDECREF(name);
		Py_DECREF(item);
	}
	Py_XDECREF(iterator);
	Py_XDECREF(activities);
	return wants;
}

/* CUPTI has one listener.  The program's own comes first. */
static void make_way(PyObject *profiler)
{
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	if (profiler && wants_cuda(profiler)) {
		Py_BEGIN_ALLOW_THREADS
		tracer.inside->yield();
		Py_END_ALLOW_THREADS
	}
	PyErr_Clear();
	PyErr_Restore(type, value, traceback);
}

uint32_t tracer_special(uintptr_t extra, PyObject *self)
{
	uint32_t id;

	if ((extra & CODE_IMPORT) == CODE_IMPORT) {
		tracer_gc_look();
		return 0;
	}
	if (extra & CODE_PROFILER) {
		tracer_itt_leave();
		make_way(self);
	}
	if (self && (extra & CODE_THREAD))
		name_thread(self);
	if (!self || !(extra & CODE_MODULE))
		return 0;
	tables_enter();
	id = module_name(self);
	tables_leave();
	return id;
}
