/* template.c - see template.h: reads a template. */
#include "template/template.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "template/template_parts.h"

/* A section that is open, and where its begin stood. */
struct open_section {
	uint32_t node;
	struct html_guard html;
};

struct parser {
	struct template *t;
	struct markdown_guard markdown;
	struct html_guard html;
	struct open_section sections[TEMPLATE_DEPTH_MAX];
	unsigned depth;
	struct error *err;
};

/* What stands between {{ and }}. */
struct tag {
	size_t at, end; /* in the template: of the braces */
	char kind;      /* # ^ / !, or 0 for a value */
	const char *path;
	size_t size;
	enum formatter formatter;
	bool own_line;
};

/* ---- What is wrong, and where --------------------------------------------------- */

int template_error(const struct template *t, size_t at, int code, struct error *err, const char *format, ...)
{
	unsigned line = 1, column = 1;
	char sentence[320];
	va_list args;

	for (size_t i = 0; i < at && i < t->size; i++) {
		if (t->text[i] == '\n') {
			line++;
			column = 1;
		} else {
			column += ((unsigned char)t->text[i] & 0xc0) != 0x80; /* letters, not bytes */
		}
	}
	va_start(args, format);
	vsnprintf(sentence, sizeof sentence, format, args);
	va_end(args);
	error_set(err, code, "%.160s:%u:%u: %s", t->path, line, column, sentence);
	if (err)
		err->exit_code = 2;
	return code;
}

static int wrong(struct parser *p, size_t at, const char *text)
{
	return template_error(p->t, at, -EINVAL, p->err, "%s", text);
}

/* ---- Parts ------------------------------------------------------------------------ */

static int add_node(struct parser *p, const struct node *node)
{
	struct template *t = p->t;

	if (t->count >= UINT32_MAX || ARRAY_GROW(t->nodes, t->capacity, t->count + 1) < 0)
		return error_errno(p->err, -ENOMEM, "cannot read the template '%s'", t->path);
	t->nodes[t->count++] = *node;
	return 0;
}

static int add_text(struct parser *p, size_t from, size_t to, bool last)
{
	const char *text = p->t->text + from;
	struct complaint wrong_at;
	bool fine = p->t->format == TEMPLATE_HTML ? html_guard_text(&p->html, text, to - from, last, &wrong_at) :
						    markdown_guard_text(&p->markdown, text, to - from, last, &wrong_at);

	if (!fine)
		return wrong(p, from + wrong_at.at, wrong_at.text);
	if (to == from)
		return 0;
	return add_node(p, &(struct node){ .kind = NODE_TEXT, .at = from, .text = text, .size = to - from });
}

/* ---- Tags ------------------------------------------------------------------------- */

static bool is_letter(char c, bool first)
{
	return isalpha((unsigned char)c) || c == '_' || (!first && isdigit((unsigned char)c));
}

/* "a", "a.b" or "."; the number of letters of it. */
static size_t path_size(const char *s, size_t size)
{
	size_t at = 0;

	if (size && s[0] == '.')
		return 1;
	for (;;) {
		size_t begin = at;

		while (at < size && is_letter(s[at], at == begin))
			at++;
		if (at == begin)
			return begin ? begin - 1 : 0; /* a dot with nothing behind it */
		if (at == size || s[at] != '.')
			return at;
		at++;
	}
}

static const char *trim(const char *s, size_t *size)
{
	while (*size && isspace((unsigned char)*s)) {
		s++;
		--*size;
	}
	while (*size && isspace((unsigned char)s[*size - 1]))
		--*size;
	return s;
}

static int parse_formatter(struct parser *p, struct tag *tag, const char *s, size_t size)
{
	s = trim(s, &size);
	for (unsigned i = FORMAT_NONE + 1; i < FORMATTER_COUNT; i++)
		if (strlen(formatter_name(i)) == size && memcmp(formatter_name(i), s, size) == 0) {
			tag->formatter = i;
			return 0;
		}
	return template_error(p->t, tag->at, -EINVAL, p->err,
			      "there is no format '%.*s'; there are time, ms, percent, share, count and bytes", size > 40 ? 40 : (int)size, s);
}

static int parse_path(struct parser *p, struct tag *tag, const char *s, size_t size)
{
	const char *rest;

	s = trim(s, &size);
	tag->path = s;
	tag->size = path_size(s, size);
	if (tag->size == 0)
		return wrong(p, tag->at, "a tag holds a name of the analysis, as in {{summary.total_idle_us}}");
	size -= tag->size;
	rest = trim(s + tag->size, &size);
	if (size == 0)
		return 0;
	if (rest[0] == '|' && tag->kind == 0)
		return parse_formatter(p, tag, rest + 1, size - 1);
	return template_error(p->t, tag->at, -EINVAL, p->err, "'%.*s' behind the name is not understood", size > 40 ? 40 : (int)size, rest);
}

/* What templates elsewhere have, and these have not. */
static const char *foreign(char c)
{
	switch (c) {
	case '{':
	case '&':
		return "there are no raw values: whatever comes from a trace is made safe";
	case '>':
	case '<':
	case '$':
		return "a template cannot take in other files";
	case '=':
		return "the braces cannot be changed";
	default:
		return NULL;
	}
}

static int parse_tag(struct parser *p, size_t at, struct tag *ret)
{
	const struct template *t = p->t;
	const char *s = t->text + at + 2, *end = memmem(s, t->size - at - 2, "}}", 2), *refused;

	*ret = (struct tag){ .at = at };
	if (!end)
		return wrong(p, at, "{{ without }}");
	ret->end = (size_t)(end - t->text) + 2;
	refused = s < end ? foreign(*s) : NULL;
	if (refused)
		return wrong(p, at, refused);
	if (s < end && strchr("#^/!", *s) && *s)
		ret->kind = *s++;
	return ret->kind == '!' ? 0 : parse_path(p, ret, s, (size_t)(end - s));
}

/* A tag that shows nothing and has a line of its own takes the line along: from *from on, and up to tag->end. */
static void take_line(const struct template *t, struct tag *tag, size_t *from)
{
	size_t begin = tag->at, end = tag->end;

	if (tag->kind == 0)
		return;
	while (begin > 0 && (t->text[begin - 1] == ' ' || t->text[begin - 1] == '\t'))
		begin--;
	while (end < t->size && (t->text[end] == ' ' || t->text[end] == '\t' || t->text[end] == '\r'))
		end++;
	if ((begin > 0 && t->text[begin - 1] != '\n') || (end < t->size && t->text[end] != '\n'))
		return;
	*from = begin;
	tag->end = end < t->size ? end + 1 : end;
	tag->own_line = true;
}

/* ---- Sections --------------------------------------------------------------------- */

static int open_section(struct parser *p, const struct tag *tag)
{
	if (p->depth == TEMPLATE_DEPTH_MAX)
		return template_error(p->t, tag->at, -EINVAL, p->err, "more than %d parts inside each other", TEMPLATE_DEPTH_MAX);
	p->sections[p->depth++] = (struct open_section){ .node = (uint32_t)p->t->count, .html = p->html };
	return add_node(p, &(struct node){ .kind = tag->kind == '#' ? NODE_SECTION : NODE_INVERTED,
					   .at = tag->at, .text = tag->path, .size = tag->size });
}

static bool same_place(const struct html_guard *a, const struct html_guard *b)
{
	return a->state == b->state && (a->state != HTML_DOUBLE || a->place == b->place) &&
	       (a->state != HTML_ESCAPABLE || strcmp(a->tag, b->tag) == 0);
}

static int close_section(struct parser *p, const struct tag *tag)
{
	const struct open_section *section;
	struct node *node;

	if (p->depth == 0)
		return template_error(p->t, tag->at, -EINVAL, p->err, "{{/%.*s}} closes what is not open", (int)tag->size, tag->path);
	section = &p->sections[--p->depth];
	node = &p->t->nodes[section->node];
	if (node->size != tag->size || memcmp(node->text, tag->path, tag->size) != 0)
		return template_error(p->t, tag->at, -EINVAL, p->err, "{{/%.*s}} where {{/%.*s}} is expected",
				      tag->size > 60 ? 60 : (int)tag->size, tag->path, node->size > 60 ? 60 : (int)node->size, node->text);
	if (!same_place(&section->html, &p->html))
		return wrong(p, tag->at, "a part ends in another place of the HTML than it began in");
	node->end = (uint32_t)p->t->count;
	return 0;
}

static int use_tag(struct parser *p, const struct tag *tag)
{
	struct complaint complaint;
	bool fine = p->t->format == TEMPLATE_HTML ? tag->kind == '!' || html_guard_tag(&p->html, &complaint) :
						    markdown_guard_tag(&p->markdown, tag->own_line, &complaint);

	if (!fine)
		return wrong(p, tag->at, complaint.text);
	switch (tag->kind) {
	case '#':
	case '^':
		return open_section(p, tag);
	case '/':
		return close_section(p, tag);
	case '!':
		return 0;
	default:
		return add_node(p, &(struct node){ .kind = NODE_VALUE, .at = tag->at, .text = tag->path, .size = tag->size,
						   .formatter = tag->formatter });
	}
}

/* ---- All of it ---------------------------------------------------------------------- */

static int parse(struct parser *p)
{
	const struct template *t = p->t;
	size_t at = 0;
	int rc = 0;

	while (rc == 0) {
		const char *braces = memmem(t->text + at, t->size - at, "{{", 2);
		size_t text_end;
		struct tag tag;

		if (!braces)
			break;
		rc = parse_tag(p, (size_t)(braces - t->text), &tag);
		if (rc < 0)
			return rc;
		text_end = tag.at;
		take_line(t, &tag, &text_end);
		rc = add_text(p, at, text_end > at ? text_end : at, false);
		rc = rc ? rc : use_tag(p, &tag);
		at = tag.end;
	}
	rc = rc ? rc : add_text(p, at, t->size, true);
	if (rc == 0 && p->depth) {
		const struct node *node = &t->nodes[p->sections[p->depth - 1].node];

		rc = template_error(t, node->at, -EINVAL, p->err, "{{#%.*s}} is never closed", node->size > 60 ? 60 : (int)node->size,
				    node->text);
	}
	return rc;
}

int template_parse(struct template **ret, const char *path, const char *text, size_t size, enum template_format format, struct error *err)
{
	struct template *t = calloc(1, sizeof *t);
	struct parser p = { .t = t, .markdown = { .line_start = true }, .err = err };
	int rc = -ENOMEM;

	if (t) {
		t->path = strdup(path);
		t->text = malloc(size + 1);
		t->size = size;
		t->format = format;
	}
	if (t && t->path && t->text) {
		memcpy(t->text, text, size);
		t->text[size] = '\0';
		rc = size <= TEMPLATE_FILE_MAX ? parse(&p) : template_error(t, 0, -EFBIG, err, "larger than the %u KiB a template may have",
									     TEMPLATE_FILE_MAX >> 10);
	} else {
		error_errno(err, rc, "cannot read the template '%s'", path);
	}
	if (rc < 0)
		template_free(t);
	else
		*ret = t;
	return rc;
}

void template_free(struct template *t)
{
	if (!t)
		return;
	free(t->path);
	free(t->text);
	free(t->nodes);
	free(t);
}
