/*
 * interpreter_frame.h - the interpreter's own frames before 3.12, which the frame hook is handed, and how often its lock has changed
 * hands.
 *
 * To be included before Python.h: that shows both only to those who say that they know what they do.
 */
#ifndef TRACER_INTERPRETER_FRAME_H
#define TRACER_INTERPRETER_FRAME_H

#include <patchlevel.h>
#if PY_VERSION_HEX < 0x030c0000
#define Py_BUILD_CORE 1
#endif
#include <Python.h>

#include <stdbool.h>

#if PY_VERSION_HEX < 0x030c0000
#include <internal/pycore_runtime.h>

/* Another thread has run since then if it is not what it was then. */
static inline unsigned long lock_turns(void)
{
	return _PyRuntime.ceval.gil.switch_number;
}
#endif

#if PY_VERSION_HEX < 0x030b0000

#include <frameobject.h>

typedef PyFrameObject FRAME;

static inline FRAME *frame_current(PyThreadState *ts)
{
	return ts->frame;
}

static inline FRAME *frame_previous(FRAME *frame)
{
	return frame->f_back;
}

static inline PyObject *frame_first_local(FRAME *frame)
{
	return frame->f_code->co_argcount > 0 ? frame->f_localsplus[0] : NULL;
}

/* Does code of this generator's run?  Not when one that never began is closed. */
static inline bool frame_runs_generator(FRAME *frame, int throwing)
{
	return !throwing || frame->f_lasti >= 0;
}

#elif PY_VERSION_HEX < 0x030c0000

#include <internal/pycore_frame.h>
#include <opcode.h>

typedef struct _PyInterpreterFrame FRAME;

static inline FRAME *frame_current(PyThreadState *ts)
{
	return ts->cframe ? ts->cframe->current_frame : NULL;
}

static inline FRAME *frame_previous(FRAME *frame)
{
	return frame->previous;
}

static inline PyObject *frame_first_local(FRAME *frame)
{
	return frame->f_code->co_argcount > 0 ? frame->localsplus[0] : NULL;
}

/* Nor when it is made, which in 3.11 is the first instruction of the function. */
static inline bool frame_runs_generator(FRAME *frame, int throwing)
{
	if (frame->owner != FRAME_OWNED_BY_GENERATOR)
		return false;
	return !throwing || _Py_OPCODE(*frame->prev_instr) != RETURN_GENERATOR;
}

#endif

#endif
