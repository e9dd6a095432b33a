/*
 * wait.c - what commands wait for: those of other queues, and the program itself, by user events.
 *
 * A list of events is told as a sync on the queue for each of them, at the time
 * of the call, with the number of the call that it waits for: of the one that
 * put the awaited command into its queue, or that will set the user event.
 * What has ended before holds nothing back and is left out, and so is an
 * in-order queue's own past.
 */
#include "opencl/opencl.h"

#define BITS 12u

/* User events by their handle; a newer one takes the place of another. */
static struct user_event {
	_Atomic(cl_event) handle;
	_Atomic uint32_t correlation;
} *user_events;

static uint32_t user_correlation(cl_event event)
{
	struct user_event *user = &user_events[opencl_place(event, BITS)];

	return atomic_load_explicit(&user->handle, memory_order_acquire) == event ?
		       atomic_load_explicit(&user->correlation, memory_order_relaxed) : 0;
}

static uint32_t correlation_of(const struct opencl_queue *for_queue, cl_event event)
{
	cl_command_queue handle;
	struct opencl_queue *queue = opencl_queue_of(event, &handle);

	if (!handle)
		return user_events ? user_correlation(event) : 0;
	if (!queue || (queue == for_queue && queue->in_order))
		return 0;
	return opencl_command_correlation(queue, event);
}

void opencl_wait_find(struct call *call, cl_uint count, const cl_event *list)
{
	for (cl_uint i = 0; list && i < count && call->wait_count < CALL_WAITS; i++) {
		uint32_t correlation = list[i] ? correlation_of(call->queue, list[i]) : 0;

		if (correlation)
			call->waits[call->wait_count++] = correlation;
	}
}

void opencl_wait_emit(struct runtime_thread *t, const struct call *call)
{
	struct gpu_work work = { .kind = EVENT_SYNC, .name = opencl_call_name(NAME_STREAM_WAIT), .begin = call->begin };

	for (uint32_t i = 0; i < call->wait_count; i++) {
		work.wait = call->waits[i];
		gpu_emit(t, &call->queue->stream, &work);
	}
}

static CL_API_ENTRY cl_event CL_API_CALL create_user_event(cl_context context, cl_int *ret_error)
{
	cl_event event = opencl_next.clCreateUserEvent(context, ret_error);
	struct user_event *user = &user_events[opencl_place(event, BITS)];

	if (event) {
		atomic_store_explicit(&user->handle, NULL, memory_order_relaxed);
		atomic_store_explicit(&user->correlation, gpu_correlation(), memory_order_release);
		atomic_store_explicit(&user->handle, event, memory_order_release);
	}
	return event;
}

static CL_API_ENTRY cl_int CL_API_CALL set_status(cl_event event, cl_int status)
{
	uint32_t correlation = user_correlation(event);
	uint64_t begin = opencl_now();
	cl_int rc = opencl_next.clSetUserEventStatus(event, status);

	opencl_call_returned(CALL_SET_USER_EVENT, begin, rc == CL_SUCCESS ? correlation : 0);
	return rc;
}

void opencl_wait_wrap(struct _cl_icd_dispatch *table)
{
	user_events = user_events ? user_events : opencl_map(sizeof *user_events << BITS);
	if (!user_events)
		return;
	OPENCL_WRAP(clCreateUserEvent, create_user_event);
	OPENCL_WRAP(clSetUserEventStatus, set_status);
}
