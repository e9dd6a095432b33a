#include "system/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "system/id_list.h"
#include "system/proc.h"

#define NUMA_TEXT_MAX (16u << 20) /* a hundred thousand mappings */

void numa_counter_name(uint32_t node, char name[NUMA_NAME_SIZE])
{
	snprintf(name, NUMA_NAME_SIZE, "numa_node%u_bytes", (unsigned)node);
}

/* "Pss:                 245 kB" */
int process_memory_parse_pss(const char *text, uint64_t *ret_bytes)
{
	char line[128];

	while (proc_line(&text, line, sizeof line)) {
		const char *at = line + 4;
		uint64_t kb;

		if (strncmp(line, "Pss:", 4) != 0)
			continue;
		if (!proc_number(&at, &kb) || strcmp(at, " kB") != 0 || kb > UINT64_MAX / 1024)
			return -EINVAL;
		*ret_bytes = kb * 1024;
		return 0;
	}
	return -EINVAL;
}

/* ---- Nodes ------------------------------------------------------------------- */

/* The number behind a word of a line, "KEY=NUMBER", and nothing behind it. */
static bool value_of(const char *at, uint64_t *ret)
{
	return *at >= '0' && *at <= '9' && proc_number(&at, ret) && (*at == ' ' || *at == '\0');
}

/* "N0=2" */
static bool node_of(const char *at, uint64_t *node, uint64_t *pages)
{
	if (at[0] != 'N' || at[1] < '0' || at[1] > '9')
		return false;
	at++;
	return proc_number(&at, node) && *node < NUMA_NODES && *at == '=' && value_of(at + 1, pages);
}

/* The size of pages is the last word; names of files come escaped, so that a word of theirs has no '='. */
static uint64_t page_bytes(const char *line)
{
	const char *at = strstr(line, " kernelpagesize_kB=");
	uint64_t kb;

	return at && value_of(at + strlen(" kernelpagesize_kB="), &kb) && kb <= UINT32_MAX ? kb * 1024 : 0;
}

void numa_memory_parse_line(struct numa_memory *m, const char *line)
{
	uint64_t page = page_bytes(line), node, pages;

	if (page == 0)
		return;
	for (const char *at = strchr(line, ' '); at; at = strchr(at, ' ')) {
		at++;
		if (!node_of(at, &node, &pages) || pages > (UINT64_MAX - m->bytes[node]) / page)
			continue;
		m->bytes[node] += pages * page;
		m->nodes |= (uint64_t)1 << node;
	}
}

/* Whole lines of a text; how much is left, which is moved to its front. */
static size_t take_lines(struct numa_memory *m, char *text, size_t size)
{
	char *at = text, *end;

	while ((end = memchr(at, '\n', size - (size_t)(at - text)))) {
		*end = '\0';
		numa_memory_parse_line(m, at);
		at = end + 1;
	}
	size -= (size_t)(at - text);
	memmove(text, at, size);
	return size;
}

static int read_numa(int fd, struct numa_memory *m)
{
	char text[32768]; /* more than a line with the longest name of a file, each byte of it escaped */
	size_t kept = 0, total = 0;
	ssize_t n;

	while ((n = read(fd, text + kept, sizeof text - kept)) > 0) {
		kept = take_lines(m, text, kept + (size_t)n);
		total += (size_t)n;
		if (kept == sizeof text || total > NUMA_TEXT_MAX)
			return -EFBIG;
	}
	return n < 0 ? -errno : total ? 0 : -ESRCH;
}

/* ---- Files ------------------------------------------------------------------- */

int process_memory_pss(pid_t pid, uint64_t *ret_bytes)
{
	char text[4096];
	int fd = proc_open(pid, 0, "smaps_rollup");
	ssize_t n = proc_reread(fd, text, sizeof text);

	if (fd < 0)
		return fd;
	close(fd);
	return n < 0 ? (int)n : process_memory_parse_pss(text, ret_bytes);
}

int process_memory_numa(pid_t pid, struct numa_memory *ret)
{
	struct numa_memory memory = { 0 };
	int fd = proc_open(pid, 0, "numa_maps"), rc;

	if (fd < 0)
		return fd;
	rc = read_numa(fd, &memory);
	close(fd);
	if (rc == 0)
		*ret = memory;
	return rc;
}

uint32_t numa_node_count(void)
{
	char text[1024];
	int fd = open("/sys/devices/system/node/online", O_RDONLY | O_CLOEXEC);
	uint32_t count;

	(void)proc_reread(fd, text, sizeof text);
	if (fd >= 0)
		close(fd);
	count = id_list_count(text);
	return count ? count : 1;
}
