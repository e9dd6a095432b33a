/*
 * machine_counters.h - how busy the machine is, and what holds its programs up: processor time of all, time that it was
 * owed (steal), how fast its processors run, pressure (PSI), and what the control group of a process may use and uses.
 */
#ifndef SYSTEM_MACHINE_COUNTERS_H
#define SYSTEM_MACHINE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "system/cpu_frequency.h"

enum machine_counter {
	MACHINE_BUSY_NS, /* of all processors together */
	MACHINE_IDLE_NS,
	MACHINE_STEAL_NS,
	MACHINE_PRESSURE_CPU_NS, /* for how long some thread lacked it */
	MACHINE_PRESSURE_MEMORY_NS,
	MACHINE_PRESSURE_IO_NS,
	MACHINE_THROTTLED_NS, /* of the control group, of all processors together */
	MACHINE_THROTTLED_PERIODS, /* at the end of which it was out of its quota, */
	MACHINE_QUOTA_PERIODS,     /* of so many in which it ran; absent before the first */
	MACHINE_GROUP_CPU_NS,      /* that it ran, likewise; the first version does not say */
	MACHINE_QUOTA_MILLICORES, /* absent when there is none */
	MACHINE_FREQUENCY_MHZ,
	MACHINE_GROUP_MEMORY_BYTES, /* of the control group */
	MACHINE_GROUP_MEMORY_LIMIT_BYTES, /* absent when there is none */
	MACHINE_COUNTER_COUNT
};
const char *machine_counter_name(enum machine_counter counter);

struct machine_counters {
	uint64_t values[MACHINE_COUNTER_COUNT];
	uint32_t known; /* bit n: counter n could be read */
};

/* What a file says is added to *counters; what it does not say stays absent. */
void machine_counters_parse_stat(struct machine_counters *counters, const char *text);
void machine_counters_parse_pressure(struct machine_counters *counters, enum machine_counter counter, const char *text);
void machine_counters_parse_cpu_stat(struct machine_counters *counters, const char *text);
void machine_counters_parse_cpu_max(struct machine_counters *counters, const char *text);
void machine_counters_parse_memory(struct machine_counters *counters, enum machine_counter counter, const char *text);

/* For how much of the time in which it had something to do a quota held the control group back between two readings, 0 to 1; NAN:
 * not known. */
double machine_counters_throttled(const struct machine_counters *from, const struct machine_counters *to);

/* The folder of a control group, from the text of /proc/PID/cgroup.  0, or -ENOENT: in none of the second version. */
int machine_group_path(const char *text, char *path, size_t size);

/* The same for the group that one controller ("memory", "cpu") has the process in: in the first version of control groups each
 * may have its own. */
int machine_controller_path(const char *text, const char *controller, char *path, size_t size, bool *ret_first_version);

#define MACHINE_FILES 9
struct machine_files {
	int fds[MACHINE_FILES]; /* -1: there is none */
	struct cpu_frequency frequency;
};
#define MACHINE_FILES_INIT { .fds = { -1, -1, -1, -1, -1, -1, -1, -1, -1 }, .frequency = CPU_FREQUENCY_INIT }

/* Control groups are those of process pid, as they are now: for memory the one that it is in (second version only), for processor time
 * the one with the tightest quota among that and those further out, or where none has a quota the one that it is in.  root: before
 * all paths, for tests; "" otherwise. */
void machine_files_open(struct machine_files *files, pid_t pid, const char *root);
void machine_files_close(struct machine_files *files);

/* `all`: those that need not be read more than once a second as well (frequency, memory). */
void machine_files_read(struct machine_files *files, bool all, struct machine_counters *ret);

#endif
