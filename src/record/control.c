/* control.c - see control.h. */
#include "record/control.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/guard.h"

#define STOP "stop"

static int open_process(struct control *control, struct error *err)
{
	control->pid_fd = (int)syscall(SYS_pidfd_open, control->pid, 0); /* close-on-exec by itself */
	if (control->pid_fd >= 0 || kill(control->pid, 0) == 0 || errno == EPERM)
		return 0;
	return error_set(err, -ESRCH, "there is no process %d to record for", (int)control->pid);
}

int control_open(struct control *control, int input_fd, pid_t pid, struct error *err)
{
	struct sigaction before;
	sigset_t all, term;

	*control = (struct control)CONTROL_INIT;
	control->input_fd = input_fd;
	control->pid = pid;
	(void)setsid(); /* who cannot leave leads a group, and holds back what a terminal sends all the same */
	sigfillset(&all);
	if (sigprocmask(SIG_BLOCK, &all, NULL) != 0)
		return error_errno(err, -errno, "cannot block signals");
	guard_install(&before);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	control->signal_fd = signalfd(-1, &term, SFD_CLOEXEC | SFD_NONBLOCK);
	if (control->signal_fd < 0)
		return error_errno(err, -errno, "cannot open a signal descriptor");
	return open_process(control, err);
}

void control_close(struct control *control)
{
	if (control->pid_fd >= 0)
		close(control->pid_fd);
	if (control->signal_fd >= 0)
		close(control->signal_fd);
	*control = (struct control)CONTROL_INIT;
}

void control_watch(const struct control *control, struct pollfd fds[CONTROL_FDS])
{
	fds[0] = (struct pollfd){ .fd = control->input_fd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = control->pid_fd, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = control->signal_fd, .events = POLLIN };
}

/* Is a line complete, and is it the one? */
static bool take_byte(struct control *control, char byte)
{
	bool stop = byte == '\n' && control->used == strlen(STOP) && memcmp(control->line, STOP, strlen(STOP)) == 0;

	if (byte == '\n')
		control->used = 0;
	else if (control->used < sizeof control->line)
		control->line[control->used++] = byte;
	return stop;
}

static void read_input(struct control *control)
{
	char bytes[256];
	ssize_t n = read(control->input_fd, bytes, sizeof bytes);

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		control->ended = true;
	for (ssize_t i = 0; i < n && !control->ended; i++)
		control->ended = take_byte(control, bytes[i]);
}

static bool process_is_gone(const struct control *control)
{
	return control->pid_fd < 0 && kill(control->pid, 0) != 0 && errno == ESRCH;
}

void control_handle_events(struct control *control)
{
	struct pollfd fds[CONTROL_FDS];

	control_watch(control, fds);
	(void)poll(fds, CONTROL_FDS, 0);
	if (fds[0].revents)
		read_input(control);
	if (fds[1].revents || fds[2].revents || process_is_gone(control))
		control->ended = true;
}
