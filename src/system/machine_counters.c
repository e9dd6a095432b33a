#include "system/machine_counters.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "system/cpu_limit.h"
#include "system/proc.h"

static const char *const names[MACHINE_COUNTER_COUNT] = {
	[MACHINE_BUSY_NS] = "host_busy_ns",
	[MACHINE_IDLE_NS] = "host_idle_ns",
	[MACHINE_STEAL_NS] = "host_steal_ns",
	[MACHINE_PRESSURE_CPU_NS] = "pressure_cpu_ns",
	[MACHINE_PRESSURE_MEMORY_NS] = "pressure_memory_ns",
	[MACHINE_PRESSURE_IO_NS] = "pressure_io_ns",
	[MACHINE_THROTTLED_NS] = "throttled_ns",
	[MACHINE_THROTTLED_PERIODS] = "throttled_periods",
	[MACHINE_QUOTA_PERIODS] = "quota_periods",
	[MACHINE_GROUP_CPU_NS] = "cgroup_cpu_ns",
	[MACHINE_QUOTA_MILLICORES] = "quota_millicores",
	[MACHINE_FREQUENCY_MHZ] = "frequency_mhz",
	[MACHINE_GROUP_MEMORY_BYTES] = "cgroup_memory_bytes",
	[MACHINE_GROUP_MEMORY_LIMIT_BYTES] = "cgroup_memory_limit_bytes",
};

const char *machine_counter_name(enum machine_counter counter)
{
	return (unsigned)counter < MACHINE_COUNTER_COUNT ? names[counter] : "";
}

static void set(struct machine_counters *c, enum machine_counter counter, uint64_t value)
{
	c->values[counter] = value;
	c->known |= 1u << counter;
}

/* "cpu user nice system idle iowait irq softirq steal ...", in ticks; guests are in user and nice. */
void machine_counters_parse_stat(struct machine_counters *c, const char *text)
{
	uint64_t words[8];
	long ticks = sysconf(_SC_CLK_TCK);
	uint64_t ns = ticks > 0 ? 1000000000u / (uint64_t)ticks : 10000000u;

	if (strncmp(text, "cpu ", 4) != 0)
		return;
	text += 4;
	for (size_t i = 0; i < 8; i++)
		if (!proc_number(&text, &words[i]))
			return;
	set(c, MACHINE_BUSY_NS, (words[0] + words[1] + words[2] + words[5] + words[6]) * ns);
	set(c, MACHINE_IDLE_NS, (words[3] + words[4]) * ns);
	set(c, MACHINE_STEAL_NS, words[7] * ns);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=MICROSECONDS" */
void machine_counters_parse_pressure(struct machine_counters *c, enum machine_counter counter, const char *text)
{
	const char *at = strncmp(text, "some ", 5) == 0 ? strstr(text, "total=") : NULL;
	uint64_t us;

	if (!at)
		return;
	at += 6;
	if (proc_number(&at, &us) && us <= UINT64_MAX / 1000)
		set(c, counter, us * 1000);
}

/* Both versions.  A group that never had a quota has no periods, and what it ran is nobody's question. */
void machine_counters_parse_cpu_stat(struct machine_counters *c, const char *text)
{
	static const struct {
		const char *key;
		enum machine_counter counter;
		uint64_t unit;
	} rows[] = {
		{ "throttled_usec", MACHINE_THROTTLED_NS, 1000 },  { "throttled_time", MACHINE_THROTTLED_NS, 1 },
		{ "nr_throttled", MACHINE_THROTTLED_PERIODS, 1 }, { "nr_periods", MACHINE_QUOTA_PERIODS, 1 },
		{ "usage_usec", MACHINE_GROUP_CPU_NS, 1000 },
	};
	char line[128];

	while (proc_line(&text, line, sizeof line))
		for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
			size_t size = strlen(rows[i].key);
			const char *at = line + size;
			uint64_t value;

			if (strncmp(line, rows[i].key, size) == 0 && *at == ' ' && proc_number(&at, &value) &&
			    value <= UINT64_MAX / rows[i].unit)
				set(c, rows[i].counter, value * rows[i].unit);
		}
	if (!(c->known >> MACHINE_QUOTA_PERIODS & 1) || c->values[MACHINE_QUOTA_PERIODS] == 0)
		c->known &= ~(1u << MACHINE_QUOTA_PERIODS | 1u << MACHINE_GROUP_CPU_NS);
}

static double growth(const struct machine_counters *from, const struct machine_counters *to, enum machine_counter c)
{
	if (!(from->known & to->known & 1u << c))
		return NAN;
	return to->values[c] > from->values[c] ? (double)(to->values[c] - from->values[c]) : 0;
}

/*
 * Throttled time is summed over processors: on 64 of them a tenth of a second in
 * each second is next to nothing.  Against what the group ran, it is how much of
 * what it wanted it did not get; but one bad period of many threads would count
 * as much as ten of a single one.  The share of periods that ended out of quota
 * is a bound, too, and a poor one alone: a group that wants a hundredth more than
 * it may have ends all of its periods so.  The lesser of the two is meant.
 */
double machine_counters_throttled(const struct machine_counters *from, const struct machine_counters *to)
{
	double ended = growth(from, to, MACHINE_THROTTLED_PERIODS), periods = growth(from, to, MACHINE_QUOTA_PERIODS);
	double lost = growth(from, to, MACHINE_THROTTLED_NS), ran = growth(from, to, MACHINE_GROUP_CPU_NS);
	double by_time = lost + ran > 0 ? lost / (lost + ran) : NAN, by_periods = periods > 0 ? ended / periods : NAN;

	if (ended == 0)
		return 0;
	if (isnan(by_time) || by_periods < by_time)
		return by_periods > 1 ? 1 : by_periods;
	return by_time;
}

/* "QUOTA PERIOD" in microseconds, or "max PERIOD" */
void machine_counters_parse_cpu_max(struct machine_counters *c, const char *text)
{
	uint64_t quota, period;

	if (proc_number(&text, &quota) && proc_number(&text, &period) && period && quota <= UINT64_MAX / 1000)
		set(c, MACHINE_QUOTA_MILLICORES, quota * 1000 / period);
}

/* A number of bytes, or "max" */
void machine_counters_parse_memory(struct machine_counters *c, enum machine_counter counter, const char *text)
{
	uint64_t bytes;

	if (proc_number(&text, &bytes) && (*text == '\n' || *text == '\0'))
		set(c, counter, bytes);
}

/* ---- Files ------------------------------------------------------------------- */

/*
 * The second version of control groups has the line "0::PATH".  A path that
 * begins with ".." is of a group outside of what this process can see.
 */
int machine_group_path(const char *text, char *path, size_t size)
{
	char line[1024];

	while (proc_line(&text, line, sizeof line)) {
		int n;

		if (strncmp(line, "0::/", 4) != 0)
			continue;
		n = snprintf(path, size, "/sys/fs/cgroup%s", strcmp(line + 3, "/") == 0 ? "" : line + 3);
		return strncmp(line + 3, "/..", 3) != 0 && strlen(line) < sizeof line - 1 && (size_t)n < size ? 0 : -ENOENT;
	}
	return -ENOENT;
}

/* "4:cpu,cpuacct:/PATH": the path, when the controller is among those of the line. */
static const char *first_version_path(const char *line, const char *controller)
{
	const char *at = strchr(line, ':'), *path = at ? strchr(at + 1, ':') : NULL;
	size_t size = strlen(controller);

	if (!path || path[1] != '/')
		return NULL;
	for (; at < path; at += 1 + strcspn(at + 1, ",:"))
		if (strncmp(at + 1, controller, size) == 0 && (at[1 + size] == ',' || at[1 + size] == ':'))
			return path + 1;
	return NULL;
}

int machine_controller_path(const char *text, const char *controller, char *path, size_t size, bool *ret_first_version)
{
	const char *rest = text;
	char line[1024];

	while (proc_line(&rest, line, sizeof line)) {
		const char *group = first_version_path(line, controller);
		int n;

		if (!group)
			continue;
		n = snprintf(path, size, "/sys/fs/cgroup/%s%s", controller, strcmp(group, "/") == 0 ? "" : group);
		*ret_first_version = true;
		return strncmp(group, "/..", 3) != 0 && strlen(line) < sizeof line - 1 && (size_t)n < size ? 0 : -ENOENT;
	}
	*ret_first_version = false;
	return machine_group_path(text, path, size);
}

enum file {
	FILE_STAT,
	FILE_PRESSURE_CPU,
	FILE_PRESSURE_MEMORY,
	FILE_PRESSURE_IO,
	FILE_CPU_STAT,
	FILE_QUOTA,
	FILE_PERIOD, /* of the first version, where the quota has it not */
	FILE_MEMORY,
	FILE_MEMORY_LIMIT,
	FILE_COUNT
};
_Static_assert(FILE_COUNT == MACHINE_FILES, "the files are counted in two places");

static int open_in(const char *root, const char *folder, const char *name)
{
	char path[2400];
	int n = snprintf(path, sizeof path, "%s%s/%s", root, folder, name);

	return (size_t)n < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static void read_groups(pid_t pid, const char *root, char *text, size_t size)
{
	char folder[32];
	int fd;

	snprintf(folder, sizeof folder, "/proc/%d", (int)pid);
	fd = open_in(root, folder, "cgroup");
	(void)proc_reread(fd, text, size);
	if (fd >= 0)
		close(fd);
}

/* Without a quota, the innermost one: it may get one. */
static void open_cpu(struct machine_files *files, pid_t pid, const char *root, const char *groups)
{
	struct cpu_limit_group group = { .quota = 0 };

	if (!cpu_limit_find(pid, root, &group) &&
	    machine_controller_path(groups, "cpu", group.path, sizeof group.path, &group.first_version) != 0)
		return;
	files->fds[FILE_CPU_STAT] = open_in(root, group.path, "cpu.stat");
	files->fds[FILE_QUOTA] = open_in(root, group.path, group.first_version ? "cpu.cfs_quota_us" : "cpu.max");
	if (group.first_version)
		files->fds[FILE_PERIOD] = open_in(root, group.path, "cpu.cfs_period_us");
}

void machine_files_open(struct machine_files *files, pid_t pid, const char *root)
{
	char groups[4096], path[1100];

	*files = (struct machine_files)MACHINE_FILES_INIT;
	files->fds[FILE_STAT] = open_in(root, "/proc", "stat");
	files->fds[FILE_PRESSURE_CPU] = open_in(root, "/proc/pressure", "cpu");
	files->fds[FILE_PRESSURE_MEMORY] = open_in(root, "/proc/pressure", "memory");
	files->fds[FILE_PRESSURE_IO] = open_in(root, "/proc/pressure", "io");
	read_groups(pid, root, groups, sizeof groups);
	open_cpu(files, pid, root, groups);
	if (machine_group_path(groups, path, sizeof path) == 0) {
		files->fds[FILE_MEMORY] = open_in(root, path, "memory.current");
		files->fds[FILE_MEMORY_LIMIT] = open_in(root, path, "memory.max");
	}
	cpu_frequency_open(&files->frequency);
}

void machine_files_close(struct machine_files *files)
{
	for (size_t i = 0; i < MACHINE_FILES; i++)
		if (files->fds[i] >= 0)
			close(files->fds[i]);
	cpu_frequency_close(&files->frequency);
	*files = (struct machine_files)MACHINE_FILES_INIT;
}

/* What need not be read so often. */
static void read_rest(struct machine_files *files, struct machine_counters *c)
{
	uint64_t mhz = cpu_frequency_read(&files->frequency);
	char text[64];

	if (mhz)
		set(c, MACHINE_FREQUENCY_MHZ, mhz);
	if (proc_reread(files->fds[FILE_MEMORY], text, sizeof text) > 0)
		machine_counters_parse_memory(c, MACHINE_GROUP_MEMORY_BYTES, text);
	if (proc_reread(files->fds[FILE_MEMORY_LIMIT], text, sizeof text) > 0)
		machine_counters_parse_memory(c, MACHINE_GROUP_MEMORY_LIMIT_BYTES, text);
}

/* In the first version the numbers have a file each, and no quota is -1. */
static void read_quota(struct machine_files *files, struct machine_counters *c)
{
	char text[128], period[64];
	size_t n;

	if (proc_reread(files->fds[FILE_QUOTA], text, 64) <= 0)
		return;
	n = strcspn(text, "\n");
	if (proc_reread(files->fds[FILE_PERIOD], period, sizeof period) > 0)
		snprintf(text + n, sizeof text - n, " %s", period);
	machine_counters_parse_cpu_max(c, text);
}

void machine_files_read(struct machine_files *files, bool all, struct machine_counters *ret)
{
	static const enum machine_counter pressures[] = { MACHINE_PRESSURE_CPU_NS, MACHINE_PRESSURE_MEMORY_NS,
							  MACHINE_PRESSURE_IO_NS };
	struct machine_counters c = { 0 };
	char text[2048];

	if (proc_reread(files->fds[FILE_STAT], text, sizeof text) > 0)
		machine_counters_parse_stat(&c, text);
	for (size_t i = 0; i < sizeof pressures / sizeof pressures[0]; i++)
		if (proc_reread(files->fds[FILE_PRESSURE_CPU + i], text, sizeof text) > 0)
			machine_counters_parse_pressure(&c, pressures[i], text);
	if (proc_reread(files->fds[FILE_CPU_STAT], text, sizeof text) > 0)
		machine_counters_parse_cpu_stat(&c, text);
	read_quota(files, &c);
	if (all)
		read_rest(files, &c);
	*ret = c;
}
