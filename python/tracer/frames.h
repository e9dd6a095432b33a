/*
 * frames.h - the frames of the calling thread, innermost first, in the layout of each release.
 */
#ifndef TRACER_FRAMES_H
#define TRACER_FRAMES_H

#include "tracer.h"

struct frame_entry {
	const void *frame; /* the interpreter's, not a reference */
	uintptr_t extra;
};

/* What is running in this thread; every code object gets known.  How many were written. */
size_t frames_walk(struct frame_entry *entries, size_t limit);

/* The one that runs in this thread.  Before 3.12. */
const void *frame_innermost(void);

/* The frame that called this one; NULL at the end.  Before 3.12. */
const void *frame_back(const void *frame);

#endif
