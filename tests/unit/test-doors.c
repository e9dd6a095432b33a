/* test-doors.c - record/doors.h and record/variables.h. */
#include "record/doors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define RUNTIME "/lib/libinferscope-rt.so"

static struct variables variables;

/* The value that the program would get, or NULL. */
static const char *value_of(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < variables.count; i++)
		if (strncmp(variables.list[i], name, n) == 0 && variables.list[i][n] == '=')
			return variables.list[i] + n + 1;
	return NULL;
}

static int start(void **state)
{
	(void)state;
	unsetenv("PYTHONPATH");
	unsetenv("NVTX_INJECTION64_PATH");
	unsetenv("INTEL_LIBITTNOTIFY64");
	unsetenv("CUDA_INJECTION64_PATH");
	unsetenv("OPENCL_LAYERS");
	return 0;
}

static int end(void **state)
{
	(void)state;
	variables_release(&variables);
	return 0;
}

static void the_later_of_two_counts(void **state)
{
	struct variables more = { NULL, 0 };

	(void)state;
	assert_int_equal(variables_set(&variables, "NAME", "one"), 0);
	assert_int_equal(variables_set(&variables, "NAMES", "a=b"), 0);
	assert_int_equal(variables_set(&variables, "NAME", ""), 0);
	assert_int_equal(variables.count, 2);
	assert_string_equal(variables.list[0], "NAME=");
	assert_string_equal(variables.list[1], "NAMES=a=b");
	assert_null(variables.list[2]);
	assert_int_equal(variables_set(&more, "NAME", "two"), 0);
	assert_int_equal(variables_set(&more, "OTHER", "three"), 0);
	assert_int_equal(variables_copy(&variables, &more), 0);
	variables_release(&more);
	assert_int_equal(variables.count, 3);
	assert_string_equal(value_of("NAME"), "two");
	assert_string_equal(value_of("OTHER"), "three");
	assert_null(variables.list[3]);
}

static void python_finds_us_first(void **state)
{
	(void)state;
	assert_int_equal(doors_open(&variables, RUNTIME, "/our/_door", CONFIG_GPU_AUTO), 0);
	assert_string_equal(value_of("PYTHONPATH"), "/our/_door");
	assert_string_equal(value_of("INFERSCOPE_DOOR"), "/our/_door");
	setenv("PYTHONPATH", "", 1);
	assert_int_equal(doors_open(&variables, RUNTIME, "/our/_door", CONFIG_GPU_AUTO), 0);
	assert_string_equal(value_of("PYTHONPATH"), "/our/_door");
	setenv("PYTHONPATH", "/mine:/our/_door", 1);
	assert_int_equal(doors_open(&variables, RUNTIME, "/our/_door", CONFIG_GPU_AUTO), 0);
	assert_string_equal(value_of("PYTHONPATH"), "/our/_door:/mine:/our/_door");
}

static void a_recording_inside_a_recording(void **state)
{
	(void)state;
	setenv("PYTHONPATH", "/our/_door:/mine", 1);
	assert_int_equal(doors_open(&variables, RUNTIME, "/our/_door", CONFIG_GPU_AUTO), 0);
	assert_null(value_of("PYTHONPATH")); /* stays as it is */
	setenv("PYTHONPATH", "/our/_doorstep", 1);
	assert_int_equal(doors_open(&variables, RUNTIME, "/our/_door", CONFIG_GPU_AUTO), 0);
	assert_string_equal(value_of("PYTHONPATH"), "/our/_door:/our/_doorstep");
}

static void without_python(void **state)
{
	(void)state;
	assert_int_equal(doors_open(&variables, RUNTIME, NULL, CONFIG_GPU_AUTO), 0);
	assert_int_equal(variables.count, 5);
	assert_string_equal(value_of("NVTX_INJECTION64_PATH"), RUNTIME);
	assert_string_equal(value_of("INTEL_LIBITTNOTIFY64"), RUNTIME);
	assert_string_equal(value_of("CUDA_INJECTION64_PATH"), RUNTIME);
	assert_string_equal(value_of("OPENCL_LAYERS"), RUNTIME);
	assert_string_equal(value_of("INFERSCOPE_OPENCL_LAYERS"), RUNTIME);
}

static void gpus_are_left_alone_when_asked(void **state)
{
	(void)state;
	assert_int_equal(doors_open(&variables, RUNTIME, NULL, CONFIG_GPU_OFF), 0);
	assert_int_equal(variables.count, 2);
	assert_string_equal(value_of("NVTX_INJECTION64_PATH"), RUNTIME);
	assert_string_equal(value_of("INTEL_LIBITTNOTIFY64"), RUNTIME);
}

static void cuda_is_left_to_nsys(void **state)
{
	(void)state;
	assert_int_equal(doors_open(&variables, RUNTIME, NULL, CONFIG_GPU_NSYS), 0);
	assert_int_equal(variables.count, 4);
	assert_null(value_of("CUDA_INJECTION64_PATH"));
	assert_string_equal(value_of("OPENCL_LAYERS"), RUNTIME);
}

static void a_door_of_others_is_left_alone(void **state)
{
	char sentence[200];

	(void)state;
	setenv("NVTX_INJECTION64_PATH", "/opt/nsys/tool.so", 1);
	setenv("INTEL_LIBITTNOTIFY64", RUNTIME, 1); /* ours already */
	assert_int_equal(doors_open(&variables, RUNTIME, NULL, CONFIG_GPU_AUTO), 0);
	assert_int_equal(variables.count, 3);
	assert_null(value_of("NVTX_INJECTION64_PATH"));
	assert_null(value_of("INTEL_LIBITTNOTIFY64"));
	assert_true(doors_taken(0, RUNTIME, sentence, sizeof sentence));
	assert_string_equal(sentence, "NVTX ranges are not recorded: NVTX_INJECTION64_PATH is already set to /opt/nsys/tool.so");
	assert_true(doors_taken(1, RUNTIME, sentence, sizeof sentence));
	assert_string_equal(sentence, "");
	assert_true(doors_taken(2, RUNTIME, sentence, sizeof sentence));
	assert_string_equal(sentence, "");
	assert_false(doors_taken(3, RUNTIME, sentence, sizeof sentence));
}

static void an_empty_variable_is_no_door(void **state)
{
	char sentence[200];

	(void)state;
	setenv("NVTX_INJECTION64_PATH", "", 1);
	assert_int_equal(doors_open(&variables, RUNTIME, NULL, CONFIG_GPU_AUTO), 0);
	assert_string_equal(value_of("NVTX_INJECTION64_PATH"), RUNTIME);
	assert_true(doors_taken(0, RUNTIME, sentence, sizeof sentence));
	assert_string_equal(sentence, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_later_of_two_counts, start, end),
		cmocka_unit_test_setup_teardown(python_finds_us_first, start, end),
		cmocka_unit_test_setup_teardown(a_recording_inside_a_recording, start, end),
		cmocka_unit_test_setup_teardown(without_python, start, end),
		cmocka_unit_test_setup_teardown(gpus_are_left_alone_when_asked, start, end),
		cmocka_unit_test_setup_teardown(cuda_is_left_to_nsys, start, end),
		cmocka_unit_test_setup_teardown(a_door_of_others_is_left_alone, start, end),
		cmocka_unit_test_setup_teardown(an_empty_variable_is_no_door, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
