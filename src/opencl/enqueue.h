/* enqueue.h - what the calls that put commands into queues have in common. */
#ifndef OPENCL_ENQUEUE_H
#define OPENCL_ENQUEUE_H

#include "opencl/opencl.h"

#define WAIT_LIST cl_uint waits, const cl_event *list, cl_event *event
#define NEXT_WAITS waits, list, call.event

/* Puts `command` into a queue by `next`, and returns from where it stands. */
#define ENQUEUE_BY(which, queue, next, ...)                                 \
	do {                                                                \
		struct call call;                                           \
		cl_int rc;                                                  \
                                                                            \
		if (opencl_call_waits(which))                               \
			opencl_harvest_ahead(opencl_queue_find(queue));     \
		opencl_call_begin(&call, queue, event, waits, list);        \
		rc = next(queue, __VA_ARGS__, NEXT_WAITS);                  \
		opencl_call_end(&call, which, rc, &command);                \
		return rc;                                                  \
	} while (0)
/* The same by the function of the layer below; and of what is known of a command. */
#define ENQUEUE(which, queue, function, ...) ENQUEUE_BY(which, queue, opencl_next.function, __VA_ARGS__)
#define COMMAND(which, queue, function, known, ...)                         \
	do {                                                                \
		struct command command = known;                             \
                                                                            \
		ENQUEUE(which, queue, function, __VA_ARGS__);               \
	} while (0)
#define KNOWN(...) ((struct command){ __VA_ARGS__ })

#endif
