#include "record/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/guard.h"
#include "record/orphans.h"
#include "system/proc.h"

#define EARLY_MOST 16u /* signals from before the program, which are remembered; more wait until it runs */

extern char **environ;

/* ---- Starting -------------------------------------------------------------- */

int target_prepare(struct target *target, struct error *err)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	sigset_t all;

	*target = (struct target)TARGET_INIT;
	sigfillset(&all); /* a fault of our own still ends us, but for SIGBUS: the kernel does not hold those back */
	if (sigprocmask(SIG_BLOCK, &all, &target->inherited_mask) != 0)
		return error_errno(err, -errno, "cannot block signals");
	/* Started with SIGCHLD ignored, we would never learn how the program ended. */
	sigaction(SIGCHLD, &by_default, &target->inherited_chld);
	canary_start(&target->canary); /* before there is anything that it could keep open */
	guard_install(&target->inherited_bus);
	target->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	return target->signal_fd < 0 ? error_errno(err, -errno, "cannot open a signal descriptor") : 0;
}

static size_t name_length(const char *variable)
{
	return strcspn(variable, "=");
}

/* Our environment with some variables added or replaced; NULL when out of memory. */
static char **make_environment(char *const added[])
{
	size_t count = 0, n = 0, extra = 0;
	char **env;

	while (environ[count])
		count++;
	while (added[extra])
		extra++;
	env = calloc(count + extra + 1, sizeof *env);
	if (!env)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t j = 0;

		while (added[j] && strncmp(environ[i], added[j], name_length(added[j]) + 1) != 0)
			j++;
		if (!added[j])
			env[n++] = environ[i];
	}
	for (size_t j = 0; j < extra; j++)
		env[n++] = added[j];
	return env;
}

/* In the child, once we are told to go on.  What goes wrong is told through the pipe, which a successful exec closes. */
static void become_target(const struct target *target, char *const argv[], char **env, int go_fd, int pipe_fd)
{
	int code;

	if (read(go_fd, &code, 1) != 1) /* the recorder was killed */
		_exit(127);
	sigaction(SIGCHLD, &target->inherited_chld, NULL);
	sigaction(SIGBUS, &target->inherited_bus, NULL);
	sigprocmask(SIG_SETMASK, &target->inherited_mask, NULL);
	for (int fd = 0; fd < 3; fd++)
		if (target->streams[fd] >= 0)
			(void)dup2(target->streams[fd], fd);
	environ = env;
	execvp(argv[0], argv);
	code = errno;
	(void)!write(pipe_fd, &code, sizeof code);
	_exit(127);
}

/* execvp() says EACCES also when it could not look into a folder of PATH.  Is there such a file anywhere? */
static bool is_in_path(const char *command)
{
	const char *at = getenv("PATH"), *end;
	char path[4096];

	for (; at; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, ':');
		snprintf(path, sizeof path, "%.*s/%s", end > at ? (int)(end - at) : 1, end > at ? at : ".", command);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

static int explain_exec(const char *command, int code, struct error *err)
{
	bool missing = code == ENOENT || code == ENOTDIR || (code == EACCES && !strchr(command, '/') && !is_in_path(command));

	if (missing && access(command, F_OK) == 0 && strchr(command, '/')) /* the interpreter in its first line */
		error_set(err, -code, "cannot run %s: the interpreter it names is missing", command);
	else if (missing)
		error_set(err, -code, "%s: command not found", command);
	else
		error_errno(err, -code, "cannot run %s", command);
	if (err)
		err->exit_code = missing ? 127 : 126;
	return -code;
}

/* ---- Whom a signal is for --------------------------------------------------- */

/* News of our children, what comes of our own writing (SIGPIPE, SIGXFSZ), and what the canary woke us with. */
static bool is_our_own(const struct target *target, const struct signalfd_siginfo *info)
{
	return (info->ssi_signo == SIGCHLD && info->ssi_code > 0) ||
	       (info->ssi_code == SI_USER &&
		(info->ssi_pid == (uint32_t)getpid() || info->ssi_pid == (uint32_t)target->canary.pid));
}

/*
 * Signals from the terminal reach the program by themselves, since it is in our
 * process group, and so do those that were sent to the group.  What somebody
 * sent to us was meant for the program.
 */
static bool is_for_target(struct target *target, const struct signalfd_siginfo *info)
{
	bool to_group;

	if (is_our_own(target, info))
		return false;
	to_group = canary_heard(&target->canary, (int)info->ssi_signo);
	return !to_group && info->ssi_code <= 0; /* and not from the kernel */
}

static void pass_on(const struct target *target, const struct signalfd_siginfo *info)
{
	union sigval value = { .sival_ptr = (void *)(uintptr_t)info->ssi_ptr };

	if (info->ssi_code == SI_QUEUE)
		sigqueue(target->pid, (int)info->ssi_signo, value);
	else
		kill(target->pid, (int)info->ssi_signo);
}

/* A program may tidy up when it gets one of these and stop itself by SIGSTOP then; so it is not what stopped it that counts. */
static void note_job_control(struct target *target, int signal)
{
	if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
		target->stop_asked = true;
	if (signal == SIGCONT)
		target->stop_asked = false;
}

/* ---- The start ------------------------------------------------------------- */

/*
 * A signal that came before the program was there is for it all the same: Ctrl-C
 * and the SIGTERM of `timeout` do not come again.  It has not got those that
 * were sent to the group then, which the ones that it has pending tell, as long
 * as it waits to be told to go on.
 */
static bool is_for_anyone(struct target *target, const struct signalfd_siginfo *info)
{
	return !is_our_own(target, info) && (canary_heard(&target->canary, (int)info->ssi_signo) || info->ssi_code <= 0 ||
				     request_is((int)info->ssi_signo)); /* from a terminal, before there was a canary */
}

static uint32_t take_early(struct target *target, struct signalfd_siginfo early[EARLY_MOST])
{
	uint32_t count = 0;

	while (count < EARLY_MOST && read(target->signal_fd, &early[count], sizeof early[count]) == sizeof early[count]) {
		const struct signalfd_siginfo *info = &early[count];

		note_job_control(target, (int)info->ssi_signo);
		if (is_for_anyone(target, info) && !(proc_pending_signals(target->pid) >> (info->ssi_signo - 1) & 1))
			count++;
	}
	return count;
}

/* The child goes on when it has a byte; 0, or what went wrong as it did. */
static int let_go(int go_fd, int answer_fd)
{
	int code = 0;

	(void)!write(go_fd, "", 1);
	return read(answer_fd, &code, sizeof code) == sizeof code ? code : 0;
}

static int start_child(struct target *target, char *const argv[], char **env, int go[2], int answer[2], struct error *err)
{
	struct signalfd_siginfo early[EARLY_MOST];
	uint32_t count;
	int code;

	target->pid = fork();
	if (target->pid < 0)
		return error_errno(err, -errno, "cannot start a process");
	if (target->pid == 0) {
		close(go[1]);
		become_target(target, argv, env, go[0], answer[1]);
	}
	close(answer[1]);
	answer[1] = -1;
	count = take_early(target, early);
	code = let_go(go[1], answer[0]);
	if (code) {
		waitpid(target->pid, NULL, 0);
		target->pid = -1;
		return explain_exec(argv[0], code, err);
	}
	for (uint32_t i = 0; i < count; i++)
		pass_on(target, &early[i]);
	return 0;
}

static void close_pair(int pair[2])
{
	for (int i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pair[i]);
}

int target_start(struct target *target, char *const argv[], char *const added[], struct error *err)
{
	char **env = make_environment(added);
	int go[2] = { -1, -1 }, answer[2] = { -1, -1 }, rc;

	if (!env)
		return error_set(err, -ENOMEM, "out of memory");
	if (target->adopts)
		orphans_adopt();
	if (pipe2(go, O_CLOEXEC) != 0 || pipe2(answer, O_CLOEXEC) != 0)
		rc = error_errno(err, -errno, "cannot make a pipe");
	else
		rc = start_child(target, argv, env, go, answer, err);
	close_pair(go);
	close_pair(answer);
	free(env);
	return rc;
}

/* ---- While it runs --------------------------------------------------------- */

static void note_other(struct target *target, pid_t pid, int status)
{
	uint32_t at = target->other_count % TARGET_OTHERS;

	if (WIFSTOPPED(status) || WIFCONTINUED(status))
		return;
	target->others[at].pid = pid;
	target->others[at].status = status;
	target->other_count++;
}

bool target_other_status(const struct target *target, pid_t pid, int *ret_status)
{
	uint32_t count = target->other_count < TARGET_OTHERS ? target->other_count : TARGET_OTHERS;

	for (uint32_t i = 1; i <= count; i++) {
		uint32_t at = (target->other_count - i) % TARGET_OTHERS;

		if (target->others[at].pid == pid) {
			*ret_status = target->others[at].status;
			return true;
		}
	}
	return false;
}

/* As process 1 of a container we inherit orphans, so every child is waited for, not only ours. */
static void reap(struct target *target)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
		if (pid == target->canary.pid && !WIFSTOPPED(status) && !WIFCONTINUED(status))
			target->canary.pid = -1; /* killed with the group */
		if (pid != target->pid) {
			note_other(target, pid, status);
			continue;
		}
		if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
			target->stopped = WIFSTOPPED(status);
		} else {
			target->ended = true;
			target->status = status;
			requests_begin(&target->requests);
		}
	}
}

static pid_t sender_of(const struct signalfd_siginfo *info)
{
	return info->ssi_code > 0 ? 0 : (pid_t)info->ssi_pid;
}

void target_handle_events(struct target *target)
{
	int64_t begin_ns = request_now();
	struct signalfd_siginfo info;

	reap(target);
	/* Also when it has ended: whatever stayed pending would be taken for a request to end what comes after. */
	while (read(target->signal_fd, &info, sizeof info) == sizeof info) {
		note_job_control(target, (int)info.ssi_signo);
		target->told_to_end |= !target->ended && info.ssi_signo == SIGTERM;
		if (target->ended)
			requests_take(&target->requests, (int)info.ssi_signo, sender_of(&info), target->read_ns);
		else if (is_for_target(target, &info))
			pass_on(target, &info);
	}
	target->read_ns = begin_ns;
	if (guard_was_signalled() && !target->ended && !canary_heard(&target->canary, SIGBUS))
		kill(target->pid, SIGBUS);
	reap(target);
}

/* Nobody could continue a process whose group no shell looks after. */
static bool has_shell(void)
{
	pid_t parent = getppid();

	return getsid(parent) == getsid(0) && getpgid(parent) != getpgrp();
}

bool target_is_to_stop(const struct target *target)
{
	return target->stop_asked && (target->ended ? target->adopts && has_shell() : target->stopped);
}

void target_stop_along(struct target *target)
{
	struct timespec at_once = { 0, 0 };
	siginfo_t news = { 0 };
	sigset_t set;

	target->stop_asked = false;
	if (target->ended) {
		kill(getpid(), SIGSTOP);
		return;
	}
	canary_watch(&target->canary, target->pid);
	kill(getpid(), SIGSTOP);
	canary_watch_end(&target->canary);
	/* Continued.  Mostly the whole group was, and the program may even have been stopped again.  But if it is as we left
	 * it, only we were, and it has to hear of it. */
	(void)waitid(P_PID, (id_t)target->pid, &news, WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT);
	if (news.si_pid != 0)
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	(void)sigtimedwait(&set, NULL, &at_once);
	kill(target->pid, SIGCONT);
	target->stopped = false;
}

/* ---- After ----------------------------------------------------------------- */

bool target_was_told_to_end(const struct target *target)
{
	int status = target_exit_status(target);

	return target->told_to_end || (status > 128 && request_is(status - 128));
}

int target_exit_status(const struct target *target)
{
	return WIFSIGNALED(target->status) ? 128 + WTERMSIG(target->status) : WEXITSTATUS(target->status);
}

void target_release(struct target *target)
{
	canary_stop(&target->canary);
	if (target->signal_fd >= 0)
		close(target->signal_fd);
	target->signal_fd = -1;
}
