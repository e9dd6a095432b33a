/*
 * wait_object.h - what a blocked thread waits for: its system call, and what the call is about.
 */
#ifndef SYSTEM_WAIT_OBJECT_H
#define SYSTEM_WAIT_OBJECT_H

#include "system/fd_object.h"
#include "system/process_maps.h"
#include "system/thread_state.h"

/* What is remembered of a process between looks. */
struct wait_process {
	pid_t pid;
	struct process_maps maps;
	struct socket_cache sockets;
};

void wait_process_release(struct wait_process *process);

/* The program has been replaced: what was known of its memory is no longer true. */
void wait_process_forget(struct wait_process *process);

/* now_ns: CLOCK_MONOTONIC.  Reads memory of the process where the call says that there is the answer, and never writes. */
void wait_object_find(struct wait_process *process, pid_t tid, const struct thread_syscall *call, int64_t now_ns,
		      struct wait_object *ret);

#endif
