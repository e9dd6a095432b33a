/*
 * terminal.h - a snapshot on the screen, with keys.
 *
 * All calls come from one thread.  Signals must be blocked there: the size is
 * asked for at each draw, and the settings of the terminal are put back by
 * live_terminal_hide() and nothing else.
 */
#ifndef LIVE_TERMINAL_H
#define LIVE_TERMINAL_H

#include <stdbool.h>

#include "base/error.h"
#include "live/output.h"
#include "live/snapshot.h"

struct live_terminal;

enum live_key_result {
	LIVE_KEY_NONE,
	LIVE_KEY_REDRAW,
	LIVE_KEY_QUIT, /* also when the terminal has gone */
};

struct live_terminal_options {
	int fd; /* of the terminal, for reading and writing; borrowed */
	bool color;
	const char *title; /* "monitor" */
	const char *hint;  /* where the page is; may be NULL.  Borrowed */
	struct live_output *output; /* what the program writes; NULL: it is somewhere else.  Borrowed */
};

/* Can there be a view on this terminal at all?  -ENOTSUP when not, with a sentence. */
int live_terminal_check(int fd, struct error *err);

int live_terminal_new(struct live_terminal **ret, const struct live_terminal_options *options, struct error *err);
void live_terminal_free(struct live_terminal *terminal);

/* Onto the screen, and off it: then the terminal is as it was. */
int live_terminal_show(struct live_terminal *terminal, struct error *err);
void live_terminal_hide(struct live_terminal *terminal);

/* A new snapshot: remembered for the history. */
void live_terminal_note(struct live_terminal *terminal, const struct live_snapshot *snapshot);
void live_terminal_draw(struct live_terminal *terminal, const struct live_snapshot *snapshot);
/* Has somebody changed the size of the window since the last draw? */
bool live_terminal_resized(const struct live_terminal *terminal);
/* Takes what keys there are; never waits. */
enum live_key_result live_terminal_keys(struct live_terminal *terminal);

#endif
