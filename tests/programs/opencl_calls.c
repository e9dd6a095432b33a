/*
 * opencl_calls.c - a program with OpenCL to be recorded.
 *
 *      opencl_calls WHAT [...]
 *
 * What it prints is what a test compares with the trace, or with what it prints
 * when nobody records it.
 */
#include "opencl_calls.h"

static const char *source = "__kernel void scale(__global float *a, float f) { size_t i = get_global_id(0); a[i] = a[i] * f + 1; }\n"
			    "__kernel void work(__global float *a, int n) { size_t i = get_global_id(0); float x = a[i];\n"
			    "	for (int k = 0; k < n; k++) x = x * 1.0001f + 0.5f; a[i] = x; }\n"
			    "__kernel void empty(float f) {}\n";

cl_command_queue queue_make(const struct world *w, cl_command_queue_properties properties)
{
	cl_int rc;
	cl_command_queue queue = clCreateCommandQueue(w->context, w->device, properties, &rc);

	TRY(rc);
	return queue;
}

cl_mem buffer_make(const struct world *w, cl_mem_flags flags, size_t size)
{
	cl_int rc;
	cl_mem buffer = clCreateBuffer(w->context, flags, size, NULL, &rc);

	TRY(rc);
	return buffer;
}

cl_kernel kernel_make(const struct world *w, const char *name)
{
	cl_int rc;
	cl_kernel kernel = clCreateKernel(w->program, name, &rc);

	TRY(rc);
	return kernel;
}

void program_make(struct world *w)
{
	cl_int rc;

	w->program = clCreateProgramWithSource(w->context, 1, &source, NULL, &rc);
	TRY(rc);
	TRY(clBuildProgram(w->program, 1, &w->device, "-cl-kernel-arg-info", NULL, NULL));
}

void world_make(struct world *w, cl_command_queue_properties properties)
{
	cl_int rc;

	TRY(clGetPlatformIDs(1, &w->platform, NULL));
	TRY(clGetDeviceIDs(w->platform, CL_DEVICE_TYPE_ALL, 1, &w->device, NULL));
	w->context = clCreateContext(NULL, 1, &w->device, NULL, NULL, &rc);
	TRY(rc);
	w->queue = queue_make(w, properties);
	program_make(w);
	w->scale = kernel_make(w, "scale");
	w->work = kernel_make(w, "work");
	w->empty = kernel_make(w, "empty");
}

void world_end(struct world *w)
{
	TRY(clReleaseKernel(w->scale));
	TRY(clReleaseKernel(w->work));
	TRY(clReleaseKernel(w->empty));
	TRY(clReleaseProgram(w->program));
	TRY(clReleaseCommandQueue(w->queue));
	TRY(clReleaseContext(w->context));
}

void launch_work(const struct world *w, cl_command_queue queue, cl_mem buffer, cl_int rounds, cl_uint waits, const cl_event *list, cl_event *event)
{
	size_t global = N, local = 64;

	TRY(clSetKernelArg(w->work, 0, sizeof buffer, &buffer));
	TRY(clSetKernelArg(w->work, 1, sizeof rounds, &rounds));
	TRY(clEnqueueNDRangeKernel(queue, w->work, 1, NULL, &global, &local, waits, list, event));
}

void launch_scale(const struct world *w, cl_command_queue queue, cl_mem buffer, cl_float factor)
{
	size_t global = N, local = 64;

	TRY(clSetKernelArg(w->scale, 0, sizeof buffer, &buffer));
	TRY(clSetKernelArg(w->scale, 1, sizeof factor, &factor));
	TRY(clEnqueueNDRangeKernel(queue, w->scale, 1, NULL, &global, &local, 0, NULL, NULL));
}

static cl_command_queue_properties order_of(const char *word)
{
	return word && strcmp(word, "unordered") == 0 ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *more = argc > 2 ? argv[2] : NULL;

	if (strcmp(what, "kinds") == 0)
		return calls_kinds();
	if (strcmp(what, "svm") == 0)
		return calls_svm();
	if (strcmp(what, "batch") == 0)
		return calls_batch();
	if (strcmp(what, "batches") == 0)
		return calls_batches(more ? atoi(more) : 100);
	if (strcmp(what, "usm") == 0)
		return calls_usm();
	if (strcmp(what, "share") == 0)
		return calls_share();
	if (strcmp(what, "queue_khr") == 0)
		return calls_queue_khr();
	if (strcmp(what, "busy") == 0)
		return calls_busy(CL_QUEUE_PROFILING_ENABLE | order_of(more));
	if (strcmp(what, "gaps") == 0)
		return calls_gaps();
	if (strcmp(what, "view") == 0)
		return calls_view(order_of(more));
	if (strcmp(what, "released") == 0)
		return calls_released();
	if (strcmp(what, "threads") == 0)
		return calls_threads();
	if (strcmp(what, "waits") == 0)
		return calls_waits(order_of(more));
	if (strcmp(what, "memory") == 0)
		return calls_memory();
	if (strcmp(what, "parts") == 0)
		return calls_parts();
	if (strcmp(what, "contexts") == 0)
		return calls_contexts();
	if (strcmp(what, "queues") == 0)
		return calls_queues(more ? atoi(more) : 100);
	if (strcmp(what, "requests") == 0)
		return calls_requests(more ? atoi(more) : 100);
	if (strcmp(what, "children") == 0)
		return calls_children(argv[0]);
	if (strcmp(what, "endless") == 0)
		return calls_endless();
	if (strcmp(what, "surprise") == 0)
		return calls_surprise();
	if (strcmp(what, "polled") == 0)
		return calls_polled(more ? atoi(more) : 0);
	if (strcmp(what, "unfinished") == 0)
		return calls_unfinished();
	if (strcmp(what, "exit") == 0)
		return calls_exit();
	if (strcmp(what, "arguments") == 0)
		return calls_arguments();
	if (strcmp(what, "flood") == 0)
		return calls_flood(more ? atoi(more) : 1000, order_of(argc > 3 ? argv[3] : NULL));
	if (strcmp(what, "kernels") == 0)
		return calls_kernels(more ? atoi(more) : 100);
	if (strcmp(what, "fresh") == 0)
		return calls_fresh();
	if (strcmp(what, "shared") == 0)
		return calls_shared(order_of(more));
	fprintf(stderr, "opencl_calls: what?\n");
	return 2;
}
