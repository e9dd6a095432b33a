/* test-target.c - record/target.h: signals that come before the program is there, and when it has ended. */
#include "record/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static struct target target;
static char *none[] = { NULL };

/* Each test in a group of its own, so that what is sent to it reaches nothing else. */
static int start(void **state)
{
	(void)state;
	(void)setpgid(0, 0);
	return target_prepare(&target, NULL);
}

static int end(void **state)
{
	(void)state;
	target_release(&target);
	return 0;
}

static void wait_for_end(void)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)target.pid, &info, WEXITED | WNOWAIT), 0);
}

/* Sent by another process, as what ends programs mostly is. */
static void send(pid_t to, int signal)
{
	pid_t sender = fork();
	int status;

	if (sender == 0) {
		(void)setsid(); /* the group is somebody else's */
		_exit(kill(to, signal) != 0);
	}
	assert_int_equal(waitpid(sender, &status, 0), sender);
	assert_int_equal(status, 0);
}

static bool is_pending(int signal)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, signal) == 1;
}

static void pending_when_it_is_reaped(void **state)
{
	char *argv[] = { "true", NULL };

	(void)state;
	assert_int_equal(target_start(&target, argv, none, NULL), 0);
	wait_for_end();
	send(-getpgrp(), SIGINT);
	send(getpid(), SIGTERM);
	assert_true(is_pending(SIGINT));
	target_handle_events(&target);
	assert_true(target.ended);
	assert_int_equal(target_exit_status(&target), 0);
	assert_false(is_pending(SIGINT)); /* what is made of the recording next would take them for its own */
	assert_false(is_pending(SIGTERM));
	assert_int_equal(target.requests.signal, 0);
	assert_true(target.requests.asked);
}

static void pending_before_it_is_started(pid_t to, const char *script, int status)
{
	char *argv[] = { "sh", "-c", (char *)script, NULL };

	send(to, SIGTERM);
	assert_int_equal(target_start(&target, argv, none, NULL), 0);
	wait_for_end();
	target_handle_events(&target);
	assert_true(target.ended);
	assert_int_equal(target_exit_status(&target), status);
}

static void sent_to_the_group_before_it_is_started(void **state)
{
	(void)state;
	pending_before_it_is_started(-getpgrp(), "sleep 60", 128 + SIGTERM);
}

static void sent_to_us_before_it_is_started(void **state)
{
	(void)state;
	pending_before_it_is_started(getpid(), "sleep 60", 128 + SIGTERM);
}

static void ended_before_it_is_executed(void **state)
{
	char *argv[] = { "/nonexistent", NULL };
	struct error err = { 0 };

	(void)state;
	send(-getpgrp(), SIGTERM);
	assert_true(target_start(&target, argv, none, &err) < 0);
	assert_int_equal(err.exit_code, 127);
	assert_int_equal(target.pid, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pending_when_it_is_reaped, start, end),
		cmocka_unit_test_setup_teardown(sent_to_the_group_before_it_is_started, start, end),
		cmocka_unit_test_setup_teardown(sent_to_us_before_it_is_started, start, end),
		cmocka_unit_test_setup_teardown(ended_before_it_is_executed, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
