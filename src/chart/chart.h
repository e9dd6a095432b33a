/*
 * chart.h - pictures of an analysis: SVG, or PNG where cairo is.
 *
 *      struct chart chart;
 *      chart_make(&chart, i, analysis);      i below chart_count()
 *      chart_svg(&chart, &out);
 *      chart_release(&chart);
 *
 * A chart is described once, in numbers and words (chart_*.c of each kind), laid
 * out once (chart_draw.c) and drawn with one of two pens.  Words may be those of
 * a trace: the drawing makes them safe and cuts them.  The same analysis gives
 * the same bytes.
 */
#ifndef CHART_CHART_H
#define CHART_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/analysis.h"
#include "base/buffer.h"
#include "base/error.h"

enum chart_ink {
	INK_TEXT,
	INK_MUTED,
	INK_BORDER,
	INK_BACKGROUND,
	INK_HIGH,
	INK_MEDIUM,
	INK_LOW,
	INK_COMPUTE,
	INK_COPY,
	INK_COMMUNICATION,
	INK_HOST,
	INK_WAIT,
	INK_IDLE,
	INK_HATCH,
	INK_COUNT
};

/* Numbers are in the unit of the axis. */
struct chart_bar {
	char *label;
	double value;     /* NAN: not known */
	double low, high; /* its range; NAN: none */
	char *figure;     /* the value in words; NULL: just the number */
	enum chart_ink ink;
	unsigned tint;    /* how much lighter, in tenths */
	bool hatched;
};

struct chart_line {
	char *label;
	enum chart_ink ink;
	bool steps; /* a value holds until the next x */
	double *x, *y;
	size_t count, capacity, y_capacity;
};

#define CHART_LINES 6  /* of a panel */
#define CHART_PANELS 8 /* of a chart */
struct chart_panel {
	char *title;
	double least; /* that the axis reaches up to */
	struct chart_line lines[CHART_LINES];
	unsigned line_count;
};

enum chart_form {
	CHART_BARS,  /* one below the other */
	CHART_STACK, /* one bar, divided, with a legend */
	CHART_LINED  /* panels of lines over one axis of time */
};

struct chart {
	enum chart_form form;
	const char *title;   /* ours */
	const char *axis;    /* what the numbers are */
	const char *nothing; /* what is said where there is nothing to be drawn */
	double full;         /* of bars: the axis ends there; of lines: x does */
	int digits;          /* of the numbers, after the point */

	struct chart_bar *bars;
	size_t bar_count, bar_capacity;
	size_t left_out; /* bars that would have been too many */
	struct chart_panel panels[CHART_PANELS];
	unsigned panel_count;
	const struct chart *below; /* in the same picture; NULL: none */
};

/* What there is a chart of: "severity", "frequency", "potential", "gain", "resources", "steps", "breakdown". */
size_t chart_count(void);
const char *chart_name(size_t i);

/* 0 or -ENOMEM; there is nothing to release then. */
int chart_make(struct chart *ret, size_t i, const struct analysis *a);
void chart_release(struct chart *c);

/* For charts of other figures, in a struct that is all zero but for its form, title, axis and so on.  0 or -ENOMEM.
 * A bar with a copy of the label, of `size` bytes; *ret is valid until the next. */
int chart_add_bar(struct chart *c, const char *label, size_t size, double value, struct chart_bar **ret);
/* Callers make no more than CHART_PANELS and CHART_LINES. */
int chart_add_panel(struct chart *c, const char *title, size_t size, struct chart_panel **ret);
int chart_add_line(struct chart_panel *p, const char *label, size_t size, struct chart_line **ret);
int chart_add_point(struct chart_line *l, double x, double y);

int chart_svg(const struct chart *c, struct buffer *out); /* 0 or -ENOMEM */

/* Twice as many pixels as the SVG has.  -ENOTSUP, with a sentence and exit code 4, where there is no cairo. */
int chart_png(const struct chart *c, struct buffer *out, struct error *err);

enum chart_format { CHART_SVG, CHART_PNG };
extern const char *const chart_formats[]; /* "svg", "png"; NULL at the end */
int chart_append(enum chart_format format, const struct chart *c, struct buffer *out, struct error *err);

#endif
