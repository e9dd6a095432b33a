/* test-text.c - base/text.h and base/json_writer.h. */
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/json_writer.h"

typedef int (*append_fn)(struct buffer *buf, const char *s, size_t size);

static int to_terminal(struct buffer *buf, const char *s, size_t size)
{
	return text_append_terminal(buf, s, size, 0);
}

/* size -1: up to the terminator */
static void check(append_fn fn, const char *text, long size, const char *expected)
{
	struct buffer buf = BUFFER_INIT;

	assert_int_equal(fn(&buf, text, size < 0 ? strlen(text) : (size_t)size), 0);
	assert_int_equal(buffer_append(&buf, "", 1), 0);
	assert_string_equal((char *)buf.data, expected);
	buffer_release(&buf);
}

static void check_cut(const char *text, size_t columns, const char *expected)
{
	struct buffer buf = BUFFER_INIT;

	assert_int_equal(text_append_terminal(&buf, text, strlen(text), columns), 0);
	assert_int_equal(buffer_append(&buf, "", 1), 0);
	assert_string_equal((char *)buf.data, expected);
	buffer_release(&buf);
}

static void decodes_utf8(void **state)
{
	static const struct {
		const char *bytes;
		size_t size, length;
		uint32_t c;
	} cases[] = {
		{ "A", 1, 1, 'A' },
		{ "\xc3\xa9", 2, 2, 0xe9 },
		{ "\xe2\x82\xac", 3, 3, 0x20ac },
		{ "\xf0\x9f\x98\x80", 4, 4, 0x1f600 },
		{ "\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff },
		{ "\x80", 1, 1, TEXT_INVALID },                 /* a continuation alone */
		{ "\xc0\xaf", 2, 1, TEXT_INVALID },             /* overlong */
		{ "\xe0\x80\xaf", 3, 1, TEXT_INVALID },         /* overlong */
		{ "\xed\xa0\x80", 3, 1, TEXT_INVALID },         /* surrogate */
		{ "\xf4\x90\x80\x80", 4, 1, TEXT_INVALID },     /* beyond U+10FFFF */
		{ "\xff", 1, 1, TEXT_INVALID },
		{ "\xe2\x82", 2, 2, TEXT_INVALID },             /* cut off: its beginning was right */
		{ "\xf0\x9f\x98", 3, 3, TEXT_INVALID },
		{ "\xe2\x82" "A", 3, 2, TEXT_INVALID },
	};
	size_t i;
	uint32_t c;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(text_decode(cases[i].bytes, cases[i].size, &c), cases[i].length);
		assert_int_equal(c, cases[i].c);
	}
}

static void terminal_text_cannot_control(void **state)
{
	(void)state;
	check(to_terminal, "decode", -1, "decode");
	check(to_terminal, "na\xc3\xafve \xe6\x97\xa5", -1, "na\xc3\xafve \xe6\x97\xa5");
	check(to_terminal, "\033[31mred\033[0m", -1, "\\x1b[31mred\\x1b[0m");
	check(to_terminal, "a\nb\tc\rd", -1, "a\\nb\\tc\\rd");
	check(to_terminal, "nul\0byte", 8, "nul\\x00byte");
	check(to_terminal, "\x7f", -1, "\\x7f");
	check(to_terminal, "\xc2\x9b" "31m", -1, "\\u{9b}31m");            /* CSI as one character */
	check(to_terminal, "\xe2\x80\xae" "gnp.exe", -1, "\\u{202e}gnp.exe"); /* right to left */
	check(to_terminal, "bad\xff\xe2\x82", -1, "bad\\xff\\xe2\\x82");
	check(to_terminal, "", -1, "");
}

static void terminal_text_is_bounded(void **state)
{
	(void)state;
	check_cut("abcdefgh", 8, "abcdefgh");
	check_cut("abcdefghi", 8, "abcde...");
	check_cut("\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5\xe6\x97\xa5", 4, "\xe6\x97\xa5...");
	check_cut("abcd", 3, "...");
	check_cut("\033\033\033\033\033", 4, "\\x1b...");
}

static void json_strings(void **state)
{
	(void)state;
	check(text_append_json, "plain", -1, "\"plain\"");
	check(text_append_json, "", -1, "\"\"");
	check(text_append_json, "say \"hi\" \\ there", -1, "\"say \\\"hi\\\" \\\\ there\"");
	check(text_append_json, "\b\f\n\r\t", -1, "\"\\b\\f\\n\\r\\t\"");
	check(text_append_json, "\x01\x7f", -1, "\"\\u0001\\u007f\"");
	check(text_append_json, "a\0b", 3, "\"a\\u0000b\"");
	check(text_append_json, "\xc3\xa9", -1, "\"\xc3\xa9\"");
	check(text_append_json, "\xe2\x80\xae", -1, "\"\\u202e\"");
	check(text_append_json, "\xf3\xa0\x80\x81", -1, "\"\\udb40\\udc01\""); /* U+E0001 as a surrogate pair */
	check(text_append_json, "x\xffy\xe2\x82z", -1, "\"x\xef\xbf\xbdy\xef\xbf\xbdz\"");
}

static void csv_cells(void **state)
{
	(void)state;
	check(text_append_csv, "decode", -1, "decode");
	check(text_append_csv, "", -1, "");
	check(text_append_csv, "a,b", -1, "\"a,b\"");
	check(text_append_csv, "say \"hi\"", -1, "\"say \"\"hi\"\"\"");
	check(text_append_csv, "two\nlines", -1, "two\\nlines");
	check(text_append_csv, " padded", -1, "\" padded\"");
}

static void csv_cells_are_no_formulas(void **state)
{
	(void)state;
	check(text_append_csv, "=1+1", -1, "'=1+1");
	check(text_append_csv, "@SUM(A1)", -1, "'@SUM(A1)");
	check(text_append_csv, "-2+3", -1, "'-2+3");
	check(text_append_csv, "+cmd", -1, "'+cmd");
	check(text_append_csv, "\t=1", -1, "'\\t=1");
	check(text_append_csv, "=HYPERLINK(\"x\",\"y\")", -1, "\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\"");
	check(text_append_csv, "a=b", -1, "a=b");
	check(text_append_csv, "\0=1", 3, "\\x00=1");
}

static const char *word_at(void *arg, size_t i)
{
	return ((const char *const *)arg)[i];
}

static void finds_what_was_meant(void **state)
{
	const char *words[] = { "format", "output", "trace-size-mb", NULL };

	(void)state;
	assert_int_equal(text_distance("kitten", "sitting"), 3);
	assert_int_equal(text_distance("", "abc"), 3);
	assert_int_equal(text_distance("tpo", "top"), 1);
	assert_int_equal(text_distance("abcd", "badc"), 2);
	assert_int_equal(text_distance("same", "same"), 0);
	assert_string_equal(text_nearest("fromat", word_at, words), "format");
	assert_string_equal(text_nearest("trace", word_at, words), "trace-size-mb");
	assert_string_equal(text_nearest("ouput", word_at, words), "output");
	assert_null(text_nearest("zzzzzz", word_at, words));
	assert_null(text_nearest("", word_at, words));
}

static void integers(void **state)
{
	int64_t n = 7;

	(void)state;
	assert_int_equal(text_parse_integer("42", 0, 100, &n), 0);
	assert_int_equal(n, 42);
	assert_int_equal(text_parse_integer("-5", -10, 10, &n), 0);
	assert_int_equal(n, -5);
	assert_int_equal(text_parse_integer("101", 0, 100, &n), -ERANGE);
	assert_int_equal(text_parse_integer("99999999999999999999", 0, INT64_MAX, &n), -ERANGE);
	assert_int_equal(text_parse_integer("", 0, 100, &n), -EINVAL);
	assert_int_equal(text_parse_integer("4x", 0, 100, &n), -EINVAL);
	assert_int_equal(text_parse_integer(" 4", 0, 100, &n), -EINVAL);
	assert_int_equal(text_parse_integer("0x10", 0, 100, &n), -EINVAL);
	assert_int_equal(text_parse_integer("+4", 0, 100, &n), -EINVAL);
	assert_int_equal(n, -5);
}

static void groups_digits(void **state)
{
	char out[32];

	(void)state;
	assert_string_equal(text_group_digits(out, 0), "0");
	assert_string_equal(text_group_digits(out, 999), "999");
	assert_string_equal(text_group_digits(out, 1000), "1,000");
	assert_string_equal(text_group_digits(out, 1234567), "1,234,567");
	assert_string_equal(text_group_digits(out, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void json_documents(void **state)
{
	struct buffer buf = BUFFER_INIT;
	struct json_writer j = { .out = &buf, .compact = true };

	(void)state;
	json_open(&j, NULL, '{');
	json_text(&j, "a", "x\"y");
	json_open(&j, "list", '[');
	json_integer(&j, NULL, -1);
	json_integer(&j, NULL, INT64_MIN);
	json_integer(&j, NULL, 0);
	json_unsigned(&j, NULL, UINT64_MAX);
	json_number(&j, NULL, 0.1);
	json_number(&j, NULL, NAN);
	json_fixed(&j, NULL, 1.5, 3);
	json_close(&j);
	json_open(&j, "empty", '{');
	json_close(&j);
	json_bool(&j, "yes", true);
	json_text(&j, "none", NULL);
	json_close(&j);
	assert_int_equal(j.error, 0);
	assert_int_equal(buffer_append(&buf, "", 1), 0);
	assert_string_equal((char *)buf.data, "{\"a\": \"x\\\"y\", \"list\": [-1, -9223372036854775808, 0, 18446744073709551615, 0.1, null, 1.500], "
					      "\"empty\": {}, \"yes\": true, \"none\": null}");
	buffer_release(&buf);
}

static void json_documents_indented(void **state)
{
	struct buffer buf = BUFFER_INIT;
	struct json_writer j = { .out = &buf };

	(void)state;
	json_open(&j, NULL, '{');
	json_open(&j, "list", '[');
	json_integer(&j, NULL, 1);
	json_integer(&j, NULL, 2);
	json_close(&j);
	json_close(&j);
	assert_int_equal(buffer_append(&buf, "", 1), 0);
	assert_string_equal((char *)buf.data, "{\n  \"list\": [\n    1,\n    2\n  ]\n}\n");
	buffer_release(&buf);
}

static void times_for_people(void **state)
{
	static const struct {
		int64_t ns;
		const char *us, *duration;
	} all[] = { { 0, "0.000", "0 ns" }, { 7, "0.007", "7 ns" }, { 1234567, "1234.567", "1.23 ms" }, { 45600, "45.600", "45.60 us" },
		    { 2500000000, "2500000.000", "2.500 s" } };
	char text[33] = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		text[text_us(text, all[i].ns)] = 0;
		assert_string_equal(text, all[i].us);
		assert_string_equal(text_duration(text, (double)all[i].ns), all[i].duration);
	}
	text[text_us(text, -1500)] = 0;
	assert_string_equal(text, "-1.500");
	text[text_us(text, INT64_MIN)] = 0;
	assert_string_equal(text, "-9223372036854775.808");
}

static void counts(void **state)
{
	char out[TEXT_COUNT_SIZE];

	(void)state;
	assert_string_equal(text_count(out, 0, "process", "processes"), "0 processes");
	assert_string_equal(text_count(out, 1, "process", "processes"), "1 process");
	assert_string_equal(text_count(out, 2000, "process", "processes"), "2,000 processes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_utf8),
		cmocka_unit_test(terminal_text_cannot_control),
		cmocka_unit_test(terminal_text_is_bounded),
		cmocka_unit_test(json_strings),
		cmocka_unit_test(csv_cells),
		cmocka_unit_test(csv_cells_are_no_formulas),
		cmocka_unit_test(finds_what_was_meant),
		cmocka_unit_test(integers),
		cmocka_unit_test(groups_digits),
		cmocka_unit_test(json_documents),
		cmocka_unit_test(json_documents_indented),
		cmocka_unit_test(times_for_people),
		cmocka_unit_test(counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
