/*
 * chart_parts.h - what the files of charts share.
 */
#ifndef CHART_CHART_PARTS_H
#define CHART_CHART_PARTS_H

#include <stdint.h>

#include "chart/chart.h"

/* ---- Making: 0 or -ENOMEM ---- */

/* Colours of lines beside each other. */
enum chart_ink chart_ink_of_line(unsigned i);

int chart_make_severity(struct chart *c, const struct analysis *a);
int chart_make_frequency(struct chart *c, const struct analysis *a);
int chart_make_potential(struct chart *c, const struct analysis *a);
int chart_make_gain(struct chart *c, const struct analysis *a);
int chart_make_resources(struct chart *c, const struct analysis *a);
int chart_make_steps(struct chart *c, const struct analysis *a);
int chart_make_breakdown(struct chart *c, const struct analysis *a);

/* The unit that suits a span of time: "s", "ms" or "us", and how many nanoseconds it has. */
const char *chart_time_unit(int64_t span, double *ret_ns);

/* ---- Drawing ---- */

struct chart_color {
	enum chart_ink ink;
	unsigned tint; /* tenths of the way to white */
};
/* 0xrrggbb */
uint32_t chart_rgb(struct chart_color color);

enum chart_anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END };
struct chart_text {
	double x, y; /* y: of the line the letters stand on */
	double size;
	bool bold;
	enum chart_anchor anchor;
	enum chart_ink ink;
};

struct chart_point {
	double x, y;
};

/* What a chart is drawn with.  Coordinates are pixels, y grows downwards; all texts are safe.  `what` says what a rectangle is,
 * for those who read the picture. */
struct chart_pen {
	void (*begin)(struct chart_pen *pen, double width, double height, const char *title, const char *about);
	void (*rect)(struct chart_pen *pen, double x, double y, double width, double height, struct chart_color color, bool hatched,
		     const char *what);
	void (*line)(struct chart_pen *pen, const struct chart_point *points, size_t count, struct chart_color color, double width,
		     const char *what);
	void (*text)(struct chart_pen *pen, const struct chart_text *how, const char *text, size_t size);
	void (*end)(struct chart_pen *pen);
	int error; /* the first failure */
};
#define CHART_HATCH 6 /* pixels between the lines of a hatching, which go upwards to the right */

int chart_draw(const struct chart *c, struct chart_pen *pen); /* with what is below it; 0 or pen->error */
int chart_draw_one(const struct chart *c, struct chart_pen *pen);

#endif
