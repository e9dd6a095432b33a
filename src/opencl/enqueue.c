/* enqueue.c - the calls that put kernels, markers and barriers into queues. */
#include "opencl/enqueue.h"

/* ---- Kernels ---------------------------------------------------------------------- */

#define SEEN 16384u /* launches that are remembered, each in one of these and the next ones */
#define WAYS 8u

/* Whether a kernel is launched with this local size for the first time, as far as we remember. */
static bool is_first(uint32_t code, const size_t *local, cl_uint dimensions)
{
	static _Atomic uint32_t seen[SEEN];
	uint64_t hash = (uint64_t)code * 0x9e3779b97f4a7c15u;
	uint32_t mark, home;

	for (cl_uint i = 0; local && i < dimensions && i < 3; i++)
		hash = (hash ^ local[i]) * 0x9e3779b97f4a7c15u;
	mark = (uint32_t)(hash >> 18) | 1;
	home = (uint32_t)(hash >> 50);
	for (uint32_t way = 0; way < WAYS; way++) {
		_Atomic uint32_t *place = &seen[(home + way) % SEEN];
		uint32_t there = atomic_load_explicit(place, memory_order_relaxed);

		if (there == mark)
			return false;
		if (!there) {
			atomic_store_explicit(place, mark, memory_order_relaxed);
			return true;
		}
	}
	atomic_store_explicit(&seen[home], mark, memory_order_relaxed);
	return true;
}

static uint32_t late_build_name(void)
{
	struct runtime_thread *t = &inferscope_thread;
	uint32_t name = 0;

	if (emit_enter(&inferscope_runtime, t)) {
		name = opencl_call_name(CALL_BUILD_LATE);
		emit_leave(t);
	}
	return name;
}

static void know_kernel(struct command *c, cl_kernel kernel, cl_uint dimensions, const size_t *global, const size_t *local)
{
	struct opencl_kernel known;

	*c = (struct command){ .kind = EVENT_GPU_KERNEL, .global = { 1, 1, 1 } };
	if (!opencl_recording())
		return;
	known = opencl_kernel_find(kernel);
	c->name = known.name;
	c->kernel = known.place;
	c->expected = known.took;
	if (is_first(known.code, local, dimensions))
		c->first_of = late_build_name();
	for (cl_uint i = 0; i < 3; i++) {
		bool there = global && i < dimensions;

		c->global[i] = there ? global[i] : 1;
		c->local[i] = there && local && local[i] && local[i] <= UINT32_MAX ? (uint32_t)local[i] : local || !global;
	}
}

static CL_API_ENTRY cl_int CL_API_CALL nd_range(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
						 const size_t *global, const size_t *local, WAIT_LIST)
{
	struct command command;

	know_kernel(&command, kernel, dimensions, global, local);
	ENQUEUE(CALL_ND_RANGE, queue, clEnqueueNDRangeKernel, kernel, dimensions, offset, global, local);
}

/* The same with what the kernel is called with. */
static CL_API_ENTRY cl_int CL_API_CALL nd_range_arguments(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
							   const size_t *global, const size_t *local, WAIT_LIST)
{
	struct command command;
	uint8_t metadata[GPU_METADATA];
	struct call call;
	cl_int rc;

	know_kernel(&command, kernel, dimensions, global, local);
	command.metadata_size = (uint16_t)opencl_arguments_of(kernel, metadata);
	opencl_call_begin(&call, queue, event, waits, list);
	rc = opencl_next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, NEXT_WAITS);
	opencl_call_end_with(&call, CALL_ND_RANGE, rc, &command, metadata);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL task(cl_command_queue queue, cl_kernel kernel, WAIT_LIST)
{
	struct command command;

	know_kernel(&command, kernel, 0, NULL, NULL);
	ENQUEUE(CALL_TASK, queue, clEnqueueTask, kernel);
}

static CL_API_ENTRY cl_int CL_API_CALL native(cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *arguments, size_t size,
					       cl_uint objects, const cl_mem *memory, const void **places, WAIT_LIST)
{
	COMMAND(CALL_NATIVE, queue, clEnqueueNativeKernel, KNOWN(.kind = EVENT_GPU_KERNEL), function, arguments, size, objects, memory, places);
}

/* ---- Markers and barriers: no work of the device, but what other work waits for ------------- */

/* A barrier's own event is when the device got there; that the queue waits is told beside it (wait.c). */
static struct command sync_command(const struct call *call, bool alone)
{
	return KNOWN(.kind = EVENT_SYNC, .alone = alone, .wait = call->wait_count ? call->waits[0] : 0);
}

static CL_API_ENTRY cl_int CL_API_CALL marker(cl_command_queue queue, WAIT_LIST)
{
	struct command command;
	struct call call;
	cl_int rc;

	opencl_call_begin(&call, queue, event, waits, list);
	command = sync_command(&call, false);
	rc = opencl_next.clEnqueueMarkerWithWaitList(queue, NEXT_WAITS);
	opencl_call_end(&call, CALL_MARKER, rc, &command);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL barrier(cl_command_queue queue, WAIT_LIST)
{
	struct command command;
	struct call call;
	cl_int rc;

	opencl_call_begin(&call, queue, event, waits, list);
	command = sync_command(&call, true);
	rc = opencl_next.clEnqueueBarrierWithWaitList(queue, NEXT_WAITS);
	opencl_call_end(&call, CALL_BARRIER, rc, &command);
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL old_marker(cl_command_queue queue, cl_event *event)
{
	struct command command = KNOWN(.kind = EVENT_SYNC);
	struct call call;
	cl_int rc;

	opencl_call_begin(&call, queue, event, 0, NULL);
	rc = opencl_next.clEnqueueMarker(queue, call.event);
	opencl_call_end(&call, CALL_OLD_MARKER, rc, &command);
	return rc;
}

/* The old forms have no event of their own: the call is all there is. */
static CL_API_ENTRY cl_int CL_API_CALL old_barrier(cl_command_queue queue)
{
	uint64_t begin = opencl_now();
	cl_int rc = opencl_next.clEnqueueBarrier(queue);

	opencl_call_returned(CALL_OLD_BARRIER, begin, 0);
	return rc;
}

static void emit_waits(const struct call *call)
{
	struct runtime_thread *t = &inferscope_thread;

	if (!emit_enter(&inferscope_runtime, t))
		return;
	opencl_wait_emit(t, call);
	emit_leave(t);
}

static CL_API_ENTRY cl_int CL_API_CALL old_wait(cl_command_queue queue, cl_uint count, const cl_event *list)
{
	uint64_t begin = opencl_now();
	struct call call;
	cl_int rc;

	opencl_call_begin(&call, queue, NULL, count, list);
	rc = opencl_next.clEnqueueWaitForEvents(queue, count, list);
	opencl_call_returned(CALL_WAIT_IN_QUEUE, begin, 0);
	if (call.queue && rc == CL_SUCCESS)
		emit_waits(&call);
	return rc;
}

void opencl_enqueue_wrap(struct _cl_icd_dispatch *table)
{
	OPENCL_WRAP(clEnqueueNDRangeKernel, opencl_arguments_wanted ? nd_range_arguments : nd_range);
	OPENCL_WRAP(clEnqueueTask, task);
	OPENCL_WRAP(clEnqueueNativeKernel, native);
	OPENCL_WRAP(clEnqueueMarkerWithWaitList, marker);
	OPENCL_WRAP(clEnqueueBarrierWithWaitList, barrier);
	OPENCL_WRAP(clEnqueueMarker, old_marker);
	OPENCL_WRAP(clEnqueueBarrier, old_barrier);
	OPENCL_WRAP(clEnqueueWaitForEvents, old_wait);
}
