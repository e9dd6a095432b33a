/*
 * canary.h - tells a signal that was sent to our process group from one that was sent to us.
 *
 * The first reaches the program by itself, since it is in our group; the second
 * has to be passed on.  Nothing in a signal says which it was.  So a small
 * process sits in the group with all signals blocked: what was sent to the
 * group is pending there too.
 *
 * A stop does not reach it, either, so it also wakes us when the program with
 * which we have stopped runs again and nothing has told us.
 */
#ifndef RECORD_CANARY_H
#define RECORD_CANARY_H

#include <stdbool.h>
#include <sys/types.h>

struct canary {
	pid_t pid; /* -1: could not be started; then every signal counts as sent to us */
	int ask_fd, answer_fd;
};
#define CANARY_INIT { .pid = -1, .ask_fd = -1, .answer_fd = -1 }

/* Call with all signals blocked. */
void canary_start(struct canary *canary);

/* Was the signal that we just received sent to the whole group?  The answer is given once for each signal. */
bool canary_heard(struct canary *canary, int signal);

/* Before and after this process stops along with a program: it is continued when the program runs again or is gone. */
void canary_watch(struct canary *canary, pid_t program);
void canary_watch_end(struct canary *canary);

void canary_stop(struct canary *canary);

#endif
