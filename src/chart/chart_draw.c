/*
 * chart_draw.c - where everything of a chart stands.
 *
 * Nothing is measured: letters are taken to be as wide as those of a wide font
 * are, so that a picture looks the same wherever it was made.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chart/chart_parts.h"
#include "report/columns.h"

#define WIDTH 960.0
#define MARGIN 16.0
#define HEAD 60.0 /* title, and what the numbers are */
#define LETTER 0.62 /* of its size */
#define SMALL 12.0

static const uint32_t inks[INK_COUNT] = {
	[INK_TEXT] = 0x1b1f24,    [INK_MUTED] = 0x57606a,         [INK_BORDER] = 0xd5dae1, [INK_BACKGROUND] = 0xffffff,
	[INK_HIGH] = 0xb42318,    [INK_MEDIUM] = 0x8a5a00,        [INK_LOW] = 0x1a7f4b,    [INK_COMPUTE] = 0x4299de,
	[INK_COPY] = 0xd57f0b,    [INK_COMMUNICATION] = 0x592ea6, [INK_HOST] = 0x1d5659,   [INK_WAIT] = 0xc0342d,
	[INK_IDLE] = 0xdfe3e8,    [INK_HATCH] = 0x8b95a3,
};

uint32_t chart_rgb(struct chart_color color)
{
	uint32_t rgb = inks[color.ink], light = 0;

	for (unsigned shift = 0; shift < 24; shift += 8) {
		uint32_t part = rgb >> shift & 0xff;

		light |= (part + (255 - part) * color.tint / 10) << shift;
	}
	return light;
}

static struct chart_color plain(enum chart_ink ink)
{
	return (struct chart_color){ .ink = ink };
}

static void check(struct chart_pen *pen, int rc)
{
	if (rc < 0 && pen->error == 0)
		pen->error = rc;
}

/* ---- Words -------------------------------------------------------------------- */

/* Words of unknown origin, cut in the middle to fit into so many pixels. */
static void put_name(struct chart_pen *pen, const struct chart_text *how, const char *text, double width)
{
	const struct columns_options options = { .columns = (size_t)fmax(4, width / (LETTER * how->size)), .cut = COLUMNS_CUT_MIDDLE };
	struct buffer safe = BUFFER_INIT;
	int rc = columns_append(&safe, text, strlen(text), &options);

	check(pen, rc < 0 ? rc : 0);
	if (rc >= 0 && safe.size)
		pen->text(pen, how, (const char *)safe.data, safe.size);
	buffer_release(&safe);
}

__attribute__((format(printf, 3, 4))) static void put(struct chart_pen *pen, const struct chart_text *how, const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	put_name(pen, how, text, WIDTH);
}

static void put_head(const struct chart *c, struct chart_pen *pen, double height)
{
	const struct chart_text title = { .x = MARGIN, .y = 28, .size = 17, .bold = true, .ink = INK_TEXT };
	const struct chart_text axis = { .x = MARGIN, .y = 47, .size = SMALL, .ink = INK_MUTED };

	pen->begin(pen, WIDTH, height, c->title, c->axis);
	pen->rect(pen, 0, 0, WIDTH, height, plain(INK_BACKGROUND), false, "background");
	put(pen, &title, "%s", c->title);
	if (c->form != CHART_LINED)
		put(pen, &axis, "%s", c->axis);
}

static void draw_nothing(const struct chart *c, struct chart_pen *pen)
{
	const struct chart_text words = { .x = WIDTH / 2, .y = HEAD + 44, .size = 14, .anchor = ANCHOR_MIDDLE, .ink = INK_MUTED };

	put_head(c, pen, HEAD + 80);
	put(pen, &words, "%s", c->nothing);
}

/* ---- Axes --------------------------------------------------------------------- */

struct axis {
	double from, to, step;
	int digits;
};

#define AXIS_LEAST 1e-9
#define AXIS_MOST 1e18 /* a trace may say anything */

/* At most `most` steps of 1, 2 or 5 times a power of ten; the ends are marks unless `exact`. */
static struct axis axis_of(double from, double to, unsigned most, bool exact)
{
	struct axis a = { .from = fmax(-AXIS_MOST, fmin(0, from)), .to = fmin(AXIS_MOST, fmax(0, to)) };
	double raw, power;

	if (a.to - a.from < AXIS_LEAST)
		a.to = a.from + 1;
	raw = (a.to - a.from) / most;
	power = pow(10, floor(log10(raw)));

	a.step = raw <= power ? power : raw <= 2 * power ? 2 * power : raw <= 5 * power ? 5 * power : 10 * power;
	if (!exact) {
		a.from = floor(a.from / a.step) * a.step;
		a.to = ceil(a.to / a.step - 1e-9) * a.step;
	}
	a.digits = (int)fmin(9, fmax(0, -floor(log10(a.step) + 1e-9)));
	return a;
}

static double place(const struct axis *a, double value, double begin, double end)
{
	return begin + (end - begin) * (fmin(a->to, fmax(a->from, value)) - a->from) / (a->to - a->from);
}

static double mark(const struct axis *a, int i)
{
	double value = a->from + i * a->step;

	return fabs(value) < a->step / 2 ? 0 : value; /* not -0 */
}

/* How many marks there are, the first of them at 0 of the axis's steps. */
static int marks(const struct axis *a)
{
	return (int)fmin(40, floor((a->to - a->from) / a->step + 1e-9));
}

static void rule(struct chart_pen *pen, double x1, double y1, double x2, double y2)
{
	const struct chart_point points[] = { { x1, y1 }, { x2, y2 } };

	pen->line(pen, points, 2, plain(INK_BORDER), 1, "grid");
}

/* Marks below, with a line up to `top`. */
static void draw_x_axis(struct chart_pen *pen, const struct axis *a, double begin, double end, double top, double bottom, const char *unit)
{
	struct chart_text how = { .y = bottom + 16, .size = SMALL, .anchor = ANCHOR_MIDDLE, .ink = INK_MUTED };

	for (int i = 0; i <= marks(a); i++) {
		double value = mark(a, i);

		how.x = place(a, value, begin, end);
		rule(pen, how.x, top, how.x, bottom);
		put(pen, &how, "%.*f%s%s", a->digits, value, *unit ? " " : "", unit);
	}
}

/* ---- Bars --------------------------------------------------------------------- */

#define ROW 28.0
#define BAR 18.0
#define BARS_BEGIN 380.0
#define BARS_END 870.0

static double longest(const struct chart *c)
{
	double most = 0;

	for (size_t i = 0; i < c->bar_count; i++) {
		most = isfinite(c->bars[i].value) ? fmax(most, c->bars[i].value) : most;
		most = isfinite(c->bars[i].high) ? fmax(most, c->bars[i].high) : most;
	}
	return most;
}

static void draw_range(struct chart_pen *pen, const struct chart_bar *bar, const struct axis *a, double middle)
{
	double low = place(a, bar->low, BARS_BEGIN, BARS_END), high = place(a, bar->high, BARS_BEGIN, BARS_END);
	const struct chart_point whisker[] = { { low, middle }, { high, middle } };
	const struct chart_point left[] = { { low, middle - 4 }, { low, middle + 4 } };
	const struct chart_point right[] = { { high, middle - 4 }, { high, middle + 4 } };

	pen->line(pen, whisker, 2, plain(INK_TEXT), 1.5, "range");
	pen->line(pen, left, 2, plain(INK_TEXT), 1.5, "end");
	pen->line(pen, right, 2, plain(INK_TEXT), 1.5, "end");
}

static void draw_bar(struct chart_pen *pen, const struct chart *c, const struct chart_bar *bar, const struct axis *a, double top)
{
	const struct chart_text label = { .x = BARS_BEGIN - 12, .y = top + 18, .size = 13, .anchor = ANCHOR_END, .ink = INK_TEXT };
	const struct chart_text figure = { .x = BARS_END + 10, .y = top + 18, .size = 13, .ink = INK_TEXT };
	const struct chart_text missing = { .x = BARS_END + 10, .y = top + 18, .size = 13, .ink = INK_MUTED };

	put_name(pen, &label, bar->label, BARS_BEGIN - 12 - MARGIN);
	if (!isfinite(bar->value)) {
		put(pen, &missing, "not known");
		return;
	}
	pen->rect(pen, BARS_BEGIN, top + (ROW - BAR) / 2, place(a, bar->value, BARS_BEGIN, BARS_END) - BARS_BEGIN, BAR,
		  (struct chart_color){ bar->ink, bar->tint }, bar->hatched, "bar");
	put(pen, &figure, "%.*f", c->digits, bar->value);
	if (isfinite(bar->low) && isfinite(bar->high))
		draw_range(pen, bar, a, top + ROW / 2);
}

static void draw_bars(const struct chart *c, struct chart_pen *pen)
{
	double bottom = HEAD + ROW * (double)c->bar_count, height = bottom + (c->left_out ? 52 : 32);
	const struct axis a = axis_of(0, c->full > 0 ? c->full : longest(c), 5, c->full > 0);
	const struct chart_text more = { .x = MARGIN, .y = bottom + 40, .size = SMALL, .ink = INK_MUTED };

	put_head(c, pen, height);
	draw_x_axis(pen, &a, BARS_BEGIN, BARS_END, HEAD, bottom, "");
	for (size_t i = 0; i < c->bar_count; i++)
		draw_bar(pen, c, &c->bars[i], &a, HEAD + ROW * (double)i);
	if (c->left_out)
		put(pen, &more, "and %zu more", c->left_out);
}

/* ---- One bar, divided ----------------------------------------------------------- */

#define STACK 34.0
#define LEGEND_ROW 22.0

static void draw_key(struct chart_pen *pen, const struct chart_bar *bar, double x, double y)
{
	struct chart_text how = { .x = x + 20, .y = y + 11, .size = 13, .ink = INK_TEXT };

	pen->rect(pen, x, y, 12, 12, (struct chart_color){ bar->ink, bar->tint }, bar->hatched, "key");
	put_name(pen, &how, bar->label, 190);
	how.x = x + 230;
	if (bar->figure)
		put_name(pen, &how, bar->figure, 220);
}

static void draw_stack(const struct chart *c, struct chart_pen *pen)
{
	size_t rows = (c->bar_count + 1) / 2;
	double legend = HEAD + STACK + 20, x = MARGIN, scale = (WIDTH - 2 * MARGIN) / c->full, width;

	put_head(c, pen, legend + LEGEND_ROW * (double)rows + 10);
	for (size_t i = 0; i < c->bar_count; i++, x += width) {
		const struct chart_bar *bar = &c->bars[i];
		const struct chart_point edge[] = { { x, HEAD }, { x, HEAD + STACK } };

		width = bar->value * scale;
		pen->rect(pen, x, HEAD, width, STACK, (struct chart_color){ bar->ink, bar->tint }, bar->hatched, "segment");
		if (i && width > 2)
			pen->line(pen, edge, 2, plain(INK_BACKGROUND), 1, "edge");
	}
	for (size_t i = 0; i < c->bar_count; i++)
		draw_key(pen, &c->bars[i], i < rows ? MARGIN : WIDTH / 2, legend + LEGEND_ROW * (double)(i < rows ? i : i - rows));
}

/* ---- Lines ---------------------------------------------------------------------- */

#define LINES_BEGIN 84.0
#define LINES_END (WIDTH - MARGIN - 24)
#define PANEL 168.0 /* with its title; a single one is taller */
#define PANEL_ALONE 300.0
#define PANEL_TITLE 30.0
#define DOTS_MOST 300 /* points that are marked each; a few are marked so that one alone is seen */
#define DOTS_FEW 60

static double line_most(const struct chart_panel *p)
{
	double most = p->least;

	for (unsigned i = 0; i < p->line_count; i++)
		for (size_t k = 0; k < p->lines[i].count; k++)
			most = isfinite(p->lines[i].y[k]) ? fmax(most, p->lines[i].y[k]) : most;
	return most;
}

static double line_least(const struct chart_panel *p)
{
	double least = 0;

	for (unsigned i = 0; i < p->line_count; i++)
		for (size_t k = 0; k < p->lines[i].count; k++)
			least = isfinite(p->lines[i].y[k]) ? fmin(least, p->lines[i].y[k]) : least;
	return least;
}

/* Points of the picture: no more than four in a column of pixels, the first, the lowest, the highest and the last. */
struct trail {
	struct chart_point *points;
	size_t count;
	struct chart_point first, low, high, last;
	bool open;
};
#define TRAIL_MOST (4 * ((size_t)WIDTH + 2))

static void trail_put(struct trail *t, struct chart_point p)
{
	const struct chart_point *last = t->count ? &t->points[t->count - 1] : NULL;

	if (t->count < TRAIL_MOST && (!last || last->x != p.x || last->y != p.y))
		t->points[t->count++] = p;
}

static void trail_close(struct trail *t)
{
	bool rises = t->low.x <= t->high.x;

	if (!t->open)
		return;
	trail_put(t, t->first);
	trail_put(t, rises ? t->low : t->high);
	trail_put(t, rises ? t->high : t->low);
	trail_put(t, t->last);
	t->open = false;
}

static void trail_add(struct trail *t, struct chart_point p)
{
	if (t->open && floor(t->first.x) != floor(p.x))
		trail_close(t);
	if (!t->open) {
		t->first = t->low = t->high = t->last = p;
		t->open = true;
		return;
	}
	t->low = p.y > t->low.y ? p : t->low;
	t->high = p.y < t->high.y ? p : t->high;
	t->last = p;
}

struct frame {
	struct axis x, y;
	double top, bottom;
};

static struct chart_point point_of(const struct frame *f, double x, double y)
{
	return (struct chart_point){ place(&f->x, x, LINES_BEGIN, LINES_END), place(&f->y, y, f->bottom, f->top) };
}

static void draw_line(struct chart_pen *pen, const struct chart_line *line, const struct frame *f)
{
	struct trail trail = { .points = malloc(TRAIL_MOST * sizeof *trail.points) };

	if (!trail.points) {
		check(pen, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < line->count; i++) {
		struct chart_point p = point_of(f, line->x[i], line->y[i]);

		if (!isfinite(line->y[i]))
			continue;
		if (line->steps && i)
			trail_add(&trail, (struct chart_point){ p.x, point_of(f, 0, line->y[i - 1]).y });
		trail_add(&trail, p);
	}
	trail_close(&trail);
	if (trail.count > 1)
		pen->line(pen, trail.points, trail.count, plain(line->ink), 1.5, "line");
	for (size_t i = 0; i < line->count && line->count <= DOTS_MOST && !line->steps; i++) {
		struct chart_point p = point_of(f, line->x[i], line->y[i]);
		double size = line->count <= DOTS_FEW ? 5 : 3;

		if (isfinite(line->y[i]))
			pen->rect(pen, p.x - size / 2, p.y - size / 2, size, size, plain(line->ink), false, "dot");
	}
	free(trail.points);
}

static void draw_y_axis(struct chart_pen *pen, const struct frame *f)
{
	struct chart_text how = { .x = LINES_BEGIN - 8, .size = SMALL, .anchor = ANCHOR_END, .ink = INK_MUTED };

	for (int i = 0; i <= marks(&f->y); i++) {
		double value = mark(&f->y, i), y = place(&f->y, value, f->bottom, f->top);

		rule(pen, LINES_BEGIN, y, LINES_END, y);
		how.y = y + 4;
		put(pen, &how, "%.*f", f->y.digits, value);
	}
}

/* From the right, the last line first; labels are short and ours. */
static void draw_line_names(struct chart_pen *pen, const struct chart_panel *p, double y)
{
	struct chart_text how = { .x = LINES_END, .y = y, .size = SMALL, .anchor = ANCHOR_END, .ink = INK_TEXT };

	for (unsigned i = p->line_count; i-- > 0 && p->lines[i].label[0];) {
		double width = LETTER * SMALL * (double)columns_width(p->lines[i].label, strlen(p->lines[i].label));

		put_name(pen, &how, p->lines[i].label, 200);
		pen->rect(pen, how.x - width - 14, y - 9, 10, 10, plain(p->lines[i].ink), false, "key");
		how.x -= width + 26;
	}
}

static void draw_panel(const struct chart *c, struct chart_pen *pen, const struct chart_panel *p, double top, double height, bool last)
{
	const struct chart_text title = { .x = MARGIN, .y = top + 16, .size = 13, .bold = true, .ink = INK_TEXT };
	struct frame f = { .x = axis_of(0, c->full, 8, true),
			   .y = axis_of(line_least(p), line_most(p), 4, false),
			   .top = top + PANEL_TITLE,
			   .bottom = top + height - 10 };

	put_name(pen, &title, p->title, WIDTH / 2);
	draw_line_names(pen, p, top + 16);
	draw_y_axis(pen, &f);
	if (last)
		draw_x_axis(pen, &f.x, LINES_BEGIN, LINES_END, f.bottom, f.bottom + 4, c->axis);
	for (unsigned i = 0; i < p->line_count; i++)
		draw_line(pen, &p->lines[i], &f);
}

static void draw_lined(const struct chart *c, struct chart_pen *pen)
{
	double each = c->panel_count > 1 ? PANEL : PANEL_ALONE, top = 40;

	put_head(c, pen, top + each * c->panel_count + 30);
	for (unsigned i = 0; i < c->panel_count; i++, top += each)
		draw_panel(c, pen, &c->panels[i], top, each, i + 1 == c->panel_count);
}

int chart_draw_one(const struct chart *c, struct chart_pen *pen)
{
	if (c->form == CHART_LINED ? c->panel_count == 0 : c->bar_count == 0)
		draw_nothing(c, pen);
	else if (c->form == CHART_BARS)
		draw_bars(c, pen);
	else if (c->form == CHART_STACK)
		draw_stack(c, pen);
	else
		draw_lined(c, pen);
	pen->end(pen);
	return pen->error;
}
