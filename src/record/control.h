/*
 * control.h - who ends a recording that has started no program: a line or the end of its input, the end of a process, or
 * SIGTERM.  Nothing else does, least of all what a terminal sends to all that run in it.
 */
#ifndef RECORD_CONTROL_H
#define RECORD_CONTROL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct control {
	int input_fd; /* borrowed */
	pid_t pid;
	int pid_fd; /* -1: the kernel cannot make one, and the process is looked for by its number */
	int signal_fd;
	char line[8]; /* the input so far */
	size_t used;
	bool ended;
};
#define CONTROL_INIT { .input_fd = -1, .pid_fd = -1, .signal_fd = -1 }

/* Leaves the terminal and blocks all signals in this process.  Fails when there is no process `pid`. */
int control_open(struct control *control, int input_fd, pid_t pid, struct error *err);
void control_close(struct control *control);

/* What to wait for. */
#define CONTROL_FDS 3
void control_watch(const struct control *control, struct pollfd fds[CONTROL_FDS]);

/* Has anybody ended it?  Then `ended` is true. */
void control_handle_events(struct control *control);

#endif
