#include "bench/workload.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 12u

struct random {
	uint64_t state;
};

static uint64_t next_random(struct random *r)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return r->state;
}

static double next_uniform(struct random *r)
{
	return ((double)(next_random(r) >> 11) + 0.5) / 9007199254740992.0;
}

/* Ticks to the next event: log-normal around 400 ns, within 50 ns to 2 ms. */
static uint64_t next_gap(struct random *r)
{
	double normal = sqrt(-2 * log(next_uniform(r))) * cos(6.283185307179586 * next_uniform(r));
	double ns = 400 * exp(1.3 * normal);

	return (uint64_t)((ns < 50 ? 50 : ns > 2e6 ? 2e6 : ns) * (WORKLOAD_RATE / 1e9));
}

/* What a scope calls depends on where it is: each depth has a few names of its own, mostly in turn. */
static uint32_t pick_name(struct random *r, unsigned depth, unsigned *step)
{
	return 1 + (depth * 5 + (next_random(r) % 4 ? (*step)++ % 3 : next_random(r) % 5)) % WORKLOAD_NAMES;
}

static uint64_t generate(struct random *r, struct event_slot *slots)
{
	unsigned depth = 0, step = 0;
	uint64_t time = 0;

	for (uint32_t i = 0; i < WORKLOAD_SLOTS; i++) {
		int must_end = WORKLOAD_SLOTS - i <= depth || depth == DEPTH_MAX;
		int begin = depth == 0 || (!must_end && next_random(r) % 2);

		time += next_gap(r);
		slots[i] = (struct event_slot){
			.time = time,
			.name = begin ? pick_name(r, depth, &step) : 0,
			.depth = (uint16_t)(begin ? depth : depth - 1),
			.kind = EVENT_SCOPE,
			.flags = EVENT_FLAGS(begin ? PHASE_BEGIN : PHASE_END, 0, 0) | EVENT_FLAG_THREAD,
		};
		depth = begin ? depth + 1 : depth - 1;
	}
	return time + next_gap(r);
}

int workload_init(struct workload *w)
{
	struct random r = { 88172645463325252u };

	*w = (struct workload){ .span = 0 };
	for (uint32_t t = 0; t < WORKLOAD_TRACKS; t++) {
		uint64_t span;

		w->slots[t] = malloc(WORKLOAD_SLOTS * sizeof *w->slots[t]);
		if (!w->slots[t])
			return -ENOMEM;
		span = generate(&r, w->slots[t]);
		/* The same for all, so that they do not drift apart: a block holds what happened at one time. */
		w->span = span > w->span ? span : w->span;
	}
	return 0;
}

void workload_release(struct workload *w)
{
	for (uint32_t t = 0; t < WORKLOAD_TRACKS; t++)
		free(w->slots[t]);
}

const char *workload_name(char *buffer, uint32_t name)
{
	snprintf(buffer, 32, "layer.%u.forward", name);
	return buffer;
}
