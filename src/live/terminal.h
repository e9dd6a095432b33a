/*
 * terminal.h - a snapshot on the screen, with keys.
 */
#ifndef LIVE_TERMINAL_H
#define LIVE_TERMINAL_H

#include <stdbool.h>

#include "base/error.h"
#include "live/snapshot.h"

struct live_terminal;

enum live_key_result { LIVE_KEY_NONE, LIVE_KEY_REDRAW, LIVE_KEY_QUIT };

struct live_terminal_options {
	int fd;         /* of the terminal, for reading and writing */
	bool color;
	const char *hint; /* where the page is; may be NULL */
};

int live_terminal_open(struct live_terminal **ret, const struct live_terminal_options *options, struct error *err);
/* Leaves the terminal as it was. */
void live_terminal_close(struct live_terminal *terminal);
void live_terminal_draw(struct live_terminal *terminal, const struct live_snapshot *snapshot);
/* Takes what keys there are; never waits.  LIVE_KEY_QUIT also when the terminal has gone. */
enum live_key_result live_terminal_keys(struct live_terminal *terminal);

#endif
