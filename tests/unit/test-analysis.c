/* test-analysis.c - where time went: tables, kernels, copies, steps, breakdown. */
#include "analysis-world.h"

#include "analyze/parts.h"

#define US 1000

static struct world w;

/* ---- Numbers ---- */

static int compare_values(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void selecting(void **state)
{
	int64_t values[300], sorted[300];

	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		size_t count = 1 + round * 5;

		for (size_t k = 0; k < count; k++) {
			for (size_t i = 0; i < count; i++)
				sorted[i] = values[i] = (int64_t)((i * 7919 + round * 104729) % (round % 3 ? 17 : 1000));
			qsort(sorted, count, sizeof *sorted, compare_values);
			assert_int_equal(select_nth(values, count, k), sorted[k]);
		}
	}
}

static void percentiles_of_few(void **state)
{
	int64_t values[200];

	(void)state;
	for (int i = 0; i < 200; i++)
		values[i] = 200 - i;
	assert_int_equal(percentile(values, 200, 50), 100);
	assert_int_equal(percentile(values, 200, 99), 198);
	assert_int_equal(percentile(values, 200, 100), 200);
	values[0] = 5;
	assert_int_equal(percentile(values, 1, 50), 5);
	assert_int_equal(percentile(values, 1, 99), 5);
	values[0] = 3;
	values[1] = 1;
	assert_int_equal(percentile(values, 2, 50), 1);
	assert_int_equal(percentile(values, 2, 99), 3);
}

/* Many values go another way. */
static void many_percentiles(void **state)
{
	static int64_t values[20000], sorted[20000];
	uint64_t random = 88172645463325252u;
	int64_t p50, p99;

	(void)state;
	for (size_t count = 1; count <= 20000; count = count * 3 / 2 + 1) {
		for (unsigned shift = 1; shift < 64; shift += 9) {
			for (size_t i = 0; i < count; i++) {
				random ^= random << 13;
				random ^= random >> 7;
				random ^= random << 17;
				values[i] = (int64_t)(random >> 1 >> (random % shift));
			}
			if (shift == 10)
				memset(values, 0, count * sizeof *values);
			memcpy(sorted, values, count * sizeof *values);
			qsort(sorted, count, sizeof *sorted, compare_values);
			percentiles(values, count, &p50, &p99);
			assert_int_equal(p50, sorted[(count * 50 + 99) / 100 - 1]);
			assert_int_equal(p99, sorted[(count * 99 + 99) / 100 - 1]);
		}
	}
}

static void sorting(void **state)
{
	struct sort_item items[1000];

	(void)state;
	for (uint32_t count = 0; count <= 1000; count += 125) {
		uint64_t random = 88172645463325252u;

		for (uint32_t i = 0; i < count; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			items[i] = (struct sort_item){ count % 2 ? random : random % 50, i };
		}
		assert_int_equal(sort_items(items, count), 0);
		for (uint32_t i = 1; i < count; i++) {
			assert_true(items[i - 1].key <= items[i].key);
			if (items[i - 1].key == items[i].key)
				assert_true(items[i - 1].value < items[i].value);
		}
	}
}

static void times_for_people(void **state)
{
	char text[32];

	(void)state;
	assert_string_equal(format_time(text, 999), "999 ns");
	assert_string_equal(format_time(text, 4120), "4.1 us");
	assert_string_equal(format_time(text, 463300000), "463.3 ms");
	assert_string_equal(format_time(text, 2500000000), "2.50 s");
}

/* ---- Threads and tables ---- */

static void tables(void **state)
{
	const struct analysis_entry *e;
	struct analysis *a;
	uint32_t thread, other;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	other = world_thread(&w, 0);
	world_slice(&w, thread, EVENT_CPU_CALL, "fib", 0, 100);
	world_slice(&w, thread, EVENT_CPU_CALL, "fib", 10, 60);
	world_slice(&w, thread, EVENT_OP, "aten::mm", 20, 50);
	world_call(&w, thread, "cudaLaunchKernel", 30, 35);
	world_slice(&w, thread, EVENT_CPU_CALL, "fib", 200, 220);
	world_slice(&w, other, EVENT_SCOPE, "load", 0, 70);
	world_slice(&w, other, EVENT_SCOPE, "wait", 50, 90); /* crosses */
	world_finish(&w);
	a = world_analyze(&w);

	e = entry_named(a, &a->functions, "fib");
	assert_int_equal(e->count, 3);
	assert_int_equal(e->total, 120);
	assert_int_equal(e->self, 100 - 50 + (50 - 30) + 20);
	assert_int_equal(e->min, 20);
	assert_int_equal(e->p50, 50);
	assert_int_equal(e->p99, 100);
	assert_int_equal(e->max, 100);
	assert_float_equal(e->mean, 170.0 / 3, 1e-9);
	e = entry_named(a, &a->operators, "aten::mm");
	assert_int_equal(e->self, 25);
	assert_int_equal(entry_named(a, &a->calls, "cudaLaunchKernel")->total, 5);
	assert_int_equal(entry_named(a, &a->scopes, "load")->self, 50);
	assert_int_equal(entry_named(a, &a->scopes, "wait")->self, 40);
	assert_int_equal(a->scopes.entries[0].total, 70);

	assert_int_equal(a->thread_count, 2);
	assert_int_equal(a->threads[0].track, thread);
	assert_int_equal(a->threads[0].busy, 120);
	assert_int_equal(a->threads[0].in_calls, 90);
	assert_int_equal(a->threads[0].in_ops, 25);
	assert_int_equal(a->threads[0].in_runtime, 5);
	assert_int_equal(a->threads[0].launches, 1);
	assert_int_equal(a->threads[1].in_scopes, 90);
	assert_int_equal(a->summary.cpu, 210);
	analysis_free(a);
	world_close(&w);
}

/* Equal totals are in order of their names, whatever their numbers. */
static void order_of_entries(void **state)
{
	struct analysis *a;
	uint32_t thread;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	world_slice(&w, thread, EVENT_OP, "b", 0, 10);
	world_slice(&w, thread, EVENT_OP, "ab", 20, 30);
	world_slice(&w, thread, EVENT_OP, "a", 40, 50);
	world_slice(&w, thread, EVENT_OP, "c", 60, 71);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(a->operators.count, 4);
	assert_string_equal(timeline_string(&w.t, a->operators.entries[0].name, NULL), "c");
	assert_string_equal(timeline_string(&w.t, a->operators.entries[1].name, NULL), "a");
	assert_string_equal(timeline_string(&w.t, a->operators.entries[2].name, NULL), "ab");
	assert_string_equal(timeline_string(&w.t, a->operators.entries[3].name, NULL), "b");
	analysis_free(a);
	world_close(&w);
}

static void ranges(void **state)
{
	struct timeline_range list[2];
	struct analysis *a;
	uint32_t thread;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	world_slice(&w, thread, EVENT_SCOPE, "request", 0, 10);
	list[0] = (struct timeline_range){ .begin = 5, .end = 45, .track = thread, .name = world_name(&w, "request") };
	list[1] = (struct timeline_range){ .begin = 8, .end = 28, .track = thread, .name = world_name(&w, "other") };
	world_finish(&w);
	w.t.ranges = list;
	w.t.range_count = 2;
	a = world_analyze(&w);
	assert_int_equal(entry_named(a, &a->scopes, "request")->count, 2);
	assert_int_equal(entry_named(a, &a->scopes, "request")->total, 50);
	assert_int_equal(entry_named(a, &a->scopes, "request")->p99, 40);
	assert_int_equal(entry_named(a, &a->scopes, "other")->total, 20);
	analysis_free(a);
	world_close(&w);
}

/* ---- Devices ---- */

static void kernels_and_copies(void **state)
{
	uint32_t thread, compute, copy, call, h2d, pinned;
	const struct analysis_device *d;
	struct analysis *a;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	compute = world_stream(&w, 0);
	copy = world_stream(&w, 0);
	call = world_call(&w, thread, "cudaLaunchKernel", 0, 1 * US);
	world_launched(&w, compute, EVENT_GPU_KERNEL, "volta_sgemm_128x64_nn", 10 * US, 30 * US, call);
	world_launched(&w, compute, EVENT_GPU_KERNEL, "volta_sgemm_128x64_nn", 40 * US, 50 * US, call);
	world_launched(&w, compute, EVENT_GPU_KERNEL, "volta_h884gemm_64x64", 50 * US, 60 * US, call);
	h2d = world_launched(&w, copy, EVENT_H2D_COPY, "Memcpy HtoD (Pageable -> Device)", 25 * US, 45 * US, call);
	pinned = world_launched(&w, copy, EVENT_H2D_COPY, "Memcpy HtoD (Pinned -> Device)", 70 * US, 74 * US, call);
	world_launched(&w, copy, EVENT_D2H_COPY, "Memcpy DtoH", 74 * US, 75 * US, call);
	world_finish(&w);
	*world_detail(&w, h2d) = (struct timeline_detail){ .bytes = 4096, .memory_from = MEMORY_PAGEABLE, .memory_to = MEMORY_DEVICE,
							    .collective = TIMELINE_NONE };
	*world_detail(&w, pinned) = (struct timeline_detail){ .bytes = 100, .memory_from = MEMORY_PINNED, .memory_to = MEMORY_DEVICE,
							       .collective = TIMELINE_NONE };
	a = world_analyze(&w);
	assert_int_equal(a->device_count, 1);
	d = &a->devices[0];
	assert_string_equal(d->window_name, "all");
	assert_int_equal(d->window->to - d->window->from, 65 * US);
	assert_int_equal(device_window_idle(d->window), 10 * US);
	assert_int_equal(d->gap_bins[1], 10 * US);
	assert_int_equal(d->gap_counts[1], 1);
	assert_int_equal(d->idle_low, d->idle_high);
	assert_null(d->idle_range_why);

	assert_int_equal(kernel_named(a, 0, "volta_sgemm_128x64_nn")->times.count, 2);
	assert_int_equal(kernel_named(a, 0, "volta_sgemm_128x64_nn")->times.total, 30 * US);
	assert_int_equal(kernel_named(a, 0, "volta_sgemm_128x64_nn")->times.self, 20 * US);
	assert_int_equal(kernel_named(a, 0, "volta_sgemm_128x64_nn")->times.p50, 10 * US);
	assert_int_equal(kernel_named(a, 0, "volta_sgemm_128x64_nn")->class, WORK_COMPUTE);
	assert_float_equal(kernel_named(a, 0, "volta_sgemm_128x64_nn")->tensor_core, 0, 0);
	assert_float_equal(kernel_named(a, 0, "volta_h884gemm_64x64")->tensor_core, 1, 0);
	assert_true(isnan(kernel_named(a, 0, "Memcpy DtoH")->tensor_core));
	assert_int_equal(kernel_named(a, 0, "Memcpy DtoH")->class, WORK_COPY);
	assert_float_equal(d->tensor_core_share, 0.25, 1e-12);
	assert_float_equal(d->tensor_core_unknown, 0, 0);
	assert_true(isnan(d->occupancy));
	assert_float_equal(d->concurrency_mean, 65.0 / 55, 1e-9);
	assert_float_equal(d->copy_hidden, 10.0 / 25, 1e-12);
	assert_true(isnan(d->communication_hidden));

	assert_int_equal(d->copy_count, 3);
	assert_int_equal(d->copies[0].kind, EVENT_H2D_COPY);
	assert_int_equal(d->copies[0].memory_from, MEMORY_PAGEABLE);
	assert_int_equal(d->copies[0].bytes, 4096);
	assert_int_equal(d->copies[0].total, 20 * US);
	assert_int_equal(d->copies[0].exposed, 10 * US);
	assert_int_equal(d->copies[1].memory_from, MEMORY_PINNED);
	assert_int_equal(d->copies[2].kind, EVENT_D2H_COPY);
	assert_int_equal(a->summary.h2d, 24 * US);
	assert_int_equal(a->summary.d2h, 1 * US);
	assert_int_equal(a->summary.gpu, 55 * US);
	assert_int_equal(a->summary.idle, 10 * US);
	assert_int_equal(d->stream_count, 2);
	assert_float_equal(d->streams[0].busy_share, 40.0 / 65, 1e-9);
	analysis_free(a);
	world_close(&w);
}

static void tensor_cores(void **state)
{
	static const struct {
		const char *name;
		enum tensor_use use;
	} rows[] = {
		{ "ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn", TENSOR_USED },
		{ "ampere_sgemm_32x32_sliced1x4_tn", TENSOR_UNUSED },
		{ "volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc2nchw_tn_v1", TENSOR_USED },
		{ "volta_scudnn_128x64_relu_interior_nn_v1", TENSOR_UNUSED },
		{ "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn", TENSOR_USED },
		{ "void cutlass::Kernel<cutlass_80_tensorop_f16_s16816gemm_relu_f16_64x64_32x6_nn_align8>(Params)", TENSOR_USED },
		{ "void cutlass::Kernel<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>(Params)", TENSOR_UNUSED },
		{ "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x64x32_stage3_tensor16x8x8", TENSOR_USED },
		{ "sm86_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_stage3_g1_ffma_aligna4", TENSOR_UNUSED },
		{ "nvjet_hsh_128x64_64x8_2x1_v_bz_TNT", TENSOR_USED },
		{ "void cutlass::device_kernel<cutlass::gemm::kernel::MainloopSm90TmaGmmaWarpSpecialized>", TENSOR_USED },
		{ "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(Flash_fwd_params)", TENSOR_USED },
		{ "Cijk_Alik_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SN_1LDSB0", TENSOR_USED },
		{ "Cijk_Ailk_Bljk_SB_MT64x64x8_SN_APM1_AF0EM1", TENSOR_UNUSED },
		{ "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", TENSOR_NO_MATRICES },
		{ "void cublasLt::splitKreduce_kernel<32, 16, int, float>", TENSOR_NO_MATRICES },
		{ "triton_poi_fused_add_mul_0", TENSOR_NO_MATRICES },
		{ "triton_tem_fused_mm_3", TENSOR_UNKNOWN },
		{ "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_cga1x1x1", TENSOR_USED },
		{ "_finalize_matmul_scatter_bf16", TENSOR_UNKNOWN },
		{ "my_summary_kernel", TENSOR_UNKNOWN },
		{ "kernel_884", TENSOR_UNKNOWN },
		{ "", TENSOR_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		enum tensor_use use = kernel_tensor_use(rows[i].name, strlen(rows[i].name));

		if (use != rows[i].use)
			print_error("%s\n", rows[i].name);
		assert_int_equal(use, rows[i].use);
	}
}

static void occupancy(void **state)
{
	const struct timeline_device v100 = { .multiprocessors = 80, .max_threads_per_multiprocessor = 2048, .warp_size = 32,
					      .registers_per_multiprocessor = 65536, .shared_memory_per_multiprocessor = 98304,
					      .compute_major = 7 };
	struct timeline_detail k = { .grid = { 8, 1, 1 }, .block = { 640, 1, 1 }, .registers = 96, .shared_memory = 41760 };
	struct timeline_device unknown = { 0 };

	(void)state;
	/* 5,120 threads of 163,840 */
	assert_float_equal(kernel_occupancy(&v100, &k), 0.03125, 1e-9);
	assert_float_equal(kernel_blocks_per_multiprocessor(&v100, &k), 0.1, 1e-9);
	/* one block of 20 warps fits, by its registers: 96 * 32 * 20 = 61,440 of 65,536 */
	k.grid[0] = 8000;
	assert_float_equal(kernel_occupancy(&v100, &k), 640.0 / 2048, 1e-9);
	/* by shared memory: two of 41,760 */
	k.registers = 16;
	assert_float_equal(kernel_occupancy(&v100, &k), 1280.0 / 2048, 1e-9);
	/* by threads: three */
	k.shared_memory = 0;
	assert_float_equal(kernel_occupancy(&v100, &k), 1920.0 / 2048, 1e-9);
	/* by blocks: 32 of one warp */
	k.block[0] = 32;
	assert_float_equal(kernel_occupancy(&v100, &k), 0.5, 1e-9);
	assert_true(isnan(kernel_occupancy(&unknown, &k)));
	k.block[0] = k.block[1] = k.block[2] = UINT32_MAX;
	assert_true(isnan(kernel_occupancy(&v100, &k)));
	k.grid[0] = k.grid[1] = k.grid[2] = UINT32_MAX;
	assert_true(kernel_blocks_per_multiprocessor(&v100, &k) > 9e26);
}

/* ---- Breakdown ---- */

static void three_devices(void **state)
{
	uint32_t thread, call;
	struct analysis *a;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	call = world_call(&w, thread, "cudaLaunchKernel", 0, 5);
	for (uint32_t d = 0; d < 3; d++) {
		uint32_t stream = world_stream(&w, d);

		world_launched(&w, stream, EVENT_GPU_KERNEL, "k", 10, 20 + d, call);
		world_launched(&w, stream, EVENT_GPU_KERNEL, "ncclDevKernel_AllReduce", 30, 40 + d, call);
		world_launched(&w, stream, EVENT_D2H_COPY, "copy", 60, 70, call);
	}
	world_slice(&w, thread, EVENT_OP, "end", 99, 100);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(a->summary.end_to_end, 100);
	assert_int_equal(category_sum(a), 100);
	assert_int_equal(category(a, "gpu_compute"), 11);
	assert_int_equal(category(a, "communication"), 11);
	assert_int_equal(category(a, "copy"), 10);
	assert_int_equal(category(a, "no_gpu_work"), 40);
	analysis_free(a);
	world_close(&w);
}

/* The nanoseconds that do not divide go to where most was cut off. */
static void remainders(void **state)
{
	uint32_t thread, call;
	struct analysis *a;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	call = world_call(&w, thread, "cudaLaunchKernel", 0, 1);
	for (uint32_t d = 0; d < 3; d++) /* compute 10, 10, 12: 10 2/3; nothing 20 - that: 9 1/3 */
		world_launched(&w, world_stream(&w, d), EVENT_GPU_KERNEL, "k", 5, d == 2 ? 17 : 15, call);
	world_slice(&w, thread, EVENT_OP, "end", 19, 20);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(category_sum(a), 20);
	assert_int_equal(category(a, "gpu_compute"), 11);
	assert_int_equal(category(a, "no_gpu_work"), 9);
	analysis_free(a);
	world_close(&w);
}

static void no_device(void **state)
{
	struct analysis *a;
	uint32_t thread;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	world_slice(&w, thread, EVENT_CPU_CALL, "main", 10, 90);
	world_slice(&w, thread, EVENT_SCOPE, "step", 20, 80);
	world_slice(&w, thread, EVENT_OP, "aten::mm", 30, 70);
	world_slice(&w, world_thread(&w, 0), EVENT_CPU_CALL, "wait", 0, 124); /* busier, but only waits */
	world_slice(&w, thread, EVENT_CPU_CALL, "exit", 95, 125);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(a->device_count, 0);
	assert_int_equal(a->summary.end_to_end, 125);
	assert_int_equal(category_sum(a), 125);
	assert_int_equal(a->threads[1].track, thread);
	assert_int_equal(category(a, "python"), 50);
	assert_int_equal(category(a, "scopes"), 20);
	assert_int_equal(category(a, "operators"), 40);
	assert_int_equal(category(a, "unknown"), 15);
	assert_int_equal(a->verdict, VERDICT_GOOD);
	assert_int_equal(check_named(a, "gpu_work_without_launch")->status, CHECK_SKIPPED);
	assert_int_equal(a->summary.framework_overhead, 0);
	analysis_free(a);
	world_close(&w);
}

/* What a profiler shows of itself is no thread. */
static void profiler_row(void **state)
{
	struct analysis *a;
	uint32_t row;

	(void)state;
	world_open(&w);
	world_slice(&w, world_thread(&w, 0), EVENT_OP, "aten::mm", 10, 90);
	row = world_thread(&w, 1);
	w.tracks[row].os_id = 1ull << 33;
	w.tracks[row].name = world_name(&w, "PyTorch Profiler");
	world_slice(&w, row, EVENT_SCOPE, "PyTorch Profiler (0)", 0, 100);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(a->thread_count, 1);
	assert_int_equal(a->summary.cpu, 80);
	assert_int_equal(a->scopes.count, 0);
	assert_int_equal(category(a, "operators"), 80);
	assert_int_equal(category(a, "unknown"), 20);
	analysis_free(a);
	world_close(&w);
}

static void nothing_at_all(void **state)
{
	struct analysis *a;

	(void)state;
	world_open(&w);
	world_thread(&w, 0);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(category_sum(a), 0);
	assert_int_equal(a->steps.count, 0);
	assert_true(isnan(a->steps.input_share));
	analysis_free(a);
	analysis_free(NULL);
	world_close(&w);
}

/* Between two kernels: 20 us in the operator, 10 us in a call inside it, 10 us outside of anything. */
static void overhead(void **state)
{
	uint32_t thread, stream, first, second;
	struct analysis *a;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	stream = world_stream(&w, 0);
	first = world_call(&w, thread, "cudaLaunchKernel", 0, 1 * US);
	world_slice(&w, thread, EVENT_OP, "aten::mm", 30 * US, 65 * US);
	world_call(&w, thread, "cudaFuncGetAttributes", 40 * US, 50 * US);
	second = world_call(&w, thread, "cudaLaunchKernel", 60 * US, 61 * US);
	world_launched(&w, stream, EVENT_GPU_KERNEL, "k", 2 * US, 20 * US, first);
	world_launched(&w, stream, EVENT_GPU_KERNEL, "k", 62 * US, 80 * US, second);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(a->summary.idle, 42 * US);
	assert_int_equal(a->summary.framework_overhead, 10 * US + 10 * US + 1 * US);
	analysis_free(a);
	world_close(&w);
}

/* ---- Steps ---- */

static void steps_and_input(void **state)
{
	uint32_t thread, stream, call, marks[2], load;
	struct timeline_step steps[2];
	struct analysis *a;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	stream = world_stream(&w, 0);
	marks[0] = world_slice(&w, thread, EVENT_SCOPE, "ProfilerStep#1", 0, 100 * US);
	marks[1] = world_slice(&w, thread, EVENT_SCOPE, "ProfilerStep#2", 100 * US, 300 * US);
	load = world_slice(&w, thread, EVENT_OP, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 40 * US);
	world_slice(&w, thread, EVENT_OP, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 100 * US, 120 * US);
	world_slice(&w, thread, EVENT_CPU_CALL, "torch/utils/data/dataloader.py(630): __next__", 200 * US, 260 * US);
	call = world_call(&w, thread, "cudaLaunchKernel", 50 * US, 51 * US);
	world_launched(&w, stream, EVENT_GPU_KERNEL, "k", 60 * US, 130 * US, call);
	world_finish(&w);
	for (int i = 0; i < 2; i++)
		steps[i] = (struct timeline_step){ .begin = i * 100 * US, .end = (100 + i * 200) * US, .process = 0, .number = i,
						   .slice = world_number(&w, marks[i]) };
	w.t.steps = steps;
	w.t.step_count = 2;
	w.t.step_source = STEPS_PROFILER;
	(void)load;
	a = world_analyze(&w);
	assert_int_equal(a->steps.count, 2);
	assert_int_equal(a->steps.p50, 100 * US);
	assert_int_equal(a->steps.p99, 200 * US);
	assert_int_equal(a->steps.min, 100 * US);
	assert_int_equal(a->steps.max, 200 * US);
	assert_float_equal(a->steps.mean, 150 * US, 1e-6);
	assert_int_equal(a->steps.steps[0].input, 40 * US);
	assert_int_equal(a->steps.steps[1].input, 80 * US);
	assert_float_equal(a->steps.input_share, 0.4, 1e-12);
	assert_float_equal(a->steps.input_share_low, 0.2, 1e-12);
	assert_int_equal(a->steps.steps[0].device, 0);
	assert_int_equal(device_window_compute(&a->steps.steps[0].window), 40 * US);
	assert_int_equal(device_window_compute(&a->steps.steps[1].window), 30 * US);
	assert_int_equal(device_window_idle(&a->steps.steps[1].window), 170 * US);
	analysis_free(a);
	world_close(&w);
}

/* Without steps, the share is of the whole trace. */
static void input_without_steps(void **state)
{
	struct analysis *a;
	uint32_t thread;

	(void)state;
	world_open(&w);
	thread = world_thread(&w, 0);
	world_slice(&w, thread, EVENT_OP, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 25);
	world_slice(&w, thread, EVENT_OP, "aten::mm", 25, 100);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(a->steps.count, 0);
	assert_float_equal(a->steps.input_share, 0.25, 1e-12);
	analysis_free(a);
	world_close(&w);
}

/* ---- Whatever there is ---- */

static uint64_t random_state;

static uint32_t pick(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state % limit);
}

static void put_anything(unsigned count)
{
	static const uint8_t host_kinds[] = { EVENT_CPU_CALL, EVENT_SCOPE, EVENT_OP, EVENT_SYNC, EVENT_CPU_SYSCALL };
	static const char *const names[] = { "a", "ncclDevKernel_AllReduce", "gemm", "enumerate(DataLoader)#x", "b" };
	static const char *const calls[] = { "cudaLaunchKernel", "cudaStreamSynchronize", "cudaGraphLaunch", "cudaMemcpyAsync" };
	uint32_t threads[3], streams[4], call = TIMELINE_NONE;

	for (unsigned i = 0; i < 3; i++)
		threads[i] = world_thread(&w, i / 2);
	for (unsigned i = 0; i < 4; i++)
		streams[i] = world_stream(&w, i / 2);
	for (unsigned i = 0; i < count; i++) {
		int64_t begin = pick(5000), end = begin + pick(pick(4) ? 50 : 2000);
		uint32_t thread = threads[pick(3)], stream = streams[pick(4)];
		const char *name = names[pick(5)];

		switch (pick(4)) {
		case 0:
			world_slice(&w, thread, host_kinds[pick(5)], name, begin, end);
			break;
		case 1:
			call = world_call(&w, thread, calls[pick(4)], begin, end);
			break;
		case 2:
			world_slice(&w, stream, (uint8_t)(EVENT_GPU_KERNEL + pick(5)), name, begin, end);
			break;
		default:
			if (call != TIMELINE_NONE)
				world_launched(&w, stream, EVENT_GPU_KERNEL, name, begin, end, call);
		}
	}
}

static int64_t table_self(const struct analysis_table *table)
{
	int64_t sum = 0;

	for (size_t i = 0; i < table->count; i++) {
		const struct analysis_entry *e = &table->entries[i];

		assert_true(e->min <= e->p50 && e->p50 <= e->p99 && e->p99 <= e->max);
		assert_true(e->self >= 0 && e->self <= e->total);
		sum += e->self;
	}
	return sum;
}

/* What sums, sums, whatever slices there are. */
static void sums(void **state)
{
	(void)state;
	for (unsigned round = 1; round <= 60; round++) {
		int64_t busy = 0, other = 0;
		struct analysis *a;

		random_state = round * 2654435761u;
		world_open(&w);
		put_anything(round * 10);
		world_finish(&w);
		a = world_analyze(&w);
		assert_int_equal(category_sum(a), a->summary.end_to_end);
		for (size_t i = 0; i < a->thread_count; i++) {
			const struct analysis_thread *th = &a->threads[i];

			assert_int_equal(th->in_calls + th->in_ops + th->in_scopes + th->in_runtime + th->in_sync + th->in_other, th->busy);
			assert_true(th->busy <= a->summary.end_to_end);
			busy += th->busy;
		}
		for (uint32_t i = 0; i < w.t.slice_count; i++)
			other += w.t.kind[i] == EVENT_SYNC || w.t.kind[i] == EVENT_CPU_SYSCALL;
		assert_int_equal(a->summary.cpu, busy);
		if (other == 0)
			assert_int_equal(table_self(&a->functions) + table_self(&a->scopes) + table_self(&a->operators) +
						 table_self(&a->calls),
					 busy);
		else
			assert_true(table_self(&a->functions) + table_self(&a->scopes) + table_self(&a->operators) +
					    table_self(&a->calls) <=
				    busy);
		for (size_t d = 0; d < a->device_count; d++) {
			const struct analysis_device *dev = &a->devices[d];
			int64_t alone = 0, gaps = 0;

			for (size_t k = 0; k < dev->kernel_count; k++)
				alone += dev->kernels[k].times.self;
			for (unsigned k = 0; k < GAP_BINS; k++)
				gaps += dev->gap_bins[k];
			assert_true(alone <= device_window_busy(&dev->states->all));
			assert_int_equal(gaps, device_window_idle(dev->window));
			assert_true(dev->idle_low <= device_window_idle(dev->window) && device_window_idle(dev->window) <= dev->idle_high);
		}
		assert_true(a->summary.framework_overhead <= a->summary.idle);
		analysis_free(a);
		world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selecting),
		cmocka_unit_test(percentiles_of_few),
		cmocka_unit_test(many_percentiles),
		cmocka_unit_test(sorting),
		cmocka_unit_test(times_for_people),
		cmocka_unit_test(tables),
		cmocka_unit_test(order_of_entries),
		cmocka_unit_test(ranges),
		cmocka_unit_test(kernels_and_copies),
		cmocka_unit_test(tensor_cores),
		cmocka_unit_test(occupancy),
		cmocka_unit_test(three_devices),
		cmocka_unit_test(remainders),
		cmocka_unit_test(no_device),
		cmocka_unit_test(profiler_row),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(overhead),
		cmocka_unit_test(steps_and_input),
		cmocka_unit_test(input_without_steps),
		cmocka_unit_test(sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
