#include "system/machine_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "system/machine_counters.h"
#include "system/proc.h"

#define PATH_SIZE 1200
#define LIMIT_MOST ((uint64_t)1 << 60) /* the first version writes "no limit" as a number of about this size, or larger */

/* ---- Texts ------------------------------------------------------------------- */

/* "MemTotal:       16384 kB" */
static bool find_kb(const char *text, const char *key, uint64_t *ret)
{
	size_t size = strlen(key);
	char line[128];

	while (proc_line(&text, line, sizeof line)) {
		const char *at = line + size;
		uint64_t kb;

		if (strncmp(line, key, size) != 0)
			continue;
		if (!proc_number(&at, &kb) || strcmp(at, " kB") != 0 || kb > UINT64_MAX / 1024)
			return false;
		*ret = kb * 1024;
		return true;
	}
	return false;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

int machine_memory_parse_meminfo(const char *text, struct machine_memory *ret)
{
	struct machine_memory m = { .oom_kills = UINT64_MAX };
	uint64_t swap_free;

	if (!find_kb(text, "MemTotal:", &m.total) || !find_kb(text, "MemAvailable:", &m.available) || m.total == 0)
		return -EINVAL;
	m.available = m.available < m.total ? m.available : m.total;
	m.machine_total = m.total;
	m.machine_available = m.available;
	if (find_kb(text, "SwapTotal:", &m.swap_total) && find_kb(text, "SwapFree:", &swap_free))
		m.swap_used = minus(m.swap_total, swap_free);
	*ret = m;
	return 0;
}

uint64_t memory_group_parse_limit(const char *text)
{
	uint64_t bytes;

	if (!proc_number(&text, &bytes) || (*text != '\n' && *text != '\0') || bytes >= LIMIT_MOST)
		return MACHINE_MEMORY_NO_LIMIT;
	return bytes;
}

uint64_t memory_group_parse_number(const char *text)
{
	uint64_t bytes;

	return proc_number(&text, &bytes) && (*text == '\n' || *text == '\0') ? bytes : 0;
}

static bool find_key(const char *text, const char *key, uint64_t *ret)
{
	size_t size = strlen(key);
	char line[128];

	while (proc_line(&text, line, sizeof line))
		if (strncmp(line, key, size) == 0 && line[size] == ' ') {
			*ret = memory_group_parse_number(line + size);
			return true;
		}
	return false;
}

uint64_t memory_group_parse_stat(const char *text, const char *key)
{
	uint64_t value;

	return find_key(text, key, &value) ? value : 0;
}

/* A limit that is no less than what there is is none. */
void machine_memory_limit(struct machine_memory *m, const struct memory_group *g)
{
	uint64_t left = minus(g->limit, minus(g->used, g->reclaimable));

	if (g->limit < m->total) {
		m->total = g->limit;
		m->limited = true;
	}
	if (g->limit < m->machine_total && left < m->available)
		m->available = left;
	if (m->available > m->total)
		m->available = m->total;
	if (g->swap_limit < m->swap_total) {
		m->swap_total = g->swap_limit;
		m->swap_used = g->swap_used;
	}
	if (m->swap_used > m->swap_total)
		m->swap_used = m->swap_total;
}

/* ---- Files ------------------------------------------------------------------- */

static int open_file(const char *root, const char *folder, const char *name)
{
	char path[2 * PATH_SIZE];
	int n = snprintf(path, sizeof path, "%s%s/%s", root, folder, name);

	return (size_t)n < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static void open_group(struct machine_memory_files *f, const char *root, const char *folder)
{
	static const char *const second[] = { "memory.max", "memory.current", "memory.stat", "memory.swap.max", "memory.swap.current" };
	static const char *const first[] = { "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat" };
	const char *const *names = f->first_version ? first : second;
	struct machine_memory_group_files *g = &f->groups[f->count];
	int limit = open_file(root, folder, names[0]);

	if (limit < 0) /* the outermost one, or one that this process does not see */
		return;
	*g = (struct machine_memory_group_files){ .limit = limit, .swap_limit = -1, .swap_used = -1 };
	g->used = open_file(root, folder, names[1]);
	g->stat = open_file(root, folder, names[2]);
	if (!f->first_version) {
		g->swap_limit = open_file(root, folder, names[3]);
		g->swap_used = open_file(root, folder, names[4]);
	}
	if (f->count++ == 0)
		f->events = open_file(root, folder, f->first_version ? "memory.oom_control" : "memory.events");
}

/* The parent; false when that is outside of control groups. */
static bool go_up(char *path, size_t least)
{
	char *slash = strrchr(path, '/');

	if (!slash || (size_t)(slash - path) < least)
		return false;
	*slash = '\0';
	return true;
}

static void open_groups(struct machine_memory_files *f, const char *root, const char *text)
{
	char path[PATH_SIZE];

	if (machine_controller_path(text, "memory", path, sizeof path, &f->first_version) != 0)
		return;
	do
		open_group(f, root, path);
	while (f->count < MACHINE_MEMORY_GROUPS && go_up(path, strlen(f->first_version ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup")));
}

void machine_memory_open(struct machine_memory_files *f, pid_t pid, const char *root)
{
	char folder[32], text[4096];
	int fd;

	*f = (struct machine_memory_files)MACHINE_MEMORY_FILES_INIT;
	f->meminfo = open_file(root, "/proc", "meminfo");
	snprintf(folder, sizeof folder, "/proc/%d", (int)pid);
	fd = open_file(root, folder, "cgroup");
	(void)proc_reread(fd, text, sizeof text);
	if (fd >= 0)
		close(fd);
	open_groups(f, root, text);
}

static void close_file(int fd)
{
	if (fd >= 0)
		close(fd);
}

void machine_memory_close(struct machine_memory_files *f)
{
	close_file(f->meminfo);
	close_file(f->events);
	for (size_t i = 0; i < f->count; i++) {
		close_file(f->groups[i].limit);
		close_file(f->groups[i].used);
		close_file(f->groups[i].stat);
		close_file(f->groups[i].swap_limit);
		close_file(f->groups[i].swap_used);
	}
	*f = (struct machine_memory_files)MACHINE_MEMORY_FILES_INIT;
}

static uint64_t read_limit(int fd)
{
	char text[64];

	return proc_reread(fd, text, sizeof text) > 0 ? memory_group_parse_limit(text) : MACHINE_MEMORY_NO_LIMIT;
}

static uint64_t read_number(int fd)
{
	char text[64];

	return proc_reread(fd, text, sizeof text) > 0 ? memory_group_parse_number(text) : 0;
}

/*
 * What the kernel takes back before it kills anybody: caches of files, also of
 * those that were read more than once (a set of data in its second epoch is on
 * the active list), and of the kernel's own objects, which the first version
 * does not tell.  Memory in /dev/shm and pages that are locked are on other
 * lists and count as used.
 *
 * MemAvailable is made of the same, less as much as the low watermark of the
 * machine (some tens of MB, at most half of the cache), below which the kernel
 * begins to take back.  A group has no such mark: it gives back at its limit.
 */
static uint64_t read_reclaimable(const char *text, bool first_version)
{
	static const char *const second[] = { "inactive_file", "active_file", "slab_reclaimable" };
	static const char *const first[] = { "total_inactive_file", "total_active_file" };
	size_t count = first_version ? sizeof first / sizeof first[0] : sizeof second / sizeof second[0];
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t more = memory_group_parse_stat(text, first_version ? first[i] : second[i]);

		sum = sum > UINT64_MAX - more ? UINT64_MAX : sum + more;
	}
	return sum;
}

/* What a group uses is asked only where it matters: memory.stat is dear. */
static void read_group(const struct machine_memory_files *f, const struct machine_memory_group_files *g, struct machine_memory *m)
{
	struct memory_group group = { .limit = read_limit(g->limit), .swap_limit = read_limit(g->swap_limit) };
	char text[8192];

	if (group.limit < m->machine_total) {
		group.used = read_number(g->used);
		if (proc_reread(g->stat, text, sizeof text) > 0)
			group.reclaimable = read_reclaimable(text, f->first_version);
	}
	if (group.swap_limit < m->swap_total)
		group.swap_used = read_number(g->swap_used);
	machine_memory_limit(m, &group);
}

int machine_memory_read(const struct machine_memory_files *f, struct machine_memory *ret)
{
	struct machine_memory m;
	char text[4096];
	ssize_t n = proc_reread(f->meminfo, text, sizeof text);
	int rc = n < 0 ? (int)n : machine_memory_parse_meminfo(text, &m);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < f->count; i++)
		read_group(f, &f->groups[i], &m);
	if (proc_reread(f->events, text, sizeof text) > 0)
		(void)find_key(text, "oom_kill", &m.oom_kills);
	*ret = m;
	return 0;
}
