/*
 * hook_profile.c - a profile function, before 3.12: for C calls, which the frame hook does not see, and for everything
 * when the hook's place is taken.
 *
 * A thread whose profile function is somebody else's keeps it.
 */
#include "interpreter_frame.h"

#include "calls.h"

#if BEFORE_312

#include <frameobject.h>

static bool with_python; /* no frame hook: Python calls come this way too */

static void python_call(struct tracer_thread *me, PyFrameObject *frame, bool begins)
{
	PyCodeObject *code = PyFrame_GetCode(frame);
	uintptr_t extra = code_extra(code);

	if (!code_is_known(extra))
		extra = tracer_first_sight(code, PyEval_GetGlobals(), NULL);
	if (!(extra & CODE_SKIP)) {
		if (begins)
			call_begin(me, EVENT_CPU_CALL, CODE_NAME(extra), true);
		else
			call_end(me, EVENT_CPU_CALL, CODE_NAME(extra), true);
	} else if (begins) {
		tracer_count_skipped(me);
	}
	Py_DECREF(code);
}

static int profile(PyObject *self, PyFrameObject *frame, int what, PyObject *argument)
{
	struct tracer_thread *me = tracer_thread ? tracer_thread : tracer_thread_make();
	uint32_t id;

	(void)self;
	if (!me || !tracer.on)
		return 0;
	if (what == PyTrace_CALL || what == PyTrace_RETURN) {
		if (with_python)
			python_call(me, frame, what == PyTrace_CALL);
		return 0;
	}
	id = tracer.options.c_calls && argument ? tracer_c_function(argument) : 0;
	if (id && what == PyTrace_C_CALL)
		call_begin(me, EVENT_CPU_CALL, id, false);
	else if (id && (what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION))
		call_end(me, EVENT_CPU_CALL, id, true);
	return 0;
}

void tracer_profile_here(void)
{
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	PyEval_SetProfile(profile, NULL);
	PyErr_Restore(type, value, traceback);
}

int tracer_profile_install_all(void)
{
	PyThreadState *ts = PyInterpreterState_ThreadHead(tracer.interpreter);

	with_python = true;
	for (; ts; ts = PyThreadState_Next(ts))
		if (!ts->c_profilefunc && _PyEval_SetProfile(ts, profile, NULL) != 0)
			return -1;
	return 0;
}

void tracer_profile_remove_all(void)
{
	PyThreadState *ts = PyInterpreterState_ThreadHead(tracer.interpreter);

	with_python = false;
	for (; ts; ts = PyThreadState_Next(ts))
		if (ts->c_profilefunc == profile)
			(void)_PyEval_SetProfile(ts, NULL, NULL);
}

#endif
