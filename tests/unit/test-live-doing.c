/* test-live-doing.c - live/doing.h: the sentence on what a program does, and what it did while nothing was recorded. */
#include "live/doing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 0.011)

static struct doing doing;
static struct live_snapshot s;

/* The thread for half a second, as it is seen from outside. */
static void look(const char *state, double cpu, double queue, double blocked)
{
	struct live_doing recorded = s.doing;
	uint32_t places = s.place_count;
	struct live_place place = s.places[0];

	live_snapshot_clear(&s);
	s.pid = 7;
	s.interval_s = 0.5;
	s.events.recorded = true;
	s.thread_count = 1;
	s.threads[0] = (struct live_thread){ .pid = 7, .tid = 7, .cpu = cpu, .queue = queue, .blocked = blocked };
	snprintf(s.threads[0].state, sizeof s.threads[0].state, "%s", state);
	if (!isnan(recorded.operators)) { /* what inside.h would have filled */
		s.doing.pid = s.doing.tid = 7;
		s.doing.window_s = recorded.window_s;
		s.doing.operators = recorded.operators;
		s.doing.input = recorded.input;
		s.doing.scopes = s.doing.functions = 0;
		s.place_count = places > 0;
		s.places[0] = place;
	}
	doing_fill(&doing, &s);
}

static int begin(void **state)
{
	(void)state;
	memset(&doing, 0, sizeof doing);
	live_snapshot_clear(&s);
	return 0;
}

static const struct live_place *place(const char *name)
{
	for (uint32_t i = 0; i < s.place_count; i++)
		if (strstr(s.places[i].name, name))
			return &s.places[i];
	return NULL;
}

static void nothing_is_said_too_early(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		look("running", 1, 0, 0);
	assert_string_equal(s.doing.text, "cannot judge yet: it was looked at for 1.5 s");
	assert_string_equal(s.doing.thread, "the main thread");
	look("running", 1, 0, 0);
	assert_string_equal(s.doing.text, "computing 100 % of the last 2 s; nothing of that is recorded: --calls on names its functions");
}

static void waits_are_told_by_what_for(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		look(i % 10 == 0 ? "running" : "socket_network", i % 10 == 0, 0, i % 10 != 0);
	assert_string_equal(s.doing.text, "waiting for the network 90 % of the last 10 s");
	NEAR(place("(waiting, mostly for the network)")->share, 0.9);
	NEAR(place("(running, nothing recorded)")->share, 0.1);
	for (int i = 0; i < 20; i++)
		look("running", 0.2, 0.8, 0);
	assert_string_equal(s.doing.text, "waiting for a processor 80 % of the last 10 s; others have them");
	look("running", NAN, NAN, NAN);
	NEAR(s.doing.waiting, 0); /* what was is forgotten */
}

static void what_is_recorded_is_told_first(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		s.doing.window_s = 9.6;
		s.doing.operators = 0.92;
		s.doing.input = 0;
		s.place_count = 1;
		s.places[0] = (struct live_place){ .share = 0.8, .kind = "op", .name = "aten::conv2d" };
		look("running", 0.95, 0.02, 0.03);
	}
	assert_string_equal(s.doing.text, "computing in operators 92 % of the last 10 s, most in aten::conv2d (80 %)");
	assert_string_equal(s.doing.most, "aten::conv2d");
	NEAR(s.doing.running, 0.03);
	NEAR(s.doing.running + s.doing.queueing + s.doing.waiting, 0.08);
	s.doing.window_s = 9.6;
	s.doing.operators = 0.2;
	s.doing.input = 0.63;
	look("running", 0.3, 0, 0.7);
	assert_string_equal(s.doing.text, "waiting for input 63 % of the last 10 s");
}

static void no_part_is_called_most_that_is_not(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		static const char *const states[] = { "running", "lock", "file", "pipe" };

		s.doing.window_s = 10;
		s.doing.operators = 0.26;
		s.doing.input = 0.25;
		s.place_count = 0;
		look(states[i % 4], 0.5, 0.25, 0.25);
	}
	assert_non_null(strstr(s.doing.text, "nothing prevails in the last 10 s: most is computing in operators, 26 %"));
}

static void what_cannot_be_judged_is_not(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		look("running", NAN, NAN, NAN);
	assert_string_equal(s.doing.text, "cannot judge: nothing is known of the main thread for most of the last 5 s");
	s.state = LIVE_STOPPED;
	s.place_count = 0;
	doing_fill(&doing, &s);
	assert_string_equal(s.doing.text, "stopped by a signal");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_is_said_too_early, begin),
		cmocka_unit_test_setup(waits_are_told_by_what_for, begin),
		cmocka_unit_test_setup(what_is_recorded_is_told_first, begin),
		cmocka_unit_test_setup(no_part_is_called_most_that_is_not, begin),
		cmocka_unit_test_setup(what_cannot_be_judged_is_not, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
