#include "system/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INITIAL_PID_NAMESPACE 0xeffffffcu /* as Linux numbers them */

/* The beginning of a file, NUL-terminated; its length. */
static size_t read_start(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

size_t proc_thread_name(pid_t pid, pid_t tid, char *name, size_t size)
{
	char path[64];
	size_t n;

	snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	n = read_start(path, name, size);
	if (n && name[n - 1] == '\n')
		name[--n] = '\0';
	return n;
}

uint64_t proc_pending_signals(pid_t pid)
{
	char path[32], text[4096], *line;
	unsigned long long mask = 0;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	read_start(path, text, sizeof text);
	line = strstr(text, "\nShdPnd:");
	return line && sscanf(line + 1, "ShdPnd: %llx", &mask) == 1 ? mask : 0;
}

char proc_state(pid_t pid)
{
	char path[32], text[512];
	const char *end;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	read_start(path, text, sizeof text);
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : '\0';
}

void proc_boot_id(char boot_id[PROC_BOOT_ID_SIZE])
{
	read_start("/proc/sys/kernel/random/boot_id", boot_id, PROC_BOOT_ID_SIZE);
}

uint64_t proc_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

bool proc_pids_are_global(void)
{
	return proc_pid_namespace() == INITIAL_PID_NAMESPACE;
}

int proc_open(pid_t pid, pid_t tid, const char *name)
{
	char path[96];
	int fd;

	if (tid)
		snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
	else
		snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

ssize_t proc_reread(int fd, char *text, size_t size)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? -(fd < 0 ? EBADF : errno) : n;
}

ssize_t proc_reread_all(int fd, char *text, size_t size)
{
	size_t total = 0;
	ssize_t n = 0;

	text[0] = '\0';
	if (fd < 0)
		return -EBADF;
	while (total < size - 1 && (n = pread(fd, text + total, size - 1 - total, (off_t)total)) > 0)
		total += (size_t)n;
	text[total] = '\0';
	return n < 0 && total == 0 ? -errno : (ssize_t)total;
}

bool proc_number(const char **text, uint64_t *ret)
{
	const char *at = *text;
	uint64_t value = 0;

	while (*at == ' ' || *at == '\t')
		at++;
	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		unsigned digit = (unsigned)(*at - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return false;
		value = 10 * value + digit;
	}
	*text = at;
	*ret = value;
	return true;
}

void proc_children_begin(struct proc_children *c, int fd)
{
	c->fd = fd;
	c->offset = 0;
	c->at = c->text;
	c->text[0] = '\0';
}

/* What has not been taken goes to the front, and what follows it in the file behind it.  False: nothing does. */
static bool read_on(struct proc_children *c)
{
	size_t rest = strlen(c->at);
	ssize_t n;

	memmove(c->text, c->at, rest + 1);
	c->at = c->text;
	n = c->fd < 0 ? -1 : pread(c->fd, c->text + rest, sizeof c->text - 1 - rest, (off_t)c->offset);
	if (n <= 0)
		return false;
	c->text[rest + (size_t)n] = '\0';
	c->offset += (uint64_t)n;
	return true;
}

/* A number is whole when something is behind it: a piece of the file may end within one, which is another process's then. */
bool proc_children_next(struct proc_children *c, pid_t *ret)
{
	const char *at = c->at;
	uint64_t number;

	while (!proc_number(&at, &number) || *at == '\0') {
		if (!read_on(c))
			return false;
		at = c->at;
	}
	c->at = at;
	if (number == 0 || number > INT32_MAX)
		return false;
	*ret = (pid_t)number;
	return true;
}

bool proc_line(const char **text, char *line, size_t size)
{
	size_t length = strcspn(*text, "\n"), kept = length < size ? length : size - 1;

	if (**text == '\0')
		return false;
	memcpy(line, *text, kept);
	line[kept] = '\0';
	*text += length + ((*text)[length] == '\n');
	return true;
}
