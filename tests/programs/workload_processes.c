/*
 * workload_processes.c - fork in all its forms, exec, and the ways to end.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

static void wait_for_all(void)
{
	while (wait(NULL) > 0)
		;
}

static void be_a_child(unsigned scopes)
{
	emit_scopes(scopes);
	tally->processes++;
	tally->threads++;
	_exit(0);
}

static pid_t raw_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

/* Each child is begun inside two open scopes. */
static int run_children(unsigned count, pid_t (*make)(void))
{
	inferscope_scope_begin("forking");
	inferscope_scope_begin("children");
	for (unsigned i = 0; i < count; i++) {
		pid_t pid = make();

		if (pid < 0)
			return 1;
		if (pid == 0)
			be_a_child(25);
	}
	wait_for_all();
	inferscope_scope_end();
	inferscope_scope_end();
	tally->events += 4;
	return 0;
}

static int forks(char **argv)
{
	return run_children(argument(argv, 50), fork);
}

static int bare_forks(char **argv)
{
	return run_children(argument(argv, 50), _Fork);
}

static int clones(char **argv)
{
	return run_children(argument(argv, 50), raw_clone);
}

/* A child of a child of a child ..., each with names of its own, using those of all before. */
static int generations(char **argv)
{
	unsigned count = argument(argv, 20);
	char name[32];

	for (unsigned i = 0; i < count; i++) {
		pid_t pid;

		for (unsigned j = 0; j <= i; j++) {
			snprintf(name, sizeof name, "generation-%u", j);
			inferscope_mark(name);
		}
		tally->events += i + 1;
		pid = fork();
		if (pid < 0)
			return 1;
		if (pid > 0) {
			wait_for_all();
			if (i > 0)
				_exit(0);
			return 0;
		}
		tally->processes++;
		tally->threads++;
	}
	_exit(0);
}

static _Atomic int marking;

static void *emit_marks(void *arg)
{
	const char *name = arg;

	for (int i = 0; i < 5000; i++) {
		inferscope_mark(name);
		marking += i == 10;
	}
	tally->events += 5000;
	tally->threads++;
	return NULL;
}

/* In the child a new thread is the first to emit; the one that called fork goes on while it does. */
static int fork_then_thread(char **argv)
{
	pthread_t thread;

	(void)argv;
	inferscope_scope_begin("parent");
	tally->events++;
	if (fork() == 0) {
		if (pthread_create(&thread, NULL, emit_marks, "new thread") != 0)
			_exit(1);
		while (!marking)
			sched_yield();
		(void)emit_marks("forked thread");
		pthread_join(thread, NULL);
		tally->processes++;
		_exit(0);
	}
	wait_for_all();
	return 0;
}

/* What a child says first in scopes that its parent opened: nothing encloses it there. */
static void first_call(unsigned which)
{
	switch (which) {
	case 0:
		inferscope_mark("first");
		break;
	case 1:
		inferscope_counter("first", 1);
		break;
	case 2:
		inferscope_async_begin("first", 1);
		break;
	case 3:
		inferscope_mark_with("first", inferscope_int("key", 1));
		break;
	default:
		inferscope_scope_end();
	}
	tally->events++;
}

static int first_calls(char **argv)
{
	(void)argv;
	inferscope_scope_begin("outer");
	inferscope_scope_begin("inner");
	tally->events += 2;
	for (unsigned i = 0; i < 4; i++)
		first_call(i); /* so that the names are known */
	for (unsigned i = 0; i < 5; i++) {
		if (fork() == 0) {
			first_call(i);
			tally->processes++;
			tally->threads++;
			_exit(0);
		}
		wait_for_all();
	}
	return 0;
}

static int vfork_and_exec(char **argv)
{
	unsigned count = argument(argv, 10);

	emit_scopes(1);
	for (unsigned i = 0; i < count; i++) {
		pid_t pid = vfork();

		if (pid < 0)
			return 1;
		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
		emit_scopes(1);
	}
	return 0;
}

/* Becomes `workload scopes 100` with a scope open, and says first what it emitted. */
static int exec_self(char **argv)
{
	(void)argv;
	emit_scopes(100);
	inferscope_scope_begin("before exec");
	tally->events++;
	tally_print();
	execl("/proc/self/exe", "workload", "scopes", "100", (char *)NULL);
	return 127;
}

static int exit_at_once(char **argv)
{
	emit_scopes(1000);
	inferscope_scope_begin("never ended");
	tally->events++;
	tally_print();
	_exit((int)argument(argv, 3));
}

static int die_by_signal(char **argv)
{
	emit_scopes(1000);
	inferscope_scope_begin("never ended");
	tally->events++;
	tally_print();
	kill(getpid(), (int)argument(argv, SIGKILL));
	return 1;
}

static int ignore_children(char **argv)
{
	signal(SIGCHLD, SIG_IGN);
	return run_children(argument(argv, 10), fork);
}

/* As daemons do: away from the terminal, without any descriptor.  The first process waits for it to be done. */
static int be_a_daemon(char **argv)
{
	pid_t pid = fork();

	(void)argv;
	if (pid == 0) {
		setsid();
		(void)!chdir("/");
		syscall(SYS_close_range, 0, ~0u, 0);
		be_a_child(25);
	}
	wait_for_all();
	syscall(SYS_close_range, 3, ~0u, 0);
	emit_scopes(10);
	return pid < 0;
}

/* Takes the memory away that its events are in, when they have been read.  From a child without it, or it would be the first
 * to fall. */
static int cut_short(char **argv)
{
	const char *folder = getenv("INFERSCOPE_SESSION");
	char path[512];

	emit_scopes(argument(argv, 1000));
	usleep(600000);
	snprintf(path, sizeof path, "%s/p0", folder ? folder : "");
	if (vfork() == 0)
		_exit(truncate(path, 0) != 0);
	wait_for_all();
	usleep(100000);
	return 0;
}

const struct behaviour process_behaviours[] = {
	{ "fork", forks, "N children" },
	{ "_Fork", bare_forks, "N children, without atfork handlers" },
	{ "clone", clones, "N children, by system call" },
	{ "generations", generations, "N children, each of the one before" },
	{ "fork-then-thread", fork_then_thread, "a child in which a new thread emits first" },
	{ "first-calls", first_calls, "a child for each call, which makes it first" },
	{ "vfork", vfork_and_exec, "N times vfork and exec" },
	{ "exec", exec_self, "becomes another program" },
	{ "_exit", exit_at_once, "ends with status N, without atexit handlers" },
	{ "kill", die_by_signal, "ends by signal N" },
	{ "sigchld-ignored", ignore_children, "N children that nobody waits for" },
	{ "daemon", be_a_daemon, "a child without descriptors" },
	{ "cut-short", cut_short, "N scopes, and then the session's file is cut short" },
	{ 0 },
};
