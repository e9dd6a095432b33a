/* test-export-json.c - numbers, strings and values as JSON, lanes, and whole exports of traces written for the purpose. */
#include <math.h>

#include "trace-fixture.h"

#include "base/msgpack.h"
#include "base/text.h"
#include "export/json_export.h"

/* ---- An export in memory ------------------------------------------------------- */

struct sink {
	struct buffer text;
	struct export_out out;
};

static int keep(void *arg, const void *data, size_t size)
{
	return buffer_append(arg, data, size);
}

static void sink_open(struct sink *s)
{
	s->text = (struct buffer)BUFFER_INIT;
	assert_int_equal(export_out_init(&s->out, keep, &s->text, EXPORT_PLAIN), 0);
}

/* What was written, with a NUL. */
static const char *sink_text(struct sink *s)
{
	assert_int_equal(export_out_finish(&s->out), 0);
	assert_int_equal(buffer_append(&s->text, "", 1), 0);
	return (const char *)s->text.data;
}

static void sink_close(struct sink *s)
{
	export_out_release(&s->out);
	buffer_release(&s->text);
}

/* ---- Numbers and strings --------------------------------------------------------- */

static void numbers(void **state)
{
	static const int64_t times[] = { 0, 1, 999, 1000, 1234567, -1, -1500, INT64_MAX, INT64_MIN };
	static const double doubles[] = { 0,    1,     -1,     0.5,           4.740741, 75.851852, 1268.4387096774194,
					  1e15, 1e300, 5e-324, 123456.000001, -0.25,    1e-7 };
	struct sink s;

	(void)state;
	sink_open(&s);
	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
		json_us_to(&s.out, times[i]);
		JSON(&s.out, " ");
	}
	for (uint64_t n = 1; n <= UINT64_MAX / 1000; n *= 1000) {
		json_unsigned_to(&s.out, n);
		JSON(&s.out, " ");
		json_unsigned_to(&s.out, n - 1);
		JSON(&s.out, " ");
	}
	json_unsigned_to(&s.out, UINT64_MAX);
	JSON(&s.out, " ");
	json_signed_to(&s.out, INT64_MIN);
	for (size_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++) {
		JSON(&s.out, " ");
		json_double_to(&s.out, doubles[i]);
	}
	JSON(&s.out, " ");
	json_double_to(&s.out, NAN);
	assert_string_equal(sink_text(&s),
			    "0.000 0.001 0.999 1.000 1234.567 -0.001 -1.500 9223372036854775.807 -9223372036854775.808 "
			    "1 0 1000 999 1000000 999999 1000000000 999999999 1000000000000 999999999999 1000000000000000 "
			    "999999999999999 "
			    "18446744073709551615 -9223372036854775808 "
			    "0 1 -1 0.5 4.740741 75.851852 1268.4387096774194 1e+15 1e+300 4.94065645841247e-324 123456.000001 "
			    "-0.25 1e-07 null");
	sink_close(&s);
}

/* What is read back is what was written, for numbers of all sizes. */
static void doubles_come_back(void **state)
{
	uint64_t seed = 88172645463325252u;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct sink s;
		double value;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		value = i % 2 ? (double)(seed % 1000000000) / 1e6 : (double)(int64_t)seed / (double)(1 + (seed >> 40));
		sink_open(&s);
		json_double_to(&s.out, value);
		assert_true(strtod(sink_text(&s), NULL) == value);
		sink_close(&s);
	}
}

static void strings(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		const char *json;
	} cases[] = {
		{ "", 0, "\"\"" },
		{ "plain, of more than eight", 25, "\"plain, of more than eight\"" },
		{ "12345678\"", 9, "\"12345678\\\"\"" },
		{ "\\", 1, "\"\\\\\"" },
		{ "a\0b", 3, "\"a\\u0000b\"" },
		{ "\n\x01\x7f", 3, "\"\\n\\u0001\\u007f\"" },
		{ "\xff\xfe", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xc3\xa9\xf0\x9f\x98\x80", 6, "\"\xc3\xa9\xf0\x9f\x98\x80\"" },
		{ "cut off \xe2\x82", 10, "\"cut off \xef\xbf\xbd\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct sink s;

		sink_open(&s);
		json_quoted_to(&s.out, cases[i].text, cases[i].size);
		assert_string_equal(sink_text(&s), cases[i].json);
		sink_close(&s);
	}
}

/* Each byte, at each place of a word, is written as the careful way would. */
static void every_byte_everywhere(void **state)
{
	char text[20];

	(void)state;
	for (unsigned byte = 0; byte < 256; byte++)
		for (size_t at = 0; at < sizeof text; at++) {
			struct sink s;
			struct buffer careful = BUFFER_INIT;

			memset(text, 'x', sizeof text);
			text[at] = (char)byte;
			sink_open(&s);
			json_quoted_to(&s.out, text, sizeof text);
			assert_int_equal(text_append_json(&careful, text, sizeof text), 0);
			assert_int_equal(s.out.buf.size, careful.size);
			assert_memory_equal(s.out.buf.data, careful.data, careful.size);
			buffer_release(&careful);
			sink_close(&s);
		}
}

/* ---- Values ------------------------------------------------------------------------ */

static void value_becomes(const char *bytes, size_t size, const char *json)
{
	struct cursor c = cursor_of(bytes, size);
	struct sink s;

	sink_open(&s);
	JSON(&s.out, "|");
	assert_int_equal(json_value_to(&s.out, &c), json != NULL);
	assert_string_equal(sink_text(&s) + 1, json ? json : "");
	sink_close(&s);
}
#define VALUE(bytes, json) value_becomes(bytes, sizeof(bytes) - 1, json)

static void values(void **state)
{
	char deep[64];

	(void)state;
	VALUE("\x82\xa1"
	      "a\x01\xa1"
	      "b\x93\xc0\xc3\xcd\x01\x00",
	      "{\"a\":1,\"b\":[null,true,256]}");
	VALUE("\x81\x05\xa1x", "{\"5\":\"x\"}");
	VALUE("\x81\xc0\xc2", "{\"null\":false}");
	VALUE("\x81\x91\x01\x02", "{\"[1]\":2}");
	VALUE("\xc4\x02\xff\x00", "\"ff00\"");
	VALUE("\xd4\x01\x02", "null");
	VALUE("\xcb\x7f\xf8\0\0\0\0\0\0", "null");
	VALUE("\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615");
	VALUE("\xd9\x03"
	      "a\"b",
	      "\"a\\\"b\"");
	/* not well-formed: nothing is written */
	VALUE("", NULL);
	VALUE("\xa5"
	      "abc",
	      NULL);
	VALUE("\xd9", NULL);
	VALUE("\xcd\x01", NULL);
	VALUE("\x92\x01", NULL);
	VALUE("\x81\xa1"
	      "a",
	      NULL);
	VALUE("\xc1", NULL);
	VALUE("\xdd\xff\xff\xff\xff\x01", NULL);
	memset(deep, 0x91, sizeof deep);
	value_becomes(deep, sizeof deep, NULL);
}

/* ---- Lanes and ids ------------------------------------------------------------------- */

static void lanes_in_order(void **state)
{
	struct json_lanes l = { 0 };

	(void)state;
	assert_int_equal(json_lanes_of(&l, 3, 0, 100, true), 0);
	assert_int_equal(json_lanes_of(&l, 3, 10, 50, true), 0);    /* inside */
	assert_int_equal(json_lanes_of(&l, 3, 40, 60, true), 1);    /* crosses */
	assert_int_equal(json_lanes_of(&l, 3, 55, 70, true), 0);    /* of the first lane only the outer one is left */
	assert_int_equal(json_lanes_of(&l, 3, 65, 80, true), 1);
	assert_int_equal(json_lanes_of(&l, 3, 66, 90, true), 2);    /* crosses both */
	assert_int_equal(json_lanes_of(&l, 3, 100, 200, true), 0);  /* where the first ends */
	assert_int_equal(json_lanes_of(&l, 4, 40, 60, true), 0);    /* another row */
	assert_int_equal(json_lanes_of(&l, 3, 50, 150, true), 0);   /* late: not judged */
	assert_int_equal(json_lanes_of(&l, 3, 150, 250, false), 0); /* nor this */
	json_lanes_release(&l);
}

static void lanes_in_any_order(void **state)
{
	static const int64_t slices[][2] = { { 40, 60 }, { 10, 50 }, { 0, 100 }, { 65, 80 }, { 55, 70 } };
	static const int expected[] = { 1, 0, 0, 1, 0 };
	struct json_lanes l = { 0 };

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(json_lanes_gather(&l, 7, slices[i][0], slices[i][1]), 0);
	assert_int_equal(json_lanes_settle(&l), 0);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(json_lanes_of(&l, 7, slices[i][0], slices[i][1], true), expected[i]);
	json_lanes_release(&l);
}

/* However many cross: there are so many lanes, and every slice is on one. */
static void lanes_have_a_limit(void **state)
{
	struct json_lanes l = { 0 };
	unsigned seen[JSON_LANES] = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(json_lanes_gather(&l, 0, i, 5000 + i), 0);
	assert_int_equal(json_lanes_settle(&l), 0);
	for (int i = 0; i < 1000; i++) {
		int lane = json_lanes_of(&l, 0, i, 5000 + i, true);

		assert_in_range(lane, 0, JSON_LANES - 1);
		seen[lane]++;
	}
	for (unsigned i = 0; i + 1 < JSON_LANES; i++)
		assert_int_equal(seen[i], 1);
	json_lanes_release(&l);
}

static void ids_are_unique(void **state)
{
	(void)state;
	assert_int_equal(json_unique(0, 34417), 34417);
	assert_int_equal(json_unique(2, 34417), (UINT64_C(2) << 32) + 34417);
	for (uint64_t group = 0; group < 3; group++)
		assert_in_range(json_unique(group, UINT64_MAX - group), UINT64_C(1) << 52, (UINT64_C(1) << 53) - 1);
	assert_true(json_unique(0, UINT64_MAX) != json_unique(1, UINT64_MAX));
}

/* ---- Whole traces ----------------------------------------------------------------------- */

static struct fixture f;

/* Process 100 with thread 101 (track 0), stream 7 of device 0 (track 1), and a second process of the same number with a thread of
 * the same number (track 2). */
static void begin_trace(void)
{
	fixture_open(&f, NULL);
	for (uint32_t i = 0; i < 2; i++)
		trace_writer_process(f.w, &(struct trace_process){ .id = i, .pid = 100, .parent = -1, .rank = -1 });
	trace_writer_clock(f.w, &(struct trace_clock){ .id = 0, .kind = CLOCK_KIND_NANOSECONDS, .rate = 1000000000 });
	trace_writer_device(f.w, &(struct trace_device){ .id = 0, .index = 0, .kind = 1 });
	trace_writer_track(f.w, &(struct trace_track){ .id = 0, .kind = TRACK_THREAD, .os_id = 101, .device = -1, .parent = -1 });
	trace_writer_track(f.w, &(struct trace_track){ .id = 1, .kind = TRACK_STREAM, .os_id = 7, .parent = -1 });
	trace_writer_track(f.w, &(struct trace_track){ .id = 2, .kind = TRACK_THREAD, .process = 1, .os_id = 101, .device = -1,
						       .parent = -1 });
}

static void put_whole(uint32_t track, uint64_t begin, uint64_t end, unsigned kind, const char *name, size_t size)
{
	struct event_slot slot = { .time = begin, .name = trace_writer_string(f.w, name, size), .cpu = EVENT_CPU_UNKNOWN,
				   .kind = (uint8_t)kind, .value = end - begin,
				   .flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0) };

	assert_int_equal(trace_writer_event(f.w, track, &slot, NULL, 0, NULL), 0);
}

/* The events of the export, without what is before them. */
static const char *export_events(struct sink *s, bool kineto)
{
	const struct export_options options = EXPORT_OPTIONS_INIT;
	struct trace_reader *r;
	struct error err = { 0 };
	const char *text;

	fixture_finish(&f);
	r = fixture_read(&f);
	sink_open(s);
	assert_int_equal(json_export_write(r, &options, &s->out, kineto, &err), 0);
	trace_reader_close(r);
	fixture_close(&f);
	text = strstr(sink_text(s), "\"traceEvents\":[");
	assert_non_null(text);
	return text + 15;
}

static void a_stream_for_viewers(void **state)
{
	struct sink s;
	const char *text;

	(void)state;
	begin_trace();
	put_whole(1, 1000, 3000, EVENT_GPU_KERNEL, "k", 1);
	put_whole(1, 2000, 4000, EVENT_GPU_KERNEL, "l", 1);
	put_whole(1, 2500, 2501, EVENT_MEMSET, "m", 1);
	text = export_events(&s, false);
	assert_non_null(strstr(text, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":81,\"ts\":1.000,"
				     "\"dur\":2.000,\"args\":{\"device\":0,\"stream\":7}}"));
	assert_non_null(strstr(text, "\"name\":\"l\",\"pid\":0,\"tid\":82,\"ts\":2.000")); /* on the next lane */
	assert_non_null(strstr(text, "\"name\":\"m\",\"pid\":0,\"tid\":97,\"ts\":2.500"));
	assert_non_null(strstr(text, "\"name\":\"thread_name\",\"pid\":0,\"tid\":82,"
				     "\"args\":{\"name\":\"stream 7 compute (overlapping 1)\"}"));
	assert_non_null(strstr(text, "\"name\":\"thread_name\",\"pid\":0,\"tid\":97,\"args\":{\"name\":\"stream 7 memory\"}"));
	sink_close(&s);
}

static void a_stream_for_torch(void **state)
{
	struct sink s;
	const char *text;

	(void)state;
	begin_trace();
	put_whole(1, 1000, 3000, EVENT_GPU_KERNEL, "k", 1);
	put_whole(1, 2000, 4000, EVENT_GPU_KERNEL, "l", 1);
	put_whole(0, 500, 600, EVENT_OP, "aten::add", 9);
	put_whole(2, 500, 600, EVENT_OP, "aten::mul", 9);
	text = export_events(&s, true);
	assert_non_null(strstr(text, "\"name\":\"k\",\"pid\":0,\"tid\":7,"));
	assert_non_null(strstr(text, "\"name\":\"l\",\"pid\":0,\"tid\":7,"));
	assert_non_null(strstr(text, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":100,\"tid\":101,"
				     "\"ts\":0.500,\"dur\":0.100}"));
	assert_non_null(strstr(text, "\"name\":\"aten::mul\",\"pid\":4194404,\"tid\":101,"));
	sink_close(&s);
}

static void nothing_at_all(void **state)
{
	struct sink s;

	(void)state;
	begin_trace();
	put_whole(0, 1, 2, EVENT_CLOCK_PAIR, "", 0);
	assert_non_null(strstr(export_events(&s, false), "\"cat\":\"clock_pair\",\"name\":\"\""));
	sink_close(&s);
}

static void put_with_metadata(uint64_t time, const char *metadata, size_t size)
{
	struct event_slot slot = { .time = time, .name = trace_writer_string(f.w, "e", 1), .cpu = EVENT_CPU_UNKNOWN,
				   .kind = EVENT_INSTANT, .flags = EVENT_FLAGS(PHASE_INSTANT, 0, 0) };
	uint8_t extra[128] = { FIELD_METADATA, (uint8_t)size, 0 };

	assert_true(size < sizeof extra - 3);
	memcpy(extra + 3, metadata, size);
	assert_int_equal(trace_writer_event(f.w, 0, &slot, extra, 3 + size, NULL), 0);
}
#define METADATA(time, bytes) put_with_metadata(time, bytes, sizeof(bytes) - 1)

/* Arguments up to where they are not well-formed, and what says how the event itself was. */
static void arguments(void **state)
{
	struct sink s;
	const char *text;

	(void)state;
	begin_trace();
	METADATA(1000, "\x82\xa1"
		       "a\x01\xa1"
		       "b\xa5x");
	METADATA(2000, "\x81\xa1");
	METADATA(3000, "\x05");
	METADATA(4000, "\x83\xa3"
		       "cat\xa1x\xa8"
		       "chrome_s\xa1g\xa1"
		       "c\x92\x01\xc0");
	METADATA(5000, "\x82\xaa"
		       "chrome_pid\xa5"
		       "Spans\xaa"
		       "chrome_tid\x09");
	METADATA(6000, "\x81\xa3"
		       "cat\x01"); /* a number is an argument */
	text = export_events(&s, true);
	assert_non_null(strstr(text, "\"pid\":100,\"tid\":101,\"ts\":1.000,\"args\":{\"a\":1}}"));
	assert_non_null(strstr(text, "\"pid\":100,\"tid\":101,\"ts\":2.000}"));
	assert_non_null(strstr(text, "\"pid\":100,\"tid\":101,\"ts\":3.000}"));
	assert_non_null(strstr(text, "{\"ph\":\"i\",\"cat\":\"x\",\"name\":\"e\",\"s\":\"g\",\"pid\":100,\"tid\":101,"
				     "\"ts\":4.000,\"args\":{\"c\":[1,null]}}"));
	assert_non_null(strstr(text, "\"pid\":\"Spans\",\"tid\":9,\"ts\":5.000}"));
	assert_non_null(strstr(text, "\"ts\":6.000,\"args\":{\"cat\":1}}"));
	sink_close(&s);
}

/* A megabyte of bytes that are no text, and every byte there is. */
static void hostile_names(void **state)
{
	char *long_name = malloc(1 << 20), bytes[256];
	struct sink s;
	const char *text;

	(void)state;
	assert_non_null(long_name);
	memset(long_name, 0xff, 1 << 20);
	for (unsigned i = 0; i < 256; i++)
		bytes[i] = (char)i;
	begin_trace();
	put_whole(0, 1, 2, EVENT_SCOPE, long_name, 1 << 20);
	put_whole(0, 3, 4, EVENT_SCOPE, bytes, sizeof bytes);
	text = export_events(&s, false);
	assert_non_null(strstr(text, "\\u0000\\u0001"));
	for (; *text; text++)
		assert_true((uint8_t)*text >= 0x20 || *text == '\n');
	assert_true(s.text.size > 3 << 20);
	sink_close(&s);
	free(long_name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(doubles_come_back),
		cmocka_unit_test(strings),
		cmocka_unit_test(every_byte_everywhere),
		cmocka_unit_test(values),
		cmocka_unit_test(lanes_in_order),
		cmocka_unit_test(lanes_in_any_order),
		cmocka_unit_test(lanes_have_a_limit),
		cmocka_unit_test(ids_are_unique),
		cmocka_unit_test(a_stream_for_viewers),
		cmocka_unit_test(a_stream_for_torch),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(arguments),
		cmocka_unit_test(hostile_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
