/*
 * process_counters.h - sums that the kernel keeps of a process: processor time, page faults, memory, bytes read and written.
 */
#ifndef SYSTEM_PROCESS_COUNTERS_H
#define SYSTEM_PROCESS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum process_counter {
	PROCESS_USER_NS,
	PROCESS_SYSTEM_NS,
	PROCESS_CHILDREN_NS, /* processor time of children that have ended and been waited for */
	PROCESS_MINOR_FAULTS,
	PROCESS_MAJOR_FAULTS,
	PROCESS_RSS_BYTES,
	PROCESS_THREADS,
	PROCESS_READ_CHARS, /* by system calls, cached or not */
	PROCESS_WRITTEN_CHARS,
	PROCESS_READ_CALLS,
	PROCESS_WRITE_CALLS,
	PROCESS_READ_BYTES, /* from disks */
	PROCESS_WRITTEN_BYTES,
	PROCESS_VOLUNTARY_SWITCHES, /* of the main thread: others' are in their ledgers, as slices */
	PROCESS_INVOLUNTARY_SWITCHES,
	PROCESS_PSS_BYTES, /* see process_memory.h */
	PROCESS_SHARED_BYTES, /* of rss: pages of files and of memory that others may have as well */
	PROCESS_SWAP_BYTES,
	PROCESS_HELD_BYTES, /* of rss: what no file has, so that the kernel can only swap it */
	PROCESS_COUNTER_COUNT
};
const char *process_counter_name(enum process_counter counter);

struct process_counters {
	uint64_t values[PROCESS_COUNTER_COUNT];
	uint32_t known; /* bit n: counter n could be read */
	uint64_t birth;  /* when the kernel began it, in its own ticks */
	uint64_t virtual_bytes; /* of addresses that are mapped */
	uint64_t memory; /* where its program lies: changes when it is replaced; 0: not to be told */
	pid_t parent;
	bool ends;  /* it is being taken down, or its first thread has ended before the others */
	char state; /* as the kernel abbreviates it: 'Z' has ended, but for who is to be told */
};

void process_counters_set(struct process_counters *counters, enum process_counter counter, uint64_t value);

/* What a file says is added to *counters.  0, or -EINVAL. */
int process_counters_parse_stat(struct process_counters *counters, const char *text);
void process_counters_parse_io(struct process_counters *counters, const char *text);
void process_counters_parse_status(struct process_counters *counters, const char *text);

/* What its stat says, now.  False when it is gone, or not ours to see. */
bool process_counters_look(pid_t pid, struct process_counters *ret);

struct process_files {
	int stat, io, status; /* -1: cannot be read */
};
#define PROCESS_FILES_INIT { -1, -1, -1 }
int process_files_open(struct process_files *files, pid_t pid);
void process_files_close(struct process_files *files);

/* `all`: those that cost more to read as well (status).  Negative when the process has ended. */
int process_files_read(const struct process_files *files, bool all, struct process_counters *ret);
/* Only what costs least: neither bytes nor switches. */
int process_files_read_stat(const struct process_files *files, struct process_counters *ret);

#endif
