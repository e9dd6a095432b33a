/*
 * workload_calls.c - behaviours about the calls themselves: kinds, names, metadata, errno.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "workload.h"

static int scopes(char **argv)
{
	emit_scopes(argument(argv, 1000));
	return 0;
}

/* One of each, in an order that a test can spell out. */
static int kinds(char **argv)
{
	struct inferscope_value values[2];

	(void)argv;
	values[0] = inferscope_double("half", 0.5);
	values[1] = inferscope_int("least", INT64_MIN);
	inferscope_thread_name("kinds");
	inferscope_scope_begin("scope");
	inferscope_mark("plain");
	inferscope_mark_with("with", inferscope_int("tokens", 1024), inferscope_string("language", "en"),
			     inferscope_bool("warm", 1), inferscope_bool("cold", 0));
	inferscope_mark_values("values", values, 2);
	inferscope_counter("queue", 2.5);
	inferscope_async_begin("request", 7);
	inferscope_flow_out("batch", UINT64_MAX);
	inferscope_flow_in("batch", UINT64_MAX);
	inferscope_async_end("request", 7);
	inferscope_scope_end();
	inferscope_scope_end(); /* one too many */
	tally->events += 11;
	return 0;
}

/* Metadata of every size that fits, and some that do not. */
static int metadata(char **argv)
{
	static char text[2001];
	unsigned sizes = argument(argv, 1100);

	for (unsigned size = 0; size < sizes; size++) {
		memset(text, 'x', size);
		text[size] = '\0';
		inferscope_mark_with("text", inferscope_int("size", size), inferscope_string("text", text));
	}
	tally->events += sizes;
	return 0;
}

/* Several times as many different names as a process can have. */
static int names(char **argv)
{
	unsigned count = argument(argv, 1000000);
	char name[32];

	for (unsigned i = 0; i < count; i++) {
		snprintf(name, sizeof name, "name-%u", i);
		inferscope_mark(name);
	}
	inferscope_mark("last");
	tally->events += count + 1;
	return 0;
}

/* The same string by content, at different addresses and from changing memory. */
static int dynamic_names(char **argv)
{
	unsigned count = argument(argv, 1000);

	for (unsigned i = 0; i < count; i++) {
		char *name = malloc(16);

		snprintf(name, 16, "dynamic-%u", i % 7);
		inferscope_scope_begin(name);
		memset(name, '?', 15);
		free(name);
		inferscope_scope_end();
	}
	tally->events += 2ull * count;
	return 0;
}

/* Longer than a name can be, and cut where a two-byte character straddles the limit. */
static int long_names(char **argv)
{
	char name[3001];

	(void)argv;
	for (size_t i = 0; i + 1 < sizeof name - 1; i += 2)
		memcpy(name + i, "\xc3\xa9", 2); /* e acute */
	name[sizeof name - 1] = '\0';
	inferscope_mark(name);
	name[0] = 'x'; /* from here on characters start at odd bytes */
	memmove(name + 1, name + 2, sizeof name - 2);
	inferscope_mark(name);
	inferscope_mark("");
	tally->events += 3;
	return 0;
}

/* No call changes errno, the first of a thread included. */
static int keeps_errno(char **argv)
{
	char name[32];
	int wrong = 0;

	(void)argv;
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "errno-%d", i % 100);
		errno = 4711;
		inferscope_scope_begin(name);
		wrong += errno != 4711;
		inferscope_mark_with("mark", inferscope_string("key", name));
		wrong += errno != 4711;
		inferscope_counter("counter", i);
		wrong += errno != 4711;
		inferscope_thread_name(name);
		wrong += errno != 4711;
		inferscope_scope_end();
		wrong += errno != 4711;
	}
	tally->events += 5000 * 4;
	return wrong != 0;
}

#ifndef SANITIZED

/* Emits while there is no more memory to be had. */
static int fill_memory(char **argv)
{
	struct rlimit limit = { 1ull << 30, 1ull << 30 };
	size_t size = 64 << 20;

	(void)argv;
	if (setrlimit(RLIMIT_AS, &limit) != 0)
		return 1;
	while (size >= 4096)
		if (mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ==
		    MAP_FAILED)
			size /= 2;
	emit_scopes(10000);
	return 0;
}

#endif

const struct behaviour call_behaviours[] = {
	{ "scopes", scopes, "N times two nested scopes" },
	{ "kinds", kinds, "every call once" },
	{ "metadata", metadata, "metadata of sizes up to N" },
	{ "names", names, "N different names" },
	{ "dynamic-names", dynamic_names, "N scopes with names in memory that changes" },
	{ "long-names", long_names, "names that have to be cut" },
	{ "errno", keeps_errno, "fails if a call changes errno" },
#ifndef SANITIZED
	{ "fill-memory", fill_memory, "emits when address space has run out" },
#endif
	{ 0 },
};
