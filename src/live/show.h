/*
 * show.h - the thread that has the terminal: view, keys, and what the program writes.
 *
 * It is a thread of its own, since a terminal may keep whoever writes to it
 * waiting for as long as it likes, and neither the recording nor the program is to
 * wait along.  Signals are blocked in it.
 *
 * The view is on the screen while it is wanted, the user has not quit it, and we
 * are in the foreground.  While it is not, what the program writes is printed.
 */
#ifndef LIVE_SHOW_H
#define LIVE_SHOW_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "live/snapshot.h"

struct live_show_options {
	bool color;
	const char *title; /* as in struct live_terminal_options */
	const char *hint;
	bool output; /* the program is started by us: keep its output off the view */
};

struct live_show;

/* Finds the terminal, on standard error; fails when there can be no view on it. */
int live_show_new(struct live_show **ret, const struct live_show_options *options, struct error *err);
/* The terminal is as it was; waits for as long as it takes to print the output. */
void live_show_free(struct live_show *show);

/* What the program is to have for its standard streams; -1: ours. */
void live_show_streams(const struct live_show *show, int streams[3]);

/* program: who is to hear that the window has another size; 0: nobody.  Call with all signals blocked. */
int live_show_start(struct live_show *show, pid_t program, struct error *err);
/* Copies it.  Never waits for the terminal. */
void live_show_update(struct live_show *show, const struct live_snapshot *snapshot);

/* Readable when the user has quit, or the terminal has gone. */
int live_show_done_fd(const struct live_show *show);
/* Off the screen, output printed, and back; returns after at most a second. */
void live_show_suspend(struct live_show *show);
void live_show_resume(struct live_show *show);
/* The program has ended: off the screen for good.  Returns after at most two seconds. */
void live_show_end(struct live_show *show);

#endif
