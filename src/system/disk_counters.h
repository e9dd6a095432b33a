/*
 * disk_counters.h - what the disks of the machine have done: /proc/diskstats.
 *
 * Whole disks, not their partitions, and none that never did anything, as most
 * of the kernel's loop devices.
 */
#ifndef SYSTEM_DISK_COUNTERS_H
#define SYSTEM_DISK_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#define DISK_NAME 32u
#define DISK_COUNTERS_MAX 64u

/* Since the machine began; busy_ns wraps where the kernel's does, at 2^32 ms. */
struct disk_counters {
	char name[DISK_NAME];
	uint64_t reads, writes;
	uint64_t read_bytes, written_bytes;
	uint64_t busy_ns; /* in which it had something to do */
};

/* How many there were, at most max; lines that make no sense are none. */
size_t disk_counters_parse(const char *text, struct disk_counters *ret, size_t max);

struct disk_files {
	int fd;
};
#define DISK_FILES_INIT { -1 }

void disk_files_open(struct disk_files *files);
void disk_files_close(struct disk_files *files);
size_t disk_files_read(const struct disk_files *files, struct disk_counters *ret, size_t max);

#endif
