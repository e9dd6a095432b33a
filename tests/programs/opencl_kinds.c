/* opencl_kinds.c - each kind of command once, in a queue that does not ask for profiling. */
#include "opencl_calls.h"

#include <CL/cl_ext.h>
#include <CL/cl_gl.h>

static cl_mem image_make(const struct world *w)
{
	cl_image_format format = { CL_RGBA, CL_UNORM_INT8 };
	cl_image_desc description = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 32, .image_height = 16 };
	cl_int rc;
	cl_mem image = clCreateImage(w->context, CL_MEM_READ_WRITE, &format, &description, NULL, &rc);

	TRY(rc);
	return image;
}

static void CL_CALLBACK native(void *arguments)
{
	(void)arguments;
}

static void kernels(const struct world *w, cl_mem buffer)
{
	size_t global[3] = { 8, 6, 4 }, local[3] = { 4, 3, 2 };
	int argument = 0;
	cl_float f = 1;

	launch_scale(w, w->queue, buffer, 2);
	TRY(clSetKernelArg(w->empty, 0, sizeof f, &f));
	TRY(clEnqueueNDRangeKernel(w->queue, w->empty, 3, NULL, global, local, 0, NULL, NULL));
	TRY(clEnqueueNDRangeKernel(w->queue, w->empty, 2, NULL, global, NULL, 0, NULL, NULL));
	TRY(clEnqueueTask(w->queue, w->empty, 0, NULL, NULL));
	TRY(clEnqueueNativeKernel(w->queue, native, &argument, sizeof argument, 0, NULL, NULL, 0, NULL, NULL));
}

static void buffers(const struct world *w, cl_mem a, cl_mem b)
{
	static char host[N * 4];
	size_t zero[3] = { 0, 0, 0 }, region[3] = { 64, 8, 2 };
	cl_float one = 1;

	TRY(clEnqueueWriteBuffer(w->queue, a, CL_TRUE, 0, 1000, host, 0, NULL, NULL));
	TRY(clEnqueueWriteBuffer(w->queue, a, CL_FALSE, 0, 1001, host, 0, NULL, NULL));
	TRY(clEnqueueReadBuffer(w->queue, a, CL_TRUE, 0, 1002, host, 0, NULL, NULL));
	TRY(clEnqueueReadBuffer(w->queue, a, CL_FALSE, 0, 1003, host, 0, NULL, NULL));
	TRY(clEnqueueWriteBufferRect(w->queue, a, CL_TRUE, zero, zero, region, 64, 512, 64, 512, host, 0, NULL, NULL));
	TRY(clEnqueueWriteBufferRect(w->queue, a, CL_FALSE, zero, zero, region, 64, 512, 64, 512, host, 0, NULL, NULL));
	TRY(clEnqueueReadBufferRect(w->queue, a, CL_TRUE, zero, zero, region, 64, 512, 64, 512, host, 0, NULL, NULL));
	TRY(clEnqueueReadBufferRect(w->queue, a, CL_FALSE, zero, zero, region, 64, 512, 64, 512, host, 0, NULL, NULL));
	TRY(clEnqueueCopyBuffer(w->queue, a, b, 0, 0, 1004, 0, NULL, NULL));
	TRY(clEnqueueCopyBufferRect(w->queue, a, b, zero, zero, region, 64, 512, 64, 512, 0, NULL, NULL));
	TRY(clEnqueueFillBuffer(w->queue, a, &one, sizeof one, 0, 2000, 0, NULL, NULL));
	TRY(clEnqueueMigrateMemObjects(w->queue, 2, (cl_mem[]){ a, b }, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
	TRY(clFinish(w->queue));
}

static void images(const struct world *w, cl_mem buffer)
{
	static char host[32 * 16 * 4];
	size_t zero[3] = { 0, 0, 0 }, region[3] = { 16, 8, 1 };
	cl_mem a = image_make(w), b = image_make(w);
	cl_float color[4] = { 1, 0, 0, 1 };

	TRY(clEnqueueFillImage(w->queue, a, color, zero, region, 0, NULL, NULL));
	TRY(clEnqueueWriteImage(w->queue, a, CL_TRUE, zero, region, 0, 0, host, 0, NULL, NULL));
	TRY(clEnqueueWriteImage(w->queue, a, CL_FALSE, zero, region, 0, 0, host, 0, NULL, NULL));
	TRY(clEnqueueReadImage(w->queue, a, CL_TRUE, zero, region, 0, 0, host, 0, NULL, NULL));
	TRY(clEnqueueReadImage(w->queue, a, CL_FALSE, zero, region, 0, 0, host, 0, NULL, NULL));
	TRY(clEnqueueCopyImage(w->queue, a, b, zero, zero, region, 0, NULL, NULL));
	TRY(clEnqueueCopyImageToBuffer(w->queue, a, buffer, zero, region, 0, 0, NULL, NULL));
	TRY(clEnqueueCopyBufferToImage(w->queue, buffer, a, 0, zero, region, 0, NULL, NULL));
	TRY(clFinish(w->queue));
	TRY(clReleaseMemObject(a));
	TRY(clReleaseMemObject(b));
}

static void maps(const struct world *w, cl_mem buffer, cl_mem pinned)
{
	size_t zero[3] = { 0, 0, 0 }, region[3] = { 16, 8, 1 }, row;
	static char host[4096];
	cl_mem image = image_make(w);
	void *p;
	cl_int rc;

	p = clEnqueueMapBuffer(w->queue, buffer, CL_TRUE, CL_MAP_READ, 0, 3000, 0, NULL, NULL, &rc);
	TRY(rc);
	TRY(clEnqueueUnmapMemObject(w->queue, buffer, p, 0, NULL, NULL));
	p = clEnqueueMapBuffer(w->queue, buffer, CL_FALSE, CL_MAP_WRITE_INVALIDATE_REGION, 0, 3001, 0, NULL, NULL, &rc);
	TRY(rc);
	TRY(clEnqueueUnmapMemObject(w->queue, buffer, p, 0, NULL, NULL));
	p = clEnqueueMapImage(w->queue, image, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, zero, region, &row, NULL, 0, NULL, NULL, &rc);
	TRY(rc);
	TRY(clEnqueueUnmapMemObject(w->queue, image, p, 0, NULL, NULL));
	p = clEnqueueMapBuffer(w->queue, pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 4096, 0, NULL, NULL, &rc);
	TRY(rc);
	TRY(clEnqueueWriteBuffer(w->queue, buffer, CL_TRUE, 0, 4000, p, 0, NULL, NULL)); /* from pinned memory */
	TRY(clEnqueueUnmapMemObject(w->queue, pinned, p, 0, NULL, NULL));
	TRY(clEnqueueReadBuffer(w->queue, pinned, CL_TRUE, 0, 4096, host, 0, NULL, NULL));
	TRY(clFinish(w->queue));
	TRY(clReleaseMemObject(image));
}

static void syncs(const struct world *w)
{
	cl_event event;

	TRY(clEnqueueMarkerWithWaitList(w->queue, 0, NULL, NULL));
	TRY(clEnqueueMarker(w->queue, &event));
	TRY(clEnqueueBarrierWithWaitList(w->queue, 0, NULL, NULL));
	TRY(clEnqueueBarrier(w->queue));
	TRY(clFlush(w->queue));
	TRY(clWaitForEvents(1, &event));
	TRY(clFinish(w->queue));
	TRY(clReleaseEvent(event));
}

int calls_kinds(void)
{
	struct world w;
	cl_mem a, b, pinned;

	world_make(&w, 0);
	a = buffer_make(&w, CL_MEM_READ_WRITE, N * 4);
	b = buffer_make(&w, CL_MEM_READ_WRITE, N * 4);
	pinned = buffer_make(&w, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, 4096);
	kernels(&w, a);
	buffers(&w, a, b);
	images(&w, b);
	maps(&w, a, pinned);
	syncs(&w);
	TRY(clReleaseMemObject(a));
	TRY(clReleaseMemObject(b));
	TRY(clReleaseMemObject(pinned));
	world_end(&w);
	puts("done");
	return 0;
}

/* ---- Shared virtual memory, and command buffers ---------------------------------------- */

int calls_svm(void)
{
	static char host[4096];
	struct world w;
	void *a, *b;
	char one = 1;

	world_make(&w, 0);
	a = clSVMAlloc(w.context, CL_MEM_READ_WRITE, 4096, 0);
	b = clSVMAlloc(w.context, CL_MEM_READ_WRITE, 8192, 0);
	if (!a || !b) {
		puts("none");
		return 0;
	}
	TRY(clEnqueueSVMMemFill(w.queue, a, &one, 1, 4096, 0, NULL, NULL));
	TRY(clEnqueueSVMMemcpy(w.queue, CL_TRUE, b, a, 4000, 0, NULL, NULL));
	TRY(clEnqueueSVMMemcpy(w.queue, CL_TRUE, host, a, 4001, 0, NULL, NULL));
	TRY(clEnqueueSVMMemcpy(w.queue, CL_FALSE, b, host, 4002, 0, NULL, NULL));
	TRY(clEnqueueSVMMap(w.queue, CL_TRUE, CL_MAP_WRITE, b, 8192, 0, NULL, NULL));
	TRY(clEnqueueSVMUnmap(w.queue, b, 0, NULL, NULL));
	TRY(clEnqueueSVMMigrateMem(w.queue, 2, (const void *[]){ a, b }, (size_t[]){ 1000, 0 }, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
	TRY(clEnqueueSVMMigrateMem(w.queue, 1, (const void *[]){ a }, NULL, 0, 0, NULL, NULL)); /* all of it, as a size of 0 says, too */
	TRY(clEnqueueSVMFree(w.queue, 1, &b, NULL, NULL, 0, NULL, NULL));
	TRY(clFinish(w.queue));
	printf("sum %d\n", host[0] + host[4000]);
	clSVMFree(w.context, a);
	world_end(&w);
	return 0;
}

/* As extensions are used: asked for by name. */
#define EXTENSION(name) name##_fn name = (name##_fn)clGetExtensionFunctionAddressForPlatform(w.platform, #name)

int calls_batch(void)
{
	static float host[N];
	size_t global = N, local = 64;
	cl_command_buffer_khr batch;
	struct world w;
	cl_mem buffer;
	cl_int rc, rounds = 50;
	double sum = 0;

	world_make(&w, 0);
	EXTENSION(clCreateCommandBufferKHR);
	EXTENSION(clCommandNDRangeKernelKHR);
	EXTENSION(clFinalizeCommandBufferKHR);
	EXTENSION(clEnqueueCommandBufferKHR);
	EXTENSION(clReleaseCommandBufferKHR);
	if (!clCreateCommandBufferKHR || !clEnqueueCommandBufferKHR) {
		puts("none");
		return 0;
	}
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, N * 4);
	TRY(clEnqueueWriteBuffer(w.queue, buffer, CL_TRUE, 0, N * 4, host, 0, NULL, NULL));
	batch = clCreateCommandBufferKHR(1, &w.queue, NULL, &rc);
	TRY(rc);
	TRY(clSetKernelArg(w.work, 0, sizeof buffer, &buffer));
	TRY(clSetKernelArg(w.work, 1, sizeof rounds, &rounds));
	for (int i = 0; i < 3; i++)
		TRY(clCommandNDRangeKernelKHR(batch, NULL, NULL, w.work, 1, NULL, &global, &local, 0, NULL, NULL, NULL));
	TRY(clFinalizeCommandBufferKHR(batch));
	for (int i = 0; i < 5; i++) {
		TRY(clEnqueueCommandBufferKHR(i % 2, i % 2 ? &w.queue : NULL, batch, 0, NULL, NULL));
		TRY(clFinish(w.queue));
	}
	TRY(clEnqueueReadBuffer(w.queue, buffer, CL_TRUE, 0, N * 4, host, 0, NULL, NULL));
	for (size_t i = 0; i < N; i++)
		sum += host[i];
	printf("sum %.17g\n", sum);
	TRY(clReleaseCommandBufferKHR(batch));
	TRY(clReleaseMemObject(buffer));
	world_end(&w);
	return 0;
}

/* Many of them, for two queues by turns; where to is what they were made for. */
int calls_batches(int count)
{
	cl_command_buffer_khr *batches = calloc((size_t)count + 1, sizeof *batches);
	cl_command_queue queues[2];
	size_t one = 1;
	cl_float f = 1;
	struct world w;
	cl_int rc;

	world_make(&w, 0);
	EXTENSION(clCreateCommandBufferKHR);
	EXTENSION(clCommandNDRangeKernelKHR);
	EXTENSION(clFinalizeCommandBufferKHR);
	EXTENSION(clEnqueueCommandBufferKHR);
	EXTENSION(clReleaseCommandBufferKHR);
	if (!clCreateCommandBufferKHR || !clEnqueueCommandBufferKHR) {
		puts("none");
		return 0;
	}
	queues[0] = w.queue;
	queues[1] = queue_make(&w, 0);
	TRY(clSetKernelArg(w.empty, 0, sizeof f, &f));
	for (int i = 0; i < count; i++) {
		batches[i] = clCreateCommandBufferKHR(1, &queues[i % 2], NULL, &rc);
		TRY(rc);
		TRY(clCommandNDRangeKernelKHR(batches[i], NULL, NULL, w.empty, 1, NULL, &one, &one, 0, NULL, NULL, NULL));
		TRY(clFinalizeCommandBufferKHR(batches[i]));
	}
	for (int i = 0; i < count; i++)
		TRY(clEnqueueCommandBufferKHR(0, NULL, batches[i], 0, NULL, NULL));
	for (int i = 0; i < 2; i++)
		TRY(clFinish(queues[i]));
	for (int i = 0; i < count; i++)
		TRY(clReleaseCommandBufferKHR(batches[i]));
	free(batches);
	TRY(clReleaseCommandQueue(queues[1]));
	world_end(&w);
	puts("done");
	return 0;
}

/* ---- Functions of other extensions; their types are told here, since not all headers have them -------------- */

#define WAITS cl_uint, const cl_event *, cl_event *
typedef void *(*usm_host_fn)(cl_context, const cl_ulong *, size_t, cl_uint, cl_int *);
typedef void *(*usm_device_fn)(cl_context, cl_device_id, const cl_ulong *, size_t, cl_uint, cl_int *);
typedef cl_int (*usm_free_fn)(cl_context, void *);
typedef cl_int (*usm_copy_fn)(cl_command_queue, cl_bool, void *, const void *, size_t, WAITS);
typedef cl_int (*usm_fill_fn)(cl_command_queue, void *, const void *, size_t, size_t, WAITS);
typedef cl_int (*usm_set_fn)(cl_command_queue, void *, cl_int, size_t, WAITS);
typedef cl_int (*usm_migrate_fn)(cl_command_queue, const void *, size_t, cl_mem_migration_flags, WAITS);
typedef cl_int (*share_fn)(cl_command_queue, cl_uint, const cl_mem *, WAITS);
typedef cl_command_queue (*create_fn)(cl_context, cl_device_id, const cl_queue_properties *, cl_int *);
#define NAMED(type, name) ((type)clGetExtensionFunctionAddressForPlatform(w.platform, name))

int calls_usm(void)
{
	static char pageable[4096], there[4096];
	struct world w;
	char one = 1, *host, *device, *shared;
	cl_int rc;

	world_make(&w, 0);
	if (!NAMED(usm_host_fn, "clHostMemAllocINTEL")) {
		puts("none");
		return 0;
	}
	host = NAMED(usm_host_fn, "clHostMemAllocINTEL")(w.context, NULL, 4096, 0, &rc);
	TRY(rc);
	device = NAMED(usm_device_fn, "clDeviceMemAllocINTEL")(w.context, w.device, NULL, 8192, 0, &rc);
	TRY(rc);
	shared = NAMED(usm_device_fn, "clSharedMemAllocINTEL")(w.context, w.device, NULL, 2048, 0, &rc);
	TRY(rc);
	memset(host, 5, 4096);
	TRY(NAMED(usm_fill_fn, "clEnqueueMemFillINTEL")(w.queue, device, &one, 1, 8192, 0, NULL, NULL));
	TRY(NAMED(usm_set_fn, "clEnqueueMemsetINTEL")(w.queue, shared, 3, 2048, 0, NULL, NULL));
	TRY(NAMED(usm_copy_fn, "clEnqueueMemcpyINTEL")(w.queue, CL_TRUE, device, host, 4000, 0, NULL, NULL));
	TRY(NAMED(usm_copy_fn, "clEnqueueMemcpyINTEL")(w.queue, CL_TRUE, pageable, device + 16, 4001, 0, NULL, NULL));
	TRY(NAMED(usm_copy_fn, "clEnqueueMemcpyINTEL")(w.queue, CL_FALSE, shared, pageable, 2000, 0, NULL, NULL));
	TRY(NAMED(usm_copy_fn, "clEnqueueMemcpyINTEL")(w.queue, CL_FALSE, device + 1, shared + 1, 1000, 0, NULL, NULL));
	TRY(NAMED(usm_migrate_fn, "clEnqueueMigrateMemINTEL")(w.queue, shared, 2048, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
	TRY(clEnqueueSVMMemcpy(w.queue, CL_TRUE, there, shared, 2048, 0, NULL, NULL));
	printf("sums %d %d %d\n", pageable[0] + pageable[4000], there[0] + there[1999], there[2000]);
	TRY(NAMED(usm_free_fn, "clMemBlockingFreeINTEL")(w.context, device));
	TRY(NAMED(usm_free_fn, "clMemFreeINTEL")(w.context, shared));
	TRY(NAMED(usm_free_fn, "clMemFreeINTEL")(w.context, host));
	world_end(&w);
	return 0;
}

/* What is in the table and what is asked for by name, both ways where there are both. */
int calls_share(void)
{
	static const char *const names[] = { "clEnqueueAcquireGLObjects", "clEnqueueReleaseGLObjects", "clEnqueueAcquireEGLObjectsKHR",
		"clEnqueueReleaseEGLObjectsKHR", "clEnqueueAcquireExternalMemObjectsKHR", "clEnqueueReleaseExternalMemObjectsKHR",
		"clEnqueueAcquireVA_APIMediaSurfacesINTEL", "clEnqueueReleaseVA_APIMediaSurfacesINTEL" };
	struct world w;
	cl_mem buffer;

	world_make(&w, 0);
	if (!NAMED(share_fn, names[4])) {
		puts("none");
		return 0;
	}
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, 4096);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		TRY(NAMED(share_fn, names[i])(w.queue, 1, &buffer, 0, NULL, NULL));
	TRY(clEnqueueAcquireGLObjects(w.queue, 1, &buffer, 0, NULL, NULL));
	TRY(clEnqueueReleaseGLObjects(w.queue, 1, &buffer, 0, NULL, NULL));
	TRY(clFinish(w.queue));
	TRY(clReleaseMemObject(buffer));
	world_end(&w);
	puts("done");
	return 0;
}

/* A queue of a driver of OpenCL 1.2, without profiling. */
int calls_queue_khr(void)
{
	cl_queue_properties list[] = { CL_QUEUE_PROPERTIES, 0, 0 };
	cl_command_queue_properties properties = 99;
	cl_command_queue queue;
	struct world w;
	cl_event event;
	cl_mem buffer;
	cl_ulong time;
	cl_int rc;

	world_make(&w, 0);
	if (!NAMED(create_fn, "clCreateCommandQueueWithPropertiesKHR")) {
		puts("none");
		return 0;
	}
	queue = NAMED(create_fn, "clCreateCommandQueueWithPropertiesKHR")(w.context, w.device, list, &rc);
	TRY(rc);
	buffer = buffer_make(&w, CL_MEM_READ_WRITE, 4096);
	TRY(clEnqueueFillBuffer(queue, buffer, &(cl_float){ 0 }, 4, 0, 4096, 0, NULL, &event));
	TRY(clFinish(queue));
	TRY(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
	rc = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL);
	printf("properties %llu profiling %d\n", (unsigned long long)properties, rc);
	TRY(clReleaseEvent(event));
	TRY(clReleaseMemObject(buffer));
	TRY(clReleaseCommandQueue(queue));
	world_end(&w);
	return 0;
}
