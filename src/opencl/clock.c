/*
 * clock.c - which clock a device counts with, and how its times become ours.
 *
 * When a command is put into a queue the driver notes the time by the device's
 * clock, so that the call is a bracket around it.  Most drivers count with one
 * of the kernel's clocks (PoCL: CLOCK_MONOTONIC_RAW): then pairs come from that
 * clock itself, within some tens of nanoseconds.  Else the narrowest calls are
 * the pairs.  What a clock says of commands is held against their calls, and
 * one that does not fit any more is given up.
 */
#include <time.h>

#include "opencl/opencl.h"

#define APART_NS 20e6       /* between pairs at first; then as far as the last two are, and a half more, */
#define APART_RAW_NS 1e9    /* up to this for the clock that nobody adjusts, */
#define APART_MOST_NS 100e6 /* or this for others */
#define SLACK_NS 20000.0    /* clocks are read one after another, and calls interrupted */
#define SLACK_PPM 300e-6    /* of the time since a command: rates are not known better, and clocks are adjusted */
#define WIDE 8u             /* times as wide as the narrowest: not worth a pair, */
#define WIDE_NS 1e9         /* unless the last one is so old */
#define MISSES_MOST 3u
#define LOOK_NS 100e3       /* between commands that one of the kernel's clocks is held against, while it fits */
#define TRIES 4u

static const clockid_t named[] = { CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME };
#define NAMED (sizeof named / sizeof named[0])

/* The first reading of each, and what follows from it: ticks a nanosecond. */
static struct gpu_clock_pair base[NAMED];
static double rate;

static uint64_t now_of(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The narrowest of a few tries: any of them may be interrupted. */
static struct gpu_clock_pair read_pair(unsigned which)
{
	struct gpu_clock_pair best = { .width = UINT64_MAX };

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t before = opencl_now(), device = now_of(named[which]), after = opencl_now();

		if (after - before < best.width)
			best = (struct gpu_clock_pair){ .ticks = before + (after - before) / 2, .device = device, .width = after - before };
	}
	return best;
}

void opencl_clock_start(void)
{
	rate = (double)clock_measure_rate(inferscope_runtime.clock) / 1e9;
	for (unsigned i = 0; i < NAMED; i++)
		base[i] = read_pair(i);
}

void opencl_clock_init(struct opencl_clock *c)
{
	*c = (struct opencl_clock){ .kind = OPENCL_CLOCK_UNKNOWN, .fit.nominal = rate };
}

/* Within the call, or close to it the less far we look back. */
static bool fits(uint64_t at, uint64_t before, uint64_t after, uint64_t now)
{
	uint64_t slack = (uint64_t)(SLACK_NS * rate + SLACK_PPM * (double)(now - before));

	return (int64_t)(at - (before - slack)) >= 0 && (int64_t)(after + slack - at) >= 0;
}

/* How far the next pair is to be from the last. */
static double apart(const struct opencl_clock *c)
{
	double most = c->kind == OPENCL_CLOCK_NAMED ? APART_RAW_NS : APART_MOST_NS, ns;

	if (c->fit.count < 2)
		return APART_NS;
	ns = 1.5 / rate * (double)(int64_t)(c->fit.pairs[c->fit.count - 1].ticks - c->fit.pairs[c->fit.count - 2].ticks);
	return ns < APART_NS ? APART_NS : ns > most ? most : ns;
}

static bool add(struct opencl_clock *c, const struct gpu_clock_pair *pair, struct gpu_pair *ret)
{
	uint64_t half = pair->width / 2;

	*ret = (struct gpu_pair){ .time = pair->ticks, .width = pair->width, .device = pair->device, .fitted = pair->ticks };
	if (c->fit.count > 1)
		(void)gpu_clock_ticks(&c->fit, pair->device, &ret->fitted);
	return gpu_clock_add(&c->fit, pair->ticks - half, pair->device, pair->ticks - half + pair->width, (uint64_t)(apart(c) * rate));
}

/* The first command has ended, and says when it was put into its queue. */
static void recognise(struct opencl_clock *c, uint64_t before, uint64_t queued, uint64_t after)
{
	struct gpu_pair unused;

	c->kind = OPENCL_CLOCK_DEVICE;
	for (unsigned i = 0; i < NAMED && c->kind == OPENCL_CLOCK_DEVICE; i++) {
		struct gpu_clock_pair now = read_pair(i);
		double ago = (double)(int64_t)(now.device - queued);

		if (ago >= 0 && ago < 1e18 && fits(now.ticks - (uint64_t)(ago * rate), before, after, now.ticks)) {
			c->kind = (enum opencl_clock_kind)(OPENCL_CLOCK_NAMED + i);
			(void)add(c, &base[i], &unused);
		}
	}
}

static bool is_old(const struct opencl_clock *c, uint64_t now, double ns)
{
	return c->fit.count == 0 || (double)(int64_t)(now - c->fit.pairs[c->fit.count - 1].ticks) >= ns * rate;
}

static bool see_named(struct opencl_clock *c, uint64_t before, uint64_t queued, uint64_t after, struct gpu_pair *ret)
{
	struct gpu_clock_pair pair;
	uint64_t at = 0;
	bool kept = false;

	if (c->fit.count < 2 || is_old(c, after, apart(c))) {
		pair = read_pair((unsigned)c->kind - OPENCL_CLOCK_NAMED);
		kept = add(c, &pair, ret);
	}
	(void)gpu_clock_ticks(&c->fit, queued, &at);
	c->misses = fits(at, before, after, opencl_now()) ? 0 : c->misses + 1;
	return kept;
}

static uint64_t narrowest(const struct gpu_clock *fit)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < fit->count; i++)
		least = fit->pairs[i].width < least ? fit->pairs[i].width : least;
	return least;
}

static bool see_device(struct opencl_clock *c, uint64_t before, uint64_t queued, uint64_t after, struct gpu_pair *ret)
{
	struct gpu_clock_pair pair = { .ticks = before + (after - before) / 2, .device = queued, .width = after - before };
	uint64_t at = 0;

	if (c->fit.count) {
		(void)gpu_clock_ticks(&c->fit, queued, &at);
		c->misses = fits(at, before, after, opencl_now()) ? 0 : c->misses + 1;
		if (pair.width / WIDE > narrowest(&c->fit) && !is_old(c, before, WIDE_NS))
			return false;
	}
	return add(c, &pair, ret);
}

bool opencl_clock_wants(const struct opencl_clock *c, uint64_t now)
{
	return c->kind < OPENCL_CLOCK_NAMED || c->misses || (double)(int64_t)(now - c->seen) >= LOOK_NS * rate;
}

bool opencl_clock_see(struct opencl_clock *c, uint64_t before, uint64_t queued, uint64_t after, struct gpu_pair *ret)
{
	c->seen = before;
	if (c->misses > MISSES_MOST)
		opencl_clock_init(c);
	if (c->kind == OPENCL_CLOCK_UNKNOWN)
		recognise(c, before, queued, after);
	if (c->kind >= OPENCL_CLOCK_NAMED)
		return see_named(c, before, queued, after, ret);
	return see_device(c, before, queued, after, ret);
}
