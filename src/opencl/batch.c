/*
 * batch.c - command buffers (cl_khr_command_buffer): one that is put into a queue is one piece of work.
 *
 * Functions of extensions are not in the table but asked for by name, of a
 * platform; each has its own.  So we have as many of ours, each of which knows
 * its platform.
 */
#include <string.h>

#include "opencl/opencl.h"

#define PLATFORMS 4u /* those beyond are passed on as they are */
#define BITS 12u
#define WAYS 8u /* places one after another that a command buffer may be kept in */

typedef struct _cl_command_buffer_khr *batch_handle; /* not all headers have it */
typedef cl_int(CL_API_CALL *enqueue_function)(cl_uint, cl_command_queue *, batch_handle, cl_uint, const cl_event *, cl_event *);
typedef batch_handle(CL_API_CALL *create_function)(cl_uint, const cl_command_queue *, const cl_ulong *, cl_int *);

static struct platform {
	cl_platform_id id;
	bool used;
	_Atomic(enqueue_function) enqueue;
	_Atomic(create_function) create;
} platforms[PLATFORMS];

/* The queues that command buffers were made for, the first of each: not every driver tells it when it is asked. */
struct made {
	batch_handle batch;
	cl_command_queue queue;
	uint64_t number; /* in the order in which they were made */
};
static struct batches {
	_Atomic uint32_t lock; /* of the platforms, which a forked child keeps, too */
	uint64_t count;        /* made so far */
	struct made made[1u << BITS];
} *batches;

/* Where it is, else where it would be: in a free place or that of the oldest.  With the lock. */
static struct made *place_for(batch_handle batch)
{
	uint32_t home = opencl_place(batch, BITS);
	struct made *oldest = &batches->made[home];

	for (uint32_t way = 0; way < WAYS; way++) {
		struct made *place = &batches->made[(home + way) % (1u << BITS)];

		if (place->batch == batch)
			return place;
		oldest = place->number < oldest->number ? place : oldest;
	}
	return oldest;
}

static batch_handle create(struct platform *p, cl_uint count, const cl_command_queue *queues, const cl_ulong *list, cl_int *ret_error)
{
	batch_handle batch = atomic_load(&p->create)(count, queues, list, ret_error);

	if (batch && count && queues) {
		opencl_lock(&batches->lock);
		*place_for(batch) = (struct made){ batch, queues[0], ++batches->count };
		opencl_unlock(&batches->lock);
	}
	return batch;
}

/* The one it is put into, else the first that it was made for; NULL: that is not known any more. */
static cl_command_queue queue_of(batch_handle batch, cl_uint count, const cl_command_queue *queues)
{
	const struct made *place;
	cl_command_queue queue;

	if (count && queues)
		return queues[0];
	opencl_lock(&batches->lock);
	place = place_for(batch);
	queue = place->batch == batch ? place->queue : NULL;
	opencl_unlock(&batches->lock);
	return queue;
}

static uint32_t batch_name(void)
{
	struct runtime_thread *t = &inferscope_thread;
	uint32_t name = 0;

	if (emit_enter(&inferscope_runtime, t)) {
		name = opencl_call_name(NAME_BATCH);
		emit_leave(t);
	}
	return name;
}

/* The call is known, and that work has come of it. */
static void tell_unplaced(uint64_t begin, cl_int rc)
{
	opencl_call_returned(CALL_BATCH, begin, 0);
	if (rc == CL_SUCCESS)
		gpu_count_lost(1);
}

static cl_int enqueue(struct platform *p, cl_uint count, cl_command_queue *queues, batch_handle batch, cl_uint waits, const cl_event *list,
		      cl_event *event)
{
	enqueue_function next = atomic_load(&p->enqueue);
	struct command command = { .kind = EVENT_GPU_KERNEL, .graph = (uintptr_t)batch };
	cl_command_queue queue = queue_of(batch, count, queues);
	bool recording = opencl_recording();
	uint64_t begin = opencl_now();
	struct call call;
	cl_int rc;

	if (recording)
		command.name = batch_name();
	opencl_call_begin(&call, queue, event, waits, list);
	rc = next(count, queues, batch, waits, list, call.event);
	opencl_call_end(&call, CALL_BATCH, rc, &command);
	if (recording && !queue)
		tell_unplaced(begin, rc);
	return rc;
}

#define OURS(n)                                                                                                                \
	static cl_int CL_API_CALL enqueue_##n(cl_uint count, cl_command_queue *queues, batch_handle batch, cl_uint waits,      \
					      const cl_event *list, cl_event *event)                                           \
	{                                                                                                                      \
		return enqueue(&platforms[n], count, queues, batch, waits, list, event);                                       \
	}                                                                                                                      \
	static batch_handle CL_API_CALL create_##n(cl_uint count, const cl_command_queue *queues, const cl_ulong *list,        \
						   cl_int *ret_error)                                                          \
	{                                                                                                                      \
		return create(&platforms[n], count, queues, list, ret_error);                                                  \
	}
OURS(0)
OURS(1)
OURS(2)
OURS(3)
static const enqueue_function enqueues[PLATFORMS] = { enqueue_0, enqueue_1, enqueue_2, enqueue_3 };
static const create_function creates[PLATFORMS] = { create_0, create_1, create_2, create_3 };

static uint32_t place_of(cl_platform_id id)
{
	uint32_t i = 0;

	opencl_lock(&batches->lock);
	while (i < PLATFORMS && platforms[i].used && platforms[i].id != id)
		i++;
	if (i < PLATFORMS) {
		platforms[i].id = id;
		platforms[i].used = true;
	}
	opencl_unlock(&batches->lock);
	return i;
}

/* Ours in the place of the platform's. */
static void *ours(cl_platform_id id, const char *name, void *function)
{
	bool enqueues_it = name && strcmp(name, "clEnqueueCommandBufferKHR") == 0;
	bool makes_it = name && strcmp(name, "clCreateCommandBufferKHR") == 0;
	uint32_t i;

	if (!function || (!enqueues_it && !makes_it))
		return function;
	i = place_of(id);
	if (i == PLATFORMS)
		return function;
	if (enqueues_it)
		atomic_store(&platforms[i].enqueue, (enqueue_function)function);
	else
		atomic_store(&platforms[i].create, (create_function)function);
	return enqueues_it ? (void *)enqueues[i] : (void *)creates[i];
}

static CL_API_ENTRY void *CL_API_CALL look_up(cl_platform_id platform, const char *name)
{
	return ours(platform, name, opencl_next.clGetExtensionFunctionAddressForPlatform(platform, name));
}

/* The older form does not say of which platform. */
static CL_API_ENTRY void *CL_API_CALL look_up_anywhere(const char *name)
{
	return ours(NULL, name, opencl_next.clGetExtensionFunctionAddress(name));
}

void opencl_batch_wrap(struct _cl_icd_dispatch *table)
{
	batches = batches ? batches : opencl_map(sizeof *batches);
	if (!batches)
		return;
	OPENCL_WRAP(clGetExtensionFunctionAddressForPlatform, look_up);
	OPENCL_WRAP(clGetExtensionFunctionAddress, look_up_anywhere);
}
