#include "system/cpu_frequency.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "system/id_list.h"
#include "system/proc.h"

#define KHZ_MAX 100000000u /* 100 GHz: more is nonsense */
#define EVERY_NS 900000000 /* it is asked for once a second or so */
#define DEAR_NS 5000000
#define CPUINFO_SIZE (CPU_FREQUENCY_MAX * 2048u)

uint64_t cpu_frequency_parse_khz(const char *text)
{
	uint64_t khz;

	if (!proc_number(&text, &khz) || (*text != '\n' && *text != '\0') || khz > KHZ_MAX)
		return 0;
	return khz;
}

/* "2596.130", digits behind the third being left out. */
static uint64_t parse_mhz(const char *at)
{
	uint64_t mhz, khz;

	if (!proc_number(&at, &mhz) || mhz > KHZ_MAX / 1000)
		return 0;
	khz = mhz * 1000;
	if (*at == '.')
		for (unsigned unit = 100; unit && at[1] >= '0' && at[1] <= '9'; unit /= 10)
			khz += unit * (unsigned)(*++at - '0');
	return khz;
}

uint64_t cpu_frequency_parse_cpuinfo(const char *text)
{
	uint64_t sum = 0, count = 0;
	char line[128];

	while (count < CPU_FREQUENCY_MAX && strchr(text, '\n') && proc_line(&text, line, sizeof line)) {
		const char *at = strncmp(line, "cpu MHz", 7) == 0 ? strchr(line, ':') : NULL;
		uint64_t khz = at ? parse_mhz(at + 1) : 0;

		sum += khz;
		count += khz != 0;
	}
	return count ? sum / count : 0;
}

/* ---- Files ------------------------------------------------------------------- */

static void open_spread(struct cpu_frequency *f, const char *online)
{
	uint32_t total = id_list_count(online), asked = total < CPU_FREQUENCY_MAX ? total : CPU_FREQUENCY_MAX, cpu;
	char path[96];

	for (uint32_t i = 0; i < asked; i++) {
		if (!id_list_at(online, (uint32_t)((uint64_t)i * total / asked), &cpu))
			return;
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", (unsigned)cpu);
		f->fds[f->count] = open(path, O_RDONLY | O_CLOEXEC);
		f->count += f->fds[f->count] >= 0;
	}
}

void cpu_frequency_open(struct cpu_frequency *f)
{
	char online[4096];
	int fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);

	*f = (struct cpu_frequency)CPU_FREQUENCY_INIT;
	f->rare = (struct rare_read){ .every_ns = EVERY_NS, .dear_ns = DEAR_NS };
	if (proc_reread(fd, online, sizeof online) > 0)
		open_spread(f, online);
	if (fd >= 0)
		close(fd);
	if (f->count == 0)
		f->cpuinfo = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
}

void cpu_frequency_close(struct cpu_frequency *f)
{
	for (size_t i = 0; i < f->count; i++)
		close(f->fds[i]);
	if (f->cpuinfo >= 0)
		close(f->cpuinfo);
	*f = (struct cpu_frequency)CPU_FREQUENCY_INIT;
}

/* The kernel hands this file out in pieces of a page. */
static uint64_t ask_cpuinfo(int fd)
{
	char text[CPUINFO_SIZE];
	size_t size = 0;
	ssize_t n;

	while (size < sizeof text - 1 && (n = pread(fd, text + size, sizeof text - 1 - size, (off_t)size)) > 0)
		size += (size_t)n;
	text[size] = '\0';
	return cpu_frequency_parse_cpuinfo(text);
}

static uint64_t ask(const struct cpu_frequency *f)
{
	uint64_t sum = 0, count = 0;
	char text[64];

	if (f->count == 0)
		return f->cpuinfo >= 0 ? ask_cpuinfo(f->cpuinfo) : 0;
	for (size_t i = 0; i < f->count; i++) {
		uint64_t khz = proc_reread(f->fds[i], text, sizeof text) > 0 ? cpu_frequency_parse_khz(text) : 0;

		sum += khz;
		count += khz != 0;
	}
	return count ? sum / count : 0;
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

uint64_t cpu_frequency_read(struct cpu_frequency *f)
{
	int64_t begin = now_ns(), end;
	uint64_t khz;

	if (!rare_read_due(&f->rare, begin, 0))
		return 0;
	khz = ask(f);
	end = now_ns();
	rare_read_took(&f->rare, end, end - begin, 0);
	return (khz + 500) / 1000;
}
