/* orphans.c - see orphans.h. */
#include "record/orphans.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/proc.h"

#define OURS 256u

static pid_t ours[OURS]; /* of the thread that records alone */

static bool is_ours(pid_t pid)
{
	for (size_t i = 0; i < OURS; i++)
		if (ours[i] == pid)
			return true;
	return false;
}

/* One that has been waited for leaves its place to another. */
static bool is_child(pid_t pid)
{
	siginfo_t info;

	return pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void orphans_exclude(pid_t pid)
{
	size_t i = 0;

	while (i < OURS && is_child(ours[i]))
		i++;
	if (i < OURS)
		ours[i] = pid;
}

/* The kernel gives them to the main thread. */
static int open_children(void)
{
	return proc_open(getpid(), getpid(), "children");
}

bool orphans_can_be_listed(void)
{
	int fd = open_children();

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void orphans_adopt(void)
{
	struct proc_children children;
	int fd = open_children();
	pid_t pid;

	proc_children_begin(&children, fd);
	while (proc_children_next(&children, &pid))
		orphans_exclude(pid);
	if (fd >= 0)
		close(fd);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void orphans_list(struct orphans *ret)
{
	struct proc_children children;
	int fd = open_children();
	pid_t pid;

	ret->count = 0;
	proc_children_begin(&children, fd);
	while (proc_children_next(&children, &pid)) {
		if (is_ours(pid))
			continue;
		if (ret->count < ORPHANS_LISTED)
			ret->pids[ret->count] = pid;
		ret->count++;
	}
	if (fd >= 0)
		close(fd);
}

void orphans_say(const struct orphans *orphans, char out[ORPHANS_SENTENCE])
{
	size_t used = (size_t)snprintf(out, ORPHANS_SENTENCE, "the program has ended, and what it has left running is recorded and waited for");
	char name[32];

	for (size_t i = 0; i < orphans->count && i < ORPHANS_LISTED; i++) {
		if (!proc_thread_name(orphans->pids[i], orphans->pids[i], name, sizeof name))
			name[0] = '\0';
		used += (size_t)snprintf(out + used, ORPHANS_SENTENCE - used, "%s %s (%d)", i ? "," : ":", name, (int)orphans->pids[i]);
	}
	(void)snprintf(out + used, ORPHANS_SENTENCE - used, "%s; Ctrl-C ends that", orphans->count > ORPHANS_LISTED ? ", ..." : "");
}
