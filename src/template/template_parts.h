/*
 * template_parts.h - what the files of templates share.
 */
#ifndef TEMPLATE_TEMPLATE_PARTS_H
#define TEMPLATE_TEMPLATE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "template/template.h"

/* ---- The template ---- */

enum formatter { FORMAT_NONE, FORMAT_TIME, FORMAT_MS, FORMAT_PERCENT, FORMAT_SHARE, FORMAT_COUNT, FORMAT_BYTES, FORMATTER_COUNT };

enum node_kind { NODE_TEXT, NODE_VALUE, NODE_SECTION, NODE_INVERTED };

/* In the order of the template; what is inside a section follows it, up to `end`. */
struct node {
	enum node_kind kind;
	size_t at;        /* in the template */
	const char *text; /* as it is; or the path, "a.b" or "." */
	size_t size;
	enum formatter formatter;
	uint32_t end;
};

struct template {
	char *path, *text;
	size_t size;
	enum template_format format;
	struct node *nodes;
	size_t count, capacity;
};

/* "FILE:LINE:COLUMN: " and the sentence; returns `code`. */
int template_error(const struct template *t, size_t at, int code, struct error *err, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* ---- Guards: where a tag may stand ---- */

/* What was wrong with the text, and where. */
struct complaint {
	size_t at;
	const char *text;
};

/* template_markdown.c */
struct markdown_guard {
	size_t span;  /* backticks that opened a code span; 0: none */
	size_t fence; /* a fenced block, likewise */
	size_t brackets; /* that are open */
	bool line_start;
};
bool markdown_guard_text(struct markdown_guard *g, const char *text, size_t size, bool last, struct complaint *ret);
bool markdown_guard_tag(struct markdown_guard *g, bool own_line, struct complaint *ret);

/* template_html.c */
enum html_state {
	HTML_TEXT,
	HTML_ESCAPABLE, /* in title, textarea: text without tags */
	HTML_RAW,       /* in style */
	HTML_COMMENT,
	HTML_DOCTYPE,
	HTML_TAG_OPEN,  /* behind < */
	HTML_TAG_NAME,
	HTML_TAG,       /* between attributes */
	HTML_NAME,      /* of an attribute */
	HTML_EQUALS,    /* behind the name */
	HTML_VALUE,     /* behind = */
	HTML_DOUBLE,    /* in "..." */
	HTML_SINGLE,
	HTML_BARE,
};
#define HTML_NAME_MAX 32
struct html_guard {
	enum html_state state;
	char tag[HTML_NAME_MAX], name[HTML_NAME_MAX]; /* in small letters */
	size_t tag_size, name_size;
	bool closing;   /* </... */
	bool value_judged;
	char scheme[16]; /* of an address */
	size_t scheme_size;
	unsigned place; /* counts attributes, to tell whether two tags are in the same */
};
bool html_guard_text(struct html_guard *g, const char *text, size_t size, bool last, struct complaint *ret);
bool html_guard_tag(const struct html_guard *g, struct complaint *ret);

/* ---- JSON ---- */

enum value_type { VALUE_NULL, VALUE_FALSE, VALUE_TRUE, VALUE_NUMBER, VALUE_STRING, VALUE_LIST, VALUE_OBJECT };

struct value {
	enum value_type type;
	uint32_t child, next; /* places of values; 0: none */
	const char *key, *text;
	size_t key_size, size;
};
#define VALUE_DEPTH_MAX 64

/* Values of a JSON text, which must outlive them; 1 is the outermost. */
struct values {
	struct value *list;
	size_t count, capacity;
	char *strings;
};
int values_read(struct values *v, const char *json, size_t size, struct error *err);
void values_release(struct values *v);
/* The value of an object's key; 0: there is none.  Adds to *work how many keys were looked at. */
uint32_t values_find(const struct values *v, uint32_t object, const char *key, size_t size, uint64_t *work);
double values_number(const struct value *value); /* NAN: it is none */
bool values_empty(const struct value *value);    /* null, false, 0, "", [] */

/* ---- Writing a value, safe for the format: 0 or -ENOMEM ---- */

const char *formatter_name(enum formatter formatter);
int template_put_string(enum template_format format, const char *text, size_t size, struct buffer *out);
int template_put_number(const struct value *value, enum formatter formatter, struct buffer *out);

#endif
