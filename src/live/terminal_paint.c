/* terminal_paint.c - text, bars and sparklines at a place of the screen.  See terminal_parts.h. */
#include <math.h>
#include <ncurses.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "live/terminal_parts.h"
#include "report/columns.h"

/* Colour is never the only sign: what is painted in one says the same in words. */
static attr_t attributes(const struct live_terminal *t, enum ink ink)
{
	static const attr_t plain[] = { A_NORMAL, A_NORMAL, A_BOLD, A_NORMAL, A_BOLD, A_BOLD, A_REVERSE };
	static const short pairs[] = { 0, 0, 0, 1, 2, 3, 0 };

	return plain[ink] | (t->options.color && pairs[ink] ? COLOR_PAIR(pairs[ink]) : 0);
}

int paint_bytes(struct live_terminal *t, int row, int column, int width, enum ink ink, const char *text, size_t size)
{
	struct columns_options options = { .cut = COLUMNS_CUT_END, .ascii = t->ascii };
	int used;

	if (width > t->columns - column)
		width = t->columns - column;
	if (row < 0 || row >= t->rows || column < 0 || width <= 0)
		return 0;
	options.columns = (size_t)width;
	buffer_clear(&t->text);
	used = columns_append(&t->text, text, size, &options);
	if (used <= 0)
		return 0;
	attrset(attributes(t, ink));
	mvaddnstr(row, column, (const char *)t->text.data, (int)t->text.size);
	attrset(A_NORMAL);
	return used;
}

int paint_text(struct live_terminal *t, int row, int column, int width, enum ink ink, const char *text)
{
	return paint_bytes(t, row, column, width, ink, text, strlen(text));
}

int paint_format(struct live_terminal *t, int row, int column, int width, enum ink ink, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return paint_text(t, row, column, width, ink, text);
}

void paint_right(struct live_terminal *t, int row, int column, int width, enum ink ink, const char *text)
{
	int needed = (int)columns_width(text, strlen(text));

	paint_text(t, row, column + (needed < width ? width - needed : 0), needed < width ? needed : width, ink, text);
}

void paint_line(struct live_terminal *t, int row, enum ink ink)
{
	if (row < 0 || row >= t->rows)
		return;
	attrset(attributes(t, ink));
	mvhline(row, 0, ' ' | attributes(t, ink), t->columns);
	attrset(A_NORMAL);
}

/* ---- Bars and sparklines -------------------------------------------------------- */

static const char *const eighths[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
static const char *const levels[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const ascii_levels[] = { " ", "_", ".", ":", "-", "=", "+", "*", "#" };

static void paint_cell(int row, int column, const char *text)
{
	mvaddstr(row, column, text);
}

void paint_bar(struct live_terminal *t, int row, int column, int width, double share, enum ink ink)
{
	int inside = width - 2;
	double filled = isnan(share) ? 0 : share < 0 ? 0 : share > 1 ? inside : share * inside;

	if (row < 0 || row >= t->rows || inside < 1 || column + width > t->columns)
		return;
	paint_cell(row, column, "[");
	attrset(attributes(t, ink));
	for (int i = 0; i < inside; i++) {
		double part = filled - i;
		int eighth = part >= 1 ? 8 : part <= 0 ? 0 : (int)(part * 8 + 0.5);

		paint_cell(row, column + 1 + i, t->ascii ? (eighth >= 4 ? "#" : " ") : eighths[eighth]);
	}
	attrset(A_NORMAL);
	paint_cell(row, column + width - 1, "]");
}

static double history_most(const struct history *h, uint32_t from)
{
	double most = 0;

	for (uint32_t i = from; i < h->count; i++)
		if (h->values[i % HISTORY] > most) /* which NAN is not */
			most = h->values[i % HISTORY];
	return most;
}

/* The newest value on the right.  most: what a full column stands for; NAN: the largest value that is shown. */
void paint_spark(struct live_terminal *t, int row, int column, int width, const struct history *h, double most)
{
	uint32_t room = width < (int)HISTORY ? (uint32_t)width : HISTORY, shown, from;

	if (row < 0 || row >= t->rows || width < 1 || column + width > t->columns)
		return;
	shown = h->count < room ? h->count : room;
	from = h->count - shown;
	if (isnan(most))
		most = history_most(h, from);
	for (uint32_t i = 0; i < shown; i++) {
		double value = h->values[(from + i) % HISTORY];
		int level = isnan(value) ? 0 : most <= 0 || value <= 0 ? 1 : value >= most ? 8 : 1 + (int)(value / most * 7);

		paint_cell(row, column + width - (int)shown + (int)i, (t->ascii ? ascii_levels : levels)[level]);
	}
}
