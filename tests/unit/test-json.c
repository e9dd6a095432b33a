/* test-json.c - values, numbers, strings, MessagePack; what is broken and what can be mended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/msgpack.h"
#include "import/json.h"

/* The text with padding behind it. */
static struct json of(char *room, const char *text)
{
	size_t size = strlen(text);

	memset(room, 0, size + JSON_PADDING);
	memcpy(room, text, size);
	return (struct json){ .at = room, .end = room + size, .last = true };
}

static void expect_decimal(const char *text, int64_t expected)
{
	int64_t ns = 42;

	if (!json_decimal(text, strlen(text), 3, &ns) || ns != expected)
		fail_msg("%s became %lld", text, (long long)ns);
}

static void times_are_exact(void **state)
{
	static const char *const absurd[] = { "1e30", "9999999999999999999999", "", "-", "abc", "1.5x", "0x10",
					      "1e",   "4611686018427387.905" };
	int64_t ns;

	(void)state;
	expect_decimal("1648157123456789.123", 1648157123456789123);
	expect_decimal("4458676522690.655", 4458676522690655);
	expect_decimal("0", 0);
	expect_decimal("-0.001", -1);
	expect_decimal("-12.5", -12500);
	expect_decimal("1234.5", 1234500);
	expect_decimal("0.0004", 0);
	expect_decimal("0.0005", 1);
	expect_decimal("0.00049999999999999999999999", 0);
	expect_decimal("1.23456789012345678901234567890", 1235);
	expect_decimal("000000000000000000000000000012.5", 12500);
	expect_decimal("1e3", 1000000);
	expect_decimal("1.5E-3", 2);
	expect_decimal("12.5e+2", 1250000);
	expect_decimal("1e-400", 0);
	expect_decimal("0e400", 0);
	expect_decimal("4611686018427387.904", INT64_C(1) << 62);
	for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++)
		if (json_decimal(absurd[i], strlen(absurd[i]), 3, &ns))
			fail_msg("%s is no time", absurd[i]);
}

static void numbers(void **state)
{
	uint64_t natural;
	double number;

	(void)state;
	assert_true(json_natural("18446744073709551615", 20, &natural));
	assert_true(natural == UINT64_MAX);
	assert_false(json_natural("18446744073709551616", 20, &natural));
	assert_true(json_natural("0x7fda0e810200", 14, &natural));
	assert_true(natural == 0x7fda0e810200);
	assert_false(json_natural("0x", 2, &natural));
	assert_false(json_natural("-1", 2, &natural));
	assert_true(json_double("925.4252873563219", 17, &number));
	assert_true(number == 925.4252873563219);
	assert_true(json_double("-0.004901960784313725", 21, &number));
	assert_true(number == -0.004901960784313725);
	assert_true(json_double("1.7976931348623157e308", 22, &number));
	assert_true(number == 1.7976931348623157e308);
	assert_false(json_double("1e999", 5, &number));
}

static void expect_text(const char *escaped, const char *expected, size_t size)
{
	struct json_text text = { escaped, strlen(escaped), true };
	struct buffer out = BUFFER_INIT;

	assert_int_equal(json_unescape(&text, &out), 0);
	assert_int_equal(out.size, size);
	assert_memory_equal(out.data, expected, size);
	buffer_release(&out);
}

static void strings_without_escapes(void **state)
{
	(void)state;
	expect_text("a\\n\\t\\\"\\\\\\/\\b\\f\\r", "a\n\t\"\\/\b\f\r", 9);
	expect_text("\\u0041\\u00e9\\u20ac", "A\xc3\xa9\xe2\x82\xac", 6);
	expect_text("\\ud83d\\ude00", "\xf0\x9f\x98\x80", 4);
	expect_text("\\ud83dx", "\xed\xa0\xbdx", 4);
	expect_text("a\\u0000b", "a\0b", 3);
	expect_text("C:\\Users\\x", "C:\\Users\\x", 10);
	expect_text("\\u12", "\\u12", 4);
	expect_text("end\\", "end\\", 4);
	expect_text("\xff\xfe", "\xff\xfe", 2);
}

static void expect_pack(const char *text, const char *expected)
{
	char room[1024];
	struct json j = of(room, text);
	uint8_t memory[4096];
	struct json_pack p = { .data = memory, .limit = sizeof memory };
	struct json_value value;
	struct buffer out = BUFFER_INIT;

	json_value(&j, JSON_IN_ARRAY, &value);
	assert_int_equal(j.status, JSON_OK);
	assert_true(json_pack_value(&p, &value));
	assert_int_equal(msgpack_to_json(p.data, p.size, &out), 0);
	buffer_append(&out, "", 1);
	assert_string_equal((char *)out.data, expected);
	buffer_release(&out);
}

static void values_become_messagepack(void **state)
{
	(void)state;
	expect_pack("{\"a\": [1, -2, 3.5, true, false, null], \"b\": {\"c\": \"d\\u0041\"}}",
		    "{\"a\": [1, -2, 3.5, true, false, null], \"b\": {\"c\": \"dA\"}}");
	expect_pack("[NaN, Infinity, -Infinity]", "[null, null, null]");
	expect_pack("[[], {}, [[]], \"\"]", "[[], {}, [[]], \"\"]");
	expect_pack("[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]",
		    "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]");
	expect_pack("[18446744073709551615, -2147483649, 200, 70000]",
		    "[18446744073709551615, -2147483649, 200, 70000]");
	expect_pack("[1,2,]", "[1, 2]");
}

static void what_does_not_fit_is_left_out(void **state)
{
	char room[1024], *deep = room;
	uint8_t memory[64];
	struct json_pack p = { .data = memory, .limit = sizeof memory };
	struct json_value value = {
		JSON_STRING, { "0123456789012345678901234567890123456789012345678901234567890123456789", 70, false }
	};

	(void)state;
	assert_true(json_pack_value(&p, &value));
	assert_true(p.cut);
	assert_int_equal(p.size, 61); /* 59 characters and their head */
	p = (struct json_pack){ .data = memory, .limit = sizeof memory };
	for (int i = 0; i < 40; i++)
		*deep++ = '[';
	for (int i = 0; i < 40; i++)
		*deep++ = ']';
	value = (struct json_value){ JSON_ARRAY, { room, 80, false } };
	memset(deep, 0, JSON_PADDING);
	assert_false(json_pack_value(&p, &value));
	assert_int_equal(p.size, 0);
	assert_true(p.cut);
}

static enum json_status pass_over(const char *text, bool careful, unsigned *repairs)
{
	char room[2048];
	struct json j = of(room, text);

	j.careful = careful;
	json_skip(&j, JSON_IN_ARRAY);
	*repairs = j.repairs;
	return j.status;
}

static void what_is_broken(void **state)
{
	static const struct {
		const char *text;
		enum json_status fast, careful;
		unsigned repairs;
	} cases[] = {
		{ "{\"a\": 1}", JSON_OK, JSON_OK, 0 },
		{ "{\"a\": \"x\"y\"}", JSON_BAD, JSON_OK, 1 },
		{ "{\"a\": \"he said \"no, never\", twice\", \"b\": 1}", JSON_BAD, JSON_OK, 1 },
		{ "{\"dir\": \"C:\\tmp\\\", \"b\": 1}", JSON_BAD, JSON_OK, 1 },
		{ "{\"a\": }", JSON_OK, JSON_OK, 1 },
		{ "{\"a\": 1", JSON_SHORT, JSON_SHORT, 0 },
		{ "{\"a\": \"x", JSON_SHORT, JSON_SHORT, 0 },
		{ "[1, 2", JSON_SHORT, JSON_SHORT, 0 },
		{ "bogus,", JSON_BAD, JSON_BAD, 0 },
		{ "?", JSON_BAD, JSON_BAD, 0 },
	};
	unsigned repairs;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		if (pass_over(cases[i].text, false, &repairs) != cases[i].fast)
			fail_msg("fast: %s", cases[i].text);
		if (pass_over(cases[i].text, true, &repairs) != cases[i].careful || repairs != cases[i].repairs)
			fail_msg("careful: %s (%u repairs)", cases[i].text, repairs);
	}
}

/* A string that ends in each of the 16 bytes looked at together, and one byte further on. */
static void strings_of_any_length(void **state)
{
	char room[400];
	struct json_value value;

	(void)state;
	for (size_t size = 0; size < 100; size++) {
		struct json j;

		memset(room, 0, sizeof room);
		room[0] = '"';
		memset(room + 1, 'x', size);
		memcpy(room + 1 + size, "\",", 2);
		j = (struct json){ .at = room, .end = room + size + 3, .last = true };
		json_value(&j, JSON_IN_ARRAY, &value);
		assert_int_equal(j.status, JSON_OK);
		assert_int_equal(value.text.size, size);
		assert_false(value.text.escaped);
		j = (struct json){ .at = room, .end = room + size + 1, .last = true };
		json_value(&j, JSON_IN_ARRAY, &value);
		assert_int_equal(j.status, JSON_SHORT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_exact),
		cmocka_unit_test(numbers),
		cmocka_unit_test(strings_without_escapes),
		cmocka_unit_test(values_become_messagepack),
		cmocka_unit_test(what_does_not_fit_is_left_out),
		cmocka_unit_test(what_is_broken),
		cmocka_unit_test(strings_of_any_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
