/*
 * machine_counters.h - how busy the machine is, and what holds its programs up: processor time of all, time that it was
 * owed (steal), pressure (PSI), and the quota of the control group that this process is in.
 */
#ifndef SYSTEM_MACHINE_COUNTERS_H
#define SYSTEM_MACHINE_COUNTERS_H

#include <stdint.h>

enum machine_counter {
	MACHINE_BUSY_NS, /* of all processors together */
	MACHINE_IDLE_NS,
	MACHINE_STEAL_NS,
	MACHINE_PRESSURE_CPU_NS, /* for how long some thread lacked it */
	MACHINE_PRESSURE_MEMORY_NS,
	MACHINE_PRESSURE_IO_NS,
	MACHINE_THROTTLED_NS, /* of the control group */
	MACHINE_THROTTLED_PERIODS,
	MACHINE_QUOTA_MILLICORES, /* absent when there is none */
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

#define MACHINE_FILES 6
struct machine_files {
	int fds[MACHINE_FILES]; /* -1: there is none */
};
#define MACHINE_FILES_INIT { { -1, -1, -1, -1, -1, -1 } }
void machine_files_open(struct machine_files *files);
void machine_files_close(struct machine_files *files);
void machine_files_read(const struct machine_files *files, struct machine_counters *ret);

#endif
