/* call.c - around the calls of OpenCL that are recorded. */
#include <string.h>

#include "opencl/opencl.h"

/* What is not in the arguments' names: whether a call waits is a part of what it is called, see timeline/calls.c. */
#define ASYNC " (non-blocking)"

static const char *const names[OPENCL_CALL_COUNT] = {
	[CALL_ND_RANGE] = "clEnqueueNDRangeKernel",
	[CALL_TASK] = "clEnqueueTask",
	[CALL_NATIVE] = "clEnqueueNativeKernel",
	[CALL_READ] = "clEnqueueReadBuffer",
	[CALL_READ_ASYNC] = "clEnqueueReadBuffer" ASYNC,
	[CALL_READ_RECT] = "clEnqueueReadBufferRect",
	[CALL_READ_RECT_ASYNC] = "clEnqueueReadBufferRect" ASYNC,
	[CALL_WRITE] = "clEnqueueWriteBuffer",
	[CALL_WRITE_ASYNC] = "clEnqueueWriteBuffer" ASYNC,
	[CALL_WRITE_RECT] = "clEnqueueWriteBufferRect",
	[CALL_WRITE_RECT_ASYNC] = "clEnqueueWriteBufferRect" ASYNC,
	[CALL_READ_IMAGE] = "clEnqueueReadImage",
	[CALL_READ_IMAGE_ASYNC] = "clEnqueueReadImage" ASYNC,
	[CALL_WRITE_IMAGE] = "clEnqueueWriteImage",
	[CALL_WRITE_IMAGE_ASYNC] = "clEnqueueWriteImage" ASYNC,
	[CALL_COPY] = "clEnqueueCopyBuffer",
	[CALL_COPY_RECT] = "clEnqueueCopyBufferRect",
	[CALL_COPY_IMAGE] = "clEnqueueCopyImage",
	[CALL_COPY_IMAGE_TO_BUFFER] = "clEnqueueCopyImageToBuffer",
	[CALL_COPY_BUFFER_TO_IMAGE] = "clEnqueueCopyBufferToImage",
	[CALL_FILL] = "clEnqueueFillBuffer",
	[CALL_FILL_IMAGE] = "clEnqueueFillImage",
	[CALL_MAP] = "clEnqueueMapBuffer",
	[CALL_MAP_ASYNC] = "clEnqueueMapBuffer" ASYNC,
	[CALL_MAP_IMAGE] = "clEnqueueMapImage",
	[CALL_MAP_IMAGE_ASYNC] = "clEnqueueMapImage" ASYNC,
	[CALL_UNMAP] = "clEnqueueUnmapMemObject",
	[CALL_MIGRATE] = "clEnqueueMigrateMemObjects",
	[CALL_MARKER] = "clEnqueueMarkerWithWaitList",
	[CALL_OLD_MARKER] = "clEnqueueMarker",
	[CALL_BARRIER] = "clEnqueueBarrierWithWaitList",
	[CALL_OLD_BARRIER] = "clEnqueueBarrier",
	[CALL_WAIT_IN_QUEUE] = "clEnqueueWaitForEvents",
	[CALL_SVM_COPY] = "clEnqueueSVMMemcpy",
	[CALL_SVM_COPY_ASYNC] = "clEnqueueSVMMemcpy" ASYNC,
	[CALL_SVM_FILL] = "clEnqueueSVMMemFill",
	[CALL_SVM_MAP] = "clEnqueueSVMMap",
	[CALL_SVM_MAP_ASYNC] = "clEnqueueSVMMap" ASYNC,
	[CALL_SVM_UNMAP] = "clEnqueueSVMUnmap",
	[CALL_SVM_MIGRATE] = "clEnqueueSVMMigrateMem",
	[CALL_SVM_FREE_LATER] = "clEnqueueSVMFree",
	[CALL_USM_COPY] = "clEnqueueMemcpyINTEL",
	[CALL_USM_COPY_ASYNC] = "clEnqueueMemcpyINTEL" ASYNC,
	[CALL_USM_FILL] = "clEnqueueMemFillINTEL",
	[CALL_USM_SET] = "clEnqueueMemsetINTEL",
	[CALL_USM_MIGRATE] = "clEnqueueMigrateMemINTEL",
	[CALL_GL_ACQUIRE] = "clEnqueueAcquireGLObjects",
	[CALL_GL_RELEASE] = "clEnqueueReleaseGLObjects",
	[CALL_EGL_ACQUIRE] = "clEnqueueAcquireEGLObjectsKHR",
	[CALL_EGL_RELEASE] = "clEnqueueReleaseEGLObjectsKHR",
	[CALL_EXTERNAL_ACQUIRE] = "clEnqueueAcquireExternalMemObjectsKHR",
	[CALL_EXTERNAL_RELEASE] = "clEnqueueReleaseExternalMemObjectsKHR",
	[CALL_VA_ACQUIRE] = "clEnqueueAcquireVA_APIMediaSurfacesINTEL",
	[CALL_VA_RELEASE] = "clEnqueueReleaseVA_APIMediaSurfacesINTEL",
	[CALL_BATCH] = "clEnqueueCommandBufferKHR",
	[CALL_FINISH] = "clFinish",
	[CALL_WAIT] = "clWaitForEvents",
	[CALL_FLUSH] = "clFlush",
	[CALL_BUILD] = "clBuildProgram",
	[CALL_BUILD_LATE] = "clBuildProgram (at the first launch)",
	[CALL_COMPILE] = "clCompileProgram",
	[CALL_LINK] = "clLinkProgram",
	[CALL_CREATE_BUFFER] = "clCreateBuffer",
	[CALL_CREATE_IMAGE] = "clCreateImage",
	[CALL_CREATE_PIPE] = "clCreatePipe",
	[CALL_RELEASE_MEMORY] = "clReleaseMemObject",
	[CALL_SVM_ALLOC] = "clSVMAlloc",
	[CALL_SVM_FREE] = "clSVMFree",
	[CALL_USM_HOST] = "clHostMemAllocINTEL",
	[CALL_USM_DEVICE] = "clDeviceMemAllocINTEL",
	[CALL_USM_SHARED] = "clSharedMemAllocINTEL",
	[CALL_USM_FREE] = "clMemFreeINTEL",
	[CALL_USM_FREE_BLOCKING] = "clMemBlockingFreeINTEL",
	[CALL_SET_USER_EVENT] = "clSetUserEventStatus",
	[NAME_STREAM_WAIT] = "stream wait (event list)",
	[NAME_BATCH] = "command buffer",
};

/* Names are interned once; in another session their ids mean the same. */
static _Atomic uint32_t ids[OPENCL_CALL_COUNT];

uint32_t opencl_call_name(enum opencl_call call)
{
	uint32_t id = atomic_load_explicit(&ids[call], memory_order_relaxed);

	if (id)
		return id;
	id = inferscope_intern(&inferscope_thread, names[call], strlen(names[call]));
	atomic_store_explicit(&ids[call], id, memory_order_relaxed);
	return id;
}

void opencl_call_returned(enum opencl_call which, uint64_t begin, uint32_t correlation)
{
	struct runtime_thread *t = &inferscope_thread;
	uint64_t now = opencl_now();

	if (!opencl_recording() || !emit_enter(&inferscope_runtime, t))
		return;
	gpu_emit_call(t, opencl_call_name(which), begin, now, correlation);
	emit_leave(t);
}

void opencl_call_begin(struct call *call, cl_command_queue queue, cl_event *event, cl_uint count, const cl_event *list)
{
	call->queue = opencl_recording() ? opencl_queue_find(queue) : NULL;
	call->own = NULL;
	call->event = event;
	call->wait_count = 0;
	if (!call->queue)
		return;
	if (count)
		opencl_wait_find(call, count, list);
	if (!event && call->queue->profiled)
		call->event = &call->own;
	call->begin = opencl_now();
}

void opencl_call_end_with(struct call *call, enum opencl_call which, cl_int rc, struct command *command, const void *metadata)
{
	struct opencl_queue *q = call->queue;
	struct runtime_thread *t = &inferscope_thread;
	uint32_t name = 0;

	if (!q)
		return;
	call->end = opencl_now();
	call->correlation = rc == CL_SUCCESS && q->profiled ? gpu_correlation() : 0;
	if (emit_enter(&inferscope_runtime, t)) {
		name = opencl_call_name(which);
		gpu_emit_call(t, name, call->begin, call->end, call->correlation);
		if (call->wait_count && rc == CL_SUCCESS)
			opencl_wait_emit(t, call);
		emit_leave(t);
	}
	if (!call->correlation)
		return;
	if (!command->name)
		command->name = name;
	if (call->wait_count)
		command->first_of = 0; /* what it waits for is not its compilation */
	if (call->event != &call->own)
		(void)opencl_next.clRetainEvent(*call->event);
	opencl_command_push(call, command, metadata);
	if (opencl_call_waits(which))
		opencl_harvest_waited(q);
}

void opencl_call_end(struct call *call, enum opencl_call which, cl_int rc, struct command *command)
{
	opencl_call_end_with(call, which, rc, command, NULL);
}
