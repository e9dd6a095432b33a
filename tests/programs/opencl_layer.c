/*
 * opencl_layer.c - a layer of OpenCL for tests.  OPENCL_TEST_LAYER says what it does, words with commas between:
 *
 *      count     at the end it says how many kernels, copies, events and so on it has seen, in the file OPENCL_TEST_COUNTS
 *      shift     the device's clock is another one: 1000 seconds ahead, and 50 ppm faster
 *      late      commands have been submitted half a millisecond before they were
 *      more      functions of extensions, in terms of OpenCL's own
 *      names     the device has a name that nobody would give it
 *      alone     a queue always has one reference, whoever holds others
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

static CL_API_ENTRY cl_int CL_API_CALL queue_info(cl_command_queue queue, cl_command_queue_info what, size_t size, void *value, size_t *ret_size)
{
	cl_int rc = next.clGetCommandQueueInfo(queue, what, size, value, ret_size);

	if (rc == CL_SUCCESS && what == CL_QUEUE_REFERENCE_COUNT && value && does("alone"))
		memcpy(value, &(cl_uint){ 1 }, sizeof(cl_uint));
	return rc;
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

/* ---- Extensions: unified shared memory is shared virtual memory, and who shares objects puts markers into queues ---- */

#define WAITS cl_uint waits, const cl_event *list, cl_event *event

static struct piece {
	char *begin;
	size_t size;
	cl_uint type;
} pieces[16];
static unsigned piece_count;

static void *allocate(cl_context context, size_t size, cl_uint type, cl_int *ret_error)
{
	void *memory = next.clSVMAlloc(context, CL_MEM_READ_WRITE, size, 0);

	if (ret_error)
		*ret_error = memory ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
	if (memory && piece_count < 16)
		pieces[piece_count++] = (struct piece){ memory, size, type };
	return memory;
}

static void *CL_API_CALL usm_host(cl_context context, const cl_ulong *list, size_t size, cl_uint alignment, cl_int *ret_error)
{
	(void)list;
	(void)alignment;
	return allocate(context, size, 0x4197, ret_error);
}

static void *CL_API_CALL usm_device(cl_context context, cl_device_id device, const cl_ulong *list, size_t size, cl_uint alignment,
				    cl_int *ret_error)
{
	(void)device;
	(void)list;
	(void)alignment;
	return allocate(context, size, 0x4198, ret_error);
}

static void *CL_API_CALL usm_shared(cl_context context, cl_device_id device, const cl_ulong *list, size_t size, cl_uint alignment,
				    cl_int *ret_error)
{
	(void)device;
	(void)list;
	(void)alignment;
	return allocate(context, size, 0x4199, ret_error);
}

static cl_int CL_API_CALL usm_free(cl_context context, void *memory)
{
	next.clSVMFree(context, memory);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL usm_info(cl_context context, const void *pointer, cl_uint what, size_t size, void *value, size_t *ret_size)
{
	cl_uint type = 0x4196;

	(void)context;
	for (unsigned i = 0; i < piece_count; i++)
		if ((const char *)pointer >= pieces[i].begin && (const char *)pointer < pieces[i].begin + pieces[i].size)
			type = pieces[i].type;
	if (what != 0x419a || size < sizeof type || ret_size)
		return CL_INVALID_VALUE;
	memcpy(value, &type, sizeof type);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL usm_copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from, size_t size, WAITS)
{
	return next.clEnqueueSVMMemcpy(queue, blocking, to, from, size, waits, list, event);
}

static cl_int CL_API_CALL usm_fill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_size, size_t size, WAITS)
{
	return next.clEnqueueSVMMemFill(queue, to, pattern, pattern_size, size, waits, list, event);
}

static cl_int CL_API_CALL usm_set(cl_command_queue queue, void *to, cl_int value, size_t size, WAITS)
{
	char byte = (char)value;

	return next.clEnqueueSVMMemFill(queue, to, &byte, 1, size, waits, list, event);
}

static cl_int CL_API_CALL usm_migrate(cl_command_queue queue, const void *memory, size_t size, cl_mem_migration_flags flags, WAITS)
{
	(void)memory;
	(void)size;
	(void)flags;
	return next.clEnqueueMarkerWithWaitList(queue, waits, list, event);
}

static cl_int CL_API_CALL share(cl_command_queue queue, cl_uint count, const cl_mem *objects, WAITS)
{
	(void)count;
	(void)objects;
	return next.clEnqueueMarkerWithWaitList(queue, waits, list, event);
}

static cl_command_queue CL_API_CALL create_khr(cl_context context, cl_device_id device, const cl_queue_properties *list, cl_int *ret_error)
{
	return next.clCreateCommandQueueWithProperties(context, device, list, ret_error);
}

static const struct {
	const char *name;
	void (*function)(void);
} extensions[] = {
	{ "clHostMemAllocINTEL", (void (*)(void))usm_host },
	{ "clDeviceMemAllocINTEL", (void (*)(void))usm_device },
	{ "clSharedMemAllocINTEL", (void (*)(void))usm_shared },
	{ "clMemFreeINTEL", (void (*)(void))usm_free },
	{ "clMemBlockingFreeINTEL", (void (*)(void))usm_free },
	{ "clGetMemAllocInfoINTEL", (void (*)(void))usm_info },
	{ "clEnqueueMemcpyINTEL", (void (*)(void))usm_copy },
	{ "clEnqueueMemFillINTEL", (void (*)(void))usm_fill },
	{ "clEnqueueMemsetINTEL", (void (*)(void))usm_set },
	{ "clEnqueueMigrateMemINTEL", (void (*)(void))usm_migrate },
	{ "clEnqueueAcquireGLObjects", (void (*)(void))share },
	{ "clEnqueueReleaseGLObjects", (void (*)(void))share },
	{ "clEnqueueAcquireExternalMemObjectsKHR", (void (*)(void))share },
	{ "clEnqueueReleaseExternalMemObjectsKHR", (void (*)(void))share },
	{ "clEnqueueAcquireVA_APIMediaSurfacesINTEL", (void (*)(void))share },
	{ "clEnqueueReleaseVA_APIMediaSurfacesINTEL", (void (*)(void))share },
	{ "clCreateCommandQueueWithPropertiesKHR", (void (*)(void))create_khr },
};

static CL_API_ENTRY void *CL_API_CALL look_up(cl_platform_id platform, const char *name)
{
	for (size_t i = 0; i < sizeof extensions / sizeof extensions[0] && does("more"); i++)
		if (strcmp(name, extensions[i].name) == 0)
			return (void *)extensions[i].function;
	return next.clGetExtensionFunctionAddressForPlatform(platform, name);
}

/* ---- The table ---- */

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
	table.clGetCommandQueueInfo = queue_info;
	table.clGetExtensionFunctionAddressForPlatform = look_up;
	if (does("more")) {
		table.clEnqueueAcquireGLObjects = table.clEnqueueReleaseGLObjects = share;
		table.clEnqueueAcquireEGLObjectsKHR = table.clEnqueueReleaseEGLObjectsKHR = share;
	}
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
