/* serve_address.c - see serve_parts.h: where to listen. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"
#include "live/serve_parts.h"

#define BACKLOG 64
#define PORT_MAX 65535

union place {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un path;
};

static int refuse(struct error *err, const char *address)
{
	error_set(err, -EINVAL, "%.100s is no address for a page; there are 127.0.0.1:PORT, [::1]:PORT, :PORT and unix:PATH", address);
	if (err)
		err->exit_code = 2;
	return -EINVAL;
}

static int parse_port(const char *text, uint16_t *ret)
{
	int64_t port;

	if (text_parse_integer(text, 0, PORT_MAX, &port) < 0)
		return -EINVAL;
	*ret = htons((uint16_t)port);
	return 0;
}

static int place_of(union place *ret, socklen_t *ret_size, const char *host, uint16_t port)
{
	*ret = (union place){ 0 };
	if (inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = port;
		*ret_size = sizeof ret->v4;
		return 0;
	}
	if (inet_pton(AF_INET6, host, &ret->v6.sin6_addr) != 1)
		return -EINVAL;
	ret->v6.sin6_family = AF_INET6;
	ret->v6.sin6_port = port;
	*ret_size = sizeof ret->v6;
	return 0;
}

/* "HOST:PORT", "[HOST]:PORT", ":PORT", "PORT", "HOST"; names are not looked up, but for the one that is the same everywhere. */
static int parse(union place *ret, socklen_t *ret_size, const char *address)
{
	char host[SERVE_HOST] = "127.0.0.1";
	const char *end, *colon;
	uint16_t port = 0;

	if (parse_port(address, &port) == 0)
		return place_of(ret, ret_size, host, port);
	end = address[0] == '[' ? strchr(address, ']') : NULL;
	if (address[0] == '[' && !end)
		return -EINVAL;
	colon = end ? end + 1 : strchr(address, ':');
	if (!end)
		end = colon ? colon : address + strlen(address);
	if (address[0] == '[')
		address++;
	if (end - address >= (ptrdiff_t)sizeof host || (colon && *colon && (*colon != ':' || parse_port(colon + 1, &port) < 0)))
		return -EINVAL;
	if (end > address)
		snprintf(host, sizeof host, "%.*s", (int)(end - address), address);
	return place_of(ret, ret_size, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, port);
}

static bool is_usable(const struct ifaddrs *i, sa_family_t family)
{
	const union place *p = (const void *)i->ifa_addr;

	return p && p->any.sa_family == family && (i->ifa_flags & IFF_UP) && !(i->ifa_flags & IFF_LOOPBACK) &&
	       !(family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&p->v6.sin6_addr)); /* which needs a name of an interface, too */
}

/* Who listens everywhere is found by others at the first address that this machine has for them. */
static void name_everywhere(union place *p)
{
	struct ifaddrs *all = NULL, *i;

	if (getifaddrs(&all) != 0)
		return;
	for (i = all; i && !is_usable(i, p->any.sa_family);)
		i = i->ifa_next;
	if (i && p->any.sa_family == AF_INET)
		p->v4.sin_addr = ((const union place *)(const void *)i->ifa_addr)->v4.sin_addr;
	else if (i)
		p->v6.sin6_addr = ((const union place *)(const void *)i->ifa_addr)->v6.sin6_addr;
	else if (p->any.sa_family == AF_INET)
		p->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		p->v6.sin6_addr = in6addr_loopback;
	freeifaddrs(all);
}

static bool is_everywhere(const union place *p)
{
	return p->any.sa_family == AF_INET ? p->v4.sin_addr.s_addr == htonl(INADDR_ANY) : IN6_IS_ADDR_UNSPECIFIED(&p->v6.sin6_addr);
}

static bool is_loopback(const union place *p)
{
	return p->any.sa_family == AF_INET ? ntohl(p->v4.sin_addr.s_addr) >> 24 == 127 : IN6_IS_ADDR_LOOPBACK(&p->v6.sin6_addr);
}

/* As it stands in an address. */
static void describe(struct serve_address *a)
{
	char text[INET6_ADDRSTRLEN] = "";
	union place p = { 0 };
	socklen_t size = sizeof p;

	if (getsockname(a->fd, &p.any, &size) != 0)
		return;
	a->open = !is_loopback(&p);
	if (is_everywhere(&p))
		name_everywhere(&p);
	if (p.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &p.v6.sin6_addr, text, sizeof text);
		snprintf(a->host, sizeof a->host, "[%s]:%u", text, ntohs(p.v6.sin6_port));
	} else {
		inet_ntop(AF_INET, &p.v4.sin_addr, text, sizeof text);
		snprintf(a->host, sizeof a->host, "%s:%u", text, ntohs(p.v4.sin_port));
	}
}

static int bind_and_listen(int fd, const union place *p, socklen_t size)
{
	return bind(fd, &p->any, size) == 0 && listen(fd, BACKLOG) == 0 ? 0 : -errno;
}

static int listen_at(struct serve_address *a, const char *address, struct error *err)
{
	union place p;
	socklen_t size;
	const int one = 1;
	int rc;

	if (parse(&p, &size, address) < 0)
		return refuse(err, address);
	a->fd = socket(p.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd < 0)
		return error_errno(err, -errno, "cannot listen at %.100s", address);
	(void)setsockopt(a->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (p.any.sa_family == AF_INET6)
		(void)setsockopt(a->fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
	rc = bind_and_listen(a->fd, &p, size);
	if (rc < 0)
		return error_errno(err, rc, "cannot listen at %.100s", address);
	describe(a);
	return 0;
}

/* A socket that a killed server of ours left behind: nobody answers there any more. */
static bool is_left_behind(const union place *p)
{
	struct stat st;
	bool refused;
	int fd;

	if (lstat(p->path.sun_path, &st) != 0 || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	refused = fd >= 0 && connect(fd, &p->any, sizeof p->path) != 0 && errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return refused;
}

static int listen_at_path(struct serve_address *a, const char *path, struct error *err)
{
	union place p = { .path = { .sun_family = AF_UNIX } };
	mode_t mask;
	int rc;

	if (path[0] == '\0' || strlen(path) >= sizeof p.path.sun_path)
		return refuse(err, "unix:");
	strcpy(p.path.sun_path, path);
	a->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->fd < 0)
		return error_errno(err, -errno, "cannot listen at %s", path);
	if (is_left_behind(&p))
		unlink(path);
	mask = umask(0177);
	rc = bind_and_listen(a->fd, &p, sizeof p.path);
	umask(mask);
	if (rc < 0)
		return error_errno(err, rc, "cannot listen at %s", path);
	strcpy(a->path, path);
	return 0;
}

int serve_listen(struct serve_address *ret, const char *address, struct error *err)
{
	struct serve_address a = { .fd = -1 };
	int rc = strncmp(address, "unix:", 5) == 0 ? listen_at_path(&a, address + 5, err) : listen_at(&a, address, err);

	if (rc < 0) {
		if (a.fd >= 0)
			close(a.fd);
		return rc;
	}
	*ret = a;
	return 0;
}
