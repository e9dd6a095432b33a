/*
 * command.c - when commands have ended, and the work that they have been.
 *
 * The thread that puts a command into a queue pays for two readings of the
 * clock, a slot of its ring and a place among what is pending (pending.c).  The
 * times of the device are asked for when the command has ended, on the thread
 * that sees it.
 */
#include <sched.h>

#include "opencl/opencl.h"

#define LOOK_BACK 512u      /* commands among which one that others wait for is looked for */
#define JIT_LEAST_NS 200000 /* between submission and start of a first launch: it was compiled; others take some microseconds */
#define LATE_NS 20000       /* that a command may take longer than was expected */
#define IN_VAIN_MOST 64u    /* looks, one after another, that find nothing */
#define PATIENCE_NS 50000   /* for another thread that sees to what the program has waited for, */
#define LAST_PATIENCE_NS 200000000 /* and for one that is at it when the program ends */

/* ---- Work of the device ------------------------------------------------------------- */

struct times {
	cl_ulong queued, submit, start, end;
};

/* Something that has ended, on its way into the trace. */
struct ended {
	struct command command;
	struct times at;
	bool known;  /* the times are; those of a command that failed are not, or mean nothing */
	bool failed;
	uint8_t metadata[GPU_METADATA];
};

static bool time_of(cl_event event, cl_profiling_info what, cl_ulong *ret)
{
	return opencl_next.clGetEventProfilingInfo(event, what, sizeof *ret, ret, NULL) == CL_SUCCESS;
}

/* Every question is a call of the driver's: only what will be used is asked for. */
static bool times_of(const struct opencl_queue *q, const struct command *c, struct times *ret)
{
	*ret = (struct times){ 0 };
	if (!time_of(c->event, CL_PROFILING_COMMAND_END, &ret->end) || !time_of(c->event, CL_PROFILING_COMMAND_START, &ret->start) ||
	    ret->end < ret->start)
		return false;
	if ((c->graph || opencl_clock_wants(&q->clock, c->before)) && !time_of(c->event, CL_PROFILING_COMMAND_QUEUED, &ret->queued))
		return false;
	return !c->first_of || time_of(c->event, CL_PROFILING_COMMAND_SUBMIT, &ret->submit);
}

/* The device's times in ticks.  Nothing starts before it has been asked for, whatever the clocks say. */
static bool translate(const struct opencl_queue *q, const struct command *c, uint64_t from, uint64_t to, struct gpu_work *work)
{
	uint64_t end;

	if (!gpu_clock_ticks(&q->clock.fit, from, &work->begin) || !gpu_clock_ticks(&q->clock.fit, to, &end))
		return false;
	if ((int64_t)(work->begin - c->before) < 0)
		work->begin = c->before;
	work->duration = (int64_t)(end - work->begin) > 0 ? end - work->begin : 0;
	return true;
}

/* A first launch may be compiled on the device's side, after it was submitted and when all before it has ended. */
static void emit_compilation(struct runtime_thread *t, struct opencl_queue *q, const struct ended *e)
{
	struct gpu_work work = { .kind = EVENT_RUNTIME_CALL, .name = e->command.first_of, .correlation = e->command.correlation };
	uint64_t from = e->at.submit > q->last_end ? e->at.submit : q->last_end;

	if (e->command.first_of && e->at.start > from && e->at.start - from > JIT_LEAST_NS &&
	    translate(q, &e->command, from, e->at.start, &work))
		gpu_emit(t, &q->stream, &work);
}

/* PoCL gives a command buffer the times of a marker after it: then it has run since it could, at most. */
static uint64_t start_of(const struct opencl_queue *q, const struct ended *e)
{
	uint64_t from = e->at.queued > q->last_end ? e->at.queued : q->last_end;
	bool is_marker = e->command.graph && q->in_order && from < e->at.start && e->at.end - e->at.start < (e->at.start - from) / 10;

	return is_marker ? from : e->at.start;
}

/* Where the driver chooses the size of a group, the grid is told in single work-items. */
static uint64_t groups(uint64_t global, uint32_t local)
{
	return local > 1 ? global / local + (global % local != 0) : global;
}

/* Of work that was done, and nobody can say when. */
static void emit_nothing(struct runtime_thread *t, const struct ended *e)
{
	if (!e->failed)
		gpu_count_lost(1);
	if (e->command.frees)
		opencl_memory_given(t, e->command.frees, opencl_now());
}

static void emit_work(struct runtime_thread *t, struct opencl_queue *q, const struct ended *e)
{
	const struct command *c = &e->command;
	struct gpu_work work = {
		.kind = c->kind,
		.name = c->name,
		.correlation = c->alone ? 0 : c->correlation,
		.bytes = c->bytes,
		.memory_kinds = c->memory_kinds,
		.graph = c->graph,
		.wait = c->wait,
		.grid = { groups(c->global[0], c->local[0]), groups(c->global[1], c->local[1]), groups(c->global[2], c->local[2]) },
		.block = { c->local[0], c->local[1], c->local[2] },
		.metadata = e->metadata,
		.metadata_size = c->metadata_size,
	};

	if (!translate(q, c, start_of(q, e), e->at.end, &work)) {
		emit_nothing(t, e);
		return;
	}
	gpu_emit(t, &q->stream, &work);
	if (c->frees)
		opencl_memory_given(t, c->frees, work.begin + work.duration);
}

static void emit_command(struct opencl_queue *q, const struct ended *e)
{
	struct runtime_thread *t = &inferscope_thread;
	struct gpu_pair pair;

	if (!emit_enter(&inferscope_runtime, t))
		return;
	if (e->known) {
		if (e->at.queued && opencl_clock_see(&q->clock, e->command.before, e->at.queued, e->command.after, &pair))
			gpu_emit_pair(t, &q->stream, &pair);
		emit_compilation(t, q, e);
		emit_work(t, q, e);
		q->last_end = e->at.end > q->last_end ? e->at.end : q->last_end;
		if (e->command.kernel)
			opencl_kernel_took(e->command.kernel, e->at.end - e->at.start);
	} else {
		emit_nothing(t, e);
	}
	emit_leave(t);
}

/* ---- Who has ended ------------------------------------------------------------------- */

/* CL_COMPLETE, what it failed with, or how far it is. */
static cl_int status_of(cl_event event)
{
	cl_int status = CL_QUEUED;
	cl_int rc = opencl_next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);

	return rc == CL_SUCCESS ? status : rc;
}

/* A command that has its times has ended.  One that has none may have failed, or ended since they were asked for. */
static bool has_ended(const struct opencl_queue *q, struct ended *e)
{
	cl_int status;

	e->failed = false;
	e->known = times_of(q, &e->command, &e->at);
	if (e->known)
		return true;
	status = status_of(e->command.event);
	if (!e->command.done && status > CL_COMPLETE)
		return false;
	e->failed = status < CL_COMPLETE;
	e->known = !e->failed && times_of(q, &e->command, &e->at);
	return true;
}

static void give_back(struct opencl_queue *q, cl_event event, uint32_t *at)
{
	atomic_fetch_add_explicit(&q->releases, 1, memory_order_acq_rel);
	opencl_pending_remove(&q->pending, at);
	(void)opencl_next.clReleaseEvent(event);
	atomic_fetch_add_explicit(&q->releases, 1, memory_order_acq_rel);
}

/* Only the one thread that harvests takes commands out, so that their events stay while the driver is asked.  False: none has ended. */
static bool harvest(struct opencl_queue *q, bool ask)
{
	bool only_done = !q->in_order && !ask, any = false;
	struct ended e;
	uint32_t at = 0;

	while (opencl_pending_next(&q->pending, &at, only_done, &e.command, e.metadata)) {
		if (has_ended(q, &e)) {
			q->late = e.known && e.command.expected && e.at.end - e.at.start > e.command.expected + LATE_NS;
			emit_command(q, &e);
			give_back(q, e.command.event, &at);
			any = true;
		} else if (q->in_order) {
			break;
		} else {
			at++;
		}
	}
	return any;
}

/* ---- When that is seen ----------------------------------------------------------------- */

static void CL_CALLBACK those_ended(cl_event event, cl_int status, void *queue)
{
	struct opencl_queue *q = queue;

	(void)event;
	(void)status;
	atomic_store_explicit(&q->armed, false, memory_order_release);
	opencl_harvest(q);
}

static void CL_CALLBACK oldest_ended(cl_event event, cl_int status, void *queue)
{
	struct opencl_queue *q = queue;

	(void)event;
	(void)status;
	atomic_store_explicit(&q->near, false, memory_order_release);
	atomic_store_explicit(&q->called, true, memory_order_release);
	opencl_harvest(q);
}

static void CL_CALLBACK one_ended(cl_event event, cl_int status, void *queue)
{
	struct opencl_queue *q = queue;

	(void)status;
	opencl_pending_done(&q->pending, event);
	opencl_harvest(q);
}

static bool will_call(struct opencl_queue *q, cl_event event, void(CL_CALLBACK *function)(cl_event, cl_int, void *), _Atomic bool *flag)
{
	bool refused;

	atomic_store_explicit(flag, true, memory_order_release);
	refused = opencl_next.clSetEventCallback(event, CL_COMPLETE, function, q) != CL_SUCCESS;
	if (refused)
		atomic_store_explicit(flag, false, memory_order_release);
	return !refused;
}

/* Whether commands are to be seen one by one: the last took longer than expected, so that the next may, or the program waits. */
static bool looks_closely(struct opencl_queue *q)
{
	return q->late || (atomic_load_explicit(&q->wary, memory_order_relaxed) && atomic_exchange_explicit(&q->wary, false, memory_order_acq_rel));
}

/* A callback for the last of the commands that will end soon, unless one is to come, and for the oldest where that may take longer.
 * Who puts commands in relies on the first one while the queue is watched, which does not change as long as there are commands.
 * Where threads share a queue, one that was put in later may be before the oldest in the driver: if none has ended now, it may have
 * been for one of these that we were called, and only the oldest is sure to end. */
static void arm(struct opencl_queue *q, bool any)
{
	bool armed = atomic_load_explicit(&q->armed, memory_order_acquire), closely = looks_closely(q);
	cl_event oldest, last;

	if (!q->in_order)
		return;
	if (!q->deaf && (!armed || closely) && opencl_pending_soon(&q->pending, &oldest, &last)) {
		if (!armed) {
			q->last = any ? last : oldest;
			armed = will_call(q, q->last, those_ended, &q->armed);
			q->deaf = !armed;
		}
		if (armed && closely && oldest != q->last && !atomic_load_explicit(&q->near, memory_order_acquire))
			(void)will_call(q, oldest, oldest_ended, &q->near);
	}
	opencl_pending_watch(&q->pending, atomic_load_explicit(&q->armed, memory_order_acquire)); /* it may have come by now */
}

/* Whether somebody came, and went, while we had the queue. */
static bool has_more(struct opencl_queue *q)
{
	if (!q->in_order)
		return opencl_pending_any_done(&q->pending);
	return !q->deaf && (!atomic_load_explicit(&q->armed, memory_order_acquire) || atomic_load_explicit(&q->called, memory_order_acquire)) &&
	       opencl_pending_any(&q->pending);
}

/* One thread at a time; who comes meanwhile has left its command, which is seen to before the last one goes.  A driver may call for a
 * command and say that it has not ended: then somebody else sees to it later. */
static bool try_harvest(struct opencl_queue *q, bool ask)
{
	unsigned in_vain = 0;

	do {
		bool any;

		if (atomic_exchange_explicit(&q->harvesting, 1, memory_order_acq_rel))
			return false;
		atomic_store_explicit(&q->called, false, memory_order_relaxed);
		any = harvest(q, ask);
		arm(q, any);
		in_vain = any ? 0 : in_vain + 1;
		(void)atomic_exchange_explicit(&q->harvesting, 0, memory_order_acq_rel); /* and not stored: who came before it is seen */
	} while (in_vain < IN_VAIN_MOST && has_more(q));
	return true;
}

void opencl_harvest(struct opencl_queue *q)
{
	(void)try_harvest(q, false);
}

/* It may wait for long, and be killed then. */
void opencl_harvest_ahead(struct opencl_queue *q)
{
	if (!q || !opencl_recording() || !q->in_order || !opencl_pending_any(&q->pending))
		return;
	atomic_store_explicit(&q->wary, true, memory_order_release);
	opencl_harvest(q);
}

static bool is_over(const struct opencl_queue *q, uint64_t begin, double ns)
{
	return opencl_now() - begin >= (uint64_t)(ns * q->clock.fit.nominal);
}

/* What the program knows to have ended is in the trace, whatever becomes of the program then. */
void opencl_harvest_waited(struct opencl_queue *q)
{
	uint64_t begin = opencl_now();

	while (!try_harvest(q, true) && !is_over(q, begin, PATIENCE_NS))
		sched_yield();
}

/* The driver may be gone by now, and is not asked. */
void opencl_harvest_last(struct opencl_queue *q)
{
	uint64_t begin = opencl_now();

	while ((atomic_load_explicit(&q->harvesting, memory_order_acquire) || opencl_pending_any_done(&q->pending)) &&
	       !is_over(q, begin, LAST_PATIENCE_NS))
		sched_yield();
}

/* Its callback may come before it is in the list, and another thread may give its event back as soon as it is there. */
static void push_unordered(struct opencl_queue *q, const struct command *command, const struct call *call, const void *metadata)
{
	cl_event event = *call->event;

	(void)opencl_next.clRetainEvent(event);
	if (opencl_pending_push(&q->pending, command, call, metadata) == PUSHED_NOWHERE) {
		gpu_count_lost(1);
		(void)opencl_next.clReleaseEvent(event);
	} else {
		(void)opencl_next.clSetEventCallback(event, CL_COMPLETE, one_ended, q);
	}
	(void)opencl_next.clReleaseEvent(event);
}

static void push_in_order(struct opencl_queue *q, const struct command *command, const struct call *call, const void *metadata)
{
	cl_event event = *call->event;

	switch (opencl_pending_push(&q->pending, command, call, metadata)) {
	case PUSHED_NOWHERE:
		gpu_count_lost(1);
		(void)opencl_next.clReleaseEvent(event);
		break;
	case PUSHED_ALONE:
		opencl_harvest(q);
		break;
	case PUSHED_WATCHED:
		break;
	}
}

void opencl_command_push(const struct call *call, const struct command *command, const void *metadata)
{
	(call->queue->in_order ? push_in_order : push_unordered)(call->queue, command, call, metadata);
}

/* ---- What is pending ------------------------------------------------------------------- */

bool opencl_command_holds(struct opencl_queue *q, cl_event event)
{
	uint32_t correlation;

	return opencl_pending_find(&q->pending, event, UINT32_MAX, &correlation);
}

uint32_t opencl_command_correlation(struct opencl_queue *q, cl_event event)
{
	uint32_t correlation;

	(void)opencl_pending_find(&q->pending, event, LOOK_BACK, &correlation);
	return correlation;
}

bool opencl_command_idle(struct opencl_queue *q)
{
	return !opencl_pending_any(&q->pending) && !q->armed && !q->near && !q->harvesting;
}
