/*
 * workload_threads.c - threads by the thousand, and threads that emit while they die.
 */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

static void *emit_in_thread(void *arg)
{
	inferscope_thread_name("worker");
	emit_scopes((unsigned)(uintptr_t)arg);
	tally->threads++;
	return NULL;
}

static int run_threads(unsigned count, unsigned at_once, unsigned scopes)
{
	pthread_t *threads = calloc(at_once, sizeof *threads);
	unsigned started = 0;
	int rc = threads ? 0 : 1;

	while (started < count && rc == 0) {
		unsigned n = 0;

		while (n < at_once && started < count && rc == 0) {
			rc = pthread_create(&threads[n], NULL, emit_in_thread, (void *)(uintptr_t)scopes);
			n += rc == 0;
			started++;
		}
		while (n)
			pthread_join(threads[--n], NULL);
	}
	free(threads);
	return rc != 0;
}

static int threads(char **argv)
{
	emit_scopes(1);
	return run_threads(argument(argv, 1000), 4, 25);
}

static int threads_at_once(char **argv)
{
	unsigned count = argument(argv, 1000);

	emit_scopes(1);
	return run_threads(count, count, 25);
}

/* ---- Destructors ------------------------------------------------------------- */

/* What C++ thread_local objects with destructors use. */
extern int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *dso);
extern void *__dso_handle;

static pthread_key_t keys[3];

static void emit_one(const char *name)
{
	inferscope_mark(name);
	tally->events++;
}

static void thread_local_destructor(void *arg)
{
	(void)arg;
	emit_one("thread_local");
}

/* Comes back in every round that the thread library allows, and emits in the last one too. */
static void key_destructor(void *arg)
{
	uintptr_t round = (uintptr_t)arg;

	emit_one("key");
	if (round < PTHREAD_DESTRUCTOR_ITERATIONS + 1)
		for (int i = 0; i < 3; i++)
			if (!pthread_getspecific(keys[i]))
				pthread_setspecific(keys[i], (void *)(round + 1));
}

static void *die_noisily(void *arg)
{
	uintptr_t order = (uintptr_t)arg;

	if (order & 1) /* before the runtime's own key is set for this thread, or after */
		emit_one("thread");
	for (int i = 0; i < 3; i++)
		pthread_setspecific(keys[i], (void *)1);
	if (order & 2)
		__cxa_thread_atexit_impl(thread_local_destructor, NULL, &__dso_handle);
	if (!(order & 1) && (order & 4))
		emit_one("thread");
	tally->threads++;
	return NULL;
}

static void at_exit(void)
{
	emit_one("atexit");
	tally_print(); /* the one that counts: main's comes before */
}

static int destructors(char **argv)
{
	unsigned count = argument(argv, 64);
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		if (pthread_key_create(&keys[i], key_destructor) != 0)
			return 1;
	atexit(at_exit);
	for (unsigned i = 0; i < count; i++) {
		if (pthread_create(&thread, NULL, die_noisily, (void *)(uintptr_t)i) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	return 0;
}

/* One thread after a big burst of another, in the same small budget. */
static int after_burst(char **argv)
{
	emit_scopes(argument(argv, 100000));
	return run_threads(1, 1, 25);
}

/* The burst is long over, its thread idle: others, in this process and the next, want the memory that it took. */
static int after_rest(char **argv)
{
	pid_t child;
	int rc;

	emit_scopes(argument(argv, 100000));
	usleep(800000);
	rc = run_threads(1, 1, 25);
	child = fork();
	if (child == 0) {
		emit_scopes(25);
		tally->processes++;
		tally->threads++;
		_exit(0);
	}
	return child < 0 || waitpid(child, NULL, 0) != child ? 1 : rc;
}

const struct behaviour thread_behaviours[] = {
	{ "threads", threads, "N threads, four at a time" },
	{ "threads-at-once", threads_at_once, "N threads at the same time" },
	{ "destructors", destructors, "N threads that emit from destructors, and an atexit handler" },
	{ "after-burst", after_burst, "N scopes, and then a second thread" },
	{ "after-rest", after_rest, "the same after a pause, and then a forked child" },
	{ 0 },
};
