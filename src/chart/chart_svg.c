/* chart_svg.c - a pen that writes SVG: nothing in it is fetched, run or styled from elsewhere. */
#include <stdarg.h>
#include <string.h>

#include "chart/chart_parts.h"

struct svg {
	struct chart_pen pen;
	struct buffer *out;
};

__attribute__((format(printf, 2, 3))) static void put(struct svg *s, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = buffer_vprintf(s->out, format, args);
	va_end(args);
	if (rc < 0 && s->pen.error == 0)
		s->pen.error = rc;
}

static void put_escaped(struct svg *s, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		switch (text[i]) {
		case '&':
			put(s, "&amp;");
			break;
		case '<':
			put(s, "&lt;");
			break;
		case '>':
			put(s, "&gt;");
			break;
		case '"':
			put(s, "&quot;");
			break;
		case '\'':
			put(s, "&#39;");
			break;
		default:
			put(s, "%c", text[i]);
		}
	}
}

static struct svg *svg_of(struct chart_pen *pen)
{
	return (struct svg *)pen;
}

static void begin(struct chart_pen *pen, double width, double height, const char *title, const char *about)
{
	struct svg *s = svg_of(pen);

	put(s,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
	    "font-family=\"system-ui, sans-serif\">\n<title>",
	    width, height, width, height);
	put_escaped(s, title, strlen(title));
	put(s, "</title>\n<desc>");
	put_escaped(s, about, strlen(about));
	put(s,
	    "</desc>\n<defs><pattern id=\"hatch\" width=\"%d\" height=\"%d\" patternUnits=\"userSpaceOnUse\" "
	    "patternTransform=\"rotate(45)\">"
	    "<rect width=\"%d\" height=\"%d\" fill=\"#%06x\"/><rect width=\"1.5\" height=\"%d\" fill=\"#%06x\"/></pattern></defs>\n",
	    CHART_HATCH, CHART_HATCH, CHART_HATCH, CHART_HATCH, chart_rgb((struct chart_color){ .ink = INK_IDLE }), CHART_HATCH,
	    chart_rgb((struct chart_color){ .ink = INK_HATCH }));
}

static void rect(struct chart_pen *pen, double x, double y, double width, double height, struct chart_color color, bool hatched,
		 const char *what)
{
	struct svg *s = svg_of(pen);

	put(s, "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"", what, x, y, width, height);
	if (hatched)
		put(s, "url(#hatch)\"/>\n");
	else
		put(s, "#%06x\"/>\n", chart_rgb(color));
}

static void line(struct chart_pen *pen, const struct chart_point *points, size_t count, struct chart_color color, double width,
		 const char *what)
{
	struct svg *s = svg_of(pen);

	put(s, "<polyline class=\"%s\" fill=\"none\" stroke=\"#%06x\" stroke-width=\"%.1f\" points=\"", what, chart_rgb(color), width);
	for (size_t i = 0; i < count; i++)
		put(s, "%s%.2f,%.2f", i ? " " : "", points[i].x, points[i].y);
	put(s, "\"/>\n");
}

static void text(struct chart_pen *pen, const struct chart_text *how, const char *words, size_t size)
{
	static const char *const anchors[] = { "start", "middle", "end" };
	struct svg *s = svg_of(pen);

	put(s, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.0f\"%s text-anchor=\"%s\" fill=\"#%06x\">", how->x, how->y, how->size,
	    how->bold ? " font-weight=\"650\"" : "", anchors[how->anchor], chart_rgb((struct chart_color){ .ink = how->ink }));
	put_escaped(s, words, size);
	put(s, "</text>\n");
}

static void end(struct chart_pen *pen)
{
	put(svg_of(pen), "</svg>\n");
}

int chart_svg(const struct chart *c, struct buffer *out)
{
	struct svg s = { .pen = { .begin = begin, .rect = rect, .line = line, .text = text, .end = end }, .out = out };

	return chart_draw(c, &s.pen);
}
