/*
 * queue_table.c - the queues that are known, by their handles.
 *
 * A queue is found in a table of pointers, which is read without a lock; what
 * is in it stays there for good.  A queue that is gone leaves its place to
 * another one, once nothing of it is on its way any more; until then it is
 * found, since the program may hold events of it.
 */
#include <stdio.h>
#include <string.h>

#include "opencl/opencl.h"

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

bool opencl_queue_map(void)
{
	queues = queues ? queues : opencl_map(sizeof *queues);
	return queues != NULL;
}

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

		if (queue && !atomic_load_explicit(&queue->references, memory_order_relaxed) && opencl_command_idle(queue))
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

/* With the lock. */
static void forget(struct opencl_queue *queue)
{
	if (!queue)
		return;
	atomic_store_explicit(&queue->handle, NULL, memory_order_release);
	atomic_store_explicit(&queue->references, 0, memory_order_relaxed);
}

void opencl_queue_forget(cl_command_queue handle)
{
	opencl_lock(&queues->lock);
	forget(opencl_queue_find(handle));
	opencl_unlock(&queues->lock);
}

static void copy_list(struct opencl_queue *queue, const struct opencl_origin *o)
{
	uint32_t n = 0;

	for (; o->list && o->list[n] && n < QUEUE_PROPERTIES - 2; n += 2)
		memcpy(&queue->list[n], &o->list[n], 2 * sizeof *queue->list);
	queue->list[n] = 0;
	queue->list_size = o->list ? n + 1 : 0;
	queue->listed = o->listed;
}

static void start(struct opencl_queue *queue, cl_command_queue handle, const struct opencl_origin *o, const struct gpu_stream *stream)
{
	queue->stream = *stream;
	queue->asked = o->asked & CL_QUEUE_PROFILING_ENABLE;
	queue->profiled = o->profiled;
	queue->in_order = !(o->asked & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	queue->last_end = 0;
	copy_list(queue, o);
	opencl_clock_init(&queue->clock);
	atomic_store_explicit(&queue->references, 1, memory_order_relaxed);
	atomic_store_explicit(&queue->handle, handle, memory_order_release);
}

void opencl_queue_remember(cl_command_queue handle, const struct opencl_origin *o)
{
	uint32_t number = 1 + atomic_fetch_add_explicit(&queues->made, 1, memory_order_relaxed);
	const char *order = o->asked & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ? " (out of order)" : "";
	struct runtime_thread *t = &inferscope_thread;
	char text[NAME_MAX_BYTES], name[64];
	struct opencl_queue *queue;
	struct gpu_stream stream;

	if (!emit_enter(&inferscope_runtime, t)) {
		opencl_queue_forget(handle);
		return;
	}
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
