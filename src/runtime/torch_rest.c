/*
 * torch_rest.c - operators are recorded for a part of the time.
 *
 * For those who watch a program for hours.  An operator costs some 250 ns, half
 * of them inside libtorch, which a callback that does nothing does not save: so
 * the callbacks are taken away, and one stays that libtorch calls for every
 * 256th operator or so, to see whether it is time to put them back.
 *
 * A counter of the program says what an operator in the trace stands for: how
 * many times its own time; 0 while none is recorded.
 */
#include <time.h>

#include "inferscope.h"
#include "runtime/torch_ops.h"

#define BUDGET 200u        /* one part in so many */
#define OPERATOR_NS 250u
#define PART_NS 100000000u /* how long we record at a time, if that does not take more than: */
#define PART_COST_NS 2000000u
#define COUNTER "inferscope.operators"

extern const struct inferscope_ops inferscope_api;

static struct {
	_Atomic uint64_t since;  /* when this part, or this rest, began */
	_Atomic uint64_t until;  /* the end of the rest */
	_Atomic uint64_t length; /* of the part before it */
	_Atomic uint64_t begun;  /* operators in this part */
} part;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void say(double weight)
{
	static struct inferscope_site site;

	inferscope_api.counter(&site, COUNTER, weight);
}

static void begin_part(uint64_t now)
{
	part.begun = 0;
	part.since = now;
}

void inferscope_torch_rest_start(void)
{
	begin_part(now_ns());
}

void inferscope_torch_count(void)
{
	uint64_t now = now_ns(), span = now - part.since;
	uint64_t cost = (atomic_fetch_add(&part.begun, TORCH_COUNT) + TORCH_COUNT) * OPERATOR_NS;

	if (span < PART_NS && cost < PART_COST_NS)
		return;
	if (cost <= span / BUDGET) {
		begin_part(now);
		return;
	}
	if (!inferscope_torch_pause())
		return;
	part.until = now + cost * BUDGET - span;
	part.length = span;
	part.since = now;
	say(0);
}

void inferscope_torch_beat(void)
{
	uint64_t now = now_ns(), rest = now - part.since;

	if (now < part.until || !inferscope_torch_resume())
		return;
	begin_part(now);
	say(1 + (double)rest / (double)part.length);
}
