/*
 * network_counters.h - what went through the network interfaces that a process sees: /proc/PID/net/dev, of the network
 * namespace of that process.
 */
#ifndef SYSTEM_NETWORK_COUNTERS_H
#define SYSTEM_NETWORK_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define NETWORK_NAME 32u
#define NETWORK_COUNTERS_MAX 64u

/* Since the interface began. */
struct network_counters {
	char name[NETWORK_NAME];
	bool loopback; /* what goes through it stays here */
	uint64_t received_bytes, received_packets;
	uint64_t sent_bytes, sent_packets;
	uint64_t errors; /* of both directions, and packets that were dropped */
};

/* How many there were, at most max; lines that make no sense are none. */
size_t network_counters_parse(const char *text, struct network_counters *ret, size_t max);

struct network_files {
	int fd;
};
#define NETWORK_FILES_INIT { -1 }

/* As the namespace of process pid is now; can be read after its end as well. */
void network_files_open(struct network_files *files, pid_t pid);
void network_files_close(struct network_files *files);
size_t network_files_read(const struct network_files *files, struct network_counters *ret, size_t max);

#endif
