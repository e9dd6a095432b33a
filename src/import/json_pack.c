/* json_pack.c - JSON values as MessagePack; see json.h. */
#include "import/json.h"

static bool room(struct json_pack *p, size_t size)
{
	if (p->limit - p->size >= size)
		return true;
	p->cut = true;
	return false;
}

static void put_big_endian(uint8_t *out, uint64_t value, unsigned size)
{
	while (size-- > 0) {
		out[size] = (uint8_t)value;
		value >>= 8;
	}
}

static bool put_number(struct json_pack *p, uint8_t head, uint64_t value, unsigned size)
{
	if (!room(p, 1 + size))
		return false;
	p->data[p->size] = head;
	put_big_endian(p->data + p->size + 1, value, size);
	p->size += 1 + size;
	return true;
}

static bool put_natural(struct json_pack *p, uint64_t value)
{
	if (value < 128)
		return put_number(p, (uint8_t)value, 0, 0);
	if (value < 256)
		return put_number(p, 0xcc, value, 1);
	if (value < 65536)
		return put_number(p, 0xcd, value, 2);
	if (value <= UINT32_MAX)
		return put_number(p, 0xce, value, 4);
	return put_number(p, 0xcf, value, 8);
}

bool json_pack_integer(struct json_pack *p, int64_t value)
{
	if (value >= 0)
		return put_natural(p, (uint64_t)value);
	if (value >= -32)
		return put_number(p, (uint8_t)value, 0, 0);
	if (value >= INT32_MIN)
		return put_number(p, 0xd2, (uint64_t)value, 4);
	return put_number(p, 0xd3, (uint64_t)value, 8);
}

bool json_pack_double(struct json_pack *p, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return put_number(p, 0xcb, bits, 8);
}

static size_t string_head(uint8_t *out, size_t size)
{
	if (size < 32) {
		out[0] = (uint8_t)(0xa0 | size);
		return 1;
	}
	if (size < 256) {
		out[0] = 0xd9;
		out[1] = (uint8_t)size;
		return 2;
	}
	out[0] = size < 65536 ? 0xda : 0xdb;
	put_big_endian(out + 1, size, size < 65536 ? 2 : 4);
	return size < 65536 ? 3 : 5;
}

/* Where to cut so that no character of UTF-8 is left in part. */
static size_t whole_characters(const char *text, size_t size)
{
	size_t at = size;

	while (at > 0 && size - at < 4 && ((uint8_t)text[at] & 0xc0) == 0x80)
		at--;
	return ((uint8_t)text[at] & 0xc0) == 0x80 ? size : at;
}

static bool put_string(struct json_pack *p, const char *text, size_t size, bool whole)
{
	if (size + 5 > p->limit - p->size) {
		p->cut = true;
		if (whole || p->limit - p->size < 64)
			return false;
		size = whole_characters(text, p->limit - p->size - 5);
	}
	p->size += string_head(p->data + p->size, size);
	memcpy(p->data + p->size, text, size);
	p->size += size;
	return true;
}

bool json_pack_text(struct json_pack *p, const struct json_text *text, bool whole)
{
	struct buffer plain = BUFFER_INIT;
	bool done;

	if (!text->escaped)
		return put_string(p, text->data, text->size, whole);
	done = json_unescape(text, &plain) == 0 && put_string(p, (const char *)plain.data, plain.size, whole);
	buffer_release(&plain);
	return done;
}

/* Heads are one byte, for up to 15 entries; with more, what was written moves on. */
static bool patch_head(struct json_pack *p, size_t start, uint32_t count, uint8_t small)
{
	unsigned more = count < 16 ? 0 : count < 65536 ? 2 : 4;
	uint8_t large = (uint8_t)((small == 0x80 ? 0xde : 0xdc) + (more == 4));

	if (more == 0) {
		p->data[start] = (uint8_t)(small | count);
		return true;
	}
	if (!room(p, more))
		return false;
	memmove(p->data + start + 1 + more, p->data + start + 1, p->size - start - 1);
	p->data[start] = large;
	put_big_endian(p->data + start + 1, count, more);
	p->size += more;
	return true;
}

void json_pack_begin(struct json_pack *p)
{
	p->size = 1;
	p->limit -= 4; /* for the head of a large map */
}

void json_pack_end(struct json_pack *p, uint32_t count)
{
	p->limit += 4;
	patch_head(p, 0, count, 0x80);
}

static bool put_figure(struct json_pack *p, const struct json_text *text)
{
	bool negative = text->data[0] == '-';
	uint64_t natural;
	double number;

	if (json_natural(text->data + negative, text->size - negative, &natural)) {
		if (!negative)
			return put_natural(p, natural);
		if (natural <= (uint64_t)1 << 63)
			return json_pack_integer(p, (int64_t)(0 - natural));
	}
	if (json_double(text->data, text->size, &number))
		return json_pack_double(p, number);
	return put_number(p, 0xc0, 0, 0);
}

static bool put_word(struct json_pack *p, const struct json_value *value)
{
	switch (value->type) {
	case JSON_TRUE:
		return put_number(p, 0xc3, 0, 0);
	case JSON_FALSE:
		return put_number(p, 0xc2, 0, 0);
	case JSON_NUMBER:
		return put_figure(p, &value->text);
	default:
		return put_number(p, 0xc0, 0, 0);
	}
}

static bool put_any(struct json_pack *p, struct json *j, enum json_where where, unsigned depth);

static bool put_nested(struct json_pack *p, struct json *j, unsigned depth)
{
	bool object = *j->at == '{', first = true, fits;
	size_t start = p->size;
	struct json_text key;
	uint32_t count = 0;

	p->deep |= depth == 0;
	if (depth == 0 || !room(p, 1))
		return false;
	p->size++;
	j->at++;
	while (object ? json_member(j, &first, &key) : json_element(j, &first)) {
		fits = (!object || json_pack_text(p, &key, true)) &&
		       put_any(p, j, object ? JSON_IN_OBJECT : JSON_IN_ARRAY, depth - 1);
		if (!fits)
			return false;
		count++;
	}
	return j->status == JSON_OK && patch_head(p, start, count, object ? 0x80 : 0x90);
}

static bool put_any(struct json_pack *p, struct json *j, enum json_where where, unsigned depth)
{
	struct json_value value;

	if (*j->at == '[' || *j->at == '{')
		return put_nested(p, j, depth);
	json_value(j, where, &value);
	if (j->status != JSON_OK)
		return false;
	return value.type == JSON_STRING ? json_pack_text(p, &value.text, false) : put_word(p, &value);
}

bool json_pack_value(struct json_pack *p, const struct json_value *value)
{
	struct json j = json_inside(value, p->careful);
	size_t start = p->size;

	if (value->type == JSON_STRING)
		return json_pack_text(p, &value->text, false);
	if (value->type != JSON_ARRAY && value->type != JSON_OBJECT)
		return put_word(p, value);
	if (put_nested(p, &j, JSON_DEPTH_MAX))
		return true;
	p->size = start;
	p->cut = true;
	return false;
}
