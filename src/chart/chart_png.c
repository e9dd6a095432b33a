/*
 * chart_png.c - a pen that draws with cairo, into a PNG.
 *
 * Cairo brings along two dozen libraries that nothing else needs, so it is loaded
 * when somebody asks for a PNG and not before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chart/chart_parts.h"

static int missing(struct error *err, const char *text)
{
	error_set(err, -ENOTSUP, "%s; SVG needs nothing", text);
	if (err)
		err->exit_code = 4;
	return -ENOTSUP;
}

#ifndef INFERSCOPE_CAIRO
int chart_png(const struct chart *c, struct buffer *out, struct error *err)
{
	(void)c;
	(void)out;
	return missing(err, "this inferscope was built without cairo, which PNG needs");
}
#else

#include <cairo.h>
#include <dlfcn.h>

#define SCALE 2.0

/* What is used of it: name, result, parameters. */
#define CAIRO_FUNCTIONS(F)                                                                                            \
	F(image_surface_create, cairo_surface_t *, (cairo_format_t, int, int))                                        \
	F(surface_write_to_png_stream, cairo_status_t, (cairo_surface_t *, cairo_write_func_t, void *))               \
	F(surface_destroy, void, (cairo_surface_t *))                                                                 \
	F(create, cairo_t *, (cairo_surface_t *))                                                                     \
	F(destroy, void, (cairo_t *))                                                                                 \
	F(status, cairo_status_t, (cairo_t *))                                                                        \
	F(status_to_string, const char *, (cairo_status_t))                                                           \
	F(scale, void, (cairo_t *, double, double))                                                                   \
	F(save, void, (cairo_t *))                                                                                    \
	F(restore, void, (cairo_t *))                                                                                 \
	F(set_source_rgb, void, (cairo_t *, double, double, double))                                                  \
	F(set_line_width, void, (cairo_t *, double))                                                                  \
	F(rectangle, void, (cairo_t *, double, double, double, double))                                               \
	F(fill, void, (cairo_t *))                                                                                    \
	F(clip, void, (cairo_t *))                                                                                    \
	F(move_to, void, (cairo_t *, double, double))                                                                 \
	F(line_to, void, (cairo_t *, double, double))                                                                 \
	F(stroke, void, (cairo_t *))                                                                                  \
	F(select_font_face, void, (cairo_t *, const char *, cairo_font_slant_t, cairo_font_weight_t))                 \
	F(set_font_size, void, (cairo_t *, double))                                                                   \
	F(text_extents, void, (cairo_t *, const char *, cairo_text_extents_t *))                                      \
	F(show_text, void, (cairo_t *, const char *))

struct library {
	void *handle;
#define FIELD(name, result, parameters) result(*name) parameters;
	CAIRO_FUNCTIONS(FIELD)
#undef FIELD
};

struct png {
	struct chart_pen pen;
	struct library lib;
	cairo_surface_t *surface;
	cairo_t *cairo;
};

static int library_open(struct library *lib, struct error *err)
{
	bool whole = true;

	lib->handle = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); /* its fonts outlive us */
	if (!lib->handle)
		return missing(err, "PNG needs the library libcairo.so.2, which is not here (Debian: libcairo2)");
#define FIND(name, result, parameters) \
	*(void **)&lib->name = dlsym(lib->handle, "cairo_" #name); \
	whole = whole && lib->name;
	CAIRO_FUNCTIONS(FIND)
#undef FIND
	if (whole)
		return 0;
	dlclose(lib->handle);
	return missing(err, "the library libcairo.so.2 that is here cannot write PNG");
}

static struct png *png_of(struct chart_pen *pen)
{
	return (struct png *)pen;
}

static void begin(struct chart_pen *pen, double width, double height, const char *title, const char *about)
{
	struct png *p = png_of(pen);

	(void)title;
	(void)about;
	p->surface = p->lib.image_surface_create(CAIRO_FORMAT_RGB24, (int)(SCALE * width), (int)(SCALE * height));
	p->cairo = p->lib.create(p->surface);
	p->lib.scale(p->cairo, SCALE, SCALE);
}

static void use(struct png *p, struct chart_color color)
{
	uint32_t rgb = chart_rgb(color);

	p->lib.set_source_rgb(p->cairo, (rgb >> 16 & 0xff) / 255.0, (rgb >> 8 & 0xff) / 255.0, (rgb & 0xff) / 255.0);
}

static void hatch(struct png *p, double x, double y, double width, double height)
{
	double gap = CHART_HATCH * 1.4142135623730951;

	p->lib.save(p->cairo);
	p->lib.rectangle(p->cairo, x, y, width, height);
	p->lib.clip(p->cairo);
	use(p, (struct chart_color){ .ink = INK_HATCH });
	p->lib.set_line_width(p->cairo, 1.5);
	for (double at = x - height; at < x + width; at += gap) {
		p->lib.move_to(p->cairo, at, y + height);
		p->lib.line_to(p->cairo, at + height, y);
	}
	p->lib.stroke(p->cairo);
	p->lib.restore(p->cairo);
}

static void rect(struct chart_pen *pen, double x, double y, double width, double height, struct chart_color color, bool hatched,
		 const char *what)
{
	struct png *p = png_of(pen);

	(void)what;
	use(p, hatched ? (struct chart_color){ .ink = INK_IDLE } : color);
	p->lib.rectangle(p->cairo, x, y, width, height);
	p->lib.fill(p->cairo);
	if (hatched)
		hatch(p, x, y, width, height);
}

static void line(struct chart_pen *pen, const struct chart_point *points, size_t count, struct chart_color color, double width,
		 const char *what)
{
	struct png *p = png_of(pen);

	(void)what;
	use(p, color);
	p->lib.set_line_width(p->cairo, width);
	for (size_t i = 0; i < count; i++)
		(i ? p->lib.line_to : p->lib.move_to)(p->cairo, points[i].x, points[i].y);
	p->lib.stroke(p->cairo);
}

static void text(struct chart_pen *pen, const struct chart_text *how, const char *words, size_t size)
{
	struct png *p = png_of(pen);
	char *copy = strndup(words, size);
	cairo_text_extents_t extents;
	double left = 0;

	if (!copy) {
		pen->error = -ENOMEM;
		return;
	}
	use(p, (struct chart_color){ .ink = how->ink });
	p->lib.select_font_face(p->cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
				how->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
	p->lib.set_font_size(p->cairo, how->size);
	p->lib.text_extents(p->cairo, copy, &extents);
	if (how->anchor != ANCHOR_START)
		left = how->anchor == ANCHOR_END ? extents.x_advance : extents.x_advance / 2;
	p->lib.move_to(p->cairo, how->x - left, how->y);
	p->lib.show_text(p->cairo, copy);
	free(copy);
}

static void end(struct chart_pen *pen)
{
	struct png *p = png_of(pen);

	if (p->lib.status(p->cairo) != CAIRO_STATUS_SUCCESS && pen->error == 0)
		pen->error = -EIO;
}

struct stream {
	struct buffer *out;
	int error;
};

static cairo_status_t take(void *arg, const unsigned char *data, unsigned size)
{
	struct stream *s = arg;

	s->error = buffer_append(s->out, data, size);
	return s->error < 0 ? CAIRO_STATUS_WRITE_ERROR : CAIRO_STATUS_SUCCESS;
}

static int write_png(struct png *p, struct buffer *out, struct error *err)
{
	struct buffer whole = BUFFER_INIT;
	struct stream stream = { .out = &whole };
	cairo_status_t status = p->lib.surface_write_to_png_stream(p->surface, take, &stream);
	int rc = stream.error;

	if (rc == 0 && status != CAIRO_STATUS_SUCCESS)
		rc = error_set(err, -EIO, "cairo cannot write a PNG: %s", p->lib.status_to_string(status));
	if (rc == 0)
		rc = buffer_append(out, whole.data, whole.size);
	buffer_release(&whole);
	return rc;
}

int chart_png(const struct chart *c, struct buffer *out, struct error *err)
{
	struct png p = { .pen = { .begin = begin, .rect = rect, .line = line, .text = text, .end = end } };
	int rc = library_open(&p.lib, err);

	if (rc < 0)
		return rc;
	rc = chart_draw(c, &p.pen);
	if (rc == -EIO)
		error_set(err, rc, "cairo cannot draw: %s", p.lib.status_to_string(p.lib.status(p.cairo)));
	if (rc == 0)
		rc = write_png(&p, out, err);
	p.lib.destroy(p.cairo);
	p.lib.surface_destroy(p.surface);
	dlclose(p.lib.handle);
	return rc;
}

#endif
