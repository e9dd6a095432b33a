/*
 * json.h - reads JSON where it lies, one value at a time.
 *
 *      struct json j = { .at = text, .end = text + size, .last = true };
 *      struct json_text key;
 *      bool first = true;
 *      for (json_enter(&j, '{'); json_member(&j, &first, &key);)
 *              json_skip(&j, JSON_IN_OBJECT);
 *      if (j.status != JSON_OK) ...
 *
 * Nothing is copied and nothing is built: texts are slices of the input.  The
 * first failure stays: JSON_SHORT when the input ends inside a value (with more
 * input it may be fine), JSON_BAD when it is no JSON.  Everything fails from
 * then on.
 *
 * Behind the end there are JSON_PADDING readable bytes of 0.
 *
 * There are two ways of reading.  The fast one takes a string to end at the
 * first quote that is not escaped.  The careful one is for what the fast one
 * could not read: a quote ends a string only where JSON could go on behind it,
 * so that quotes a program forgot to escape are part of the string, and values
 * that are missing are null.  What it made good is counted in `repairs`.
 */
#ifndef IMPORT_JSON_H
#define IMPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "import/json_scan.h"

#define JSON_PADDING 64
#define JSON_DEPTH_MAX 30 /* of what becomes MessagePack, whose readers go no deeper */
#define JSON_CAREFUL_DEPTH 256

enum json_status { JSON_OK, JSON_SHORT, JSON_BAD };
enum json_type { JSON_NONE, JSON_STRING, JSON_NUMBER, JSON_TRUE, JSON_FALSE, JSON_NULL, JSON_ARRAY, JSON_OBJECT };
enum json_where { JSON_IN_OBJECT, JSON_IN_ARRAY, JSON_AS_KEY };

struct json_text {
	const char *data;
	size_t size;
	bool escaped; /* has backslashes: see json_unescape() */
};

/* A value: the text of strings (without the quotes) and numbers, the extent of arrays and objects. */
struct json_value {
	enum json_type type;
	struct json_text text;
};

struct json {
	const char *at, *end;
	bool last; /* nothing comes after end */
	bool careful;
	enum json_status status;
	const char *reason; /* of JSON_BAD */
	unsigned repairs;
};

void json_fail(struct json *j, enum json_status status, const char *reason);

/* Control characters are white, too: none of them means anything between values. */
static inline bool json_is_space(char c)
{
	return (uint8_t)(c - 1) < ' ';
}

static inline void json_space(struct json *j)
{
	if (!json_is_space(*j->at))
		return;
	j->at++;
	if (json_is_space(*j->at)) /* usually the indentation of a line */
		j->at = json_scan_space(j->at);
}

/* What is inside an array or object that has been passed over. */
static inline struct json json_inside(const struct json_value *value, bool careful)
{
	const char *data = value->text.size ? value->text.data : "";

	return (struct json){ .at = data, .end = data + value->text.size, .last = true, .careful = careful };
}

/* Passes over the bracket or brace. */
void json_enter(struct json *j, char open);
/* The next key, with `at` before its value; false at the end (passed over) or on failure. */
bool json_member(struct json *j, bool *first, struct json_text *key);
/* Before the next element; false likewise. */
bool json_element(struct json *j, bool *first);
/* Any value. */
void json_value(struct json *j, enum json_where where, struct json_value *ret);
void json_skip(struct json *j, enum json_where where);

static inline bool json_is(const struct json_text *text, const char *word, size_t size)
{
	return text->size == size && memcmp(text->data, word, size) == 0;
}
#define JSON_IS(text, word) json_is(text, word, sizeof(word) - 1)

/*
 * The number in the text, times ten to the power of scale, to the nearest whole number; without going through floating
 * point.  False when it is no number or beyond 2^62.
 */
bool json_decimal(const char *text, size_t size, int scale, int64_t *ret);
/* A whole number from 0 on, or "0x1f". */
bool json_natural(const char *text, size_t size, uint64_t *ret);
bool json_double(const char *text, size_t size, double *ret);

/* The text with its escapes replaced.  Unknown ones stay, and so does what is not UTF-8.  0 or -ENOMEM. */
int json_unescape(const struct json_text *text, struct buffer *out);

/* MessagePack in a place of a fixed size.  What does not fit is left out: strings are cut, of the rest nothing is
 * written. */
struct json_pack {
	uint8_t *data;
	size_t size, limit; /* at least 16 */
	bool careful;       /* how to read what is nested */
	bool cut;           /* something did not fit */
	bool deep;          /* because of its nesting */
};
/* A map: keys and values come between these two. */
void json_pack_begin(struct json_pack *p);
void json_pack_end(struct json_pack *p, uint32_t count);
bool json_pack_text(struct json_pack *p, const struct json_text *text, bool whole); /* whole: or nothing */
bool json_pack_integer(struct json_pack *p, int64_t value);
bool json_pack_double(struct json_pack *p, double value);
/* False when it does not fit or is nested too deep: then nothing was written. */
bool json_pack_value(struct json_pack *p, const struct json_value *value);

#endif
