/*
 * test-columns.c - names of any origin in so many columns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/columns.h"
#include "report/view.h"

#define DOTS "\u2026"

static void shows(const char *text, size_t size, struct columns_options options, const char *expected, int columns)
{
	struct buffer out = BUFFER_INIT;

	assert_int_equal(columns_append(&out, text, size, &options), columns);
	assert_int_equal(buffer_append(&out, "", 1), 0);
	assert_string_equal(out.data, expected);
	buffer_release(&out);
}

#define SHOWS(text, options, expected, columns) shows(text, sizeof(text) - 1, (struct columns_options)options, expected, columns)
#define END(n) { .columns = (n) }
#define MIDDLE(n) { .columns = (n), .cut = COLUMNS_CUT_MIDDLE }
#define ASCII(n) { .columns = (n), .ascii = true }

static void test_widths(void **state)
{
	(void)state;
	assert_int_equal(columns_of('a'), 1);
	assert_int_equal(columns_of(0x1b), -1);
	assert_int_equal(columns_of(0x7f), -1);
	assert_int_equal(columns_of(0xe9), 1);     /* e with acute */
	assert_int_equal(columns_of(0x4e2d), 2);   /* a Chinese character */
	assert_int_equal(columns_of(0xac00), 2);   /* Hangul */
	assert_int_equal(columns_of(0x1f600), 2);  /* a face */
	assert_int_equal(columns_of(0x301), 0);    /* an acute that joins */
	assert_int_equal(columns_of(0x2588), 1);   /* what bars are made of */
	assert_int_equal(columns_width("a\u4e2d\u0301", 6), 3);
}

static void test_plain_text_is_cut_at_its_end(void **state)
{
	(void)state;
	SHOWS("abcdef", END(0), "abcdef", 6);
	SHOWS("abcdef", END(6), "abcdef", 6);
	SHOWS("abcdef", END(5), "abcd" DOTS, 5);
	SHOWS("abcdef", END(1), DOTS, 1);
	SHOWS("abcdef", ASCII(5), "ab...", 5);
	SHOWS("abcdef", ASCII(3), "...", 3);
	SHOWS("abcdef", ASCII(2), "", 0); /* no room even for the dots */
	SHOWS("", END(5), "", 0);
}

static void test_or_in_its_middle(void **state)
{
	(void)state;
	SHOWS("abcdefghij", MIDDLE(10), "abcdefghij", 10);
	SHOWS("abcdefghij", MIDDLE(7), "abc" DOTS "hij", 7);
	SHOWS("abcdefghij", MIDDLE(6), "abc" DOTS "ij", 6);
	SHOWS("train.py:88 step", MIDDLE(9), "trai" DOTS "step", 9);
}

static void test_wide_characters_take_two(void **state)
{
	(void)state;
	SHOWS("\u4e2d\u6587\u5b57", END(6), "\u4e2d\u6587\u5b57", 6);
	SHOWS("\u4e2d\u6587\u5b57", END(5), "\u4e2d\u6587" DOTS, 5);
	SHOWS("\u4e2d\u6587\u5b57", END(4), "\u4e2d" DOTS, 3); /* half a character is none */
	SHOWS("\u4e2d\u6587\u5b57\u4e2d", MIDDLE(6), "\u4e2d" DOTS "\u4e2d", 5);
	SHOWS("\u4e2d", ASCII(0), "\\u{4e2d}", 8);
}

static void test_what_moves_the_cursor_is_escaped(void **state)
{
	(void)state;
	SHOWS("a\x1b[31mb", END(0), "a\\x1b[31mb", 10);
	SHOWS("a\nb\tc\r", END(0), "a\\nb\\tc\\r", 9);
	SHOWS("\xc2\x9b" "31m", END(0), "\\u{9b}31m", 9); /* CSI in one character */
	SHOWS("\u202eabc", END(0), "\\u{202e}abc", 11);
	SHOWS("a\0b", END(0), "a\\x00b", 6);
	SHOWS("\xff\xe4\xb8", END(0), "\\xff\\xe4\\xb8", 12);
	SHOWS("ab\x1b", END(5), "ab" DOTS, 3); /* an escape is never cut in two */
	SHOWS("ab\x1b", END(6), "ab\\x1b", 6);
}

static void test_marks_do_not_pile_up(void **state)
{
	(void)state;
	SHOWS("e\u0301", END(1), "e\u0301", 1);
	SHOWS("e\u0301\u0301\u0301x", END(0), "e\u0301\u0301\\u{301}x", 9);
}

static void test_a_huge_name_stays_short(void **state)
{
	struct columns_options end = END(40), middle = MIDDLE(40);
	size_t size = 1u << 20;
	char *name = malloc(size);
	struct buffer out = BUFFER_INIT;

	(void)state;
	assert_non_null(name);
	for (size_t i = 0; i < size; i += 2)
		memcpy(name + i, "\xcc\x81", 2); /* joins whatever stands before */
	assert_in_range(columns_append(&out, name, size, &end), 1, 40);
	assert_in_range(columns_append(&out, name, size, &middle), 1, 40);
	assert_in_range(out.size, 1, 400);
	buffer_release(&out);
	free(name);
}

static void test_any_bytes_fit(void **state)
{
	unsigned seed = 7;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		char bytes[24];
		struct buffer out = BUFFER_INIT;
		struct columns_options options = { .columns = 1 + round % 30, .cut = round / 30 % 2, .ascii = round / 60 % 2 };
		size_t size = round / 120 % sizeof bytes;
		int columns;

		for (size_t i = 0; i < size; i++)
			bytes[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
		columns = columns_append(&out, bytes, size, &options);
		assert_in_range(columns, 0, options.columns);
		assert_int_equal(columns_width((const char *)out.data, out.size), columns);
		for (size_t i = 0; i < out.size; i++)
			assert_true(out.data[i] >= 0x20 && out.data[i] != 0x7f && (!options.ascii || out.data[i] < 0x80));
		buffer_release(&out);
	}
}

/* ---- Lines -------------------------------------------------------------------- */

static void test_lines_count_their_columns(void **state)
{
	struct buffer out = BUFFER_INIT;
	struct view v = view_of(&(struct report_view_options){ .columns = 500, .color = true }, &out);

	(void)state;
	assert_int_equal(v.columns, 120);
	v.columns = 80;
	view_styled(&v, VIEW_BOLD, "ab");
	view_pad(&v, 6);
	view_put(&v, "%s", view_glyph(&v, VIEW_MINUS));
	assert_int_equal(v.at, 7);
	view_name(&v, "\u4e2d\u6587\u5b57", 9, 5, COLUMNS_CUT_END);
	assert_int_equal(v.at, 12);
	assert_int_equal(view_left(&v), 68);
	view_pad(&v, 3);
	assert_int_equal(v.at, 13);
	assert_int_equal(buffer_append(&out, "", 1), 0);
	assert_string_equal(out.data, "\033[1mab\033[0m    \u2212\u4e2d\u6587\u2026 ");
	assert_int_equal(v.error, 0);
	buffer_release(&out);
}

static void test_bars_are_as_long_as_they_say(void **state)
{
	(void)state;
	for (int ascii = 0; ascii < 2; ascii++)
		for (int i = -1; i <= 102; i++) {
			struct buffer out = BUFFER_INIT;
			struct view v = view_of(&(struct report_view_options){ .ascii = ascii }, &out);

			view_bar(&v, i / 100.0, 25);
			assert_int_equal(v.at, view_bar_columns(&v, i / 100.0, 25));
			assert_in_range(v.at, i > 0, 25);
			buffer_release(&out);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_plain_text_is_cut_at_its_end),
		cmocka_unit_test(test_or_in_its_middle),
		cmocka_unit_test(test_wide_characters_take_two),
		cmocka_unit_test(test_what_moves_the_cursor_is_escaped),
		cmocka_unit_test(test_marks_do_not_pile_up),
		cmocka_unit_test(test_a_huge_name_stays_short),
		cmocka_unit_test(test_any_bytes_fit),
		cmocka_unit_test(test_lines_count_their_columns),
		cmocka_unit_test(test_bars_are_as_long_as_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
