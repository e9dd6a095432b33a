/* test-clock-fit.c - lines through clock pairs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "trace/clock_fit.h"

#define RATE 2600000000u
#define START 5000000000000000 /* ticks: a machine that has been up for three weeks */

static struct trace_clock_pair pair_at(double seconds, uint64_t width, int64_t late_ns)
{
	return (struct trace_clock_pair){
		.ticks = START + llround(seconds * RATE),
		.width = width,
		.raw_ns = 123456789000 + llround(seconds * 1e9) + late_ns,
	};
}

static void no_pairs(void **state)
{
	struct clock_fit fit;

	(void)state;
	clock_fit_compute(&fit, NULL, 0, 0);
	assert_int_equal(clock_fit_ns(&fit, 1700000000123456789), 1700000000123456789);
	assert_int_equal(clock_fit_ticks(&fit, 1700000000123456789), 1700000000123456789);
	clock_fit_compute(&fit, NULL, 0, RATE);
	assert_int_equal(clock_fit_ns(&fit, RATE), 1000000000);
}

static void one_pair_uses_the_nominal_rate(void **state)
{
	struct trace_clock_pair pair = pair_at(0, 260, 0);
	struct clock_fit fit;

	(void)state;
	clock_fit_compute(&fit, &pair, 1, RATE);
	assert_int_equal(clock_fit_ns(&fit, START), 123456789000);
	assert_int_equal(clock_fit_ns(&fit, START + 10LL * RATE), 133456789000);
	assert_int_equal(fit.used, 1);
	assert_true(fabs(fit.error_ns - 50) < 1e-6); /* half of 260 ticks */
}

static void a_day_is_exact(void **state)
{
	struct trace_clock_pair pairs[2] = { pair_at(0, 100, 0), pair_at(86400, 100, 0) };
	struct clock_fit fit;

	(void)state;
	clock_fit_compute(&fit, pairs, 2, 0);
	for (int hour = 0; hour <= 24; hour++) {
		int64_t ticks = START + (int64_t)hour * 3600 * RATE, ns = 123456789000 + (int64_t)hour * 3600000000000;

		assert_true(llabs(clock_fit_ns(&fit, ticks) - ns) <= 1);
		assert_true(llabs(clock_fit_ticks(&fit, ns) - ticks) <= 3);
	}
}

/* A pair whose reading was interrupted is far off, and says so by its width. */
static void wide_brackets_do_not_count(void **state)
{
	struct trace_clock_pair pairs[11];
	struct clock_fit fit;

	(void)state;
	for (int i = 0; i < 11; i++)
		pairs[i] = pair_at(i, 100, 0);
	pairs[4] = pair_at(4, 10000000, 1500000);
	clock_fit_compute(&fit, pairs, 11, 0);
	assert_int_equal(fit.pairs, 11);
	assert_int_equal(fit.used, 10);
	assert_true(llabs(clock_fit_ns(&fit, START + 5LL * RATE) - 128456789000) <= 1);
	assert_true(fit.error_ns < 30);
}

static void the_bound_covers_every_used_pair(void **state)
{
	struct trace_clock_pair pairs[50];
	struct clock_fit fit;
	uint32_t random = 1;

	(void)state;
	for (int i = 0; i < 50; i++) {
		random = random * 1664525 + 1013904223;
		pairs[i] = pair_at(i * 0.37, 200 + random % 100, (int64_t)(random >> 16) % 80 - 40);
	}
	clock_fit_compute(&fit, pairs, 50, 0);
	assert_int_equal(fit.used, 50);
	for (int i = 0; i < 50; i++) {
		double off = fabs((double)(clock_fit_ns(&fit, pairs[i].ticks) - pairs[i].raw_ns));

		assert_true(off + (double)pairs[i].width / 2 * fit.ns_per_tick <= fit.error_ns + 1);
	}
	assert_true(fit.error_ns < 160);
	assert_true(fabs(fit.ns_per_tick - 1e9 / RATE) < 1e-8);
}

static void nonsense_falls_back(void **state)
{
	struct trace_clock_pair pairs[2] = { pair_at(0, 1, 0), pair_at(0, 1, 0) };
	struct clock_fit fit;

	(void)state;
	clock_fit_compute(&fit, pairs, 2, RATE); /* no distance */
	assert_int_equal(clock_fit_ns(&fit, START + RATE), 124456789000);
	pairs[1] = pair_at(10, 1, -20000000000); /* time runs backwards */
	clock_fit_compute(&fit, pairs, 2, RATE);
	assert_int_equal(clock_fit_ns(&fit, START + RATE), 124456789000);
}

static void saturates(void **state)
{
	struct trace_clock_pair pair = { .ticks = 0, .raw_ns = INT64_MAX - 10 };
	struct clock_fit fit;

	(void)state;
	clock_fit_compute(&fit, &pair, 1, 1000);
	assert_int_equal(clock_fit_ns(&fit, INT64_MAX), INT64_MAX);
	assert_int_equal(clock_fit_ns(&fit, INT64_MIN), INT64_MIN);
	clock_fit_compute(&fit, &pair, 1, 0);
	assert_int_equal(clock_fit_ns(&fit, 100), INT64_MAX);
	assert_int_equal(clock_fit_ticks(&fit, INT64_MIN), INT64_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_pairs),
		cmocka_unit_test(one_pair_uses_the_nominal_rate),
		cmocka_unit_test(a_day_is_exact),
		cmocka_unit_test(wide_brackets_do_not_count),
		cmocka_unit_test(the_bound_covers_every_used_pair),
		cmocka_unit_test(nonsense_falls_back),
		cmocka_unit_test(saturates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
