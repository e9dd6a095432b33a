#include "system/fd_object.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "system/proc.h"

#define TABLE_MAX (4u << 20) /* bytes of a table of sockets that are read */

void wait_object_set(struct wait_object *object, enum thread_state state, const char *what)
{
	size_t size = strlen(what);

	object->state = state;
	if (size < sizeof object->what)
		memcpy(object->what, what, size + 1);
	else
		snprintf(object->what, sizeof object->what, "...%s", what + size - (sizeof object->what - 4));
}

/* ---- By name ----------------------------------------------------------------- */

static bool is_device(const char *link)
{
	static const char *const folders[] = { "/dev/nvidia", "/dev/dri/",        "/dev/kfd",
					       "/dev/accel",  "/dev/habanalabs", "/dev/davinci" };

	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
		if (strncmp(link, folders[i], strlen(folders[i])) == 0)
			return true;
	return false;
}

void fd_object_of_link(const char *link, struct wait_object *ret)
{
	enum thread_state state = THREAD_UNKNOWN;

	if (strncmp(link, "pipe:", 5) == 0 || strcmp(link, "anon_inode:[eventfd]") == 0)
		state = THREAD_PIPE;
	else if (strcmp(link, "anon_inode:[timerfd]") == 0)
		state = THREAD_SLEEP;
	else if (strcmp(link, "anon_inode:[pidfd]") == 0)
		state = THREAD_CHILD;
	else if (strcmp(link, "anon_inode:[eventpoll]") == 0 || strcmp(link, "anon_inode:inotify") == 0)
		state = THREAD_POLL;
	else if (is_device(link))
		state = THREAD_DEVICE;
	else if (link[0] == '/')
		state = THREAD_FILE;
	wait_object_set(ret, state, link);
}

/* A named pipe is told by its type, which the kernel has at hand: a server of files is not asked. */
static bool is_fifo(const char *path)
{
	struct statx st;

	return statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 && S_ISFIFO(st.stx_mode);
}

/* ---- Sockets ----------------------------------------------------------------- */

/* "0100007F:1F90": words of the address in the machine's order, then the port. */
static void print_peer(const char *text, char *out, size_t size)
{
	unsigned char bytes[16];
	char host[INET6_ADDRSTRLEN] = "?";
	size_t digits = strspn(text, "0123456789ABCDEFabcdef");
	unsigned port = 0;

	out[0] = '\0';
	if ((digits != 8 && digits != 32) || text[digits] != ':' || sscanf(text + digits, ":%x", &port) != 1)
		return;
	for (size_t i = 0; i < digits / 8; i++) {
		unsigned word = 0;
		char part[9] = "";

		memcpy(part, text + 8 * i, 8);
		word = (unsigned)strtoul(part, NULL, 16);
		memcpy(bytes + 4 * i, &word, sizeof word);
	}
	(void)inet_ntop(digits == 8 ? AF_INET : AF_INET6, bytes, host, sizeof host);
	if (port)
		snprintf(out, size, digits == 8 ? "%s:%u" : "[%s]:%u", host, port);
}

#define LISTENING 0x0au

/* sl local remote state queues timer retransmits uid timeout inode */
struct inet_line {
	char remote[64];
	unsigned port, state; /* port: its own */
	unsigned long long inode;
};

static bool read_inet_line(const char *line, struct inet_line *ret)
{
	char local[64];
	const char *colon;

	*ret = (struct inet_line){ 0 };
	if (sscanf(line, " %*s %63s %63s %x %*s %*s %*s %*s %*s %llu", local, ret->remote, &ret->state, &ret->inode) != 4)
		return false;
	colon = strrchr(local, ':');
	ret->port = colon ? (unsigned)strtoul(colon + 1, NULL, 16) : 0;
	return true;
}

static bool is_inet_line(const char *line, uint64_t inode, char *peer, size_t size)
{
	struct inet_line read;

	if (!read_inet_line(line, &read) || read.inode != inode)
		return false;
	print_peer(read.remote, peer, size);
	return true;
}

/* Whether a connection came in: somebody listens at its own port.  Then who is at the other end is a client, and decides when to
 * ask for something. */
static bool is_server(const char *text, uint64_t inode)
{
	struct inet_line own = { 0 }, read;
	const char *at = text;
	char line[512];

	while (own.inode != inode && proc_line(&at, line, sizeof line))
		(void)read_inet_line(line, &own);
	if (own.inode != inode)
		return false;
	for (at = text; proc_line(&at, line, sizeof line);)
		if (read_inet_line(line, &read) && read.state == LISTENING && read.port == own.port)
			return true;
	return false;
}

/* address: references protocol flags type state inode path */
static bool is_unix_line(const char *line, uint64_t inode, char *path, size_t size)
{
	unsigned long long number = 0;
	int at = 0;

	if (sscanf(line, "%*s %*s %*s %*s %*s %*s %llu%n", &number, &at) != 1 || number != inode)
		return false;
	while (line[at] == ' ')
		at++;
	snprintf(path, size, "%s", line + at);
	return true;
}

bool fd_object_in_table(const char *table, const char *text, uint64_t inode, struct wait_object *ret)
{
	bool local = strcmp(table, "unix") == 0;
	const char *all = text, *who;
	char line[512], other[256], what[320];

	while (proc_line(&text, line, sizeof line)) {
		if (!(local ? is_unix_line : is_inet_line)(line, inode, other, sizeof other))
			continue;
		who = strncmp(table, "tcp", 3) == 0 && is_server(all, inode) ? "client " : "";
		if (other[0])
			snprintf(what, sizeof what, "%s:%s%s", table, who, other);
		else
			snprintf(what, sizeof what, "%s:%s[%llu]", table, who, (unsigned long long)inode);
		wait_object_set(ret, local ? THREAD_SOCKET_LOCAL : THREAD_SOCKET_NETWORK, what);
		return true;
	}
	return false;
}

static int read_table(pid_t pid, const char *table, struct buffer *text)
{
	char name[16], part[16384];
	int fd, rc = 0;
	ssize_t n;

	buffer_clear(text);
	snprintf(name, sizeof name, "net/%s", table);
	fd = proc_open(pid, 0, name);
	if (fd < 0)
		return fd;
	while (rc == 0 && text->size < TABLE_MAX && (n = read(fd, part, sizeof part)) > 0)
		rc = buffer_append(text, part, (size_t)n);
	close(fd);
	return rc ? rc : buffer_append(text, "", 1);
}

static void find_socket(pid_t pid, uint64_t inode, const char *link, struct wait_object *ret)
{
	static const char *const tables[] = { "unix", "tcp", "tcp6", "udp", "udp6" };
	struct buffer text = BUFFER_INIT;
	bool found = false;

	for (size_t i = 0; !found && i < sizeof tables / sizeof tables[0]; i++)
		found = read_table(pid, tables[i], &text) == 0 &&
			fd_object_in_table(tables[i], (const char *)text.data, inode, ret);
	if (!found)
		wait_object_set(ret, THREAD_UNKNOWN, link);
	buffer_release(&text);
}

static void socket_object(struct socket_cache *cache, pid_t pid, const char *link, struct wait_object *ret)
{
	uint64_t inode = strtoull(link + 8, NULL, 10);
	struct wait_object *known = &cache->sockets[inode % SOCKET_CACHE].object;

	if (cache->sockets[inode % SOCKET_CACHE].inode != inode) {
		find_socket(pid, inode, link, known);
		cache->sockets[inode % SOCKET_CACHE].inode = inode;
	}
	*ret = *known;
}

void fd_object(struct socket_cache *cache, pid_t pid, uint64_t fd, struct wait_object *ret)
{
	char path[48], link[4096];
	ssize_t n = -1;

	if (fd <= INT32_MAX) {
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, (int)fd);
		n = readlink(path, link, sizeof link - 1);
	}
	if (n <= 0) {
		wait_object_set(ret, THREAD_UNKNOWN, "");
		return;
	}
	link[n] = '\0';
	if (strncmp(link, "socket:[", 8) == 0) {
		socket_object(cache, pid, link, ret);
		return;
	}
	fd_object_of_link(link, ret);
	if (ret->state == THREAD_FILE && is_fifo(path))
		ret->state = THREAD_PIPE;
}
