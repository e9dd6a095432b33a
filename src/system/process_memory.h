/*
 * process_memory.h - what the kernel has to walk all the memory of a process for: its share of what it shares with others
 * (PSS), and the NUMA nodes that it lies on.  Both take about 20 ms for every GB in pages of 4 kB, so they are rarely read.
 */
#ifndef SYSTEM_PROCESS_MEMORY_H
#define SYSTEM_PROCESS_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#define NUMA_NODES 64u
#define NUMA_NAME_SIZE 32u

struct numa_memory {
	uint64_t bytes[NUMA_NODES];
	uint64_t nodes; /* bit n: there is memory on node n */
};

/* "numa_node3_bytes" */
void numa_counter_name(uint32_t node, char name[NUMA_NAME_SIZE]);

/* Of the text of smaps_rollup.  0, or -EINVAL when it does not say. */
int process_memory_parse_pss(const char *text, uint64_t *ret_bytes);

/* Adds a line of numa_maps; one that makes no sense adds nothing. */
void numa_memory_parse_line(struct numa_memory *memory, const char *line);

/* Negative when it cannot be told. */
int process_memory_pss(pid_t pid, uint64_t *ret_bytes);
int process_memory_numa(pid_t pid, struct numa_memory *ret);

/* How many nodes the machine has, at least 1. */
uint32_t numa_node_count(void);

#endif
