#include "system/disk_counters.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "system/proc.h"

#define SECTOR 512u /* whatever the disk has */
#define TEXT_SIZE 32768u

/* Words of a line behind the name. */
enum { READS, READS_MERGED, READ_SECTORS, READ_MS, WRITES, WRITES_MERGED, WRITTEN_SECTORS, WRITE_MS, UNDER_WAY, BUSY_MS, WORDS };

static bool parse_line(const char *line, struct disk_counters *ret)
{
	uint64_t number, w[WORDS];
	size_t size;

	if (!proc_number(&line, &number) || !proc_number(&line, &number) || *line != ' ')
		return false;
	line++;
	size = strcspn(line, " ");
	if (size == 0 || size >= DISK_NAME || line[size] != ' ')
		return false;
	*ret = (struct disk_counters){ .name = "" };
	memcpy(ret->name, line, size);
	line += size;
	for (size_t i = 0; i < WORDS; i++)
		if (!proc_number(&line, &w[i]))
			return false;
	if (w[READ_SECTORS] > UINT64_MAX / SECTOR || w[WRITTEN_SECTORS] > UINT64_MAX / SECTOR || w[BUSY_MS] > UINT64_MAX / 1000000)
		return false;
	ret->reads = w[READS];
	ret->writes = w[WRITES];
	ret->read_bytes = w[READ_SECTORS] * SECTOR;
	ret->written_bytes = w[WRITTEN_SECTORS] * SECTOR;
	ret->busy_ns = w[BUSY_MS] * 1000000;
	return true;
}

/* "sda1" is of "sda", "nvme0n1p1" of "nvme0n1": a disk whose name ends with a digit has a 'p' before the number. */
static bool is_part(const char *name, const char *disk)
{
	size_t size = strlen(disk);
	const char *rest = name + size;

	if (size == 0 || strncmp(name, disk, size) != 0)
		return false;
	if (disk[size - 1] >= '0' && disk[size - 1] <= '9' && *rest++ != 'p')
		return false;
	return *rest && rest[strspn(rest, "0123456789")] == '\0';
}

static bool is_idle(const struct disk_counters *c)
{
	return c->reads == 0 && c->writes == 0;
}

/* The kernel lists a disk before its partitions. */
size_t disk_counters_parse(const char *text, struct disk_counters *ret, size_t max)
{
	char line[512], disk[DISK_NAME] = "";
	struct disk_counters one;
	size_t count = 0;

	while (count < max && proc_line(&text, line, sizeof line)) {
		if (!parse_line(line, &one) || is_part(one.name, disk))
			continue;
		memcpy(disk, one.name, sizeof disk);
		if (!is_idle(&one))
			ret[count++] = one;
	}
	return count;
}

void disk_files_open(struct disk_files *f)
{
	f->fd = open("/proc/diskstats", O_RDONLY | O_CLOEXEC);
}

void disk_files_close(struct disk_files *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

size_t disk_files_read(const struct disk_files *f, struct disk_counters *ret, size_t max)
{
	char text[TEXT_SIZE];

	return proc_reread_all(f->fd, text, sizeof text) > 0 ? disk_counters_parse(text, ret, max) : 0;
}
