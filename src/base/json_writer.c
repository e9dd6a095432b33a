/* json_writer.c - see json_writer.h. */
#include "base/json_writer.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void check(struct json_writer *j, int rc)
{
	if (j->error == 0)
		j->error = rc;
}

static void append(struct json_writer *j, const char *text)
{
	check(j, buffer_append(j->out, text, strlen(text)));
}

static void new_line(struct json_writer *j)
{
	int i;

	if (j->compact)
		return;
	append(j, "\n");
	for (i = 0; i < j->depth; i++)
		append(j, "  ");
}

/* What stands between the value before and this one, and the key. */
static void lead_in(struct json_writer *j, const char *key)
{
	if (j->depth > 0) {
		if (j->filled[j->depth - 1])
			append(j, j->compact ? ", " : ",");
		j->filled[j->depth - 1] = true;
		new_line(j);
	}
	if (key) {
		check(j, text_append_json(j->out, key, strlen(key)));
		append(j, ": ");
	}
}

void json_open(struct json_writer *j, const char *key, char bracket)
{
	assert(j->depth < JSON_DEPTH_MAX); /* nesting is decided by code, never by input */
	lead_in(j, key);
	append(j, bracket == '{' ? "{" : "[");
	j->closing[j->depth] = bracket == '{' ? '}' : ']';
	j->filled[j->depth++] = false;
}

void json_close(struct json_writer *j)
{
	j->depth--;
	if (j->filled[j->depth])
		new_line(j);
	check(j, buffer_append(j->out, &j->closing[j->depth], 1));
	if (j->depth == 0 && !j->compact)
		append(j, "\n");
}

void json_string(struct json_writer *j, const char *key, const char *text, size_t size)
{
	lead_in(j, key);
	check(j, text_append_json(j->out, text, size));
}

void json_text(struct json_writer *j, const char *key, const char *text)
{
	if (text)
		json_string(j, key, text, strlen(text));
	else
		json_null(j, key);
}

/* By hand: dumping a trace prints hundreds of megabytes of them. */
static void append_digits(struct json_writer *j, bool negative, uint64_t value)
{
	char digits[24];
	size_t at = sizeof digits;

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	if (negative)
		digits[--at] = '-';
	check(j, buffer_append(j->out, digits + at, sizeof digits - at));
}

void json_integer(struct json_writer *j, const char *key, int64_t value)
{
	lead_in(j, key);
	append_digits(j, value < 0, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_unsigned(struct json_writer *j, const char *key, uint64_t value)
{
	lead_in(j, key);
	append_digits(j, false, value);
}

int json_append_number(struct buffer *out, double value)
{
	char text[40];
	int digits;

	if (!isfinite(value))
		return buffer_append(out, "null", 4);
	for (digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	return buffer_append(out, text, strlen(text));
}

void json_number(struct json_writer *j, const char *key, double value)
{
	lead_in(j, key);
	check(j, json_append_number(j->out, value));
}

void json_fixed(struct json_writer *j, const char *key, double value, int digits)
{
	lead_in(j, key);
	if (isfinite(value))
		check(j, buffer_printf(j->out, "%.*f", digits, value));
	else
		append(j, "null");
}

void json_us(struct json_writer *j, const char *key, int64_t ns)
{
	char text[32];

	json_raw(j, key, text, text_us(text, ns));
}

void json_bool(struct json_writer *j, const char *key, bool value)
{
	lead_in(j, key);
	append(j, value ? "true" : "false");
}

void json_null(struct json_writer *j, const char *key)
{
	lead_in(j, key);
	append(j, "null");
}

void json_raw(struct json_writer *j, const char *key, const char *json, size_t size)
{
	lead_in(j, key);
	check(j, buffer_append(j->out, json, size));
}
