/*
 * mutate-text.c - texts with other words, in the form that they had.
 *
 * Numbers, quoted strings, words, brackets and lines look alike in JSON, YAML,
 * SQL and templates, so one mutator serves them all.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "mutate.h"

#define SPANS_MAX 512
#define COPIES_MAX 40
#define DEEP 400

enum kind { NUMBER, STRING, WORD, KINDS };

struct span {
	size_t at, size;
};

struct text {
	uint8_t *data;
	size_t size, max;
	struct chance c;
	struct span spans[KINDS][SPANS_MAX];
	size_t counts[KINDS];
};

/* ---- What is there ------------------------------------------------------------------ */

static bool is_word(uint8_t byte)
{
	return isalnum(byte) || byte == '_' || byte >= 0x80;
}

static bool is_number(const struct text *t, size_t at)
{
	return isdigit(t->data[at]) || (t->data[at] == '-' && at + 1 < t->size && isdigit(t->data[at + 1]));
}

static size_t end_of_string(const struct text *t, size_t at)
{
	uint8_t quote = t->data[at++];

	while (at < t->size && t->data[at] != quote)
		at += t->data[at] == '\\' && at + 1 < t->size ? 2 : 1;
	return at < t->size ? at + 1 : t->size;
}

static size_t end_of_number(const struct text *t, size_t at)
{
	for (at++; at < t->size && (isdigit(t->data[at]) || memchr("+-.eE", t->data[at], 5)); at++)
		;
	return at;
}

static size_t end_of_word(const struct text *t, size_t at)
{
	while (at < t->size && is_word(t->data[at]))
		at++;
	return at;
}

static void find_spans(struct text *t)
{
	size_t end;

	for (size_t at = 0; at < t->size; at = end) {
		enum kind kind = KINDS;

		end = at + 1;
		if (t->data[at] == '"' || t->data[at] == '\'') {
			kind = STRING;
			end = end_of_string(t, at);
		} else if (is_number(t, at)) {
			kind = NUMBER;
			end = end_of_number(t, at);
		} else if (is_word(t->data[at])) {
			kind = WORD;
			end = end_of_word(t, at);
		}
		if (kind < KINDS && t->counts[kind] < SPANS_MAX)
			t->spans[kind][t->counts[kind]++] = (struct span){ at, end - at };
	}
}

/* The brackets that begin at or after some place, with what is between them; else the line. */
static struct span pick_part(struct text *t)
{
	size_t start = pick(&t->c, t->size), at = start, depth = 0;

	while (start < t->size && !memchr("[{(", t->data[start], 3))
		start++;
	for (size_t i = start; i < t->size; i++) {
		depth += memchr("[{(", t->data[i], 3) != NULL;
		if (memchr("]})", t->data[i], 3) && --depth == 0)
			return (struct span){ start, i + 1 - start };
	}
	while (at > 0 && t->data[at - 1] != '\n')
		at--;
	for (start = at; at < t->size && t->data[at] != '\n'; at++)
		;
	return (struct span){ start, at < t->size ? at + 1 - start : at - start };
}

/* ---- What becomes of it -------------------------------------------------------------- */

static void put(struct text *t, struct span where, const void *text, size_t size)
{
	t->size = replace(t->data, t->size, t->max, where.at, where.size, text, size);
}

static void change_number(struct text *t, struct span where)
{
	static const char *const odd[] = { "NaN", "1e308", "-1e308", "1e999", "1e-320", "-0", "0.1e+5", "18446744073709551616",
					   "-9223372036854775809", "null", "\"1\"", "[]", "{}", "true", "00", "1." };
	size_t i = pick(&t->c, 32);
	char text[32];

	if (i < sizeof odd / sizeof *odd)
		snprintf(text, sizeof text, "%s", odd[i]);
	else
		snprintf(text, sizeof text, "%lld", (long long)pick_number(&t->c));
	put(t, where, text, strlen(text));
}

static void change_string(struct text *t, struct span where)
{
	static const char *const odd[] = { "\"\"",      "\"\\ud800\"",      "\"\\u0000\"", "\"</script><script>\"", "\"\xff\xfe\x1b[31m\"", "\"\\",
					   "\"\\ud83d\\ude00\"", "\"%s%n\"", "'' or 1=1", "\"B\"",     "\"E\"",  "\"X\"",	     "\"b\"", "\"s\"",
					   "\"M\"",     "\"C\"" };
	size_t i = pick(&t->c, 2 * sizeof odd / sizeof *odd);
	const struct span *other = &t->spans[STRING][pick(&t->c, t->counts[STRING])];
	uint8_t copy[256];

	if (i < sizeof odd / sizeof *odd) {
		put(t, where, odd[i], strlen(odd[i]));
	} else if (other->size <= sizeof copy) {
		memcpy(copy, t->data + other->at, other->size);
		put(t, where, copy, other->size);
	}
}

static void change_word(struct text *t, struct span where)
{
	const struct span *other = &t->spans[WORD][pick(&t->c, t->counts[WORD])];
	uint8_t copy[256];

	if (other->size > sizeof copy)
		return;
	memcpy(copy, t->data + other->at, other->size);
	put(t, where, copy, other->size);
}

static void change_span(struct text *t)
{
	static void (*const change[KINDS])(struct text *t, struct span where) = { change_number, change_string, change_word };
	enum kind kind = (enum kind)pick(&t->c, KINDS);

	if (t->counts[kind])
		change[kind](t, t->spans[kind][pick(&t->c, t->counts[kind])]);
}

/* Once more or many times, with a comma between where it is brackets. */
static void repeat_part(struct text *t)
{
	struct span part = pick_part(t);
	size_t copies = pick(&t->c, 4) ? 1 : pick(&t->c, COPIES_MAX);
	uint8_t *copy = malloc(part.size + 1);

	if (copy && part.size) {
		memcpy(copy, t->data + part.at, part.size);
		copy[part.size] = ',';
		while (copies--)
			put(t, (struct span){ part.at, 0 }, copy, part.size + (copy[part.size - 1] != '\n'));
	}
	free(copy);
}

static void nest(struct text *t)
{
	static const char openers[] = "[{(\"'";
	char deep[DEEP];
	size_t size = pick(&t->c, 8) ? 1 + pick(&t->c, 8) : DEEP;

	memset(deep, openers[pick(&t->c, sizeof openers - 1)], size);
	put(t, (struct span){ pick(&t->c, t->size), 0 }, deep, size);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	static struct text t;

	t = (struct text){ .data = data, .size = size, .max = max, .c = chance_of(seed) };
	if (size == 0 || pick(&t.c, 2))
		return LLVMFuzzerMutate(data, size, max);
	find_spans(&t);
	switch (pick(&t.c, 8)) {
	case 0:
		put(&t, pick_part(&t), NULL, 0);
		break;
	case 1:
		repeat_part(&t);
		break;
	case 2:
		nest(&t);
		break;
	default:
		change_span(&t);
	}
	return t.size ? t.size : LLVMFuzzerMutate(data, size, max);
}
