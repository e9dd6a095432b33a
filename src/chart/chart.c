/* chart.c - see chart.h: which charts there are, and how they grow. */
#include "chart/chart.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "chart/chart_parts.h"

static const struct {
	const char *name;
	int (*make)(struct chart *c, const struct analysis *a);
} kinds[] = {
	{ "severity", chart_make_severity },   { "frequency", chart_make_frequency }, { "potential", chart_make_potential },
	{ "gain", chart_make_gain },           { "resources", chart_make_resources }, { "steps", chart_make_steps },
	{ "breakdown", chart_make_breakdown },
};

const char *const chart_formats[] = { "svg", "png", NULL };

size_t chart_count(void)
{
	return sizeof kinds / sizeof kinds[0];
}

const char *chart_name(size_t i)
{
	return kinds[i].name;
}

int chart_make(struct chart *ret, size_t i, const struct analysis *a)
{
	struct chart c = { 0 };
	int rc = kinds[i].make(&c, a);

	if (rc < 0)
		chart_release(&c);
	else
		*ret = c;
	return rc;
}

static void release_panel(struct chart_panel *p)
{
	for (unsigned i = 0; i < p->line_count; i++) {
		free(p->lines[i].label);
		free(p->lines[i].x);
		free(p->lines[i].y);
	}
	free(p->title);
}

void chart_release(struct chart *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->bar_count; i++) {
		free(c->bars[i].label);
		free(c->bars[i].figure);
	}
	free(c->bars);
	for (unsigned i = 0; i < c->panel_count; i++)
		release_panel(&c->panels[i]);
	*c = (struct chart){ 0 };
}

int chart_append(enum chart_format format, const struct chart *c, struct buffer *out, struct error *err)
{
	int rc = format == CHART_PNG ? chart_png(c, out, err) : chart_svg(c, out);

	return rc == -ENOMEM ? error_errno(err, rc, "cannot draw a chart") : rc;
}

/* ---- Growing ------------------------------------------------------------------ */

int chart_add_bar(struct chart *c, const char *label, size_t size, double value, struct chart_bar **ret)
{
	char *copy = strndup(label, size);

	if (!copy || ARRAY_GROW(c->bars, c->bar_capacity, c->bar_count + 1) < 0) {
		free(copy);
		return -ENOMEM;
	}
	*ret = &c->bars[c->bar_count++];
	**ret = (struct chart_bar){ .label = copy, .value = value, .low = NAN, .high = NAN };
	return 0;
}

int chart_add_panel(struct chart *c, const char *title, size_t size, struct chart_panel **ret)
{
	char *copy = c->panel_count < CHART_PANELS ? strndup(title, size) : NULL;

	if (!copy)
		return -ENOMEM;
	*ret = &c->panels[c->panel_count++];
	**ret = (struct chart_panel){ .title = copy };
	return 0;
}

enum chart_ink chart_ink_of_line(unsigned i)
{
	static const enum chart_ink inks[] = { INK_COMPUTE, INK_COPY, INK_COMMUNICATION, INK_HOST, INK_WAIT, INK_MUTED };

	return inks[i % (sizeof inks / sizeof inks[0])];
}

int chart_add_line(struct chart_panel *p, const char *label, size_t size, struct chart_line **ret)
{
	char *copy = p->line_count < CHART_LINES ? strndup(label, size) : NULL;

	if (!copy)
		return -ENOMEM;
	*ret = &p->lines[p->line_count];
	**ret = (struct chart_line){ .label = copy, .ink = chart_ink_of_line(p->line_count) };
	p->line_count++;
	return 0;
}

int chart_add_point(struct chart_line *l, double x, double y)
{
	if (ARRAY_GROW(l->x, l->capacity, l->count + 1) < 0 || ARRAY_GROW(l->y, l->y_capacity, l->count + 1) < 0)
		return -ENOMEM;
	l->x[l->count] = x;
	l->y[l->count++] = y;
	return 0;
}

const char *chart_time_unit(int64_t span, double *ret_ns)
{
	*ret_ns = span >= 2000000000 ? 1e9 : span >= 2000000 ? 1e6 : 1e3;
	return span >= 2000000000 ? "s" : span >= 2000000 ? "ms" : "us";
}
