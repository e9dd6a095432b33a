/* page_escape.c - see page_escape.h. */
#include "page/page_escape.h"

#include "base/text.h"

static const char *entity_of(uint32_t c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

static int append_character(struct buffer *out, const char *s, size_t length, uint32_t c)
{
	const char *entity = entity_of(c);

	if (entity)
		return buffer_append(out, entity, strlen(entity));
	if (c == TEXT_INVALID)
		return buffer_append(out, "\xef\xbf\xbd", 3);
	if (c < 0x20) /* U+2400 on are their pictures */
		return buffer_append(out, (char[]){ '\xe2', '\x90', (char)(0x80 + c) }, 3);
	if (text_is_unsafe(c))
		return buffer_printf(out, "\xe2\x9f\xa8U+%04X\xe2\x9f\xa9", c);
	return buffer_append(out, s, length);
}

/* At most `most` characters; *ret has how many bytes they are. */
static int append_some(struct buffer *out, const char *s, size_t size, size_t most, size_t *ret)
{
	size_t at = 0;
	int rc = 0;

	for (; at < size && most > 0 && rc == 0; most--) {
		uint32_t c;
		size_t length = text_decode(s + at, size - at, &c);

		rc = append_character(out, s + at, length, c);
		at += length;
	}
	*ret = at;
	return rc;
}

int page_escape(struct buffer *out, const char *s, size_t size)
{
	size_t used;

	return append_some(out, s, size, SIZE_MAX, &used);
}

static bool is_longer(const char *s, size_t size, size_t most)
{
	size_t at = 0;

	for (; at < size && most > 0; most--) {
		uint32_t c;

		at += text_decode(s + at, size - at, &c);
	}
	return at < size;
}

/* Where about the last `count` characters begin: found from the end, since a name may be very long. */
static size_t tail_of(const char *s, size_t size, size_t count)
{
	size_t at = size;

	for (; at > 0 && count > 0; count--) {
		at--;
		for (unsigned i = 0; i < 3 && at > 0 && ((uint8_t)s[at] & 0xc0) == 0x80; i++)
			at--;
	}
	return at;
}

int page_escape_cut(struct buffer *out, const char *s, size_t size, size_t most, bool *ret_cut)
{
	size_t head = most / 2, tail = most - head - (most > head), used;
	int rc;

	*ret_cut = is_longer(s, size, most);
	if (!*ret_cut)
		return page_escape(out, s, size);
	rc = append_some(out, s, size, head, &used);
	if (rc == 0)
		rc = buffer_append(out, "\xe2\x80\xa6", 3);
	if (rc == 0) {
		size_t from = tail_of(s, size, tail);

		rc = append_some(out, s + from, size - from, tail, &used);
	}
	return rc;
}
