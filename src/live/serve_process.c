/* serve_process.c - see serve_http.h: the process, its loop, and its end. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "live/serve_confine.h"
#include "live/serve_http.h"

#define LIBRARY "libmicrohttpd.so.12"
#define SWEEP_MS 1000
#define REQUEST_NS 5000000000 /* for a client to say what it wants */
#define TIMEOUT_S 30u          /* for one that does not take what it is sent */
#define END_NS 2000000000
#define REQUEST_MEMORY (32u << 10)
#define TRIES 1000

/* ---- Beginning ------------------------------------------------------------------------ */

/* Nothing of the parent's is ours but three descriptors, and what the terminal tells the parent is not for us. */
static void leave_parent(struct serve_setup *setup)
{
	int *const fds[] = { &setup->listen_fd, &setup->wake_fd, &setup->life_fd };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	(void)setsid();
	prctl(PR_SET_NAME, "inferscope-web");
	for (size_t i = 0; i < 3; i++)
		*fds[i] = fcntl(*fds[i], F_DUPFD, 16);
	for (int i = 0; i < 3; i++) {
		if (null >= 0)
			(void)dup2(null, i);
		*fds[i] = dup2(*fds[i], 3 + i);
	}
	(void)syscall(SYS_close_range, 6u, ~0u, 0u);
	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int library_open(struct serve_library *lib, struct error *err)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	bool whole = handle != NULL;

	if (!handle) {
		err->exit_code = 4;
		return error_set(err, -ENOTSUP, "the page needs the library " LIBRARY ", which is not here (Debian: libmicrohttpd12)");
	}
#define FIND(name, result, parameters)                                                                                 \
	*(void **)&lib->name = dlsym(handle, "MHD_" #name);                                                            \
	whole = whole && lib->name;
	SERVE_FUNCTIONS(FIND)
#undef FIND
	err->exit_code = whole ? 0 : 4;
	return whole ? 0 : error_set(err, -ENOTSUP, "the library " LIBRARY " that is here cannot serve the page");
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- Connections ------------------------------------------------------------------------ */

static void forget_link(struct serve_server *s, struct serve_link *link)
{
	struct serve_link **at = &s->links;

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	free(link);
}

static void note_connection(void *server, struct MHD_Connection *connection, void **context,
			    enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info;
	struct serve_server *s = server;
	struct serve_link *link = *context;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (link)
			forget_link(s, link);
		*context = NULL;
		return;
	}
	info = s->lib.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	link = info ? calloc(1, sizeof *link) : NULL;
	if (!link)
		return; /* the library's own patience is enough */
	*link = (struct serve_link){ .fd = info->connect_fd, .waiting_ns = s->now_ns, .next = s->links };
	s->links = link;
	*context = link;
}

static void note_answered(void *server, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode code)
{
	struct serve_server *s = server;
	const union MHD_ConnectionInfo *info = s->lib.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct serve_link *link = info ? info->socket_context : NULL;

	(void)request;
	(void)code;
	if (link)
		link->waiting_ns = s->now_ns;
}

/* The library waits for as long as a byte comes now and then. */
static void end_the_slow(struct serve_server *s)
{
	for (struct serve_link *link = s->links; link; link = link->next)
		if (link->waiting_ns != INT64_MAX && s->now_ns - link->waiting_ns > REQUEST_NS)
			(void)shutdown(link->fd, SHUT_RDWR);
}

static void be_silent(void *nobody, const char *format, va_list args)
{
	(void)nobody;
	(void)format;
	(void)args;
}

/* Nothing that we are asked for needs it: a path is ours as it stands, or not. */
static size_t leave_escaped(void *nobody, struct MHD_Connection *connection, char *text)
{
	(void)nobody;
	(void)connection;
	return strlen(text);
}

static int start_daemon(struct serve_server *s, struct error *err)
{
	s->daemon = s->lib.start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, serve_request, s,
					MHD_OPTION_EXTERNAL_LOGGER, be_silent, NULL,
					MHD_OPTION_LISTEN_SOCKET, s->setup->listen_fd,
					MHD_OPTION_CONNECTION_LIMIT, SERVE_CONNECTIONS,
					MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
					MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_MEMORY,
					MHD_OPTION_NOTIFY_CONNECTION, note_connection, s,
					MHD_OPTION_NOTIFY_COMPLETED, note_answered, s,
					MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL,
					MHD_OPTION_STRICT_FOR_CLIENT, 1,
					MHD_OPTION_END);
	return s->daemon ? 0 : error_set(err, -EIO, "libmicrohttpd cannot serve the page");
}

/* ---- The snapshot ---------------------------------------------------------------------- */

/* False when there is none that we do not have. */
static bool take_snapshot(struct serve_server *s)
{
	const struct serve_shared *shared = s->setup->shared;

	for (int i = 0; i < TRIES; i++) {
		uint32_t version = atomic_load_explicit(&shared->version, memory_order_acquire);

		if (version == s->version)
			return false;
		if (version & 1) {
			sched_yield();
			continue;
		}
		*s->snapshot = shared->snapshot;
		s->totals = shared->totals;
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&shared->version, memory_order_relaxed) != version)
			continue;
		s->version = version;
		return true;
	}
	return false;
}

static void look_for_news(struct serve_server *s)
{
	uint64_t times;
	bool over = atomic_load(&s->setup->shared->over);

	while (read(s->setup->wake_fd, &times, sizeof times) > 0)
		;
	if (take_snapshot(s)) {
		serve_history_add(&s->history, s->snapshot);
		serve_frames_advance(&s->frames, s->snapshot, s->client_count > 0);
		serve_stream_wake(s);
	}
	if (over && !s->over) {
		s->over = true;
		serve_stream_wake(s);
	}
}

/* ---- The loop ---------------------------------------------------------------------------- */

static int patience_ms(struct serve_server *s)
{
	MHD_UNSIGNED_LONG_LONG ms;

	return s->lib.get_timeout(s->daemon, &ms) == MHD_YES && ms < SWEEP_MS ? (int)ms : SWEEP_MS;
}

static void sweep(struct serve_server *s, int64_t *last_ns)
{
	if (s->now_ns - *last_ns < (int64_t)SWEEP_MS * 1000000)
		return;
	*last_ns = s->now_ns;
	end_the_slow(s);
	serve_stream_beat(s);
}

static bool parent_has_gone(const struct serve_setup *setup, short life)
{
	return life & (POLLHUP | POLLERR) || getppid() != setup->parent;
}

/* Whoever is here is told; the address is free for the one who comes next. */
static void note_that_parent_has_gone(struct serve_server *s)
{
	MHD_socket listening = s->lib.quiesce_daemon(s->daemon);

	if (listening != MHD_INVALID_SOCKET)
		close(listening);
	s->over = s->lost = true;
	serve_stream_wake(s);
}

/* Until all is over and everybody knows it. */
static void serve_all(struct serve_server *s)
{
	struct pollfd fds[3] = {
		{ .fd = s->lib.get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, .events = POLLIN },
		{ .fd = s->setup->wake_fd, .events = POLLIN },
		{ .fd = s->setup->life_fd },
	};
	int64_t end = INT64_MAX, swept = 0;

	while (s->now_ns < end && !(s->over && s->client_count == 0)) {
		(void)poll(fds, s->lost ? 2 : 3, patience_ms(s));
		s->now_ns = now_ns();
		if (parent_has_gone(s->setup, fds[2].revents) && !s->over)
			note_that_parent_has_gone(s);
		look_for_news(s);
		sweep(s, &swept);
		if (s->over && end == INT64_MAX)
			end = s->now_ns + END_NS;
		(void)s->lib.run(s->daemon);
	}
}

static void tell_parent(const struct serve_setup *setup, const struct error *err)
{
	(void)send(setup->life_fd, err, sizeof *err, MSG_NOSIGNAL);
}

static int begin(struct serve_server *s, struct error *err)
{
	int rc = library_open(&s->lib, err);

	s->now_ns = now_ns();
	s->snapshot = malloc(sizeof *s->snapshot);
	if (rc == 0 && (!s->snapshot || serve_history_init(&s->history) < 0))
		rc = error_set(err, -ENOMEM, "there is no memory for the page");
	if (rc < 0)
		return rc;
	live_snapshot_clear(s->snapshot);
	live_totals_init(&s->totals);
	serve_frames_init(&s->frames);
	serve_make_policy(s);
	(void)mprotect(s->setup->shared, sizeof *s->setup->shared, PROT_READ);
	rc = start_daemon(s, err);
	serve_confine();
	return rc;
}

_Noreturn void serve_process(const struct serve_setup *given)
{
	struct serve_setup setup = *given;
	struct serve_server s = { .setup = &setup };
	struct error err = { 0 };
	int rc;

	leave_parent(&setup);
	rc = begin(&s, &err);
	err.code = rc;
	tell_parent(&setup, &err);
	if (rc == 0)
		serve_all(&s);
	_exit(rc != 0);
}
