/* Operations: streams are queues of them, a thread and all who wait bring them to their end. */
#include "machine.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "settings.h"
#include "truth.h"

#define QUEUE_DEPTH 1024                /* the host waits when so many operations of a stream are not over, as with a real driver */
#define NEVER UINT64_MAX
#define SHORT_WAIT 20000                /* ns for which giving the processor away is cheaper than sleeping */
#define OVERHEAD_COMMAND_BUFFER_FULL (6u << 16)

static pthread_cond_t work = PTHREAD_COND_INITIALIZER;         /* for the thread */
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER;     /* for those who wait */
static unsigned int waiters;
static struct op *host_first, **host_end = &host_first;        /* host functions whose turn it is */
static uint64_t latency = 2000;
static uint64_t grid_ids;

uint64_t launch_latency(void)
{
	return latency;
}

struct op *op_new(enum op_kind kind, struct CUstream_st *stream)
{
	struct op *op = calloc(1, sizeof(*op));

	if (!op)
		abort();
	op->info.kind = kind;
	op->users = 1;
	op->engine = -1;
	op->stream = stream;
	op->info.device = (uint32_t)stream->context->gpu->index;
	op->info.context = stream->context->id;
	op->info.stream = stream->id;
	op->info.priority = stream->priority;
	op->info.channel = stream->id;
	op->info.channel_type = kind == OP_COPY ? 2 : 1;
	op->info.correlation = api_correlation();
	op->info.pid = (uint32_t)getpid();
	op->info.tid = (uint32_t)syscall(SYS_gettid);
	return op;
}

struct op *op_get(struct op *op)
{
	if (op)
		op->users++;
	return op;
}

void op_put(struct op *op)
{
	if (!op || --op->users)
		return;
	for (unsigned int i = 0; i < op->wait_count; i++)
		op_put(op->waits[i]);
	for (unsigned int i = 0; i < op->child_count; i++)
		op_put(op->children[i]);
	free(op->waits);
	free(op->children);
	free(op->staged);
	free(op);
}

void op_wait_for(struct op *op, struct op *other)
{
	struct op **waits;

	if (!other || (other->done && other->info.end <= op->info.submitted))
		return;
	waits = realloc(op->waits, (op->wait_count + 1) * sizeof(*waits));
	if (!waits)
		abort();
	op->waits = waits;
	op->waits[op->wait_count++] = op_get(other);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool op_ready(const struct op *op)
{
	for (unsigned int i = 0; i < op->wait_count; i++)
		if (!op->waits[i]->done)
			return false;
	return true;
}

/* Places an operation in time: not before EARLIEST, nor before what it waits for and the engine it needs. */
static void op_place(struct op *op, struct gpu *gpu, uint64_t earliest)
{
	uint64_t *engine = op->engine < 0 ? NULL : &gpu->engine_free[op->engine];

	for (unsigned int i = 0; i < op->wait_count; i++)
		earliest = later(earliest, op->waits[i]->info.end);
	if (engine)
		earliest = later(earliest, *engine);
	if (op->info.kind == OP_KERNEL && tracers_want_one_kernel())
		earliest = later(earliest, gpu->kernel_free);
	op->info.start = earliest;
	op->info.end = earliest + op->duration;
	if (engine)
		*engine = op->info.end;
	if (op->info.kind == OP_KERNEL)
		gpu->kernel_free = later(gpu->kernel_free, op->info.end);
}

static void op_start(struct op *op)
{
	struct gpu *gpu = op->stream->context->gpu;
	bool instant = op->info.kind == OP_EVENT || op->info.kind == OP_WAIT || op->info.kind == OP_FREE || op->info.kind == OP_EMPTY;

	op->started = true;
	op_place(op, gpu, later(op->info.submitted + (instant ? 0 : latency), op->stream->last_end));
	for (unsigned int i = 0; i < op->child_count; i++) {
		op_place(op->children[i], gpu, op->info.start);
		op->children[i]->info.submitted = op->info.submitted;
		op->info.end = later(op->info.end, op->children[i]->info.end);
		tell_started(&op->children[i]->info);
	}
	tell_started(&op->info);
	if (op->info.kind == OP_HOST) {
		*host_end = op_get(op);
		host_end = &op->host_next;
		pthread_cond_signal(&work);
	}
}

static void op_fill(struct op *op)
{
	uint64_t count = op->info.bytes / op->element;

	if (op->element == 1)
		memset(op->to, (int)op->info.value, count);
	for (uint64_t i = 0; op->element == 4 && i < count; i++)
		((uint32_t *)op->to)[i] = op->info.value;
}

static void op_act(struct op *op)
{
	if (op->info.kind == OP_COPY && op->to)
		memmove(op->to, op->staged ? op->staged : op->from, op->info.bytes);
	else if (op->info.kind == OP_SET)
		op_fill(op);
	else if (op->info.kind == OP_FREE)
		(void)memory_free((CUdeviceptr)(uintptr_t)op->to, MEMORY_DEVICE, true, NULL);
	op->done = true;
	tell_done(&op->info);
	if (truth_wanted())
		truth_op(&op->info);
}

static void op_finish(struct CUstream_st *stream, struct op *op)
{
	for (unsigned int i = 0; i < op->child_count; i++)
		op_act(op->children[i]);
	op_act(op);
	stream->last_end = op->info.end;
	stream->head = op->next;
	if (!stream->head)
		stream->tail = NULL;
	stream->queued--;
	op_put(op);
	if (waiters)
		pthread_cond_broadcast(&progress);
}

/* Brings one stream as far as the time allows; returns whether anything happened, and when to look again. */
static bool stream_advance(struct CUstream_st *stream, uint64_t now, uint64_t *next)
{
	bool moved = false;

	for (struct op *op; (op = stream->head); moved = true) {
		if (!op->started && !op_ready(op))
			break;
		if (!op->started)
			op_start(op);
		if (op->info.kind == OP_HOST && !op->host_done)
			break;
		if (op->info.end > now) {
			*next = op->info.end < *next ? op->info.end : *next;
			break;
		}
		op_finish(stream, op);
	}
	return moved;
}

/* Everything that is due; returns when the next thing will be. */
static uint64_t advance(uint64_t now)
{
	uint64_t next;
	bool moved;

	do {
		next = NEVER;
		moved = false;
		for (struct CUctx_st *context = context_list; context; context = context->next)
			for (struct CUstream_st *stream = context->streams; stream; stream = stream->next)
				if (stream->head)
					moved |= stream_advance(stream, now, &next);
	} while (moved);
	return next;
}

static void wait_until(pthread_cond_t *condition, uint64_t raw)
{
	struct timespec time;
	uint64_t delay = raw - now_ns(), deadline;

	if (raw == NEVER) {
		pthread_cond_wait(condition, &machine_lock);
		return;
	}
	if ((int64_t)delay <= 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &time);
	deadline = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec + delay;
	time.tv_sec = (time_t)(deadline / 1000000000u);
	time.tv_nsec = (long)(deadline % 1000000000u);
	pthread_cond_clockwait(condition, &machine_lock, CLOCK_MONOTONIC, &time);
}

static void run_host_function(void)
{
	struct op *op = host_first;
	uint64_t begun;

	host_first = op->host_next;
	if (!host_first)
		host_end = &host_first;
	while (now_ns() < op->info.start)
		wait_until(&progress, op->info.start);
	pthread_mutex_unlock(&machine_lock);
	begun = now_ns();
	op->host(op->host_user);
	pthread_mutex_lock(&machine_lock);
	op->info.start = begun;
	op->info.tid = (uint32_t)syscall(SYS_gettid);
	op->info.end = now_ns();
	op->host_done = true;
	op_put(op);
}

static void *run(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&machine_lock);
	for (;;) {
		uint64_t next = advance(now_ns());

		if (host_first)
			run_host_function();
		else
			wait_until(&work, next);
	}
	return NULL;
}

void queue_start(void)
{
	pthread_t thread;

	latency = (uint64_t)setting_number("DOUBLE_LAUNCH_NS", 2000);
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		abort();
	pthread_detach(thread);
}

/* Locked.  Sleeps until NEXT, or until somebody else has finished something. */
static void wait_some(uint64_t now, uint64_t next)
{
	if (next != NEVER && next - now < SHORT_WAIT) {
		pthread_mutex_unlock(&machine_lock);
		sched_yield();
		pthread_mutex_lock(&machine_lock);
		return;
	}
	waiters++;
	wait_until(&progress, next);
	waiters--;
}

static void op_await_locked(struct op *op)
{
	for (;;) {
		uint64_t now = now_ns(), next = advance(now);

		if (op->done)
			return;
		wait_some(now, next);
	}
}

/* What the default stream of old means: it waits for all streams that do not object, and they wait for it. */
static void wait_for_legacy(struct op *op)
{
	struct CUctx_st *context = op->stream->context;

	if (op->stream == context->legacy) {
		for (struct CUstream_st *stream = context->streams; stream; stream = stream->next)
			if (stream != op->stream && !(stream->flags & CU_STREAM_NON_BLOCKING))
				op_wait_for(op, stream->last);
	} else if (!(op->stream->flags & CU_STREAM_NON_BLOCKING)) {
		op_wait_for(op, context->legacy->last);
	}
}

static void wait_for_room(struct CUstream_st *stream, struct op *op)
{
	uint64_t began = now_ns();

	if (stream->queued < QUEUE_DEPTH)
		return;
	for (;;) {
		uint64_t now = now_ns(), next = advance(now);

		if (stream->queued < QUEUE_DEPTH / 2)
			break;
		wait_some(now, next);
	}
	pthread_mutex_unlock(&machine_lock);
	tell_overhead(OVERHEAD_COMMAND_BUFFER_FULL, began, QUEUE_DEPTH, op->info.channel);
	pthread_mutex_lock(&machine_lock);
}

static void tell_of(struct op *op)
{
	for (unsigned int i = 0; i < op->child_count; i++)
		tell_queued(&op->children[i]->info);
	tell_queued(&op->info);
}

void op_submit(struct op *op)
{
	struct CUstream_st *stream = op->stream;

	op->info.submitted = now_ns();
	tell_of(op);
	pthread_mutex_lock(&machine_lock);
	wait_for_room(stream, op);
	op->info.submitted = now_ns();
	if (op->info.kind == OP_KERNEL)
		op->info.grid_id = ++grid_ids;
	wait_for_legacy(op);
	op_put(stream->last);
	stream->last = op_get(op);
	op_get(op);
	if (stream->tail)
		stream->tail->next = op;
	else
		stream->head = op;
	stream->tail = op;
	stream->queued++;
	if (stream->head == op)
		pthread_cond_signal(&work);
	pthread_mutex_unlock(&machine_lock);
}

void op_await(struct op *op)
{
	pthread_mutex_lock(&machine_lock);
	op_await_locked(op);
	pthread_mutex_unlock(&machine_lock);
}

bool op_over(struct op *op)
{
	bool over;

	pthread_mutex_lock(&machine_lock);
	(void)advance(now_ns());
	over = !op || op->done;
	pthread_mutex_unlock(&machine_lock);
	return over;
}

void stream_drain(struct CUstream_st *stream)
{
	struct op *last;

	pthread_mutex_lock(&machine_lock);
	last = op_get(stream->last);
	if (last)
		op_await_locked(last);
	op_put(last);
	pthread_mutex_unlock(&machine_lock);
}

bool stream_idle(struct CUstream_st *stream)
{
	bool idle;

	pthread_mutex_lock(&machine_lock);
	(void)advance(now_ns());
	idle = !stream->head;
	pthread_mutex_unlock(&machine_lock);
	return idle;
}
