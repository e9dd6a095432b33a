/*
 * faults.c - a program that records an exact number of events and then ends in one of many ways.
 *
 *      faults scopes N END     2 N events of N scopes "work", two scopes left open, then END (below)
 *      faults hold N FILE      the same, "emitted" on standard output; waits until FILE is there, returns 0
 *      faults paced N MS       N scopes every millisecond for MS milliseconds
 *      faults marks N          N marks with metadata, of sizes that do not divide a chunk
 *      faults forks N M        N children, all alive at once, of M scopes each
 *      faults threads N M      N threads one after the other, of M scopes each
 *      faults crowd N M        N threads, all alive at once
 *      faults daemon FILE M    leaves a descendant behind that says "alive" in FILE after its parent, waits for
 *                              FILE.go, and then records M scopes more and says "done"
 *      faults orphans N        leaves N grandchildren that end before their grandparent does
 *      faults noise N MS       N marks of 150 incompressible bytes, over MS milliseconds, inside "epoch" and "step"
 *      faults confined N HOW   N scopes of N / 10 names under a filter of system calls that has madvise() and the end; all
 *                              others kill it (HOW is "kill") or fail, as madvise() does then, too ("fail")
 *
 * END is: return, exit, _exit, kill, segv, abort, thread (exit() from another thread), exec PROGRAM ARGUMENTS.
 * The exit status of those that have one is 7.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inferscope.h"

enum { STATUS = 7 };

static void work(long count)
{
	for (long i = 0; i < count; i++) {
		inferscope_scope_begin("work");
		inferscope_scope_end();
	}
}

static void nap(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) != 0)
		;
}

static void wait_for_file(const char *path)
{
	while (access(path, F_OK) != 0)
		nap(2);
}

static void say(const char *text)
{
	(void)!write(STDOUT_FILENO, text, strlen(text));
}

/* ---- Ways to end ------------------------------------------------------------- */

static void *exit_here(void *unused)
{
	(void)unused;
	exit(STATUS);
}

static int end_in_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, exit_here, NULL) == 0)
		pthread_join(thread, NULL);
	return 1;
}

static int end(int count, char **how)
{
	static volatile uintptr_t nowhere = 8;

	if (strcmp(how[0], "exit") == 0)
		exit(STATUS);
	if (strcmp(how[0], "_exit") == 0)
		_exit(STATUS);
	if (strcmp(how[0], "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(how[0], "segv") == 0)
		*(volatile char *)nowhere = 1;
	if (strcmp(how[0], "abort") == 0)
		abort();
	if (strcmp(how[0], "thread") == 0)
		return end_in_thread();
	if (strcmp(how[0], "exec") == 0 && count > 1)
		execv(how[1], how + 1);
	return STATUS;
}

static int scopes(int count, char **argument)
{
	work(atol(argument[0]));
	inferscope_scope_begin("outer");
	inferscope_scope_begin("inner");
	return end(count - 1, argument + 1);
}

static int hold(int count, char **argument)
{
	(void)count;
	work(atol(argument[0]));
	inferscope_scope_begin("outer");
	inferscope_scope_begin("inner");
	say("emitted\n");
	wait_for_file(argument[1]);
	inferscope_scope_end();
	inferscope_scope_end();
	say("ended\n");
	return 0;
}

/* ---- Rates and shapes ---------------------------------------------------------- */

static int paced(int count, char **argument)
{
	(void)count;
	for (long i = 0; i < atol(argument[1]); i++) {
		work(atol(argument[0]));
		nap(1);
	}
	return 0;
}

static int marks(int count, char **argument)
{
	char text[256];

	(void)count;
	for (long i = 0; i < atol(argument[0]); i++) {
		memset(text, 'x', sizeof text);
		text[i % 200] = '\0';
		inferscope_mark_with("mark", inferscope_int("i", i), inferscope_string("text", text));
	}
	return 0;
}

/* Text that does not compress, so that few events make a large file. */
static void fill_with_noise(char *text, size_t size)
{
	static uint64_t state = 88172645463325252ull;

	for (size_t i = 0; i + 1 < size; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		text[i] = (char)('!' + state % 90);
	}
	text[size - 1] = '\0';
}

static int noise(int count, char **argument)
{
	long number = atol(argument[0]), ms = atol(argument[1]);
	char text[128];

	(void)count;
	inferscope_scope_begin("epoch");
	inferscope_scope_begin("step");
	for (long i = 0; i < number; i++) {
		fill_with_noise(text, sizeof text);
		inferscope_mark_with("noise", inferscope_int("i", i), inferscope_string("text", text));
		if (i % (number / 20 + 1) == 0)
			nap(ms / 20);
	}
	inferscope_scope_end();
	inferscope_scope_end();
	return 0;
}

/* ---- Processes and threads ----------------------------------------------------- */

static int forks(int count, char **argument)
{
	int gate[2], ended = 0, status;
	char byte;

	(void)count;
	if (pipe(gate) != 0)
		return 1;
	for (long i = 0; i < atol(argument[0]); i++) {
		if (fork() != 0)
			continue;
		close(gate[1]);
		work(atol(argument[1]));
		(void)!read(gate[0], &byte, 1); /* until the parent has made all of them */
		_exit(0);
	}
	close(gate[1]);
	while (wait(&status) > 0)
		ended += status == 0;
	return ended == atol(argument[0]) ? 0 : 1;
}

static void *work_in_thread(void *amount)
{
	work((long)(intptr_t)amount);
	return NULL;
}

static int threads(int count, char **argument)
{
	pthread_t thread;

	(void)count;
	for (long i = 0; i < atol(argument[0]); i++)
		if (pthread_create(&thread, NULL, work_in_thread, (void *)(intptr_t)atol(argument[1])) != 0 ||
		    pthread_join(thread, NULL) != 0)
			return 1;
	return 0;
}

static pthread_barrier_t together;

static void *work_together(void *amount)
{
	work((long)(intptr_t)amount);
	pthread_barrier_wait(&together);
	return NULL;
}

static int crowd(int count, char **argument)
{
	long number = atol(argument[0]);
	pthread_t *all = calloc((size_t)number, sizeof *all);
	pthread_attr_t small;

	(void)count;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 18);
	pthread_barrier_init(&together, NULL, (unsigned)number);
	for (long i = 0; all && i < number; i++)
		if (pthread_create(&all[i], &small, work_together, (void *)(intptr_t)atol(argument[1])) != 0)
			return 1;
	for (long i = 0; all && i < number; i++)
		pthread_join(all[i], NULL);
	free(all);
	return 0;
}

static void append(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	(void)!write(fd, text, strlen(text));
	close(fd);
}

static int leave_daemon(int count, char **argument)
{
	char go[4096];
	pid_t parent = getpid();

	(void)count;
	snprintf(go, sizeof go, "%s.go", argument[0]);
	if (fork() != 0) {
		work(atol(argument[1]));
		wait_for_file(argument[0]);
		return 0;
	}
	setsid();
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	work(atol(argument[1]));
	inferscope_scope_begin("serving");
	append(argument[0], "recorded\n");
	while (getppid() == parent)
		nap(2);
	append(argument[0], "alive\n");
	wait_for_file(go);
	work(atol(argument[1]));
	append(argument[0], "done\n");
	_exit(0);
}

static int orphans(int count, char **argument)
{
	int gate[2];
	char byte;

	(void)count;
	if (pipe(gate) != 0)
		return 1;
	if (fork() == 0) {
		for (long i = 0; i < atol(argument[0]); i++)
			if (fork() == 0)
				_exit(0); /* unwaited for, and soon without a parent */
		_exit(0);
	}
	close(gate[1]);
	(void)wait(NULL);
	(void)!read(gate[0], &byte, 1);
	nap(300); /* time for whoever is process 1 */
	return STATUS;
}

/* What the runtime needs of a thread that has recorded before is docs/analysis.md's business: a change here is one there. */
static int confine(int kills)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kills ? SYS_madvise : SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof code / sizeof code[0], code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -1 : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static int confined(int count, char **argument)
{
	char name[32];

	(void)count;
	work(1);
	if (confine(strcmp(argument[1], "kill") == 0) != 0)
		return 1;
	for (long i = 0; i < atol(argument[0]); i++) {
		snprintf(name, sizeof name, "name %ld", i / 10);
		inferscope_scope_begin(name);
		inferscope_scope_end();
	}
	say("alive\n");
	syscall(SYS_exit_group, STATUS);
	return 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int arguments;
		int (*run)(int count, char **argument);
	} commands[] = {
		{ "scopes", 2, scopes },   { "hold", 2, hold },   { "paced", 2, paced },
		{ "marks", 1, marks },     { "noise", 2, noise }, { "forks", 2, forks },
		{ "threads", 2, threads }, { "crowd", 2, crowd }, { "daemon", 2, leave_daemon },
		{ "orphans", 1, orphans }, { "confined", 2, confined },
	};

	for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof commands[0]; i++)
		if (strcmp(argv[1], commands[i].name) == 0 && argc - 2 >= commands[i].arguments)
			return commands[i].run(argc - 2, argv + 2);
	fprintf(stderr, "usage: faults scopes|hold|paced|marks|noise|forks|threads|crowd|daemon|orphans|confined ARGUMENTS\n");
	return 2;
}
