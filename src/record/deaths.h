/*
 * deaths.h - processes that a signal has ended, each once, whoever saw it.
 */
#ifndef RECORD_DEATHS_H
#define RECORD_DEATHS_H

#include <stddef.h>
#include <sys/types.h>

#define DEATH_NAME 16
#define DEATHS_MOST 4096u

struct death {
	pid_t pid;
	int signal;
	char name[DEATH_NAME]; /* not to be trusted */
};
struct deaths {
	struct death *list;
	size_t count, capacity;
};

/* Of a process that is there already, or of more than DEATHS_MOST, nothing is noted. */
void deaths_add(struct deaths *deaths, pid_t pid, int signal, const char *name);
void deaths_release(struct deaths *deaths);

#endif
