/* heir.c - see heir.h. */
#include "record/heir.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 3000 /* a tenth of a second is enough for all that there can be */

typedef int cuda_heir(const char *folder, uint32_t number, bool apart);

static void set_name(char name[16], uint32_t number)
{
	snprintf(name, 16, "c%u", number);
}

bool heir_is_owed(const struct session *session, uint32_t number)
{
	struct cuda_file head;
	char name[16];
	bool owed;
	int fd;

	set_name(name, number);
	fd = openat(session->folder_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	owed = fd >= 0 && read(fd, &head, sizeof head) == (ssize_t)sizeof head && head.magic == CUDA_FILE_MAGIC && !head.settled;
	if (fd >= 0)
		close(fd);
	return owed;
}

/* Nothing of the recorder's is the library's. */
static void leave_recorder(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* it has a copy of the recorder's memory */
	prctl(PR_SET_NAME, "inferscope-heir");
	for (int i = 0; i < 3 && null >= 0; i++)
		(void)dup2(null, i);
	(void)syscall(SYS_close_range, 3u, ~0u, 0u);
	signal(SIGBUS, SIG_DFL);
}

_Noreturn static void inherit(const struct heir *h, uint32_t number)
{
	void *library;
	cuda_heir *heir;

	leave_recorder();
	library = dlopen(h->runtime, RTLD_NOW | RTLD_LOCAL);
	heir = library ? (cuda_heir *)dlsym(library, "inferscope_cuda_heir") : NULL;
	_exit(heir && heir(h->session->folder, number, h->apart) == 0 ? 0 : 1);
}

static bool has_ended(struct pollfd *process)
{
	int n;

	do
		n = poll(process, 1, PATIENCE_MS);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

/* Somebody who waits for all children may have waited for it first; its descriptor tells that it has ended all the same. */
static bool wait_for(pid_t pid)
{
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int status = 0;

	if (ended.fd < 0) {
		kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
		return false;
	}
	if (!has_ended(&ended)) {
		(void)syscall(SYS_pidfd_send_signal, ended.fd, SIGKILL, NULL, 0u);
		(void)has_ended(&ended);
	}
	close(ended.fd);
	return waitpid(pid, &status, WNOHANG) != pid || status == 0;
}

int heir_settle(const struct heir *h, uint32_t number, struct error *err)
{
	char name[16];
	bool done = true;
	pid_t pid;

	if (h->runtime && heir_is_owed(h->session, number)) {
		pid = fork();
		if (pid == 0)
			inherit(h, number);
		done = pid > 0 && wait_for(pid);
	}
	set_name(name, number);
	(void)unlinkat(h->session->folder_fd, name, 0);
	return done ? 0 : error_set(err, -EIO, "what a process had left of CUDA when it was killed could not be read");
}
