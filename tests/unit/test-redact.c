/* test-redact.c - trace/redact.h: what names, paths and commands become, and that it is the same each time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trace/redact.h"

static struct trace_redact *redact;

static void begin(unsigned what)
{
	assert_int_equal(trace_redact_new(&redact, what), 0);
}

static int end(void **state)
{
	(void)state;
	trace_redact_free(redact);
	redact = NULL;
	return 0;
}

static struct trace_text text(const char *words)
{
	return (struct trace_text){ words, strlen(words) };
}

static void assert_text(struct trace_text got, const char *wanted)
{
	assert_non_null(got.data);
	assert_int_equal(got.size, strlen(wanted));
	assert_memory_equal(got.data, wanted, got.size);
}

static void assert_path(const char *path, const char *wanted)
{
	assert_text(trace_redact_path(redact, text(path)), wanted);
}

static void names_are_numbered_by_kind(void **state)
{
	(void)state;
	begin(REDACT_NAMES);
	assert_text(trace_redact_name(redact, "function", text("mine")), "function_1");
	assert_text(trace_redact_name(redact, "function", text("other")), "function_2");
	assert_text(trace_redact_name(redact, "thread", text("mine")), "thread_1");
	assert_text(trace_redact_name(redact, "function", text("mine")), "function_1");
	assert_text(trace_redact_name(redact, "function", text("")), "");
	assert_path("/home/me/train.py", "/home/me/train.py");
	assert_path("train.py", "file_1.py");
	assert_path("<string>", "<string>");
}

static void folders_are_numbered(void **state)
{
	(void)state;
	begin(REDACT_PATHS);
	assert_text(trace_redact_name(redact, "function", text("mine")), "mine");
	assert_path("/home/me/train.py", "/dir_1/train.py");
	assert_path("/home/me/model.py", "/dir_1/model.py");
	assert_path("data/x.bin", "dir_2/x.bin");
	assert_path("open: /home/me/x", "open: /dir_1/x");
	assert_path("/home/me/venv/lib/python3.11/json/decoder.py", "/dir_3/lib/python3.11/json/decoder.py");
	assert_path("/home/me/venv/site-packages/torch/nn.py", "/dir_3/site-packages/torch/nn.py");
	assert_path("/usr/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib/x86_64-linux-gnu/libm.so.6");
	assert_path("train.py", "train.py");
	assert_path("/", "/");
}

static void both_leave_nothing_of_a_path(void **state)
{
	(void)state;
	begin(REDACT_NAMES | REDACT_PATHS);
	assert_path("/home/me/train.py", "/dir_1/file_1.py");
	assert_path("/srv/train.txt", "/dir_2/file_1.txt");
}

/* Samples have the same few paths millions of times. */
static void a_path_is_made_once(void **state)
{
	struct trace_text first;

	(void)state;
	begin(REDACT_PATHS);
	first = trace_redact_path(redact, text("/home/me/x.bin"));
	assert_ptr_equal(trace_redact_path(redact, text("/home/me/x.bin")).data, first.data);
}

static void of_a_command_a_python_stays(void **state)
{
	(void)state;
	assert_text(trace_redact_command(text("/opt/x/bin/python3.11 secret.py --key 1")), "python3.11");
	assert_text(trace_redact_command(text("./secret --key 1")), "");
	assert_text(trace_redact_command(text("")), "");
}

static void what_to_replace_is_a_list(void **state)
{
	struct error err = { 0 };
	unsigned what;

	(void)state;
	assert_int_equal(trace_redact_parse("args,names", &what, &err), 0);
	assert_int_equal(what, REDACT_ARGS | REDACT_NAMES);
	assert_int_equal(trace_redact_parse("name", &what, &err), -EINVAL);
	assert_int_equal(err.exit_code, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(names_are_numbered_by_kind, end),
		cmocka_unit_test_teardown(folders_are_numbered, end),
		cmocka_unit_test_teardown(both_leave_nothing_of_a_path, end),
		cmocka_unit_test_teardown(a_path_is_made_once, end),
		cmocka_unit_test(of_a_command_a_python_stays),
		cmocka_unit_test(what_to_replace_is_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
