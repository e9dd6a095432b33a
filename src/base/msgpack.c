/* msgpack.c - see msgpack.h. */
#include "base/msgpack.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"

/* ---- Writing ---- */

/* A tag byte and the low `size` bytes of value, most significant first. */
static int put(struct buffer *buf, uint8_t tag, uint64_t value, size_t size)
{
	uint8_t bytes[9] = { tag };
	uint64_t swapped = htobe64(value);

	memcpy(bytes + 1, (uint8_t *)&swapped + 8 - size, size);
	return buffer_append(buf, bytes, 1 + size);
}

int msgpack_write_nil(struct buffer *buf)
{
	return put(buf, 0xc0, 0, 0);
}

int msgpack_write_bool(struct buffer *buf, bool value)
{
	return put(buf, value ? 0xc3 : 0xc2, 0, 0);
}

int msgpack_write_uint(struct buffer *buf, uint64_t value)
{
	if (value < 128)
		return put(buf, (uint8_t)value, 0, 0);
	if (value <= UINT8_MAX)
		return put(buf, 0xcc, value, 1);
	if (value <= UINT16_MAX)
		return put(buf, 0xcd, value, 2);
	if (value <= UINT32_MAX)
		return put(buf, 0xce, value, 4);
	return put(buf, 0xcf, value, 8);
}

int msgpack_write_int(struct buffer *buf, int64_t value)
{
	if (value >= 0)
		return msgpack_write_uint(buf, (uint64_t)value);
	if (value >= -32)
		return put(buf, (uint8_t)value, 0, 0);
	if (value >= INT8_MIN)
		return put(buf, 0xd0, (uint64_t)value, 1);
	if (value >= INT16_MIN)
		return put(buf, 0xd1, (uint64_t)value, 2);
	if (value >= INT32_MIN)
		return put(buf, 0xd2, (uint64_t)value, 4);
	return put(buf, 0xd3, (uint64_t)value, 8);
}

int msgpack_write_double(struct buffer *buf, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, 8);
	return put(buf, 0xcb, bits, 8);
}

/* The head of something with a length: short form below `limit`, then forms of 1, 2 and 4 bytes (tag8 0: no such form).
 */
static int put_length(struct buffer *buf, size_t length, uint8_t fix, size_t limit, uint8_t tag8, uint8_t tag16)
{
	if (length > UINT32_MAX)
		return -ENOMEM;
	if (length < limit)
		return put(buf, (uint8_t)(fix | length), 0, 0);
	if (tag8 && length <= UINT8_MAX)
		return put(buf, tag8, length, 1);
	if (length <= UINT16_MAX)
		return put(buf, tag16, length, 2);
	return put(buf, (uint8_t)(tag16 + 1), length, 4);
}

static int append_after(int rc, struct buffer *buf, const void *data, size_t size)
{
	return rc ? rc : buffer_append(buf, data, size);
}

int msgpack_write_string(struct buffer *buf, const char *text, size_t size)
{
	return append_after(put_length(buf, size, 0xa0, 32, 0xd9, 0xda), buf, text, size);
}

int msgpack_write_text(struct buffer *buf, const char *text)
{
	return msgpack_write_string(buf, text, strlen(text));
}

int msgpack_write_bytes(struct buffer *buf, const void *data, size_t size)
{
	return append_after(put_length(buf, size, 0, 0, 0xc4, 0xc5), buf, data, size);
}

int msgpack_write_array(struct buffer *buf, uint32_t count)
{
	return put_length(buf, count, 0x90, 16, 0, 0xdc);
}

int msgpack_write_map(struct buffer *buf, uint32_t count)
{
	return put_length(buf, count, 0x80, 16, 0, 0xde);
}

/* ---- Reading ---- */

static uint64_t get(struct cursor *c, size_t size)
{
	const uint8_t *bytes = cursor_bytes(c, size);
	uint64_t value = 0;

	for (size_t i = 0; bytes && i < size; i++)
		value = value << 8 | bytes[i];
	return value;
}

static void set_natural(struct msgpack_value *v, uint64_t value)
{
	v->type = value > INT64_MAX ? MSGPACK_UINT : MSGPACK_INT;
	v->natural = value;
}

/* Sign-extends a number of `size` bytes. */
static void set_integer(struct msgpack_value *v, uint64_t value, size_t size)
{
	unsigned shift = 64 - 8 * (unsigned)size;

	v->type = MSGPACK_INT;
	v->integer = (int64_t)(value << shift) >> shift;
}

static void set_float(struct msgpack_value *v, uint64_t bits, size_t size)
{
	uint32_t low = (uint32_t)bits;
	float single;

	v->type = MSGPACK_DOUBLE;
	memcpy(&single, &low, 4);
	if (size == 4)
		v->number = (double)single;
	else
		memcpy(&v->number, &bits, 8);
}

static void set_span(struct cursor *c, struct msgpack_value *v, enum msgpack_type type, uint64_t size)
{
	v->type = type;
	v->size = (uint32_t)size;
	v->data = cursor_bytes(c, size);
}

/* A count cannot be larger than the bytes left, so that nobody loops or allocates by a claim. */
static void set_count(struct cursor *c, struct msgpack_value *v, enum msgpack_type type, uint64_t count)
{
	v->type = type;
	v->count = (uint32_t)count;
	if (count > cursor_left(c) / (type == MSGPACK_MAP ? 2 : 1))
		cursor_fail(c);
}

static void read_extension(struct cursor *c, struct msgpack_value *v, uint64_t size)
{
	cursor_u8(c); /* the application's type number */
	set_span(c, v, MSGPACK_EXTENSION, size);
}

/* Tags 0xc0 to 0xdf. */
static void read_tagged(struct cursor *c, struct msgpack_value *v, uint8_t tag)
{
	switch (tag) {
	case 0xc0:
		v->type = MSGPACK_NIL;
		return;
	case 0xc2:
	case 0xc3:
		v->type = MSGPACK_BOOL;
		v->boolean = tag & 1;
		return;
	case 0xc4:
	case 0xc5:
	case 0xc6:
		set_span(c, v, MSGPACK_BYTES, get(c, (size_t)1 << (tag - 0xc4)));
		return;
	case 0xc7:
	case 0xc8:
	case 0xc9:
		read_extension(c, v, get(c, (size_t)1 << (tag - 0xc7)));
		return;
	case 0xca:
	case 0xcb:
		set_float(v, get(c, (size_t)4 << (tag - 0xca)), (size_t)4 << (tag - 0xca));
		return;
	case 0xcc:
	case 0xcd:
	case 0xce:
	case 0xcf:
		set_natural(v, get(c, (size_t)1 << (tag - 0xcc)));
		return;
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		set_integer(v, get(c, (size_t)1 << (tag - 0xd0)), (size_t)1 << (tag - 0xd0));
		return;
	case 0xd4:
	case 0xd5:
	case 0xd6:
	case 0xd7:
	case 0xd8:
		read_extension(c, v, (uint64_t)1 << (tag - 0xd4));
		return;
	case 0xd9:
	case 0xda:
	case 0xdb:
		set_span(c, v, MSGPACK_STRING, get(c, (size_t)1 << (tag - 0xd9)));
		return;
	case 0xdc:
	case 0xdd:
		set_count(c, v, MSGPACK_ARRAY, get(c, (size_t)2 << (tag - 0xdc)));
		return;
	case 0xde:
	case 0xdf:
		set_count(c, v, MSGPACK_MAP, get(c, (size_t)2 << (tag - 0xde)));
		return;
	default:
		cursor_fail(c);
	}
}

int msgpack_read(struct cursor *c, struct msgpack_value *ret)
{
	struct msgpack_value v = { .type = MSGPACK_NIL };
	uint8_t tag = cursor_u8(c);

	if (c->bad)
		return -EBADMSG;
	if (tag < 0x80)
		set_natural(&v, tag);
	else if (tag < 0x90)
		set_count(c, &v, MSGPACK_MAP, tag & 15);
	else if (tag < 0xa0)
		set_count(c, &v, MSGPACK_ARRAY, tag & 15);
	else if (tag < 0xc0)
		set_span(c, &v, MSGPACK_STRING, tag & 31);
	else if (tag < 0xe0)
		read_tagged(c, &v, tag);
	else
		set_integer(&v, tag, 1);
	if (c->bad)
		return -EBADMSG;
	*ret = v;
	return 0;
}

static int skip_nested(struct cursor *c, unsigned depth)
{
	struct msgpack_value v;
	uint64_t inside = 0;

	if (depth == 0 || msgpack_read(c, &v))
		return -EBADMSG;
	if (v.type == MSGPACK_ARRAY || v.type == MSGPACK_MAP)
		inside = (uint64_t)v.count << (v.type == MSGPACK_MAP);
	for (; inside; inside--)
		if (skip_nested(c, depth - 1))
			return -EBADMSG;
	return 0;
}

int msgpack_skip(struct cursor *c)
{
	return skip_nested(c, MSGPACK_DEPTH_MAX);
}

bool msgpack_is_text(const struct msgpack_value *value, const char *text)
{
	return value->type == MSGPACK_STRING && value->size == strlen(text) && memcmp(value->data, text, value->size) == 0;
}

int msgpack_each(struct cursor *c, void (*take)(void *arg, const struct msgpack_value *key, struct cursor value), void *arg)
{
	struct msgpack_value map, key;

	if (msgpack_read(c, &map) || map.type != MSGPACK_MAP)
		return -EBADMSG;
	for (uint32_t i = 0; i < map.count; i++) {
		if (msgpack_read(c, &key) || key.type == MSGPACK_MAP || key.type == MSGPACK_ARRAY)
			return -EBADMSG;
		take(arg, &key, *c);
		if (msgpack_skip(c))
			return -EBADMSG;
	}
	return 0;
}

bool msgpack_find(struct cursor *c, const char *key)
{
	struct msgpack_value map, name;

	if (msgpack_read(c, &map) || map.type != MSGPACK_MAP)
		return false;
	for (uint32_t i = 0; i < map.count; i++) {
		if (msgpack_read(c, &name) || name.type == MSGPACK_MAP || name.type == MSGPACK_ARRAY)
			return false;
		if (msgpack_is_text(&name, key))
			return true;
		if (msgpack_skip(c))
			return false;
	}
	return false;
}

int msgpack_validate(const void *data, size_t size)
{
	struct cursor c = cursor_of(data, size);

	return msgpack_skip(&c) || cursor_left(&c) ? -EBADMSG : 0;
}

/* ---- JSON ---- */

static int value_to_json(struct cursor *c, struct buffer *out);

static int bytes_to_json(const struct msgpack_value *v, struct buffer *out)
{
	int rc = buffer_append(out, "\"", 1);

	for (uint32_t i = 0; rc == 0 && i < v->size; i++)
		rc = buffer_printf(out, "%02x", v->data[i]);
	return append_after(rc, out, "\"", 1);
}

/* JSON knows only string keys: numbers become their text.  Maps as keys are not spelt out, since quoting inside quoting
 * doubles with each level. */
static int key_to_json(struct cursor *c, struct buffer *out)
{
	struct buffer text = BUFFER_INIT;
	struct cursor ahead = *c;
	struct msgpack_value v;
	int rc = msgpack_read(&ahead, &v);

	if (rc)
		return rc;
	if (v.type == MSGPACK_STRING || v.type == MSGPACK_BYTES)
		return value_to_json(c, out);
	if (v.type == MSGPACK_ARRAY || v.type == MSGPACK_MAP)
		return append_after(msgpack_skip(c), out, v.type == MSGPACK_MAP ? "\"{}\"" : "\"[]\"", 4);
	rc = value_to_json(c, &text);
	if (rc == 0)
		rc = text_append_json(out, (const char *)text.data, text.size);
	buffer_release(&text);
	return rc;
}

static int array_to_json(struct cursor *c, uint32_t count, struct buffer *out)
{
	int rc = buffer_append(out, "[", 1);

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		rc = i ? buffer_append(out, ", ", 2) : 0;
		if (rc == 0)
			rc = value_to_json(c, out);
	}
	return append_after(rc, out, "]", 1);
}

static int map_to_json(struct cursor *c, uint32_t count, struct buffer *out)
{
	int rc = buffer_append(out, "{", 1);

	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		rc = i ? buffer_append(out, ", ", 2) : 0;
		if (rc == 0)
			rc = key_to_json(c, out);
		rc = append_after(rc, out, ": ", 2);
		if (rc == 0)
			rc = value_to_json(c, out);
	}
	return append_after(rc, out, "}", 1);
}

/* The recursion ends: the caller has validated the nesting. */
static int value_to_json(struct cursor *c, struct buffer *out)
{
	struct msgpack_value v;
	int rc = msgpack_read(c, &v);

	if (rc)
		return rc;
	switch (v.type) {
	case MSGPACK_BOOL:
		return v.boolean ? buffer_append(out, "true", 4) : buffer_append(out, "false", 5);
	case MSGPACK_INT:
		return buffer_printf(out, "%lld", (long long)v.integer);
	case MSGPACK_UINT:
		return buffer_printf(out, "%llu", (unsigned long long)v.natural);
	case MSGPACK_DOUBLE:
		return json_append_number(out, v.number);
	case MSGPACK_STRING:
		return text_append_json(out, (const char *)v.data, v.size);
	case MSGPACK_BYTES:
		return bytes_to_json(&v, out);
	case MSGPACK_ARRAY:
		return array_to_json(c, v.count, out);
	case MSGPACK_MAP:
		return map_to_json(c, v.count, out);
	default:
		return buffer_append(out, "null", 4);
	}
}

int msgpack_to_json(const void *data, size_t size, struct buffer *ret)
{
	struct cursor c = cursor_of(data, size);
	size_t before = ret->size;
	int rc = msgpack_validate(data, size);

	if (rc == 0)
		rc = value_to_json(&c, ret);
	if (rc)
		ret->size = before;
	return rc;
}
