/*
 * queue_table.c - the queues that are known, by their handles.
 *
 * A queue is found in a table of pointers, which is read without a lock; what
 * they point to stays mapped for good.  When a queue is gone and nothing of it
 * is on its way any more, the next one of its device has its stream: a program
 * may make a queue for each of its requests.  The queue itself is found for a
 * while yet, since the program may hold events of it.
 */
#include <stdio.h>
#include <string.h>

#include "opencl/opencl.h"

#define BITS 14u
#define PLACES (1u << BITS)
#define QUEUES (PLACES / 2) /* at a time; those beyond are not recorded */
#define CHUNK 16u           /* of them, mapped at once */
#define KEPT 64u            /* that are gone and have no stream any more */

/* Queues one after another. */
struct line {
	struct opencl_queue *first, *last;
	uint32_t count;
};

static struct queues {
	_Atomic uint32_t lock;
	uint32_t streams;           /* that queues have had */
	uint32_t count;             /* places that are taken */
	struct opencl_queue *chunk; /* with places left in it */
	uint32_t left;
	struct line gone;  /* with their streams */
	struct line spent; /* gone without: those that nobody can find come first, then the oldest */
	struct opencl_queue *_Atomic places[PLACES];
} *queues;

bool opencl_queue_map(void)
{
	queues = queues ? queues : opencl_map(sizeof *queues);
	return queues != NULL;
}

static struct opencl_queue *look_for(cl_command_queue handle)
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

/* Queues move while others are taken out: it may have been missed. */
struct opencl_queue *opencl_queue_find(cl_command_queue handle)
{
	struct opencl_queue *queue = look_for(handle);

	if (queue || !handle)
		return queue;
	opencl_lock(&queues->lock);
	queue = look_for(handle);
	opencl_unlock(&queues->lock);
	return queue;
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

/* ---- Lines ------------------------------------------------------------------------ */

static void append(struct line *line, struct opencl_queue *queue)
{
	queue->next = NULL;
	*(line->last ? &line->last->next : &line->first) = queue;
	line->last = queue;
	line->count++;
}

static void prepend(struct line *line, struct opencl_queue *queue)
{
	queue->next = line->first;
	line->first = queue;
	line->last = line->last ? line->last : queue;
	line->count++;
}

/* The one after `before`; with NULL the first. */
static struct opencl_queue *take_after(struct line *line, struct opencl_queue *before)
{
	struct opencl_queue **place = before ? &before->next : &line->first, *queue = *place;

	*place = queue->next;
	line->last = line->last == queue ? before : line->last;
	line->count--;
	return queue;
}

/* ---- Places; all with the lock ------------------------------------------------------ */

static void put_in(struct opencl_queue *queue, cl_command_queue handle)
{
	uint32_t at = queue->home = opencl_place(handle, BITS);

	atomic_store_explicit(&queue->handle, handle, memory_order_release);
	while (atomic_load_explicit(&queues->places[at], memory_order_relaxed))
		at = (at + 1) % PLACES;
	atomic_store_explicit(&queues->places[at], queue, memory_order_release);
	queues->count++;
}

/* Those after it that would not be found any more move up. */
static void take_out(struct opencl_queue *queue)
{
	struct opencl_queue *other;
	uint32_t hole = queue->home;

	while (atomic_load_explicit(&queues->places[hole], memory_order_relaxed) != queue)
		hole = (hole + 1) % PLACES;
	for (uint32_t at = (hole + 1) % PLACES; (other = atomic_load_explicit(&queues->places[at], memory_order_relaxed)); at = (at + 1) % PLACES)
		if ((at - other->home) % PLACES >= (at - hole) % PLACES) {
			atomic_store_explicit(&queues->places[hole], other, memory_order_release);
			hole = at;
		}
	atomic_store_explicit(&queues->places[hole], NULL, memory_order_release);
	atomic_store_explicit(&queue->handle, NULL, memory_order_release);
	queues->count--;
}

static struct opencl_queue *new_queue(void)
{
	if (queues->left == 0) {
		queues->chunk = opencl_map(CHUNK * sizeof *queues->chunk);
		queues->left = queues->chunk ? CHUNK : 0;
	}
	return queues->left ? &queues->chunk[--queues->left] : NULL;
}

/* One that is spent, where there are enough of them, else a new one; NULL: there are too many. */
static struct opencl_queue *spare_queue(void)
{
	struct opencl_queue *queue = queues->spent.first;
	bool found = queue && atomic_load_explicit(&queue->handle, memory_order_relaxed);

	if (queue && (!found || queues->spent.count > KEPT || queues->count == QUEUES)) {
		if (found)
			take_out(queue);
		return take_after(&queues->spent, NULL);
	}
	return queues->count < QUEUES ? new_queue() : NULL;
}

/* ---- Queues come and go ---------------------------------------------------------- */

static void leave(struct opencl_queue *queue)
{
	if (!queue->gone)
		append(&queues->gone, queue);
	queue->gone = true;
}

void opencl_queue_leave(struct opencl_queue *queue)
{
	opencl_lock(&queues->lock);
	leave(queue);
	opencl_unlock(&queues->lock);
}

void opencl_queue_forget(cl_command_queue handle)
{
	struct opencl_queue *queue;

	opencl_lock(&queues->lock);
	queue = look_for(handle);
	if (queue) {
		take_out(queue);
		leave(queue);
	}
	opencl_unlock(&queues->lock);
}

static bool is_unordered(const struct opencl_origin *o)
{
	return o->asked & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
}

/* What a queue has of those before it. */
struct legacy {
	struct gpu_stream stream;
	struct opencl_clock clock;
};

static bool inherit(const struct opencl_origin *o, struct legacy *ret)
{
	struct opencl_queue *before = NULL, *queue = queues->gone.first;

	while (queue && (queue->device != o->device || queue->unordered != is_unordered(o) || !opencl_command_idle(queue))) {
		before = queue;
		queue = queue->next;
	}
	if (!queue)
		return false;
	*ret = (struct legacy){ queue->stream, queue->clock };
	(void)take_after(&queues->gone, before);
	(atomic_load_explicit(&queue->handle, memory_order_relaxed) ? append : prepend)(&queues->spent, queue);
	return true;
}

static void begin_stream(struct legacy *ret, struct runtime_thread *t, const struct opencl_origin *o, uint32_t number)
{
	char text[NAME_MAX_BYTES], name[64];

	snprintf(name, sizeof name, "stream=%u\nname=queue %u%s", number, number, is_unordered(o) ? " (out of order)" : "");
	opencl_device_describe(text, sizeof text, o->device, name);
	gpu_stream_init(&ret->stream, t, text);
	opencl_clock_init(&ret->clock);
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

static void start(struct opencl_queue *queue, const struct opencl_origin *o, const struct legacy *legacy)
{
	queue->stream = legacy->stream;
	queue->clock = legacy->clock;
	queue->device = o->device;
	queue->unordered = is_unordered(o);
	queue->in_order = !queue->unordered;
	queue->asked = o->asked & CL_QUEUE_PROFILING_ENABLE;
	queue->profiled = o->profiled;
	queue->last_end = 0;
	queue->gone = false;
	copy_list(queue, o);
	atomic_store_explicit(&queue->references, 1, memory_order_relaxed);
}

void opencl_queue_remember(cl_command_queue handle, const struct opencl_origin *o)
{
	struct runtime_thread *t = &inferscope_thread;
	struct opencl_queue *queue;
	struct legacy legacy;
	uint32_t number = 0;

	opencl_queue_forget(handle); /* of an earlier queue; its commands find their way without it */
	if (!emit_enter(&inferscope_runtime, t))
		return;
	opencl_lock(&queues->lock);
	if (!inherit(o, &legacy))
		number = ++queues->streams;
	opencl_unlock(&queues->lock);
	if (number)
		begin_stream(&legacy, t, o, number);
	opencl_lock(&queues->lock);
	queue = spare_queue();
	if (queue) {
		start(queue, o, &legacy);
		put_in(queue, handle);
	}
	opencl_unlock(&queues->lock);
	emit_leave(t);
}
