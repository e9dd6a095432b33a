/* view.c - see view.h. */
#include "report/view.h"

#include <math.h>
#include <stdarg.h>

#define COLUMNS_LEAST 60
#define COLUMNS_USUAL 80
#define COLUMNS_MOST 120 /* eyes lose the line of longer ones */

struct view view_of(const struct report_view_options *o, struct buffer *out)
{
	size_t columns = o->columns == 0 ? COLUMNS_USUAL : o->columns > COLUMNS_MOST ? COLUMNS_MOST : o->columns;

	return (struct view){ .out = out, .columns = columns < COLUMNS_LEAST ? COLUMNS_LEAST : columns, .color = o->color, .ascii = o->ascii };
}

static void check(struct view *v, int rc)
{
	if (rc < 0 && v->error == 0)
		v->error = rc;
}

static void put(struct view *v, const char *format, va_list args)
{
	size_t start = v->out->size;

	check(v, buffer_vprintf(v->out, format, args));
	v->at += columns_width((const char *)v->out->data + start, v->out->size - start);
}

void view_put(struct view *v, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(v, format, args);
	va_end(args);
}

void view_begin(struct view *v, enum view_style style)
{
	static const char *const codes[] = { "1", "32", "33", "31", "2" };

	if (v->color)
		check(v, buffer_printf(v->out, "\033[%sm", codes[style]));
}

void view_end(struct view *v)
{
	if (v->color)
		check(v, buffer_append(v->out, "\033[0m", 4));
}

void view_styled(struct view *v, enum view_style style, const char *format, ...)
{
	va_list args;

	view_begin(v, style);
	va_start(args, format);
	put(v, format, args);
	va_end(args);
	view_end(v);
}

void view_line(struct view *v)
{
	check(v, buffer_append(v->out, "\n", 1));
	v->at = 0;
}

size_t view_left(const struct view *v)
{
	return v->at < v->columns ? v->columns - v->at : 0;
}

void view_name(struct view *v, const char *text, size_t size, size_t most, enum columns_cut cut)
{
	struct columns_options options = { .columns = view_left(v), .cut = cut, .ascii = v->ascii };
	int used;

	if (most && most < options.columns)
		options.columns = most;
	if (options.columns == 0)
		return;
	used = columns_append(v->out, text, size, &options);
	check(v, used);
	v->at += used > 0 ? (size_t)used : 0;
}

/* Bytes of safe text that fit so many columns and end with a word; 0: not even one word does. */
static size_t line_of(const char *text, size_t size, size_t columns)
{
	size_t best = 0;

	for (size_t at = 0; at <= size; at++)
		if (at == size || text[at] == ' ') {
			if (columns_width(text, at) > columns)
				break;
			best = at;
		}
	return best;
}

void view_words(struct view *v, const char *text, unsigned lines, size_t indent)
{
	const struct columns_options whole = { .ascii = v->ascii };
	struct buffer safe = BUFFER_INIT;
	const char *at;
	size_t left, n;

	check(v, columns_append(&safe, text, strlen(text), &whole));
	at = (const char *)safe.data;
	left = safe.size;
	for (; lines > 1 && columns_width(at, left) > view_left(v); lines--) {
		n = line_of(at, left, view_left(v));
		if (n == 0)
			break;
		view_put(v, "%.*s", (int)n, at);
		view_line(v);
		view_put(v, "%*s", (int)indent, "");
		at += n + 1;
		left -= n + 1;
	}
	view_name(v, at, left, 0, COLUMNS_CUT_END);
	buffer_release(&safe);
}

void view_sentence(struct view *v, const char *text, unsigned lines, size_t indent)
{
	view_words(v, text, lines, indent);
	view_line(v);
}

void view_pad(struct view *v, size_t column)
{
	size_t blanks = column > v->at ? column - v->at : v->at > 0;

	view_put(v, "%*s", (int)blanks, "");
}

const char *view_glyph(const struct view *v, enum view_glyph glyph)
{
	static const char *const glyphs[][2] = {
		[VIEW_MINUS] = { "\xe2\x88\x92", "-" },
		[VIEW_TO] = { "\xe2\x86\x92", "->" },
		[VIEW_RANGE] = { "\xe2\x80\x93", ".." },
	};

	return glyphs[glyph][v->ascii];
}

/* In eighths of a column; whole columns where there are no such characters. */
static size_t bar_eighths(const struct view *v, double share, size_t full)
{
	double eighths = fmin(fmax(share, 0), 1) * (double)full * 8;

	if (eighths <= 0)
		return 0;
	return v->ascii ? 8 * (size_t)fmax(1, round(eighths / 8)) : (size_t)fmax(1, round(eighths));
}

size_t view_bar_columns(const struct view *v, double share, size_t full)
{
	return (bar_eighths(v, share, full) + 7) / 8;
}

void view_bar(struct view *v, double share, size_t full)
{
	static const char *const parts[] = { "", "\u258f", "\u258e", "\u258d",
					     "\u258c", "\u258b", "\u258a", "\u2589" };
	size_t eighths = bar_eighths(v, share, full);

	for (size_t i = 0; i < eighths / 8; i++)
		view_put(v, "%s", v->ascii ? "#" : "\u2588");
	view_put(v, "%s", parts[eighths % 8]);
}
