/* test-integrity.c - can the figures be believed: each check, the verdict, and the range that idle time becomes. */
#include "analysis-world.h"

#include "base/msgpack.h"

#define US 1000
#define MS 1000000

static struct world w;
static uint32_t thread, stream;

static void open_world(void)
{
	world_open(&w);
	thread = world_thread(&w, 0);
	stream = world_stream(&w, 0);
	world_slice(&w, thread, EVENT_OP, "aten::mm", 0, 1);
}

static enum check_status status_of(const struct analysis *a, const char *name)
{
	return check_named(a, name)->status;
}

static void assert_says(const struct analysis *a, const char *check, const char *text)
{
	if (!strstr(check_named(a, check)->detail, text))
		print_error("%s\n", check_named(a, check)->detail);
	assert_non_null(strstr(check_named(a, check)->detail, text));
}

/* Launches `count` kernels of 10 us, each 2 us after the one before. */
static int64_t put_kernels(unsigned count, int64_t at)
{
	for (unsigned i = 0; i < count; i++, at += 12 * US) {
		uint32_t call = world_call(&w, thread, "cudaLaunchKernel", at - 5 * US, at - 4 * US);

		world_launched(&w, stream, EVENT_GPU_KERNEL, "k", at, at + 10 * US, call);
	}
	return at;
}

static void all_is_well(void **state)
{
	struct analysis *a;

	(void)state;
	open_world();
	put_kernels(20, 100 * US);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(a->verdict, VERDICT_GOOD);
	assert_int_equal(status_of(a, "gpu_work_without_launch"), CHECK_OK);
	assert_int_equal(status_of(a, "launches_without_gpu_work"), CHECK_OK);
	assert_int_equal(status_of(a, "gpu_work_before_launch"), CHECK_OK);
	assert_int_equal(status_of(a, "graph_work_missing"), CHECK_SKIPPED);
	assert_int_equal(status_of(a, "same_stream_overlaps"), CHECK_OK);
	assert_int_equal(status_of(a, "zero_durations"), CHECK_OK);
	assert_int_equal(status_of(a, "huge_durations"), CHECK_OK);
	assert_int_equal(status_of(a, "stray_gpu_work"), CHECK_OK);
	assert_int_equal(status_of(a, "missing_host_events"), CHECK_OK);
	assert_int_equal(status_of(a, "missing_sync_events"), CHECK_NOTE);
	assert_int_equal(status_of(a, "complete"), CHECK_SKIPPED); /* it does not say that it was recorded */
	assert_int_equal(status_of(a, "repaired_input"), CHECK_SKIPPED);
	assert_int_equal(status_of(a, "damaged_trace"), CHECK_OK);
	assert_int_equal(status_of(a, "lost_records"), CHECK_OK);
	assert_int_equal(status_of(a, "rank_clocks"), CHECK_SKIPPED);
	assert_string_equal(check_status_name(CHECK_WARN), "warning");
	assert_string_equal(check_status_name(CHECK_SKIPPED), "not_applicable");
	assert_string_equal(verdict_name(VERDICT_POOR), "poor");
	analysis_free(a);
	world_close(&w);
}

/* `unlaunched` kernels of 10 us besides `launched` ones. */
static void unlaunched(unsigned launched, unsigned without, enum check_status expected, enum verdict verdict)
{
	const struct analysis_device *d;
	struct analysis *a;
	int64_t at;

	open_world();
	at = put_kernels(launched, 100 * US);
	for (unsigned i = 0; i < without; i++)
		world_slice(&w, stream, EVENT_GPU_KERNEL, "k", at + i * 12 * US, at + i * 12 * US + 10 * US);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(status_of(a, "gpu_work_without_launch"), expected);
	assert_int_equal(check_named(a, "gpu_work_without_launch")->count, without);
	assert_int_equal(a->verdict, verdict);
	d = &a->devices[0];
	if (verdict == VERDICT_POOR) { /* between the window of all work and that of launched work */
		assert_int_equal(d->idle_low, (launched - 1) * 2 * US);
		assert_int_equal(d->idle_high, (launched + without - 1) * 2 * US);
		assert_non_null(strstr(d->idle_range_why, "GPU work without a launch"));
	} else {
		assert_int_equal(d->idle_low, d->idle_high);
		assert_null(d->idle_range_why);
	}
	analysis_free(a);
	world_close(&w);
}

static void work_without_launch(void **state)
{
	(void)state;
	unlaunched(99, 1, CHECK_NOTE, VERDICT_GOOD);
	unlaunched(90, 10, CHECK_WARN, VERDICT_DEGRADED);
	unlaunched(60, 40, CHECK_FAIL, VERDICT_POOR);
}

/* A trace of the device alone: idle time is known, its causes are not. */
static void no_calls(void **state)
{
	struct analysis *a;

	(void)state;
	world_open(&w);
	stream = world_stream(&w, 0);
	for (int i = 0; i < 10; i++)
		world_slice(&w, stream, EVENT_GPU_KERNEL, "k", i * 12 * US, i * 12 * US + 10 * US);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(status_of(a, "gpu_work_without_launch"), CHECK_WARN);
	assert_int_equal(status_of(a, "launches_without_gpu_work"), CHECK_SKIPPED);
	assert_int_equal(status_of(a, "missing_host_events"), CHECK_WARN);
	assert_int_equal(a->verdict, VERDICT_DEGRADED);
	assert_int_equal(a->devices[0].idle_low, 18 * US);
	assert_int_equal(a->devices[0].idle_high, 18 * US);
	analysis_free(a);
	world_close(&w);
}

static void lacking(unsigned with, unsigned without, enum check_status expected)
{
	struct analysis *a;
	int64_t at;

	open_world();
	at = put_kernels(with, 100 * US);
	for (unsigned i = 0; i < without; i++)
		world_call(&w, thread, "cudaLaunchKernel", at + i * US, at + i * US + 500);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(status_of(a, "launches_without_gpu_work"), expected);
	assert_int_equal(check_named(a, "launches_without_gpu_work")->count, without);
	if (expected == CHECK_FAIL) { /* each of them may have filled 10 us of the gaps */
		assert_int_equal(a->verdict, VERDICT_POOR);
		assert_int_equal(a->devices[0].idle_high, (with - 1) * 2 * US);
		assert_int_equal(a->devices[0].idle_low, (with - 1) * 2 * US - without * 10 * US);
		assert_non_null(strstr(a->devices[0].idle_range_why, "launches without GPU work"));
	}
	analysis_free(a);
	world_close(&w);
}

static void launches_without_work(void **state)
{
	(void)state;
	lacking(200, 1, CHECK_NOTE);
	lacking(100, 5, CHECK_WARN);
	lacking(101, 15, CHECK_FAIL);
}

/* Launches into a graph that is being captured, and a call of the driver inside one of the runtime. */
static void launches_that_launch_nothing(void **state)
{
	struct analysis *a;
	uint32_t inner;
	int64_t at;

	(void)state;
	open_world();
	at = put_kernels(10, 100 * US);
	world_call(&w, thread, "cudaStreamBeginCapture", at, at + 10);
	for (int i = 0; i < 10; i++)
		world_call(&w, thread, "cudaLaunchKernel", at + 20 + i * 20, at + 30 + i * 20);
	world_call(&w, thread, "cudaStreamEndCapture", at + 900, at + 910);
	world_call(&w, thread, "cudaLaunchKernel", at + 1000, at + 1100);
	inner = world_call(&w, thread, "cuLaunchKernel", at + 1010, at + 1090);
	world_launched(&w, stream, EVENT_GPU_KERNEL, "k", at + 2000, at + 3000, inner);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(status_of(a, "launches_without_gpu_work"), CHECK_OK);
	assert_says(a, "launches_without_gpu_work", "0 of 11 launches of kernels");
	assert_says(a, "launches_without_gpu_work", "captured");
	analysis_free(a);
	world_close(&w);
}

static void device_side_missing(void **state)
{
	struct analysis *a;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	world_call(&w, thread, "cudaLaunchKernel", 0, 10);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(status_of(a, "launches_without_gpu_work"), CHECK_FAIL);
	assert_int_equal(a->verdict, VERDICT_POOR);
	analysis_free(a);
	world_close(&w);
}

/* Three replays of a graph with as many kernels as said, each a microsecond long and back to back. */
static struct analysis *replay(const unsigned *kernels, unsigned replays)
{
	uint32_t works[WORLD_MAX], count = 0;
	int64_t at = 100 * US;

	open_world();
	for (unsigned r = 0; r < replays; r++, at += 1 * MS) {
		uint32_t call = world_call(&w, thread, "cudaGraphLaunch", at - 20 * US, at - 10 * US);

		for (unsigned i = 0; i < kernels[r]; i++)
			works[count++] = world_launched(&w, stream, EVENT_GPU_KERNEL, "node", at + i * US, at + i * US + US, call);
	}
	world_finish(&w);
	for (uint32_t i = 0; i < count; i++)
		world_detail(&w, works[i])->graph = 7;
	return world_analyze(&w);
}

static void graphs(void **state)
{
	static const unsigned whole[] = { 100, 100, 100 }, half[] = { 100, 50, 100 }, one[] = { 100, 100, 99 };
	struct analysis *a = replay(whole, 3);

	(void)state;
	assert_int_equal(status_of(a, "graph_work_missing"), CHECK_OK);
	assert_int_equal(a->verdict, VERDICT_GOOD);
	analysis_free(a);
	world_close(&w);

	a = replay(half, 3);
	assert_int_equal(status_of(a, "graph_work_missing"), CHECK_FAIL);
	assert_int_equal(check_named(a, "graph_work_missing")->count, 50);
	assert_says(a, "graph_work_missing", "some left 50 and some 100");
	assert_int_equal(a->verdict, VERDICT_POOR);
	assert_int_equal(a->devices[0].idle_high, 2 * MS - 150 * US);
	assert_int_equal(a->devices[0].idle_low, 2 * MS - 200 * US);
	assert_non_null(strstr(a->devices[0].idle_range_why, "pieces: 50, about 50.0 us"));
	analysis_free(a);
	world_close(&w);

	a = replay(one, 3);
	assert_int_equal(status_of(a, "graph_work_missing"), CHECK_WARN);
	assert_int_equal(a->verdict, VERDICT_DEGRADED);
	analysis_free(a);
	world_close(&w);
}

/* Kernels of 10 us, of which each begins `by` before the one before it ends. */
static void overlapping(int64_t by, enum check_status expected)
{
	struct analysis *a;
	uint32_t call;

	open_world();
	call = world_call(&w, thread, "cudaLaunchKernel", 0, 1 * US);
	for (int i = 0; i < 10; i++)
		world_launched(&w, stream, EVENT_GPU_KERNEL, "dependent", 10 * US + i * (10 * US - by), 20 * US + i * (10 * US - by), call);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(status_of(a, "same_stream_overlaps"), expected);
	assert_int_equal(check_named(a, "same_stream_overlaps")->count, 9);
	assert_says(a, "same_stream_overlaps", "dependent");
	assert_int_equal(category_sum(a), a->summary.end_to_end);
	analysis_free(a);
	world_close(&w);
}

static void overlaps(void **state)
{
	(void)state;
	overlapping(100, CHECK_NOTE);
	overlapping(1 * US, CHECK_WARN);
	overlapping(9 * US, CHECK_FAIL);
}

static void durations(void **state)
{
	struct analysis *a;
	uint32_t call;
	int64_t at;

	(void)state;
	open_world();
	at = put_kernels(20, 100 * US);
	call = world_call(&w, thread, "cudaLaunchKernel", at, at + 1);
	world_launched(&w, stream, EVENT_GPU_KERNEL, "nothing", at + 10, at + 10, call);
	world_launched(&w, stream, EVENT_GPU_KERNEL, "endless", at + 20, at + 5000 * (int64_t)MS, call);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(status_of(a, "zero_durations"), CHECK_WARN);
	assert_int_equal(check_named(a, "zero_durations")->count, 1);
	assert_int_equal(status_of(a, "huge_durations"), CHECK_FAIL);
	assert_says(a, "huge_durations", "5.00 s, endless");
	assert_int_equal(a->verdict, VERDICT_POOR);
	analysis_free(a);
	world_close(&w);
}

static void before_launch(void **state)
{
	struct analysis *a;
	uint32_t call, early;
	int64_t at;

	(void)state;
	open_world();
	at = put_kernels(39, 100 * US);
	call = world_call(&w, thread, "cudaLaunchKernel", at + 3 * US, at + 4 * US);
	early = world_launched(&w, stream, EVENT_GPU_KERNEL, "early", at, at + 10 * US, call);
	world_finish(&w);
	w.t.flags[world_number(&w, early)] |= SLICE_CLOCK_DAMAGE;
	a = world_analyze(&w);
	assert_int_equal(status_of(a, "gpu_work_before_launch"), CHECK_WARN);
	assert_says(a, "gpu_work_before_launch", "1 of 40");
	assert_says(a, "gpu_work_before_launch", "by 3.0 us at most");
	analysis_free(a);
	world_close(&w);
}

static void strays(void **state)
{
	const struct analysis_device *d;
	struct analysis *a;
	uint32_t call;

	(void)state;
	open_world();
	call = world_call(&w, thread, "cudaLaunchKernel", 0, 1 * US);
	world_launched(&w, stream, EVENT_GPU_KERNEL, "lost_one", 10 * US, 14 * US, call);
	put_kernels(100, 500 * MS);
	world_finish(&w);
	a = world_analyze(&w);
	d = &a->devices[0];
	assert_int_equal(d->states->stray_count, 1);
	assert_string_equal(d->window_name, "trimmed");
	assert_int_equal(d->window->to - d->window->from, 1198 * US);
	assert_int_equal(device_window_idle(d->window), 198 * US);
	assert_int_equal(status_of(a, "stray_gpu_work"), CHECK_WARN);
	assert_says(a, "stray_gpu_work", "lost_one (4.0 us long, 500.0 ms before)");
	assert_says(a, "stray_gpu_work", "99.8 % idle with them and 16.5 % without");
	assert_int_equal(a->verdict, VERDICT_DEGRADED);
	assert_int_equal(a->summary.idle, 198 * US);
	assert_int_equal(category_sum(a), a->summary.end_to_end);
	assert_int_equal(category(a, "gpu_compute"), 1000 * US);
	analysis_free(a);
	world_close(&w);
}

/* Kernels of an unknown name beside others for half of the time. */
static void crowds(void **state)
{
	struct analysis *a;
	uint32_t call, other;

	(void)state;
	open_world();
	other = world_stream(&w, 0);
	call = world_call(&w, thread, "cudaLaunchKernel", 0, 1 * US);
	for (int i = 0; i < 10; i++) {
		world_launched(&w, stream, EVENT_GPU_KERNEL, "gemm", (i + 1) * 100 * US, (i + 2) * 100 * US, call);
		world_launched(&w, other, EVENT_GPU_KERNEL, "my_exchange", (i + 1) * 100 * US + 10, (i + 1) * 100 * US + 50 * US, call);
	}
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(status_of(a, "unrecognized_communication"), CHECK_NOTE);
	assert_says(a, "unrecognized_communication", "50.0 %");
	assert_int_equal(a->verdict, VERDICT_GOOD);
	analysis_free(a);
	world_close(&w);
}

static void lost(void **state)
{
	struct analysis *a;

	(void)state;
	open_world();
	put_kernels(21, 100 * US);
	world_finish(&w);
	w.t.events = 90;
	w.t.lost = 5;
	a = world_analyze(&w);
	assert_int_equal(status_of(a, "lost_records"), CHECK_WARN);
	assert_int_equal(a->verdict, VERDICT_DEGRADED);
	assert_int_equal(a->devices[0].idle_low, 40 * US);
	analysis_free(a);
	w.t.lost = 15; /* 21 of 90 events were kernels: 3.5 of these, too, of 10 us each */
	a = world_analyze(&w);
	assert_int_equal(status_of(a, "lost_records"), CHECK_FAIL);
	assert_int_equal(a->verdict, VERDICT_POOR);
	assert_non_null(strstr(a->devices[0].idle_range_why, "lost events"));
	assert_int_equal(a->devices[0].idle_low, 5 * US);
	assert_int_equal(a->devices[0].idle_high, 40 * US);
	analysis_free(a);
	world_close(&w);
}

/* What a recording says of its end; NULL for what it does not say. */
static void put_ending(struct buffer *buf, const char *flag, bool value, uint64_t unwritten, const char *trouble)
{
	msgpack_write_map(buf, 1 + (flag != NULL) + (unwritten != 0) + (trouble != NULL));
	msgpack_write_text(buf, "settings");
	msgpack_write_map(buf, 0);
	if (flag) {
		msgpack_write_text(buf, flag);
		msgpack_write_bool(buf, value);
	}
	if (unwritten) {
		msgpack_write_text(buf, "unwritten");
		msgpack_write_uint(buf, unwritten);
	}
	if (trouble) {
		msgpack_write_text(buf, "trouble");
		msgpack_write_text(buf, trouble);
	}
}

static void ended(const struct buffer *info, enum check_status expected, enum verdict verdict, const char *words)
{
	struct analysis *a;

	open_world();
	put_kernels(20, 100 * US);
	assert_int_equal(trace_writer_info(w.f.w, info->data, info->size, NULL), 0);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(status_of(a, "complete"), expected);
	assert_says(a, "complete", words);
	assert_int_equal(a->verdict, verdict);
	analysis_free(a);
	world_close(&w);
}

static void endings(void **state)
{
	static const struct {
		const char *flag;
		bool value;
		uint64_t unwritten;
		const char *trouble;
		enum check_status status;
		enum verdict verdict;
		const char *words;
	} cases[] = {
		{ "complete", true, 0, NULL, CHECK_OK, VERDICT_GOOD, "came to its end" },
		{ NULL, false, 0, NULL, CHECK_WARN, VERDICT_DEGRADED, "has no end" },
		{ "complete", false, 0, NULL, CHECK_WARN, VERDICT_DEGRADED, "has no end" },
		{ "recovered", true, 0, NULL, CHECK_WARN, VERDICT_DEGRADED, "no regular end: it was recovered" },
		{ "complete", true, 12345, "No space left", CHECK_FAIL, VERDICT_POOR, "12,345 events could not be written (No space left)" },
		{ "complete", true, 0, "Out of luck", CHECK_WARN, VERDICT_DEGRADED, "not whole: Out of luck" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct buffer own = BUFFER_INIT, joined = BUFFER_INIT;

		put_ending(&own, cases[i].flag, cases[i].value, cases[i].unwritten, cases[i].trouble);
		ended(&own, cases[i].status, cases[i].verdict, cases[i].words);
		msgpack_write_map(&joined, 2); /* a trace that was made of this one and of another whole one */
		msgpack_write_text(&joined, "complete");
		msgpack_write_bool(&joined, true);
		msgpack_write_text(&joined, "sources");
		msgpack_write_array(&joined, 2);
		for (int k = 0; k < 2; k++) {
			msgpack_write_map(&joined, 1);
			msgpack_write_text(&joined, "properties");
			if (k)
				put_ending(&joined, "complete", true, 0, NULL);
			else
				buffer_append(&joined, own.data, own.size);
		}
		ended(&joined, cases[i].status, cases[i].verdict, cases[i].words);
		buffer_release(&own);
		buffer_release(&joined);
	}
}

static void put_source(struct buffer *buf, uint64_t events, uint64_t skipped, bool truncated)
{
	msgpack_write_map(buf, 4);
	msgpack_write_text(buf, "properties");
	msgpack_write_map(buf, 1);
	msgpack_write_text(buf, "skipped");
	msgpack_write_uint(buf, 77);
	msgpack_write_text(buf, "events");
	msgpack_write_uint(buf, events);
	msgpack_write_text(buf, "skipped");
	msgpack_write_uint(buf, skipped);
	msgpack_write_text(buf, "truncated");
	msgpack_write_bool(buf, truncated);
}

static void imported(uint64_t skipped, bool truncated, enum check_status expected)
{
	struct buffer buf = BUFFER_INIT;
	struct analysis *a;

	open_world();
	msgpack_write_map(&buf, 1);
	msgpack_write_text(&buf, "sources");
	msgpack_write_array(&buf, 2);
	put_source(&buf, 500, 0, false);
	put_source(&buf, 500, skipped, truncated);
	assert_int_equal(trace_writer_info(w.f.w, buf.data, buf.size, NULL), 0);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(status_of(a, "repaired_input"), expected);
	assert_int_equal(check_named(a, "repaired_input")->count, skipped);
	analysis_free(a);
	world_close(&w);
	buffer_release(&buf);
}

static void sources(void **state)
{
	(void)state;
	imported(0, false, CHECK_OK);
	imported(3, false, CHECK_WARN);
	imported(0, true, CHECK_WARN);
	imported(50, false, CHECK_FAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_well),
		cmocka_unit_test(work_without_launch),
		cmocka_unit_test(no_calls),
		cmocka_unit_test(launches_without_work),
		cmocka_unit_test(launches_that_launch_nothing),
		cmocka_unit_test(device_side_missing),
		cmocka_unit_test(graphs),
		cmocka_unit_test(overlaps),
		cmocka_unit_test(durations),
		cmocka_unit_test(before_launch),
		cmocka_unit_test(strays),
		cmocka_unit_test(crowds),
		cmocka_unit_test(lost),
		cmocka_unit_test(endings),
		cmocka_unit_test(sources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
