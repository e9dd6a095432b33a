/*
 * run_ending.c - see run_ending.h.
 *
 * Signals that end a program end the analysis, and are blocked in this
 * process, as they have been since before the program was started.
 */
#include "cmd/run_ending.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cmd/analyze.h"
#include "cmd/command.h"
#include "cmd/report_file.h"

#define EVENTS_MOST 200000000u
#define SECONDS_MOST 120

static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

int run_ending_check(const struct config *config)
{
	const char *report = config_string(config, CONFIG_REPORT), *trace = config_string(config, CONFIG_TRACE);

	if (strcmp(report, "none") == 0)
		return 0;
	if (strcmp(report, "-") == 0)
		return fail(EXIT_USAGE, "run: the report cannot go to standard output, which is the program's; give the name of a file");
	if (report_format_of(report) < 0)
		return fail(EXIT_USAGE, "run: cannot tell the format of the report from the name '%s'; it may end in .md, .html, .txt or .json", report);
	if (strcmp(report, trace) == 0)
		return fail(EXIT_USAGE, "run: report and trace cannot both be %s", report);
	return 0;
}

/* ---- The process that analyses ---------------------------------------------- */

static uint64_t available_memory(void)
{
	struct buffer text = BUFFER_INIT;
	unsigned long long kb = 0;
	const char *at;

	if (file_read_whole("/proc/meminfo", 1u << 16, &text) == 0 && buffer_append(&text, "", 1) == 0) {
		at = strstr((const char *)text.data, "MemAvailable:");
		if (!at || sscanf(at, "MemAvailable: %llu", &kb) != 1)
			kb = 0;
	}
	buffer_release(&text);
	return kb * 1024;
}

/* The program's machine comes first: memory runs out here, with a sentence, before it does elsewhere. */
static void limit_memory(void)
{
	uint64_t most = available_memory() / 5 * 4;
	struct rlimit limit;
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!write(fd, "1000", 4);
		close(fd);
	}
#ifndef __SANITIZE_ADDRESS__ /* which reserves more than any machine has */
	if (most && getrlimit(RLIMIT_DATA, &limit) == 0 && most < limit.rlim_cur) {
		limit.rlim_cur = most;
		(void)setrlimit(RLIMIT_DATA, &limit);
	}
#else
	(void)most;
	(void)limit;
#endif
}

/* Of a program that recorded nothing, the closing line says why; there is nothing else to show. */
static void analyze_and_exit(const struct config *config, const struct recorder_result *result, const sigset_t *mask)
{
	bool show = config_integer(config, CONFIG_LOG_LEVEL) < LOG_LEVEL_ERROR && result->totals.recorded > 0;
	static const int ignored[] = { SIGTSTP, SIGTTIN, SIGTTOU, SIGXFSZ }; /* nobody would wake us; a full file has a sentence */
	sigset_t alarms;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigprocmask(SIG_SETMASK, mask, NULL);
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	alarm(SECONDS_MOST);
	limit_memory();
	_exit(analyze_recording(config, config_string(config, CONFIG_TRACE), config_string(config, CONFIG_REPORT), show));
}

/* ---- The one that waits ------------------------------------------------------- */

static bool is_ending(int number)
{
	for (size_t i = 0; i < sizeof ending_signals / sizeof ending_signals[0]; i++)
		if (ending_signals[i] == number)
			return true;
	return false;
}

int run_ending_wait(pid_t pid, bool *ret_stopped)
{
	struct timespec while_ = { 1, 0 }; /* SIGCHLD of others may hide that of this one */
	sigset_t set;
	int status = 0, number;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (size_t i = 0; i < sizeof ending_signals / sizeof ending_signals[0]; i++)
		sigaddset(&set, ending_signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*ret_stopped = false;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		number = sigtimedwait(&set, NULL, &while_);
		if (!is_ending(number))
			continue;
		*ret_stopped = true;
		kill(pid, SIGTERM);
		kill(pid, SIGCONT);
	}
	return status;
}

static void say_outcome(int status, bool stopped, const char *trace)
{
	const char *why;

	if (!WIFSIGNALED(status))
		return; /* it has said itself what went wrong */
	if (isatty(STDERR_FILENO))
		(void)file_write_all(STDERR_FILENO, "\r\033[K", 4); /* a line of progress that was not ended */
	why = stopped || is_ending(WTERMSIG(status)) ? "was interrupted" : WTERMSIG(status) == SIGALRM ? "took too long and was given up" :
												  "failed";
	warning("the analysis %s; the trace is whole: 'inferscope analyze %s' does it again", why, trace);
}

void run_ending(const struct config *config, const struct recorder_result *result, const sigset_t *mask)
{
	const char *trace = config_string(config, CONFIG_TRACE);
	bool stopped;
	char digits[32];
	pid_t pid;
	int status;

	if (strcmp(config_string(config, CONFIG_REPORT), "none") == 0 || result->trace_bytes == 0)
		return;
	if (result->events > EVENTS_MOST) {
		warning("%s events are too many to analyse at the end of a run; 'inferscope analyze %s' does it",
			text_group_digits(digits, result->events), trace);
		return;
	}
	pid = fork();
	if (pid == 0)
		analyze_and_exit(config, result, mask);
	if (pid < 0) {
		warning("cannot start the analysis: %s; 'inferscope analyze %s' does it", strerror(errno), trace);
		return;
	}
	status = run_ending_wait(pid, &stopped);
	say_outcome(status, stopped, trace);
}
