/* Names of C++ functions, by whatever libstdc++ is here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "system/demangle.h"

static size_t take(const char *name, char *ret, size_t size)
{
	memset(ret, '#', size);
	return demangle(name, strlen(name), ret, size);
}

static void test_names(void **state)
{
	static const char *const names[][2] = {
		{ "_Z3addPf", "add(float*)" },
		{ "_Z6reduceILi4EfEvPKT0_PS0_i", "void reduce<4, float>(float const*, float*, int)" },
		{ "_ZN2at6native4fillEv", "at::native::fill()" },
	};
	char text[DEMANGLE_MAX];
	size_t size;

	(void)state;
	if (take("_Z1fv", text, sizeof text) == 0)
		skip(); /* there is no libstdc++ */
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		size = take(names[i][0], text, sizeof text);
		assert_int_equal(size, strlen(names[i][1]));
		assert_memory_equal(text, names[i][1], size);
	}
}

static void test_what_is_no_such_name(void **state)
{
	static const char *const names[] = { "", "_", "_Z", "add", "_Zzzz", "_Z99add", "__Z3addv" };
	char text[DEMANGLE_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		assert_int_equal(take(names[i], text, sizeof text), 0);
	assert_int_equal(demangle("_Z3a\0dv", 7, text, sizeof text), 0);
}

static void test_what_does_not_fit(void **state)
{
	char text[16], name[3000];

	(void)state;
	assert_int_equal(take("_ZN2at6native4fillEv", text, sizeof text), 0);
	memset(name, 'a', sizeof name);
	memcpy(name, "_Z2990", 6);
	assert_int_equal(demangle(name, sizeof name, text, sizeof text), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_what_is_no_such_name),
		cmocka_unit_test(test_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
