/*
 * terminal_parts.h - what the files of the terminal view share.
 *
 * terminal.c       opens and closes the screen, and divides it
 * terminal_keys.c  keys, and what they change
 * terminal_paint.c text, bars and sparklines at a place of the screen
 * terminal_meter.c one line for each thing that is measured, with its history
 * terminal_pane.c  the tables: threads, processes, places, alerts
 * terminal_output.c  what the program wrote, as lines
 */
#ifndef LIVE_TERMINAL_PARTS_H
#define LIVE_TERMINAL_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buffer.h"
#include "live/numbers.h"
#include "live/terminal.h"

enum ink { INK_PLAIN, INK_DIM, INK_STRONG, INK_GOOD, INK_WARNING, INK_BAD, INK_TITLE };

enum pane { PANE_THREADS, PANE_PROCESSES, PANE_PLACES, PANE_ALERTS, PANE_OUTPUT, PANE_COUNT };

/* The last values of something; NAN where there was none. */
#define HISTORY 512u
struct history {
	float values[HISTORY];
	uint32_t count; /* in all */
};
enum {
	HISTORY_CPU,
	HISTORY_MEMORY,
	HISTORY_IO,
	HISTORY_NETWORK,
	HISTORY_STEP,
	HISTORY_RATE,
	HISTORY_CUSTOM, /* of the first */
	HISTORY_GPU, /* and one for each number that a GPU can have */
	HISTORY_COUNT = HISTORY_GPU + LIVE_GPU_NUMBERS
};

#define FILTER_MAX 32u
#define TAIL_MAX (32u << 10)

struct live_terminal {
	struct live_terminal_options options;
	void *screen;   /* of ncurses; NULL: not yet */
	FILE *in, *out; /* the screen's */
	int draft;      /* a file in memory; -1: none */
	bool shown, gone;
	bool ascii;     /* the locale has nothing else */
	int rows, columns;
	struct buffer text; /* what is being painted */
	struct history histories[HISTORY_COUNT];
	/* what keys have set */
	enum pane pane;
	bool help, paused, typing, filtering, large;
	unsigned sort[PANE_COUNT];
	size_t scroll, scroll_most;
	char filter[FILTER_MAX];
	size_t filter_size;
	struct live_snapshot *frozen; /* what is shown while it is paused */
	char *tail; /* TAIL_MAX bytes, for what the program wrote last */
};

/* ---- terminal_paint.c: nothing goes beyond the screen, or the width given ---- */

/* Text of unknown origin, made safe; returns the columns it took. */
int paint_text(struct live_terminal *t, int row, int column, int width, enum ink ink, const char *text);
int paint_bytes(struct live_terminal *t, int row, int column, int width, enum ink ink, const char *text, size_t size);
int paint_format(struct live_terminal *t, int row, int column, int width, enum ink ink, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
void paint_right(struct live_terminal *t, int row, int column, int width, enum ink ink, const char *text);
void paint_line(struct live_terminal *t, int row, enum ink ink); /* all of it, empty */
void paint_bar(struct live_terminal *t, int row, int column, int width, double share, enum ink ink);
void paint_spark(struct live_terminal *t, int row, int column, int width, const struct history *history, double most);

/* ---- terminal_meter.c ---- */

void meters_note(struct live_terminal *t, const struct live_snapshot *s);
/* Paints as many as have room in `rows`, the most important first; returns the rows it took. */
int meters_draw(struct live_terminal *t, const struct live_snapshot *s, int row, int rows);

/* ---- terminal_pane.c ---- */

/* The title and the table below it. */
void pane_draw(struct live_terminal *t, const struct live_snapshot *s, int row, int rows);
const char *pane_name(enum pane pane);
unsigned pane_sorts(enum pane pane); /* how many orders there are */
void pane_limit_scroll(struct live_terminal *t, size_t count, int rows); /* so many lines in so many rows */
void alert_draw(struct live_terminal *t, const struct live_alert *alert, int row);

/* ---- terminal_output.c ---- */

void output_pane(struct live_terminal *t, int row, int rows);
/* The last lines; scroll: so many lines before them. */
void output_draw(struct live_terminal *t, int row, int rows, size_t scroll);

#endif
