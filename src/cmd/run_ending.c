/*
 * run_ending.c - see run_ending.h.
 *
 * Signals that ask us to end stay blocked in this process, as they have been
 * since before the program was started; request.h says which of them are meant
 * for the analysis, and those end it.
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

int run_ending_check(const struct config *config)
{
	const char *report = config_string(config, CONFIG_REPORT), *trace = config_string(config, CONFIG_TRACE);

	if (strcmp(report, trace) == 0)
		return fail(EXIT_USAGE, "run: report and trace cannot both be %s", report);
	if (report_format_of(trace) >= 0)
		return fail(EXIT_USAGE, "run: %s would be a trace, which is no file of that kind; '--report %s' names the report, and 'inferscope "
			    "export' makes other formats of a trace", trace, trace);
	if (strcmp(report, "none") == 0)
		return 0;
	if (strcmp(report, "-") == 0)
		return fail(EXIT_USAGE, "run: the report cannot go to standard output, which is the program's; give the name of a file");
	if (report_format_of(report) < 0)
		return fail(EXIT_USAGE, "run: cannot tell the format of the report from the name '%s'; it may end in .md, .html, .txt or .json", report);
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

void run_ending_set_apart(const sigset_t *mask)
{
	static const int ignored[] = { SIGTSTP, SIGTTIN, SIGTTOU, SIGXFSZ }; /* it would not be woken; a full file has a sentence */
	pid_t parent = getppid();
	sigset_t ours;

	(void)setpgid(0, 0);
	for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&ours);
	request_add_all(&ours);
	for (int i = 1; i < NSIG; i++)
		if (request_is(i)) {
			signal(i, SIG_IGN); /* what came to the group before we left it is gone */
			signal(i, SIG_DFL);
		}
	sigaddset(&ours, SIGALRM);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	sigprocmask(SIG_UNBLOCK, &ours, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
}

/* Of a program that recorded nothing, the closing line says why; there is nothing else to show. */
static bool is_shown(const struct config *config, const struct recorder_result *result)
{
	return config_integer(config, CONFIG_LOG_LEVEL) < LOG_LEVEL_ERROR && result->totals.recorded > 0;
}

/* The report has the number that the trace has, if that is free. */
static void analyze_and_exit(const struct config *config, const struct recorder_result *result, const struct file_place *report,
			     const sigset_t *mask)
{
	struct file_place place = *report;

	place.began = result->place.began;
	place.number = result->place.number;
	run_ending_set_apart(mask);
	alarm(SECONDS_MOST);
	limit_memory();
	_exit(analyze_recording(config, config_string(config, CONFIG_TRACE), &place, is_shown(config, result)));
}

/* ---- The one that waits ------------------------------------------------------- */

/* Until it has gone: it may not yet have been ready for the first. */
static void end_it(pid_t pid)
{
	if (kill(-pid, SIGTERM) != 0)
		kill(pid, SIGTERM);
	kill(pid, SIGCONT);
}

int run_ending_wait(pid_t pid, struct requests *requests)
{
	const struct timespec patience = { 0, 200000000 }; /* SIGCHLD of others may hide that of this one */
	siginfo_t info;
	sigset_t set;
	int status = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	request_add_all(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (requests->signal)
			end_it(pid);
		if (sigtimedwait(&set, &info, &patience) > 0)
			requests_take(requests, info.si_signo, info.si_code > 0 ? 0 : info.si_pid, request_now());
	}
	return status;
}

static void say_stopped(const struct requests *requests, const char *trace)
{
	char who[64];

	request_words(requests, who, sizeof who);
	warning("%s stopped the analysis; the trace is whole: 'inferscope analyze %s' does it later", who, trace);
}

static void say_outcome(int status, const struct requests *requests, const char *trace)
{
	if (!WIFSIGNALED(status))
		return; /* it has said itself what went wrong */
	if (isatty(STDERR_FILENO))
		(void)file_write_all(STDERR_FILENO, "\r\033[K", 4); /* a line of progress that was not ended */
	if (requests->signal)
		say_stopped(requests, trace);
	else
		warning("the analysis %s; the trace is whole: 'inferscope analyze %s' does it again",
			WTERMSIG(status) == SIGALRM ? "took too long and was given up" : "failed", trace);
}

/* Names of processes may hold anything. */
static void say_safely(const char *front, const char *sentence)
{
	struct buffer safe = BUFFER_INIT;

	if (sentence[0] && text_append_terminal(&safe, sentence, strlen(sentence), 0) == 0)
		warning("%s%.*s", front, (int)safe.size, (const char *)safe.data);
	buffer_release(&safe);
}

/* What nothing else on the screen says of a program's end; where there is a diagnosis it is said there. */
static void say_program(const struct trace_program *program)
{
	char sentence[PROGRAM_SENTENCE];

	if (program->signal && trace_program_failed(program)) {
		trace_program_say_end(program, sentence);
		say_safely("the program was ", sentence);
	}
	for (size_t i = 0; i < program->death_count; i++) {
		trace_program_say_death(&program->deaths[i], sentence);
		say_safely("", sentence);
	}
	trace_program_say_running(program, sentence);
	say_safely("", sentence);
}

/* Returns whether the diagnosis is on the screen. */
static bool analyze(const struct config *config, struct recorder_result *result, const struct file_place *report, const sigset_t *mask)
{
	const char *trace = config_string(config, CONFIG_TRACE);
	char digits[32];
	pid_t pid;
	int status;

	if (strcmp(config_string(config, CONFIG_REPORT), "none") == 0 || result->trace_bytes == 0)
		return false;
	if (result->requests.signal) { /* while the trace was being closed */
		say_stopped(&result->requests, trace);
		return false;
	}
	if (result->events > EVENTS_MOST) {
		warning("%s events are too many to analyse at the end of a run; 'inferscope analyze %s' does it",
			text_group_digits(digits, result->events), trace);
		return false;
	}
	pid = fork();
	if (pid == 0)
		analyze_and_exit(config, result, report, mask);
	if (pid < 0) {
		warning("cannot start the analysis: %s; 'inferscope analyze %s' does it", strerror(errno), trace);
		return false;
	}
	status = run_ending_wait(pid, &result->requests);
	say_outcome(status, &result->requests, trace);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 && is_shown(config, result);
}

void run_ending(const struct config *config, struct recorder_result *result, const struct file_place *report, const sigset_t *mask)
{
	if (!analyze(config, result, report, mask) && config_integer(config, CONFIG_LOG_LEVEL) < LOG_LEVEL_ERROR)
		say_program(&result->program);
}
