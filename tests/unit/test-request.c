/* test-request.c - record/request.h: which signal is meant for the analysis and which was for the program. */
#include "record/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define MS 1000000

static struct requests requests;

static int start(void **state)
{
	(void)state;
	requests = (struct requests){ .since_ns = 1000 * (int64_t)MS };
	return 0;
}

static void take(int signal, int64_t ms)
{
	requests_take(&requests, signal, 0, requests.since_ns + ms * MS);
}

static void copies_of_what_ended_the_program(void **state)
{
	(void)state;
	take(SIGTERM, -1000000);
	take(SIGTERM, 0);
	take(SIGTERM, 1);
	take(SIGHUP, 299);
	assert_int_equal(requests.signal, 0);
}

static void a_moment_too_late(void **state)
{
	int64_t end = requests.since_ns;

	(void)state;
	take(SIGINT, 290);
	requests_take(&requests, SIGINT, 0, end + 310 * MS); /* of the same */
	requests_take(&requests, SIGINT, 0, end + 580 * MS);
	assert_int_equal(requests.signal, 0);
	requests_take(&requests, SIGTERM, 42, end + 600 * MS);
	assert_int_equal(requests.signal, SIGTERM);
	assert_int_equal(requests.sender, 42);
}

static void one_on_purpose(void **state)
{
	(void)state;
	take(SIGUSR1, 5000);
	take(SIGCHLD, 5000);
	assert_int_equal(requests.signal, 0);
	take(SIGINT, 301);
	assert_int_equal(requests.signal, SIGINT);
	take(SIGTERM, 5000);
	assert_int_equal(requests.signal, SIGINT); /* the first is told */
}

static void keys_that_are_held_end_it_too(void **state)
{
	int64_t end = requests.since_ns;

	(void)state;
	for (int64_t ms = 30; ms < 700; ms += 30)
		requests_take(&requests, SIGINT, 0, end + ms * MS);
	assert_int_equal(requests.signal, SIGINT);
}

static void words(void **state)
{
	char text[64];

	(void)state;
	take(SIGINT, 400);
	request_words(&requests, text, sizeof text);
	assert_string_equal(text, "Ctrl-C");
	requests.sender = 4711;
	request_words(&requests, text, sizeof text);
	assert_string_equal(text, "SIGINT of process 4711");
	requests.signal = SIGHUP;
	requests.sender = 0;
	request_words(&requests, text, sizeof text);
	assert_string_equal(text, "the end of the terminal");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(copies_of_what_ended_the_program, start),
		cmocka_unit_test_setup(a_moment_too_late, start),
		cmocka_unit_test_setup(one_on_purpose, start),
		cmocka_unit_test_setup(keys_that_are_held_end_it_too, start),
		cmocka_unit_test_setup(words, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
