/* template_value.c - JSON as a tree. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "template/template_parts.h"

struct reader {
	struct values *v;
	const char *at, *end;
	char *strings; /* where the next goes */
	unsigned depth;
};

static void skip_space(struct reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
		r->at++;
}

static bool take(struct reader *r, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0)
		return false;
	r->at += size;
	return true;
}

/* ---- Strings: never longer than as they are written ---- */

static int hex4(struct reader *r, uint32_t *ret)
{
	uint32_t c = 0;

	if (r->end - r->at < 4)
		return -EINVAL;
	for (int i = 0; i < 4; i++, r->at++) {
		unsigned char digit = (unsigned char)*r->at;

		if (!isxdigit(digit))
			return -EINVAL;
		c = c << 4 | (uint32_t)(isdigit(digit) ? digit - '0' : (digit | 32) - 'a' + 10);
	}
	*ret = c;
	return 0;
}

static void put_utf8(struct reader *r, uint32_t c)
{
	if (c < 0x80) {
		*r->strings++ = (char)c;
	} else if (c < 0x800) {
		*r->strings++ = (char)(0xc0 | c >> 6);
		*r->strings++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*r->strings++ = (char)(0xe0 | c >> 12);
		*r->strings++ = (char)(0x80 | (c >> 6 & 0x3f));
		*r->strings++ = (char)(0x80 | (c & 0x3f));
	} else {
		*r->strings++ = (char)(0xf0 | c >> 18);
		*r->strings++ = (char)(0x80 | (c >> 12 & 0x3f));
		*r->strings++ = (char)(0x80 | (c >> 6 & 0x3f));
		*r->strings++ = (char)(0x80 | (c & 0x3f));
	}
}

/* Halves of a pair that stand alone become U+FFFD. */
static int read_unicode(struct reader *r)
{
	uint32_t c, low;
	const char *before;
	int rc = hex4(r, &c);

	if (rc < 0)
		return rc;
	before = r->at;
	if (c >= 0xd800 && c < 0xdc00 && take(r, "\\u") && hex4(r, &low) == 0 && low >= 0xdc00 && low < 0xe000) {
		put_utf8(r, 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff)));
		return 0;
	}
	r->at = before;
	put_utf8(r, c >= 0xd800 && c < 0xe000 ? 0xfffd : c);
	return 0;
}

static int read_escape(struct reader *r)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *letter;

	if (r->at == r->end)
		return -EINVAL;
	if (*r->at == 'u') {
		r->at++;
		return read_unicode(r);
	}
	letter = *r->at ? strchr(from, *r->at) : NULL;
	if (!letter)
		return -EINVAL;
	*r->strings++ = to[letter - from];
	r->at++;
	return 0;
}

static int read_string(struct reader *r, const char **ret, size_t *ret_size)
{
	const char *begin = r->strings;
	int rc = 0;

	if (!take(r, "\""))
		return -EINVAL;
	while (rc == 0 && r->at < r->end && *r->at != '"') {
		if (*r->at != '\\') {
			*r->strings++ = *r->at++;
			continue;
		}
		r->at++;
		rc = read_escape(r);
	}
	if (rc < 0 || !take(r, "\""))
		return -EINVAL;
	*ret = begin;
	*ret_size = (size_t)(r->strings - begin);
	return 0;
}

/* ---- Values ---- */

static int new_value(struct reader *r, uint32_t *ret)
{
	struct values *v = r->v;

	if (v->count >= UINT32_MAX - 1 || ARRAY_GROW(v->list, v->capacity, v->count + 1) < 0)
		return -ENOMEM;
	v->list[v->count] = (struct value){ .type = VALUE_NULL };
	*ret = (uint32_t)v->count++;
	return 0;
}

static int read_number(struct reader *r, struct value *value)
{
	const char *begin = r->at;

	while (r->at < r->end && (isdigit((unsigned char)*r->at) || memchr("+-.eE", *r->at, 5)))
		r->at++;
	value->type = VALUE_NUMBER;
	value->text = begin;
	value->size = (size_t)(r->at - begin);
	return isnan(values_number(value)) ? -EINVAL : 0;
}

static int read_value(struct reader *r, uint32_t *ret);

static int read_member(struct reader *r, bool keyed, uint32_t *ret)
{
	const char *key = NULL;
	size_t size = 0;
	int rc = 0;

	skip_space(r);
	if (keyed) {
		rc = read_string(r, &key, &size);
		skip_space(r);
		if (rc == 0 && !take(r, ":"))
			rc = -EINVAL;
	}
	rc = rc ? rc : read_value(r, ret);
	if (rc == 0) {
		r->v->list[*ret].key = key;
		r->v->list[*ret].key_size = size;
	}
	return rc;
}

static int read_members(struct reader *r, uint32_t whole, bool keyed)
{
	uint32_t last = 0, member;
	int rc;

	skip_space(r);
	if (take(r, keyed ? "}" : "]"))
		return 0;
	for (;;) {
		rc = read_member(r, keyed, &member);
		if (rc < 0)
			return rc;
		if (last)
			r->v->list[last].next = member;
		else
			r->v->list[whole].child = member;
		last = member;
		skip_space(r);
		if (take(r, keyed ? "}" : "]"))
			return 0;
		if (!take(r, ","))
			return -EINVAL;
	}
}

static int read_container(struct reader *r, uint32_t place, bool keyed)
{
	int rc;

	r->v->list[place].type = keyed ? VALUE_OBJECT : VALUE_LIST;
	if (++r->depth > VALUE_DEPTH_MAX)
		return -E2BIG;
	rc = read_members(r, place, keyed);
	r->depth--;
	return rc;
}

static int read_value(struct reader *r, uint32_t *ret)
{
	struct value *value;
	uint32_t place;
	int rc;

	skip_space(r);
	rc = new_value(r, &place);
	if (rc < 0)
		return rc;
	*ret = place;
	value = &r->v->list[place];
	if (take(r, "{"))
		return read_container(r, place, true);
	if (take(r, "["))
		return read_container(r, place, false);
	if (r->at < r->end && *r->at == '"') {
		value->type = VALUE_STRING;
		return read_string(r, &value->text, &value->size);
	}
	value->type = take(r, "null") ? VALUE_NULL : take(r, "true") ? VALUE_TRUE : take(r, "false") ? VALUE_FALSE : VALUE_NUMBER;
	return value->type == VALUE_NUMBER ? read_number(r, value) : 0;
}

int values_read(struct values *v, const char *json, size_t size, struct error *err)
{
	struct reader r = { .v = v, .at = json, .end = json + size };
	uint32_t place;
	int rc;

	v->strings = r.strings = malloc(size + 1);
	rc = v->strings ? new_value(&r, &place) : -ENOMEM; /* 0 is none */
	rc = rc ? rc : read_value(&r, &place);
	skip_space(&r);
	if (rc == 0 && r.at < r.end)
		rc = -EINVAL;
	if (rc == 0)
		return 0;
	values_release(v);
	if (rc == -ENOMEM)
		return error_errno(err, rc, "cannot read the analysis");
	if (rc == -E2BIG)
		return error_set(err, rc, "what should be the analysis is nested too deeply");
	return error_set(err, rc, "what should be the analysis is no JSON, at byte %zu", (size_t)(r.at - json));
}

void values_release(struct values *v)
{
	free(v->list);
	free(v->strings);
	*v = (struct values){ 0 };
}

uint32_t values_find(const struct values *v, uint32_t object, const char *key, size_t size, uint64_t *work)
{
	if (v->list[object].type != VALUE_OBJECT)
		return 0;
	for (uint32_t i = v->list[object].child; i; i = v->list[i].next, ++*work)
		if (v->list[i].key_size == size && memcmp(v->list[i].key, key, size) == 0)
			return i;
	return 0;
}

double values_number(const struct value *value)
{
	char text[64], *end;
	double number;

	if (value->type != VALUE_NUMBER || value->size == 0 || value->size >= sizeof text)
		return NAN;
	memcpy(text, value->text, value->size);
	text[value->size] = '\0';
	number = strtod(text, &end);
	return *end || !isfinite(number) ? NAN : number;
}

bool values_empty(const struct value *value)
{
	switch (value->type) {
	case VALUE_NULL:
	case VALUE_FALSE:
		return true;
	case VALUE_NUMBER:
		return values_number(value) == 0;
	case VALUE_STRING:
		return value->size == 0;
	case VALUE_LIST:
		return value->child == 0;
	default:
		return false;
	}
}
