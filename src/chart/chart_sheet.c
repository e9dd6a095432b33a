/* chart_sheet.c - several charts in one picture, one below the other: a pen that writes further down with another. */
#include <errno.h>
#include <stdlib.h>

#include "chart/chart_parts.h"

struct sheet {
	struct chart_pen pen;
	struct chart_pen *under; /* NULL: nothing is drawn, only measured */
	double top;
	double width, height; /* of the last chart */
};

static struct sheet *sheet_of(struct chart_pen *pen)
{
	return (struct sheet *)pen;
}

static void begin(struct chart_pen *pen, double width, double height, const char *title, const char *about)
{
	(void)title;
	(void)about;
	sheet_of(pen)->width = width;
	sheet_of(pen)->height = height;
}

static void rect(struct chart_pen *pen, double x, double y, double width, double height, struct chart_color color, bool hatched,
		 const char *what)
{
	struct sheet *s = sheet_of(pen);

	if (s->under)
		s->under->rect(s->under, x, s->top + y, width, height, color, hatched, what);
}

static void line(struct chart_pen *pen, const struct chart_point *points, size_t count, struct chart_color color, double width,
		 const char *what)
{
	struct sheet *s = sheet_of(pen);
	struct chart_point *moved;

	if (!s->under || !count)
		return;
	moved = malloc(count * sizeof *moved);
	if (!moved) {
		pen->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < count; i++)
		moved[i] = (struct chart_point){ points[i].x, s->top + points[i].y };
	s->under->line(s->under, moved, count, color, width, what);
	free(moved);
}

static void text(struct chart_pen *pen, const struct chart_text *how, const char *words, size_t size)
{
	struct sheet *s = sheet_of(pen);
	struct chart_text moved = *how;

	moved.y += s->top;
	if (s->under)
		s->under->text(s->under, &moved, words, size);
}

static void end(struct chart_pen *pen)
{
	sheet_of(pen)->top += sheet_of(pen)->height;
}

static int draw_all(const struct chart *c, struct sheet *s)
{
	int rc = 0;

	for (; c && rc == 0; c = c->below)
		rc = chart_draw_one(c, &s->pen);
	return rc;
}

int chart_draw(const struct chart *c, struct chart_pen *pen)
{
	struct sheet s = { .pen = { .begin = begin, .rect = rect, .line = line, .text = text, .end = end } };
	int rc;

	if (!c->below)
		return chart_draw_one(c, pen);
	rc = draw_all(c, &s);
	pen->begin(pen, s.width, s.top, c->title, c->axis);
	s.under = pen;
	s.top = 0;
	rc = rc ? rc : draw_all(c, &s);
	pen->end(pen);
	return pen->error ? pen->error : rc;
}
