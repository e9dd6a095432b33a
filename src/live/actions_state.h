/*
 * actions_state.h - what actions.c and its parts share.
 */
#ifndef LIVE_ACTIONS_STATE_H
#define LIVE_ACTIONS_STATE_H

#include <stdbool.h>

#include "base/file.h"
#include "live/actions.h"
#include "record/target.h"

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
bool action_child_runs(const struct action_child *child);
/* Ends it, with all that it has started, and waits a moment for that. */
void action_child_kill(struct action_child *child);
/* One that has ended: its status as wait() gives it, -1 when that is not known.  target: who may have waited for it; NULL: nobody else. */
int action_child_forget(struct action_child *child, const struct target *target);

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
/* A copy that is being made: what it becomes is this process's to say, so that nothing is left of one that is ended. */
struct action_copy {
	struct file_draft draft;
	struct error *result; /* shared with the process that copies; NULL: there is no copy */
};
#define ACTION_COPY_INIT { .draft = FILE_DRAFT_INIT }
int action_snapshot(struct action_copy *copy, struct action_child *child, const struct action_source *source, uint64_t number,
		    double seconds, struct error *err);
/* The same of what is in the file already, since then, to a path. */
int action_copy_begin(struct action_copy *copy, struct action_child *child, const struct action_source *source, int64_t since,
		      const char *path, struct error *err);
/* The process has ended: the copy gets its name, and an older one of that name becomes NAME.old; or nothing is left of it. */
int action_copy_end(struct action_copy *copy, struct error *err);
/* Writes what happened since then into fd, which it takes over. */
int action_snapshot_write(const struct action_source *source, int64_t since, int fd, struct error *err);
/* "trace.sbt" and 3 make "trace.alert-3.sbt", beside the trace that `partial` becomes. */
void action_snapshot_path(const char *partial, uint64_t number, char *out, size_t size);

#endif
