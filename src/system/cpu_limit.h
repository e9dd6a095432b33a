/*
 * cpu_limit.h - how many processors a process may use: those that it is tied to, and the quota of its control groups.
 */
#ifndef SYSTEM_CPU_LIMIT_H
#define SYSTEM_CPU_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* That the process may run on; 0: it cannot be told. */
uint32_t cpu_limit_affinity(pid_t pid);

/* cpu.max, "QUOTA PERIOD" or "max PERIOD"; processors.  False: there is no limit. */
bool cpu_limit_parse_max(const char *text, double *ret);

/* A control group that has a quota. */
#define CPU_LIMIT_PATH 1200u
struct cpu_limit_group {
	char path[CPU_LIMIT_PATH]; /* its folder, without root */
	bool first_version;
	double quota; /* processors */
};

/* The one with the tightest quota of those that process pid is in, as they are now; both versions.  False: none has one.  Opens
 * files: not for every tick.  root: before all paths, for tests; "" otherwise. */
bool cpu_limit_find(pid_t pid, const char *root, struct cpu_limit_group *ret);
/* Only its quota. */
bool cpu_limit_quota(pid_t pid, const char *root, double *ret);

#endif
