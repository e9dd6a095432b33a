#include "system/machine_counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

void machine_counters_parse_cpu_stat(struct machine_counters *c, const char *text)
{
	char line[128];

	while (proc_line(&text, line, sizeof line)) {
		const char *at = strchr(line, ' ');
		uint64_t value;

		if (!at || !proc_number(&at, &value))
			continue;
		if (strncmp(line, "throttled_usec ", 15) == 0 && value <= UINT64_MAX / 1000)
			set(c, MACHINE_THROTTLED_NS, value * 1000);
		else if (strncmp(line, "nr_throttled ", 13) == 0)
			set(c, MACHINE_THROTTLED_PERIODS, value);
	}
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

static int group_path(pid_t pid, char *path, size_t size)
{
	char text[4096];
	int fd = proc_open(pid, 0, "cgroup");

	(void)proc_reread(fd, text, sizeof text);
	if (fd >= 0)
		close(fd);
	return machine_group_path(text, path, size);
}

static int open_in(const char *folder, const char *name)
{
	char path[1200];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void machine_files_open(struct machine_files *files, pid_t pid)
{
	static const char *const paths[] = { "/proc/stat", "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io" };
	static const char *const group_names[] = { "cpu.stat", "cpu.max", "memory.current", "memory.max" };
	char group[1100];
	bool grouped = group_path(pid, group, sizeof group) == 0;

	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
		files->fds[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof group_names / sizeof group_names[0]; i++)
		files->fds[4 + i] = grouped ? open_in(group, group_names[i]) : -1;
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
	if (proc_reread(files->fds[6], text, sizeof text) > 0)
		machine_counters_parse_memory(c, MACHINE_GROUP_MEMORY_BYTES, text);
	if (proc_reread(files->fds[7], text, sizeof text) > 0)
		machine_counters_parse_memory(c, MACHINE_GROUP_MEMORY_LIMIT_BYTES, text);
}

void machine_files_read(struct machine_files *files, bool all, struct machine_counters *ret)
{
	static const enum machine_counter pressures[] = { MACHINE_PRESSURE_CPU_NS, MACHINE_PRESSURE_MEMORY_NS,
							  MACHINE_PRESSURE_IO_NS };
	struct machine_counters c = { 0 };
	char text[2048];

	if (proc_reread(files->fds[0], text, sizeof text) > 0)
		machine_counters_parse_stat(&c, text);
	for (size_t i = 0; i < sizeof pressures / sizeof pressures[0]; i++)
		if (proc_reread(files->fds[1 + i], text, sizeof text) > 0)
			machine_counters_parse_pressure(&c, pressures[i], text);
	if (proc_reread(files->fds[4], text, sizeof text) > 0)
		machine_counters_parse_cpu_stat(&c, text);
	if (proc_reread(files->fds[5], text, sizeof text) > 0)
		machine_counters_parse_cpu_max(&c, text);
	if (all)
		read_rest(files, &c);
	*ret = c;
}
