/*
 * workload_script.c - runs a program of operations from a file, for tests that make up random ones.
 *
 * One operation a line.  A block is the part of the script that one thread runs:
 *
 *      begin NAME          end
 *      mark NAME           with NAME KEY INTEGER TEXT
 *      counter NAME VALUE  name NAME           (of the thread)
 *      sleep MICROSECONDS
 *      thread LABEL ... done       a new thread runs the lines between
 *      fork LABEL ... done         a new process does
 *      join                        waits for all threads and processes that this thread has begun
 *
 * NAME has no spaces.  A thread that ends has joined what it began.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

#define WORDS 5
#define BEGUN 64 /* threads and processes that one thread has not yet joined */

struct operation {
	char *words[WORDS];
	size_t after; /* of thread and fork: where the line after `done` is */
};

static struct operation *operations;
static size_t operation_count;
static char *script_text;

/* What one thread of the script is at. */
struct runner {
	size_t from, to;
	pthread_t threads[BEGUN];
	pid_t children[BEGUN];
	unsigned thread_count, child_count;
	uint64_t events;
	bool failed;
};

static bool is(const struct operation *op, const char *word)
{
	return strcmp(op->words[0], word) == 0;
}

/* ---- Reading --------------------------------------------------------------------- */

static bool add_line(char *line)
{
	struct operation *bigger = realloc(operations, (operation_count + 1) * sizeof *operations), *op;
	char *rest = NULL;

	if (!bigger)
		return false;
	operations = bigger;
	op = &operations[operation_count];
	*op = (struct operation){ 0 };
	for (int i = 0; i < WORDS; i++)
		op->words[i] = strtok_r(i ? NULL : line, " ", &rest);
	operation_count += op->words[0] != NULL;
	return true;
}

static bool match_blocks(void)
{
	size_t open[64], depth = 0;

	for (size_t i = 0; i < operation_count; i++) {
		if (is(&operations[i], "thread") || is(&operations[i], "fork")) {
			if (depth == 64)
				return false;
			open[depth++] = i;
		} else if (is(&operations[i], "done")) {
			if (depth == 0)
				return false;
			operations[open[--depth]].after = i + 1;
		}
	}
	return depth == 0;
}

static bool read_script(const char *path)
{
	FILE *f = path ? fopen(path, "r") : NULL;
	char *line, *rest = NULL;
	size_t capacity = 0;
	bool ok = f && getdelim(&script_text, &capacity, '\0', f) > 0;

	for (line = ok ? strtok_r(script_text, "\n", &rest) : NULL; line && ok; line = strtok_r(NULL, "\n", &rest))
		ok = add_line(line);
	if (f)
		fclose(f);
	return ok && match_blocks();
}

/* ---- Running --------------------------------------------------------------------- */

static void run_block(struct runner *r);

static void join_all(struct runner *r)
{
	int status;
	void *failed;

	while (r->thread_count) {
		pthread_join(r->threads[--r->thread_count], &failed);
		r->failed |= failed != NULL;
	}
	while (r->child_count)
		r->failed |= waitpid(r->children[--r->child_count], &status, 0) < 0 || status != 0;
}

static void finish(struct runner *r)
{
	join_all(r);
	tally->events += r->events;
}

static void *run_thread(void *arg)
{
	struct runner *r = arg;
	bool failed;

	run_block(r);
	finish(r);
	failed = r->failed;
	free(r);
	return failed ? &operations : NULL;
}

static struct runner *new_runner(size_t index)
{
	struct runner *r = calloc(1, sizeof *r);

	if (r) {
		r->from = index + 1;
		r->to = operations[index].after - 1;
	}
	return r;
}

static void begin_thread(struct runner *r, size_t index)
{
	struct runner *child = new_runner(index);

	if (!child || r->thread_count == BEGUN ||
	    pthread_create(&r->threads[r->thread_count], NULL, run_thread, child) != 0)
		r->failed = true;
	else
		r->thread_count++;
}

static void begin_process(struct runner *r, size_t index)
{
	struct runner *child = new_runner(index);
	pid_t pid = child && r->child_count < BEGUN ? fork() : -1;

	if (pid == 0)
		_exit(run_thread(child) != NULL);
	free(child);
	if (pid < 0)
		r->failed = true;
	else
		r->children[r->child_count++] = pid;
}

static int64_t number(const char *word)
{
	return word ? strtoll(word, NULL, 10) : 0;
}

/* True if the operation was an event. */
static bool emit(char **words)
{
	const char *name = words[1];

	if (strcmp(words[0], "begin") == 0)
		inferscope_scope_begin(name);
	else if (strcmp(words[0], "end") == 0)
		inferscope_scope_end();
	else if (strcmp(words[0], "mark") == 0)
		inferscope_mark(name);
	else if (strcmp(words[0], "with") == 0)
		inferscope_mark_with(name, inferscope_int(words[2], number(words[3])),
				     inferscope_string("text", words[4]));
	else if (strcmp(words[0], "counter") == 0)
		inferscope_counter(name, (double)number(words[2]));
	else
		return false;
	return true;
}

static void run_block(struct runner *r)
{
	for (size_t i = r->from; i < r->to;) {
		struct operation *op = &operations[i];

		if (emit(op->words))
			r->events++;
		else if (is(op, "thread"))
			begin_thread(r, i);
		else if (is(op, "fork"))
			begin_process(r, i);
		else if (is(op, "join"))
			join_all(r);
		else if (is(op, "name"))
			inferscope_thread_name(op->words[1]);
		else if (is(op, "sleep"))
			usleep((useconds_t)number(op->words[1]));
		else
			r->failed = true;
		i = op->after ? op->after : i + 1;
	}
}

int run_script(char **argv)
{
	struct runner all = { 0 };

	if (!read_script(argv[1]))
		return 2;
	all.to = operation_count;
	run_block(&all);
	finish(&all);
	return all.failed;
}
