/*
 * target.h - the profiled program: started as our child, and otherwise left as it would be without us.
 *
 * It keeps our standard streams (unless it is given others), working directory, process group and the
 * signal mask and dispositions that we were started with.
 */
#ifndef RECORD_TARGET_H
#define RECORD_TARGET_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "record/canary.h"
#include "record/request.h"

#define TARGET_OTHERS 32u /* that are remembered */

struct target {
	pid_t pid;
	int signal_fd; /* all signals that we can catch arrive here */
	struct canary canary;
	sigset_t inherited_mask;
	struct sigaction inherited_chld, inherited_bus;
	int streams[3]; /* what the program gets for its standard streams; -1: ours */
	bool adopts; /* to be set before it is started: what it leaves running is waited for (orphans.h) */
	bool told_to_end; /* SIGTERM has come while it ran */
	bool stopped;
	bool stop_asked; /* we too, by job control, since it last went on */
	bool ended;
	int status; /* of waitpid */
	int64_t read_ns; /* until when all signals have been taken in */
	struct requests requests; /* since it has ended */
	struct {
		pid_t pid;
		int status;
	} others[TARGET_OTHERS]; /* children that are not the program, the newest at (other_count - 1) % TARGET_OTHERS */
	uint32_t other_count;
};
#define TARGET_INIT { .pid = -1, .signal_fd = -1, .canary = CANARY_INIT, .streams = { -1, -1, -1 } }

/* Blocks all signals in this process and opens signal_fd.  Before anything that must not be interrupted. */
int target_prepare(struct target *target, struct error *err);

/* Starts argv with NAME=VALUE strings added to its environment.  Fails with err->exit_code 127 when there is no such
 * command and 126 when it cannot be executed. */
int target_start(struct target *target, char *const argv[], char *const added[], struct error *err);

/* Takes in signals (passing on those that were meant for the program) and changes of our children's state.  When the program has
 * ended, its signals go to `requests`: called now and then, this tells when they came. */
void target_handle_events(struct target *target);

/* All our children are waited for here.  How one ended that somebody else has started, as wait() gives it; false when it is not known:
 * it has not been waited for, or long ago. */
bool target_other_status(const struct target *target, pid_t pid, int *ret_status);

/*
 * Are we to stop along?  Job control (Ctrl-Z, a read in the background) stops
 * the whole group, and whoever started us waits for that.  A program that is
 * stopped alone is none of our business: its other processes go on, and are
 * recorded.  When it has ended, and others are waited for, only we are left to stop.
 */
bool target_is_to_stop(const struct target *target);
/* Stops this process, until it is continued, or the program is. */
void target_stop_along(struct target *target);

/* Has it ended because somebody wanted all of this to end? */
bool target_was_told_to_end(const struct target *target);

/* What a shell would say: the exit status, or 128 and the signal. */
int target_exit_status(const struct target *target);

void target_release(struct target *target);

#endif
