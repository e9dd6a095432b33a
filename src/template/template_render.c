/* template_render.c - a template and an analysis become a report. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "template/template_parts.h"

/* Sections inside each other multiply, so that the work is bounded: of each part and, much less, each key that is looked at. */
#define WORK_MAX 30000000u
#define WORK_PART 10u

struct render {
	const struct template *t;
	const struct values *v;
	struct buffer *out;
	size_t before; /* bytes in `out` that are not ours */
	uint32_t stack[TEMPLATE_DEPTH_MAX + 1]; /* values, the innermost last */
	unsigned depth;
	uint64_t work;
	struct error *err;
};

/* ---- Finding a value ------------------------------------------------------------- */

static size_t part_size(const char *path, size_t size)
{
	const char *dot = memchr(path, '.', size);

	return dot ? (size_t)(dot - path) : size;
}

/* The first part is looked for from the inside out, the rest in what was found; 0: there is none. */
static uint32_t find(struct render *r, const struct node *node)
{
	const char *path = node->text;
	size_t size = node->size, part = part_size(path, size);
	uint32_t value = 0;

	if (size == 1 && path[0] == '.')
		return r->stack[r->depth - 1];
	for (unsigned i = r->depth; i-- > 0 && value == 0;)
		value = values_find(r->v, r->stack[i], path, part, &r->work);
	while (value && part < size) {
		path += part + 1;
		size -= part + 1;
		part = part_size(path, size);
		value = values_find(r->v, value, path, part, &r->work);
	}
	return value;
}

/* ---- Writing --------------------------------------------------------------------- */

static int check_room(const struct render *r, const struct node *node)
{
	if (r->out->size - r->before <= TEMPLATE_OUTPUT_MAX)
		return 0;
	return template_error(r->t, node->at, -EFBIG, r->err, "more than %u MB come out", TEMPLATE_OUTPUT_MAX >> 20);
}

/* In Markdown, a backtick that meets one before it would make a longer fence of both; behind a backslash nothing is what it
 * was; and what brackets hold becomes a link by what follows them. */
static int keep_apart(struct render *r, char first)
{
	const struct buffer *out = r->out;
	uint8_t last = out->size > r->before ? out->data[out->size - 1] : 0;
	bool meet = (last == '`' && first == '`') || (last == ']' && (first == '(' || first == '[')) ||
		    (last == '\\' && first && strchr("`\\[]", first));

	return r->t->format == TEMPLATE_MARKDOWN && meet ? buffer_append(r->out, " ", 1) : 0;
}

static int put_text(struct render *r, const struct node *node)
{
	int rc = keep_apart(r, node->text[0]);

	return rc ? rc : buffer_append(r->out, node->text, node->size);
}

static int put_value(struct render *r, const struct node *node, const struct value *value)
{
	int rc;

	if (value->type == VALUE_NULL)
		return 0;
	if (value->type == VALUE_LIST || value->type == VALUE_OBJECT)
		return template_error(r->t, node->at, -EINVAL, r->err, "{{%.*s}} has more than one value; {{#%.*s}} goes through them",
				      (int)node->size, node->text, (int)node->size, node->text);
	if (node->formatter != FORMAT_NONE && value->type != VALUE_NUMBER)
		return template_error(r->t, node->at, -EINVAL, r->err, "{{%.*s}} is no number, as %s needs", (int)node->size, node->text,
				      formatter_name(node->formatter));
	if (value->type == VALUE_NUMBER)
		return template_put_number(value, node->formatter, r->out);
	if (value->type != VALUE_STRING)
		return buffer_printf(r->out, "%s", value->type == VALUE_TRUE ? "true" : "false");
	rc = keep_apart(r, '`');
	return rc ? rc : template_put_string(r->t->format, value->text, value->size, r->out);
}

static int render_nodes(struct render *r, uint32_t from, uint32_t to);

static int render_with(struct render *r, uint32_t at, uint32_t value)
{
	int rc;

	r->stack[r->depth++] = value;
	rc = render_nodes(r, at + 1, r->t->nodes[at].end);
	r->depth--;
	return rc;
}

static int render_section(struct render *r, uint32_t at)
{
	const struct node *node = &r->t->nodes[at];
	uint32_t value = find(r, node);
	bool empty = value == 0 || values_empty(&r->v->list[value]);
	int rc = 0;

	if (node->kind == NODE_INVERTED)
		return empty ? render_nodes(r, at + 1, node->end) : 0;
	if (empty)
		return 0;
	if (r->v->list[value].type != VALUE_LIST)
		return render_with(r, at, value);
	for (uint32_t i = r->v->list[value].child; i && rc == 0; i = r->v->list[i].next)
		rc = render_with(r, at, i);
	return rc;
}

static int render_node(struct render *r, uint32_t at)
{
	const struct node *node = &r->t->nodes[at];
	uint32_t value;
	int rc;

	r->work += WORK_PART;
	if (r->work > WORK_MAX)
		return template_error(r->t, node->at, -E2BIG, r->err, "this would take too long: its parts repeat each other");
	switch (node->kind) {
	case NODE_TEXT:
		rc = put_text(r, node);
		break;
	case NODE_VALUE:
		value = find(r, node);
		rc = value ? put_value(r, node, &r->v->list[value]) : 0;
		break;
	default:
		return render_section(r, at);
	}
	return rc ? rc : check_room(r, node);
}

/* As deep as sections are inside each other, of which parsing has seen to it that there are not many. */
static int render_nodes(struct render *r, uint32_t from, uint32_t to)
{
	int rc = 0;

	for (uint32_t at = from; at < to && rc == 0;) {
		const struct node *node = &r->t->nodes[at];

		rc = render_node(r, at);
		at = node->kind == NODE_SECTION || node->kind == NODE_INVERTED ? node->end : at + 1;
	}
	return rc;
}

int template_render(const struct template *t, const char *json, size_t size, struct buffer *out, struct error *err)
{
	struct values v = { 0 };
	struct render r = { .t = t, .v = &v, .out = out, .before = out->size, .stack = { 1 }, .depth = 1, .err = err };
	int rc = values_read(&v, json, size, err);

	if (rc < 0)
		return rc;
	rc = render_nodes(&r, 0, (uint32_t)t->count);
	if (rc == -ENOMEM)
		error_errno(err, rc, "cannot render '%s'", t->path);
	if (rc < 0)
		out->size = r.before;
	values_release(&v);
	return rc;
}
