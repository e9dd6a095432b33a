/* serve.c - see serve.h: the parent's side. */
#include "live/serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/serve_parts.h"

#define START_MS 10000
#define STOP_MS 2500 /* the process itself takes 2000 at most */

struct live_serve {
	struct serve_shared *shared;
	struct serve_address address;
	struct live_totals totals;
	int wake_fd, life_fd, pidfd;
	pid_t pid;
	char url[512];
};

static int choose_token(char *token, const char *wanted, struct error *err)
{
	uint8_t random[16];

	if (wanted) {
		if (!serve_token_is_sound(wanted)) {
			error_set(err, -EINVAL, "a token of the page has 16 to %u letters, digits, - and _", SERVE_TOKEN);
			if (err)
				err->exit_code = 2;
			return -EINVAL;
		}
		strcpy(token, wanted);
		return 0;
	}
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return error_errno(err, -EIO, "there is no random number for the address of the page");
	for (size_t i = 0; i < sizeof random; i++)
		sprintf(token + 2 * i, "%02x", random[i]);
	return 0;
}

static void make_url(struct live_serve *s, const char *token)
{
	if (s->address.path[0])
		snprintf(s->url, sizeof s->url, "unix:%s, http://localhost/?token=%s", s->address.path, token);
	else
		snprintf(s->url, sizeof s->url, "http://%s/?token=%s", s->address.host, token);
}

static int make_channels(struct live_serve *s, int *ret_life, struct error *err)
{
	int fds[2];
	void *shared = mmap(NULL, sizeof *s->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return error_errno(err, -errno, "there is no memory for the page");
	s->shared = shared;
	live_snapshot_clear(&s->shared->snapshot);
	s->shared->totals = s->totals;
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake_fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return error_errno(err, -errno, "the page cannot be served");
	s->life_fd = fds[0];
	*ret_life = fds[1];
	return 0;
}

/* The process says nothing but a zero when all is well, else why it is not. */
static int hear_of_start(struct live_serve *s, struct error *err)
{
	struct pollfd fd = { .fd = s->life_fd, .events = POLLIN };
	struct error why = { 0 };
	ssize_t n;
	int ready;

	do
		ready = poll(&fd, 1, START_MS);
	while (ready < 0 && errno == EINTR);
	do
		n = ready > 0 ? recv(s->life_fd, &why, sizeof why, MSG_WAITALL) : 0;
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof why)
		return error_set(err, -EIO, "the process that serves the page did not start");
	why.text[sizeof why.text - 1] = '\0';
	if (why.code && err)
		*err = why;
	return why.code;
}

static int start_process(struct live_serve *s, struct serve_setup *setup, struct error *err)
{
	setup->shared = s->shared;
	setup->listen_fd = s->address.fd;
	setup->wake_fd = s->wake_fd;
	setup->parent = getpid();
	s->pid = fork();
	if (s->pid == 0)
		serve_process(setup);
	close(setup->life_fd);
	close(s->address.fd);
	s->address.fd = -1;
	if (s->pid < 0)
		return error_errno(err, -errno, "the page cannot be served");
	s->pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	return hear_of_start(s, err);
}

int live_serve_start(struct live_serve **ret, const struct live_serve_options *options, struct error *err)
{
	struct live_serve *s = calloc(1, sizeof *s);
	struct serve_setup setup = { .open_metrics = options->open_metrics, .life_fd = -1 };
	int rc;

	if (!s)
		return error_set(err, -ENOMEM, "there is no memory for the page");
	s->wake_fd = s->life_fd = s->pidfd = s->address.fd = -1;
	live_totals_init(&s->totals);
	rc = choose_token(setup.token, options->token, err);
	if (rc == 0)
		rc = serve_listen(&s->address, options->address, err);
	if (rc == 0)
		rc = make_channels(s, &setup.life_fd, err);
	if (rc == 0)
		rc = start_process(s, &setup, err);
	if (rc < 0) {
		live_serve_stop(s);
		return rc;
	}
	make_url(s, setup.token);
	*ret = s;
	return 0;
}

const char *live_serve_url(const struct live_serve *s)
{
	return s->url;
}

bool live_serve_is_open(const struct live_serve *s)
{
	return s->address.open;
}

static void wake(struct live_serve *s)
{
	const uint64_t one = 1;

	if (write(s->wake_fd, &one, sizeof one) < 0)
		return; /* it has not read the last four billion */
}

void live_serve_publish(struct live_serve *s, const struct live_snapshot *snapshot)
{
	uint32_t version = atomic_load_explicit(&s->shared->version, memory_order_relaxed);

	live_totals_add(&s->totals, snapshot);
	atomic_store_explicit(&s->shared->version, version + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	s->shared->snapshot = *snapshot;
	s->shared->totals = s->totals;
	atomic_store_explicit(&s->shared->version, version + 2, memory_order_release);
	wake(s);
}

/* It ends by itself; somebody else may have waited for it already. */
static void end_process(struct live_serve *s)
{
	struct pollfd fd = { .fd = s->pidfd, .events = POLLIN };
	int ready;

	atomic_store(&s->shared->over, 1);
	wake(s);
	do
		ready = s->pidfd < 0 ? 0 : poll(&fd, 1, STOP_MS);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0 && s->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void close_all(struct live_serve *s)
{
	const int fds[] = { s->address.fd, s->wake_fd, s->life_fd, s->pidfd };

	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

void live_serve_stop(struct live_serve *s)
{
	if (!s)
		return;
	if (s->pid > 0)
		end_process(s);
	close_all(s);
	if (s->address.path[0])
		unlink(s->address.path);
	if (s->shared)
		munmap(s->shared, sizeof *s->shared);
	free(s);
}
