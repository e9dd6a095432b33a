/*
 * opencl_layer.c - a layer of OpenCL for tests.  OPENCL_TEST_LAYER says what it does, words with commas between:
 *
 *      count     at the end it says how many kernels, copies, events and so on it has seen, in the file OPENCL_TEST_COUNTS
 *      shift     the device's clock is another one: 1000 seconds ahead, and 50 ppm faster
 *      late      commands have been submitted half a millisecond before they were
 *      names     the device has a name that nobody would give it
 *      refuse    no queue with profiling can be had
 *      deaf      no callbacks for events
 *      timeless  nobody can say when a command ran; `unqueued`: or when it was put into its queue
 */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct _cl_icd_dispatch next, table;
static _Atomic unsigned kernels, writes, profiled, created, asked;

static int does(const char *what)
{
	const char *list = getenv("OPENCL_TEST_LAYER");

	return list && strstr(list, what);
}

static CL_API_ENTRY cl_int CL_API_CALL nd_range(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
						 const size_t *global, const size_t *local, cl_uint waits, const cl_event *list, cl_event *event)
{
	kernels++;
	return next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits, list, event);
}

static CL_API_ENTRY cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
						     const void *from, cl_uint waits, const cl_event *list, cl_event *event)
{
	writes++;
	return next.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from, waits, list, event);
}

static CL_API_ENTRY cl_int CL_API_CALL get_profiling(cl_event event, cl_profiling_info what, size_t size, void *value, size_t *ret_size)
{
	cl_int rc = next.clGetEventProfilingInfo(event, what, size, value, ret_size);
	cl_ulong time;

	profiled++;
	if (does("timeless") || (what == CL_PROFILING_COMMAND_QUEUED && does("unqueued")))
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	if (rc == CL_SUCCESS && value && size >= sizeof time && does("shift")) {
		memcpy(&time, value, sizeof time);
		time += time / 20000 + 1000000000000u;
		memcpy(value, &time, sizeof time);
	}
	if (rc == CL_SUCCESS && value && what == CL_PROFILING_COMMAND_SUBMIT && does("late")) {
		memcpy(&time, value, sizeof time);
		time -= 500000;
		memcpy(value, &time, sizeof time);
	}
	return rc;
}

static CL_API_ENTRY cl_command_queue CL_API_CALL create(cl_context context, cl_device_id device, cl_command_queue_properties properties,
							 cl_int *ret_error)
{
	created++;
	if (properties & CL_QUEUE_PROFILING_ENABLE && does("refuse")) {
		if (ret_error)
			*ret_error = CL_INVALID_QUEUE_PROPERTIES;
		return NULL;
	}
	return next.clCreateCommandQueue(context, device, properties, ret_error);
}

static CL_API_ENTRY cl_int CL_API_CALL kernel_info(cl_kernel kernel, cl_kernel_info what, size_t size, void *value, size_t *ret_size)
{
	asked += what == CL_KERNEL_FUNCTION_NAME;
	return next.clGetKernelInfo(kernel, what, size, value, ret_size);
}

static CL_API_ENTRY cl_int CL_API_CALL set_callback(cl_event event, cl_int type, void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *data)
{
	return does("deaf") ? CL_OUT_OF_RESOURCES : next.clSetEventCallback(event, type, function, data);
}

/* Lines that would say another device, bytes that are no text, and no end. */
static CL_API_ENTRY cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t size, void *value, size_t *ret_size)
{
	static const char start[] = "evil \xff\x1b[31m\"<b>";

	if (!does("names") || (what != CL_DEVICE_NAME && what != CL_DEVICE_VENDOR))
		return next.clGetDeviceInfo(device, what, size, value, ret_size);
	if (ret_size)
		*ret_size = size;
	if (value) {
		memset(value, 'x', size);
		memcpy(value, what == CL_DEVICE_NAME ? start : "A\n\nstream=77\nkind=cuda", size < 14 ? size : 14);
	}
	return CL_SUCCESS;
}

#define EXPORT __attribute__((visibility("default"))) CL_API_ENTRY
EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_uint what, size_t size, void *value, size_t *ret_size);
EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *ret_entries, const cl_icd_dispatch **ret_table);

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_uint what, size_t size, void *value, size_t *ret_size)
{
	cl_uint version = 100;

	if (what != 0x4240)
		return CL_INVALID_VALUE;
	if (value && size >= sizeof version)
		memcpy(value, &version, sizeof version);
	if (ret_size)
		*ret_size = sizeof version;
	return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch *target, cl_uint *ret_entries,
					     const cl_icd_dispatch **ret_table)
{
	cl_uint ours = (cl_uint)(sizeof table / sizeof(void *));

	ours = entries < ours ? entries : ours;
	memcpy(&next, target, ours * sizeof(void *));
	memcpy(&table, target, ours * sizeof(void *));
	table.clEnqueueNDRangeKernel = nd_range;
	table.clEnqueueWriteBuffer = write_buffer;
	table.clGetEventProfilingInfo = get_profiling;
	table.clCreateCommandQueue = create;
	table.clSetEventCallback = set_callback;
	table.clGetDeviceInfo = device_info;
	table.clGetKernelInfo = kernel_info;
	*ret_entries = ours;
	*ret_table = &table;
	return CL_SUCCESS;
}

__attribute__((destructor)) static void say(void)
{
	const char *path = getenv("OPENCL_TEST_COUNTS");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	fprintf(file, "kernels %u writes %u profiled %d queues %u asked %u\n", kernels, writes, profiled > 0, created, asked);
	fclose(file);
}
