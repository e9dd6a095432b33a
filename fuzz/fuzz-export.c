/*
 * fuzz-export.c - arbitrary traces in the formats of other tools.
 *
 * As with the reader, once as they are and once with all checksums put right.
 * What comes out of the formats that are JSON has to be JSON, in UTF-8.
 */
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "sbt.h"

#define DEEPEST 200

/* ---- JSON; a zero ends the text ------------------------------------------------------- */

static const uint8_t *skip_space(const uint8_t *at)
{
	return at + strspn((const char *)at, " \t\n\r");
}

/* Of a character that is more than one byte; NULL: it is none. */
static const uint8_t *skip_wide(const uint8_t *at)
{
	unsigned more = *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : 1;

	if (*at < 0xc2 || *at > 0xf4 || (*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) || (*at == 0xf0 && at[1] < 0x90) ||
	    (*at == 0xf4 && at[1] > 0x8f))
		return NULL;
	for (at++; more; more--, at++)
		if ((*at & 0xc0) != 0x80)
			return NULL;
	return at;
}

static const uint8_t *skip_escape(const uint8_t *at)
{
	if (*at == 'u')
		return strspn((const char *)at + 1, "0123456789abcdefABCDEF") >= 4 ? at + 5 : NULL;
	return *at && strchr("\"\\/bfnrt", *at) ? at + 1 : NULL;
}

static const uint8_t *skip_string(const uint8_t *at)
{
	if (*at++ != '"')
		return NULL;
	while (at && *at != '"')
		at = *at < 0x20 ? NULL : *at == '\\' ? skip_escape(at + 1) : *at < 0x80 ? at + 1 : skip_wide(at);
	return at ? at + 1 : NULL;
}

static const uint8_t *skip_number(const uint8_t *at)
{
	static const char digits[] = "0123456789";
	size_t whole;

	at += *at == '-';
	whole = strspn((const char *)at, digits);
	if (whole == 0 || (whole > 1 && *at == '0'))
		return NULL;
	at += whole;
	if (*at == '.') {
		whole = strspn((const char *)at + 1, digits);
		if (whole == 0)
			return NULL;
		at += 1 + whole;
	}
	if (*at == 'e' || *at == 'E') {
		at += 1 + (at[1] == '+' || at[1] == '-');
		whole = strspn((const char *)at, digits);
		at = whole ? at + whole : NULL;
	}
	return at;
}

static const uint8_t *skip_value(const uint8_t *at, int depth);

static const uint8_t *skip_many(const uint8_t *at, char last, int depth)
{
	at = skip_space(at);
	if (*at == last)
		return at + 1;
	for (;;) {
		if (last == '}') {
			at = skip_string(skip_space(at));
			at = at ? skip_space(at) : NULL;
			if (!at || *at++ != ':')
				return NULL;
		}
		at = skip_value(at, depth + 1);
		at = at ? skip_space(at) : NULL;
		if (!at || *at == last)
			return at ? at + 1 : NULL;
		if (*at++ != ',')
			return NULL;
	}
}

static const uint8_t *skip_word(const uint8_t *at, const char *word)
{
	return strncmp((const char *)at, word, strlen(word)) == 0 ? at + strlen(word) : NULL;
}

static const uint8_t *skip_value(const uint8_t *at, int depth)
{
	at = skip_space(at);
	if (depth > DEEPEST)
		return NULL;
	switch (*at) {
	case '{':
		return skip_many(at + 1, '}', depth);
	case '[':
		return skip_many(at + 1, ']', depth);
	case '"':
		return skip_string(at);
	case 't':
		return skip_word(at, "true");
	case 'f':
		return skip_word(at, "false");
	case 'n':
		return skip_word(at, "null");
	default:
		return skip_number(at);
	}
}

static void check_json(struct buffer *text)
{
	const uint8_t *end;

	if (buffer_append(text, "", 1) < 0)
		return;
	end = skip_value(text->data, 0);
	if (!end || skip_space(end) != text->data + text->size - 1)
		abort();
}

/* ---- Exports --------------------------------------------------------------------------- */

static int gather(void *arg, const void *data, size_t size)
{
	return buffer_append(arg, data, size);
}

static void export_one(struct trace_reader *reader, const struct export_format *format, const struct export_options *options)
{
	struct buffer text = BUFFER_INIT;
	struct export_out out;
	struct error err = { 0 };

	if (export_out_init(&out, gather, &text, EXPORT_PLAIN) < 0)
		return;
	if (export_trace(reader, format, options, &out, &err) == 0 && strstr(format->suffixes, ".json"))
		check_json(&text);
	export_out_release(&out);
	buffer_release(&text);
}

/* The last byte of the file, which is padding or a checksum, says how. */
static void export_all(struct trace_reader *reader, unsigned how)
{
	struct export_options options = EXPORT_OPTIONS_INIT;

	options.filter.whole_scopes = true;
	options.weight = (enum export_weight)(how % 3);
	if (how & 8) {
		options.filter.windowed = true;
		options.filter.from_ns = 20;
		options.filter.to_ns = 100;
	}
	options.filter.shortest_ns = how & 16 ? 10 : 0;
	options.filter.depth = how & 32 ? 2 : -1;
	for (size_t i = 0; export_format_at(i); i++)
		export_one(reader, export_format_at(i), &options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	for (int pass = 0; pass < 2; pass++) {
		struct trace_reader *reader;

		if (pass == 1)
			sbt_repair(copy, size);
		if (trace_reader_open_memory(&reader, copy, size, NULL) == 0) {
			export_all(reader, size ? data[size - 1] : 0);
			trace_reader_close(reader);
		}
	}
	free(copy);
	return 0;
}
