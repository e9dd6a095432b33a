/* test-gpu-clock.c - the clock of a device on ours. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gpu/gpu_clock.h"

#define RATE 2.6                      /* ticks a nanosecond */
#define START UINT64_C(5000000000000) /* ticks */
#define DEVICE UINT64_C(70000000000)  /* what it reads then */
#define MS UINT64_C(1000000)
#define APART (uint64_t)(20e6 * RATE)

static struct gpu_clock new_clock(void)
{
	return (struct gpu_clock){ .nominal = RATE };
}

/* Ticks when `ns` have passed since the start. */
static uint64_t at(double ns)
{
	return START + (uint64_t)llround(ns * RATE);
}

/* The reading of a device that runs faster by so many parts of a million. */
static uint64_t reads(double ns, double ppm)
{
	return DEVICE + (uint64_t)llround(ns * (1 + ppm * 1e-6));
}

static bool add(struct gpu_clock *c, double ns, double ppm, uint64_t width)
{
	return gpu_clock_add(c, at(ns) - width / 2, reads(ns, ppm), at(ns) - width / 2 + width, APART);
}

/* How far off it is, in ticks. */
static int64_t off(const struct gpu_clock *c, double ns, double ppm)
{
	uint64_t ticks = 0;

	assert_true(gpu_clock_ticks(c, reads(ns, ppm), &ticks));
	return (int64_t)(ticks - at(ns));
}

static void without_pairs(void **state)
{
	struct gpu_clock c = new_clock();
	uint64_t ticks = 7;

	(void)state;
	assert_false(gpu_clock_ticks(&c, DEVICE, &ticks));
	assert_int_equal(ticks, 7);
}

static void one_pair(void **state)
{
	struct gpu_clock c = new_clock();

	(void)state;
	assert_true(add(&c, 0, 0, 100));
	assert_int_equal(off(&c, 0, 0), 0);
	assert_in_range(llabs(off(&c, 5.0 * MS, 0)), 0, 1);
	assert_in_range(llabs(off(&c, -5.0 * MS, 0)), 0, 1);
}

static void drift_is_followed(void **state)
{
	struct gpu_clock c = new_clock();

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_true(add(&c, 25.0 * MS * i, 50, 100));
	assert_int_equal(c.count, GPU_CLOCK_PAIRS);
	for (int i = 0; i < 200; i++)
		assert_in_range(llabs(off(&c, 25.0 * MS * 92 + 1.0 * MS * i, 50)), 0, 3);
	assert_in_range(c.residual, 0, 3);
}

/* Near each other, only the narrower one counts. */
static void close_pairs(void **state)
{
	struct gpu_clock c = new_clock();

	(void)state;
	assert_true(add(&c, 0, 0, 5000));
	assert_false(add(&c, 1.0 * MS, 0, 6000));
	assert_int_equal(c.pairs[0].device, DEVICE);
	assert_true(add(&c, 2.0 * MS, 0, 40));
	assert_int_equal(c.count, 1);
	assert_int_equal(c.pairs[0].width, 40);
	assert_true(add(&c, 30.0 * MS, 0, 6000));
	assert_int_equal(c.count, 2);
}

static void wrong_pairs(void **state)
{
	struct gpu_clock c = new_clock();

	(void)state;
	assert_true(add(&c, 100.0 * MS, 0, 100));
	assert_false(gpu_clock_add(&c, at(200.0 * MS), reads(50.0 * MS, 0), at(200.0 * MS) + 10, APART)); /* it has gone back */
	assert_false(gpu_clock_add(&c, at(200.0 * MS) + 10, reads(200.0 * MS, 0), at(200.0 * MS), APART)); /* we have */
	assert_int_equal(c.count, 1);
}

static void a_jump_shows(void **state)
{
	struct gpu_clock c = new_clock();

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_true(add(&c, 25.0 * MS * i, 0, 100));
	assert_true(gpu_clock_add(&c, at(100.0 * MS) - 50, reads(100.0 * MS, 0) + 3000, at(100.0 * MS) + 50, APART));
	assert_in_range(c.residual, 7799, 7801);
}

/* Times that no device has. */
static void another_age(void **state)
{
	struct gpu_clock c = new_clock();
	uint64_t ticks = 7;

	(void)state;
	assert_true(add(&c, 0, 0, 100));
	assert_false(gpu_clock_ticks(&c, DEVICE + (UINT64_C(1) << 62), &ticks));
	assert_false(gpu_clock_ticks(&c, DEVICE - (UINT64_C(1) << 62), &ticks));
	assert_int_equal(ticks, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_pairs), cmocka_unit_test(one_pair),     cmocka_unit_test(drift_is_followed),
		cmocka_unit_test(close_pairs),   cmocka_unit_test(wrong_pairs),  cmocka_unit_test(a_jump_shows),
		cmocka_unit_test(another_age),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
