/* test-states.c - windows, strays, streams and walks, also against an oracle that looks at each nanosecond. */
#include "states-world.h"

#include <errno.h>

static void build(struct world *w, struct timeline_states *s)
{
	struct error err = { 0 };

	world_finish(w);
	assert_int_equal(timeline_states_build(s, &w->t, NULL, &err), 0);
}

static void finish(struct world *w, struct timeline_states *s)
{
	timeline_states_release(s);
	world_close(w);
}

static int64_t sum_mix(const struct device_window *w)
{
	int64_t sum = 0;

	for (int i = 0; i < MIX_COUNT; i++)
		sum += w->mix[i];
	return sum;
}

static int64_t sum_states(const struct stream_states *s)
{
	int64_t sum = 0;

	for (int i = 0; i < STREAM_STATE_COUNT; i++)
		sum += s->state[i];
	return sum;
}

static void measures_windows(void **state)
{
	struct world w;
	struct timeline_states s;
	const struct device_states *d;
	uint32_t thread, a, b, launch;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	a = world_stream(&w, 0);
	b = world_stream(&w, 0);
	launch = world_call(&w, thread, "cudaLaunchKernel", 0, 5);
	world_slice(&w, a, EVENT_H2D_COPY, "Memcpy HtoD", 100, 120); /* no launch */
	world_launched(&w, a, EVENT_GPU_KERNEL, "gemm", 200, 300, launch);
	world_launched(&w, b, EVENT_GPU_KERNEL, "ncclDevKernel_AllReduce", 250, 400, launch);
	world_launched(&w, a, EVENT_D2H_COPY, "Memcpy DtoH", 350, 450, launch);
	world_launched(&w, b, EVENT_MEMSET, "Memset", 500, 510, launch);
	world_slice(&w, a, EVENT_SCOPE, "annotation", 0, 1000);
	world_slice(&w, b, EVENT_SYNC, "Context Sync", 0, 1000);
	build(&w, &s);
	assert_int_equal(s.count, 1);
	d = &s.devices[0];
	assert_int_equal(d->all.from, 100);
	assert_int_equal(d->all.to, 510);
	assert_int_equal(d->all.count, 5);
	assert_int_equal(device_window_compute(&d->all), 110);
	assert_int_equal(device_window_exposed_communication(&d->all), 100);
	assert_int_equal(device_window_exposed_copy(&d->all), 70);
	assert_int_equal(device_window_idle(&d->all), 130);
	assert_int_equal(device_window_busy(&d->all), 280);
	assert_int_equal(device_window_class(&d->all, WORK_COPY), 120);
	assert_int_equal(d->all.mix[1 | 2], 50);
	assert_int_equal(d->all.mix[2 | 4], 50);
	assert_int_equal(d->all.class_total[WORK_COMPUTE], 110);
	assert_int_equal(d->all.class_total[WORK_COMMUNICATION], 150);
	assert_int_equal(d->all.class_total[WORK_COPY], 120);
	assert_int_equal(d->all.work_total, 380);
	assert_int_equal(d->all.concurrency_max, 2);
	assert_int_equal(d->launched.from, 200);
	assert_int_equal(d->launched.to, 510);
	assert_int_equal(d->launched.count, 4);
	assert_int_equal(device_window_idle(&d->launched), 50);
	assert_memory_equal(&d->trimmed, &d->all, sizeof d->all);
	assert_int_equal(d->stray_count, 0);
	finish(&w, &s);
}

static void takes_devices_without_work(void **state)
{
	struct world w;
	struct timeline_states s;
	struct device_window window;

	(void)state;
	world_open(&w);
	world_stream(&w, 0);
	world_slice(&w, world_stream(&w, 1), EVENT_GPU_KERNEL, "k", 5, 5);
	build(&w, &s);
	assert_int_equal(s.count, 2);
	assert_int_equal(s.devices[0].all.to, 0);
	assert_int_equal(s.devices[0].all.count, 0);
	assert_int_equal(s.devices[0].gap_count, 0);
	assert_int_equal(s.devices[1].all.from, 5);
	assert_int_equal(s.devices[1].all.to, 5);
	assert_int_equal(s.devices[1].all.count, 1);
	assert_int_equal(device_window_between(&w.t, &s, 0, 3, 9, &window), 0);
	assert_int_equal(window.mix[0], 6);
	assert_int_equal(device_window_between(&w.t, &s, 2, 3, 9, &window), -EINVAL);
	assert_int_equal(device_window_between(&w.t, &s, 0, 9, 3, &window), -EINVAL);
	finish(&w, &s);
}

static void sums_stay_within_their_type(void **state)
{
	struct world w;
	struct timeline_states s;
	uint32_t a, b;

	(void)state;
	world_open(&w);
	a = world_stream(&w, 0);
	b = world_stream(&w, 0);
	world_slice(&w, a, EVENT_GPU_KERNEL, "k", 0, INT64_MAX);
	world_slice(&w, b, EVENT_GPU_KERNEL, "k", 0, INT64_MAX);
	build(&w, &s);
	assert_int_equal(s.devices[0].all.work_total, INT64_MAX);
	assert_int_equal(s.devices[0].all.class_total[WORK_COMPUTE], INT64_MAX);
	assert_int_equal(device_window_busy(&s.devices[0].all), INT64_MAX);
	finish(&w, &s);
}

/* ---- Strays ---- */

/* Twenty kernels of 10 ns every 20 ns, from 100,000 on: 390 ns. */
static void put_core(struct world *w, uint32_t stream)
{
	for (int i = 0; i < 20; i++)
		world_slice(w, stream, EVENT_GPU_KERNEL, "k", 100000 + 20 * i, 100010 + 20 * i);
}

static void expect_strays(struct timeline_states *s, uint32_t count, int64_t from, int64_t to)
{
	const struct device_states *d = &s->devices[0];
	int64_t idle = 0;

	assert_int_equal(d->stray_count, count);
	assert_int_equal(d->trimmed.from, from);
	assert_int_equal(d->trimmed.to, to);
	assert_int_equal(d->trimmed.count, d->all.count - count);
	assert_int_equal(sum_mix(&d->trimmed), to - from);
	for (uint32_t i = 0; i < d->gap_count; i++)
		idle += d->gaps[i].end - d->gaps[i].begin;
	assert_int_equal(idle, device_window_idle(&d->trimmed));
}

struct stray_case {
	int64_t begins[4]; /* of kernels of 4 ns; 0: no more */
	uint32_t strays;
	int64_t from, to;
};

static void finds_strays(void **state)
{
	static const struct stray_case cases[] = {
		{ { 0 }, 0, 100000, 100390 },
		{ { 96095 }, 1, 100000, 100390 },           /* 3901 ns before: just too far */
		{ { 96096 }, 0, 96096, 100390 },            /* 3900 ns before */
		{ { 104291 }, 1, 100000, 100390 },          /* 3901 ns after */
		{ { 104290 }, 0, 100000, 104294 },
		{ { 5, 50000 }, 2, 100000, 100390 },        /* two before, far from each other */
		{ { 50000, 150000 }, 2, 100000, 100390 },   /* one on each side */
		{ { 100, 200, 300 }, 0, 100, 100390 },      /* more than a tenth */
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct world w;
		struct timeline_states s;
		uint32_t stream;

		world_open(&w);
		stream = world_stream(&w, 0);
		put_core(&w, stream);
		for (int k = 0; k < 4 && cases[i].begins[k]; k++)
			world_slice(&w, stream, EVENT_GPU_KERNEL, "k", cases[i].begins[k], cases[i].begins[k] + 4);
		build(&w, &s);
		expect_strays(&s, cases[i].strays, cases[i].from, cases[i].to);
		finish(&w, &s);
	}
}

/* ---- Streams ---- */

static void tells_states_of_streams(void **state)
{
	struct world w;
	struct timeline_states s;
	const struct stream_states *a, *b;
	uint32_t thread, stream, other, wait;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	stream = world_stream(&w, 0);
	other = world_stream(&w, 0);
	world_launched(&w, stream, EVENT_GPU_KERNEL, "k", 100, 200, world_call(&w, thread, "cudaLaunchKernel", 10, 20));
	world_launched(&w, stream, EVENT_H2D_COPY, "copy", 230, 260, world_call(&w, thread, "cudaMemcpyAsync", 150, 160));
	world_slice(&w, thread, EVENT_RUNTIME_CALL, "cuModuleLoadData", 300, 340);
	world_launched(&w, stream, EVENT_MEMSET, "set", 400, 420, world_call(&w, thread, "cudaMemsetAsync", 350, 360));
	wait = world_call(&w, thread, "cudaStreamWaitEvent", 370, 375);
	w.slices[world_slice(&w, other, EVENT_SYNC, "Stream Wait Event", 370, 371)].launch = wait;
	world_launched(&w, other, EVENT_D2D_COPY, "copy", 425, 500, world_call(&w, thread, "cudaMemcpyAsync", 380, 385));
	build(&w, &s);
	a = &s.devices[0].streams[0];
	b = &s.devices[0].streams[1];
	assert_int_equal(s.devices[0].stream_count, 2);
	assert_int_equal(a->track, stream);
	assert_int_equal(a->count, 3);
	assert_int_equal(a->state[STREAM_KERNEL], 100);
	assert_int_equal(a->state[STREAM_H2D], 30);
	assert_int_equal(a->state[STREAM_OTHER], 20);
	assert_int_equal(a->state[STREAM_QUEUED], 30 + 50);
	assert_int_equal(a->state[STREAM_JIT], 40);
	assert_int_equal(a->state[STREAM_EMPTY], 40 + 10 + 80);
	assert_int_equal(sum_states(a), 400);
	assert_int_equal(b->state[STREAM_EMPTY], 240);
	assert_int_equal(b->state[STREAM_JIT], 40);
	assert_int_equal(b->state[STREAM_BLOCKED], 45);
	assert_int_equal(b->state[STREAM_D2D], 75);
	assert_int_equal(sum_states(b), 400);
	/* the first was launched before the window and begins with it */
	assert_int_equal(a->depth_max, 1);
	assert_true(a->depth_mean > (80.0 + 50) / 400 - 1e-9 && a->depth_mean < (80.0 + 50) / 400 + 1e-9);
	finish(&w, &s);
}

static void counts_what_waits_in_a_stream(void **state)
{
	struct world w;
	struct timeline_states s;
	uint32_t thread, stream, graph;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	stream = world_stream(&w, 0);
	world_launched(&w, stream, EVENT_GPU_KERNEL, "k", 0, 100, world_call(&w, thread, "cudaLaunchKernel", 0, 5));
	graph = world_call(&w, thread, "cudaGraphLaunch", 50, 60);
	for (int i = 0; i < 5; i++)
		world_launched(&w, stream, EVENT_GPU_KERNEL, "node", 100 + 20 * i, 120 + 20 * i, graph);
	build(&w, &s);
	assert_int_equal(s.devices[0].streams[0].depth_max, 5);
	assert_true(s.devices[0].streams[0].depth_mean == (50 + 70 + 90 + 110 + 130) / 200.0);
	finish(&w, &s);
}

static void names_states(void **state)
{
	(void)state;
	assert_string_equal(stream_state_name(STREAM_EMPTY), "empty");
	assert_string_equal(stream_state_name(STREAM_OTHER), "other");
	assert_string_equal(idle_cause_name(IDLE_HOST_LATE), "host_late");
	assert_string_equal(idle_cause_name(IDLE_UNKNOWN), "unknown");
}

/* ---- The oracle ---- */

#define SPAN 160
#define STREAMS 3

static uint64_t seed;

static uint32_t dice(uint32_t sides)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % sides;
}

static void put_random_work(struct world *w, uint32_t thread, uint32_t stream)
{
	static const uint8_t kinds[] = {
		EVENT_GPU_KERNEL, EVENT_H2D_COPY, EVENT_D2H_COPY, EVENT_D2D_COPY, EVENT_MEMSET, EVENT_COLLECTIVE,
	};
	int64_t begin = dice(SPAN - 20), launch = dice((uint32_t)begin + 10);
	uint8_t kind = kinds[dice(6)];
	const char *name = dice(3) ? "gemm" : "ncclKernel";

	if (dice(4))
		world_launched(w, stream, kind, name, begin, begin + dice(20), world_call(w, thread, "cudaLaunchKernel", launch, launch));
	else
		world_slice(w, stream, kind, name, begin, begin + dice(20));
}

static bool counts(const struct world *w, const struct timeline_states *s, uint32_t i, bool launched_only)
{
	return s->class_of[i] != WORK_NONE && !(launched_only && w->t.flags[i] & SLICE_UNLAUNCHED);
}

static void expect_window(const struct world *w, const struct timeline_states *s, const struct device_window *window,
			  bool launched_only)
{
	int64_t mix[MIX_COUNT] = { 0 }, class_total[WORK_CLASS_COUNT] = { 0 }, most = 0;

	for (int64_t at = window->from; at < window->to; at++) {
		int64_t now = 0;
		unsigned bits = 0;

		for (uint32_t i = 0; i < w->t.slice_count; i++) {
			if (!counts(w, s, i, launched_only) || w->t.begin[i] > at || w->t.end[i] <= at)
				continue;
			bits |= 1u << s->class_of[i];
			class_total[s->class_of[i]]++;
			now++;
		}
		mix[bits]++;
		most = now > most ? now : most;
	}
	assert_memory_equal(mix, window->mix, sizeof mix);
	assert_memory_equal(class_total, window->class_total, sizeof class_total);
	assert_int_equal(window->work_total, class_total[0] + class_total[1] + class_total[2]);
	assert_int_equal(window->concurrency_max, most);
}

static void expect_bounds(const struct world *w, const struct timeline_states *s, const struct device_window *window,
			  bool launched_only)
{
	int64_t from = INT64_MAX, to = 0;
	uint64_t count = 0;

	for (uint32_t i = 0; i < w->t.slice_count; i++) {
		if (!counts(w, s, i, launched_only))
			continue;
		from = w->t.begin[i] < from ? w->t.begin[i] : from;
		to = w->t.end[i] > to ? w->t.end[i] : to;
		count++;
	}
	assert_int_equal(window->from, count ? from : 0);
	assert_int_equal(window->to, count ? to : 0);
	assert_int_equal(window->count, count);
	expect_window(w, s, window, launched_only);
}

/* The state of a stream at a time, by its definition. */
static enum stream_state state_at(const struct world *w, const struct timeline_states *s, uint32_t track, int64_t at)
{
	static const enum stream_state states[EVENT_KIND_COUNT] = {
		[EVENT_GPU_KERNEL] = STREAM_KERNEL, [EVENT_COLLECTIVE] = STREAM_KERNEL, [EVENT_H2D_COPY] = STREAM_H2D,
		[EVENT_D2H_COPY] = STREAM_D2H, [EVENT_D2D_COPY] = STREAM_D2D, [EVENT_MEMSET] = STREAM_OTHER,
	};
	const struct timeline_track *t = &w->tracks[track];
	enum stream_state state = STREAM_EMPTY;

	for (uint32_t i = t->first; i < t->first + t->count; i++) {
		if (s->class_of[i] == WORK_NONE)
			continue;
		if (w->t.begin[i] <= at && w->t.end[i] > at)
			state = states[w->t.kind[i]]; /* the last one wins */
		else if (w->t.begin[i] > at && state == STREAM_EMPTY && !(w->t.flags[i] & SLICE_UNLAUNCHED) &&
			 w->t.begin[w->t.link[i]] <= at)
			state = STREAM_QUEUED;
	}
	return state;
}

static void expect_stream(const struct world *w, const struct timeline_states *s, const struct device_states *d,
			  const struct stream_states *stream)
{
	int64_t state[STREAM_STATE_COUNT] = { 0 };

	for (int64_t at = d->all.from; at < d->all.to; at++)
		state[state_at(w, s, stream->track, at)]++;
	assert_memory_equal(state, stream->state, sizeof state);
	assert_int_equal(sum_states(stream), d->all.to - d->all.from);
}

static void expect_depth(const struct world *w, const struct timeline_states *s, const struct device_states *d,
			 const struct stream_states *stream)
{
	const struct timeline_track *t = &w->tracks[stream->track];
	uint32_t most = 0;
	int64_t area = 0;

	for (int64_t at = d->all.from; at < d->all.to; at++) {
		uint32_t depth = 0;

		for (uint32_t i = t->first; i < t->first + t->count; i++)
			depth += s->class_of[i] != WORK_NONE && !(w->t.flags[i] & SLICE_UNLAUNCHED) &&
				 w->t.begin[w->t.link[i]] <= at && w->t.begin[i] > at;
		most = depth > most ? depth : most;
		area += depth;
	}
	assert_int_equal(stream->depth_max, most);
	if (d->all.to > d->all.from)
		assert_true(stream->depth_mean == (double)area / (double)(d->all.to - d->all.from));
}

static void expect_gaps(const struct device_states *d)
{
	int64_t idle[IDLE_CAUSE_COUNT] = { 0 }, last = d->trimmed.from;
	int64_t sum = 0;

	for (uint32_t i = 0; i < d->gap_count; i++) {
		assert_true(d->gaps[i].begin >= last);
		assert_true(d->gaps[i].end > d->gaps[i].begin);
		last = d->gaps[i].end;
		idle[d->gaps[i].cause] += d->gaps[i].end - d->gaps[i].begin;
		sum += d->gaps[i].end - d->gaps[i].begin;
	}
	assert_memory_equal(idle, d->idle, sizeof idle);
	assert_int_equal(sum, device_window_idle(&d->trimmed));
}

static void expect_walk(const struct world *w, const struct timeline_states *s)
{
	struct device_walk walk;
	struct device_moment m;
	int64_t at = dice(SPAN), to = at + dice(SPAN);

	device_walk_start(&walk, &w->t, s, &s->devices[0].order, at);
	while (device_walk_next(&walk, to, &m)) {
		uint32_t total = 0, last = TIMELINE_NONE;

		assert_int_equal(m.begin, at);
		assert_true(m.end > m.begin);
		for (uint32_t i = 0; i < w->t.slice_count; i++)
			if (s->class_of[i] != WORK_NONE && w->t.begin[i] <= at && w->t.end[i] > at) {
				total++;
				last = i;
			}
		assert_int_equal(m.total, total);
		assert_int_equal(m.alone, total == 1 ? last : TIMELINE_NONE);
		at = m.end;
	}
	assert_int_equal(at, to > at ? to : at);
}

static void agrees_with_the_oracle(void **state)
{
	(void)state;
	for (uint64_t round = 1; round <= 400; round++) {
		struct world w;
		struct timeline_states s;
		struct device_window window;
		uint32_t thread, streams[STREAMS], count;

		seed = round;
		world_open(&w);
		thread = world_thread(&w, 0);
		for (int i = 0; i < STREAMS; i++)
			streams[i] = world_stream(&w, 0);
		count = dice(24);
		for (uint32_t i = 0; i < count; i++)
			put_random_work(&w, thread, streams[dice(STREAMS)]);
		build(&w, &s);
		expect_bounds(&w, &s, &s.devices[0].all, false);
		expect_bounds(&w, &s, &s.devices[0].launched, true);
		for (int i = 0; i < STREAMS; i++) {
			expect_stream(&w, &s, &s.devices[0], &s.devices[0].streams[i]);
			expect_depth(&w, &s, &s.devices[0], &s.devices[0].streams[i]);
		}
		expect_gaps(&s.devices[0]);
		for (int i = 0; i < 8; i++) {
			int64_t from = dice(SPAN), to = from + dice(SPAN);

			assert_int_equal(device_window_between(&w.t, &s, 0, from, to, &window), 0);
			assert_int_equal(window.from, from);
			assert_int_equal(window.to, to);
			expect_window(&w, &s, &window, false);
			expect_walk(&w, &s);
		}
		finish(&w, &s);
	}
}

/* More than fits between two marks. */
static void starts_anywhere(void **state)
{
	struct world w;
	struct timeline_states s;
	struct device_window window;
	uint32_t streams[2];

	(void)state;
	seed = 7;
	world_open(&w);
	streams[0] = world_stream(&w, 0);
	streams[1] = world_stream(&w, 0);
	for (int i = 0; i < 1500; i++)
		world_slice(&w, streams[dice(2)], EVENT_GPU_KERNEL, dice(2) ? "gemm" : "nccl", 3 * i, 3 * i + dice(40));
	build(&w, &s);
	for (int i = 0; i < 40; i++) {
		int64_t from = dice(4500), to = from + dice(50);

		assert_int_equal(device_window_between(&w.t, &s, 0, from, to, &window), 0);
		expect_window(&w, &s, &window, false);
	}
	finish(&w, &s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measures_windows),
		cmocka_unit_test(takes_devices_without_work),
		cmocka_unit_test(sums_stay_within_their_type),
		cmocka_unit_test(finds_strays),
		cmocka_unit_test(tells_states_of_streams),
		cmocka_unit_test(counts_what_waits_in_a_stream),
		cmocka_unit_test(names_states),
		cmocka_unit_test(agrees_with_the_oracle),
		cmocka_unit_test(starts_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
