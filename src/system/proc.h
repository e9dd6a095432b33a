/*
 * proc.h - what the kernel says about processes, threads and itself, in /proc.
 */
#ifndef SYSTEM_PROC_H
#define SYSTEM_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the kernel calls the thread; the length, 0 when it is gone. */
size_t proc_thread_name(pid_t pid, pid_t tid, char *name, size_t size);

/* The signals that wait for the process as a whole: bit n - 1 is signal n. */
uint64_t proc_pending_signals(pid_t pid);

/* What the process does, as ps(1) has it: R, S, D, T, ...; 0 when it is gone. */
char proc_state(pid_t pid);

/* Different after each boot.  NUL-terminated; empty when it cannot be told. */
#define PROC_BOOT_ID_SIZE 40u
void proc_boot_id(char boot_id[PROC_BOOT_ID_SIZE]);

/* Pids of two processes are comparable when this is the same for both.  0 when it cannot be told. */
uint64_t proc_pid_namespace(void);

/* Ours are those of the whole machine, which drivers tell: not in most containers. */
bool proc_pids_are_global(void);

/* Opens a file of a process, or of one of its threads (tid not 0).  A descriptor, or negative. */
int proc_open(pid_t pid, pid_t tid, const char *name);

/* The beginning of an open file, read anew, NUL-terminated.  Its length, or negative when whom it is about has gone. */
ssize_t proc_reread(int fd, char *text, size_t size);

/* The same for one that the kernel gives in pieces of a page, as those with a line for each of many things. */
ssize_t proc_reread_all(int fd, char *text, size_t size);

/* The next number of a text, after spaces.  False at anything else, and for one that does not fit. */
bool proc_number(const char **text, uint64_t *ret);

/* The children of a thread, from its open file "children", one after the other however many there are. */
#define PROC_CHILDREN_SIZE 4096u
struct proc_children {
	int fd; /* borrowed */
	uint64_t offset;
	const char *at;
	char text[PROC_CHILDREN_SIZE];
};
void proc_children_begin(struct proc_children *children, int fd);
/* False when there are no more. */
bool proc_children_next(struct proc_children *children, pid_t *ret);

/* Copies the line that `text` begins with, cut where it does not fit, and steps behind it.  False at the end. */
bool proc_line(const char **text, char *line, size_t size);

#endif
