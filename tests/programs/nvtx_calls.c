/*
 * nvtx_calls.c - a program with NVTX, without NVTX's headers: it loads the library that NVTX_INJECTION64_PATH names and
 * speaks with it as they do.
 *
 *      nvtx_calls calls          every function, once or a few times
 *      nvtx_calls domains        ranges of two domains, nested and crossing
 *      nvtx_calls fork           a child with its parent's ranges open
 *      nvtx_calls threads N      N threads, one after another, of one range each, and one that is never popped
 *      nvtx_calls deep N         N ranges inside each other
 *      nvtx_calls strings N      N threads that register and use the same 1,000 strings
 *      nvtx_calls time N         nanoseconds of a push and its pop, N times
 *
 * Prints what push and pop said, and how it went.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	union {
		uint64_t u64;
		int64_t i64;
		double d;
		uint32_t u32;
		int32_t i32;
		float f;
	} payload;
	int32_t message_type;
	const void *message;
};

/* As NVTX numbers them, from 1. */
static struct {
	void (*mark_ex)(const struct attributes *);
	void (*mark_a)(const char *);
	void (*mark_w)(const wchar_t *);
	uint64_t (*start_ex)(const struct attributes *);
	uint64_t (*start_a)(const char *);
	uint64_t (*start_w)(const wchar_t *);
	void (*end)(uint64_t);
	int (*push_ex)(const struct attributes *);
	int (*push_a)(const char *);
	int (*push_w)(const wchar_t *);
	int (*pop)(void);
	void (*name_category_a)(uint32_t, const char *);
	void (*name_category_w)(uint32_t, const wchar_t *);
	void (*name_thread_a)(uint32_t, const char *);
	void (*name_thread_w)(uint32_t, const wchar_t *);
} core;

static struct {
	void (*mark)(void *, const struct attributes *);
	uint64_t (*start)(void *, const struct attributes *);
	void (*end)(void *, uint64_t);
	int (*push)(void *, const struct attributes *);
	int (*pop)(void *);
	void *(*resource_create)(void *, void *);
	void (*resource_destroy)(void *);
	void (*name_category_a)(void *, uint32_t, const char *);
	void (*name_category_w)(void *, uint32_t, const wchar_t *);
	void *(*register_a)(void *, const char *);
	void *(*register_w)(void *, const wchar_t *);
	void *(*create_a)(const char *);
	void *(*create_w)(const wchar_t *);
	void (*destroy)(void *);
	void (*initialize)(const void *);
} core2;

static void **core_table[17], **core2_table[17];

static int get_module(int module, void ****ret_table, unsigned *ret_size)
{
	if (module != 1 && module != 5)
		return 0;
	*ret_table = module == 1 ? core_table : core2_table;
	*ret_size = 15;
	return 1;
}

static const struct {
	size_t size;
	int (*get_module)(int, void ****, unsigned *);
} callbacks = { sizeof callbacks, get_module };

static const void *get_table(uint32_t id)
{
	return id == 1 ? &callbacks : NULL;
}

/* Whether the library wants to hear from us. */
static int attach(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	void *symbol = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
	int (*init)(const void *(*)(uint32_t));

	for (int i = 1; i <= 15; i++) {
		core_table[i] = (void **)&core + i - 1;
		core2_table[i] = (void **)&core2 + i - 1;
	}
	if (!symbol)
		return 0;
	memcpy(&init, &symbol, sizeof init);
	return init(get_table);
}

static struct attributes message(int type, const void *text)
{
	return (struct attributes){ .version = 3, .size = sizeof(struct attributes), .message_type = type, .message = text };
}

static struct attributes payload(const char *text, int type, uint64_t bits)
{
	struct attributes a = message(1, text);

	a.payload_type = type;
	a.payload.u64 = bits;
	return a;
}

static uint64_t bits_of(double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof bits);
	return bits;
}

static void marks(void *domain)
{
	struct attributes a;
	float f = 0.25f;
	uint32_t f_bits;

	memcpy(&f_bits, &f, sizeof f_bits);
	core.mark_a("ascii");
	core.mark_w(L"wide \u00e9\u20ac\U0001f600");
	a = payload("u64", 1, UINT64_MAX);
	core.mark_ex(&a);
	a = payload("i64", 2, (uint64_t)-5);
	core.mark_ex(&a);
	a = payload("double", 3, bits_of(-1.5));
	core.mark_ex(&a);
	a = payload("u32", 4, 0xdeadbeef00000007ull);
	core.mark_ex(&a);
	a = payload("i32", 5, 0xdeadbeeffffffffeull);
	core.mark_ex(&a);
	a = payload("float", 6, f_bits);
	core.mark_ex(&a);
	a = payload("extended", 0x7a01, 1);
	core.mark_ex(&a);
	a = message(1, "category");
	a.category = 7;
	core.mark_ex(&a);
	core.name_category_a(7, "seven");
	core.mark_ex(&a);
	core2.name_category_w(domain, 7, L"sieben");
	core2.mark(domain, &a);
	a = message(0, NULL);
	core.mark_ex(&a);
	core.mark_ex(NULL);
	core.mark_a(NULL);
	a = message(1, "too small");
	a.size = 8;
	core.mark_ex(&a);
	a = message(3, (void *)(uintptr_t)0x123456789);
	core.mark_ex(&a);
}

static void ranges(void *domain)
{
	struct attributes a = message(2, L"wide"), b = message(3, core2.register_a(domain, "registered")),
			  c = payload("paid", 2, 3);
	uint64_t first, second, third;
	int levels[6];

	levels[0] = core.push_a("a");
	levels[1] = core.push_w(L"w");
	levels[2] = core2.push(domain, &a);
	levels[3] = core2.push(domain, &b);
	levels[4] = core.push_ex(&c);
	levels[5] = core2.push(NULL, &a);
	printf("push %d %d %d %d %d %d\n", levels[0], levels[1], levels[2], levels[3], levels[4], levels[5]);
	levels[0] = core.pop();
	levels[1] = core2.pop(NULL);
	levels[2] = core2.pop(domain);
	levels[3] = core2.pop(domain);
	levels[4] = core.pop();
	levels[5] = core.pop();
	printf("pop %d %d %d %d %d %d\n", levels[0], levels[1], levels[2], levels[3], levels[4], levels[5]);
	first = core.start_a("first");
	second = core.start_w(L"second");
	third = core2.start(domain, &c);
	core.end(first);
	core2.end(domain, third);
	core2.end(NULL, second);
	core.end(0);
	printf("unique %d\n", first && second && third && first != second && second != third);
}

static int calls(void)
{
	void *domain = core2.create_w(L"d\u00f6main");

	printf("same %d\n", domain && domain == core2.create_a("d\u00f6main"));
	printf("string %d\n", core2.register_a(domain, "s") == core2.register_w(domain, L"s"));
	core.name_thread_w((uint32_t)syscall(SYS_gettid), L"h\u00e4ndle");
	marks(domain);
	ranges(domain);
	return 0;
}

static int domains(void)
{
	void *x = core2.create_a("x"), *y = core2.create_a("y");
	struct attributes a = message(1, "a"), b = message(1, "b");

	core2.push(x, &a);
	core2.push(y, &b);
	printf("cross %d", core2.pop(x)); /* y's goes on outside it */
	printf(" %d", core2.push(x, &a));
	printf(" %d", core2.pop(y)); /* and so does x's */
	core.mark_a("inside x");
	printf(" %d", core2.pop(x));
	printf(" %d", core2.pop(x)); /* nothing is open */
	printf(" %d\n", core2.pop(y));
	core2.push(x, &a);
	core2.push(x, &b);
	core2.push(y, &b);
	printf("nested %d", core2.pop(y));
	printf(" %d", core2.pop(x));
	printf(" %d\n", core2.pop(x));
	return 0;
}

static int fork_inside(void)
{
	int status = 0, levels[3];
	pid_t child;

	fflush(stdout);
	core.push_a("parent");
	core.push_a("parent too");
	child = fork();
	if (child == 0) {
		levels[0] = core.pop();
		levels[1] = core.push_a("child");
		levels[2] = core.pop();
		printf("child %d %d %d\n", levels[0], levels[1], levels[2]);
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	levels[1] = core.pop();
	levels[0] = core.pop();
	printf("parent %d %d\n", levels[1], levels[0]);
	return status;
}

static void *one_range(void *unused)
{
	(void)unused;
	core.push_a("left open");
	core.push_a("thread");
	core.pop();
	return NULL;
}

static long mapped(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (!f || fscanf(f, "%ld", &pages) != 1)
		pages = -1;
	if (f)
		fclose(f);
	return pages;
}

static int threads(int count)
{
	pthread_t thread;
	long before = 0;

	for (int i = 0; i < count; i++) {
		if (i == 10)
			before = mapped();
		if (pthread_create(&thread, NULL, one_range, NULL) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	printf("grown %d\n", (mapped() - before) * 4 > 1024);
	return 0;
}

static int deep(int count)
{
	int pushed = 0, popped = 0;

	for (int i = 0; i < count; i++)
		pushed += core.push_a("deep") == i;
	for (int i = count; i-- > 0;)
		popped += core.pop() == i;
	printf("deep %d %d\n", pushed, popped);
	return 0;
}

static void *many_strings(void *unused)
{
	void *domain = core2.create_a("strings");
	char name[32];

	for (int i = 0; i < 1000; i++) {
		struct attributes a;

		snprintf(name, sizeof name, "string %d", i);
		a = message(3, core2.register_a(domain, name));
		core2.push(domain, &a);
		core2.pop(domain);
	}
	(void)unused;
	return NULL;
}

static int strings(int count)
{
	pthread_t all[64];

	if (count > 64)
		return 2;
	for (int i = 0; i < count; i++)
		if (pthread_create(&all[i], NULL, many_strings, NULL) != 0)
			return 1;
	for (int i = 0; i < count; i++)
		pthread_join(all[i], NULL);
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
	void *domain = core2.create_a("domain");
	struct attributes a = message(3, core2.register_a(domain, "registered")), p = a;
	double t[5];

	p.payload_type = 2;
	t[0] = now();
	for (int i = 0; i < count; i++) {
		core.push_a("a name of usual length");
		core.pop();
	}
	t[1] = now();
	for (int i = 0; i < count; i++) {
		core2.push(domain, &a);
		core2.pop(domain);
	}
	t[2] = now();
	for (int i = 0; i < count; i++) {
		core2.push(domain, &p);
		core2.pop(domain);
	}
	t[3] = now();
	for (int i = 0; i < count; i++)
		core.end(core.start_a("a name of usual length"));
	t[4] = now();
	printf("push_a %.1f registered %.1f payload %.1f start %.1f ns\n", (t[1] - t[0]) / count, (t[2] - t[1]) / count,
	       (t[3] - t[2]) / count, (t[4] - t[3]) / count);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int count = argc > 2 ? atoi(argv[2]) : 1, attached = attach();

	printf("attached %d\n", attached);
	if (!attached)
		return 0;
	if (strcmp(what, "calls") == 0)
		return calls();
	if (strcmp(what, "domains") == 0)
		return domains();
	if (strcmp(what, "fork") == 0)
		return fork_inside();
	if (strcmp(what, "threads") == 0)
		return threads(count);
	if (strcmp(what, "deep") == 0)
		return deep(count);
	if (strcmp(what, "strings") == 0)
		return strings(count);
	if (strcmp(what, "time") == 0)
		return measure(count);
	return 2;
}
