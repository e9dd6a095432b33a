/*
 * template_markdown.c - where a tag may stand in Markdown.
 *
 * A string of the JSON becomes a code span.  It stays one as long as nothing
 * before it is open: no code span, no fenced block, no link, no HTML.  So code
 * has to end before the next tag, spans on their line, links likewise, whose
 * addresses are read before code is; and HTML is refused altogether: what is in
 * it is not Markdown.  Where a backtick would meet another one or a backslash, or
 * brackets become a link, only the result shows; template_render.c keeps these
 * apart.
 */
#include <string.h>

#include "template/template_parts.h"

static bool complain(struct complaint *ret, size_t at, const char *text)
{
	*ret = (struct complaint){ at, text };
	return false;
}

static size_t run_at(const char *text, size_t size, size_t at)
{
	size_t end = at;

	while (end < size && text[end] == '`')
		end++;
	return end - at;
}

/* The begin of the next line, when there are only blanks, or no backticks, up to the end of this one, and no tag; else 0. */
static size_t line_without(const char *text, size_t size, size_t at, bool last, bool only_blanks)
{
	for (; at < size && text[at] != '\n'; at++)
		if (only_blanks ? !strchr(" \t\r", text[at]) || !text[at] : text[at] == '`')
			return 0;
	return at < size ? at + 1 : last ? size : 0;
}

/* In a fenced block: looks whether this line ends it, and passes over the line. */
static size_t pass_fenced_line(struct markdown_guard *g, const char *text, size_t size, size_t at, bool last)
{
	size_t begin = at, run;
	const char *end;

	while (at < size && text[at] == ' ')
		at++;
	run = run_at(text, size, at);
	if (g->line_start && at - begin <= 3 && run >= g->fence && line_without(text, size, at + run, last, true))
		g->fence = 0;
	end = memchr(text + at, '\n', size - at);
	g->line_start = end != NULL;
	return end ? (size_t)(end - text) + 1 : size;
}

static bool begins_html(const char *text, size_t size, size_t at)
{
	return at + 1 == size || !strchr(" \t\r\n=0123456789", text[at + 1]) || !text[at + 1];
}

/* Backticks outside of fenced blocks: a fence, or the begin or the end of a span. */
static bool take_run(struct markdown_guard *g, const char *text, size_t size, size_t *at, size_t indent, bool last, struct complaint *ret)
{
	size_t run = run_at(text, size, *at), next;

	if (g->span == 0 && *at && text[*at - 1] == '\\')
		return complain(ret, *at, "a backtick behind a backslash, which hides where code begins; write &#96;");
	next = g->span == 0 && g->line_start && indent <= 3 && run >= 3 ? line_without(text, size, *at + run, last, false) : 0;
	if (next) {
		g->fence = run;
		*at = next;
		g->line_start = true;
		return true;
	}
	if (g->span == 0)
		g->span = run;
	else if (g->span == run)
		g->span = 0;
	*at += run;
	g->line_start = false;
	return true;
}

/* In code, too: what a renderer takes for code may be less than what we do. */
static bool refuse_html(const char *text, size_t size, struct complaint *ret)
{
	for (size_t at = 0; at < size; at++)
		if (text[at] == '<' && begins_html(text, size, at))
			return complain(ret, at, "HTML in Markdown, in which names would not be safe; write &lt; for the sign");
	return true;
}

/* The address of a link, behind "](": all of it is here, and has nothing in it behind which it might go on. */
static bool pass_address(const char *text, size_t size, size_t *at, struct complaint *ret)
{
	size_t end = *at;

	while (end < size && text[end] != ')' && text[end] && !strchr("(\\\"'<`\n\r", text[end]))
		end++;
	if (end == size || text[end] != ')')
		return complain(ret, *at, "the address of a link is written out, without values, quotes, backslashes and parentheses");
	*at = end + 1;
	return true;
}

/* One letter outside of code. */
static bool take_letter(struct markdown_guard *g, const char *text, size_t size, size_t *at, struct complaint *ret)
{
	char c = text[(*at)++];

	g->line_start = c == '\n' || (g->line_start && c == ' ');
	if (c == '\\' && *at < size && (text[*at] == '[' || text[*at] == ']' || text[*at] == '\\'))
		++*at;
	else if (c == '[')
		g->brackets++;
	else if (c == ']' && g->brackets)
		g->brackets--;
	if (c != ']' || *at == size || text[*at] != '(')
		return true;
	++*at;
	return pass_address(text, size, at, ret);
}

bool markdown_guard_text(struct markdown_guard *g, const char *text, size_t size, bool last, struct complaint *ret)
{
	size_t at = 0, line = 0;

	if (!refuse_html(text, size, ret))
		return false;
	while (at < size) {
		if (g->fence) {
			line = at = pass_fenced_line(g, text, size, at, last);
			continue;
		}
		if (text[at] == '`') {
			if (!take_run(g, text, size, &at, at - line, last, ret))
				return false;
			line = g->fence ? at : line;
			continue;
		}
		if (text[at] == '\n' && g->span)
			return complain(ret, at, "a code span goes on behind the end of its line");
		if (g->span)
			at++;
		else if (!take_letter(g, text, size, &at, ret))
			return false;
		if (text[at - 1] == '\n')
			line = at;
	}
	return true;
}

bool markdown_guard_tag(struct markdown_guard *g, bool own_line, struct complaint *ret)
{
	if (g->span || g->fence)
		return complain(ret, 0, "a tag inside code; a value brings its own backticks");
	if (g->brackets)
		return complain(ret, 0, "a tag inside of square brackets, which may be a link; \\[ is just a bracket");
	g->line_start = own_line;
	return true;
}
