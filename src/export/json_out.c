/* json_out.c - see json_out.h. */
#include "export/json_out.h"

#include "base/json_writer.h"
#include "base/msgpack.h"
#include "base/text.h"

#define DIGITS_MAX 24 /* of any number, with its sign and point */

/* ---- Numbers ---------------------------------------------------------------- */

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
			    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
			    "8081828384858687888990919293949596979899";

/* From the end of the place backwards; where it begins. */
static char *digits_before(char *end, uint64_t value)
{
	while (value >= 100) {
		end -= 2;
		memcpy(end, pairs + 2 * (value % 100), 2);
		value /= 100;
	}
	if (value < 10) {
		*--end = (char)('0' + value);
		return end;
	}
	end -= 2;
	memcpy(end, pairs + 2 * value, 2);
	return end;
}

void json_unsigned_to(struct export_out *out, uint64_t value)
{
	char digits[DIGITS_MAX], *end = digits + sizeof digits, *at;

	if (value < 10) {
		digits[0] = (char)('0' + value);
		json_bytes(out, digits, 1);
		return;
	}
	at = digits_before(end, value);
	json_bytes(out, at, (size_t)(end - at));
}

void json_signed_to(struct export_out *out, int64_t value)
{
	if (value < 0)
		JSON(out, "-");
	json_unsigned_to(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_us_to(struct export_out *out, int64_t ns)
{
	uint64_t value = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	char text[DIGITS_MAX + 4], *end = text + sizeof text, *at = end - 4;
	unsigned part = (unsigned)(value % 1000);

	at[0] = '.';
	at[1] = (char)('0' + part / 100);
	memcpy(at + 2, pairs + 2 * (part % 100), 2);
	at = digits_before(at, value / 1000);
	if (ns < 0)
		*--at = '-';
	json_bytes(out, at, (size_t)(end - at));
}

/* With up to six decimals: what divided by a million is the number again, since both are exact.  False: it has more. */
static bool put_decimal(struct export_out *out, double value)
{
	double millionths = value * 1e6;
	uint64_t whole = (uint64_t)(millionths + 0.5);
	char text[DIGITS_MAX + 8], *end = text + sizeof text, *at = end - 7;

	if ((double)whole / 1e6 != value)
		return false;
	for (uint64_t rest = whole % 1000000, i = 6; i > 0; i--, rest /= 10)
		at[i] = (char)('0' + rest % 10);
	at[0] = '.';
	while (end[-1] == '0')
		end--;
	at = digits_before(at, whole / 1000000);
	json_bytes(out, at, (size_t)(end - at));
	return true;
}

void json_double_to(struct export_out *out, double value)
{
	/* most are short, and printing the others takes longer than all the rest of an event */
	if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value && (value != 0 || !__builtin_signbit(value)))
		json_signed_to(out, (int64_t)value);
	else if (!(value > 1e-3 && value < 1e9 && put_decimal(out, value)))
		export_out_check(out, json_append_number(&out->buf, value));
}

/* ---- Strings ---------------------------------------------------------------- */

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS (ONES * 0x80)

/* Whether any of eight bytes is a quote, a backslash, a control character, or not ASCII.  May say so without need for bytes
 * after one that is. */
static bool has_special(uint64_t word)
{
	uint64_t quote = word ^ (ONES * '"'), backslash = word ^ (ONES * '\\'), delete = word ^ (ONES * 0x7f);

	return (((word - ONES * 0x20) | (quote - ONES) | (backslash - ONES) | (delete - ONES) | word) & HIGHS) != 0;
}

static bool is_plain(const char *text, size_t size)
{
	uint64_t word;
	size_t at = 0;

	for (; at + sizeof word <= size; at += sizeof word) {
		memcpy(&word, text + at, sizeof word);
		if (has_special(word))
			return false;
	}
	word = ONES * 'a';
	memcpy(&word, text + at, size - at);
	return !has_special(word);
}

void json_quoted_to(struct export_out *out, const char *text, size_t size)
{
	char *at;

	if (!is_plain(text, size)) {
		export_out_check(out, text_append_json(&out->buf, text, size));
		return;
	}
	at = json_room(out, size + 2);
	if (!at)
		return;
	*at++ = '"';
	memcpy(at, text, size);
	at[size] = '"';
	json_done(out, at + size + 1);
}

void json_text_to(struct export_out *out, const char *text)
{
	json_quoted_to(out, text, strlen(text));
}

/* ---- MessagePack ------------------------------------------------------------ */

static void put_hexadecimal(struct export_out *out, const uint8_t *data, uint32_t size)
{
	static const char digits[] = "0123456789abcdef";
	char *at = json_room(out, 2 * (size_t)size + 2);

	if (!at)
		return;
	*at++ = '"';
	for (uint32_t i = 0; i < size; i++) {
		*at++ = digits[data[i] >> 4];
		*at++ = digits[data[i] & 15];
	}
	*at++ = '"';
	json_done(out, at);
}

/* Short strings and small numbers, which most values and all names are, without the detour over a value of any type. */
static bool put_short(struct export_out *out, struct cursor *c)
{
	size_t left = cursor_left(c), head, size;
	uint8_t tag = left ? c->at[0] : 0xc1;

	if (tag < 0x80) {
		c->at++;
		json_unsigned_to(out, tag);
		return true;
	}
	if (tag == 0xcd && left >= 3) {
		json_unsigned_to(out, (uint64_t)c->at[1] << 8 | c->at[2]);
		c->at += 3;
		return true;
	}
	if ((tag & 0xe0) == 0xa0) {
		head = 1;
		size = tag & 31;
	} else if (tag == 0xd9 && left > 1) {
		head = 2;
		size = c->at[1];
	} else {
		return false;
	}
	if (left - head < size)
		return false;
	json_quoted_to(out, (const char *)c->at + head, size);
	c->at += head + size;
	return true;
}

static bool put_value(struct export_out *out, struct cursor *c, int depth);

/* JSON has strings for keys only; others become strings of what they look like. */
static bool put_key(struct export_out *out, struct cursor *c, int depth)
{
	struct cursor before = *c;
	struct msgpack_value value;
	struct buffer text = BUFFER_INIT;
	int rc;

	if (cursor_left(c) && (c->at[0] >> 5 == 5 || c->at[0] == 0xd9) && put_short(out, c))
		return true;
	if (msgpack_read(c, &value))
		return false;
	if (value.type == MSGPACK_STRING) {
		json_quoted_to(out, (const char *)value.data, value.size);
		return true;
	}
	*c = before;
	if (depth == 0 || msgpack_skip(c))
		return false;
	rc = msgpack_to_json(before.at, (size_t)(c->at - before.at), &text);
	if (rc == 0)
		json_quoted_to(out, (const char *)text.data, text.size);
	buffer_release(&text);
	return rc == 0;
}

static bool put_many(struct export_out *out, struct cursor *c, const struct msgpack_value *head, int depth)
{
	bool map = head->type == MSGPACK_MAP;

	if (depth == 0)
		return false;
	json_bytes(out, map ? "{" : "[", 1);
	for (uint32_t i = 0; i < head->count; i++) {
		if (i)
			JSON(out, ",");
		if (map) {
			if (!put_key(out, c, depth - 1))
				return false;
			JSON(out, ":");
		}
		if (!put_value(out, c, depth - 1))
			return false;
	}
	json_bytes(out, map ? "}" : "]", 1);
	return true;
}

static bool put_value(struct export_out *out, struct cursor *c, int depth)
{
	struct msgpack_value value;

	if (put_short(out, c))
		return true;
	if (cursor_left(c) && c->at[0] >> 4 == 9) { /* the head of a short array */
		value = (struct msgpack_value){ .type = MSGPACK_ARRAY, .count = *c->at++ & 15 };
		return put_many(out, c, &value, depth);
	}
	if (msgpack_read(c, &value))
		return false;
	switch (value.type) {
	case MSGPACK_INT:
		json_signed_to(out, value.integer);
		return true;
	case MSGPACK_UINT:
		json_unsigned_to(out, value.natural);
		return true;
	case MSGPACK_STRING:
		json_quoted_to(out, (const char *)value.data, value.size);
		return true;
	case MSGPACK_DOUBLE:
		json_double_to(out, value.number);
		return true;
	case MSGPACK_BOOL:
		json_bytes(out, value.boolean ? "true" : "false", value.boolean ? 4 : 5);
		return true;
	case MSGPACK_BYTES:
		put_hexadecimal(out, value.data, value.size);
		return true;
	case MSGPACK_ARRAY:
	case MSGPACK_MAP:
		return put_many(out, c, &value, depth);
	default:
		JSON(out, "null");
		return true;
	}
}

bool json_value_to(struct export_out *out, struct cursor *msgpack)
{
	size_t before = out->buf.size;

	if (put_value(out, msgpack, MSGPACK_DEPTH_MAX))
		return true;
	out->buf.size = before;
	return false;
}

bool json_key_to(struct export_out *out, struct cursor *msgpack)
{
	return put_key(out, msgpack, MSGPACK_DEPTH_MAX);
}
