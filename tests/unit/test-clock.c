/* test-clock.c - base/clock.h: the source that is chosen, and readings that make sense. */
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void the_choice_is_explained(void **state)
{
	const char *why = NULL;
	enum clock_source source = clock_source_best(&why);

	(void)state;
	assert_non_null(why);
	assert_in_range(source, CLOCK_SOURCE_TSC, CLOCK_SOURCE_MONOTONIC);
	if (source == CLOCK_SOURCE_TSC || source == CLOCK_SOURCE_ARM)
		assert_string_equal(why, "");
	else
		assert_true(strlen(why) > 10);
	assert_int_equal(clock_source_best(NULL), source);
}

/* A counter that the kernel does not trust is not used. */
static void the_kernel_is_believed(void **state)
{
	char text[32] = "";
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");

	(void)state;
	if (!f)
		skip();
	(void)!fgets(text, sizeof text, f);
	fclose(f);
	if (strncmp(text, "tsc", 3) != 0)
		assert_int_not_equal(clock_source_best(NULL), CLOCK_SOURCE_TSC);
}

static void names_tell_sources_apart(void **state)
{
	(void)state;
	assert_string_equal(clock_source_name(CLOCK_SOURCE_TSC), "TSC");
	assert_string_equal(clock_source_name(CLOCK_SOURCE_MONOTONIC_RAW), "CLOCK_MONOTONIC_RAW");
	assert_string_equal(clock_source_name(CLOCK_SOURCE_MONOTONIC), "CLOCK_MONOTONIC");
	assert_string_equal(clock_source_name(99), "unknown");
}

static void ticks_do_not_go_back(void **state)
{
	const enum clock_source sources[] = { clock_source_best(NULL), CLOCK_SOURCE_MONOTONIC_RAW,
					      CLOCK_SOURCE_MONOTONIC };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		uint64_t before = clock_ticks(sources[i]), start = before;

		for (int n = 0; n < 100000; n++) {
			uint64_t now = clock_ticks(sources[i]);

			assert_true(now >= before);
			before = now;
		}
		assert_true(before > start);
	}
}

static void pairs_follow_each_other(void **state)
{
	enum clock_source source = clock_source_best(NULL);
	struct clock_reading a, b;

	(void)state;
	clock_read_all(source, &a);
	for (int i = 0; i < 100; i++, a = b) {
		uint64_t before = clock_ticks(source), after;

		clock_read_all(source, &b);
		after = clock_ticks(source);
		assert_in_range((uint64_t)b.ticks, before, after);
		assert_in_range(b.width, 0, after - before);
		assert_true(b.ticks > a.ticks);
		assert_true(b.raw_ns > a.raw_ns);
		assert_true(b.monotonic_ns > a.monotonic_ns);
		assert_true(b.realtime_ns > 1600000000ll * 1000000000);
	}
}

/* Within a percent of what half a second shows. */
static void the_rate_is_plausible(void **state)
{
	enum clock_source source = clock_source_best(NULL);
	struct timespec nap = { 0, 500000000 };
	uint64_t rate = clock_measure_rate(source);
	struct clock_reading a, b;
	double shown;

	(void)state;
	clock_read_all(source, &a);
	nanosleep(&nap, NULL);
	clock_read_all(source, &b);
	shown = (double)(b.ticks - a.ticks) * 1e9 / (double)(b.raw_ns - a.raw_ns);
	assert_in_range(rate, (uint64_t)(shown * 0.99), (uint64_t)(shown * 1.01));
	assert_int_equal(clock_measure_rate(CLOCK_SOURCE_MONOTONIC), 1000000000);
	assert_int_equal(clock_measure_rate(CLOCK_SOURCE_MONOTONIC_RAW), 1000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_choice_is_explained),  cmocka_unit_test(the_kernel_is_believed),
		cmocka_unit_test(names_tell_sources_apart), cmocka_unit_test(ticks_do_not_go_back),
		cmocka_unit_test(pairs_follow_each_other),  cmocka_unit_test(the_rate_is_plausible),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
