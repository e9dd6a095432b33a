/* test-control.c - record/control.h: what ends a recording and what does not. */
#include "record/control.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static struct control control;
static int input[2];

static int start(void **state)
{
	(void)state;
	if (pipe(input) != 0)
		return -1;
	return control_open(&control, input[0], getpid(), NULL);
}

static int end(void **state)
{
	(void)state;
	control_close(&control);
	if (input[1] >= 0)
		close(input[1]);
	return close(input[0]);
}

static bool ends_after(const char *text)
{
	assert_int_equal(write(input[1], text, strlen(text)), (ssize_t)strlen(text));
	control_handle_events(&control);
	return control.ended;
}

static void the_line_stop(void **state)
{
	(void)state;
	assert_false(ends_after(""));
	assert_false(ends_after("\n"));
	assert_false(ends_after("stopp\n"));
	assert_false(ends_after(" stop\n"));
	assert_false(ends_after("a line that is much longer than the one which is waited for\n"));
	assert_false(ends_after("st"));
	assert_false(ends_after("op"));
	assert_true(ends_after("\n"));
}

static void stop_among_others(void **state)
{
	(void)state;
	assert_true(ends_after("one\nstop\ntwo\n"));
}

static void the_end_of_the_input(void **state)
{
	(void)state;
	assert_false(ends_after("stop")); /* without the end of the line */
	close(input[1]);
	input[1] = -1;
	control_handle_events(&control);
	assert_true(control.ended);
}

static void only_sigterm(void **state)
{
	static const int others[] = { SIGINT, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGPIPE };

	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		kill(getpid(), others[i]);
		control_handle_events(&control);
		assert_false(control.ended);
	}
	kill(getpid(), SIGTERM);
	control_handle_events(&control);
	assert_true(control.ended);
}

/* A process that waits for a signal, and one that is gone. */
static pid_t start_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	assert_true(pid > 0);
	return pid;
}

static void end_process(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void the_end_of_a_process(void **state)
{
	pid_t pid = start_process();
	struct error err = { 0 };
	char expected[64];

	(void)state;
	control_close(&control);
	assert_int_equal(control_open(&control, input[0], pid, NULL), 0);
	control_handle_events(&control);
	assert_false(control.ended);
	end_process(pid);
	control_handle_events(&control);
	assert_true(control.ended);
	control_close(&control);
	assert_int_equal(control_open(&control, input[0], pid, &err), -ESRCH);
	snprintf(expected, sizeof expected, "there is no process %d to record for", (int)pid);
	assert_string_equal(err.text, expected);
}

/* Linux before 5.3 has no descriptors for processes. */
static void the_end_of_a_process_by_its_number(void **state)
{
	pid_t pid = start_process();

	(void)state;
	control_close(&control);
	assert_int_equal(control_open(&control, input[0], pid, NULL), 0);
	close(control.pid_fd);
	control.pid_fd = -1;
	control_handle_events(&control);
	assert_false(control.ended);
	end_process(pid);
	control_handle_events(&control);
	assert_true(control.ended);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_line_stop, start, end),
		cmocka_unit_test_setup_teardown(stop_among_others, start, end),
		cmocka_unit_test_setup_teardown(the_end_of_the_input, start, end),
		cmocka_unit_test_setup_teardown(the_end_of_a_process, start, end),
		cmocka_unit_test_setup_teardown(the_end_of_a_process_by_its_number, start, end),
		cmocka_unit_test_setup_teardown(only_sigterm, start, end), /* last: a pending SIGTERM stays */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
