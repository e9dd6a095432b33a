/*
 * open_files.h - how many descriptors a process has open, and how many it may have.
 */
#ifndef SYSTEM_OPEN_FILES_H
#define SYSTEM_OPEN_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OPEN_FILES_COUNTED 1024u /* at most, where they have to be counted: 1 ms */

/* Its folder of descriptors, for open_files_read(); to be closed.  Negative when there is no such process. */
int open_files_open(pid_t pid);

/* How many; -1: it cannot be told, or they are too many to be counted.  *ret_dear: they had to be counted, as with kernels before
 * 6.2, so do not ask often. */
int64_t open_files_read(int folder, bool *ret_dear);

/* The same by counting them. */
int64_t open_files_count(int folder);

/* How many it may have; -1: it cannot be told. */
int64_t open_files_limit(pid_t pid);

#endif
