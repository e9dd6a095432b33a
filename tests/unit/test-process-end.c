/* system/process_end.h: how children of this test ended, asked as if they were somebody else's. */
#include "system/process_end.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "system/proc.h"

#define STAT(state, code) \
	"7 (a) b) " state " 1 7 7 0 -1 4194624 96 0 0 0 2 1 0 0 20 0 1 0 5 0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 " \
	"0 0 0 0 " code "\n"

static void what_is_left_says_it(void **state)
{
	int status = -1;

	(void)state;
	assert_int_equal(process_end_parse(STAT("Z", "139"), &status), 0);
	assert_int_equal(status, 139);
	assert_int_equal(process_end_parse(STAT("X", "256"), &status), 0);
	assert_int_equal(status, 256);
	assert_int_equal(process_end_parse(STAT("S", "9"), &status), -EAGAIN);
	assert_int_equal(process_end_parse(STAT("Z", ""), &status), -EINVAL);
	assert_int_equal(process_end_parse(STAT("Z", "65536"), &status), -EINVAL);
	assert_int_equal(process_end_parse(STAT("Z", "-9"), &status), -EINVAL);
	assert_int_equal(process_end_parse("7 (a) Z 1 2 3", &status), -EINVAL);
	assert_int_equal(process_end_parse("7 (a)", &status), -EINVAL);
	assert_int_equal(process_end_parse("", &status), -EINVAL);
	assert_int_equal(status, 256);
}

/* One that waits, then does as it is told: a signal to send itself, or a status. */
struct child {
	pid_t pid;
	int end, stat, go;
};

static struct child begin(int signal, int status)
{
	struct child c;
	int fds[2];
	char byte;

	assert_int_equal(pipe(fds), 0);
	c.pid = fork();
	assert_true(c.pid >= 0);
	if (c.pid == 0) {
		(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		close(fds[1]);
		(void)!read(fds[0], &byte, 1);
		if (signal)
			(void)kill(getpid(), signal);
		_exit(status);
	}
	close(fds[0]);
	c.go = fds[1];
	c.end = process_end_open(c.pid);
	c.stat = proc_open(c.pid, 0, "stat");
	assert_true(c.end >= 0 && c.stat >= 0);
	return c;
}

/* Whether the kernel tells after the parent has asked. */
static bool is_told_afterwards(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 && (major > 6 || (major == 6 && minor >= 15));
}

static void end(struct child *c)
{
	close(c->end);
	close(c->stat);
}

static void check(int signal, int code, int expected)
{
	struct child c = begin(signal, code);
	siginfo_t info;
	int status = -1, waited;

	assert_int_equal(process_end_status(c.end, c.stat, &status), -EAGAIN);
	close(c.go);
	assert_int_equal(waitid(P_PID, (id_t)c.pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_end_status(c.end, c.stat, &status), expected ? 0 : -ENODATA);
	assert_int_equal(status, expected ? expected : -1);
	status = -1;
	assert_int_equal(process_end_status(-1, c.stat, &status), expected ? 0 : -ENODATA);
	assert_int_equal(status, expected ? expected : -1);

	assert_int_equal(waitpid(c.pid, &waited, 0), c.pid);
	assert_int_equal(waited, expected);
	status = -1;
	assert_true(process_end_status(c.end, c.stat, &status) == 0 || !is_told_afterwards());
	assert_true(status == expected || !is_told_afterwards());
	assert_true(process_end_status(-1, c.stat, &status) < 0);
	end(&c);
}

static void before_and_after_its_parent_asks(void **state)
{
	(void)state;
	check(SIGKILL, 0, SIGKILL);
	check(SIGTERM, 0, SIGTERM);
	check(0, 0, 0);
	check(0, 3, 3 << 8);
}

static void nobody_is_there(void **state)
{
	int status = 7;

	(void)state;
	assert_int_equal(process_end_open(INT32_MAX), -ESRCH);
	assert_true(process_end_status(-1, -1, &status) < 0);
	assert_int_equal(status, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_says_it),
		cmocka_unit_test(before_and_after_its_parent_asks),
		cmocka_unit_test(nobody_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
