/* json.c - see json.h. */
#include "import/json.h"

void json_fail(struct json *j, enum json_status status, const char *reason)
{
	if (j->status != JSON_OK)
		return;
	j->status = status;
	j->reason = reason;
}

/* Wrong here, unless the input just ends. */
static void unexpected(struct json *j, const char *reason)
{
	json_fail(j, j->at >= j->end ? JSON_SHORT : JSON_BAD, reason);
}

static const char *after_space(const char *at)
{
	while (json_is_space(*at))
		at++;
	return at;
}

/* Whether a key and its colon follow. */
static bool looks_like_key(const char *at, const char *end)
{
	if (*at != '"')
		return false;
	at = json_scan_string(at + 1, end);
	return at < end && *at == '"' && *after_space(at + 1) == ':';
}

static bool starts_value(char c)
{
	return c == '"' || c == '[' || c == '{' || c == ']' || c == '-' || (c >= '0' && c <= '9') || c == 't' ||
	       c == 'f' || c == 'n' || c == 'N';
}

/* Whether JSON could go on behind a quote that ended a string. */
static bool could_end(const struct json *j, const char *quote, enum json_where where)
{
	const char *at = after_space(quote + 1);

	if (at >= j->end)
		return true;
	if (where == JSON_AS_KEY)
		return *at == ':';
	if (*at == (where == JSON_IN_OBJECT ? '}' : ']'))
		return true;
	if (where == JSON_IN_OBJECT && looks_like_key(at, j->end))
		return true; /* a comma is missing */
	if (*at != ',')
		return false;
	at = after_space(at + 1);
	if (where == JSON_IN_ARRAY)
		return at >= j->end || starts_value(*at);
	return at >= j->end || *at == '}' || looks_like_key(at, j->end);
}

/* A path that ends in a backslash escapes the quote behind it, which is then the last that makes sense as an end. */
static bool escapes_the_end(const struct json *j, const char *backslash, enum json_where where)
{
	const char *next;

	if (backslash[1] != '"' || !could_end(j, backslash + 1, where))
		return false;
	next = json_scan_string(backslash + 2, j->end);
	return next >= j->end || *next != '"' || !could_end(j, next, where);
}

/* A string that is mended does not go over the end of its line, nor into the next object: then its own end is missing.
 */
static void careful_string(struct json *j, enum json_where where, struct json_text *ret)
{
	const char *start = j->at, *at = start;
	bool mended = false, lines = false;

	for (; at < j->end; at++) {
		lines |= *at == '\n';
		if (mended && (lines || (*at == '{' && looks_like_key(after_space(at + 1), j->end))))
			break;
		if (*at == '\\') {
			ret->escaped = true;
			if (escapes_the_end(j, at, where))
				mended = true;
			else
				at++;
			continue;
		}
		if (*at != '"')
			continue;
		if (could_end(j, at, where)) {
			*ret = (struct json_text){ start, (size_t)(at - start), ret->escaped };
			j->at = at + 1;
			j->repairs += mended;
			return;
		}
		mended = true;
	}
	j->at = at;
	unexpected(j, "a string has no end");
}

static void escaped_string(struct json *j, enum json_where where, struct json_text *ret)
{
	const char *start = j->at, *at = start;
	bool escaped = false;

	if (j->careful) {
		ret->escaped = false;
		careful_string(j, where, ret);
		return;
	}
	for (;;) {
		at = json_scan_string(at, j->end);
		if (at >= j->end) {
			j->at = j->end;
			json_fail(j, JSON_SHORT, "a string has no end");
			return;
		}
		if (*at == '"')
			break;
		escaped = true;
		at += 2;
	}
	*ret = (struct json_text){ start, (size_t)(at - start), escaped };
	j->at = at + 1;
}

/* Nearly all strings have neither escapes nor faults. */
static inline void string(struct json *j, enum json_where where, struct json_text *ret)
{
	const char *end = json_scan_string(j->at, j->end);

	if (__builtin_expect(j->careful || end >= j->end || *end != '"', false)) {
		escaped_string(j, where, ret);
		return;
	}
	ret->data = j->at;
	ret->size = (size_t)(end - j->at);
	ret->escaped = false;
	j->at = end + 1;
}

void json_enter(struct json *j, char open)
{
	json_space(j);
	if (j->status != JSON_OK)
		return;
	if (*j->at != open || j->at >= j->end)
		unexpected(j, "something else than an object");
	else
		j->at++;
}

/* Commas between two members or elements.  One too many is no harm; one that is missing is made good. */
static inline bool commas(struct json *j, bool *first, char close)
{
	bool comma = *first;

	if (j->status != JSON_OK)
		return false;
	json_space(j);
	while (*j->at == ',') {
		comma = true;
		j->at++;
		json_space(j);
	}
	*first = false;
	if (j->at >= j->end) {
		json_fail(j, JSON_SHORT, "the end is missing");
		return false;
	}
	if (*j->at == close) {
		j->at++;
		return false;
	}
	j->repairs += !comma;
	return true;
}

bool json_member(struct json *j, bool *first, struct json_text *key)
{
	if (!commas(j, first, '}'))
		return false;
	if (*j->at != '"') {
		unexpected(j, "a key is missing");
		return false;
	}
	j->at++;
	string(j, JSON_AS_KEY, key);
	if (j->status != JSON_OK)
		return false;
	json_space(j);
	if (*j->at != ':') {
		unexpected(j, "a colon is missing");
		return false;
	}
	j->at++;
	json_space(j);
	return true;
}

bool json_element(struct json *j, bool *first)
{
	return commas(j, first, ']');
}

/* Strings in here end at the first quote; where that makes no sense it shows behind them. */
static void skip_nested(struct json *j)
{
	struct json_text text;
	size_t depth = 0;

	for (;;) {
		j->at = json_scan_nesting(j->at, j->end);
		if (j->at >= j->end) {
			j->at = j->end;
			json_fail(j, JSON_SHORT, "the end is missing");
			return;
		}
		switch (*j->at++) {
		case '"':
			string(j, JSON_IN_ARRAY, &text);
			if (j->status != JSON_OK)
				return;
			json_space(j);
			if (j->at < j->end && *j->at != ',' && *j->at != ':' && *j->at != ']' && *j->at != '}') {
				json_fail(j, JSON_BAD, "a quote inside a string");
				return;
			}
			break;
		case '[':
		case '{':
			depth++;
			break;
		default:
			if (--depth == 0)
				return;
		}
	}
}

/* The same with an eye on where each string is. */
static void skip_careful(struct json *j, unsigned depth)
{
	bool object = *j->at == '{', first = true;
	struct json_text key;

	if (depth == 0) {
		json_fail(j, JSON_BAD, "nested too deep");
		return;
	}
	j->at++;
	while (object ? json_member(j, &first, &key) : json_element(j, &first))
		if (*j->at == '[' || *j->at == '{')
			skip_careful(j, depth - 1);
		else
			json_skip(j, object ? JSON_IN_OBJECT : JSON_IN_ARRAY);
}

/* What numbers and words are made of. */
static const bool is_word[256] = {
	['0' ... '9'] = true, ['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['-'] = true, ['+'] = true, ['.'] = true,
};

static enum json_type type_of_word(const struct json_text *text)
{
	char c = text->data[0];

	if (c == '-' && text->size > 1)
		c = text->data[1];
	if (c >= '0' && c <= '9')
		return JSON_NUMBER;
	if (JSON_IS(text, "true"))
		return JSON_TRUE;
	if (JSON_IS(text, "false"))
		return JSON_FALSE;
	return JSON_NULL; /* also NaN and Infinity, which mean as much */
}

static bool known_word(const struct json_text *text)
{
	static const char *const words[] = { "true",     "false",     "null", "NaN",  "nan",  "-NaN",     "-nan",
					     "Infinity", "-Infinity", "inf",  "-inf", "None", "undefined" };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (json_is(text, words[i], strlen(words[i])))
			return true;
	return false;
}

static void word(struct json *j, enum json_where where, struct json_value *ret)
{
	const char *start = j->at;

	while (is_word[(uint8_t)*j->at])
		j->at++;
	ret->text = (struct json_text){ start, (size_t)(j->at - start), false };
	ret->type = JSON_NULL;
	if (j->at == start && j->careful && where == JSON_IN_OBJECT && (*start == ',' || *start == '}')) {
		j->repairs++;
		return;
	}
	if (j->at == start) {
		unexpected(j, "a value is missing");
		return;
	}
	if (j->at >= j->end) {
		json_fail(j, JSON_SHORT, "the end is missing");
		return;
	}
	ret->type = type_of_word(&ret->text);
	if (ret->type == JSON_NULL && !known_word(&ret->text))
		json_fail(j, JSON_BAD, "a word that is no value");
}

void json_value(struct json *j, enum json_where where, struct json_value *ret)
{
	const char *start = j->at;

	if (j->status != JSON_OK)
		return;
	switch (*start) {
	case '"':
		j->at++;
		ret->type = JSON_STRING;
		string(j, where, &ret->text);
		break;
	case '[':
	case '{':
		ret->type = *start == '[' ? JSON_ARRAY : JSON_OBJECT;
		if (j->careful)
			skip_careful(j, JSON_CAREFUL_DEPTH);
		else
			skip_nested(j);
		ret->text = (struct json_text){ start, (size_t)(j->at - start), false };
		break;
	default:
		word(j, where, ret);
	}
}

void json_skip(struct json *j, enum json_where where)
{
	struct json_value value;

	json_value(j, where, &value);
}
