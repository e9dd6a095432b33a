/*
 * torch_itt.c - PyTorch's operators when the callback cannot be used: through ITT.
 *
 * Where the self-check of the runtime's callback fails, PyTorch itself can tell
 * our ITT door of its operators (torch.autograd.profiler.emit_itt).  It does so
 * for the thread that asked, the main one, and it makes the program's own use
 * of a profiler fail: so it is entered only when none is active, and left when
 * the program is about to start one.
 */
#include "tracer.h"

static PyObject *guard; /* emit_itt's object, while it is entered */
static bool given_up;

/* PyTorch has been imported, as far as it matters here, and no profiler is on. */
static bool can_enter(PyObject *torch)
{
	PyObject *autograd = PyObject_GetAttrString(torch, "autograd");
	PyObject *enabled = autograd ? PyObject_CallMethod(autograd, "_profiler_enabled", NULL) : NULL;
	bool can = enabled && enabled == Py_False;

	Py_XDECREF(enabled);
	Py_XDECREF(autograd);
	PyErr_Clear();
	return can;
}

static PyObject *leave_at_exit(PyObject *self, PyObject *unused)
{
	(void)self;
	(void)unused;
	tracer_itt_leave();
	given_up = true;
	Py_RETURN_NONE;
}

/* PyTorch would complain of a profiler that is still on when the program ends. */
static void register_exit(void)
{
	static bool registered;

	if (!registered)
		tracer_at_exit(leave_at_exit);
	registered = true;
}

static void enter(PyObject *profiler)
{
	PyObject *itt = PyObject_CallMethod(profiler, "emit_itt", NULL);
	PyObject *entered = itt ? PyObject_CallMethod(itt, "__enter__", NULL) : NULL;

	if (entered) {
		guard = itt;
		register_exit();
	} else {
		Py_XDECREF(itt);
		given_up = true;
	}
	Py_XDECREF(entered);
	PyErr_Clear();
}

/* A pending call: in the main thread, between two instructions of the program. */
static int enter_now(void *unused)
{
	PyObject *torch = tracer_loaded("torch"), *profiler = tracer_loaded("torch.autograd.profiler");
	PyObject *type, *value, *traceback;

	(void)unused;
	if (guard || given_up || !torch || !profiler)
		return 0;
	PyErr_Fetch(&type, &value, &traceback);
	if (can_enter(torch))
		enter(profiler);
	PyErr_Restore(type, value, traceback);
	return 0;
}

void tracer_itt_enter(void)
{
	if (!guard && !given_up)
		(void)Py_AddPendingCall(enter_now, NULL);
}

void tracer_itt_leave(void)
{
	PyObject *type, *value, *traceback, *result;

	if (!guard)
		return;
	PyErr_Fetch(&type, &value, &traceback);
	result = PyObject_CallMethod(guard, "__exit__", "OOO", Py_None, Py_None, Py_None);
	Py_XDECREF(result);
	Py_CLEAR(guard);
	PyErr_Clear();
	PyErr_Restore(type, value, traceback);
}
