/*
 * msgpack.h - MessagePack: a writer into a struct buffer, a bounded reader,
 * and JSON text for people.
 *
 * Writing: write the head of a map or array, then that many pairs or values.
 *
 *      msgpack_write_map(&buf, 1);
 *      msgpack_write_text(&buf, "exit_status");
 *      msgpack_write_int(&buf, 0);
 *
 * Reading trusts nothing: a length that runs past the end, nesting deeper than
 * MSGPACK_DEPTH_MAX or a byte without meaning is -EBADMSG.
 */
#ifndef BASE_MSGPACK_H
#define BASE_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/varint.h"

#define MSGPACK_DEPTH_MAX 32

/* All return 0 or -ENOMEM. */
int msgpack_write_nil(struct buffer *buf);
int msgpack_write_bool(struct buffer *buf, bool value);
int msgpack_write_uint(struct buffer *buf, uint64_t value);
int msgpack_write_int(struct buffer *buf, int64_t value);
int msgpack_write_double(struct buffer *buf, double value);
int msgpack_write_string(struct buffer *buf, const char *text, size_t size);
int msgpack_write_text(struct buffer *buf, const char *text); /* NUL-terminated */
int msgpack_write_bytes(struct buffer *buf, const void *data, size_t size);
int msgpack_write_array(struct buffer *buf, uint32_t count);
int msgpack_write_map(struct buffer *buf, uint32_t count);

enum msgpack_type {
	MSGPACK_NIL,
	MSGPACK_BOOL,
	MSGPACK_INT,  /* fits an int64_t */
	MSGPACK_UINT, /* larger than INT64_MAX */
	MSGPACK_DOUBLE,
	MSGPACK_STRING,
	MSGPACK_BYTES,
	MSGPACK_EXTENSION,
	MSGPACK_ARRAY, /* count values follow */
	MSGPACK_MAP    /* count pairs follow */
};

struct msgpack_value {
	enum msgpack_type type;
	union {
		bool boolean;
		int64_t integer;
		uint64_t natural;
		double number;
		struct {
			const uint8_t *data; /* string, bytes, extension: into the input */
			uint32_t size;
		};
		uint32_t count;
	};
};

/* One value, or the head of an array or map, whose contents come next. */
int msgpack_read(struct cursor *c, struct msgpack_value *ret);
/* Passes over one value with all it contains. */
int msgpack_skip(struct cursor *c);
/* Is it a string of these bytes? */
bool msgpack_is_text(const struct msgpack_value *value, const char *text);
/* Goes through the map that comes next and leaves the cursor behind it; each value has a cursor of its own.  Keys are no maps or arrays.
 * 0 or -EBADMSG, also where it is no map. */
int msgpack_each(struct cursor *c, void (*take)(void *arg, const struct msgpack_value *key, struct cursor value), void *arg);
/* Moves the cursor to the value that has this key in the map that comes next; false: there is none. */
bool msgpack_find(struct cursor *c, const char *key);
/* 0 when the bytes are exactly one well-formed value. */
int msgpack_validate(const void *data, size_t size);

/* Appends the value as JSON.  Bytes become hexadecimal strings, what JSON cannot say (NaN, extensions) becomes null,
 * keys that are no strings become strings, what is not UTF-8 becomes U+FFFD.  Leaves the buffer as it was on failure.
 */
int msgpack_to_json(const void *data, size_t size, struct buffer *ret);

#endif
