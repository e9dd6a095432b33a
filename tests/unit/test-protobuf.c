/*
 * test-protobuf.c - the reader of Protocol Buffers' wire format, and what the
 * Perfetto importer reports of a file with faults.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/import.h"
#include "import/importer.h"
#include "import/protobuf.h"

static struct cursor bytes(const char *data, size_t size)
{
	return cursor_of(data, size);
}
#define BYTES(text) bytes(text, sizeof(text) - 1)

static void test_every_wire_type(void **state)
{
	struct cursor c = BYTES("\x08\x96\x01"                         /* 1: 150 */
				"\x11\x01\x02\x03\x04\x05\x06\x07\x08" /* 2: fixed64 */
				"\x1a\x03"
				"abc"                  /* 3: bytes */
				"\x25\x01\x02\x03\x04" /* 4: fixed32 */
				"\xc2\xbb\x01\x00");   /* 3000: no bytes */
	struct pb_field f;

	(void)state;
	assert_int_equal(pb_next(&c, &f), 1);
	assert_int_equal(f.number, 1);
	assert_int_equal(f.value, 150);
	assert_null(f.data);
	assert_int_equal(pb_next(&c, &f), 1);
	assert_true(f.value == 0x0807060504030201);
	assert_int_equal(pb_next(&c, &f), 1);
	assert_int_equal(f.size, 3);
	assert_memory_equal(f.data, "abc", 3);
	assert_int_equal(f.value, 0);
	assert_int_equal(pb_next(&c, &f), 1);
	assert_int_equal(f.value, 0x04030201);
	assert_int_equal(pb_next(&c, &f), 1);
	assert_int_equal(f.number, 3000);
	assert_int_equal(f.size, 0);
	assert_int_equal(pb_next(&c, &f), 0);
	assert_int_equal(pb_next(&c, &f), 0);
}

static void test_negative_numbers(void **state)
{
	struct cursor c = BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x11\x00\x00\x00\x00\x00\x00\xe0\xbf");
	struct pb_field f;

	(void)state;
	assert_int_equal(pb_next(&c, &f), 1);
	assert_true((int64_t)f.value == -1);
	assert_true(pb_double(&f) == 0); /* it is none */
	assert_int_equal(pb_next(&c, &f), 1);
	assert_true(pb_double(&f) == -0.5);
	assert_true(pb_bits_of_double(-0.5) == f.value);
}

static void test_malformed(void **state)
{
	static const struct {
		const char *data;
		size_t size;
	} rows[] = {
#define ROW(text) { text, sizeof(text) - 1 }
		ROW("\x08"),         /* no value */
		ROW("\x08\x80"),     /* half a value */
		ROW("\x80"),         /* half a tag */
		ROW("\x00\x01"),     /* field 0 */
		ROW("\x0e\x01"),     /* wire type 6 */
		ROW("\x0f\x01"),     /* wire type 7 */
		ROW("\x0c"),         /* the end of a group that did not begin */
		ROW("\x0b\x08\x01"), /* a group without an end */
		ROW("\x0a\x05"
		    "abc"),                                          /* longer than what is left */
		ROW("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* 2^64 - 1 bytes */
		ROW("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), /* more than 64 bits */
		ROW("\x09\x01\x02\x03"),                             /* short fixed64 */
		ROW("\x0d\x01\x02\x03"),                             /* short fixed32 */
		ROW("\xf8\xff\xff\xff\xff\x01\x01"),                 /* a field number that is none */
#undef ROW
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct cursor c = bytes(rows[i].data, rows[i].size);
		struct pb_field f = { .number = 77 };

		assert_int_equal(pb_next(&c, &f), -EBADMSG);
		assert_int_equal(f.number, 77);
	}
}

static void test_groups_are_passed_over(void **state)
{
	struct cursor c = BYTES("\x0b\x08\x01\x13\x12\x02hi\x14\x0c\x10\x05");
	uint8_t deep[200];
	struct pb_field f;

	(void)state;
	assert_int_equal(pb_next(&c, &f), 1);
	assert_int_equal(f.number, 2);
	assert_int_equal(f.value, 5);
	memset(deep, 0x0b, 100);
	memset(deep + 100, 0x0c, 100);
	c = cursor_of(deep, sizeof deep);
	assert_int_equal(pb_next(&c, &f), -EBADMSG);
	c = cursor_of(deep + 100 - PB_GROUP_DEPTH_MAX, 2 * PB_GROUP_DEPTH_MAX);
	assert_int_equal(pb_next(&c, &f), 0);
}

static void test_repeated_numbers(void **state)
{
	struct cursor c = BYTES("\x08\x07\x0a\x04\x01\x80\x01\x02\x0a\x02\x05\x80"
				"\x12\x09\x01\x00\x00\x00\x00\x00\x00\x00\x02");
	static const uint64_t expected[] = { 7, 1, 128, 2, 5 };
	struct pb_field f;
	size_t count = 0;
	uint64_t value;

	(void)state;
	while (pb_next(&c, &f) > 0 && f.number == 1) {
		struct pb_numbers n = pb_numbers_of(&f, PB_VARINT);

		while (pb_number(&n, &value))
			assert_true(value == expected[count++]);
		assert_false(pb_number(&n, &value));
	}
	assert_int_equal(count, 5); /* the cut one at the end is none */
	{
		struct pb_numbers n = pb_numbers_of(&f, PB_FIXED64);

		assert_true(pb_number(&n, &value));
		assert_true(value == 1);
		assert_false(pb_number(&n, &value));
	}
}

/* ---- Reports of the importer --------------------------------------------------- */

static struct import_report import_bytes(const void *data, size_t size)
{
	int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
	struct import_options options = { 0 };
	struct import_reports reports;
	struct import_report report;
	struct import *im;
	struct error err = { 0 };
	char path[64];

	assert_true(in >= 0 && out >= 0);
	assert_int_equal(write(in, data, size), size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", in);
	assert_int_equal(import_open(&im, out, &options, &err), 0);
	assert_int_equal(import_add(im, path, &err), 0);
	assert_int_equal(import_close(im, &reports, &err), 0);
	assert_int_equal(reports.count, 1);
	report = reports.files[0];
	report.path = NULL;
	import_reports_release(&reports);
	close(in);
	assert_int_equal(report.format, IMPORT_PERFETTO);
	return report;
}

/* A packet of sequence 1 at time 5: an instant whose name is number 12, which nobody gave. */
#define UNKNOWN "\x0a\x0a\x40\x05\x50\x01\x5a\x04\x48\x03\x50\x0c"
/* The same, with a name. */
#define NAMED "\x0a\x0c\x40\x06\x50\x01\x5a\x06\x48\x03\xba\x01\x01n"

static void test_report_of_a_whole_file(void **state)
{
	static const char data[] = NAMED NAMED;
	struct import_report r = import_bytes(data, sizeof data - 1);

	(void)state;
	assert_int_equal(r.events, 2);
	assert_int_equal(r.bytes, sizeof data - 1);
	assert_int_equal(r.skipped + r.repaired + r.cut + r.damage_count, 0);
	assert_false(r.truncated);
}

static void test_report_of_faults(void **state)
{
	static const char data[] =
		NAMED "\xff\xff\xff\xff\xff\xff\xff\xff" NAMED "\x0a\x03\x40\x80\x80" UNKNOWN "\x0a\x20\x40\x05";
	const size_t named = sizeof NAMED - 1, unknown = sizeof UNKNOWN - 1;
	struct import_report r = import_bytes(data, sizeof data - 1);

	(void)state;
	assert_int_equal(r.events, 3);
	assert_int_equal(r.repaired, 1);
	assert_int_equal(r.skipped, 1);
	assert_true(r.truncated);
	assert_int_equal(r.damage_count, 3);
	assert_int_equal(r.damage[0].offset, named);
	assert_int_equal(r.damage[0].size, 8);
	assert_string_equal(r.damage[0].reason, "bytes that are no packets");
	assert_int_equal(r.damage[1].offset, 2 * named + 8);
	assert_int_equal(r.damage[1].size, 5);
	assert_string_equal(r.damage[1].reason, "a packet that cannot be read");
	assert_int_equal(r.damage[2].offset, 2 * named + 8 + 5 + unknown);
	assert_string_equal(r.damage[2].reason, "the file ends inside a packet");
}

static void test_detection(void **state)
{
	static const char *const not_ours[] = { "\n\n\n",      "\n{\"traceEvents\": []}", "SQLite format 3",
						"\n\x05hello", "\n\x02\x08\x01",          "\n" };

	(void)state;
	assert_true(perfetto_importer.detect((const uint8_t *)NAMED, sizeof NAMED - 1));
	assert_true(perfetto_importer.detect((const uint8_t *)NAMED, sizeof NAMED - 3));
	for (size_t i = 0; i < sizeof not_ours / sizeof not_ours[0]; i++)
		assert_false(perfetto_importer.detect((const uint8_t *)not_ours[i], strlen(not_ours[i])));
	assert_false(perfetto_importer.detect((const uint8_t *)"", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_wire_type),  cmocka_unit_test(test_negative_numbers),
		cmocka_unit_test(test_malformed),        cmocka_unit_test(test_groups_are_passed_over),
		cmocka_unit_test(test_repeated_numbers), cmocka_unit_test(test_report_of_a_whole_file),
		cmocka_unit_test(test_report_of_faults), cmocka_unit_test(test_detection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
