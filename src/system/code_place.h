/*
 * code_place.h - what a thread was at when the processor was at this address: Python itself, a library, the kernel on its
 * behalf.
 */
#ifndef SYSTEM_CODE_PLACE_H
#define SYSTEM_CODE_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "system/process_maps.h"

enum code_sort {
	CODE_INTERPRETER, /* of Python */
	CODE_PROFILER,    /* ours */
	CODE_NATIVE,      /* any other, outside of the kernel */
	CODE_FAULT,       /* in the kernel, but not for a system call: a page fault or an interrupt */
	CODE_SYSCALL,
	CODE_SORT_COUNT
};
const char *code_sort_name(enum code_sort sort);

#define CODE_TEXT_SIZE 64u

struct code_place {
	enum code_sort sort;
	char what[CODE_TEXT_SIZE]; /* the file ("numpy/_umath.so": of this Python package), or the function that has the system call;
				    * "?": not known; or "" */
};

/* What is remembered of the places at which a process entered the kernel. */
struct code_entries;

/* A process that is sampled.  All are borrowed but `entries`, which begins as NULL. */
struct code_process {
	pid_t pid;
	struct process_maps *maps;
	struct code_entries *entries;
};

/* The program has been replaced, or is no longer looked at. */
void code_process_forget(struct code_process *process);

/* kernel: it was in the kernel, which it had entered at pc.  False when the address is not explained; then it is a place too,
 * but the maps of the process may tell more later.  now_ns: CLOCK_MONOTONIC. */
bool code_place_find(struct code_process *process, uint64_t pc, bool kernel, int64_t now_ns, struct code_place *ret);

#endif
