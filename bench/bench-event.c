/*
 * bench-event.c - what an event costs the program that is recorded.
 *
 *      bench-event floor PAIRS       bursts of scopes; and of the least an event can cost
 *      bench-event bursts COUNT      bursts of scopes alone, to hold against bench-lttng
 *      bench-event threads PAIRS     bursts in two threads at once; and in one at a time
 *      bench-event disabled PAIRS    calls without a recorder; and an empty loop
 *
 * All but the last run under `inferscope run`.  Scopes are written as a user
 * writes them, with the public header alone.  Each mode prints nanoseconds an
 * event, burst by burst, as JSON lines, and how many events should be in the
 * trace.
 *
 * A burst fits the ring, and the pause after it is longer than the recorder
 * takes to have all of it on disk.  The first bursts are not counted: they
 * lease the ring's chunks, and the kernel zeroes those pages, which costs more
 * than a thousand events.  A thread that goes on recording reuses its chunks.
 */
#include <inferscope.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bench/timing.h"

#define BURST 40000u /* events; 1.25 MB of ring */
#define PAUSE_MS 300 /* the recorder flushes every 250 */
#define WARM_UP 2u   /* bursts */
#define PAIRS_MAX 1000u
#define CALLS 2000000u

static double scopes_burst(void)
{
	double start = thread_ns();

	for (unsigned i = 0; i < BURST / 2; i++) {
		inferscope_scope_begin("burst");
		inferscope_scope_end();
	}
	return (thread_ns() - start) / BURST;
}

/* ---- The least an event can cost: read the clock, store 32 bytes, publish ---- */

#define FLOOR_SLOTS 65536u

struct floor_slot {
	uint64_t time, value, names, rest;
};
struct floor_ring {
	struct floor_slot *slots;
	_Atomic uint64_t head;
};

static uint64_t ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#else
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
#endif
}

static inline void floor_event(struct floor_ring *ring, uint64_t rest)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	ring->slots[head % FLOOR_SLOTS] = (struct floor_slot){ ticks(), 0, 2, rest };
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

static double floor_burst(struct floor_ring *ring)
{
	double start = thread_ns();

	for (unsigned i = 0; i < BURST / 2; i++) {
		floor_event(ring, 1);
		floor_event(ring, 2);
	}
	return (thread_ns() - start) / BURST;
}

/* Which of the two goes first changes from pair to pair. */
static void measure_pair(struct floor_ring *ring, int floor_first, double *ret_ours, double *ret_floor)
{
	wake_up();
	if (floor_first)
		*ret_floor = floor_burst(ring);
	*ret_ours = scopes_burst();
	if (!floor_first)
		*ret_floor = floor_burst(ring);
	pause_ms(PAUSE_MS);
}

static int run_floor(unsigned pairs)
{
	static double ours[PAIRS_MAX], peer[PAIRS_MAX];
	struct floor_ring ring = { .slots = calloc(FLOOR_SLOTS, sizeof *ring.slots) };

	if (!ring.slots)
		return 1;
	for (unsigned i = 0; i < FLOOR_SLOTS; i++)
		floor_event(&ring, 0);
	for (unsigned i = 0; i < WARM_UP; i++)
		measure_pair(&ring, 0, ours, peer);
	for (unsigned i = 0; i < pairs; i++)
		measure_pair(&ring, i % 2, ours + i, peer + i);
	print_values("ours", ours, pairs);
	print_values("peer", peer, pairs);
	print_count("events", BURST * (WARM_UP + pairs));
	free(ring.slots);
	return 0;
}

static int run_bursts(unsigned count)
{
	static double ours[PAIRS_MAX];

	for (unsigned i = 0; i < WARM_UP + count; i++) {
		wake_up();
		ours[i < WARM_UP ? 0 : i - WARM_UP] = scopes_burst();
		pause_ms(PAUSE_MS);
	}
	print_values("ours", ours, count);
	print_count("events", BURST * (WARM_UP + count));
	return 0;
}

/* ---- Two threads -------------------------------------------------------------- */

/* Each round says who takes part: bit 0 the first thread, bit 1 the second.  Both wait for all three at its ends. */
struct team {
	pthread_barrier_t barrier;
	unsigned active; /* 0: the end */
	atomic_uint ready;
	double cost[2];
};

struct member {
	struct team *team;
	unsigned index;
	int cpu;
	pthread_t thread;
};

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/* Spins until all who take part do, so that their bursts run at the same time. */
static void meet(struct team *team)
{
	unsigned wanted = (unsigned)__builtin_popcount(team->active);

	wake_up();
	atomic_fetch_add(&team->ready, 1);
	while (atomic_load(&team->ready) < wanted)
		;
}

static void *member_main(void *arg)
{
	struct member *m = arg;

	pin(m->cpu);
	for (;;) {
		pthread_barrier_wait(&m->team->barrier);
		if (!m->team->active)
			return NULL;
		if (m->team->active & 1u << m->index) {
			meet(m->team);
			m->team->cost[m->index] = scopes_burst();
		}
		pthread_barrier_wait(&m->team->barrier);
	}
}

static void play_round(struct team *team, unsigned active)
{
	team->active = active;
	atomic_store(&team->ready, 0);
	pthread_barrier_wait(&team->barrier);
	if (!active)
		return;
	pthread_barrier_wait(&team->barrier);
	pause_ms(PAUSE_MS);
}

/* Cost of both together, and of each alone: two CPUs are not always equally fast. */
static void measure_team(struct team *team, double *ret_two, double *ret_one)
{
	play_round(team, 3);
	*ret_two = (team->cost[0] + team->cost[1]) / 2;
	play_round(team, 1);
	play_round(team, 2);
	*ret_one = (team->cost[0] + team->cost[1]) / 2;
}

/* The first two CPUs that we may use. */
static int two_cpus(struct member *members)
{
	cpu_set_t set;
	unsigned found = 0;

	if (sched_getaffinity(0, sizeof set, &set) != 0)
		return -1;
	for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			members[found++].cpu = cpu;
	return found == 2 ? 0 : -1;
}

static int run_threads(unsigned pairs)
{
	static double two[PAIRS_MAX], one[PAIRS_MAX];
	struct team team = { .active = 0 };
	struct member members[2] = { { .team = &team, .index = 0 }, { .team = &team, .index = 1 } };

	if (two_cpus(members) != 0) {
		fprintf(stderr, "bench-event: two threads need two CPUs\n");
		return 77;
	}
	pthread_barrier_init(&team.barrier, NULL, 3);
	for (unsigned i = 0; i < 2; i++)
		if (pthread_create(&members[i].thread, NULL, member_main, &members[i]) != 0)
			return 1;
	for (unsigned i = 0; i < WARM_UP; i++)
		measure_team(&team, two, one);
	for (unsigned i = 0; i < pairs; i++)
		measure_team(&team, two + i, one + i);
	play_round(&team, 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(members[i].thread, NULL);
	print_values("ours", two, pairs);
	print_values("peer", one, pairs);
	print_count("events", 4 * BURST * (WARM_UP + pairs));
	return 0;
}

/* ---- Without a recorder -------------------------------------------------------- */

/* The compiler may keep nothing in registers over this, so that each call looks for itself. */
#define FORGET() __asm__ volatile("" ::: "memory")

static double calls_ns(void)
{
	double start = thread_ns();

	for (unsigned i = 0; i < CALLS / 2; i++) {
		FORGET();
		inferscope_scope_begin("off");
		FORGET();
		inferscope_scope_end();
	}
	return (thread_ns() - start) / CALLS;
}

static double empty_ns(void)
{
	double start = thread_ns();

	for (unsigned i = 0; i < CALLS / 2; i++) {
		FORGET();
		FORGET();
	}
	return (thread_ns() - start) / CALLS;
}

static int run_disabled(unsigned pairs)
{
	static double ours[PAIRS_MAX], peer[PAIRS_MAX];

	wake_up();
	for (unsigned i = 0; i < pairs; i++) {
		ours[i] = calls_ns();
		peer[i] = empty_ns();
	}
	print_values("ours", ours, pairs);
	print_values("peer", peer, pairs);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(unsigned);
		int recorded;
	} modes[] = {
		{ "floor", run_floor, 1 },
		{ "bursts", run_bursts, 1 },
		{ "threads", run_threads, 1 },
		{ "disabled", run_disabled, 0 },
	};
	unsigned count = argc == 3 ? (unsigned)atoi(argv[2]) : 0;

	for (size_t i = 0; i < sizeof modes / sizeof *modes && count > 0 && count <= PAIRS_MAX; i++) {
		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		if (inferscope_enabled() == modes[i].recorded)
			return modes[i].run(count);
		fprintf(stderr, "bench-event: %s is measured %s a recorder\n", argv[1],
			modes[i].recorded ? "with" : "without");
		return 1;
	}
	fprintf(stderr, "usage: bench-event floor|bursts|threads|disabled COUNT (up to %u)\n", PAIRS_MAX);
	return 2;
}
