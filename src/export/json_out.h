/*
 * json_out.h - JSON into an export, quickly: hundreds of megabytes of it, mostly numbers and names.
 *
 * Commas and braces are the caller's.  A failed allocation is remembered in the
 * export, and what was to be written is left out.
 */
#ifndef EXPORT_JSON_OUT_H
#define EXPORT_JSON_OUT_H

#include <errno.h>
#include <string.h>

#include "base/varint.h"
#include "export/export_out.h"

/* Where the next `size` bytes go, or NULL; json_done() says how far it came. */
static inline char *json_room(struct export_out *out, size_t size)
{
	struct buffer *buf = &out->buf;

	if (buf->capacity - buf->size < size && buffer_reserve(buf, size) < 0) {
		export_out_check(out, -ENOMEM);
		return NULL;
	}
	return (char *)buf->data + buf->size;
}

static inline void json_done(struct export_out *out, const char *end)
{
	out->buf.size = (size_t)((const uint8_t *)end - out->buf.data);
}

static inline void json_bytes(struct export_out *out, const char *text, size_t size)
{
	char *at = json_room(out, size);

	if (at)
		json_done(out, (char *)memcpy(at, text, size) + size);
}
#define JSON(out, literal) json_bytes(out, literal, sizeof(literal) - 1)

void json_unsigned_to(struct export_out *out, uint64_t value);
void json_signed_to(struct export_out *out, int64_t value);
void json_us_to(struct export_out *out, int64_t ns);     /* nanoseconds as microseconds with three decimals, exactly */
void json_double_to(struct export_out *out, double value); /* the shortest text that reads back as the same; or null */
/* With its quotes.  What is not UTF-8 becomes U+FFFD. */
void json_quoted_to(struct export_out *out, const char *text, size_t size);
void json_text_to(struct export_out *out, const char *text); /* the same of what a NUL ends */

/* The next value of the cursor, with all that it contains; false, and nothing is written, when it is not well-formed.  Bytes
 * become hexadecimal strings, what JSON cannot say null. */
bool json_value_to(struct export_out *out, struct cursor *msgpack);
/* The same of a key: always a string. */
bool json_key_to(struct export_out *out, struct cursor *msgpack);

#endif
