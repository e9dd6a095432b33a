/*
 * columns.c - see columns.h.
 *
 * The C library knows widths, but only those of characters of the locale; so
 * it is asked under C.UTF-8, whatever the user's locale is.
 */
#include "report/columns.h"

#include <locale.h>
#include <stdio.h>
#include <threads.h>
#include <wchar.h>

#include "base/text.h"

#define MARKS_MOST 2 /* combining characters on one character; more of them would run over the lines above and below */

static once_flag once = ONCE_FLAG_INIT;
static locale_t utf8;

static void find_locale(void)
{
	utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

int columns_of(uint32_t c)
{
	locale_t before;
	int width;

	if (c < 0x80)
		return c >= 0x20 && c != 0x7f ? 1 : -1;
	call_once(&once, find_locale);
	if (!utf8)
		return 2; /* too much rather than too little */
	before = uselocale(utf8);
	width = wcwidth((wchar_t)c);
	uselocale(before);
	return width;
}

size_t columns_width(const char *s, size_t size)
{
	size_t at = 0, width = 0;
	uint32_t c;
	int columns;

	while (at < size) {
		at += text_decode(s + at, size - at, &c);
		columns = c == TEXT_INVALID ? 1 : columns_of(c);
		width += columns > 0 ? (size_t)columns : 0;
	}
	return width;
}

/* A character as it is shown. */
struct cell {
	char text[24];
	size_t size;
	size_t columns;
};

static void escape(const char *s, size_t length, uint32_t c, struct cell *cell)
{
	int n = 0;

	if (c == '\n' || c == '\t' || c == '\r')
		n = snprintf(cell->text, sizeof cell->text, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
	else if (c != TEXT_INVALID)
		n = snprintf(cell->text, sizeof cell->text, c < 0x80 ? "\\x%02x" : "\\u{%x}", c);
	else /* at most three bytes are */
		for (size_t i = 0; i < length && i < 4; i++)
			n += snprintf(cell->text + n, sizeof cell->text - (size_t)n, "\\x%02x", (uint8_t)s[i]);
	cell->size = cell->columns = (size_t)n;
}

struct walk {
	const char *s;
	size_t size, at;
	bool ascii;
	unsigned marks; /* on the last character */
};

static void next_cell(struct walk *w, struct cell *cell)
{
	uint32_t c;
	const char *s = w->s + w->at;
	size_t length = text_decode(s, w->size - w->at, &c);
	int columns = c == TEXT_INVALID || text_is_unsafe(c) || (w->ascii && c >= 0x80) ? -1 : columns_of(c);

	w->at += length;
	w->marks = columns == 0 ? w->marks + 1 : 0;
	if (columns < 0 || w->marks > MARKS_MOST) {
		escape(s, length, c, cell);
		return;
	}
	memcpy(cell->text, s, length);
	cell->size = length;
	cell->columns = (size_t)columns;
}

static const char *dots(const struct columns_options *o)
{
	return o->ascii ? "..." : "\xe2\x80\xa6";
}

static size_t dots_columns(const struct columns_options *o)
{
	return o->ascii ? 3 : 1;
}

/* The columns of all of it, or anything above the limit when it is longer. */
static size_t full_columns(const char *s, size_t size, bool ascii, size_t limit)
{
	struct walk w = { .s = s, .size = size, .ascii = ascii };
	struct cell cell;
	size_t columns = 0;

	while (w.at < size && columns <= limit) {
		next_cell(&w, &cell);
		columns += cell.columns;
	}
	return columns;
}

/* Whole characters from the walk's place on, in at most `columns`. */
static int append_some(struct buffer *out, struct walk *w, size_t columns, size_t *used)
{
	struct cell cell;
	int rc = 0;

	*used = 0;
	while (w->at < w->size && rc == 0) {
		size_t before = w->at;

		next_cell(w, &cell);
		if (*used + cell.columns > columns) {
			w->at = before;
			break;
		}
		*used += cell.columns;
		rc = buffer_append(out, cell.text, cell.size);
	}
	return rc;
}

/* Where the last characters begin that fit `columns`. */
static size_t tail_start(const char *s, size_t size, bool ascii, size_t columns)
{
	struct walk back = { .s = s, .size = size, .ascii = ascii }, front = back;
	struct cell cell;
	size_t held = 0;

	while (front.at < size) {
		next_cell(&front, &cell);
		held += cell.columns;
		while (held > columns && back.at < front.at) {
			next_cell(&back, &cell);
			held -= cell.columns;
		}
	}
	return back.at;
}

static int append_cut(struct buffer *out, const char *s, size_t size, const struct columns_options *o, size_t *ret)
{
	size_t room = o->columns > dots_columns(o) ? o->columns - dots_columns(o) : 0;
	size_t tail = o->cut == COLUMNS_CUT_MIDDLE ? room / 2 : 0, used, rest = 0;
	struct walk head = { .s = s, .size = size, .ascii = o->ascii };
	struct walk end = head;
	int rc = append_some(out, &head, room - tail, &used);

	if (rc == 0 && o->columns >= dots_columns(o))
		rc = buffer_append(out, dots(o), strlen(dots(o)));
	if (rc == 0 && tail > 0) {
		end.at = tail_start(s, size, o->ascii, tail);
		rc = append_some(out, &end, tail, &rest);
	}
	*ret = used + rest + (o->columns >= dots_columns(o) ? dots_columns(o) : 0);
	return rc;
}

int columns_append(struct buffer *out, const char *s, size_t size, const struct columns_options *o)
{
	struct walk w = { .s = s, .size = size, .ascii = o->ascii };
	size_t used = 0;
	int rc;

	if (o->columns && full_columns(s, size, o->ascii, o->columns) > o->columns)
		rc = append_cut(out, s, size, o, &used);
	else
		rc = append_some(out, &w, SIZE_MAX, &used);
	return rc < 0 ? rc : (int)used;
}
