/*
 * inherited.c - says what a process was started with, and which signals it gets.
 *
 *      inherited state FILE    signal mask and dispositions, descriptors, folder, group, limits, ... a line each
 *      inherited environment   the environment, NUL between variables
 *      inherited signals       blocks all signals, says "ready", then "NUMBER CODE VALUE" for each that comes, until
 *                              one has the value 99
 *      inherited interrupts    counts and marks SIGINT, SIGQUIT, SIGTSTP and SIGCONT; says what it has counted for each
 * line that it reads
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inferscope.h"

extern char **environ;

/* ---- State ------------------------------------------------------------------ */

/* Lines of /proc/self/status that a parent passes on. */
static void print_status(FILE *out)
{
	static const char *const keys[] = { "Umask",   "State",  "Uid",    "Gid",    "Groups", "NoNewPrivs",
					    "Seccomp", "SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt",
					    "CapInh",  "CapPrm", "CapEff", "CapBnd", "CapAmb", "Cpus_allowed_list",
					    "Threads" };
	FILE *file = fopen("/proc/self/status", "re");
	char line[512];

	while (file && fgets(line, sizeof line, file))
		for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
			if (strncmp(line, keys[i], strlen(keys[i])) == 0 && line[strlen(keys[i])] == ':')
				fputs(line, out);
	if (file)
		fclose(file);
}

static void print_descriptors(FILE *out)
{
	DIR *dir = opendir("/proc/self/fd");
	char path[64], target[512];
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		int fd = atoi(entry->d_name);
		ssize_t n;

		if (entry->d_name[0] == '.' || fd == dirfd(dir) || fd == fileno(out))
			continue;
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof target - 1);
		target[n > 0 ? n : 0] = '\0';
		fprintf(out, "fd %d %s\n", fd, target);
	}
	if (dir)
		closedir(dir);
}

static void print_limits(FILE *out)
{
	struct rlimit limit;

	for (int i = 0; i < RLIMIT_NLIMITS; i++)
		if (getrlimit((__rlimit_resource_t)i, &limit) == 0)
			fprintf(out, "limit %d %llx %llx\n", i, (unsigned long long)limit.rlim_cur,
				(unsigned long long)limit.rlim_max);
	fprintf(out, "nice %d policy %d\n", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
}

static int print_state(const char *path)
{
	FILE *out = fopen(path, "we");
	char cwd[4096];

	if (!out)
		return 1;
	print_status(out);
	print_descriptors(out);
	print_limits(out);
	fprintf(out, "cwd %s\n", getcwd(cwd, sizeof cwd) ? cwd : "");
	fprintf(out, "group %d session %d\n", getpgrp(), getsid(0));
	fprintf(out, "foreground %d\n", (int)tcgetpgrp(STDIN_FILENO));
	return fclose(out) == 0 ? 0 : 1;
}

static int print_environment(void)
{
	for (char **variable = environ; *variable; variable++)
		fwrite(*variable, strlen(*variable) + 1, 1, stdout);
	return 0;
}

/* ---- Signals ----------------------------------------------------------------- */

static int print_signals(void)
{
	siginfo_t info = { 0 };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	puts("ready");
	fflush(stdout);
	while (info.si_value.sival_int != 99) {
		if (sigwaitinfo(&all, &info) < 0)
			continue;
		if (info.si_code != SI_QUEUE)
			info.si_value.sival_int = 0;
		printf("%d %d %d\n", info.si_signo, info.si_code, info.si_value.sival_int);
		fflush(stdout);
	}
	return 0;
}

static volatile sig_atomic_t counts[NSIG];

static void count_signal(int number)
{
	counts[number]++;
	inferscope_mark("interrupted");
	if (number == SIGTSTP)
		raise(SIGSTOP);
}

static int count_interrupts(void)
{
	struct sigaction action = { .sa_handler = count_signal };
	char line[64];

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGQUIT, &action, NULL);
	sigaction(SIGTSTP, &action, NULL);
	sigaction(SIGCONT, &action, NULL);
	puts("ready");
	fflush(stdout);
	for (;;) {
		errno = 0;
		if (!fgets(line, sizeof line, stdin)) {
			if (errno != EINTR)
				return 0;
			clearerr(stdin);
			continue;
		}
		printf("int %d quit %d tstp %d cont %d\n", (int)counts[SIGINT], (int)counts[SIGQUIT],
		       (int)counts[SIGTSTP], (int)counts[SIGCONT]);
		fflush(stdout);
		if (strncmp(line, "end", 3) == 0)
			return 5;
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "state") == 0 && argc > 2)
		return print_state(argv[2]);
	if (strcmp(what, "environment") == 0)
		return print_environment();
	if (strcmp(what, "signals") == 0)
		return print_signals();
	if (strcmp(what, "interrupts") == 0)
		return count_interrupts();
	fprintf(stderr, "usage: inherited state|environment|signals|interrupts\n");
	return 2;
}
