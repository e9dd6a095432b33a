/*
 * torch_rest.c - operators are recorded for a part of the time.
 *
 * For those who watch a program for hours.  An operator costs some 250 ns in a
 * loop of nothing else and twice that in a program whose data need the caches,
 * half of them inside libtorch, which a callback that does nothing does not save:
 * so the callbacks are taken away, and one stays that libtorch calls for every
 * 256th operator or so, to see whether it is time to put them back.
 *
 * A counter of the program says what an operator in the trace stands for: how
 * many times its own time; 0 while none is recorded.
 */
#include <time.h>

#include "inferscope.h"
#include "runtime/torch_ops.h"

#define BUDGET 400u        /* one part in so many */
#define OPERATOR_NS 500u
#define PART_NS 100000000u /* how long we record at a time, if that does not take more than: */
#define PART_COST_NS 1000000u
#define COUNTER "inferscope.operators"

extern const struct inferscope_ops inferscope_api;

static struct {
	_Atomic uint64_t since, since_cpu; /* when this part, or this rest, began */
	_Atomic uint64_t rest;             /* how long it is to be */
	_Atomic uint64_t length;           /* of the part before it */
	_Atomic uint64_t begun;            /* operators in this part */
} part;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A program that waits does not pay for operators with the time in which it does nothing. */
static uint64_t worked_ns(void)
{
	uint64_t passed = now_ns(CLOCK_MONOTONIC) - part.since, cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - part.since_cpu;

	return cpu < passed ? cpu : passed;
}

static void begin(void)
{
	part.since = now_ns(CLOCK_MONOTONIC);
	part.since_cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	part.begun = 0;
}

static void say(double weight)
{
	static struct inferscope_site site;

	inferscope_api.counter(&site, COUNTER, weight);
}

void inferscope_torch_rest_start(void)
{
	begin();
}

void inferscope_torch_count(void)
{
	uint64_t span = worked_ns();
	uint64_t cost = (atomic_fetch_add(&part.begun, TORCH_COUNT) + TORCH_COUNT) * OPERATOR_NS;

	if (span < PART_NS && cost < PART_COST_NS)
		return;
	if (cost <= span / BUDGET) {
		begin();
		return;
	}
	if (!inferscope_torch_pause())
		return;
	part.rest = cost * BUDGET - span;
	part.length = span;
	begin();
	say(0);
}

void inferscope_torch_beat(void)
{
	uint64_t rest = worked_ns();

	if (rest < part.rest || !inferscope_torch_resume())
		return;
	begin();
	say(1 + (double)rest / (double)part.length);
}
