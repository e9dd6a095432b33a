/*
 * view.h - lines for a terminal, in which every column is counted.
 *
 * Words of ours go in with view_put(), those of a trace with view_name(), which
 * makes them safe and cuts them.  Styles take no column.
 */
#ifndef REPORT_VIEW_H
#define REPORT_VIEW_H

#include "report/columns.h"
#include "report/report.h"

enum view_style { VIEW_BOLD, VIEW_GOOD, VIEW_WARN, VIEW_BAD, VIEW_DIM };
enum view_glyph { VIEW_MINUS, VIEW_TO, VIEW_RANGE };

struct view {
	struct buffer *out;
	size_t columns; /* of a line */
	size_t at;      /* those of this line that are full */
	bool color, ascii;
	int error; /* the first failure */
};

/* Of 60 to 120 columns. */
struct view view_of(const struct report_view_options *options, struct buffer *out);

void view_put(struct view *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
void view_styled(struct view *v, enum view_style style, const char *format, ...) __attribute__((format(printf, 3, 4)));
void view_begin(struct view *v, enum view_style style);
void view_end(struct view *v); /* of the style */
void view_line(struct view *v); /* ends it */

/* In at most `most` columns, and never over the end of the line; 0: to its end. */
void view_name(struct view *v, const char *text, size_t size, size_t most, enum columns_cut cut);

/* A sentence of unknown origin, broken between words into at most `lines` lines, those after the first indented. */
void view_words(struct view *v, const char *text, unsigned lines, size_t indent);
/* Ends the last one, too. */
void view_sentence(struct view *v, const char *text, unsigned lines, size_t indent);

/* Blanks up to a column; at least one unless the line is empty. */
void view_pad(struct view *v, size_t column);
size_t view_left(const struct view *v);

const char *view_glyph(const struct view *v, enum view_glyph glyph);

/* A bar of which `full` columns would be the whole, and the columns it takes: one at least for what is more than nothing. */
void view_bar(struct view *v, double share, size_t full);
size_t view_bar_columns(const struct view *v, double share, size_t full);

#endif
