/* test-collectives.c - who comes last, and what the others wait. */
#include "analysis-world.h"

#define US 1000

static struct world w;
static uint32_t streams[8];

static void open_ranks(unsigned count, bool known)
{
	world_open(&w);
	for (uint32_t i = 0; i < count; i++) {
		streams[i] = world_stream(&w, i);
		w.devices[i].rank = known ? 10 + (int64_t)i : -1;
	}
}

static uint32_t put(unsigned rank, const char *name, int64_t begin, int64_t end)
{
	return world_slice(&w, streams[rank], EVENT_GPU_KERNEL, name, begin * US, end * US);
}

static void last_one(void **state)
{
	const struct analysis_collectives *c;
	struct analysis *a;

	(void)state;
	open_ranks(3, true);
	for (int i = 0; i < 4; i++) { /* the third rank is late, and once the first */
		put(0, "ncclKernel_SendRecv_RING", 100 * i + (i == 3 ? 40 : 0), 100 * i + 52);
		put(1, "ncclKernel_SendRecv_RING", 100 * i + 10, 100 * i + 50);
		put(2, "ncclKernel_SendRecv_RING", 100 * i + 30, 100 * i + 51);
		put(1, "gemm", 100 * i + 60, 100 * i + 61);
	}
	put(0, "ncclKernel_AllReduce_RING", 500, 520);
	put(1, "ncclKernel_AllReduce_RING", 505, 520);
	put(2, "ncclKernel_AllReduce_RING", 510, 520);
	world_finish(&w);
	a = world_analyze(&w);
	c = &a->collectives;
	assert_int_equal(c->count, 5);
	assert_int_equal(c->unmatched, 0);
	assert_int_equal(c->rows[0].ranks, 3);
	assert_int_equal(c->rows[0].last_rank, 12);
	assert_int_equal(c->rows[0].start_skew, 30 * US);
	assert_int_equal(c->rows[0].end_skew, 2 * US);
	assert_int_equal(c->rows[0].transfer, 21 * US);
	assert_int_equal(c->rows[0].wait_total, 50 * US);
	assert_true(isnan(c->rows[0].bus_bandwidth));
	assert_null(c->rows[0].operation);
	assert_int_equal(c->rows[3].index, 3);
	assert_int_equal(c->rows[3].last_rank, 10);
	assert_int_equal(c->rows[4].index, 0);
	assert_int_equal(c->rows[4].last_rank, 12);
	assert_int_equal(c->rank_count, 3);
	assert_int_equal(c->ranks[0].rank, 10);
	assert_int_equal(c->ranks[0].arrived_last, 1);
	assert_int_equal(c->ranks[2].arrived_last, 4);
	assert_int_equal(c->ranks[0].wait, 3 * 30 * US + 10 * US);
	assert_int_equal(c->ranks[2].wait, 10 * US);
	assert_int_equal(c->ranks[2].caused, 3 * 50 * US + 15 * US);
	assert_int_equal(c->straggler, 12);
	assert_float_equal(c->clock_error_ns, 2 * US, 1e-9);
	assert_int_equal(check_named(a, "rank_clocks")->status, CHECK_OK);
	analysis_free(a);
	world_close(&w);
}

/* One that is last as often as chance would have it is no straggler. */
static void nobody_stands_out(void **state)
{
	struct analysis *a;

	(void)state;
	open_ranks(2, false);
	for (int i = 0; i < 10; i++) {
		put(0, "ncclKernel_AllReduce", 100 * i + (i < 6 ? 5 : 0), 100 * i + 50);
		put(1, "ncclKernel_AllReduce", 100 * i + (i < 6 ? 0 : 5), 100 * i + 50);
	}
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(a->collectives.count, 10);
	assert_int_equal(a->collectives.ranks[0].rank, 0);
	assert_int_equal(a->collectives.ranks[1].rank, 1);
	assert_int_equal(a->collectives.ranks[0].arrived_last, 6);
	assert_int_equal(a->collectives.straggler, -1);
	analysis_free(a);
	world_close(&w);
}

/* The first rank's recording began a collective earlier, the second's lacks one in the middle. */
static void uneven(void **state)
{
	const struct analysis_collectives *c;
	struct analysis *a;

	(void)state;
	open_ranks(3, true);
	for (int i = 0; i < 5; i++) {
		put(0, "ncclDevKernel_AllGather", 100 * i, 100 * i + 50);
		if (i > 0 && i != 3)
			put(1, "ncclDevKernel_AllGather", 100 * i + 5, 100 * i + 50);
		if (i > 0)
			put(2, "ncclDevKernel_AllGather", 100 * i + 9, 100 * i + 50);
	}
	world_finish(&w);
	a = world_analyze(&w);
	c = &a->collectives;
	assert_int_equal(c->count, 4);
	assert_int_equal(c->unmatched, 1);
	assert_int_equal(c->rows[0].begin, 100 * US);
	assert_int_equal(c->rows[0].ranks, 3);
	assert_int_equal(c->rows[2].ranks, 2);
	assert_int_equal(c->rows[2].start_skew, 9 * US);
	assert_int_equal(c->ranks[2].arrived_last, 4);
	analysis_free(a);
	world_close(&w);
}

/* Two process groups use kernels of one name. */
static void groups_and_bandwidth(void **state)
{
	static const char data[] = "data_parallel", tensor[] = "tensor_parallel", reduce[] = "allreduce", gather[] = "_allgather_base";
	struct timeline_collective list[8];
	const struct analysis_collectives *c;
	struct analysis *a;
	uint32_t slices[8];

	(void)state;
	open_ranks(4, true);
	for (unsigned i = 0; i < 4; i++) {
		slices[2 * i] = put(i, "ncclDevKernel_X", i < 2 ? 0 : 10, i < 2 ? 100 : 110);
		slices[2 * i + 1] = put(i, "ncclDevKernel_X", 200 + i, 250);
	}
	world_finish(&w);
	for (unsigned i = 0; i < 8; i++) {
		list[i] = (struct timeline_collective){ .slice = world_number(&w, slices[i]), .bytes = 1000000 };
		list[i].group = i % 2 ? data : i < 4 ? tensor : "other";
		list[i].name = i % 2 ? reduce : gather;
		list[i].group_size = i % 2 ? 4 : 2;
		world_detail(&w, slices[i])->collective = i;
	}
	w.t.collectives = list;
	w.t.collective_count = 8;
	a = world_analyze(&w);
	c = &a->collectives;
	assert_int_equal(c->count, 3);
	assert_string_equal(c->rows[0].group, "tensor_parallel");
	assert_string_equal(c->rows[0].operation, "_allgather_base");
	assert_int_equal(c->rows[0].ranks, 2);
	assert_int_equal(c->rows[0].start_skew, 0);
	assert_float_equal(c->rows[0].bus_bandwidth, 1e6 / 100e-6 / 2, 1);
	assert_int_equal(c->rows[2].ranks, 4);
	assert_int_equal(c->rows[2].start_skew, 3 * US);
	assert_int_equal(c->rows[2].bytes, 1000000);
	assert_float_equal(c->rows[2].bus_bandwidth, 1e6 / 47e-6 * 1.5, 1e5);
	analysis_free(a);
	world_close(&w);
}

/* Kernels that never ran at one time cannot have been one collective. */
static void apart(void **state)
{
	struct analysis *a;

	(void)state;
	open_ranks(2, true);
	put(0, "ncclDevKernel_AllReduce", 0, 10);
	put(1, "ncclDevKernel_AllReduce", 1000, 1010);
	world_finish(&w);
	a = world_analyze(&w);
	assert_int_equal(a->collectives.count, 0);
	assert_int_equal(a->collectives.unmatched, 2);
	assert_int_equal(a->collectives.rank_count, 0);
	assert_int_equal(a->collectives.straggler, -1);
	assert_true(isnan(a->collectives.clock_error_ns));
	analysis_free(a);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_one), cmocka_unit_test(nobody_stands_out), cmocka_unit_test(uneven),
		cmocka_unit_test(groups_and_bandwidth), cmocka_unit_test(apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
