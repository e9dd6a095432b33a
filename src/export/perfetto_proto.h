/* perfetto_proto.h - protobuf's wire format, as it is written. */
#ifndef EXPORT_PERFETTO_PROTO_H
#define EXPORT_PERFETTO_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"

#define PROTO_NUMBER_MAX 15 /* bytes of a tag and a varint */

static inline uint8_t *proto_put_uv(uint8_t *at, uint64_t value)
{
	while (value >= 128) {
		*at++ = (uint8_t)(value | 128);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static inline uint8_t *proto_put_number(uint8_t *at, uint32_t field, uint64_t value)
{
	return proto_put_uv(proto_put_uv(at, (uint64_t)field << 3), value);
}

/* The head of a message, a text or bytes. */
static inline uint8_t *proto_put_head(uint8_t *at, uint32_t field, uint64_t size)
{
	return proto_put_uv(proto_put_uv(at, (uint64_t)field << 3 | 2), size);
}

/* Into a buffer; all return 0 or -ENOMEM, so that results may be or-ed. */
int proto_number(struct buffer *out, uint32_t field, uint64_t value);
int proto_fixed64(struct buffer *out, uint32_t field, uint64_t value);
int proto_double(struct buffer *out, uint32_t field, double value);
int proto_bytes(struct buffer *out, uint32_t field, const void *data, size_t size);
/* A string has to be UTF-8: what is not becomes U+FFFD. */
int proto_text(struct buffer *out, uint32_t field, const char *text, size_t size);
int proto_string(struct buffer *out, uint32_t field, const char *text);

/* A message inside: open it, write, close it.  The head is put in when its size is known. */
static inline size_t proto_open(const struct buffer *out)
{
	return out->size;
}
int proto_close(struct buffer *out, uint32_t field, size_t opened);

#endif
