/* Contexts, streams and events. */
#include "machine.h"

#include <stdlib.h>

#include "faults.h"
#include "truth.h"

#define CONTEXT_MAGIC 0x43545831u
#define STREAM_MAGIC 0x53545231u
#define EVENT_MAGIC 0x45564e31u
#define STACK_MAX 32
#define LEGACY_ID 7                     /* the default stream's id in real traces; those a program makes follow from 13 on */
#define FIRST_ID 13

struct CUctx_st *context_list;

static struct CUctx_st *dead_contexts;

static uint32_t context_ids, event_ids;
static __thread struct CUctx_st *stack[STACK_MAX];
static __thread int stack_depth;

/* The stream that each thread has of its own, in the contexts it used. */
static __thread struct { struct CUctx_st *context; struct CUstream_st *stream; } own_streams[GPU_MAX];

bool context_ok(struct CUctx_st *context)
{
	return context && context->magic == CONTEXT_MAGIC;
}

struct CUctx_st *context_current(void)
{
	return stack_depth ? stack[stack_depth - 1] : NULL;
}

void context_make_current(struct CUctx_st *context)
{
	if (!context && stack_depth)
		stack_depth--;
	else if (context && !stack_depth)
		stack[stack_depth++] = context;
	else if (context)
		stack[stack_depth - 1] = context;
}

int context_push(struct CUctx_st *context)
{
	if (stack_depth == STACK_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	stack[stack_depth++] = context;
	return CUDA_SUCCESS;
}

struct CUctx_st *context_pop(void)
{
	return stack_depth ? stack[--stack_depth] : NULL;
}

static void tell_of_context(enum resource what, struct CUctx_st *context)
{
	struct resource_info info = { .what = what, .context = context, .context_id = context->id, .device = (uint32_t)context->gpu->index,
		.stream = LEGACY_ID };

	truth("\"what\":\"%s\",\"device\":%u,\"context\":%u", what == RESOURCE_CONTEXT ? "context" : "context_gone", info.device,
		info.context_id);
	tell_resource(&info);
}

static void tell_of_stream(enum resource what, struct CUstream_st *stream)
{
	struct CUctx_st *context = stream->context;
	uint32_t flag = stream == context->legacy ? 3 : stream->flags & CU_STREAM_NON_BLOCKING ? 2 : 1;
	struct resource_info info = { .what = what, .context = context, .handle = stream, .device = (uint32_t)context->gpu->index,
		.context_id = context->id, .stream = stream->id, .stream_flag = flag, .priority = stream->priority };

	truth("\"what\":\"%s\",\"context\":%u,\"stream\":%u,\"flag\":%u,\"priority\":%d", what == RESOURCE_STREAM ? "stream" : "stream_gone",
		info.context_id, info.stream, flag, info.priority);
	tell_resource(&info);
}

static struct CUstream_st *stream_add(struct CUctx_st *context, unsigned int flags, int priority)
{
	struct CUstream_st *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->magic = STREAM_MAGIC;
	stream->context = context;
	stream->flags = flags;
	stream->priority = priority;
	pthread_mutex_lock(&machine_lock);
	stream->id = context->next_stream++;
	stream->next = context->streams;
	context->streams = stream;
	pthread_mutex_unlock(&machine_lock);
	return stream;
}

CUresult stream_new(struct CUctx_st *context, unsigned int flags, int priority, struct CUstream_st **ret_stream)
{
	struct CUstream_st *stream = stream_add(context, flags, priority);

	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	tell_of_stream(RESOURCE_STREAM, stream);
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

struct CUctx_st *context_new(struct gpu *gpu, unsigned int flags, bool primary)
{
	struct CUctx_st *context = calloc(1, sizeof(*context));

	if (!context)
		return NULL;
	context->magic = CONTEXT_MAGIC;
	context->gpu = gpu;
	context->flags = flags;
	context->primary = primary;
	context->next_stream = LEGACY_ID;
	context->legacy = stream_add(context, 0, 0);
	if (!context->legacy) {
		free(context);
		return NULL;
	}
	context->next_stream = FIRST_ID;
	pthread_mutex_lock(&machine_lock);
	context->id = ++context_ids;
	context->next = context_list;
	context_list = context;
	pthread_mutex_unlock(&machine_lock);
	tell_of_context(RESOURCE_CONTEXT, context);
	tell_of_stream(RESOURCE_STREAM, context->legacy);
	return context;
}

void context_drain(struct CUctx_st *context)
{
	for (bool busy = true; busy;) {
		struct op *op = NULL;

		busy = false;
		pthread_mutex_lock(&machine_lock);
		for (struct CUstream_st *stream = context->streams; stream && !op; stream = stream->next)
			if (stream->head)
				op = op_get(stream->tail);
		pthread_mutex_unlock(&machine_lock);
		if (op) {
			op_await(op);
			pthread_mutex_lock(&machine_lock);
			op_put(op);
			pthread_mutex_unlock(&machine_lock);
			busy = true;
		}
	}
}

static void stream_unlink(struct CUstream_st *stream)
{
	struct CUstream_st **link = &stream->context->streams;

	while (*link && *link != stream)
		link = &(*link)->next;
	if (*link)
		*link = stream->next;
}

void stream_free(struct CUstream_st *stream)
{
	if (!stream)
		return;
	stream_drain(stream);
	tell_of_stream(RESOURCE_STREAM_GONE, stream);
	pthread_mutex_lock(&machine_lock);
	stream_unlink(stream);
	op_put(stream->last);
	pthread_mutex_unlock(&machine_lock);
	stream->magic = 0;
	free(stream);
}

/* The struct stays for ever, in case another thread has it on its stack, and is told dead by its magic. */
void context_free(struct CUctx_st *context)
{
	struct CUctx_st **link = &context_list;

	context_drain(context);
	while (context->streams)
		stream_free(context->streams);
	tell_of_context(RESOURCE_CONTEXT_GONE, context);
	modules_free(context);
	pthread_mutex_lock(&machine_lock);
	while (*link && *link != context)
		link = &(*link)->next;
	if (*link)
		*link = context->next;
	context->magic = 0;
	context->next = dead_contexts;
	dead_contexts = context;
	if (context->gpu->primary == context)
		context->gpu->primary = NULL;
	pthread_mutex_unlock(&machine_lock);
}

CUresult primary_retain(int device, struct CUctx_st **ret_context)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct gpu *gpu = gpu_at(device);

	if (!gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	if (!gpu->primary)
		gpu->primary = context_new(gpu, gpu->primary_flags, true);
	gpu->primary_users++;
	*ret_context = gpu->primary;
	pthread_mutex_unlock(&lock);
	return *ret_context ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult use_device(int device)
{
	struct CUctx_st *context = context_current();
	CUresult result;

	if (context_ok(context) && context->primary && context->gpu->index == device)
		return CUDA_SUCCESS;
	result = primary_retain(device, &context);
	if (result == CUDA_SUCCESS)
		context_make_current(context);
	return result;
}

static struct CUstream_st *own_stream(struct CUctx_st *context)
{
	int free_place = -1;

	for (int i = 0; i < GPU_MAX; i++) {
		if (own_streams[i].context == context && context)
			return own_streams[i].stream;
		if (!context_ok(own_streams[i].context) && free_place < 0)
			free_place = i;
	}
	if (free_place < 0)
		return NULL;
	if (stream_new(context, 0, 0, &own_streams[free_place].stream) != CUDA_SUCCESS)
		return NULL;
	own_streams[free_place].context = context;
	return own_streams[free_place].stream;
}

CUstream per_thread(CUstream stream)
{
	return stream ? stream : CU_STREAM_PER_THREAD;
}

CUresult stream_find(CUstream handle, struct CUstream_st **ret_stream)
{
	struct CUctx_st *context = context_current();

	if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
		if (!context_ok(context))
			return CUDA_ERROR_INVALID_CONTEXT;
		*ret_stream = handle == CU_STREAM_PER_THREAD ? own_stream(context) : context->legacy;
		return *ret_stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (handle->magic != STREAM_MAGIC)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_stream = handle;
	return CUDA_SUCCESS;
}

bool event_ok(struct CUevent_st *event)
{
	return event && event->magic == EVENT_MAGIC;
}

struct CUevent_st *event_new(unsigned int flags)
{
	struct CUevent_st *event = calloc(1, sizeof(*event));
	uint32_t few = (uint32_t)fault_number(FAULT_reused_event_id);

	if (!event)
		return NULL;
	event->magic = EVENT_MAGIC;
	event->flags = flags;
	pthread_mutex_lock(&machine_lock);
	event->id = ++event_ids;
	pthread_mutex_unlock(&machine_lock);
	if (few)
		event->id = event->id % few + 1;
	return event;
}

void event_free(struct CUevent_st *event)
{
	pthread_mutex_lock(&machine_lock);
	op_put(event->op);
	pthread_mutex_unlock(&machine_lock);
	event->magic = 0;
	free(event);
}
