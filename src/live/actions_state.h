/*
 * actions_state.h - what actions.c and its parts share.
 */
#ifndef LIVE_ACTIONS_STATE_H
#define LIVE_ACTIONS_STATE_H

#include <stdbool.h>

#include "live/actions.h"

#define ACTION_LIMIT_NS 30000000000 /* for a command or a copy */

/* A process that does something for us.  Whoever waits for all children may wait for it, too; its descriptor stays its own. */
struct action_child {
	pid_t pid; /* 0: none */
	int pidfd;
	int64_t deadline_ns;
};

int64_t action_now_ns(void);
/* Takes over a child that has just been started. */
void action_child_set(struct action_child *child, pid_t pid);
bool action_child_runs(struct action_child *child); /* and is forgotten when it has ended */
/* Ends it, with all that it has started. */
void action_child_kill(struct action_child *child);

/* actions_command.c: starts the command with what there is to know of the alert in its environment. */
int action_command(struct action_child *child, const char *command, const struct live_alert *alert);
/* Text that may be printed: the program chose parts of it. */
void action_safe_text(const char *text, char *out, size_t size);

/* actions_snapshot.c: copies what happened in the last seconds. */
struct action_source {
	char partial[RECORDING_PATH_MAX]; /* "": there is no recording */
	enum clock_source clock;
	double rate; /* ticks a second */
	struct drain *drain;
	struct trace_writer *writer;
};
int action_snapshot(struct action_child *child, const struct action_source *source, uint64_t number, double seconds);
/* The same, in this process; for tests. */
int action_snapshot_copy(const struct action_source *source, int64_t since, const char *path, struct error *err);
/* "trace.sbt" and 3 make "trace.alert-3.sbt", beside the trace that `partial` becomes. */
void action_snapshot_path(const char *partial, uint64_t number, char *out, size_t size);

#endif
