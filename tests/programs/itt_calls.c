/*
 * itt_calls.c - a program with ITT, without ittnotify: it loads the library that INTEL_LIBITTNOTIFY64 names and hands over
 * its list of functions as ittnotify does.
 *
 *      itt_calls calls       every function, once or a few times
 *      itt_calls old         a list of another version, which is left alone
 *      itt_calls strings N   N threads that create and use the same 1,000 strings
 *      itt_calls open N      N overlapped tasks that are open at once
 *      itt_calls time N      nanoseconds of a string, a task and its end, N times
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct id {
	unsigned long long d1, d2, d3;
};

struct domain {
	volatile int flags;
	const char *name;
	void *wide;
	int extra1;
	void *extra2;
	struct domain *next;
};

struct string {
	const char *text;
	void *wide;
	int extra1;
	void *extra2;
	struct string *next;
};

struct counter {
	const char *name;
	void *wide_name;
	const char *domain;
	void *wide_domain;
	int type;
	long index;
	int extra1;
	void *extra2;
	struct counter *next;
};

static struct domain *(*domain_create)(const char *);
static struct string *(*string_handle_create)(const char *);
static void (*task_begin)(const struct domain *, struct id, struct id, struct string *);
static void (*task_begin_fn)(const struct domain *, struct id, struct id, void *);
static void (*task_end)(const struct domain *);
static void (*task_begin_overlapped)(const struct domain *, struct id, struct id, struct string *);
static void (*task_end_overlapped)(const struct domain *, struct id);
static void (*region_begin)(const struct domain *, struct id, struct id, struct string *);
static void (*region_end)(const struct domain *, struct id);
static void (*marker)(const struct domain *, struct id, struct string *, int);
static void (*frame_begin_v3)(const struct domain *, struct id *);
static void (*frame_end_v3)(const struct domain *, struct id *);
static int (*event_create)(const char *, int);
static int (*event_start)(int);
static int (*event_end)(int);
static void *(*counter_create)(const char *, const char *);
static void *(*counter_create_typed)(const char *, const char *, int);
static void *(*counter_create_v3)(const struct domain *, const char *, int);
static void (*counter_inc)(void *);
static void (*counter_inc_delta)(void *, unsigned long long);
static void (*counter_dec)(void *);
static void (*counter_dec_delta)(void *, unsigned long long);
static void (*counter_set_value)(void *, void *);
static void (*counter_inc_v3)(const struct domain *, struct string *);
static void (*counter_inc_delta_v3)(const struct domain *, struct string *, unsigned long long);
static void (*counter_dec_v3)(const struct domain *, struct string *);
static void (*counter_dec_delta_v3)(const struct domain *, struct string *, unsigned long long);
static void (*thread_set_name)(const char *);
static void (*unknown)(void);

static char none; /* what stands for ittnotify's own functions */

struct entry {
	const char *name;
	void **pointer;
	void *init;
	void *null;
	int group;
};

#define ENTRY(function) { "__itt_" #function, (void **)&function, &none, NULL, -1 }
static struct entry list[] = {
	{ "__itt_unknown", (void **)&unknown, &none, &none, -1 },
	ENTRY(domain_create),
	ENTRY(string_handle_create),
	ENTRY(task_begin),
	ENTRY(task_begin_fn),
	ENTRY(task_end),
	ENTRY(task_begin_overlapped),
	ENTRY(task_end_overlapped),
	ENTRY(region_begin),
	ENTRY(region_end),
	ENTRY(marker),
	ENTRY(frame_begin_v3),
	ENTRY(frame_end_v3),
	ENTRY(event_create),
	ENTRY(event_start),
	ENTRY(event_end),
	ENTRY(counter_create),
	ENTRY(counter_create_typed),
	ENTRY(counter_create_v3),
	ENTRY(counter_inc),
	ENTRY(counter_inc_delta),
	ENTRY(counter_dec),
	ENTRY(counter_dec_delta),
	ENTRY(counter_set_value),
	ENTRY(counter_inc_v3),
	ENTRY(counter_inc_delta_v3),
	ENTRY(counter_dec_v3),
	ENTRY(counter_dec_delta_v3),
	ENTRY(thread_set_name),
	{ NULL, NULL, NULL, NULL, 0 },
};

static struct {
	unsigned char magic[8];
	unsigned long major, minor, build;
	volatile long initialized, mutex_initialized, counter;
	pthread_mutex_t mutex;
	void *library;
	void *error_handler;
	const char **path;
	struct entry *list;
	void *next;
	void *threads, *domains, *strings;
	int state;
	void *counters;
	unsigned collect;
} global = { .magic = { 0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30 }, .major = 3, .build = 20180723, .list = list };

static void attach(void)
{
	const char *path = getenv("INTEL_LIBITTNOTIFY64");
	void *symbol;
	void (*init)(void *, int);

	global.library = path ? dlopen(path, RTLD_LAZY) : NULL;
	symbol = global.library ? dlsym(global.library, "__itt_api_init") : NULL;
	memcpy(&init, &symbol, sizeof init);
	if (init)
		init(&global, -1);
}

static const struct id nobody;

static struct id id_of(unsigned long long number)
{
	return (struct id){ number, 0, 0 };
}

__attribute__((visibility("default"))) void itt_calls_function(void);
void itt_calls_function(void)
{
}

static void tasks(struct domain *d)
{
	struct domain early = { .flags = 1, .name = "early" };
	struct string early_name = { .text = "made before" };

	task_begin(d, nobody, nobody, string_handle_create("outer"));
	task_begin(&early, nobody, nobody, &early_name);
	task_begin_fn(d, nobody, nobody, (void *)itt_calls_function);
	task_end(d);
	marker(d, nobody, string_handle_create("mark"), 2);
	task_end(&early);
	task_begin(d, nobody, nobody, NULL);
	task_end(d);
	task_end(d);
	task_end(d);
}

static void asynchronous(struct domain *d)
{
	struct id frame = id_of(5);
	int event = event_create("event and more", 5);

	task_begin_overlapped(d, id_of(1), nobody, string_handle_create("first"));
	task_begin_overlapped(d, id_of(2), nobody, string_handle_create("second"));
	task_end_overlapped(d, id_of(1));
	task_end_overlapped(d, id_of(2));
	task_end_overlapped(d, id_of(3));
	region_begin(d, id_of(4), nobody, string_handle_create("region"));
	region_end(d, id_of(4));
	frame_begin_v3(d, NULL);
	frame_begin_v3(d, &frame);
	frame_end_v3(d, &frame);
	frame_end_v3(d, NULL);
	printf("event %d", event > 0);
	printf(" %d", event_start(event));
	printf(" %d", event_end(event));
	printf(" %d\n", event_start(-1));
}

static void counters(struct domain *d)
{
	struct counter early = { .name = "early", .domain = NULL, .type = 1, .extra1 = 77, .extra2 = &none };
	void *plain = counter_create("requests", "server"), *typed = counter_create_typed("load", NULL, 8);
	void *v3 = counter_create_v3(d, "small", 6);
	struct string *name = string_handle_create("by string");
	uint64_t number = 40;
	double load = 0.75;
	int16_t small = -3;

	counter_inc(plain);
	counter_inc_delta(plain, 9);
	counter_dec(plain);
	counter_dec_delta(plain, 4);
	counter_set_value(plain, &number);
	counter_inc(plain);
	counter_set_value(typed, &load);
	counter_inc(typed);
	counter_set_value(v3, &small);
	counter_inc(&early);
	counter_inc(&early);
	counter_inc_v3(d, name);
	counter_inc_delta_v3(d, name, 6);
	counter_dec_v3(d, name);
	counter_dec_delta_v3(d, name, 2);
	printf("counter %d %d\n", plain == counter_create("requests", "server"), plain != counter_create("requests", "other"));
}

static int calls(void)
{
	struct domain *d = domain_create("calls");

	printf("domain %d %s %d\n", d->flags, d->name, d == domain_create("calls") && d != domain_create("call"));
	printf("string %s %d\n", string_handle_create("text")->text, string_handle_create("text") == string_handle_create("text"));
	thread_set_name("caller");
	tasks(d);
	asynchronous(d);
	counters(d);
	return 0;
}

static void *many_strings(void *ret)
{
	struct domain *d = domain_create("strings");
	struct string **seen = ret;
	char name[32];

	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "string %d", i);
		seen[i] = string_handle_create(name);
		task_begin(d, nobody, nobody, seen[i]);
		task_end(d);
	}
	return NULL;
}

static int strings(int count)
{
	static struct string *seen[16][1000];
	pthread_t all[16];
	int right = 0;

	for (int i = 0; i < count && i < 16; i++)
		if (pthread_create(&all[i], NULL, many_strings, seen[i]) != 0)
			return 1;
	for (int i = 0; i < count && i < 16; i++)
		pthread_join(all[i], NULL);
	for (int i = 0; i < 1000; i++)
		right += atoi(seen[0][i]->text + 7) == i;
	printf("strings %d\n", right);
	return 0;
}

static int open_at_once(int count)
{
	struct domain *d = domain_create("open");

	for (int i = 0; i < count; i++)
		task_begin_overlapped(d, id_of((unsigned)i + 1), nobody, string_handle_create("overlapped"));
	for (int i = 0; i < count; i++)
		task_end_overlapped(d, id_of((unsigned)i + 1));
	return 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int measure(int count)
{
	struct domain *d = domain_create("time");
	struct string *s = string_handle_create("a name of usual length");
	double t[3];

	t[0] = now();
	for (int i = 0; i < count; i++) {
		task_begin(d, nobody, nobody, s);
		task_end(d);
	}
	t[1] = now();
	for (int i = 0; i < count; i++)
		s = string_handle_create("a name of usual length");
	t[2] = now();
	printf("task %.1f string %.1f ns\n", (t[1] - t[0]) / count, (t[2] - t[1]) / count);
	return s == NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int count = argc > 2 ? atoi(argv[2]) : 1;

	unknown = (void (*)(void))(uintptr_t)1;
	if (strcmp(what, "old") == 0)
		global.build = 20101001;
	attach();
	printf("attached %d unknown %d\n", task_begin != NULL, (void *)(uintptr_t)unknown == (void *)&none);
	if (!task_begin)
		return 0;
	if (strcmp(what, "calls") == 0)
		return calls();
	if (strcmp(what, "strings") == 0)
		return strings(count);
	if (strcmp(what, "open") == 0)
		return open_at_once(count);
	if (strcmp(what, "time") == 0)
		return measure(count);
	return 2;
}
