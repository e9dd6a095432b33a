#include "base/buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int buffer_reserve(struct buffer *buf, size_t more)
{
	size_t need = buf->size + more, capacity = buf->capacity ? buf->capacity : 256;
	uint8_t *data;

	if (need < more)
		return -ENOMEM;
	if (need <= buf->capacity)
		return 0;
	while (capacity < need)
		capacity = capacity > SIZE_MAX / 2 ? need : capacity * 2;
	data = realloc(buf->data, capacity);
	if (!data)
		return -ENOMEM;
	buf->data = data;
	buf->capacity = capacity;
	return 0;
}

int buffer_append(struct buffer *buf, const void *data, size_t size)
{
	int rc = buffer_reserve(buf, size);

	if (rc == 0 && size) {
		memcpy(buf->data + buf->size, data, size);
		buf->size += size;
	}
	return rc;
}

int buffer_append_uv(struct buffer *buf, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;

	while (value >= 128) {
		bytes[n++] = (uint8_t)(value | 128);
		value >>= 7;
	}
	bytes[n++] = (uint8_t)value;
	return buffer_append(buf, bytes, n);
}

int buffer_append_sv(struct buffer *buf, int64_t value)
{
	return buffer_append_uv(buf, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

int buffer_vprintf(struct buffer *buf, const char *format, va_list args)
{
	va_list again;
	int n, rc = -EINVAL;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	if (n >= 0 && (rc = buffer_reserve(buf, (size_t)n + 1)) == 0) {
		vsnprintf((char *)buf->data + buf->size, (size_t)n + 1, format, again);
		buf->size += (size_t)n;
	}
	va_end(again);
	return rc;
}

int buffer_printf(struct buffer *buf, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = buffer_vprintf(buf, format, args);
	va_end(args);
	return rc;
}

void buffer_release(struct buffer *buf)
{
	free(buf->data);
	*buf = (struct buffer)BUFFER_INIT;
}
