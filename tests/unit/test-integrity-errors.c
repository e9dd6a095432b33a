/* test-integrity-errors.c - what stood in the way of the recording: clocks that nothing relates, GPUs that were not seen, losses. */
#include "analysis-world.h"

#include "base/msgpack.h"

#define US 1000
#define MS 1000000

static struct world w;
static struct timeline_clock clocks[4];

static void open_world(void)
{
	world_open(&w);
	world_slice(&w, world_thread(&w, 0), EVENT_OP, "aten::mm", 0, 1);
}

static void add_clock(const char *method, double error_ns)
{
	uint32_t number = w.t.clock_count++;

	clocks[number] = (struct timeline_clock){ .domain = number, .slope = 1, .error_ns = error_ns, .method = method };
	clocks[number].name = world_name(&w, "ticks");
	w.t.clocks = clocks;
}

/* The rest of a test with clocks; the analysis is the caller's. */
static struct analysis *analyze_with(const int64_t *margin)
{
	const struct analysis_options options = { .clock_margin = margin };
	struct analysis *a = NULL;

	world_finish(&w);
	assert_int_equal(analysis_run(&a, &w.t, &options, NULL), 0);
	return a;
}

static void close_world(struct analysis *a)
{
	analysis_free(a);
	w.t.clocks = NULL;
	world_close(&w);
}

static void assert_clocks(struct analysis *a, enum check_status status, uint64_t count, const char *words, double assumed_ns)
{
	const struct analysis_check *check = check_named(a, "clock_sync");
	double assumed = analysis_clock_error(a, &clocks[w.t.clock_count - 1]);

	assert_int_equal(check->status, status);
	assert_int_equal(check->count, count);
	if (!strstr(check->detail, words))
		print_error("%s\n", check->detail);
	assert_non_null(strstr(check->detail, words));
	if (isnan(assumed_ns))
		assert_true(isnan(assumed));
	else
		assert_true(assumed == assumed_ns);
	assert_int_equal(a->verdict, status == CHECK_WARN ? VERDICT_DEGRADED : VERDICT_GOOD);
	close_world(a);
}

static void one_clock(const char *method, double error_ns, const int64_t *margin, enum check_status status, const char *words,
		      double assumed_ns)
{
	open_world();
	add_clock(method, error_ns);
	assert_clocks(analyze_with(margin), status, status == CHECK_WARN, words, assumed_ns);
}

static void single_clocks(void **state)
{
	const int64_t none = 0, wide = 10 * MS;

	(void)state;
	one_clock("pairs", 500, NULL, CHECK_OK, "all clocks are known within 500 ns (warning above the margin of 1.0 ms)", 500);
	one_clock("pairs", MS, NULL, CHECK_OK, "within 1.0 ms", MS);
	one_clock("pairs", 2 * MS, NULL, CHECK_WARN, "within 2.0 ms: its readings do not agree better", 2 * MS);
	one_clock("pairs", 2 * MS, &wide, CHECK_OK, "within 2.0 ms (warning above the margin of 10.0 ms)", 2 * MS);
	one_clock("pairs", 1, &none, CHECK_WARN, "its readings do not agree better", 1);
	one_clock("pairs", 0, &none, CHECK_OK, "all clocks are known", 0);
	one_clock("pairs", NAN, NULL, CHECK_WARN, "within 1.0 ms", MS);
	one_clock("pairs", INFINITY, NULL, CHECK_WARN, "right within", INFINITY);
	one_clock("nominal", -1, NULL, CHECK_WARN, "clock 0 (ticks, method nominal) are taken to be right within 1.0 ms: no two readings", MS);
	one_clock("nominal", 40, NULL, CHECK_WARN, "within 1.0 ms: no two readings", MS);
	one_clock("nominal", 3 * MS, NULL, CHECK_WARN, "within 3.0 ms: no two readings", 3 * MS);
	one_clock("nominal", -1, &wide, CHECK_WARN, "within 10.0 ms", 10 * MS);
	one_clock("as_given", 0, NULL, CHECK_OK, "all clocks are known", 0);
	one_clock("as_given", -1, NULL, CHECK_OK, "the times are those of the tool that recorded them", NAN);
}

static void several_clocks(void **state)
{
	(void)state;
	open_world();
	add_clock("pairs", 500);
	add_clock("start_aligned", -1);
	assert_clocks(analyze_with(NULL), CHECK_WARN, 1, "clock 1 (ticks, method start_aligned) are taken to be right within 1.0 ms: nothing relates", MS);
	open_world();
	add_clock("nominal", -1);
	add_clock("pairs", 7 * MS);
	add_clock("nominal", -1);
	assert_clocks(analyze_with(NULL), CHECK_WARN, 3, "clock 1 (ticks, method pairs) are taken to be right within 7.0 ms", MS);
	open_world();
	add_clock("as_given", -1);
	add_clock("as_given", -1);
	assert_clocks(analyze_with(NULL), CHECK_NOTE, 2, "how well the clocks of 2 files agree is not known: 1.0 ms", MS);
}

static void no_clock(void **state)
{
	struct analysis *a;

	(void)state;
	open_world();
	a = analyze_with(NULL);
	assert_int_equal(check_named(a, "clock_sync")->status, CHECK_SKIPPED);
	close_world(a);
}

/* ---- GPUs ---- */

static void assert_gpu(struct buffer *info, enum check_status status, uint64_t count, const char *words)
{
	const struct analysis_check *check;
	struct analysis *a;

	open_world();
	if (info->size)
		assert_int_equal(trace_writer_info(w.f.w, info->data, info->size, NULL), 0);
	buffer_release(info);
	a = analyze_with(NULL);
	check = check_named(a, "gpu_recording");
	assert_int_equal(check->status, status);
	assert_int_equal(check->count, count);
	if (!strstr(check->detail, words))
		print_error("%s\n", check->detail);
	assert_non_null(strstr(check->detail, words));
	assert_int_equal(a->verdict, status == CHECK_WARN ? VERDICT_DEGRADED : VERDICT_GOOD);
	close_world(a);
}

static struct buffer gpu_map(uint32_t count)
{
	struct buffer map = BUFFER_INIT;

	msgpack_write_map(&map, 1);
	msgpack_write_text(&map, "gpu");
	msgpack_write_map(&map, count);
	return map;
}

static void put_flag(struct buffer *map, const char *key, bool value)
{
	msgpack_write_text(map, key);
	msgpack_write_bool(map, value);
}

static void put_text(struct buffer *map, const char *key, const char *value)
{
	msgpack_write_text(map, key);
	msgpack_write_text(map, value);
}

static void put_libraries(struct buffer *map, uint32_t count)
{
	msgpack_write_text(map, "libraries");
	msgpack_write_array(map, count);
	for (uint32_t i = 0; i < count; i++)
		msgpack_write_text(map, "libcudart.so.12");
}

static void gpus(void **state)
{
	struct buffer map = BUFFER_INIT;

	(void)state;
	assert_gpu(&map, CHECK_SKIPPED, 0, "the trace does not say");
	map = gpu_map(2);
	put_flag(&map, "driver", false);
	put_libraries(&map, 0);
	assert_gpu(&map, CHECK_NOTE, 0, "no NVIDIA driver: this is a CPU-only analysis");
	map = gpu_map(2);
	put_flag(&map, "driver", true);
	put_libraries(&map, 0);
	assert_gpu(&map, CHECK_SKIPPED, 0, "the program used no GPU library");
	map = gpu_map(5);
	put_flag(&map, "driver", true);
	put_text(&map, "later", "keys are passed over");
	put_flag(&map, "nsys", true);
	put_libraries(&map, 2);
	put_text(&map, "reason", "CUPTI cannot be loaded: it is broken");
	assert_gpu(&map, CHECK_WARN, 2,
		   "the program uses CUDA (libcudart.so.12), and what its GPUs did was not recorded: CUPTI cannot be loaded: it is broken; this "
		   "is an analysis of the CPU alone; or: inferscope run --gpu nsys ...");
	map = gpu_map(2);
	put_flag(&map, "driver", false);
	put_libraries(&map, 1);
	assert_gpu(&map, CHECK_NOTE, 1, "the trace does not say why");
	map = gpu_map(4); /* nobody wanted it */
	put_flag(&map, "driver", true);
	put_text(&map, "mode", "off");
	put_flag(&map, "missing", false);
	put_libraries(&map, 1);
	assert_gpu(&map, CHECK_NOTE, 1, "what its GPUs did was not to be recorded");
	map = gpu_map(3); /* loaded, and never used */
	put_flag(&map, "missing", false);
	put_libraries(&map, 1);
	put_text(&map, "reason", "none was seen");
	assert_gpu(&map, CHECK_NOTE, 1, "no device work is in the trace: none was seen");
	map = gpu_map(4); /* the door says so itself: whatever the files tell about a driver */
	put_flag(&map, "driver", false);
	put_flag(&map, "missing", true);
	put_flag(&map, "stood_down", true);
	put_text(&map, "reason", "another profiler has CUPTI");
	assert_gpu(&map, CHECK_WARN, 0, "was not recorded: another profiler has CUPTI; this is an analysis of the CPU alone");
}

/* The file may say anything. */
static void hostile_gpus(void **state)
{
	struct buffer map = gpu_map(3);
	char text[4000];

	(void)state;
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	put_flag(&map, "reason", true);
	put_text(&map, "driver", "yes");
	put_text(&map, "libraries", "libcudart.so.12");
	assert_gpu(&map, CHECK_NOTE, 0, "no NVIDIA driver");
	map = gpu_map(2);
	put_libraries(&map, 1);
	put_text(&map, "reason", text);
	assert_gpu(&map, CHECK_NOTE, 1, "xxxx");
	map = gpu_map(1);
	msgpack_write_text(&map, "libraries");
	msgpack_write_array(&map, 1);
	msgpack_write_int(&map, 7);
	assert_gpu(&map, CHECK_NOTE, 1, "uses CUDA ()");
	map = gpu_map(1);
	msgpack_write_int(&map, 7);
	msgpack_write_int(&map, 7);
	assert_gpu(&map, CHECK_NOTE, 0, "no NVIDIA driver");
}

static void seen_gpus(void **state)
{
	struct buffer map = gpu_map(1);
	struct analysis *a;
	uint32_t call;

	(void)state;
	put_libraries(&map, 1);
	open_world();
	call = world_call(&w, 0, "cudaLaunchKernel", 10 * US, 11 * US);
	world_launched(&w, world_stream(&w, 0), EVENT_GPU_KERNEL, "k", 12 * US, 20 * US, call);
	assert_int_equal(trace_writer_info(w.f.w, map.data, map.size, NULL), 0);
	a = analyze_with(NULL);
	assert_int_equal(check_named(a, "gpu_recording")->status, CHECK_OK);
	close_world(a);
	buffer_release(&map);
}

/* ---- Losses ---- */

static void losses(uint64_t overwritten, uint64_t dropped, enum check_status status, const char *words)
{
	const struct analysis_check *check;
	struct analysis *a;

	open_world();
	w.t.events = 1000;
	w.t.lost = overwritten + dropped;
	w.t.lost_by_reason[LOST_OVERWRITTEN] = overwritten;
	w.t.lost_by_reason[LOST_DROPPED] = dropped;
	a = analyze_with(NULL);
	check = check_named(a, "lost_records");
	assert_int_equal(check->status, status);
	assert_int_equal(check->count, overwritten + dropped);
	assert_non_null(strstr(check->detail, words));
	close_world(a);
}

static void all_losses(void **state)
{
	(void)state;
	losses(0, 0, CHECK_OK, "0 of 1000 events were lost while recording, 0.0 % (failed above 10 %)");
	losses(10, 0, CHECK_WARN, "10 of 1010 events were lost while recording, 1.0 % (failed above 10 %); 10 were overwritten");
	losses(500, 0, CHECK_FAIL, "500 of 1500 events were lost while recording, 33.3 %");
	losses(0, 5000, CHECK_NOTE, "0 of 1000 events were lost while recording, 0.0 % (failed above 10 %); 5000 were dropped as asked");
	losses(10, 5000, CHECK_WARN, "10 were overwritten");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_clocks), cmocka_unit_test(several_clocks), cmocka_unit_test(no_clock),	 cmocka_unit_test(gpus),
		cmocka_unit_test(hostile_gpus),	 cmocka_unit_test(seen_gpus),	   cmocka_unit_test(all_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
