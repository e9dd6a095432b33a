/* test-steps.c - what a program does again and again, as it says itself or as its work tells. */
#include "timeline-fixture.h"

static uint32_t a_thread(struct world *w)
{
	return world_track(w, TRACK_THREAD, world_process(w, 1, -1), -1);
}

static void profiler_steps(void **state)
{
	static const char *const names[] = { "ProfilerStep#5", "ProfilerStep#6", "ProfilerStep#7" };
	struct timeline *t;
	struct world w;
	uint32_t thread[2], stream;

	(void)state;
	world_open(&w);
	for (int i = 0; i < 2; i++)
		thread[i] = a_thread(&w);
	stream = world_track(&w, TRACK_STREAM, 0, world_device(&w, 0));
	for (int i = 0; i < 3; i++) {
		world_slice(&w, thread[0], EVENT_SCOPE, names[i], 1000 * i, 1000);
		world_slice(&w, thread[0], EVENT_SCOPE, names[i], 1000 * i, 990); /* the same, by another layer */
		world_slice(&w, thread[1], EVENT_SCOPE, names[i], 1000 * i + 100, 1000);
		world_slice(&w, stream, EVENT_SCOPE, names[i], 1000 * i + 500, 900);
		world_slice(&w, thread[0], EVENT_SCOPE, "other", 1000 * i + 10, 500);
	}
	world_slice(&w, thread[0], EVENT_SCOPE, "ProfilerStep#", 5000, 10);
	world_slice(&w, thread[0], EVENT_SCOPE, "ProfilerStep#x", 5000, 10);
	t = world_build(&w);
	assert_int_equal(t->step_source, STEPS_PROFILER);
	assert_int_equal(t->step_count, 6);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(t->steps[i].process, i / 3);
		assert_int_equal(t->steps[i].number, 5 + i % 3);
		assert_int_equal(t->steps[i].begin, 1000 * (i % 3) + 100 * (i / 3));
		assert_int_equal(t->steps[i].end, t->steps[i].begin + 1000);
		assert_int_equal(timeline_track_of(t, t->steps[i].slice), thread[i / 3]);
	}
	world_close(&w);
}

/* A scope called a step wins over what it lies in; numbers at the end do not make other names. */
static void scopes_that_repeat(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t thread;
	char name[32];

	(void)state;
	world_open(&w);
	thread = a_thread(&w);
	world_slice(&w, thread, EVENT_CPU_CALL, "main", 0, 30000);
	for (int epoch = 0; epoch < 3; epoch++) {
		world_slice(&w, thread, EVENT_SCOPE, "epoch", 10000 * epoch, 10000);
		for (int i = 0; i < 4; i++) {
			snprintf(name, sizeof name, "step_%d", 4 * epoch + i + 7);
			world_slice(&w, thread, EVENT_SCOPE, name, 10000 * epoch + 2500 * i + 10, 2000);
			world_slice(&w, thread, EVENT_SCOPE, "forward", 10000 * epoch + 2500 * i + 20, 1900);
		}
	}
	t = world_build(&w);
	assert_int_equal(t->step_source, STEPS_SCOPE);
	assert_int_equal(t->step_count, 12);
	for (int i = 0; i < 12; i++) {
		assert_int_equal(t->steps[i].number, i + 7);
		assert_int_equal(t->steps[i].begin, 2500 * i + 10);
		assert_int_equal(t->steps[i].end, 2500 * i + 2010);
	}
	world_close(&w);
}

/* A step lasts from when a batch is asked for until the next one is; scopes of libraries inside operators are none. */
static void steps_by_the_loader(void **state)
{
	static const char loader[] = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
	struct timeline *t;
	struct world w;
	uint32_t thread;

	(void)state;
	world_open(&w);
	thread = a_thread(&w);
	world_slice(&w, thread, EVENT_CPU_CALL, "main", 0, 30000);
	for (int i = 0; i < 6; i++) {
		world_slice(&w, thread, EVENT_SCOPE, loader, 5000 * i, 4000);
		if (i == 5) /* there are no more */
			break;
		world_slice(&w, thread, EVENT_OP, "aten::conv2d", 5000 * i + 4100, 800);
		world_slice(&w, thread, EVENT_SCOPE, "convolution", 5000 * i + 4150, 700);
	}
	t = world_build(&w);
	assert_int_equal(t->step_source, STEPS_SCOPE);
	assert_int_equal(t->step_count, 5);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(t->steps[i].number, i);
		assert_int_equal(t->steps[i].begin, 5000 * i);
		assert_int_equal(t->steps[i].end, 5000 * i + 5000);
	}
	world_close(&w);
}

static void scopes_within_operators_are_no_steps(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t thread;

	(void)state;
	world_open(&w);
	thread = a_thread(&w);
	for (int i = 0; i < 6; i++) {
		world_slice(&w, thread, EVENT_OP, "aten::conv2d", 1000 * i, 900);
		world_slice(&w, thread, EVENT_SCOPE, "convolution", 1000 * i + 10, 800);
	}
	t = world_build(&w);
	assert_int_not_equal(t->step_source, STEPS_SCOPE);
	world_close(&w);
}

/* A model that takes longer to load than to use. */
static void steps_after_a_long_start(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t thread;

	(void)state;
	world_open(&w);
	thread = a_thread(&w);
	world_slice(&w, thread, EVENT_CPU_CALL, "load", 0, 100000);
	for (int i = 0; i < 4; i++) {
		world_slice(&w, thread, EVENT_SCOPE, "generate", 100000 + 1000 * i, 800);
		world_slice(&w, thread, EVENT_SCOPE, "unknown", 104000 + 1000 * i, 800);
	}
	t = world_build(&w);
	assert_int_equal(t->step_source, STEPS_SCOPE);
	assert_int_equal(t->step_count, 4);
	assert_string_equal(timeline_string(t, t->steps[3].name, NULL), "generate");
	world_close(&w);
}

/* Any name will do at the top, if it covers half of the thread. */
static void scopes_of_any_name(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t thread;

	(void)state;
	world_open(&w);
	thread = a_thread(&w);
	for (int i = 0; i < 5; i++) {
		world_slice(&w, thread, EVENT_SCOPE, "work", 1000 * i, 800);
		world_slice(&w, thread, EVENT_SCOPE, "generate", 1000 * i + 850, 100); /* too short */
	}
	t = world_build(&w);
	assert_int_equal(t->step_source, STEPS_SCOPE);
	assert_int_equal(t->step_count, 5);
	assert_string_equal(timeline_string(t, t->steps[0].name, NULL), "work");
	assert_int_equal(t->steps[3].number, 3);
	world_close(&w);
}

static void scopes_that_are_no_steps(void **state)
{
	struct timeline *t;
	struct world w;
	uint32_t thread[3];

	(void)state;
	world_open(&w);
	for (int i = 0; i < 3; i++)
		thread[i] = a_thread(&w);
	world_slice(&w, thread[0], EVENT_SCOPE, "step", 0, 4000); /* too few */
	world_slice(&w, thread[0], EVENT_SCOPE, "step", 5000, 4000);
	for (int i = 0; i < 5; i++) {
		world_slice(&w, thread[1], EVENT_SCOPE, "step", 2000 * i, 100); /* too little */
		world_slice(&w, thread[2], EVENT_SCOPE, "step", 2000 * i, 8000); /* inside each other */
	}
	t = world_build(&w);
	assert_int_equal(t->step_source, STEPS_NONE);
	assert_int_equal(t->step_count, 0);
	world_close(&w);
}

/* A scope held while a generator yields is in parts. */
static void scopes_in_parts(void **state)
{
	uint8_t list[16];
	size_t size = list_number(list, 0, FIELD_LINK, 0);
	struct timeline *t;
	struct world w;
	uint32_t thread, name;

	(void)state;
	world_open(&w);
	thread = a_thread(&w);
	name = world_name(&w, "batch");
	for (int i = 0; i < 3; i++) {
		struct event_slot slots[4] = { scope_slot(1000u * (unsigned)i, PHASE_BEGIN, name, 0, 1),
					       scope_slot(1000u * (unsigned)i + 300, PHASE_END, 0, 0, 1),
					       scope_slot(1000u * (unsigned)i + 300, PHASE_BEGIN, name, 0, 1),
					       scope_slot(1000u * (unsigned)i + 900, PHASE_END, 0, 0, 1) };

		for (int k = 0; k < 4; k++)
			assert_int_equal(trace_writer_event(w.f.w, thread, &slots[k], list, k == 1 || k == 2 ? size : 0, NULL), 0);
	}
	t = world_build(&w);
	assert_int_equal(t->slice_count, 6);
	assert_int_equal(t->flags[0], SLICE_CONTINUES);
	assert_int_equal(t->flags[1], 0);
	assert_int_equal(t->step_source, STEPS_SCOPE);
	assert_int_equal(t->step_count, 3);
	assert_int_equal(t->steps[1].begin, 1000);
	assert_int_equal(t->steps[1].end, 1900);
	world_close(&w);
}

/* names: a letter a kernel, but for c, which copies to the host; the device waits at each '|'. */
static struct timeline *work_of(struct world *w, const char *names, uint8_t kind)
{
	uint32_t track;
	int64_t now = 0;
	char name[2] = "";

	world_open(w);
	world_process(w, 1, -1);
	track = kind == EVENT_OP ? world_track(w, TRACK_THREAD, 0, -1) : world_track(w, TRACK_STREAM, 0, world_device(w, 0));
	for (; *names; names++) {
		if (*names == '|') {
			now += 1000;
			continue;
		}
		name[0] = *names;
		world_slice(w, track, kind == EVENT_GPU_KERNEL && *names == 'c' ? EVENT_D2H_COPY : kind, name, now, 100);
		now += 110;
	}
	return world_build(w);
}

static void repetition(void **state)
{
	struct timeline *t;
	struct world w;

	(void)state;
	t = work_of(&w, "xyzabbc|abbc|abbc|abbcq", EVENT_GPU_KERNEL);
	assert_int_equal(t->step_source, STEPS_REPETITION);
	assert_int_equal(t->step_count, 4);
	assert_int_equal(t->steps[0].process, 0);
	assert_int_equal(t->steps[0].begin, t->begin[3]);
	assert_int_equal(t->steps[0].end, t->begin[7]);
	assert_int_equal(t->steps[3].end, t->end[18]);
	assert_int_equal(t->steps[2].number, 2);
	assert_int_equal(t->steps[0].slice, TIMELINE_NONE);
	world_close(&w);
}

/* It repeats from its first work on, but the device waits elsewhere: a step starts there. */
static void repetition_starts_where_the_device_waits(void **state)
{
	struct timeline *t;
	struct world w;

	(void)state;
	t = work_of(&w, "ab|cdab|cdab|cdab|cdab|c", EVENT_GPU_KERNEL);
	assert_int_equal(t->step_source, STEPS_REPETITION);
	assert_int_equal(t->step_count, 4);
	assert_string_equal(timeline_string(t, t->steps[0].name, NULL), "c");
	assert_int_equal(t->steps[0].begin, t->begin[2]);
	world_close(&w);
}

static void repetition_of_operators(void **state)
{
	struct timeline *t;
	struct world w;

	(void)state;
	t = work_of(&w, "pqabcabcabcabcabc", EVENT_OP);
	assert_int_equal(t->step_source, STEPS_REPETITION);
	assert_int_equal(t->step_count, 5);
	world_close(&w);
}

static void no_repetition(void **state)
{
	static const char *const sequences[] = {
		"c", "cccccccccccc", "acac", "abcdefghijkl", "acacacacdefghijklmnop", "abcdabceabcfabcg",
		"xabdabdabdabdabdy", /* layers */
	};
	struct world w;

	(void)state;
	for (size_t i = 0; i < sizeof sequences / sizeof sequences[0]; i++) {
		assert_int_equal(work_of(&w, sequences[i], EVENT_GPU_KERNEL)->step_count, 0);
		world_close(&w);
	}
}

/* Kernels only: the host takes part by waiting, or does not. */
static uint32_t steps_with_call(const char *call)
{
	uint32_t thread, stream, count;
	struct world w;

	world_open(&w);
	thread = a_thread(&w);
	stream = world_track(&w, TRACK_STREAM, 0, world_device(&w, 0));
	for (int i = 0; i < 20; i++) {
		world_work(&w, thread, EVENT_RUNTIME_CALL, "cudaLaunchKernel", 1000 * i, 10, 10 + (uint64_t)i);
		world_work(&w, stream, EVENT_GPU_KERNEL, i % 2 ? "odd" : "even", 1000 * i + 100, 500, 10 + (uint64_t)i);
		if (i % 2)
			world_slice(&w, thread, EVENT_RUNTIME_CALL, call, 1000 * i + 200, 500);
	}
	count = world_build(&w)->step_count;
	world_close(&w);
	return count;
}

static void steps_are_where_the_host_waits(void **state)
{
	(void)state;
	assert_int_equal(steps_with_call("cudaStreamSynchronize"), 10);
	assert_int_equal(steps_with_call("cudaEventRecord"), 0);
}

/* The shortest length by trying them all, from every place. */
static size_t longest_by_trial(const char *text, size_t n, size_t length)
{
	size_t best = 0, run = 0;

	for (size_t i = 0; i + length < n; i++) {
		run = text[i] == text[i + length] ? run + 1 : 0;
		best = run > best ? run : best;
	}
	return best + length;
}

static void repetition_by_trial(void **state)
{
	unsigned seed = 3;

	(void)state;
	for (int round = 0; round < 300; round++) {
		size_t n = 0, length = 2 + (size_t)rand_r(&seed) % 9, times = 2 + (size_t)rand_r(&seed) % 5, expected = 0;
		char text[200] = "", unit[16] = "";
		struct timeline *t;
		struct world w;

		for (size_t i = 0; i < length; i++)
			unit[i] = (char)('a' + rand_r(&seed) % 3);
		for (size_t i = (size_t)rand_r(&seed) % 12; i > 0; i--)
			text[n++] = (char)('a' + rand_r(&seed) % 3);
		for (size_t i = 0; i < times * length; i++)
			text[n++] = unit[i % length];
		for (size_t i = (size_t)rand_r(&seed) % 12; i > 0; i--)
			text[n++] = (char)('a' + rand_r(&seed) % 3);
		for (size_t p = 1; p <= n / 3 && !expected; p++)
			if (longest_by_trial(text, n, p) >= 3 * p && 2 * longest_by_trial(text, n, p) > n)
				expected = p;
		t = work_of(&w, text, EVENT_H2D_COPY);
		if (expected < 2)
			assert_int_equal(t->step_count, 0);
		else
			assert_true(t->step_count >= longest_by_trial(text, n, expected) / expected - 1);
		for (uint32_t i = 1; i < t->step_count; i++)
			assert_int_equal(t->steps[i].begin - t->steps[i - 1].begin, 110 * (int64_t)expected);
		world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(profiler_steps),
		cmocka_unit_test(scopes_that_repeat),
		cmocka_unit_test(steps_by_the_loader),
		cmocka_unit_test(scopes_within_operators_are_no_steps),
		cmocka_unit_test(scopes_of_any_name),
		cmocka_unit_test(steps_after_a_long_start),
		cmocka_unit_test(scopes_that_are_no_steps),
		cmocka_unit_test(scopes_in_parts),
		cmocka_unit_test(repetition),
		cmocka_unit_test(repetition_starts_where_the_device_waits),
		cmocka_unit_test(repetition_of_operators),
		cmocka_unit_test(no_repetition),
		cmocka_unit_test(steps_are_where_the_host_waits),
		cmocka_unit_test(repetition_by_trial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
