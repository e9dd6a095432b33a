/*
 * workload.c - a program to be recorded: `workload BEHAVIOUR [ARGUMENT]`.
 *
 * To add a behaviour, add a row to one of the tables in workload_*.c.
 */
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct tally *tally;

static const struct behaviour script_behaviour[] = {
	{ "script", run_script, "run the operations in a file (workload_script.c)" },
	{ 0 },
};

static const struct behaviour *const tables[] = {
	call_behaviours, thread_behaviours, process_behaviours, signal_behaviours, script_behaviour,
};
#define TABLES (sizeof tables / sizeof tables[0])

void tally_print(void)
{
	printf("events=%llu processes=%llu threads=%llu\n", (unsigned long long)tally->events,
	       (unsigned long long)tally->processes, (unsigned long long)tally->threads);
	fflush(stdout);
}

void emit_scopes(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		inferscope_scope_begin("outer");
		inferscope_scope_begin("inner");
		inferscope_scope_end();
		inferscope_scope_end();
	}
	tally->events += 4ull * count;
}

unsigned argument(char **argv, unsigned otherwise)
{
	return argv[1] ? (unsigned)strtoul(argv[1], NULL, 10) : otherwise;
}

static const struct behaviour *find(const char *name)
{
	for (size_t i = 0; i < TABLES; i++)
		for (const struct behaviour *b = tables[i]; b->name; b++)
			if (strcmp(b->name, name) == 0)
				return b;
	return NULL;
}

static int usage(void)
{
	fprintf(stderr, "usage: workload BEHAVIOUR [ARGUMENT]\n");
	for (size_t i = 0; i < TABLES; i++)
		for (const struct behaviour *b = tables[i]; b->name; b++)
			fprintf(stderr, "  %-18s %s\n", b->name, b->help);
	return 2;
}

int main(int argc, char **argv)
{
	const struct behaviour *b = argc > 1 ? find(argv[1]) : NULL;
	int status;

	tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!b || tally == MAP_FAILED)
		return usage();
	tally->processes = 1;
	tally->threads = 1;
	status = b->run(argv + 1);
	tally_print();
	return status;
}
