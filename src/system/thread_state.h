/*
 * thread_state.h - what a thread does, as the kernel tells whoever may look: its ledger (schedstat) and the system call
 * that it is in.
 *
 * Time of a thread is time on a processor, time in the queue for one, and the
 * rest, in which it is blocked: the ledger has the first two, exactly.
 */
#ifndef SYSTEM_THREAD_STATE_H
#define SYSTEM_THREAD_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What a thread waits for, or that it does not. */
enum thread_state {
	THREAD_RUNNING, /* on a processor, or in the queue for one */
	THREAD_GIL,     /* Python's lock of the interpreter */
	THREAD_LOCK,
	THREAD_BARRIER, /* of a pool of threads (OpenMP) */
	THREAD_SLEEP,
	THREAD_POLL, /* for one of several things */
	THREAD_PIPE,
	THREAD_SOCKET_LOCAL,
	THREAD_SOCKET_NETWORK,
	THREAD_FILE,
	THREAD_FSYNC,
	THREAD_CHILD,
	THREAD_PAGE_FAULT_IO,
	THREAD_DEVICE,
	THREAD_UNKNOWN,
	THREAD_STATE_COUNT
};
const char *thread_state_name(enum thread_state state);

struct thread_ledger {
	uint64_t run_ns, queue_ns, slices;
};

/* The system call that a thread is blocked in. */
struct thread_syscall {
	bool running;   /* it is not blocked; nothing else is known */
	int64_t number; /* -1: blocked, but not in a system call */
	uint64_t args[6];
	uint64_t sp, pc;
};

/* 0, or -EINVAL for text that is not the kernel's. */
int thread_ledger_parse(const char *text, struct thread_ledger *ret);
int thread_syscall_parse(const char *text, struct thread_syscall *ret);

/* Files of a thread that are kept open: opening one takes ten times as long as reading it. */
struct thread_files {
	int schedstat, syscall;
};
#define THREAD_FILES_INIT { -1, -1 }

/* Fails only when the thread's ledger cannot be read; the system call may be forbidden. */
int thread_files_open(struct thread_files *files, pid_t pid, pid_t tid);
void thread_files_close(struct thread_files *files);

/* 0, or negative: -ESRCH when the thread has ended. */
int thread_files_ledger(const struct thread_files *files, struct thread_ledger *ret);
int thread_files_syscall(const struct thread_files *files, struct thread_syscall *ret);

#endif
