/*
 * facts.h - how a program ended, beyond its exit status.
 *
 * Which interpreter ran it and which exception ended it, its processes know and
 * leave in files "fPID" of the session's folder (ring/layout.h); which of its
 * descendants a signal has ended, and which go on, is seen from outside.
 */
#ifndef RECORD_FACTS_H
#define RECORD_FACTS_H

#include <sys/types.h>

#include "record/drain.h"
#include "record/watch.h"
#include "trace/program.h"

/* Fills in what the program's first process has left there of its interpreter and of the exception that ended it; or the only process
 * that has left anything, as where a shell began it.  It may have written anything. */
void facts_read(struct trace_program *ret, int folder_fd, pid_t root);

/* Before drain_finish(); the watch, which may be NULL, has been stopped. */
void facts_descendants(struct trace_program *ret, const struct watch *watch, const struct drain *drain, pid_t root);

#endif
