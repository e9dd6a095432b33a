/*
 * command.c - commands on their way through a queue, and the work that they have become.
 *
 * The thread that puts a command into a queue pays for two readings of the
 * clock, a slot of its ring and a place in the queue's list.  The times of the
 * device are asked for when the command has ended, on the thread that sees it.
 */
#include <sched.h>
#include <string.h>

#include "opencl/opencl.h"

#define COMMANDS_LEAST 4096u
#define COMMANDS_MOST (1u << 20)
#define COMMANDS_MOST_METADATA (1u << 16)
#define LOOK_BACK 512u      /* commands among which one that others wait for is looked for */
#define JIT_LEAST_NS 200000 /* between submission and start of a first launch: it was compiled; others take some microseconds */
#define PATIENCE_NS 50000   /* for another thread that sees to what the program has waited for */

/* ---- The list of a queue ----------------------------------------------------------- */

static uint32_t index_at(const struct opencl_queue *q, uint32_t at)
{
	return (q->first + at) & (q->size - 1);
}

static uint8_t *metadata_at(const struct opencl_queue *q, uint32_t index)
{
	return q->metadata + (size_t)index * GPU_METADATA;
}

static bool grow(struct opencl_queue *q)
{
	uint32_t size = q->size ? 2 * q->size : COMMANDS_LEAST;
	struct command *larger;
	uint8_t *metadata = NULL;

	if (size > (opencl_arguments_wanted ? COMMANDS_MOST_METADATA : COMMANDS_MOST))
		return false;
	larger = opencl_map(size * sizeof *larger);
	if (larger && opencl_arguments_wanted)
		metadata = opencl_map((size_t)size * GPU_METADATA);
	if (!larger || (opencl_arguments_wanted && !metadata)) {
		opencl_unmap(larger, size * sizeof *larger);
		return false;
	}
	for (uint32_t i = 0; i < q->count; i++) {
		larger[i] = q->commands[index_at(q, i)];
		if (metadata && q->metadata)
			memcpy(metadata + (size_t)i * GPU_METADATA, metadata_at(q, index_at(q, i)), larger[i].metadata_size);
	}
	opencl_unmap(q->commands, q->size * sizeof *q->commands);
	opencl_unmap(q->metadata, (size_t)q->size * GPU_METADATA);
	q->commands = larger;
	q->metadata = metadata;
	q->size = size;
	q->first = 0;
	return true;
}

static bool push(struct opencl_queue *q, const struct command *command, const void *metadata)
{
	bool room;

	opencl_lock(&q->lock);
	room = q->count < q->size || grow(q);
	if (room) {
		uint32_t at = index_at(q, q->count++);

		q->commands[at] = *command;
		if (command->metadata_size)
			memcpy(metadata_at(q, at), metadata, command->metadata_size);
	}
	opencl_unlock(&q->lock);
	return room;
}

/* The place of a command among the newest of the list, -1: it is not there.  With the lock. */
static int64_t place_of(const struct opencl_queue *q, cl_event event, uint32_t most)
{
	for (uint32_t i = 0; i < q->count && i < most; i++) {
		const struct command *c = &q->commands[index_at(q, q->count - 1 - i)];

		if (c->event == event && !c->ended)
			return q->count - 1 - i;
	}
	return -1;
}

bool opencl_command_holds(struct opencl_queue *q, cl_event event)
{
	bool held;

	opencl_lock(&q->lock);
	held = place_of(q, event, UINT32_MAX) >= 0;
	opencl_unlock(&q->lock);
	return held;
}

uint32_t opencl_command_correlation(struct opencl_queue *q, cl_event event)
{
	uint32_t correlation = 0;
	int64_t at;

	opencl_lock(&q->lock);
	at = place_of(q, event, LOOK_BACK);
	if (at >= 0)
		correlation = q->commands[index_at(q, (uint32_t)at)].correlation;
	opencl_unlock(&q->lock);
	return correlation;
}

bool opencl_command_idle(struct opencl_queue *q)
{
	bool idle;

	opencl_lock(&q->lock);
	idle = q->count == 0 && !q->armed && !q->harvesting;
	opencl_unlock(&q->lock);
	return idle;
}

/* ---- Work of the device ------------------------------------------------------------- */

struct times {
	cl_ulong queued, submit, start, end;
};

/* Something that has ended, on its way into the trace. */
struct ended {
	struct command command;
	struct times at;
	bool known; /* the times are; those of a command that failed are not, or mean nothing */
	uint8_t metadata[GPU_METADATA];
};

static bool time_of(cl_event event, cl_profiling_info what, cl_ulong *ret)
{
	return opencl_next.clGetEventProfilingInfo(event, what, sizeof *ret, ret, NULL) == CL_SUCCESS;
}

/* Every question takes the driver's locks, which the program is after as well: only what will be used is asked for. */
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

	if (translate(q, c, start_of(q, e), e->at.end, &work))
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
	} else if (e->command.frees) {
		opencl_memory_given(t, e->command.frees, opencl_now());
	}
	emit_leave(t);
}

/* ---- Who has ended ------------------------------------------------------------------- */

static bool is_complete(cl_event event)
{
	cl_int status = CL_QUEUED;

	return opencl_next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) != CL_SUCCESS ||
	       status <= CL_COMPLETE;
}

/* A command that has its times has ended.  One that has none may have failed, or ended since they were asked for. */
static bool has_ended(const struct opencl_queue *q, struct ended *e)
{
	e->known = times_of(q, &e->command, &e->at);
	if (e->known)
		return true;
	if (!e->command.done && !is_complete(e->command.event))
		return false;
	e->known = times_of(q, &e->command, &e->at);
	return true;
}

/* The next command from place `at` on that is worth a look; false: there is none.  Only the one thread that harvests takes commands
 * out, so the event stays while the driver is asked, without our lock. */
static bool look_at(struct opencl_queue *q, uint32_t *at, bool ask, struct ended *ret)
{
	bool there = false;

	opencl_lock(&q->lock);
	for (; *at < q->count && !there; ++*at) {
		const struct command *c = &q->commands[index_at(q, *at)];

		there = !c->ended && (q->in_order || ask || c->done);
		if (there) {
			ret->command = *c;
			if (c->metadata_size)
				memcpy(ret->metadata, metadata_at(q, index_at(q, *at)), c->metadata_size);
			break;
		}
	}
	opencl_unlock(&q->lock);
	return there;
}

static void take_out(struct opencl_queue *q, uint32_t *at)
{
	opencl_lock(&q->lock);
	q->commands[index_at(q, *at)].ended = true;
	++*at;
	for (; q->count && q->commands[q->first].ended; q->count--, --*at)
		q->first = index_at(q, 1);
	if (q->count == 0)
		q->first = 0; /* memory that is in the caches */
	opencl_unlock(&q->lock);
}

static void give_back(struct opencl_queue *q, cl_event event, uint32_t *at)
{
	atomic_fetch_add_explicit(&q->releases, 1, memory_order_acq_rel);
	take_out(q, at);
	(void)opencl_next.clReleaseEvent(event);
	atomic_fetch_add_explicit(&q->releases, 1, memory_order_acq_rel);
}

static void harvest(struct opencl_queue *q, bool ask)
{
	struct ended e;
	uint32_t at = 0;

	while (look_at(q, &at, ask, &e)) {
		if (has_ended(q, &e)) {
			emit_command(q, &e);
			give_back(q, e.command.event, &at);
		} else if (q->in_order) {
			return;
		} else {
			at++;
		}
	}
}

/* ---- When that is seen ----------------------------------------------------------------- */

static void CL_CALLBACK oldest_ended(cl_event event, cl_int status, void *queue)
{
	struct opencl_queue *q = queue;

	(void)event;
	(void)status;
	atomic_store_explicit(&q->armed, false, memory_order_release);
	opencl_harvest(q);
}

static void CL_CALLBACK one_ended(cl_event event, cl_int status, void *queue)
{
	struct opencl_queue *q = queue;
	int64_t at;

	(void)status;
	opencl_lock(&q->lock);
	at = place_of(q, event, UINT32_MAX);
	if (at >= 0)
		q->commands[index_at(q, (uint32_t)at)].done = true;
	opencl_unlock(&q->lock);
	opencl_harvest(q);
}

static bool oldest(struct opencl_queue *q, cl_event *ret)
{
	bool there;

	opencl_lock(&q->lock);
	there = q->count > 0;
	if (there)
		*ret = q->commands[q->first].event;
	opencl_unlock(&q->lock);
	return there;
}

/* A callback for the oldest command, unless one is to come. */
static void arm(struct opencl_queue *q)
{
	cl_event event;

	if (!q->in_order || atomic_load_explicit(&q->armed, memory_order_acquire) || !oldest(q, &event))
		return;
	atomic_store_explicit(&q->armed, true, memory_order_release);
	if (opencl_next.clSetEventCallback(event, CL_COMPLETE, oldest_ended, q) != CL_SUCCESS) {
		q->deaf = true;
		atomic_store_explicit(&q->armed, false, memory_order_release);
	}
}

/* Whether somebody came, and went, while we had the queue. */
static bool has_more(struct opencl_queue *q)
{
	bool more = false;

	opencl_lock(&q->lock);
	if (q->in_order)
		more = q->count > 0 && !q->deaf && !atomic_load_explicit(&q->armed, memory_order_acquire);
	for (uint32_t i = 0; !q->in_order && i < q->count && !more; i++) {
		const struct command *c = &q->commands[index_at(q, i)];

		more = c->done && !c->ended;
	}
	opencl_unlock(&q->lock);
	return more;
}

/* One thread at a time; who comes meanwhile has left its command, which is seen to before the last one goes. */
static bool try_harvest(struct opencl_queue *q, bool ask)
{
	do {
		if (atomic_exchange_explicit(&q->harvesting, 1, memory_order_acquire))
			return false;
		harvest(q, ask);
		arm(q);
		atomic_store_explicit(&q->harvesting, 0, memory_order_release);
	} while (has_more(q));
	return true;
}

void opencl_harvest(struct opencl_queue *q)
{
	(void)try_harvest(q, false);
}

/* What the program knows to have ended is in the trace, whatever becomes of the program then. */
void opencl_harvest_waited(struct opencl_queue *q)
{
	uint64_t begin = opencl_now();

	while (!try_harvest(q, true) && opencl_now() - begin < (uint64_t)(PATIENCE_NS * q->clock.fit.nominal))
		sched_yield();
}

/* Its callback may come before it is in the list, and another thread may give its event back as soon as it is there. */
static void push_unordered(struct opencl_queue *q, const struct command *command, const void *metadata)
{
	(void)opencl_next.clRetainEvent(command->event);
	if (!push(q, command, metadata)) {
		opencl_count_lost();
		(void)opencl_next.clReleaseEvent(command->event);
	} else {
		(void)opencl_next.clSetEventCallback(command->event, CL_COMPLETE, one_ended, q);
	}
	(void)opencl_next.clReleaseEvent(command->event);
}

void opencl_command_push(struct opencl_queue *q, const struct command *command, const void *metadata)
{
	if (!q->in_order) {
		push_unordered(q, command, metadata);
	} else if (!push(q, command, metadata)) {
		opencl_count_lost();
		(void)opencl_next.clReleaseEvent(command->event);
	} else if (!atomic_load_explicit(&q->armed, memory_order_acquire)) {
		opencl_harvest(q);
	}
}
