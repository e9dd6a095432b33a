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
#define WATCH_MS 100 /* between looks at a program that is stopped */

/* What the child is asked: a signal to take off its pending ones; minus a process to watch; or 0, not to watch any more. */
typedef int32_t question;

static void forget(int signal)
{
	struct timespec at_once = { 0, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	(void)sigtimedwait(&set, NULL, &at_once);
}

static bool is_stopped(pid_t pid)
{
	char state = proc_state(pid);

	return state == 'T' || state == 't'; /* with a debugger */
}

/* Until there is another question.  Who is not stopped yet would not notice that it is continued, so that is seen to first. */
static void watch(pid_t program, int ask_fd)
{
	struct pollfd fd = { .fd = ask_fd, .events = POLLIN };
	pid_t recorder = getppid();

	while (poll(&fd, 1, WATCH_MS) == 0)
		if (!is_stopped(program) && is_stopped(recorder))
			kill(recorder, SIGCONT);
}

/* The child.  Ends when the pipe does. */
static void sit(int ask_fd, int answer_fd)
{
	question ask;
	uint8_t done = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(STDIN_FILENO); /* the program's streams are not ours to keep open */
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	prctl(PR_SET_NAME, "inferscope-grp");
	while (read(ask_fd, &ask, sizeof ask) == sizeof ask) {
		if (ask < 0)
			watch(-ask, ask_fd);
		if (ask <= 0)
			continue;
		forget(ask);
		if (write(answer_fd, &done, 1) != 1)
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

static bool ask(struct canary *canary, question what)
{
	return canary->pid > 0 && write(canary->ask_fd, &what, sizeof what) == sizeof what;
}

static void take_off(struct canary *canary, int signal)
{
	struct pollfd fd = { .fd = canary->answer_fd, .events = POLLIN };
	uint8_t done;

	if (ask(canary, signal) && poll(&fd, 1, ANSWER_MS) == 1)
		(void)!read(canary->answer_fd, &done, 1);
}

bool canary_heard(struct canary *canary, int signal)
{
	struct timespec settle = { 0, SETTLE_NS };

	if (canary->pid <= 0)
		return false;
	nanosleep(&settle, NULL);
	if (!(proc_pending_signals(canary->pid) >> (signal - 1) & 1))
		return false;
	take_off(canary, signal);
	return true;
}

void canary_watch(struct canary *canary, pid_t program)
{
	(void)ask(canary, -program);
}

void canary_watch_end(struct canary *canary)
{
	(void)ask(canary, 0);
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
