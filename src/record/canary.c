#include "record/canary.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "system/proc.h"

#define SETTLE_NS 1000000 /* the kernel signals the members of a group one after the other */
#define ANSWER_MS 1000

/* The child: takes a signal off its pending ones when asked to.  Ends when the pipe does. */
static void sit(int ask_fd, int answer_fd)
{
	struct timespec at_once = { 0, 0 };
	uint8_t signal;
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(STDIN_FILENO); /* the program's streams are not ours to keep open */
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	prctl(PR_SET_NAME, "inferscope-grp");
	while (read(ask_fd, &signal, 1) == 1) {
		sigemptyset(&set);
		sigaddset(&set, signal);
		(void)sigtimedwait(&set, NULL, &at_once);
		if (write(answer_fd, &signal, 1) != 1)
			break;
	}
	_exit(0);
}

void canary_start(struct canary *canary)
{
	int ask[2], answer[2];

	*canary = (struct canary)CANARY_INIT;
	if (pipe2(ask, O_CLOEXEC) != 0)
		return;
	if (pipe2(answer, O_CLOEXEC) != 0) {
		close(ask[0]);
		close(ask[1]);
		return;
	}
	canary->pid = fork();
	if (canary->pid == 0) {
		close(ask[1]);
		close(answer[0]);
		sit(ask[0], answer[1]);
	}
	close(ask[0]);
	close(answer[1]);
	canary->ask_fd = ask[1];
	canary->answer_fd = answer[0];
}

static void take_off(struct canary *canary, uint8_t signal)
{
	struct pollfd fd = { .fd = canary->answer_fd, .events = POLLIN };

	if (write(canary->ask_fd, &signal, 1) == 1 && poll(&fd, 1, ANSWER_MS) == 1)
		(void)!read(canary->answer_fd, &signal, 1);
}

bool canary_heard(struct canary *canary, int signal)
{
	struct timespec settle = { 0, SETTLE_NS };

	if (canary->pid <= 0)
		return false;
	nanosleep(&settle, NULL);
	if (!(proc_pending_signals(canary->pid) >> (signal - 1) & 1))
		return false;
	take_off(canary, (uint8_t)signal);
	return true;
}

void canary_stop(struct canary *canary)
{
	if (canary->ask_fd >= 0)
		close(canary->ask_fd);
	if (canary->answer_fd >= 0)
		close(canary->answer_fd);
	if (canary->pid > 0) {
		kill(canary->pid, SIGKILL);
		waitpid(canary->pid, NULL, 0);
	}
	*canary = (struct canary)CANARY_INIT;
}
