/*
 * tasks.c - asyncio tasks and greenlets: a scope held over an await lives on the track of its task.
 *
 * A task gets a number when it opens its first scope.  It is known by its
 * address, for as long as it lives: a weak reference tells us when it does not.
 */
#include <string.h>

#include "tracer.h"

struct tracer_task {
	PyObject_HEAD
	PyObject *reference; /* weak, whose callback forgets the task */
	uint32_t number;
	uint32_t name;
	uint32_t depth;
};

static uint32_t task_count;

static void task_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	Py_XDECREF(((struct tracer_task *)self)->reference);
	type->tp_free(self);
	Py_DECREF(type);
}

static PyType_Slot task_slots[] = { { Py_tp_dealloc, (void *)task_free }, { 0, NULL } };
static PyType_Spec task_spec = {
	.name = "inferscope._tracer.task", .basicsize = sizeof(struct tracer_task), .flags = Py_TPFLAGS_DEFAULT, .slots = task_slots
};

/* ---- Who is running ---------------------------------------------------------------- */

/* An attribute of a module that the program has imported; NULL otherwise. */
static PyObject *loaded_function(const char *module_name, const char *function)
{
	PyObject *module = tracer_loaded(module_name);
	PyObject *result = module ? PyObject_GetAttrString(module, function) : NULL;

	if (!result)
		PyErr_Clear();
	return result;
}

void tracer_tasks_look(struct tracer_state *state)
{
	tracer.tasks_seen = false; /* first: what another thread sees while we look is looked for again */
	if (!state->current_task) {
		state->running_loop = loaded_function("asyncio.events", "_get_running_loop");
		state->current_task = loaded_function("asyncio.tasks", "current_task");
	}
	if (!state->current_greenlet)
		state->current_greenlet = loaded_function("greenlet", "getcurrent");
}

static PyObject *call(PyObject *function, PyObject *argument)
{
	PyObject *result = function ? PyObject_CallFunctionObjArgs(function, argument, NULL) : NULL;

	if (!result)
		PyErr_Clear();
	if (result == Py_None)
		Py_CLEAR(result);
	return result;
}

static PyObject *asyncio_task(struct tracer_state *state)
{
	PyObject *loop = call(state->running_loop, NULL), *task;

	if (!loop)
		return NULL;
	task = call(state->current_task, loop);
	Py_DECREF(loop);
	return task;
}

/* The one that every thread starts with is the thread itself. */
static PyObject *greenlet(struct tracer_state *state)
{
	PyObject *current = call(state->current_greenlet, NULL);
	PyObject *parent = current ? PyObject_GetAttrString(current, "parent") : NULL;

	PyErr_Clear();
	if (!parent || parent == Py_None)
		Py_CLEAR(current);
	Py_XDECREF(parent);
	return current;
}

/* ---- Its track ------------------------------------------------------------------------ */

static PyObject *forget(PyObject *key_and_tasks, PyObject *reference)
{
	(void)reference;
	if (PyDict_DelItem(PyTuple_GET_ITEM(key_and_tasks, 1), PyTuple_GET_ITEM(key_and_tasks, 0)) != 0)
		PyErr_Clear();
	Py_RETURN_NONE;
}

static PyMethodDef forget_definition = { "forget", forget, METH_O, NULL };

static uint32_t task_name(PyObject *task)
{
	PyObject *name = PyObject_HasAttrString(task, "get_name") ? PyObject_CallMethod(task, "get_name", NULL) :
								    PyUnicode_FromFormat("%s-%u", Py_TYPE(task)->tp_name, task_count);
	const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
	uint32_t id;

	if (!text) {
		PyErr_Clear();
		text = "task";
	}
	id = tracer.inside->intern(tracer.inside->thread(), text, strlen(text));
	Py_XDECREF(name);
	return id;
}

static PyObject *watch(PyObject *task, PyObject *key, PyObject *tasks)
{
	PyObject *both = PyTuple_Pack(2, key, tasks);
	PyObject *callback = both ? PyCFunction_New(&forget_definition, both) : NULL;
	PyObject *reference = callback ? PyWeakref_NewRef(task, callback) : NULL;

	Py_XDECREF(callback);
	Py_XDECREF(both);
	return reference;
}

static struct tracer_task *new_task(struct tracer_state *state, PyObject *task, PyObject *key)
{
	struct tracer_task *t;

	if (!state->task_type)
		state->task_type = PyType_FromSpec(&task_spec);
	t = state->task_type ? PyObject_New(struct tracer_task, (PyTypeObject *)state->task_type) : NULL;
	if (!t)
		return NULL;
	t->reference = watch(task, key, state->tasks);
	t->number = __atomic_add_fetch(&task_count, 1, __ATOMIC_RELAXED);
	t->depth = 0;
	t->name = task_name(task);
	if (!t->reference || PyDict_SetItem(state->tasks, key, (PyObject *)t) != 0) {
		Py_DECREF(t);
		return NULL;
	}
	Py_DECREF(t);
	return t; /* the dictionary has it */
}

static struct tracer_task *find_task(struct tracer_state *state, PyObject *task)
{
	PyObject *key = PyLong_FromVoidPtr(task);
	struct tracer_task *t = key ? (struct tracer_task *)PyDict_GetItemWithError(state->tasks, key) : NULL;

	if (!t && key)
		t = new_task(state, task, key);
	Py_XDECREF(key);
	PyErr_Clear();
	return t;
}

struct tracer_task *tracer_current_task(struct tracer_state *state)
{
	PyObject *type, *value, *traceback, *task = NULL;
	struct tracer_task *found = NULL;

	if (INFERSCOPE_UNLIKELY(!tracer.on || tracer.tasks_seen)) /* without calls nobody tells us of imports */
		tracer_tasks_look(state);
	if (INFERSCOPE_LIKELY(!state->current_task && !state->current_greenlet) || !state->tasks)
		return NULL;
	PyErr_Fetch(&type, &value, &traceback);
	if (state->current_task)
		task = asyncio_task(state);
	if (!task && state->current_greenlet)
		task = greenlet(state);
	if (task)
		found = find_task(state, task);
	Py_XDECREF(task);
	PyErr_Restore(type, value, traceback);
	return found;
}

/* ---- Its scopes ------------------------------------------------------------------------ */

static void emit(struct tracer_task *task, uint32_t phase, uint32_t name, uint32_t depth)
{
	struct runtime_thread *t = tracer.inside->thread();

	if (!emit_enter(tracer.rt, t))
		return;
	emit_slot(tracer.rt, t, emit_room(tracer.rt, t), EVENT_SCOPE, EVENT_FLAGS(phase, 0, 0) | EVENT_FLAG_TASK, name, task->number,
		  emit_depth(depth), task->name);
	emit_leave(t);
}

void tracer_task_begin(struct tracer_task *task, uint32_t name)
{
	emit(task, PHASE_BEGIN, name, task->depth++);
}

void tracer_task_end(struct tracer_task *task)
{
	if (task->depth > 0)
		emit(task, PHASE_END, NAME_NONE, --task->depth);
}
