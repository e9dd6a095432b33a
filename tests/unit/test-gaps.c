/* test-gaps.c - why a device did nothing. */
#include "states-world.h"

/*
 * A thread, a device with two streams, kernel "before" until 1,000,000, and
 * kernel "after", whose launch and begin each test chooses: the gap is between.
 */
#define GAP 1000000

struct scene {
	struct world w;
	struct timeline_states s;
	uint32_t thread, stream, other;
	uint32_t first, launch, next;
};

static void scene_open(struct scene *c)
{
	world_open(&c->w);
	c->thread = world_thread(&c->w, 0);
	c->stream = world_stream(&c->w, 0);
	c->other = world_stream(&c->w, 0);
	c->first = world_call(&c->w, c->thread, "cudaLaunchKernel", 10, 20);
	world_launched(&c->w, c->stream, EVENT_GPU_KERNEL, "before", 100, GAP, c->first);
}

/* The kernel after the gap, launched and begun so many ns after the gap's begin. */
static void scene_next(struct scene *c, int64_t launched, int64_t begun)
{
	c->launch = world_call(&c->w, c->thread, "cudaLaunchKernel", GAP + launched, GAP + launched + 5);
	c->next = world_launched(&c->w, c->stream, EVENT_GPU_KERNEL, "after", GAP + begun, GAP + begun + 100, c->launch);
}

static uint32_t scene_op(struct scene *c, uint8_t kind, const char *name, int64_t begin, int64_t end)
{
	return world_slice(&c->w, c->thread, kind, name, GAP + begin, GAP + end);
}

static const struct timeline_gap *scene_gap(struct scene *c)
{
	const struct device_states *d = c->s.devices;
	struct error err = { 0 };

	world_finish(&c->w);
	assert_int_equal(timeline_states_build(&c->s, &c->w.t, NULL, &err), 0);
	d = &c->s.devices[0];
	assert_int_equal(d->gap_count, 1);
	assert_int_equal(d->gaps[0].begin, GAP);
	assert_int_equal(d->gaps[0].next, world_number(&c->w, c->next));
	assert_int_equal(d->idle[d->gaps[0].cause], d->gaps[0].end - d->gaps[0].begin);
	return d->gaps;
}

static void scene_close(struct scene *c)
{
	timeline_states_release(&c->s);
	world_close(&c->w);
}

static void expect_slice(const struct scene *c, uint32_t found, uint32_t slice)
{
	assert_int_equal(found, slice == TIMELINE_NONE ? TIMELINE_NONE : world_number(&c->w, slice));
}

static void host_is_late(void **state)
{
	struct scene c;
	const struct timeline_gap *gap;
	uint32_t op;

	(void)state;
	scene_open(&c);
	scene_op(&c, EVENT_SCOPE, "step", -5000, 9000);
	op = scene_op(&c, EVENT_OP, "aten::mul", 100, 800);
	scene_op(&c, EVENT_OP, "aten::add", 850, 1200);
	scene_next(&c, 900, 1000);
	gap = scene_gap(&c);
	assert_int_equal(gap->cause, IDLE_HOST_LATE);
	assert_int_equal(gap->end, GAP + 1000);
	expect_slice(&c, gap->launch, c.launch);
	expect_slice(&c, gap->top, op);
	expect_slice(&c, gap->blocking, TIMELINE_NONE);
	scene_close(&c);
}

/* None has a quarter of the gap to itself: the scope that lasts is better than any of them. */
static void top_is_what_lasts_when_all_is_short(void **state)
{
	struct scene c;
	uint32_t scope;

	(void)state;
	scene_open(&c);
	scene_op(&c, EVENT_SCOPE, "step", -5000, 9000);
	scope = scene_op(&c, EVENT_SCOPE, "layer", 10, 960);
	for (int i = 0; i < 9; i++)
		scene_op(&c, EVENT_OP, "aten::mul", 20 + 100 * i, 115 + 100 * i);
	scene_next(&c, 900, 1000);
	expect_slice(&c, scene_gap(&c)->top, scope);
	scene_close(&c);
}

static void top_may_be_around_the_launch(void **state)
{
	struct scene c;
	uint32_t op;

	(void)state;
	scene_open(&c);
	op = scene_op(&c, EVENT_OP, "aten::mul", 890, 950);
	scene_next(&c, 900, 1000);
	expect_slice(&c, scene_gap(&c)->top, op);
	scene_close(&c);
}

static void host_waits(void **state)
{
	struct scene c;
	const struct timeline_gap *gap;
	uint32_t sync;

	(void)state;
	scene_open(&c);
	sync = scene_op(&c, EVENT_RUNTIME_CALL, "cudaStreamSynchronize", -400, 600);
	scene_op(&c, EVENT_RUNTIME_CALL, "cudaDeviceSynchronize", 610, 650);
	scene_next(&c, 900, 1000);
	gap = scene_gap(&c);
	assert_int_equal(gap->cause, IDLE_SYNC);
	expect_slice(&c, gap->blocking, sync);
	expect_slice(&c, gap->top, TIMELINE_NONE);
	scene_close(&c);
}

/* The host waited for the work, and then took its time. */
static void who_waited_until_the_device_was_done_had_been_ahead(void **state)
{
	struct scene c;
	const struct timeline_gap *gap;
	uint32_t sync;

	(void)state;
	scene_open(&c);
	sync = scene_op(&c, EVENT_RUNTIME_CALL, "cudaStreamSynchronize", -400, 6);
	scene_op(&c, EVENT_RUNTIME_CALL, "cudaStreamSynchronize", 920, 5000); /* after the launch: waits for it */
	scene_next(&c, 900, 1000);
	gap = scene_gap(&c);
	assert_int_equal(gap->cause, IDLE_SYNC);
	expect_slice(&c, gap->blocking, sync);
	scene_close(&c);

	scene_open(&c); /* a wait that was over before */
	scene_op(&c, EVENT_RUNTIME_CALL, "cudaStreamSynchronize", -400, -1);
	scene_next(&c, 900, 1000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_HOST_LATE);
	scene_close(&c);

	scene_open(&c); /* input takes longer than the wait */
	scene_op(&c, EVENT_RUNTIME_CALL, "cudaStreamSynchronize", -400, 6);
	scene_op(&c, EVENT_SCOPE, "load_batch", 10, 800);
	scene_next(&c, 900, 1000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_INPUT);
	scene_close(&c);
}

static void launches_take_time(void **state)
{
	struct scene c;
	const struct timeline_gap *gap;

	(void)state;
	scene_open(&c);
	scene_next(&c, -100, 1000);
	gap = scene_gap(&c);
	assert_int_equal(gap->cause, IDLE_LAUNCH_LATENCY);
	expect_slice(&c, gap->launch, c.launch);
	scene_close(&c);

	scene_open(&c);
	scene_next(&c, 400, 1000); /* late by 400, under way for 600 */
	assert_int_equal(scene_gap(&c)->cause, IDLE_LAUNCH_LATENCY);
	scene_close(&c);
}

static void streams_wait(void **state)
{
	struct scene c;
	uint32_t call;

	(void)state;
	scene_open(&c); /* a call that does not say for which stream: for the next launch */
	scene_op(&c, EVENT_RUNTIME_CALL, "cudaStreamWaitEvent", -120, -110);
	scene_next(&c, -100, 1000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_DEPENDENCY);
	scene_close(&c);

	scene_open(&c); /* a sync that tells: for another stream */
	call = scene_op(&c, EVENT_RUNTIME_CALL, "cudaStreamWaitEvent", -120, -110);
	c.w.slices[world_slice(&c.w, c.other, EVENT_SYNC, "Stream Wait Event", GAP - 120, GAP - 119)].launch = call;
	scene_next(&c, -100, 1000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_LAUNCH_LATENCY);
	scene_close(&c);

	scene_open(&c); /* for this one */
	call = scene_op(&c, EVENT_RUNTIME_CALL, "cudaStreamWaitEvent", -120, -110);
	c.w.slices[world_slice(&c.w, c.stream, EVENT_SYNC, "Stream Wait Event", GAP - 120, GAP - 119)].launch = call;
	scene_next(&c, -100, 1000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_DEPENDENCY);
	scene_close(&c);

	scene_open(&c); /* launched after the device was done with all it could have waited for */
	scene_op(&c, EVENT_RUNTIME_CALL, "cudaStreamWaitEvent", 10, 20);
	scene_next(&c, 100, 1000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_LAUNCH_LATENCY);
	scene_close(&c);

	scene_open(&c); /* but that took too long */
	scene_op(&c, EVENT_RUNTIME_CALL, "cudaStreamWaitEvent", 10, 20);
	scene_next(&c, 100, 100 + IDLE_LAUNCH_MAX + 1);
	assert_int_equal(scene_gap(&c)->cause, IDLE_DEPENDENCY);
	scene_close(&c);
}

static void functions_of_the_host_hold_a_stream_up(void **state)
{
	struct scene c;

	(void)state;
	scene_open(&c);
	world_slice(&c.w, c.stream, EVENT_SYNC, "Host Function", GAP + 100, GAP + 400);
	world_slice(&c.w, c.stream, EVENT_SYNC, "Host Function", GAP + 400, GAP + 700);
	scene_next(&c, -100, 1000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_DEPENDENCY);
	scene_close(&c);

	scene_open(&c); /* another stream */
	world_slice(&c.w, c.other, EVENT_SYNC, "Host Function", GAP + 100, GAP + 700);
	scene_next(&c, -100, 1000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_LAUNCH_LATENCY);
	scene_close(&c);

	scene_open(&c); /* for less than half of the gap; most of the first one was before it */
	world_slice(&c.w, c.stream, EVENT_SYNC, "Host Function", GAP - 1000, GAP + 200);
	world_slice(&c.w, c.stream, EVENT_SYNC, "Host Function", GAP + 200, GAP + 490);
	scene_next(&c, -100, 1000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_LAUNCH_LATENCY);
	scene_close(&c);

	scene_open(&c); /* the work was launched when it was over */
	world_slice(&c.w, c.stream, EVENT_SYNC, "Host Function", GAP + 100, GAP + 700);
	scene_next(&c, 900, 1000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_HOST_LATE);
	scene_close(&c);
}

static void nodes_of_a_graph_depend(void **state)
{
	struct scene c;

	(void)state;
	scene_open(&c);
	c.launch = world_call(&c.w, c.thread, "cudaGraphLaunch", 30, 40);
	world_launched(&c.w, c.other, EVENT_GPU_KERNEL, "node", GAP - 10, GAP, c.launch);
	c.next = world_launched(&c.w, c.other, EVENT_GPU_KERNEL, "node", GAP + 50, GAP + 60, c.launch);
	assert_int_equal(scene_gap(&c)->cause, IDLE_DEPENDENCY);
	scene_close(&c);

	scene_open(&c); /* the call hands over the nodes one by one */
	c.launch = world_call(&c.w, c.thread, "hipGraphLaunch", 30, GAP + 200);
	world_launched(&c.w, c.other, EVENT_GPU_KERNEL, "node", GAP - 10, GAP, c.launch);
	c.next = world_launched(&c.w, c.other, EVENT_GPU_KERNEL, "node", GAP + 50, GAP + 60, c.launch);
	assert_int_equal(scene_gap(&c)->cause, IDLE_LAUNCH_LATENCY);
	scene_close(&c);
}

static void code_is_made(void **state)
{
	static const struct {
		uint8_t kind;
		const char *name;
		enum idle_cause cause;
	} cases[] = {
		{ EVENT_RUNTIME_CALL, "cuModuleLoadData", IDLE_JIT },
		{ EVENT_CPU_CALL, "torch/_dynamo/convert_frame.py(512): _compile", IDLE_JIT },
		{ EVENT_CPU_CALL, "torch._inductor.compile_fx.compile_fx_inner", IDLE_JIT },
		{ EVENT_CPU_CALL, "triton/compiler/compiler.py(229): compile", IDLE_JIT },
		{ EVENT_SCOPE, "_compile.compile_inner (dynamo_timed)", IDLE_JIT },
		/* there at every call of compiled code */
		{ EVENT_CPU_CALL, "torch/_inductor/output_code.py(465): __call__", IDLE_HOST_LATE },
		{ EVENT_CPU_CALL, "triton/runtime/jit.py(330): run", IDLE_HOST_LATE },
		{ EVENT_CPU_CALL, "torch/_inductor/compile_fx.py(12): run", IDLE_HOST_LATE },
		{ EVENT_SCOPE, "TorchDynamo Cache Lookup", IDLE_HOST_LATE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct scene c;
		enum idle_cause cause;

		scene_open(&c);
		scene_op(&c, cases[i].kind, cases[i].name, 100, 800);
		scene_next(&c, 900, 1000);
		cause = scene_gap(&c)->cause;
		if (cause != cases[i].cause)
			fail_msg("%s: %s", cases[i].name, idle_cause_name(cause));
		scene_close(&c);
	}
}

/* The name of a function need not tell, when its file does. */
static void files_tell(void **state)
{
	struct trace_function function = {
		.qualname = { "_compile", 8 }, .file = { "/lib/torch/_dynamo/convert_frame.py", 35 }, .line = 512,
	};
	struct scene c;

	(void)state;
	scene_open(&c);
	c.w.slices[scene_op(&c, EVENT_CPU_CALL, "", 100, 800)].name = trace_writer_function(c.w.f.w, &function);
	scene_next(&c, 900, 1000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_JIT);
	scene_close(&c);
}

static void input_is_loaded(void **state)
{
	static const struct {
		uint8_t kind;
		const char *name;
		enum idle_cause cause;
	} cases[] = {
		{ EVENT_OP, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", IDLE_INPUT },
		{ EVENT_CPU_CALL, "torch/utils/data/dataloader.py(628): __next__", IDLE_INPUT },
		{ EVENT_CPU_CALL, "torch.utils.data.dataloader._MultiProcessingDataLoaderIter._next_data", IDLE_INPUT },
		{ EVENT_SCOPE, "data_loading", IDLE_INPUT },
		{ EVENT_CPU_CALL, "train_dataloader.py(3): main", IDLE_HOST_LATE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct scene c;
		enum idle_cause cause;

		scene_open(&c);
		scene_op(&c, cases[i].kind, cases[i].name, 100, 800);
		scene_op(&c, EVENT_OP, "aten::stack", 200, 700);
		scene_next(&c, 900, 1000);
		cause = scene_gap(&c)->cause;
		if (cause != cases[i].cause)
			fail_msg("%s: %s", cases[i].name, idle_cause_name(cause));
		scene_close(&c);
	}
}

/* Each takes less than half: the one that takes most. */
static void the_largest_part_decides(void **state)
{
	struct scene c;

	(void)state;
	scene_open(&c);
	scene_op(&c, EVENT_RUNTIME_CALL, "cuModuleLoad", 0, 300);
	scene_op(&c, EVENT_RUNTIME_CALL, "cudaDeviceSynchronize", 300, 700);
	scene_next(&c, 800, 1000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_SYNC);
	scene_close(&c);
}

static void nothing_is_asked(void **state)
{
	struct scene c;
	uint32_t other;

	(void)state;
	scene_open(&c); /* a second of nothing, then an operator */
	scene_op(&c, EVENT_CPU_CALL, "main", -GAP, 3 * GAP);
	scene_op(&c, EVENT_OP, "aten::mul", 990000, 1010000);
	scene_next(&c, 1000000, 1005000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_NO_WORK);
	scene_close(&c);

	scene_open(&c); /* an operator takes all that time */
	scene_op(&c, EVENT_OP, "aten::mul", 10, 990000);
	scene_next(&c, 1000000, 1005000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_HOST_LATE);
	scene_close(&c);

	scene_open(&c); /* the program says that it is in a step */
	scene_op(&c, EVENT_SCOPE, "step", -10, 1100000);
	scene_next(&c, 1000000, 1005000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_HOST_LATE);
	scene_close(&c);

	scene_open(&c); /* a thread that only sleeps */
	scene_op(&c, EVENT_CPU_CALL, "<built-in function sleep>", 10, 990000);
	scene_next(&c, 1000000, 1005000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_NO_WORK);
	scene_close(&c);

	scene_open(&c); /* another thread of the process is busy */
	other = world_thread(&c.w, 0);
	for (int i = 0; i < 10; i++)
		world_slice(&c.w, other, EVENT_OP, "aten::mul", GAP + 100000 * i, GAP + 100000 * i + 50000);
	scene_next(&c, 1000000, 1005000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_HOST_LATE);
	scene_close(&c);

	scene_open(&c); /* one of another process */
	other = world_thread(&c.w, 1);
	for (int i = 0; i < 10; i++)
		world_slice(&c.w, other, EVENT_OP, "aten::mul", GAP + 100000 * i, GAP + 100000 * i + 50000);
	scene_next(&c, 1000000, 1005000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_NO_WORK);
	scene_close(&c);

	scene_open(&c); /* not for so short a time */
	scene_next(&c, 990000, 1000000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_HOST_LATE);
	scene_close(&c);
}

/* Two devices with the same three gaps of 2 ms each; in the second, tasks of the process are busy. */
static void tasks_come_and_go(void **state)
{
	struct world w;
	struct timeline_states s;
	struct error err = { 0 };
	uint32_t thread, streams[2];

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	for (int64_t i = 0; i < 20; i++) {
		uint32_t task = world_track(&w, TRACK_TASK, 0, TIMELINE_NONE);
		int64_t begin = 3100000 + 90000 * i;

		world_slice(&w, task, EVENT_CPU_CALL, "task", begin, begin + 90000);
	}
	streams[0] = world_stream(&w, 0);
	streams[1] = world_stream(&w, 1);
	for (int64_t i = 0; i < 4; i++)
		for (int k = 0; k < 2; k++)
			world_launched(&w, streams[k], EVENT_GPU_KERNEL, "k", 2100000 * i + 900000, 2100000 * i + 1000000,
				       world_call(&w, thread, "cudaLaunchKernel", 2100000 * i + 890000 + 100 * k, 2100000 * i + 890050 + 100 * k));
	world_finish(&w);
	assert_int_equal(timeline_states_build(&s, &w.t, NULL, &err), 0);
	for (int k = 0; k < 2; k++) {
		assert_int_equal(s.devices[k].gap_count, 3);
		assert_int_equal(s.devices[k].gaps[0].cause, IDLE_NO_WORK);
		assert_int_equal(s.devices[k].gaps[1].cause, IDLE_HOST_LATE);
		assert_int_equal(s.devices[k].gaps[2].cause, IDLE_NO_WORK);
		assert_int_equal(s.devices[k].idle[IDLE_NO_WORK], 4000000);
		assert_int_equal(s.devices[k].idle[IDLE_HOST_LATE], 2000000);
	}
	timeline_states_release(&s);
	world_close(&w);
}

static void unlaunched_work(void **state)
{
	struct scene c;

	(void)state;
	scene_open(&c);
	c.next = world_slice(&c.w, c.stream, EVENT_GPU_KERNEL, "after", GAP + 1000, GAP + 1100);
	assert_int_equal(scene_gap(&c)->cause, IDLE_UNKNOWN);
	expect_slice(&c, c.s.devices[0].gaps[0].launch, TIMELINE_NONE);
	scene_close(&c);

	scene_open(&c); /* but the thread that launched before waited */
	scene_op(&c, EVENT_RUNTIME_CALL, "cudaDeviceSynchronize", -100, 700);
	c.next = world_slice(&c.w, c.stream, EVENT_GPU_KERNEL, "after", GAP + 1000, GAP + 1100);
	assert_int_equal(scene_gap(&c)->cause, IDLE_SYNC);
	scene_close(&c);

	scene_open(&c); /* a launch beside it at the same time is the one that counts */
	world_slice(&c.w, c.stream, EVENT_GPU_KERNEL, "beside", GAP + 1000, GAP + 1100);
	scene_next(&c, -100, 1000);
	assert_int_equal(scene_gap(&c)->cause, IDLE_LAUNCH_LATENCY);
	scene_close(&c);
}

/* ---- The oracle: nested slices at random, looked at nanosecond by nanosecond ---- */

#define LENGTH 200 /* of the gap */

static uint64_t seed;

static uint32_t dice(uint32_t sides)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % sides;
}

static void put_nested(struct scene *c, int64_t begin, int64_t end, int depth)
{
	static const struct {
		uint8_t kind;
		const char *name;
	} what[] = {
		{ EVENT_OP, "op" }, { EVENT_CPU_CALL, "f" }, { EVENT_SCOPE, "load_batch" }, { EVENT_RUNTIME_CALL, "cuModuleLoad" },
		{ EVENT_RUNTIME_CALL, "cudaDeviceSynchronize" }, { EVENT_RUNTIME_CALL, "cudaMalloc" },
	};

	while (end - begin > 2 && depth < 5) {
		int64_t from = begin + dice((uint32_t)(end - begin)), to = from + 1 + dice((uint32_t)(end - from));
		uint32_t kind = dice(6);

		world_slice(&c->w, c->thread, what[kind].kind, what[kind].name, from, to);
		put_nested(c, from, to, depth + 1);
		begin = to;
	}
}

/* Whether a slice of the thread with this name is open. */
static bool is_in(const struct scene *c, int64_t at, const char *name)
{
	const struct timeline *t = &c->w.t;
	size_t size;

	for (uint32_t i = 0; i < t->tracks[c->thread].count; i++)
		if (t->begin[i] <= at && t->end[i] > at && strcmp(timeline_string(t, t->name[i], &size), name) == 0)
			return true;
	return false;
}

static enum idle_cause cause_by_definition(const struct scene *c, const struct timeline_gap *gap)
{
	static const enum idle_cause order[] = { IDLE_JIT, IDLE_SYNC, IDLE_LAUNCH_LATENCY, IDLE_INPUT, IDLE_HOST_LATE };
	int64_t takes[IDLE_CAUSE_COUNT] = { 0 }, launched = c->w.t.begin[gap->launch];
	enum idle_cause most = IDLE_JIT;

	for (int64_t at = gap->begin; at < gap->end; at++) {
		bool jit = is_in(c, at, "cuModuleLoad"), sync = is_in(c, at, "cudaDeviceSynchronize"), input = is_in(c, at, "load_batch");

		if (at >= launched) {
			takes[IDLE_LAUNCH_LATENCY]++;
			continue;
		}
		takes[IDLE_JIT] += jit;
		takes[IDLE_SYNC] += sync;
		takes[IDLE_INPUT] += input;
		takes[IDLE_HOST_LATE] += !jit && !sync && !input;
	}
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		if (2 * takes[order[i]] >= gap->end - gap->begin)
			return order[i];
		most = takes[order[i]] > takes[most] ? order[i] : most;
	}
	return most;
}

static enum idle_cause cause_with_hold_up(const struct scene *c, const struct timeline_gap *gap)
{
	enum idle_cause cause = cause_by_definition(c, gap);

	return cause == IDLE_HOST_LATE && is_in(c, gap->begin - 1, "cudaDeviceSynchronize") ? IDLE_SYNC : cause;
}

static bool can_be_top(const struct timeline *t, uint32_t slice)
{
	return t->kind[slice] != EVENT_RUNTIME_CALL;
}

/* Own times of all slices of the thread in the gap; returns the largest. */
static int64_t own_times(const struct scene *c, const struct timeline_gap *gap, int64_t *own)
{
	const struct timeline *t = &c->w.t;
	int64_t most = 0;

	for (int64_t at = gap->begin; at < gap->end; at++) {
		uint32_t inner = TIMELINE_NONE;

		for (uint32_t i = 0; i < t->tracks[c->thread].count; i++)
			if (t->begin[i] <= at && t->end[i] > at && can_be_top(t, i))
				inner = i;
		if (inner != TIMELINE_NONE && ++own[inner] > most)
			most = own[inner];
	}
	return most;
}

static void expect_top(const struct scene *c, const struct timeline_gap *gap)
{
	const struct timeline *t = &c->w.t;
	int64_t own[WORLD_MAX] = { 0 }, most = own_times(c, gap, own);
	uint32_t inner = TIMELINE_NONE;

	if (most >= (gap->end - gap->begin) / 4) {
		assert_true(gap->top != TIMELINE_NONE);
		assert_int_equal(own[gap->top], most);
		return;
	}
	for (uint32_t i = 0; i < t->tracks[c->thread].count; i++) {
		int64_t from = t->begin[i] > gap->begin ? t->begin[i] : gap->begin, to = t->end[i] < gap->end ? t->end[i] : gap->end;

		if (can_be_top(t, i) && 2 * (to - from) >= gap->end - gap->begin)
			inner = i;
	}
	for (uint32_t i = 0; inner == TIMELINE_NONE && i < gap->launch; i++)
		if (can_be_top(t, i) && t->begin[i] <= t->begin[gap->launch] && t->end[i] >= t->end[gap->launch])
			inner = i;
	if (inner == TIMELINE_NONE)
		assert_int_equal(gap->top, TIMELINE_NONE);
	else
		assert_true(gap->top != TIMELINE_NONE);
}

static void agrees_with_the_oracle(void **state)
{
	static struct scene c;
	int seen[IDLE_CAUSE_COUNT] = { 0 };

	(void)state;
	for (uint64_t round = 1; round <= 1500; round++) {
		const struct timeline_gap *gap;
		int64_t launched;

		seed = round;
		scene_open(&c);
		launched = (int64_t)dice(LENGTH) - 20;
		put_nested(&c, GAP - 50, GAP + launched, 0);
		scene_next(&c, launched, LENGTH);
		put_nested(&c, GAP + launched + 5, GAP + LENGTH + 50, 0);
		gap = scene_gap(&c);
		assert_int_equal(gap->cause, cause_with_hold_up(&c, gap));
		expect_top(&c, gap);
		seen[gap->cause]++;
		scene_close(&c);
	}
	assert_true(seen[IDLE_JIT] > 20 && seen[IDLE_SYNC] > 20 && seen[IDLE_INPUT] > 20);
	assert_true(seen[IDLE_LAUNCH_LATENCY] > 20 && seen[IDLE_HOST_LATE] > 20);
}

/* A gap with more slices than are looked at one by one. */
static void a_gap_may_hold_many_slices(void **state)
{
	static struct scene c;
	uint32_t scope;

	(void)state;
	scene_open(&c);
	scope = scene_op(&c, EVENT_SCOPE, "loop", 10, 900000);
	while (c.w.count < WORLD_MAX - 2)
		scene_op(&c, EVENT_OP, "aten::add", 20 + 200 * (int64_t)c.w.count, 100 + 200 * (int64_t)c.w.count);
	scene_next(&c, 890000, 990000);
	expect_slice(&c, scene_gap(&c)->top, scope);
	assert_int_equal(c.s.devices[0].gaps[0].cause, IDLE_HOST_LATE);
	scene_close(&c);
}

/* Nothing is recorded of the thread meanwhile, but it was looked at. */
static void seen_from_outside(void **state)
{
	static const struct {
		const char *name;     /* of the state that it was in when it was last looked at */
		int64_t samples[3];   /* of its program counter, after the begin of the gap; 0: none */
		enum idle_cause cause;
	} cases[] = {
		{ "sleep", { 0 }, IDLE_NO_WORK },
		{ "running", { 0 }, IDLE_HOST_LATE },
		{ "running", { -500 }, IDLE_NO_WORK }, /* it would have samples */
		{ "sleep", { -500, 3000000, 8000000 }, IDLE_HOST_LATE },
		{ "sleep", { -500, 3000000 }, IDLE_HOST_LATE }, /* a quarter of the time */
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct timeline_look looks[4];
		struct scene c;
		uint32_t states;

		scene_open(&c);
		states = world_track(&c.w, TRACK_STATES, 0, TIMELINE_NONE);
		c.w.tracks[states].parent = c.thread;
		looks[0] = (struct timeline_look){ .begin = GAP - 1000, .end = GAP + 20000000, .track = states, .name = world_name(&c.w, cases[i].name),
						   .kind = LOOK_STATE };
		c.w.t.looks = looks;
		c.w.t.look_count = 1;
		for (unsigned k = 0; k < 3 && cases[i].samples[k]; k++)
			looks[c.w.t.look_count++] = (struct timeline_look){ .begin = GAP + cases[i].samples[k], .end = GAP + cases[i].samples[k],
									    .track = states, .kind = LOOK_PLACE };
		scene_next(&c, 20000000, 20000100);
		assert_int_equal(scene_gap(&c)->cause, cases[i].cause);
		c.w.t.looks = NULL;
		c.w.t.look_count = 0;
		scene_close(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seen_from_outside),
		cmocka_unit_test(host_is_late),
		cmocka_unit_test(top_is_what_lasts_when_all_is_short),
		cmocka_unit_test(top_may_be_around_the_launch),
		cmocka_unit_test(host_waits),
		cmocka_unit_test(who_waited_until_the_device_was_done_had_been_ahead),
		cmocka_unit_test(launches_take_time),
		cmocka_unit_test(streams_wait),
		cmocka_unit_test(functions_of_the_host_hold_a_stream_up),
		cmocka_unit_test(nodes_of_a_graph_depend),
		cmocka_unit_test(code_is_made),
		cmocka_unit_test(files_tell),
		cmocka_unit_test(input_is_loaded),
		cmocka_unit_test(the_largest_part_decides),
		cmocka_unit_test(nothing_is_asked),
		cmocka_unit_test(tasks_come_and_go),
		cmocka_unit_test(unlaunched_work),
		cmocka_unit_test(agrees_with_the_oracle),
		cmocka_unit_test(a_gap_may_hold_many_slices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
