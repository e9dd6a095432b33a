/*
 * test-array.c - arrays that grow.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/array.h"

static void grows_and_keeps(void **state)
{
	uint32_t *numbers = NULL;
	size_t capacity = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(ARRAY_GROW(numbers, capacity, i + 1), 0);
		assert_true(capacity > i);
		assert_int_equal(numbers[i], 0);
		numbers[i] = i + 1;
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(numbers[i], i + 1);
	free(numbers);
}

static void refuses_what_cannot_be(void **state)
{
	uint64_t *numbers = NULL;
	size_t capacity = 0;

	(void)state;
	assert_int_equal(ARRAY_GROW(numbers, capacity, 3), 0);
	numbers[2] = 7;
	assert_int_equal(ARRAY_GROW(numbers, capacity, SIZE_MAX / 4), -ENOMEM);
	assert_int_equal(ARRAY_GROW(numbers, capacity, SIZE_MAX), -ENOMEM);
	assert_int_equal(capacity, 8);
	assert_int_equal(numbers[2], 7);
	free(numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(grows_and_keeps), cmocka_unit_test(refuses_what_cannot_be) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
