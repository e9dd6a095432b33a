/* test-msgpack.c - every form of every type, and hostile bytes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/msgpack.h"

static void expect_bytes(struct buffer *buf, const char *bytes, size_t size)
{
	assert_int_equal(buf->size, size);
	assert_memory_equal(buf->data, bytes, size);
	buffer_clear(buf);
}

static void writes_the_shortest_form(void **state)
{
	struct buffer b = BUFFER_INIT;

	(void)state;
	msgpack_write_nil(&b);
	msgpack_write_bool(&b, true);
	msgpack_write_bool(&b, false);
	expect_bytes(&b, "\xc0\xc3\xc2", 3);
	msgpack_write_uint(&b, 127);
	msgpack_write_uint(&b, 128);
	msgpack_write_uint(&b, 256);
	msgpack_write_uint(&b, 65536);
	expect_bytes(&b, "\x7f\xcc\x80\xcd\x01\x00\xce\x00\x01\x00\x00", 11);
	msgpack_write_uint(&b, UINT64_MAX);
	expect_bytes(&b, "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", 9);
	msgpack_write_int(&b, -1);
	msgpack_write_int(&b, -32);
	msgpack_write_int(&b, -33);
	msgpack_write_int(&b, -129);
	msgpack_write_int(&b, -32769);
	expect_bytes(&b, "\xff\xe0\xd0\xdf\xd1\xff\x7f\xd2\xff\xff\x7f\xff", 12);
	msgpack_write_int(&b, INT64_MIN);
	expect_bytes(&b, "\xd3\x80\x00\x00\x00\x00\x00\x00\x00", 9);
	msgpack_write_double(&b, 1.5);
	expect_bytes(&b, "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00", 9);
	msgpack_write_text(&b, "hi");
	msgpack_write_bytes(&b, "\x01\x02", 2);
	expect_bytes(&b, "\xa2hi\xc4\x02\x01\x02", 7);
	msgpack_write_array(&b, 15);
	msgpack_write_array(&b, 16);
	msgpack_write_map(&b, 15);
	msgpack_write_map(&b, 65536);
	expect_bytes(&b, "\x9f\xdc\x00\x10\x8f\xdf\x00\x01\x00\x00", 10);
	buffer_release(&b);
}

static void reads_back_numbers(void **state)
{
	const int64_t numbers[] = { 0,
				    127,
				    128,
				    255,
				    256,
				    65535,
				    65536,
				    -1,
				    -32,
				    -33,
				    -128,
				    -129,
				    -32768,
				    -32769,
				    INT32_MAX,
				    INT32_MIN,
				    (int64_t)UINT32_MAX,
				    INT64_MAX,
				    INT64_MIN };

	(void)state;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct buffer b = BUFFER_INIT;
		struct msgpack_value v;
		struct cursor c;

		msgpack_write_int(&b, numbers[i]);
		c = cursor_of(b.data, b.size);
		assert_int_equal(msgpack_read(&c, &v), 0);
		assert_int_equal(v.type, MSGPACK_INT);
		assert_int_equal(v.integer, numbers[i]);
		assert_int_equal(cursor_left(&c), 0);
		buffer_release(&b);
	}
}

static void reads_forms_it_does_not_write(void **state)
{
	struct cursor c =
		cursor_of("\xca\x3f\xc0\x00\x00\xd4\x05\x09\xcf\xff\xff\xff\xff\xff\xff\xff\xff\xd9\x01x", 20);
	struct msgpack_value v;

	(void)state;
	assert_int_equal(msgpack_read(&c, &v), 0);
	assert_int_equal(v.type, MSGPACK_DOUBLE);
	assert_true(v.number == 1.5);
	assert_int_equal(msgpack_read(&c, &v), 0);
	assert_int_equal(v.type, MSGPACK_EXTENSION);
	assert_int_equal(v.size, 1);
	assert_int_equal(v.data[0], 9);
	assert_int_equal(msgpack_read(&c, &v), 0);
	assert_int_equal(v.type, MSGPACK_UINT);
	assert_true(v.natural == UINT64_MAX);
	assert_int_equal(msgpack_read(&c, &v), 0);
	assert_int_equal(v.type, MSGPACK_STRING);
	assert_int_equal(v.size, 1);
	assert_int_equal(v.data[0], 'x');
}

static void write_sample(struct buffer *b)
{
	char text[300];

	memset(text, 'x', sizeof text);
	msgpack_write_map(b, 6);
	msgpack_write_text(b, "a");
	msgpack_write_array(b, 3);
	msgpack_write_int(b, -5);
	msgpack_write_double(b, 0.1);
	msgpack_write_nil(b);
	msgpack_write_text(b, "quote\"\n");
	msgpack_write_bool(b, true);
	msgpack_write_int(b, 7);
	msgpack_write_uint(b, UINT64_MAX);
	msgpack_write_text(b, "bytes");
	msgpack_write_bytes(b, "\x00\xff", 2);
	msgpack_write_text(b, "bad");
	msgpack_write_string(b, "\xff", 1);
	msgpack_write_text(b, "long");
	msgpack_write_string(b, text, 3);
}

static void to_json(void **state)
{
	static const char expected[] = "{\"a\": [-5, 0.1, null], \"quote\\\"\\n\": true, \"7\": 18446744073709551615, "
				       "\"bytes\": \"00ff\", \"bad\": \"\xef\xbf\xbd\", \"long\": \"xxx\"}";
	struct buffer b = BUFFER_INIT, json = BUFFER_INIT;

	(void)state;
	write_sample(&b);
	assert_int_equal(msgpack_to_json(b.data, b.size, &json), 0);
	buffer_append(&json, "", 1);
	assert_string_equal((char *)json.data, expected);
	buffer_release(&b);
	buffer_release(&json);
}

static void a_cut_value_is_refused(void **state)
{
	struct buffer b = BUFFER_INIT, json = BUFFER_INIT;

	(void)state;
	write_sample(&b);
	assert_int_equal(msgpack_validate(b.data, b.size), 0);
	for (size_t size = 0; size < b.size; size++) {
		uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees reads past the end */

		memcpy(exact, b.data, size);
		assert_int_equal(msgpack_validate(exact, size), -EBADMSG);
		assert_int_equal(msgpack_to_json(exact, size, &json), -EBADMSG);
		assert_int_equal(json.size, 0);
		free(exact);
	}
	buffer_append(&b, "\xc0", 1);
	assert_int_equal(msgpack_validate(b.data, b.size), -EBADMSG);
	buffer_release(&b);
	buffer_release(&json);
}

static void nesting_is_bounded(void **state)
{
	uint8_t nested[100];

	(void)state;
	memset(nested, 0x91, sizeof nested);
	nested[MSGPACK_DEPTH_MAX - 1] = 0xc0;
	assert_int_equal(msgpack_validate(nested, MSGPACK_DEPTH_MAX), 0);
	nested[MSGPACK_DEPTH_MAX - 1] = 0x91;
	nested[MSGPACK_DEPTH_MAX] = 0xc0;
	assert_int_equal(msgpack_validate(nested, MSGPACK_DEPTH_MAX + 1), -EBADMSG);
}

static void claims_are_not_believed(void **state)
{
	(void)state;
	assert_int_equal(msgpack_validate("\xdd\xff\xff\xff\xff\xc0", 6), -EBADMSG);
	assert_int_equal(msgpack_validate("\xdf\xff\xff\xff\xff\xc0\xc0", 7), -EBADMSG);
	assert_int_equal(msgpack_validate("\xdb\xff\xff\xff\xffx", 6), -EBADMSG);
	assert_int_equal(msgpack_validate("\xc6\xff\xff\xff\xffx", 6), -EBADMSG);
	assert_int_equal(msgpack_validate("\xc1", 1), -EBADMSG); /* means nothing */
}

/* Quoting inside quoting would double with each level. */
static void maps_as_keys_stay_short(void **state)
{
	struct buffer b = BUFFER_INIT, json = BUFFER_INIT;

	(void)state;
	for (int i = 0; i < 20; i++)
		msgpack_write_map(&b, 1);
	msgpack_write_text(&b, "k");
	for (int i = 0; i < 20; i++)
		msgpack_write_int(&b, 1);
	assert_int_equal(msgpack_to_json(b.data, b.size, &json), 0);
	buffer_append(&json, "", 1);
	assert_string_equal((char *)json.data, "{\"{}\": 1}");
	buffer_release(&b);
	buffer_release(&json);
}

static void add_up(void *arg, const struct msgpack_value *key, struct cursor value)
{
	struct msgpack_value v;
	int64_t *sum = arg;

	if (!msgpack_is_text(key, "b"))
		return;
	assert_int_equal(msgpack_read(&value, &v), 0);
	*sum += v.integer;
}

static void a_map_is_gone_through(void **state)
{
	struct buffer buf = BUFFER_INIT;
	struct msgpack_value v;
	struct cursor c;
	int64_t sum = 0;

	(void)state;
	(void)msgpack_write_map(&buf, 3);
	(void)msgpack_write_text(&buf, "a");
	(void)msgpack_write_array(&buf, 2);
	(void)msgpack_write_int(&buf, 1);
	(void)msgpack_write_text(&buf, "b");
	(void)msgpack_write_text(&buf, "b");
	(void)msgpack_write_int(&buf, 40);
	(void)msgpack_write_text(&buf, "bc");
	(void)msgpack_write_int(&buf, 500);
	(void)msgpack_write_int(&buf, 7); /* behind it */
	c = cursor_of(buf.data, buf.size);
	assert_int_equal(msgpack_each(&c, add_up, &sum), 0);
	assert_int_equal(sum, 40);
	assert_int_equal(msgpack_read(&c, &v), 0);
	assert_int_equal(v.integer, 7);
	c = cursor_of(buf.data, buf.size);
	assert_true(msgpack_find(&c, "bc"));
	assert_int_equal(msgpack_read(&c, &v), 0);
	assert_int_equal(v.integer, 500);
	c = cursor_of(buf.data, buf.size);
	assert_false(msgpack_find(&c, "c"));
	c = cursor_of(buf.data, 5); /* cut inside the array */
	assert_int_equal(msgpack_each(&c, add_up, &sum), -EBADMSG);
	c = cursor_of(buf.data + buf.size - 1, 1); /* no map */
	assert_int_equal(msgpack_each(&c, add_up, &sum), -EBADMSG);
	assert_false(msgpack_find(&c, "b"));
	buffer_release(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_the_shortest_form),      cmocka_unit_test(reads_back_numbers),
		cmocka_unit_test(reads_forms_it_does_not_write), cmocka_unit_test(to_json),
		cmocka_unit_test(a_cut_value_is_refused),        cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(claims_are_not_believed),       cmocka_unit_test(maps_as_keys_stay_short),
		cmocka_unit_test(a_map_is_gone_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
