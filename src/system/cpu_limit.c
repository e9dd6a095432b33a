#include "system/cpu_limit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/machine_counters.h"
#include "system/proc.h"

#define GROUPS_MAX 12

uint32_t cpu_limit_affinity(pid_t pid)
{
	unsigned long set[1024] = { 0 }; /* more than any kernel has */
	long size = syscall(SYS_sched_getaffinity, pid, sizeof set, set);
	uint32_t count = 0;

	for (long i = 0; i < size / (long)sizeof set[0]; i++)
		count += (uint32_t)__builtin_popcountl(set[i]);
	return count;
}

bool cpu_limit_parse_max(const char *text, double *ret)
{
	uint64_t quota, period;

	if (!proc_number(&text, &quota) || !proc_number(&text, &period) || period == 0 || quota == 0)
		return false;
	*ret = (double)quota / (double)period;
	return true;
}

static bool read_text(const char *root, const char *folder, const char *name, char *text, size_t size)
{
	char path[2 * CPU_LIMIT_PATH];
	int n = snprintf(path, sizeof path, "%s%s/%s", root, folder, name), fd;
	ssize_t got;

	fd = (size_t)n < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	got = proc_reread(fd, text, size);
	if (fd >= 0)
		close(fd);
	return got > 0;
}

/* In the first version the numbers have a file each, and no quota is -1. */
static bool group_quota(const char *root, const char *folder, bool first_version, double *ret)
{
	char text[64], period[64], both[128];

	if (!first_version)
		return read_text(root, folder, "cpu.max", text, sizeof text) && cpu_limit_parse_max(text, ret);
	if (!read_text(root, folder, "cpu.cfs_quota_us", text, sizeof text) ||
	    !read_text(root, folder, "cpu.cfs_period_us", period, sizeof period))
		return false;
	text[strcspn(text, "\n")] = '\0';
	snprintf(both, sizeof both, "%s %s", text, period);
	return cpu_limit_parse_max(both, ret);
}

bool cpu_limit_find(pid_t pid, const char *root, struct cpu_limit_group *ret)
{
	char folder[32], text[4096], path[CPU_LIMIT_PATH];
	bool first_version, found = false;
	size_t least;
	double quota;

	snprintf(folder, sizeof folder, "/proc/%d", (int)pid);
	if (!read_text(root, folder, "cgroup", text, sizeof text) ||
	    machine_controller_path(text, "cpu", path, sizeof path, &first_version) != 0)
		return false;
	least = strlen(first_version ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup");
	for (int i = 0; i < GROUPS_MAX && strlen(path) >= least; i++) {
		if (group_quota(root, path, first_version, &quota) && (!found || quota < ret->quota)) {
			*ret = (struct cpu_limit_group){ .first_version = first_version, .quota = quota };
			memcpy(ret->path, path, strlen(path));
			found = true;
		}
		*strrchr(path, '/') = '\0';
	}
	return found;
}

bool cpu_limit_quota(pid_t pid, const char *root, double *ret)
{
	struct cpu_limit_group group;

	if (!cpu_limit_find(pid, root, &group))
		return false;
	*ret = group.quota;
	return true;
}
