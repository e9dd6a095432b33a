/*
 * frames.c - see frames.h.
 */
#include "interpreter_frame.h"

#include "calls.h"
#include "frames.h"

static uintptr_t known(PyCodeObject *code, PyObject *globals)
{
	uintptr_t extra = code_extra(code);

	return code_is_known(extra) ? extra : tracer_first_sight(code, globals, NULL);
}

#if BEFORE_312

size_t frames_walk(struct frame_entry *entries, size_t limit)
{
	size_t n = 0;

	for (FRAME *f = frame_current(PyThreadState_Get()); f && n < limit; f = frame_previous(f))
		entries[n++] = (struct frame_entry){ f, known(f->f_code, f->f_globals) };
	return n;
}

const void *frame_innermost(void)
{
	return frame_current(PyThreadState_Get());
}

const void *frame_back(const void *frame)
{
	return frame_previous((FRAME *)frame);
}

#else

size_t frames_walk(struct frame_entry *entries, size_t limit)
{
	PyFrameObject *f = PyThreadState_GetFrame(PyThreadState_Get()), *back;
	size_t n = 0;

	for (; f && n < limit; f = back) {
		PyCodeObject *code = PyFrame_GetCode(f);
		PyObject *globals = PyFrame_GetGlobals(f);

		entries[n++] = (struct frame_entry){ f, known(code, globals) };
		back = PyFrame_GetBack(f);
		Py_XDECREF(globals);
		Py_DECREF(code);
		Py_DECREF(f);
	}
	Py_XDECREF(f);
	return n;
}

const void *frame_innermost(void)
{
	return NULL;
}

const void *frame_back(const void *frame)
{
	(void)frame;
	return NULL;
}

#endif
