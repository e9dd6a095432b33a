/*
 * machine_memory.h - how much memory a process may use and how much of it is left: of the machine, or of the control
 * groups that the process is in, where one of them has less.
 *
 *      struct machine_memory_files files = MACHINE_MEMORY_FILES_INIT;
 *      machine_memory_open(&files, pid, "");
 *      machine_memory_read(&files, &memory);   as often as needed, not more than ten times a second
 *      machine_memory_close(&files);
 */
#ifndef SYSTEM_MACHINE_MEMORY_H
#define SYSTEM_MACHINE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MACHINE_MEMORY_GROUPS 12u /* a group and those that it is in; of a deeper one, the outer ones are not looked at */

/* Bytes.  total 0: not known. */
struct machine_memory {
	uint64_t total;      /* the tightest limit, or what the machine has */
	uint64_t available;  /* without swapping, before somebody is killed: caches count as free */
	uint64_t swap_total, swap_used;
	bool limited;        /* total is a control group's */
	uint64_t machine_total, machine_available;
	uint64_t oom_kills;  /* processes of the innermost group that were killed for lack of memory, ever; UINT64_MAX: not known */
};

/* /proc/meminfo.  0, or -EINVAL when it does not say how much there is and how much is left; *ret is as it was then. */
int machine_memory_parse_meminfo(const char *text, struct machine_memory *ret);

#define MACHINE_MEMORY_NO_LIMIT UINT64_MAX

/* One control group. */
struct memory_group {
	uint64_t limit, used; /* limit MACHINE_MEMORY_NO_LIMIT: none */
	uint64_t reclaimable; /* of what is used, what the kernel takes back before it kills anybody */
	uint64_t swap_limit, swap_used;
};

/* "max", or a number that no machine has, is no limit; so is what makes no sense. */
uint64_t memory_group_parse_limit(const char *text);
/* A number and nothing else; 0 for what is none. */
uint64_t memory_group_parse_number(const char *text);
/* The number behind a key of memory.stat ("inactive_file"; in the first version "total_inactive_file"); 0: it is not there. */
uint64_t memory_group_parse_stat(const char *text, const char *key);
/* Makes *memory, of the machine or of a group within this one, what is left in this one too. */
void machine_memory_limit(struct machine_memory *memory, const struct memory_group *group);

struct machine_memory_group_files {
	int limit, used, stat, swap_limit, swap_used; /* -1: there is none */
};
struct machine_memory_files {
	int meminfo;
	int events; /* of the innermost group; -1 */
	bool first_version;
	size_t count;
	struct machine_memory_group_files groups[MACHINE_MEMORY_GROUPS]; /* the innermost first; those that can have a limit */
};
#define MACHINE_MEMORY_FILES_INIT { .meminfo = -1, .events = -1 }

/* The control groups are those of process pid, as they are now.  root: before all paths, for tests; "" otherwise. */
void machine_memory_open(struct machine_memory_files *files, pid_t pid, const char *root);
void machine_memory_close(struct machine_memory_files *files);

/* 0, or negative when nothing can be told. */
int machine_memory_read(const struct machine_memory_files *files, struct machine_memory *ret);

#endif
