/*
 * doing.h - what the program does now, as a sentence, and what it did while nothing of it was recorded.
 *
 * Of one thread there is what is recorded (inside.h), and for how long it ran, queued
 * and waited, which can be seen from outside (outside.h).  Both are of the same
 * seconds.  What is not recorded ran as far as the thread ran at all besides
 * what is, and is named by that.
 */
#ifndef LIVE_DOING_H
#define LIVE_DOING_H

#include "live/snapshot.h"
#include "live/window.h"
#include "system/thread_state.h"

/* For how many seconds a thread was seen at what. */
struct doing_times {
	double running, queueing;
	double waiting[THREAD_STATE_COUNT]; /* by what for */
};

struct doing {
	pid_t pid, tid;
	struct window window;
	struct doing_times slots[WINDOW_SLOTS];
};

/* Fills what is left of snapshot->doing, and adds what was not recorded to its places. */
void doing_fill(struct doing *doing, struct live_snapshot *snapshot);

#endif
