/* batch.c - command buffers (cl_khr_command_buffer): one that is put into a queue is one piece of work. */
#include "opencl/enqueue.h"
#include "opencl/extension.h"

#define BITS 12u
#define WAYS 8u /* places one after another that a command buffer may be kept in */

typedef struct _cl_command_buffer_khr *batch_handle; /* not all headers have it */
typedef cl_int(CL_API_CALL *enqueue_function)(cl_uint, cl_command_queue *, batch_handle, cl_uint, const cl_event *, cl_event *);
typedef batch_handle(CL_API_CALL *create_function)(cl_uint, const cl_command_queue *, const cl_ulong *, cl_int *);

/* The queues that command buffers were made for, the first of each: not every driver tells it when it is asked. */
struct made {
	batch_handle batch;
	cl_command_queue queue;
	uint64_t number; /* in the order in which they were made */
};
static struct batches {
	_Atomic uint32_t lock;
	uint64_t count; /* made so far */
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

static batch_handle create(struct opencl_platform *p, cl_uint count, const cl_command_queue *queues, const cl_ulong *list, cl_int *ret_error)
{
	create_function next = (create_function)opencl_extension(p, EXTENSION_BATCH_CREATE);
	batch_handle batch = next(count, queues, list, ret_error);

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

static cl_int enqueue(struct opencl_platform *p, cl_uint count, cl_command_queue *queues, batch_handle batch, WAIT_LIST)
{
	enqueue_function next = (enqueue_function)opencl_extension(p, EXTENSION_BATCH_ENQUEUE);
	struct command command = { .kind = EVENT_GPU_KERNEL, .graph = (uintptr_t)batch };
	cl_command_queue queue = queue_of(batch, count, queues);
	bool recording = opencl_recording();
	uint64_t begin = opencl_now();
	struct call call;
	cl_int rc;

	if (recording)
		command.name = batch_name();
	opencl_call_begin(&call, queue, event, waits, list);
	rc = next(count, queues, batch, NEXT_WAITS);
	opencl_call_end(&call, CALL_BATCH, rc, &command);
	if (recording && !queue)
		tell_unplaced(begin, rc);
	return rc;
}

OPENCL_OURS(opencl_batch_create, batch_handle, create,
	    (cl_uint count, const cl_command_queue *queues, const cl_ulong *list, cl_int *ret_error), count, queues, list, ret_error)
OPENCL_OURS(opencl_batch_enqueue, cl_int, enqueue, (cl_uint count, cl_command_queue *queues, batch_handle batch, WAIT_LIST),
	    count, queues, batch, waits, list, event)

bool opencl_batch_map(void)
{
	batches = batches ? batches : opencl_map(sizeof *batches);
	return batches != NULL;
}
