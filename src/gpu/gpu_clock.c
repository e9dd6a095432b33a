/* gpu_clock.c - see gpu_clock.h. */
#include "gpu/gpu_clock.h"

#include <math.h>
#include <string.h>

#define FAR 0x1p62 /* ticks: no program has run that long */

static double slope_of(const struct gpu_clock *c, const struct gpu_clock_pair *a, const struct gpu_clock_pair *b)
{
	int64_t device = (int64_t)(b->device - a->device);

	return device > 0 ? (double)(int64_t)(b->ticks - a->ticks) / (double)device : c->nominal;
}

/* The pair whose line a reading is on: the last that is not after it, but never the last of all. */
static uint32_t segment_of(const struct gpu_clock *c, uint64_t device)
{
	uint32_t i = 0;

	while (i + 2 < c->count && c->pairs[i + 1].device <= device)
		i++;
	return i;
}

bool gpu_clock_ticks(const struct gpu_clock *c, uint64_t device, uint64_t *ret)
{
	const struct gpu_clock_pair *a;
	double ticks;

	if (c->count == 0)
		return false;
	a = &c->pairs[segment_of(c, device)];
	ticks = (c->count > 1 ? slope_of(c, a, a + 1) : c->nominal) * (double)(int64_t)(device - a->device);
	if (!(fabs(ticks) < FAR))
		return false;
	*ret = a->ticks + (uint64_t)(int64_t)ticks;
	return true;
}

bool gpu_clock_add(struct gpu_clock *c, uint64_t before, uint64_t device, uint64_t after, uint64_t apart)
{
	struct gpu_clock_pair pair = { .ticks = before + (after - before) / 2, .device = device, .width = after - before };
	struct gpu_clock_pair *last = c->count ? &c->pairs[c->count - 1] : NULL;
	uint64_t expected;

	if (after < before || (last && (int64_t)(pair.device - last->device) <= 0))
		return false;
	if (last && pair.ticks - last->ticks < apart) {
		if (pair.width >= last->width)
			return false;
		*last = pair;
		return true;
	}
	if (c->count > 1 && gpu_clock_ticks(c, device, &expected)) {
		uint64_t off = expected > pair.ticks ? expected - pair.ticks : pair.ticks - expected;

		c->residual = off > c->residual ? off : c->residual;
	}
	if (c->count == GPU_CLOCK_PAIRS) {
		memmove(c->pairs, c->pairs + 1, (GPU_CLOCK_PAIRS - 1) * sizeof *c->pairs);
		c->count--;
	}
	c->pairs[c->count++] = pair;
	return true;
}
