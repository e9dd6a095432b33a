/*
 * clock.c - CUPTI's times on our clock.
 *
 * From CUDA 11.6 on CUPTI takes its times from a function of ours, which returns
 * ticks: then what is in a record is what goes into the trace.  Before, and where
 * that fails, times are those of cuptiGetTimestamp(), the system's clock, which
 * somebody may set.  Pairs of readings of both clocks give a line; where the line
 * breaks, another one begins.
 */
#include "cuda/cuda.h"
#include "gpu/gpu_clock.h"

#define TRIES 5u              /* of which the narrowest counts */
#define APART_NS 20000000     /* between pairs */
#define BREAK_NS 200000       /* farther from where it was expected: the clock was set */
#define SECONDS_OFF 600       /* a time that is farther than this from the time in which we record is none */

static struct clock_state {
	bool by_us; /* CUPTI asks us for the time */
	double rate; /* ticks a nanosecond */
	struct gpu_clock now, before; /* before the clock was set */
	uint64_t set_at; /* ticks, when it was last seen to have been; 0: never */
} *clock_state;

static _Atomic bool yielded;
static _Atomic bool anew;

static uint64_t ticks(void)
{
	return clock_ticks(inferscope_runtime.clock);
}

/* An heir may come much later: its present is when the program was last heard of. */
static uint64_t present(void)
{
	return cuda_door->inherited ? atomic_load(&cuda_door->looked) : ticks();
}

static uint64_t stamp(void)
{
	struct timespec ts;

	if (!atomic_load_explicit(&yielded, memory_order_relaxed))
		return ticks();
	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void cuda_clock_yield(void)
{
	atomic_store_explicit(&yielded, true, memory_order_relaxed);
}

bool cuda_clock_map(void)
{
	clock_state = cuda_memory_take(sizeof *clock_state);
	return clock_state != NULL;
}

bool cuda_clock_sound(void)
{
	return clock_state->now.count <= GPU_CLOCK_PAIRS && clock_state->before.count <= GPU_CLOCK_PAIRS;
}

void cuda_clock_open(void)
{
	clock_state->by_us = cuda_set_clock(stamp) == 0;
	clock_state->rate = (double)clock_measure_rate(inferscope_runtime.clock) / 1e9;
	clock_state->now.nominal = clock_state->rate;
}

uint64_t cuda_clock_ticks(uint64_t ns)
{
	return (uint64_t)((double)ns * clock_state->rate);
}

/* ---- Pairs --------------------------------------------------------------------------- */

static bool read_pair(struct gpu_clock_pair *ret)
{
	*ret = (struct gpu_clock_pair){ .width = UINT64_MAX };
	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t before = ticks(), device = 0, width;

		if (cuda_now(&device) != 0)
			return false;
		width = ticks() - before;
		if (width < ret->width)
			*ret = (struct gpu_clock_pair){ .ticks = before + width / 2, .device = device, .width = width };
	}
	return true;
}

static void break_line(uint64_t at)
{
	clock_state->before = clock_state->now;
	clock_state->now = (struct gpu_clock){ .nominal = clock_state->rate };
	clock_state->set_at = at;
}

void cuda_clock_anew(void)
{
	atomic_store(&anew, true);
}

void cuda_clock_look(struct runtime_thread *t)
{
	struct gpu_clock_pair pair;
	uint64_t expected, off, begin;

	if (clock_state->by_us || !read_pair(&pair))
		return;
	if (atomic_exchange(&anew, false))
		break_line(pair.ticks);
	if (!gpu_clock_ticks(&clock_state->now, pair.device, &expected))
		expected = pair.ticks;
	off = expected > pair.ticks ? expected - pair.ticks : pair.ticks - expected;
	if ((double)off > BREAK_NS * clock_state->rate)
		break_line(pair.ticks);
	begin = pair.ticks - pair.width / 2;
	(void)gpu_clock_add(&clock_state->now, begin, pair.device, begin + pair.width, (uint64_t)(APART_NS * clock_state->rate));
	cuda_places_pair(t, &(struct gpu_pair){ pair.ticks, pair.width, pair.device, expected });
}

/* ---- Times ---------------------------------------------------------------------------- */

/* On the line of now or on the one before, whichever gives the later time that can be: records come soon after what they
 * tell of. */
static bool fitted(uint64_t stamp, uint64_t *ret)
{
	uint64_t now, before;
	bool future;

	if (!gpu_clock_ticks(&clock_state->now, stamp, &now))
		return false;
	*ret = now;
	if (!clock_state->set_at || !gpu_clock_ticks(&clock_state->before, stamp, &before))
		return true;
	if ((int64_t)(before - clock_state->set_at) >= 0)
		return true;
	future = (int64_t)(now - present()) > 0;
	if (future || ((int64_t)(now - clock_state->set_at) < 0 && (int64_t)(before - now) > 0))
		*ret = before;
	return true;
}

bool cuda_time(uint64_t stamp, uint64_t *ret)
{
	int64_t off = (int64_t)(SECONDS_OFF * 1e9 * clock_state->rate);
	uint64_t at = stamp;

	if (!stamp || (!clock_state->by_us && !fitted(stamp, &at)))
		return false;
	if ((int64_t)(at - cuda_door->opened) < -off || (int64_t)(at - present()) > off)
		return false;
	*ret = at;
	return true;
}

bool cuda_times(uint64_t start, uint64_t end, struct gpu_work *ret)
{
	uint64_t from, to;

	if (!cuda_time(start, &from))
		return false;
	if (end == 0) {
		to = present();
		to = (int64_t)(to - from) < 0 ? from : to;
	} else if (!cuda_time(end, &to)) {
		return false;
	}
	if ((int64_t)(to - from) < 0)
		return false;
	ret->begin = from;
	ret->duration = to - from;
	return true;
}
