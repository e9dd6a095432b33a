/*
 * queue.c - queues of OpenCL, with profiling that the program did not ask for and does not see.
 *
 * A queue is found by its handle in a table of pointers, which is read without
 * a lock; what is in it stays there for good.  A queue that is gone leaves its
 * place to another one, once nothing of it is on its way any more.
 */
#include <stdio.h>
#include <string.h>

#include "opencl/extension.h"

#ifndef CL_QUEUE_PROPERTIES_ARRAY
#define CL_QUEUE_PROPERTIES_ARRAY 0x1098
#endif

#define BITS 14u
#define PLACES (1u << BITS)
#define QUEUES (PLACES / 2) /* at a time; those beyond are not recorded */
#define CHUNK 16u           /* of them, mapped at once */

static struct queues {
	_Atomic uint32_t lock;
	_Atomic uint32_t made; /* in all */
	uint32_t count;        /* places that are taken */
	struct opencl_queue *chunk; /* with places left in it */
	uint32_t left;
	struct opencl_queue *_Atomic places[PLACES];
} *queues;

struct opencl_queue *opencl_queue_find(cl_command_queue handle)
{
	for (uint32_t i = 0, at = opencl_place(handle, BITS); handle && i < PLACES; i++, at = (at + 1) % PLACES) {
		struct opencl_queue *queue = atomic_load_explicit(&queues->places[at], memory_order_acquire);

		if (!queue)
			return NULL;
		if (atomic_load_explicit(&queue->handle, memory_order_acquire) == handle)
			return queue;
	}
	return NULL;
}

struct opencl_queue *opencl_queue_of(cl_event event, cl_command_queue *ret_handle)
{
	cl_command_queue handle = NULL;

	if (opencl_next.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof handle, &handle, NULL) != CL_SUCCESS)
		handle = NULL;
	if (ret_handle)
		*ret_handle = handle;
	return opencl_queue_find(handle);
}

void opencl_queue_each(void (*see)(struct opencl_queue *queue))
{
	for (uint32_t i = 0; queues && i < PLACES; i++) {
		struct opencl_queue *queue = atomic_load_explicit(&queues->places[i], memory_order_acquire);

		if (queue)
			see(queue);
	}
}

/* ---- Queues come and go ---------------------------------------------------------- */

static struct opencl_queue *new_queue(void)
{
	if (queues->left == 0) {
		queues->chunk = opencl_map(CHUNK * sizeof *queues->chunk);
		queues->left = queues->chunk ? CHUNK : 0;
	}
	return queues->left ? &queues->chunk[--queues->left] : NULL;
}

/* A place on the way to where the handle would be looked for. */
static struct opencl_queue *place_for(cl_command_queue handle)
{
	for (uint32_t i = 0, at = opencl_place(handle, BITS); i < PLACES; i++, at = (at + 1) % PLACES) {
		struct opencl_queue *queue = atomic_load_explicit(&queues->places[at], memory_order_relaxed);

		if (queue && !atomic_load_explicit(&queue->handle, memory_order_relaxed) && opencl_command_idle(queue))
			return queue;
		if (!queue) {
			queue = queues->count < QUEUES ? new_queue() : NULL;
			queues->count += queue != NULL;
			atomic_store_explicit(&queues->places[at], queue, memory_order_release);
			return queue;
		}
	}
	return NULL;
}

static void forget(struct opencl_queue *queue)
{
	if (queue)
		atomic_store_explicit(&queue->handle, NULL, memory_order_release);
}

/* What is known of a queue that is being made. */
struct origin {
	cl_device_id device;
	cl_command_queue_properties asked;
	bool profiled;
	const cl_queue_properties *list; /* NULL: made without one, or an empty one */
	bool listed;
};

static void copy_list(struct opencl_queue *queue, const struct origin *o)
{
	uint32_t n = 0;

	for (; o->list && o->list[n] && n < QUEUE_PROPERTIES - 2; n += 2)
		memcpy(&queue->list[n], &o->list[n], 2 * sizeof *queue->list);
	queue->list[n] = 0;
	queue->list_size = o->list ? n + 1 : 0;
	queue->listed = o->listed;
}

static void start(struct opencl_queue *queue, cl_command_queue handle, const struct origin *o, const struct gpu_stream *stream)
{
	queue->stream = *stream;
	queue->asked = o->asked & CL_QUEUE_PROFILING_ENABLE;
	queue->profiled = o->profiled;
	queue->in_order = !(o->asked & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	queue->last_end = 0;
	copy_list(queue, o);
	opencl_clock_init(&queue->clock);
	atomic_store_explicit(&queue->handle, handle, memory_order_release);
}

static void remember(cl_command_queue handle, const struct origin *o)
{
	uint32_t number = 1 + atomic_fetch_add_explicit(&queues->made, 1, memory_order_relaxed);
	const char *order = o->asked & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? " (out of order)" : "";
	struct runtime_thread *t = &inferscope_thread;
	char text[NAME_MAX_BYTES], name[64];
	struct opencl_queue *queue;
	struct gpu_stream stream;

	if (!emit_enter(&inferscope_runtime, t))
		return;
	snprintf(name, sizeof name, "stream=%u\nname=queue %u%s", number, number, order);
	opencl_device_describe(text, sizeof text, o->device, name);
	gpu_stream_init(&stream, t, text);
	opencl_lock(&queues->lock);
	forget(opencl_queue_find(handle)); /* of an earlier queue; its commands find their way without it */
	queue = place_for(handle);
	if (queue)
		start(queue, handle, o, &stream);
	opencl_unlock(&queues->lock);
	emit_leave(t);
}

static CL_API_ENTRY cl_command_queue CL_API_CALL create(cl_context context, cl_device_id device, cl_command_queue_properties properties,
							 cl_int *ret_error)
{
	cl_command_queue queue = opencl_next.clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE, ret_error);
	bool profiled = queue != NULL;

	if (!queue)
		queue = opencl_next.clCreateCommandQueue(context, device, properties, ret_error);
	if (queue)
		remember(queue, &(struct origin){ .device = device, .asked = properties, .profiled = profiled });
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

	if (!ours || asked & CL_QUEUE_ON_DEVICE) /* kernels put commands into those, not the program */
		return next(context, device, list, ret_error);
	queue = next(context, device, ours, ret_error);
	profiled = queue != NULL;
	if (!queue)
		queue = next(context, device, list, ret_error);
	if (queue)
		remember(queue, &(struct origin){ .device = device, .asked = asked, .profiled = profiled, .list = list, .listed = true });
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

static bool is_last_reference(cl_command_queue handle)
{
	cl_uint count = 0;

	return opencl_next.clGetCommandQueueInfo(handle, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL) == CL_SUCCESS && count == 1;
}

static CL_API_ENTRY cl_int CL_API_CALL release(cl_command_queue handle)
{
	struct opencl_queue *queue = opencl_queue_find(handle);

	if (queue) {
		opencl_harvest(queue);
		if (is_last_reference(handle))
			forget(queue);
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
	queues = queues ? queues : opencl_map(sizeof *queues);
	if (!queues)
		return false;
	OPENCL_WRAP(clCreateCommandQueue, create);
	OPENCL_WRAP(clCreateCommandQueueWithProperties, create_with_properties);
	OPENCL_WRAP(clGetCommandQueueInfo, get_info);
	OPENCL_WRAP(clSetCommandQueueProperty, set_property);
	OPENCL_WRAP(clGetEventProfilingInfo, get_profiling);
	OPENCL_WRAP(clGetEventInfo, get_event);
	OPENCL_WRAP(clReleaseCommandQueue, release);
	return true;
}
