/*
 * memory.h - makes shared memory that cannot fault.
 *
 * A store to a tmpfs page that the kernel cannot provide is a SIGBUS in the
 * profiled program.  So pages are asked for beforehand, where "no" is an error.
 */
#ifndef RING_MEMORY_H
#define RING_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Provides the pages of [offset, offset + size) of the file at path, mapped at
 * map.  0, or -ENOSPC when there is no room.  Async-signal-safe; uses no file
 * descriptor unless the kernel is older than 5.14.
 */
int memory_commit(void *map, uint64_t offset, size_t size, const char *path);

#endif
