/* test-crc32.c - known values, and a bit-by-bit reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32.h"

static uint32_t reference(const uint8_t *data, size_t size)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < size; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
	}
	return ~crc;
}

static void known_values(void **state)
{
	(void)state;
	assert_int_equal(crc32_of(0, "", 0), 0);
	assert_int_equal(crc32_of(0, "a", 1), 0xe8b7be43);
	assert_int_equal(crc32_of(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_of(0, "The quick brown fox jumps over the lazy dog", 43), 0x414fa339);
}

static void every_length_and_alignment(void **state)
{
	uint8_t data[160];

	(void)state;
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i * 37 + (i >> 3));
	for (size_t start = 0; start < 9; start++)
		for (size_t size = 0; start + size <= sizeof data; size++)
			assert_int_equal(crc32_of(0, data + start, size), reference(data + start, size));
}

static void goes_on_where_it_stopped(void **state)
{
	const char text[] = "one part after the other gives what both give at once";
	uint32_t whole = crc32_of(0, text, sizeof text);

	(void)state;
	for (size_t cut = 0; cut <= sizeof text; cut++)
		assert_int_equal(crc32_of(crc32_of(0, text, cut), text + cut, sizeof text - cut), whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(every_length_and_alignment),
		cmocka_unit_test(goes_on_where_it_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
