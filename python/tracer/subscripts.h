/*
 * subscripts.h - obj[key] comes through the frame hook.  Before 3.12.
 */
#ifndef TRACER_SUBSCRIPTS_H
#define TRACER_SUBSCRIPTS_H

#include "interpreter_frame.h"

#if PY_VERSION_HEX < 0x030c0000

/* Code that needs the next two: a __getitem__, or the body of a class that has one. */
bool subscripts_matter(const PyCodeObject *code);

/* Around the evaluation of its frame; what enter returned is for leave. */
PyObject *subscripts_enter(FRAME *frame);
void subscripts_leave(PyObject *namespace);

#endif

#endif
