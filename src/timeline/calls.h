/*
 * calls.h - what a call of a GPU runtime does, told by its name.
 *
 * Knows CUDA's runtime and driver, HIP, MTIA and OpenCL; the versions at the end of
 * names (_v2, _ptsz, _v10000, as Nsight Systems writes them) do not matter.
 */
#ifndef TIMELINE_CALLS_H
#define TIMELINE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum call_class {
	CALL_OTHER,
	CALL_LAUNCH,        /* a kernel */
	CALL_GRAPH_LAUNCH,
	CALL_COPY,          /* blocking unless its name says Async */
	CALL_COPY_ASYNC,
	CALL_MEMSET,
	CALL_SYNC_DEVICE,   /* waits for all of the device */
	CALL_SYNC_STREAM,
	CALL_SYNC_EVENT,
	CALL_EVENT_RECORD,
	CALL_STREAM_WAIT,   /* makes a stream wait for an event; the host goes on */
	CALL_QUERY,
	CALL_ALLOC,         /* may wait for the device, too */
	CALL_FREE,
	CALL_HOST_ALLOC,
	CALL_COMPILE,       /* loads or compiles code for the device */
	CALL_GRAPH_BUILD,
	CALL_CLASS_COUNT
};

enum call_class call_classify(const char *name, size_t size);
/* Whether device work follows from it. */
bool call_launches(enum call_class class);
/* Whether the host waits in it for the device; a copy does unless it is asynchronous. */
bool call_blocks(enum call_class class);

#endif
