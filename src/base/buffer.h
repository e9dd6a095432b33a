/*
 * buffer.h - a growing array of bytes.
 *
 * Start with BUFFER_INIT (or zeroes).  Growth can fail: appending functions
 * return 0 or -ENOMEM and then leave the contents as they were.  After
 * buffer_reserve() the inline appenders below cannot fail.
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buffer {
	uint8_t *data;
	size_t size;
	size_t capacity;
};

#define BUFFER_INIT { NULL, 0, 0 }

int buffer_reserve(struct buffer *buf, size_t more);                   /* room for `more` bytes past size */
int buffer_append(struct buffer *buf, const void *data, size_t size);
int buffer_append_uv(struct buffer *buf, uint64_t value);              /* unsigned LEB128 */
int buffer_append_sv(struct buffer *buf, int64_t value);               /* zigzag, then LEB128 */
int buffer_printf(struct buffer *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
int buffer_vprintf(struct buffer *buf, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
void buffer_release(struct buffer *buf);                               /* frees; usable again afterwards */

/* As the machine has it; where there is room it costs as much as a store. */
static inline int buffer_append_u64(struct buffer *buf, uint64_t value)
{
	int rc = buf->capacity - buf->size < sizeof value ? buffer_reserve(buf, sizeof value) : 0;

	if (rc == 0) {
		memcpy(buf->data + buf->size, &value, sizeof value);
		buf->size += sizeof value;
	}
	return rc;
}

static inline void buffer_clear(struct buffer *buf)
{
	buf->size = 0;
}

#endif
