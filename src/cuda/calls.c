/*
 * calls.c - calls of the runtime and of the driver.
 *
 * A call of the runtime does its work by calls of the driver, which have the same
 * correlation: only the outer one is kept.  Its record comes after the inner
 * one's, or before it, or much later, since buffers overtake each other: so it
 * is remembered which correlations the runtime has had, and calls of the driver
 * are held back for a while, for longer in a thread that uses the runtime.
 */
#include <ctype.h>
#include <stdio.h>

#include "cuda/cuda.h"

#define CALLS 1024u /* numbers of calls, in each of both */
#define QUERY_NS 10000 /* a query that takes longer did something */
#define TEXT 56u /* bytes of a name */
#define BLOCKS 16384u /* of 64 correlations: the last million */
#define HELD 4096u
#define PATIENT 20u /* passes: a second */

struct call_name {
	uint32_t id; /* 0: not asked for yet */
	bool query;
};

struct block {
	uint32_t number; /* plus 1 */
	uint64_t seen;
};

struct call {
	uint32_t name, correlation; /* name 0: none */
	uint64_t begin, duration;   /* ticks */
	uint32_t thread; /* its number; 0: not known */
	uint32_t passes;
};

static struct calls {
	struct call_name driver_names[CALLS], runtime_names[CALLS];
	char driver_texts[CALLS][TEXT], runtime_texts[CALLS][TEXT]; /* as CUPTI has them, which an heir could not ask */
	struct block blocks[BLOCKS];
	struct call held[HELD]; /* by correlation; who comes later drives out who was there */
} *calls;

bool cuda_calls_map(void)
{
	calls = cuda_memory_take(sizeof *calls);
	return calls != NULL;
}

/* ---- Names --------------------------------------------------------------------------- */

/* "cudaLaunchKernel_v7000" and "cuLaunchKernel_ptsz" without what follows the name. */
static size_t name_length(const char *name)
{
	size_t size = strlen(name);

	for (;;) {
		size_t digits = 0;

		while (digits < size && isdigit((unsigned char)name[size - 1 - digits]))
			digits++;
		if (digits && size > digits + 2 && memcmp(name + size - digits - 2, "_v", 2) == 0)
			size -= digits + 2;
		else if (size > 5 && (memcmp(name + size - 5, "_ptsz", 5) == 0 || memcmp(name + size - 5, "_ptds", 5) == 0))
			size -= 5;
		else
			return size;
	}
}

/* What programs ask for all the time, and is answered at once. */
static bool is_query(const char *name)
{
	static const char *const words[] = { "Get", "Peek", "CallConfiguration", "IsCapturing", "Occupancy" };

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

static void keep_text(char text[TEXT], int domain, uint32_t call)
{
	const char *name = NULL;

	if (cuda_cupti.call_name(domain, call, &name) == 0 && name && name_length(name) < TEXT)
		memcpy(text, name, name_length(name)); /* the rest is zeroes */
}

void cuda_calls_open(void)
{
	for (uint32_t i = 1; i < CALLS && cuda_cupti.call_name; i++) {
		keep_text(calls->driver_texts[i], 1, i);
		keep_text(calls->runtime_texts[i], 2, i);
	}
}

static void find_name(struct runtime_thread *t, struct call_name *n, const char *text, unsigned kind, uint32_t call)
{
	char number[48];

	if (!text[0]) {
		snprintf(number, sizeof number, "CUDA %s call %u", kind == KIND_DRIVER ? "driver" : "runtime", call);
		text = number;
	}
	n->query = is_query(text);
	n->id = inferscope_intern(t, text, strnlen(text, TEXT));
}

static const struct call_name *name_of(struct runtime_thread *t, unsigned kind, uint32_t call)
{
	uint32_t place = call < CALLS ? call : 0;
	struct call_name *n = (kind == KIND_DRIVER ? calls->driver_names : calls->runtime_names) + place;

	if (!n->id || call >= CALLS)
		find_name(t, n, (kind == KIND_DRIVER ? calls->driver_texts : calls->runtime_texts)[place], kind, call);
	return n;
}

/* ---- Which correlations are the runtime's ---------------------------------------------- */

static void remember_outer(uint32_t correlation)
{
	struct block *b = &calls->blocks[correlation / 64 % BLOCKS];

	if (b->number != correlation / 64 + 1)
		*b = (struct block){ .number = correlation / 64 + 1 };
	b->seen |= 1ull << correlation % 64;
}

static bool has_outer(uint32_t correlation)
{
	const struct block *b = &calls->blocks[correlation / 64 % BLOCKS];

	return b->number == correlation / 64 + 1 && b->seen >> correlation % 64 & 1;
}

/* ---- Calls of the driver that are held back ---------------------------------------------- */

static void emit(struct runtime_thread *t, const struct call *c)
{
	const struct cuda_thread *thread = cuda_thread_at(c->thread);
	struct gpu_work work = {
		.kind = EVENT_RUNTIME_CALL,
		.name = c->name,
		.begin = c->begin,
		.duration = c->duration,
		.correlation = c->correlation,
	};

	gpu_emit(t, thread ? &thread->stream : cuda_process(t), &work);
}

static void let_go(struct runtime_thread *t, struct call *c)
{
	if (c->name)
		emit(t, c);
	c->name = 0;
}

/* Several calls of the driver with one correlation are parts of the same call of the runtime: one stands for all. */
static void hold(struct runtime_thread *t, const struct call *c)
{
	struct call *place = &calls->held[c->correlation % HELD];

	if (place->correlation != c->correlation)
		let_go(t, place);
	*place = *c;
}

static void take_outer(const struct call *c)
{
	struct call *place = &calls->held[c->correlation % HELD];

	if (place->correlation == c->correlation)
		place->name = 0;
	remember_outer(c->correlation);
}

void cuda_calls_pass_over(struct runtime_thread *t, bool last)
{
	for (uint32_t i = 0; i < HELD; i++) {
		struct call *c = &calls->held[i];
		const struct cuda_thread *thread = c->name ? cuda_thread_at(c->thread) : NULL;

		if (c->name && (last || c->passes++ >= (thread && thread->uses_runtime ? PATIENT : 1)))
			let_go(t, c);
	}
}

/* ---- All of them --------------------------------------------------------------------------- */

static bool is_noise(const struct call_name *n, const struct call *c)
{
	return n->query && c->duration < cuda_clock_ticks(QUERY_NS);
}

void cuda_calls_take(struct runtime_thread *t, struct record r, unsigned kind)
{
	struct cuda_thread *thread = cuda_thread(t, cuda_door->thread_ids ? record_u32(r, AT_API_THREAD) : 0);
	const struct call_name *n = name_of(t, kind, record_u32(r, AT_API_CALL));
	struct call c = { .name = n->id, .correlation = record_u32(r, AT_API_CORRELATION), .thread = cuda_thread_number(thread) };
	struct gpu_work times;

	if (!cuda_times(record_u64(r, AT_API_START), record_u64(r, AT_API_END), &times)) {
		gpu_count_lost(1);
		return;
	}
	c.begin = times.begin;
	c.duration = times.duration;
	if (kind == KIND_RUNTIME && c.correlation)
		take_outer(&c);
	if (kind == KIND_RUNTIME && thread)
		thread->uses_runtime = true;
	if (is_noise(n, &c))
		return;
	if (kind == KIND_RUNTIME || !c.correlation)
		emit(t, &c);
	else if (!has_outer(c.correlation))
		hold(t, &c);
}
