/* gpu_sampler.c - see gpu_sampler.h. */
#include "record/gpu_sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/orphans.h"

#define LOOK_SHARE 20 /* of the time, one part in so many */
#define STOP_MS 200

_Static_assert(sizeof(struct gpu_packet) <= PIPE_BUF, "a packet goes through the pipe in one piece");

/* ---- The process that asks ----------------------------------------------------- */

struct asking {
	struct nvml *nvml;
	enum clock_source clock;
	int fd;
	bool over[NVML_DEVICES]; /* there is no use in asking this one again */
	uint32_t left;
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* When nobody reads, the packet is dropped: waiting would make all that follow late. */
static void send_packet(const struct asking *a, const struct gpu_packet *packet)
{
	if (write(a->fd, packet, sizeof *packet) < 0 && errno != EAGAIN && errno != EINTR)
		_exit(0);
}

static void send_status(const struct asking *a, uint32_t device, const struct error *why)
{
	struct gpu_packet packet = { .kind = GPU_PACKET_STATUS, .device = device };

	snprintf(packet.u.status, sizeof packet.u.status, "%.*s", (int)sizeof packet.u.status - 1, why->text);
	send_packet(a, &packet);
}

static void send_device(const struct asking *a, uint32_t device)
{
	struct gpu_packet packet = { .kind = GPU_PACKET_DEVICE, .device = device };

	snprintf(packet.u.about.uuid, sizeof packet.u.about.uuid, "%s", nvml_uuid(a->nvml, device));
	snprintf(packet.u.about.name, sizeof packet.u.about.name, "%s", nvml_name(a->nvml, device));
	send_packet(a, &packet);
}

static void look_at(struct asking *a, uint32_t device)
{
	struct gpu_packet packet = { .kind = GPU_PACKET_SAMPLE, .device = device };
	uint64_t begin = clock_ticks(a->clock);
	struct error err = { 0 };
	int rc = nvml_look(a->nvml, device, &packet.u.look, &err);

	packet.time = begin + (clock_ticks(a->clock) - begin) / 2;
	if (rc == 0) {
		send_packet(a, &packet);
	} else if (rc != -ENODATA) {
		send_status(a, device, &err);
		a->over[device] = true;
		a->left--;
	}
}

/* Until the recorder has gone, which the pipe tells. */
static void sleep_until(const struct asking *a, int64_t time)
{
	struct pollfd fd = { .fd = a->fd };
	int64_t left = time - now_ns();

	if (left > 0 && poll(&fd, 1, (int)(left / 1000000) + 1) > 0)
		_exit(0);
}

static void ask_all(struct asking *a)
{
	for (uint32_t i = 0; i < a->left; i++)
		send_device(a, i);
	while (a->left) {
		int64_t begin = now_ns(), cost;

		for (uint32_t i = 0; i < nvml_count(a->nvml); i++)
			if (!a->over[i])
				look_at(a, i);
		cost = now_ns() - begin;
		sleep_until(a, begin + (cost * LOOK_SHARE > GPU_SAMPLE_NS ? cost * LOOK_SHARE : GPU_SAMPLE_NS));
	}
}

/* What libraries print when they are loaded is nobody's business, and nothing of the recorder's is theirs. */
static void leave_recorder(int *fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "inferscope-nvml");
	if (*fd < 3)
		*fd = fcntl(*fd, F_DUPFD, 3);
	for (int i = 0; i < 3 && null >= 0; i++)
		(void)dup2(null, i);
	if (*fd != 3 && dup2(*fd, 3) == 3)
		*fd = 3;
	(void)syscall(SYS_close_range, 4u, ~0u, 0u);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGBUS, SIG_DFL);
}

static void ask_and_exit(int fd, enum clock_source clock, pid_t parent)
{
	struct asking a = { .clock = clock, .fd = fd };
	struct error err = { 0 };

	leave_recorder(&a.fd);
	if (getppid() != parent) /* it has gone before we asked to be told */
		_exit(0);
	if (nvml_open(&a.nvml, &err) != 0) {
		send_status(&a, NVML_DEVICES, &err);
		_exit(0);
	}
	a.left = nvml_count(a.nvml);
	ask_all(&a);
	_exit(0);
}

/* ---- The recorder's side --------------------------------------------------------- */

int gpu_sampler_start(struct gpu_sampler *s, enum clock_source clock)
{
	pid_t parent = getpid(), pid;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		ask_and_exit(fds[1], clock, parent);
	close(fds[1]);
	if (pid < 0) {
		int rc = -errno;

		close(fds[0]);
		return rc;
	}
	orphans_exclude(pid);
	*s = (struct gpu_sampler){ .fd = fds[0], .pidfd = (int)syscall(SYS_pidfd_open, pid, 0), .pid = pid };
	return 0;
}

static bool is_terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* It comes from a process of ours in which strange code has run. */
static bool is_sound(const struct gpu_packet *p)
{
	switch (p->kind) {
	case GPU_PACKET_STATUS:
		return p->device <= NVML_DEVICES && is_terminated(p->u.status, sizeof p->u.status);
	case GPU_PACKET_DEVICE:
		return p->device < NVML_DEVICES && is_terminated(p->u.about.uuid, NVML_TEXT) &&
		       is_terminated(p->u.about.name, NVML_TEXT);
	case GPU_PACKET_SAMPLE:
		return p->device < NVML_DEVICES && p->u.look.process_count <= NVML_PROCESSES;
	default:
		return false;
	}
}

bool gpu_sampler_take(struct gpu_sampler *s, struct gpu_packet *ret)
{
	ssize_t n;

	while (s->fd >= 0) {
		n = read(s->fd, ret, sizeof *ret);
		if (n == (ssize_t)sizeof *ret && is_sound(ret))
			return true;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0 && !(n < 0 && errno == EINTR)) {
			close(s->fd);
			s->fd = -1;
		}
	}
	return false;
}

/* Whoever waits for all children may have waited for this one, so its number may be another's by now; its descriptor never is.
 * One that is stuck in the driver is left to the end of this process. */
void gpu_sampler_stop(struct gpu_sampler *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->pidfd >= 0) {
		struct pollfd ended = { .fd = s->pidfd, .events = POLLIN };

		(void)syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0u);
		(void)poll(&ended, 1, STOP_MS);
		(void)waitpid(s->pid, NULL, WNOHANG);
		close(s->pidfd);
	}
	*s = (struct gpu_sampler)GPU_SAMPLER_INIT;
}
