/* test-causality.c - clocks of devices: pairs of readings, causes and effects, and what is moved where they are wrong. */
#include "timeline-fixture.h"

#include <math.h>

#include "analyze/analysis.h"

#define US ((int64_t)1000)
#define MS (1000 * US)
#define S (1000 * MS)
#define OPS_MAX 20000u
#define DEVICES_MAX 3u

/* A program that launches work and waits for it now and then, and devices whose clocks are wrong by a stated error. */
struct sim {
	struct world w;
	unsigned devices;
	uint32_t thread, streams[DEVICES_MAX];
	int64_t now, free[DEVICES_MAX];
	uint64_t next; /* correlation */
	uint32_t random;
	int64_t (*error)(int64_t time, unsigned device); /* what is added to true times */
	int64_t launch_ns, every; /* between launches; a wait after every so many, 0: none */
	int64_t durations;        /* of work, at most */

	struct op {
		unsigned device;
		int64_t launch, begin, end; /* the truth */
	} ops[OPS_MAX + 1]; /* by correlation */
};

static uint32_t draw(struct sim *s, uint32_t below)
{
	s->random = s->random * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)s->random * below >> 32);
}

static void sim_open(struct sim *s, unsigned devices, int64_t (*error)(int64_t, unsigned))
{
	uint32_t process;

	*s = (struct sim){ .devices = devices, .now = 10 * MS, .next = 1, .random = 7, .error = error };
	s->launch_ns = 30 * US;
	s->every = 20;
	s->durations = 40 * US;
	world_open(&s->w);
	world_clock(&s->w, 0, CLOCK_KIND_MONOTONIC_RAW, 1000000000);
	process = world_process(&s->w, 100, -1);
	s->thread = world_track(&s->w, TRACK_THREAD, process, -1);
	for (unsigned d = 0; d < devices; d++) {
		uint32_t device = world_device(&s->w, d);

		s->streams[d] = world_track(&s->w, TRACK_STREAM, process, device);
	}
	world_slice(&s->w, s->thread, EVENT_SCOPE, "main", 9 * MS, 1 * US);
}

static int64_t no_error(int64_t time, unsigned device)
{
	(void)time;
	(void)device;
	return 0;
}

static void sim_launch(struct sim *s, unsigned d)
{
	struct op *op = &s->ops[s->next];
	int64_t shown, duration;

	op->device = d;
	op->launch = s->now;
	op->begin = s->now + 4 * US + draw(s, 3000);
	op->begin = op->begin > s->free[d] ? op->begin : s->free[d];
	op->end = op->begin + 1 * US + draw(s, (uint32_t)s->durations);
	s->free[d] = op->end;
	world_work(&s->w, s->thread, EVENT_RUNTIME_CALL, "cudaLaunchKernel", s->now, 2 * US, s->next);
	shown = op->begin + s->error(op->begin, d);
	duration = op->end + s->error(op->end, d) - shown;
	world_work(&s->w, s->streams[d], EVENT_GPU_KERNEL, "k", shown, duration > 0 ? duration : 0, s->next);
	s->next++;
	s->now += s->launch_ns + draw(s, 5000);
}

static void sim_wait(struct sim *s, unsigned d)
{
	int64_t end = (s->free[d] > s->now ? s->free[d] : s->now) + 6 * US + draw(s, 8000);
	uint64_t correlation = OPS_MAX + s->next + 7 * d;

	world_work(&s->w, s->thread, EVENT_RUNTIME_CALL, "cudaStreamSynchronize", s->now, end - s->now, correlation);
	world_work(&s->w, s->streams[d], EVENT_SYNC, "Stream Synchronize", s->now, end - s->now, correlation);
	s->now = end + 2 * US;
}

static void sim_run(struct sim *s, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		sim_launch(s, i % s->devices);
		if (s->every && (int64_t)(i + 1) % s->every == 0)
			for (unsigned d = 0; d < s->devices; d++)
				sim_wait(s, d);
	}
}

static const struct timeline_clock *clock_of_device(const struct timeline *t, uint32_t device)
{
	for (uint32_t i = 0; i < t->clock_count; i++)
		if (t->clocks[i].of_device && t->clocks[i].device == device)
			return &t->clocks[i];
	fail_msg("device %u has no clock", device);
	return NULL;
}

/* The largest distance of a begin from the truth, and everything that must hold after building. */
static double check_times(struct sim *s, unsigned device)
{
	const struct timeline *t = s->w.t;
	const struct timeline_track *stream = &t->tracks[s->streams[device]];
	int64_t start = t->begin[0] - 9 * MS, before = -1;
	double worst = 0;
	uint64_t last = 0;

	for (uint32_t i = stream->first; i < stream->first + stream->count; i++) {
		uint64_t number = t->details[t->detail[i]].correlation;

		if (t->kind[i] != EVENT_GPU_KERNEL)
			continue;
		assert_true(number > last); /* launched later, ran later */
		last = number;
		assert_true(t->begin[i] >= t->begin[t->link[i]]);
		assert_true(t->end[i] >= t->begin[i]);
		assert_true(t->begin[i] >= before);
		before = t->begin[i];
		worst = fmax(worst, fabs((double)(t->begin[i] - start - s->ops[number].begin)));
	}
	return worst;
}

static uint64_t changed(struct sim *s, unsigned device)
{
	const struct timeline_track *stream = &s->w.t->tracks[s->streams[device]];
	const struct timeline *t = s->w.t;
	uint64_t count = 0;

	for (uint32_t i = stream->first; i < stream->first + stream->count; i++) {
		const struct op *op = &s->ops[t->details[t->detail[i]].correlation % (OPS_MAX + 1)];

		count += t->kind[i] == EVENT_GPU_KERNEL && t->begin[i] != op->begin + s->error(op->begin, device) - 9 * MS;
	}
	return count;
}

static void right_clocks_stay(void **state)
{
	struct sim *s = calloc(1, sizeof *s);

	(void)state;
	assert_non_null(s);
	sim_open(s, 2, no_error);
	sim_run(s, 4000);
	world_build(&s->w);
	for (unsigned d = 0; d < 2; d++) {
		const struct timeline_clock *c = clock_of_device(s->w.t, d);

		assert_string_equal(c->method, "causality");
		assert_int_equal(c->moved + c->clamped, 0);
		assert_int_equal(changed(s, d), 0);
		assert_true(c->error_ns > 4 * US && c->error_ns < 40 * US);
		assert_true(check_times(s, d) == 0);
		assert_true(isnan(c->drift_ppm));
		assert_true(isnan(c->residual_ns));
	}
	assert_int_equal(s->w.t->clock_count, 3);
	assert_int_equal(s->w.t->clock_damage, 0);
	world_close(&s->w);
	free(s);
}

/* Nobody waits: the work could as well have been later. */
static void one_side(void **state)
{
	struct sim *s = calloc(1, sizeof *s);

	(void)state;
	assert_non_null(s);
	sim_open(s, 1, no_error);
	s->every = 0;
	sim_run(s, 1000);
	world_build(&s->w);
	assert_true(clock_of_device(s->w.t, 0)->error_ns < 0);
	assert_int_equal(changed(s, 0), 0);
	world_close(&s->w);
	free(s);
}

/* ---- Clocks that are off ---- */

/* Mapped by a line of the wrong rate, as until a second comparison of the clocks. */
static int64_t drifts(int64_t time, unsigned device)
{
	int64_t since = (time - 10 * MS) % (100 * MS);

	return (device % 2 ? 50 : -50) * since / 1000000;
}

static int64_t set_back(int64_t time, unsigned device)
{
	return device == 0 && time >= 60 * MS && time < 160 * MS ? -5 * MS : 0;
}

static int64_t set_forward(int64_t time, unsigned device)
{
	return device == 0 && time >= 60 * MS && time < 160 * MS ? 5 * MS : 0;
}

/* Both, on different devices, for good. */
static int64_t set_apart(int64_t time, unsigned device)
{
	int64_t drift = 50 * (time - 10 * MS) / 1000000;

	return drift + (time < 80 * MS || device == 1 ? 0 : device == 0 ? -5 * MS : 5 * MS);
}

/* After it was set, the line from the first comparison of the clocks to the last has a wrong slope. */
static int64_t sawtooth(int64_t time, unsigned device)
{
	int64_t since = time - 10 * MS;

	(void)device;
	return since < 100 * MS ? 0 : -(since % (100 * MS)) * 5 / (since / (100 * MS) * 100);
}

static void wrong_clocks_are_put_right(void **state)
{
	static const struct {
		int64_t (*error)(int64_t, unsigned);
		unsigned devices;
		int64_t durations; /* longer than between launches: the queue is never empty */
		uint32_t jumps[DEVICES_MAX];
		double within; /* ns, of the truth */
	} cases[] = {
		{ drifts, 2, 20 * US, { 0, 0 }, 6 * US },
		{ set_back, 2, 40 * US, { 2, 0 }, 20 * US },
		{ set_forward, 2, 40 * US, { 2, 0 }, 60 * US },
		{ set_back, 1, 100 * US, { 2 }, 20 * US },
		{ set_forward, 1, 100 * US, { 2 }, 20 * US },
		{ set_apart, 3, 40 * US, { 1, 0, 1 }, 60 * US },
		{ sawtooth, 1, 40 * US, { 1 }, 60 * US },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct sim *s = calloc(1, sizeof *s);

		assert_non_null(s);
		sim_open(s, cases[i].devices, cases[i].error);
		s->durations = cases[i].durations;
		sim_run(s, 8000);
		world_build(&s->w);
		assert_int_equal(s->w.t->clock_damage, 0);
		for (unsigned d = 0; d < cases[i].devices; d++) {
			const struct timeline_clock *c = clock_of_device(s->w.t, d);
			double worst = check_times(s, d);

			assert_true(c->error_ns >= worst);
			assert_true(worst <= cases[i].within);
			assert_true(c->error_ns < 200 * US);
			assert_true(c->clamped <= 1); /* what ran while the clock was set */
			assert_int_equal(c->jumps, cases[i].jumps[d]);
			if (cases[i].jumps[d])
				assert_true(c->moved > 1000 && llabs(c->moved_most - 5 * MS) < 100 * US);
		}
		world_close(&s->w);
		free(s);
	}
}

/* ---- Work that is wrong alone ---- */

/* A kernel of which the trace shows something else. */
static void sim_spoil(struct sim *s, uint64_t number, int64_t begin, int64_t duration)
{
	struct op *op = &s->ops[s->next];

	assert_int_equal(number, s->next);
	*op = (struct op){ .launch = s->now, .begin = s->now + 5 * US, .end = s->now + 25 * US };
	world_work(&s->w, s->thread, EVENT_RUNTIME_CALL, "cudaLaunchKernel", s->now, 2 * US, number);
	world_work(&s->w, s->streams[0], EVENT_GPU_KERNEL, "spoilt", begin, duration, number);
	s->free[0] = op->end;
	s->next++;
	s->now += s->launch_ns;
}

static void sim_open_spoilt(struct sim *s, int64_t every)
{
	sim_open(s, 1, no_error);
	s->every = every;
	for (unsigned i = 0; i < 100; i++) {
		sim_run(s, 49);
		if (i % 4 == 0)
			sim_spoil(s, s->next, s->now - 1 * MS, 1 * MS + 25 * US); /* its end is right */
		else if (i % 4 == 1)
			sim_spoil(s, s->next, 0, 0);
		else if (i % 4 == 2)
			sim_spoil(s, s->next, 0, 100000 * S); /* both are not */
		else
			sim_spoil(s, s->next, s->now + 5 * US, 20 * US);
		if (every)
			sim_wait(s, 0);
	}
}

static void single_slices_are_cut(void **state)
{
	(void)state;
	for (int64_t every = 0; every <= 20; every += 20) {
		struct sim *s = calloc(1, sizeof *s);
		const struct timeline_clock *c;

		assert_non_null(s);
		sim_open_spoilt(s, every);
		world_build(&s->w);
		c = clock_of_device(s->w.t, 0);
		assert_int_equal(s->w.t->clock_damage, 0);
		assert_int_equal(c->moved, 0);
		assert_int_equal(c->clamped, 75);
		assert_int_equal(changed(s, 0), 75);
		assert_int_equal(c->jumps, 0);
		assert_true(every ? c->error_ns > 0 && c->error_ns < 40 * US : c->error_ns < 0);
		for (unsigned i = 0; i < 100; i++) {
			uint32_t slice = world_find(&s->w, "spoilt", i), launch = s->w.t->link[slice];

			assert_true(s->w.t->begin[slice] >= s->w.t->begin[launch]);
			assert_true(s->w.t->begin[slice] <= s->w.t->begin[launch] + 100 * US);
		}
		world_close(&s->w);
		free(s);
	}
}

/* A copy that the host waits in is a wait for itself; other tools' times stay as they are. */
static void blocking_copies(void **state)
{
	(void)state;
	for (int foreign = 0; foreign < 2; foreign++) {
		struct world w;
		uint32_t thread, stream;
		struct timeline *t;

		world_open(&w);
		if (!foreign)
			world_clock(&w, 0, CLOCK_KIND_TSC, 1000000000);
		(void)world_process(&w, 1, -1);
		thread = world_track(&w, TRACK_THREAD, 0, -1);
		stream = world_track(&w, TRACK_STREAM, 0, world_device(&w, 0));
		for (int64_t i = 0; i < 10; i++) {
			world_work(&w, thread, EVENT_RUNTIME_CALL, "cudaMemcpy", i * MS, 100 * US, (uint64_t)i + 1);
			world_work(&w, stream, EVENT_D2H_COPY, "copy", i * MS + 70 * US, 40 * US, (uint64_t)i + 1);
		}
		t = world_build(&w);
		assert_int_equal(t->clock_count, foreign ? 1 : 2);
		for (unsigned i = 0; i < 10; i++)
			assert_int_equal(t->begin[world_find(&w, "copy", i)], i * MS + (foreign ? 70 : 60) * US);
		if (!foreign) {
			assert_int_equal(t->clocks[1].moved, 10);
			assert_int_equal(t->clocks[1].moved_most, 10 * US);
		}
		world_close(&w);
	}
}

/* Whatever a trace says, work is between its launch and the wait for it, and streams keep their order. */
static void random_times(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 150; round++) {
		struct sim *s = calloc(1, sizeof *s);
		int64_t scale = round % 3 == 0 ? 1 * MS : round % 3 == 1 ? 100 * US : (int64_t)1 << 61;
		const struct timeline_track *stream;
		int64_t before = 0;

		assert_non_null(s);
		sim_open(s, 1, no_error);
		s->random = round;
		s->every = draw(s, 8);
		for (unsigned i = 0; i < 300; i++) {
			if (draw(s, round % 10 + 1) == 0)
				sim_spoil(s, s->next, (draw(s, 3) ? s->now : 0) + (int64_t)(scale * (draw(s, 1000) / 500.0 - 1)), draw(s, 200000));
			else
				sim_run(s, 1 + draw(s, 3));
		}
		world_build(&s->w);
		stream = &s->w.t->tracks[s->streams[0]];
		for (uint32_t i = stream->first; i < stream->first + stream->count; i++) {
			if (s->w.t->kind[i] != EVENT_GPU_KERNEL)
				continue;
			assert_true(s->w.t->begin[i] >= s->w.t->begin[s->w.t->link[i]] && s->w.t->end[i] >= s->w.t->begin[i]);
			assert_true(s->w.t->begin[i] >= before);
			before = s->w.t->begin[i];
		}
		assert_int_equal(s->w.t->clock_damage, 0);
		world_close(&s->w);
		free(s);
	}
}

/* ---- Pairs ---- */

static void put_pair(struct world *w, uint32_t track, int64_t time, int64_t device, uint64_t width, double miss)
{
	struct event_slot slot = { .time = (uint64_t)time, .cpu = EVENT_CPU_UNKNOWN, .kind = EVENT_CLOCK_PAIR };
	uint8_t list[64];
	uint64_t bits;
	size_t size;

	memcpy(&bits, &miss, sizeof bits);
	slot.flags = EVENT_FLAGS(PHASE_INSTANT, 0, 0);
	size = list_number(list, 0, FIELD_DURATION, width);
	size = list_number(list, size, FIELD_INTEGER, (uint64_t)device);
	size = list_number(list, size, FIELD_VALUE, bits);
	assert_int_equal(trace_writer_event(w->f.w, track, &slot, list, size, NULL), 0);
}

struct pairs_case {
	unsigned count;
	int64_t ppm, jump;
	double miss;
	uint32_t jumps;
	double error; /* ns */
};

/* A pair each 20 ms, in brackets of 500 to 540 ns; the device's clock is fast by so much, and set after half of them. */
static void check_pairs(const struct pairs_case *c)
{
	struct world w;
	uint32_t stream;
	const struct timeline_clock *clock;
	struct timeline *t;

	world_open(&w);
	world_clock(&w, 0, CLOCK_KIND_TSC, 1000000000);
	stream = world_track(&w, TRACK_STREAM, world_process(&w, 1, -1), world_device(&w, 3));
	world_slice(&w, world_track(&w, TRACK_THREAD, 0, -1), EVENT_SCOPE, "main", 1 * S, 1 * US);
	world_work(&w, stream, EVENT_GPU_KERNEL, "k", 1 * S + 10 * MS, 5 * MS, 0);
	for (unsigned i = 0; i < c->count; i++) {
		int64_t since = i * 20 * MS, jump = i >= c->count / 2 ? c->jump : 0;

		put_pair(&w, stream, 1 * S + since + i % 7 * 20, 77 * S + since + since / 1000000 * c->ppm + jump, 500 + i % 3 * 20,
			 i == c->count / 2 ? c->miss : 0);
	}
	put_pair(&w, stream, 1 * S, 1, 1, NAN); /* no pair at all */
	t = world_build(&w);
	clock = clock_of_device(t, 0);
	assert_string_equal(clock->method, "pairs");
	assert_int_equal(t->clock_count, 2);
	assert_int_equal(clock->pairs, c->count);
	assert_int_equal(clock->jumps, c->jumps);
	assert_true(fabs(clock->error_ns - c->error) <= 25);
	if (c->count > 1) {
		assert_true(fabs(clock->drift_ppm - (double)c->ppm) < 1);
		assert_true(fabs(clock->residual_ns - fabs(c->miss)) < 1);
	} else {
		assert_true(isnan(clock->drift_ppm));
		assert_true(isnan(clock->residual_ns));
	}
	assert_true(fabs((double)clock->offset_ns + 77e9 * clock->slope) < 6e6); /* a jump, and a bit */
	world_close(&w);
}

static void pairs(void **state)
{
	static const struct pairs_case cases[] = {
		{ 100, 0, 0, 0, 0, 270 },
		{ 100, 50, 0, -130, 0, 400 },
		{ 100, -50, 0, 40, 0, 310 },
		{ 100, 50, 5 * MS, 5e6, 1, 5e6 + 270 },
		{ 100, 50, -5 * MS, -5e6, 1, 5e6 + 270 },
		{ 20000, 0, 5 * MS, 5e6, 1, 5e6 + 270 },
		{ 1, 0, 0, 0, 0, 250 + 500e-6 * 15e6 }, /* work ends 15 ms after */
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		check_pairs(&cases[i]);
}

/* ---- What is said ---- */

static const struct analysis_check *check_of(const struct analysis *a, const char *name)
{
	for (size_t i = 0; i < a->check_count; i++)
		if (strcmp(a->checks[i].name, name) == 0)
			return &a->checks[i];
	fail_msg("there is no check %s", name);
	return NULL;
}

static void assert_check(const struct analysis *a, const char *name, enum check_status status, const char *words)
{
	const struct analysis_check *check = check_of(a, name);

	if (check->status != status || !strstr(check->detail, words))
		print_error("%s: %s\n", check_status_name(check->status), check->detail);
	assert_int_equal(check->status, status);
	assert_non_null(strstr(check->detail, words));
}

static struct analysis *sim_analyze(struct sim *s, const int64_t *margin)
{
	struct analysis_options options = { .clock_margin = margin };
	struct analysis *a = NULL;
	struct error err = { 0 };

	assert_int_equal(analysis_run(&a, s->w.t, margin ? &options : NULL, &err), 0);
	return a;
}

static void checks(void **state)
{
	struct sim *s = calloc(1, sizeof *s);
	const int64_t margin = 250 * US;
	struct analysis *a;

	(void)state;
	assert_non_null(s);
	sim_open(s, 2, set_back);
	sim_run(s, 8000);
	world_build(&s->w);
	a = sim_analyze(s, NULL);
	assert_check(a, "gpu_work_before_launch", CHECK_WARN, "of 8000 launched pieces of device work 1479 were moved, by 5.0 ms at most");
	assert_check(a, "clock_sync", CHECK_OK, "all clocks are known within 40.1 us");
	assert_int_equal(a->verdict, VERDICT_DEGRADED);
	analysis_free(a);
	world_close(&s->w);

	sim_open(s, 1, no_error);
	s->every = 0;
	sim_run(s, 1000);
	world_build(&s->w);
	a = sim_analyze(s, NULL);
	assert_check(a, "gpu_work_before_launch", CHECK_OK, "0 of 1000");
	assert_check(a, "clock_sync", CHECK_NOTE, "no calls are known that waited for its work: 1.0 ms, the margin (sync_error_margin_us), is taken");
	assert_true(analysis_clock_error(a, clock_of_device(s->w.t, 0)) == MS);
	analysis_free(a);
	a = sim_analyze(s, &margin);
	assert_check(a, "clock_sync", CHECK_NOTE, "no calls are known that waited for its work: 250.0 us, the margin (sync_error_margin_us), is taken");
	assert_true(analysis_clock_error(a, clock_of_device(s->w.t, 0)) == margin);
	analysis_free(a);
	world_close(&s->w);

	sim_open_spoilt(s, 20);
	world_build(&s->w);
	a = sim_analyze(s, NULL);
	assert_check(a, "gpu_work_before_launch", CHECK_WARN, "75 more were wrong by themselves");
	analysis_free(a);
	world_close(&s->w);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_clocks_stay),
		cmocka_unit_test(one_side),
		cmocka_unit_test(wrong_clocks_are_put_right),
		cmocka_unit_test(single_slices_are_cut),
		cmocka_unit_test(blocking_copies),
		cmocka_unit_test(random_times),
		cmocka_unit_test(pairs),
		cmocka_unit_test(checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
