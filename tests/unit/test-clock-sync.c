/*
 * test-clock-sync.c - clocks that drift, are set, and are read with delays.
 *
 * The clocks are made here, so that the true time is known: the answer is
 * never further from it than the bound says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>

#include "timeline/clock_sync.h"

#define SECOND 1000000000.0
#define SAMPLES_MAX 2000

static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) / 9007199254740992.0;
}

/* Mostly small, now and then a hundred times as large: a reader that was interrupted. */
static double delay(double usual)
{
	double d = usual * (0.5 + uniform());

	return uniform() < 0.1 ? d / (0.01 + uniform()) : d;
}

#define JUMPS_MAX 4
struct device_clock {
	double start, rate; /* device ticks at host time 0, and a host nanosecond */
	double wander;      /* ticks by which it is ahead or behind, over 100 seconds */
	double jump_at[JUMPS_MAX], jump[JUMPS_MAX];
	int jumps;
};

static double device_at(const struct device_clock *c, double host)
{
	double ticks = c->start + c->rate * host + c->wander * sin(host * 2 * 3.14159265 / (100 * SECOND));

	for (int i = 0; i < c->jumps; i++)
		if (host >= c->jump_at[i])
			ticks += c->jump[i];
	return ticks;
}

struct world {
	struct device_clock clock;
	double span, usual;
	struct clock_sample samples[SAMPLES_MAX];
	size_t count;
};

/* Each run has numbers of its own. */
static struct world *new_world(uint64_t run)
{
	struct world *w = calloc(1, sizeof *w);

	assert_non_null(w);
	seed = run * 0x9e3779b97f4a7c15u;
	return w;
}

static void read_clocks(struct world *w, size_t count)
{
	w->count = count;
	for (size_t i = 0; i < count; i++) {
		double host = count > 1 ? w->span * (double)i / (double)(count - 1) : w->span / 2;
		double early = delay(w->usual), late = delay(w->usual);

		w->samples[i] = (struct clock_sample){ (int64_t)floor(host - early), (int64_t)llround(device_at(&w->clock, host)),
						       (int64_t)ceil(host + late) };
	}
}

static struct clock_sync *fit(const struct world *w, double nominal)
{
	struct clock_sync_options options = { .nominal = nominal };
	struct clock_sync *sync = NULL;
	struct error err = { 0 };

	assert_int_equal(clock_sync_fit(&sync, w->samples, w->count, &options, &err), 0);
	return sync;
}

/* Returns the largest error; fails where it is over the bound. */
static double check_times(const struct world *w, const struct clock_sync *sync, double from, double to, double *ret_bound)
{
	double worst = 0;

	*ret_bound = 0;
	for (int i = 0; i <= 1000; i++) {
		double host = from + (to - from) * i / 1000;
		int64_t device = (int64_t)llround(device_at(&w->clock, host));
		double error = fabs((double)clock_sync_host(sync, device) - host), bound = clock_sync_error(sync, device);

		if (error > bound + 1 / w->clock.rate)
			print_error("host %.0f: error %.0f, bound %.0f\n", host, error, bound);
		assert_true(error <= bound + 1 / w->clock.rate);
		worst = fmax(worst, error);
		*ret_bound = fmax(*ret_bound, bound);
	}
	return worst;
}

static void check_monotone(const struct world *w, const struct clock_sync *sync)
{
	double from = device_at(&w->clock, -0.1 * w->span), to = device_at(&w->clock, 1.1 * w->span);
	int64_t before = INT64_MIN;

	for (int i = 0; i <= 3000; i++) {
		int64_t host = clock_sync_host(sync, (int64_t)llround(from + (to - from) * i / 3000));

		assert_true(host >= before);
		before = host;
	}
}

/* Intervals of a millisecond and more are right to one part in a hundred. */
static void check_intervals(const struct world *w, const struct clock_sync *sync, double length)
{
	for (int i = 0; i < 200; i++) {
		double begin = (w->span - length) * i / 200;
		double told = (double)(clock_sync_host(sync, (int64_t)llround(device_at(&w->clock, begin + length))) -
				       clock_sync_host(sync, (int64_t)llround(device_at(&w->clock, begin))));

		assert_true(fabs(told - length) < 0.01 * length);
	}
}

static void drift(void **state)
{
	(void)state;
	for (uint64_t run = 1; run <= 200; run++) {
		struct world *w = new_world(run);
		double ppm = 400 * uniform() - 200, tick = uniform() < 0.5 ? 1 : 0.52, bound;
		struct clock_sync *sync;

		w->clock = (struct device_clock){ 1e15 * (uniform() - 0.5), (1 + ppm * 1e-6) / tick, 0, { 0 }, { 0 }, 0 };
		w->span = 60 * SECOND;
		w->usual = 1000 + 20000 * uniform();
		read_clocks(w, 61);
		sync = fit(w, tick);
		assert_int_equal(clock_sync_segment_count(sync), 1);
		assert_true(fabs(clock_sync_segment(sync, 0)->slope - 1 / w->clock.rate) < 2e-6 * tick);
		assert_true(check_times(w, sync, 0, w->span, &bound) < w->usual);
		assert_true(bound < 20 * w->usual);
		check_times(w, sync, -0.2 * w->span, 1.2 * w->span, &bound);
		check_monotone(w, sync);
		check_intervals(w, sync, 1000000);
		assert_true(clock_sync_segment(sync, 0)->slope_error < 1e-5);
		clock_sync_free(sync);
		free(w);
	}
}

static void few_samples(void **state)
{
	(void)state;
	for (uint64_t run = 1; run <= 300; run++) {
		struct world *w = new_world(run);
		size_t count = 1 + run % 4;
		double bound;
		struct clock_sync *sync;

		w->clock = (struct device_clock){ 1e9, 1 + (400 * uniform() - 200) * 1e-6, 0, { 0 }, { 0 }, 0 };
		w->span = SECOND;
		w->usual = 5000;
		read_clocks(w, count);
		sync = fit(w, 1);
		check_times(w, sync, -w->span, 2 * w->span, &bound);
		assert_true(bound < 2e6);
		check_monotone(w, sync);
		check_intervals(w, sync, 100000);
		clock_sync_free(sync);
		free(w);
	}
}

/* The device's clock is set forwards by milliseconds: each part has its own line, and between them the bound says so. */
static void jumps(void **state)
{
	(void)state;
	for (uint64_t run = 1; run <= 200; run++) {
		struct world *w = new_world(run);
		double bound, outside;
		struct clock_sync *sync;

		w->clock = (struct device_clock){ 5e12, 1 + (400 * uniform() - 200) * 1e-6, 0, { 0 }, { 0 }, 1 + (int)(3 * uniform()) };
		w->span = 20 * SECOND;
		w->usual = 2000 + 10000 * uniform();
		for (int i = 0; i < w->clock.jumps; i++) {
			w->clock.jump_at[i] = w->span * (0.2 + 0.25 * i + 0.1 * uniform());
			w->clock.jump[i] = 1e6 + 2e7 * uniform();
		}
		read_clocks(w, 201);
		sync = fit(w, 1);
		assert_int_equal(clock_sync_segment_count(sync), w->clock.jumps + 1);
		check_times(w, sync, 0, w->span, &bound);
		assert_true(check_times(w, sync, 0, w->span * 0.19, &outside) < w->usual * 2);
		assert_true(outside < 20 * w->usual);
		check_monotone(w, sync);
		clock_sync_free(sync);
		free(w);
	}
}

/* Set back, the same reading means two times; the bound covers both. */
static void set_back(void **state)
{
	(void)state;
	for (uint64_t run = 1; run <= 50; run++) {
		struct world *w = new_world(run);
		double bound;
		struct clock_sync *sync;

		w->clock = (struct device_clock){ 5e12, 1 + (400 * uniform() - 200) * 1e-6, 0, { 10 * SECOND },
						  { -SECOND * (0.01 + 3 * uniform()) }, 1 };
		w->span = 20 * SECOND;
		w->usual = 3000;
		read_clocks(w, 401);
		sync = fit(w, 1);
		assert_int_equal(clock_sync_segment_count(sync), 2);
		check_times(w, sync, 0, w->span, &bound);
		assert_true(check_times(w, sync, 10.1 * SECOND, w->span, &bound) < w->usual * 2);
		clock_sync_free(sync);
		free(w);
	}
}

/* Its rate follows the temperature: by up to one millionth here. */
static void wander(void **state)
{
	(void)state;
	for (uint64_t run = 1; run <= 50; run++) {
		struct world *w = new_world(run);
		double bound;
		struct clock_sync *sync;

		w->clock = (struct device_clock){ .start = 5e12, .rate = 1.00005, .wander = 15915 };
		w->span = 300 * SECOND;
		w->usual = 5000;
		read_clocks(w, 301);
		sync = fit(w, 1);
		assert_true(check_times(w, sync, 0, w->span, &bound) < 15000);
		check_monotone(w, sync);
		check_intervals(w, sync, 1000000);
		clock_sync_free(sync);
		free(w);
	}
}

/* Readings that are wrong, far from each other, do not matter. */
static void outliers(void **state)
{
	(void)state;
	for (uint64_t run = 1; run <= 200; run++) {
		struct world *w = new_world(run);
		double bound;
		struct clock_sync *sync;

		w->clock = (struct device_clock){ 1e10, 1 + (400 * uniform() - 200) * 1e-6, 0, { 0 }, { 0 }, 0 };
		w->span = 10 * SECOND;
		w->usual = 3000;
		read_clocks(w, 101);
		for (size_t i = 10; i < 90; i += 10)
			w->samples[i].device += (int64_t)((uniform() < 0.5 ? -1 : 1) * (1e6 + 1e7 * uniform()));
		sync = fit(w, 1);
		assert_int_equal(clock_sync_segment_count(sync), 1);
		assert_int_equal(clock_sync_outliers(sync), 8);
		assert_true(check_times(w, sync, 0, w->span, &bound) < w->usual);
		clock_sync_free(sync);
		free(w);
	}
}

/* Launches come before, and waiting returns after, what the device does. */
static void causes_and_effects(void **state)
{
	(void)state;
	for (uint64_t run = 1; run <= 100; run++) {
		struct world *w = new_world(run);
		double bound;
		struct clock_sync *sync;

		w->clock = (struct device_clock){ -3e11, 1 + (400 * uniform() - 200) * 1e-6, 0, { 0 }, { 0 }, 0 };
		w->span = 5 * SECOND;
		for (w->count = 0; w->count < 1000; w->count++) {
			double host = w->span * (double)w->count / 1000;

			w->samples[w->count] = (struct clock_sample){ CLOCK_NO_BEFORE, (int64_t)llround(device_at(&w->clock, host)), CLOCK_NO_AFTER };
			if (w->count % 5)
				w->samples[w->count].before = (int64_t)floor(host - delay(8000));
			else
				w->samples[w->count].after = (int64_t)ceil(host + delay(15000));
		}
		sync = fit(w, 1);
		assert_true(check_times(w, sync, 0, w->span, &bound) < 20000);
		assert_true(isfinite(bound) && bound < 60000);
		clock_sync_free(sync);
		free(w);
	}
}

/* Launches alone: no work before its launch, and nothing is promised. */
static void causes_alone(void **state)
{
	struct world *w = new_world(5);
	struct clock_sync *sync;

	(void)state;
	w->clock = (struct device_clock){ 7e9, 1, 0, { 0 }, { 0 }, 0 };
	for (w->count = 0; w->count < 500; w->count++) {
		double host = 1e6 * (double)w->count;

		w->samples[w->count] =
			(struct clock_sample){ (int64_t)floor(host - delay(8000)), (int64_t)llround(device_at(&w->clock, host)), CLOCK_NO_AFTER };
	}
	sync = fit(w, 1);
	for (size_t i = 0; i < w->count; i++)
		assert_true(clock_sync_host(sync, w->samples[i].device) >= w->samples[i].before);
	assert_true(fabs((double)clock_sync_host(sync, (int64_t)device_at(&w->clock, 1e8)) - 1e8) < 8000);
	assert_true(isinf(clock_sync_error(sync, 0)));
	clock_sync_free(sync);
	free(w);
}

static void contradictions_and_nothing(void **state)
{
	struct clock_sample wrong[2] = { { 1000, 0, CLOCK_NO_AFTER }, { CLOCK_NO_BEFORE, 10, 500 } };
	struct clock_sample none[2] = { { 20, 0, 10 }, { CLOCK_NO_BEFORE, 5, CLOCK_NO_AFTER } };
	struct clock_sample extreme[3] = { { INT64_MIN + 1, INT64_MIN, INT64_MAX - 1 }, { 0, INT64_MAX, 1 }, { -5, 0, INT64_MAX - 1 } };
	struct clock_sync *sync = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(clock_sync_fit(&sync, wrong, 2, &(struct clock_sync_options){ .nominal = 1 }, &err), 0);
	assert_int_equal(clock_sync_host(sync, 0), 1000);
	assert_int_equal(clock_sync_outliers(sync), 1);
	clock_sync_free(sync);
	sync = NULL;
	assert_int_equal(clock_sync_fit(&sync, none, 2, NULL, &err), -61);
	assert_int_equal(clock_sync_fit(&sync, none, 0, NULL, &err), -61);
	assert_null(sync);
	assert_int_equal(clock_sync_fit(&sync, extreme, 3, NULL, &err), 0);
	(void)clock_sync_host(sync, INT64_MIN);
	(void)clock_sync_error(sync, INT64_MAX);
	clock_sync_free(sync);
	clock_sync_free(NULL);
}

/* A rate that nobody told, of 13.7 ticks a nanosecond. */
static void unknown_rate(void **state)
{
	struct world *w = new_world(9);
	struct clock_sync *sync;
	double bound;

	(void)state;
	w->clock = (struct device_clock){ 1e6, 13.7, 0, { 0 }, { 0 }, 0 };
	w->span = 3 * SECOND;
	w->usual = 4000;
	read_clocks(w, 31);
	sync = fit(w, 0);
	assert_int_equal(clock_sync_segment_count(sync), 1);
	assert_true(check_times(w, sync, 0, w->span, &bound) < 4000);
	check_intervals(w, sync, 1000000);
	clock_sync_free(sync);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drift),
		cmocka_unit_test(few_samples),
		cmocka_unit_test(jumps),
		cmocka_unit_test(set_back),
		cmocka_unit_test(wander),
		cmocka_unit_test(outliers),
		cmocka_unit_test(causes_and_effects),
		cmocka_unit_test(causes_alone),
		cmocka_unit_test(contradictions_and_nothing),
		cmocka_unit_test(unknown_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
