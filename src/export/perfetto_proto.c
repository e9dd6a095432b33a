/* perfetto_proto.c - see perfetto_proto.h. */
#include "export/perfetto_proto.h"

#include <stdbool.h>

#include "base/text.h"

#define REPLACEMENT "\xef\xbf\xbd"

int proto_number(struct buffer *out, uint32_t field, uint64_t value)
{
	uint8_t room[PROTO_NUMBER_MAX];

	return buffer_append(out, room, (size_t)(proto_put_number(room, field, value) - room));
}

int proto_fixed64(struct buffer *out, uint32_t field, uint64_t value)
{
	uint8_t room[PROTO_NUMBER_MAX], *at = proto_put_uv(room, (uint64_t)field << 3 | 1);

	for (unsigned i = 0; i < 8; i++)
		*at++ = (uint8_t)(value >> 8 * i);
	return buffer_append(out, room, (size_t)(at - room));
}

int proto_double(struct buffer *out, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	return proto_fixed64(out, field, bits);
}

int proto_bytes(struct buffer *out, uint32_t field, const void *data, size_t size)
{
	uint8_t room[PROTO_NUMBER_MAX];
	int rc = buffer_append(out, room, (size_t)(proto_put_head(room, field, size) - room));

	return rc ? rc : buffer_append(out, data, size);
}

int proto_close(struct buffer *out, uint32_t field, size_t opened)
{
	size_t size = out->size - opened;
	uint8_t room[PROTO_NUMBER_MAX];
	size_t head = (size_t)(proto_put_head(room, field, size) - room);
	int rc = buffer_reserve(out, head);

	if (rc)
		return rc;
	memmove(out->data + opened + head, out->data + opened, size);
	memcpy(out->data + opened, room, head);
	out->size += head;
	return 0;
}

/* ---- Text ----------------------------------------------------------------------- */

/* How many bytes at the front are UTF-8. */
static size_t correct(const char *text, size_t size)
{
	size_t at = 0;
	uint32_t c;

	while (at < size) {
		size_t length = 1;

		if ((uint8_t)text[at] >= 128) {
			length = text_decode(text + at, size - at, &c);
			if (c == TEXT_INVALID)
				break;
		}
		at += length;
	}
	return at;
}

static int append_replaced(struct buffer *out, const char *text, size_t size)
{
	int rc = 0;

	while (size && rc == 0) {
		size_t good = correct(text, size);
		uint32_t c;

		rc = buffer_append(out, text, good);
		text += good;
		size -= good;
		if (size && rc == 0) {
			size_t bad = text_decode(text, size, &c);

			rc = buffer_append(out, REPLACEMENT, sizeof REPLACEMENT - 1);
			text += bad;
			size -= bad;
		}
	}
	return rc;
}

int proto_text(struct buffer *out, uint32_t field, const char *text, size_t size)
{
	size_t opened = proto_open(out);
	int rc;

	if (correct(text, size) == size)
		return proto_bytes(out, field, text, size);
	rc = append_replaced(out, text, size);
	return rc ? rc : proto_close(out, field, opened);
}

int proto_string(struct buffer *out, uint32_t field, const char *text)
{
	return proto_text(out, field, text, strlen(text));
}
