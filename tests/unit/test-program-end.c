/* test-program-end.c - trace/program.h and record/facts.h: how a program ended, from what its processes leave to what is said of it. */
#include "trace/program.h"

#include "trace-fixture.h"

#include <fcntl.h>

#include "record/describe.h"
#include "record/facts.h"

static char folder[64];
static int folder_fd;

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/test-program-end-XXXXXX");
	assert_non_null(mkdtemp(folder));
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder_fd >= 0);
	return 0;
}

static int tear_down(void **state)
{
	char command[96];

	(void)state;
	close(folder_fd);
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

static void leave(const char *name, const char *text, size_t size)
{
	int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
}

static void assert_facts(pid_t root, const char *interpreter, const char *exception, const char *message)
{
	struct trace_program p = { 0 };

	facts_read(&p, folder_fd, root);
	assert_string_equal(p.interpreter, interpreter);
	assert_string_equal(p.exception, exception);
	assert_string_equal(p.message, message);
}

static void what_processes_leave(void **state)
{
	static const char first[] = "interpreter /a/python\nversion Python 3.9\ninterpreter /b/python\nexception E\nmessage one: two\n";
	char longest[FACTS_MAX_BYTES + 100];

	(void)state;
	assert_facts(7, "", "", "");
	leave("f7", first, sizeof first - 1);
	assert_facts(7, "/b/python", "E", "one: two"); /* it was replaced by another interpreter */
	assert_facts(8, "/b/python", "E", "one: two"); /* a shell, and one that it began */
	leave("f9", "exception F\n", 12);
	assert_facts(8, "", "", ""); /* which of the two? */
	assert_facts(9, "", "F", "");
	leave("f9", "exceptional F\nmessage \xff\x1b[0m\0hidden\nexception", 44);
	assert_facts(9, "", "", "?\x1b[0m");
	memset(longest, 'x', sizeof longest);
	memcpy(longest, "message ", 8);
	leave("f9", longest, sizeof longest);
	memset(longest, 'x', PROGRAM_MESSAGE - 1);
	longest[PROGRAM_MESSAGE - 1] = '\0';
	assert_facts(9, "", "", longest);
	assert_int_equal(unlinkat(folder_fd, "f9", 0), 0);
	assert_int_equal(symlinkat("f7", folder_fd, "f9"), 0);
	assert_facts(9, "", "", "");
}

/* Through a trace and back. */
static struct trace_program carry(const struct trace_program *program)
{
	struct describe_ending ending = { .exit_status = program->status, .signal = program->signal, .complete = true, .program = program };
	struct drain_totals totals = { 0 };
	struct trace_program ret;
	struct trace_reader *r;
	struct fixture f;

	fixture_open(&f, NULL);
	assert_int_equal(describe_ending(f.w, &ending, &totals, NULL), 0);
	fixture_finish(&f);
	r = fixture_read(&f);
	trace_program_read(r, &ret);
	trace_reader_close(r);
	fixture_close(&f);
	return ret;
}

static void assert_end(int status, int signal, const char *exception, bool failed, const char *expected)
{
	struct trace_program p = { .status = status, .signal = signal };
	char text[PROGRAM_SENTENCE];

	snprintf(p.exception, sizeof p.exception, "%s", exception);
	p = carry(&p);
	trace_program_say_end(&p, text);
	assert_string_equal(text, expected);
	assert_int_equal(trace_program_failed(&p), failed);
}

static void how_it_ended(void **state)
{
	(void)state;
	assert_end(0, 0, "", false, "ended with status 0");
	assert_end(0, 0, "E", false, "ended with status 0"); /* it was an interactive one */
	assert_end(1, 0, "E", true, "ended with status 1, E");
	assert_end(3, 0, "", true, "ended with status 3");
	assert_end(139, 11, "", true, "killed by signal 11 (SIGSEGV)");
	assert_end(139, 0, "", true, "ended with status 139, as a shell does when one of its commands was killed by signal 11 (SIGSEGV)");
	assert_end(143, 15, "", false, "ended by signal 15 (SIGTERM)");
	assert_end(-1, 0, "", false, "");
}

static void what_became_of_others(void **state)
{
	struct trace_program p = { .status = 0, .death_count = 3, .running_count = 20 };
	char text[PROGRAM_SENTENCE];

	(void)state;
	p.deaths[0] = (struct program_death){ 11, 1, { 31, "worker" } };
	p.deaths[1] = (struct program_death){ 9, 2000, { 32, "a\nb" } };
	p.deaths[2] = (struct program_death){ 15, 1, { 33, "wanted" } };
	for (int i = 0; i < PROGRAM_LISTED; i++)
		p.running[i] = (struct program_process){ 100 + i, "server" };
	p = carry(&p);
	trace_program_say_death(&p.deaths[0], text);
	assert_string_equal(text, "1 child process was killed by signal 11 (SIGSEGV): worker (31)");
	trace_program_say_death(&p.deaths[1], text);
	assert_string_equal(text, "2,000 child processes were killed by signal 9 (SIGKILL), the last: a?b (32)");
	trace_program_say_death(&p.deaths[2], text);
	assert_string_equal(text, "");
	trace_program_say_running(&p, text);
	assert_string_equal(text, "20 processes still run and are no longer recorded: server (100), server (101), server (102), server (103), "
				  "server (104), ...; run --wait-all waits for them");
	p.running_count = 1;
	p = carry(&p);
	trace_program_say_running(&p, text);
	assert_string_equal(text, "1 process still runs and is no longer recorded: server (100); run --wait-all waits for it");
	p.waited = true;
	p = carry(&p);
	trace_program_say_running(&p, text);
	assert_string_equal(text, "1 process still runs and is no longer recorded: server (100)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_processes_leave, set_up, tear_down),
		cmocka_unit_test(how_it_ended),
		cmocka_unit_test(what_became_of_others),
	};

	return cmocka_run_group_tests_name("program-end", tests, NULL, NULL);
}
