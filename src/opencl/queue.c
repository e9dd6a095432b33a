/* queue.c - queues of OpenCL, with profiling that the program did not ask for and does not see. */
#include <string.h>

#include "opencl/extension.h"

#ifndef CL_QUEUE_PROPERTIES_ARRAY
#define CL_QUEUE_PROPERTIES_ARRAY 0x1098
#endif

/* ---- Queues come and go ---------------------------------------------------------- */

static CL_API_ENTRY cl_command_queue CL_API_CALL create(cl_context context, cl_device_id device, cl_command_queue_properties properties,
							 cl_int *ret_error)
{
	cl_command_queue queue = opencl_next.clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE, ret_error);
	bool profiled = queue != NULL;

	if (!queue)
		queue = opencl_next.clCreateCommandQueue(context, device, properties, ret_error);
	if (queue)
		opencl_queue_remember(queue, &(struct opencl_origin){ .device = device, .asked = properties, .profiled = profiled });
	return queue;
}

/* The program's list with profiling on; NULL: it is too long, or not one of ours. */
static const cl_queue_properties *with_profiling(const cl_queue_properties *list, cl_queue_properties ret[QUEUE_PROPERTIES],
						  cl_queue_properties *ret_asked)
{
	uint32_t n = 0;
	bool found = false;

	*ret_asked = 0;
	for (; list && n < QUEUE_PROPERTIES - 4 && list[n]; n += 2) {
		ret[n] = list[n];
		ret[n + 1] = list[n + 1];
		if (list[n] == CL_QUEUE_PROPERTIES) {
			*ret_asked = list[n + 1];
			ret[n + 1] |= CL_QUEUE_PROFILING_ENABLE;
			found = true;
		}
	}
	if (list && list[n])
		return NULL;
	if (!found) {
		ret[n++] = CL_QUEUE_PROPERTIES;
		ret[n++] = CL_QUEUE_PROFILING_ENABLE;
	}
	ret[n] = 0;
	return ret;
}

#define LISTED cl_context context, cl_device_id device, const cl_queue_properties *list, cl_int *ret_error
typedef cl_command_queue(CL_API_CALL *create_function)(LISTED);

static cl_command_queue create_by(create_function next, LISTED)
{
	cl_queue_properties changed[QUEUE_PROPERTIES], asked;
	const cl_queue_properties *ours = with_profiling(list, changed, &asked);
	cl_command_queue queue;
	bool profiled;

	if (!ours || asked & CL_QUEUE_ON_DEVICE) { /* kernels put commands into those, not the program */
		queue = next(context, device, list, ret_error);
		opencl_queue_forget(queue);
		return queue;
	}
	queue = next(context, device, ours, ret_error);
	profiled = queue != NULL;
	if (!queue)
		queue = next(context, device, list, ret_error);
	if (queue)
		opencl_queue_remember(queue, &(struct opencl_origin){ .device = device, .asked = asked, .profiled = profiled, .list = list, .listed = true });
	return queue;
}

static CL_API_ENTRY cl_command_queue CL_API_CALL create_with_properties(LISTED)
{
	return create_by(opencl_next.clCreateCommandQueueWithProperties, context, device, list, ret_error);
}

/* The same function of drivers of OpenCL 1.2. */
static cl_command_queue create_khr(struct opencl_platform *p, LISTED)
{
	return create_by((create_function)opencl_extension(p, EXTENSION_QUEUE_CREATE), context, device, list, ret_error);
}
OPENCL_OURS(opencl_queue_create, cl_command_queue, create_khr, (LISTED), context, device, list, ret_error)

/* References are counted here: in what drivers count there may be those of events. */
static CL_API_ENTRY cl_int CL_API_CALL retain(cl_command_queue handle)
{
	struct opencl_queue *queue = opencl_queue_find(handle);
	cl_int rc = opencl_next.clRetainCommandQueue(handle);

	if (queue && rc == CL_SUCCESS)
		atomic_fetch_add_explicit(&queue->references, 1, memory_order_relaxed);
	return rc;
}

/* Before the driver does: then another queue may have the handle. */
static CL_API_ENTRY cl_int CL_API_CALL release(cl_command_queue handle)
{
	struct opencl_queue *queue = opencl_queue_find(handle);

	if (queue) {
		opencl_harvest(queue);
		if (atomic_fetch_sub_explicit(&queue->references, 1, memory_order_acq_rel) == 1)
			opencl_queue_leave(queue);
	}
	return opencl_next.clReleaseCommandQueue(handle);
}

/* ---- What the program sees -------------------------------------------------------- */

/* The list that it gave. */
static cl_int answer_list(const struct opencl_queue *queue, size_t size, void *value, size_t *ret_size)
{
	size_t needed = queue->list_size * sizeof *queue->list;

	if (value && size < needed)
		return CL_INVALID_VALUE;
	if (value && needed)
		memcpy(value, queue->list, needed);
	if (ret_size)
		*ret_size = needed;
	return CL_SUCCESS;
}

static CL_API_ENTRY cl_int CL_API_CALL get_info(cl_command_queue handle, cl_command_queue_info what, size_t size, void *value, size_t *ret_size)
{
	const struct opencl_queue *queue = opencl_queue_find(handle);
	cl_command_queue_properties properties;
	cl_int rc;

	if (queue && queue->listed && what == CL_QUEUE_PROPERTIES_ARRAY) {
		rc = opencl_next.clGetCommandQueueInfo(handle, what, 0, NULL, NULL);
		return rc == CL_SUCCESS ? answer_list(queue, size, value, ret_size) : rc;
	}
	rc = opencl_next.clGetCommandQueueInfo(handle, what, size, value, ret_size);
	if (rc == CL_SUCCESS && what == CL_QUEUE_PROPERTIES && value && size >= sizeof properties && queue && !queue->asked) {
		memcpy(&properties, value, sizeof properties);
		properties &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
		memcpy(value, &properties, sizeof properties);
	}
	return rc;
}

/* OpenCL 1.0 could change a queue's properties; profiling then changes only in what the program sees. */
static CL_API_ENTRY cl_int CL_API_CALL set_property(cl_command_queue handle, cl_command_queue_properties properties, cl_bool enable,
						     cl_command_queue_properties *ret_old)
{
	struct opencl_queue *queue = opencl_queue_find(handle);
	bool profiling = properties & CL_QUEUE_PROFILING_ENABLE;
	cl_int rc;

	if (queue && queue->profiled && !enable)
		properties &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	rc = opencl_next.clSetCommandQueueProperty(handle, properties, enable, ret_old);
	if (rc != CL_SUCCESS || !queue)
		return rc;
	if (ret_old && !queue->asked)
		*ret_old &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
	queue->asked = profiling ? enable : queue->asked;
	if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
		queue->in_order = !enable;
	return rc;
}

static CL_API_ENTRY cl_int CL_API_CALL get_profiling(cl_event event, cl_profiling_info what, size_t size, void *value, size_t *ret_size)
{
	const struct opencl_queue *queue = opencl_queue_of(event, NULL);

	if (queue && !queue->asked)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return opencl_next.clGetEventProfilingInfo(event, what, size, value, ret_size);
}

/* Our own reference to an event is not the program's to see.  It may be given back while we look. */
static cl_int count_references(cl_event event, struct opencl_queue *queue, cl_uint *count)
{
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t before = atomic_load_explicit(&queue->releases, memory_order_acquire);
		cl_int rc = opencl_next.clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof *count, count, NULL);

		if (rc != CL_SUCCESS)
			return rc;
		if (opencl_command_holds(queue, event) && *count)
			--*count;
		if (!(before & 1) && atomic_load_explicit(&queue->releases, memory_order_acquire) == before)
			break;
	}
	return CL_SUCCESS;
}

static CL_API_ENTRY cl_int CL_API_CALL get_event(cl_event event, cl_event_info what, size_t size, void *value, size_t *ret_size)
{
	cl_int rc = opencl_next.clGetEventInfo(event, what, size, value, ret_size);
	struct opencl_queue *queue;
	cl_uint count;

	if (rc != CL_SUCCESS || what != CL_EVENT_REFERENCE_COUNT || !value || size < sizeof count)
		return rc;
	queue = opencl_queue_of(event, NULL);
	if (!queue)
		return rc;
	rc = count_references(event, queue, &count);
	if (rc == CL_SUCCESS)
		memcpy(value, &count, sizeof count);
	return rc;
}

bool opencl_queue_wrap(struct _cl_icd_dispatch *table)
{
	if (!opencl_queue_map())
		return false;
	OPENCL_WRAP(clCreateCommandQueue, create);
	OPENCL_WRAP(clCreateCommandQueueWithProperties, create_with_properties);
	OPENCL_WRAP(clGetCommandQueueInfo, get_info);
	OPENCL_WRAP(clSetCommandQueueProperty, set_property);
	OPENCL_WRAP(clGetEventProfilingInfo, get_profiling);
	OPENCL_WRAP(clGetEventInfo, get_event);
	OPENCL_WRAP(clRetainCommandQueue, retain);
	OPENCL_WRAP(clReleaseCommandQueue, release);
	return true;
}
