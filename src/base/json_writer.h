/*
 * json_writer.h - JSON into a buffer, with the commas and the indentation.
 *
 *      struct json_writer j = { .out = &buf };
 *      json_open(&j, NULL, '{');
 *      json_string(&j, "command", "ls", 2);
 *      json_integer(&j, "exit_status", 0);
 *      json_close(&j);
 *
 * A key of NULL is for elements of arrays and for the outermost value.  Values
 * that JSON cannot hold (NaN, infinity) become null.  A failed allocation is
 * remembered in `error`; the rest is then left out.
 */
#ifndef BASE_JSON_WRITER_H
#define BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define JSON_DEPTH_MAX 40

struct json_writer {
	struct buffer *out;
	bool compact; /* all on one line */
	int error;    /* 0 or -ENOMEM */
	int depth;
	char closing[JSON_DEPTH_MAX];
	bool filled[JSON_DEPTH_MAX];
};

void json_open(struct json_writer *j, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json_writer *j);
void json_string(struct json_writer *j, const char *key, const char *text, size_t size);
void json_text(struct json_writer *j, const char *key, const char *text); /* NUL-terminated; NULL becomes null */
void json_integer(struct json_writer *j, const char *key, int64_t value);
void json_unsigned(struct json_writer *j, const char *key, uint64_t value);
void json_number(struct json_writer *j, const char *key, double value);
void json_fixed(struct json_writer *j, const char *key, double value, int digits); /* that many after the point */
void json_us(struct json_writer *j, const char *key, int64_t ns); /* nanoseconds as microseconds, exactly */
void json_bool(struct json_writer *j, const char *key, bool value);
void json_null(struct json_writer *j, const char *key);
void json_raw(struct json_writer *j, const char *key, const char *json, size_t size); /* JSON made elsewhere */

/* The shortest text that reads back as the same number, or null. */
int json_append_number(struct buffer *out, double value);

#endif
