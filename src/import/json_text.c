/* json_text.c - strings without their escapes; see json.h. */
#include "import/json.h"

static int hex4(const char *at, const char *end, unsigned *ret)
{
	unsigned value = 0;

	if (end - at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = at[i];

		value <<= 4;
		if (c >= '0' && c <= '9')
			value |= (unsigned)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			value |= (unsigned)((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	*ret = value;
	return 0;
}

/* Half of a surrogate pair that is alone is written as if it were a character: it is kept, as bytes. */
static size_t put_utf8(unsigned c, uint8_t *out)
{
	if (c < 0x80) {
		out[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (uint8_t)(0xc0 | c >> 6);
		out[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (uint8_t)(0xe0 | c >> 12);
		out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | c >> 18);
	out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

/* `at` is behind "\u". */
static const char *unicode(const char *at, const char *end, uint8_t *out, size_t *size)
{
	unsigned c, low;

	if (hex4(at, end, &c) < 0)
		return NULL;
	at += 4;
	if (c >= 0xd800 && c < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
	    hex4(at + 2, end, &low) == 0 && low >= 0xdc00 && low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		at += 6;
	}
	*size += put_utf8(c, out + *size);
	return at;
}

static char simple_escape(char c)
{
	switch (c) {
	case '"':
	case '\\':
	case '/':
		return c;
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return 0;
	}
}

/* Never longer than the text with its escapes. */
int json_unescape(const struct json_text *text, struct buffer *out)
{
	const char *at = text->data, *end = at + text->size, *next;
	int rc = buffer_reserve(out, text->size + 1);
	uint8_t *data = out->data;
	size_t size = out->size;

	if (rc)
		return rc;
	while (at < end) {
		const char *run = memchr(at, '\\', (size_t)(end - at));
		size_t plain = (size_t)((run ? run : end) - at);

		memcpy(data + size, at, plain);
		size += plain;
		at += plain;
		if (at == end)
			break;
		if (end - at > 1 && simple_escape(at[1])) {
			data[size++] = (uint8_t)simple_escape(at[1]);
			at += 2;
		} else if (end - at > 1 && at[1] == 'u' && (next = unicode(at + 2, end, data, &size))) {
			at = next;
		} else {
			data[size++] = (uint8_t)*at++;
		}
	}
	out->size = size;
	return 0;
}
