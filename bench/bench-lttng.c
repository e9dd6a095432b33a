/*
 * bench-lttng.c - bursts of LTTng-UST events, as bench-event makes them of ours.
 *
 *      bench-lttng COUNT
 *
 * Run while an LTTng session records inferscope_bench:event (bench/lttng.py).
 * It stays on one CPU, since LTTng has a buffer for each, and the first bursts,
 * which are not counted, go once through all of it: so it is measured at its
 * best, as ours is.
 */
#include <sched.h>
#include <stdlib.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/lttng-event.h"

#include "bench/timing.h"

#define BURST 40000u
#define PAUSE_MS 50 /* LTTng's reader is woken by each full sub-buffer */
#define WARM_UP 5u
#define COUNT_MAX 1000u

static double burst(void)
{
	double start = thread_ns();

	for (unsigned i = 0; i < BURST / 2; i++) {
		lttng_ust_tracepoint(inferscope_bench, event, 0, 2);
		lttng_ust_tracepoint(inferscope_bench, event, 0, 0);
	}
	return (thread_ns() - start) / BURST;
}

static void stay_on_this_cpu(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	CPU_SET(cpu < 0 ? 0 : cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
}

int main(int argc, char **argv)
{
	static double cost[COUNT_MAX];
	unsigned count = argc == 2 ? (unsigned)atoi(argv[1]) : 0;

	if (count == 0 || count > COUNT_MAX) {
		fprintf(stderr, "usage: bench-lttng COUNT (up to %u)\n", COUNT_MAX);
		return 2;
	}
	if (!lttng_ust_tracepoint_enabled(inferscope_bench, event)) {
		fprintf(stderr, "bench-lttng: no LTTng session records inferscope_bench:event\n");
		return 1;
	}
	stay_on_this_cpu();
	for (unsigned i = 0; i < WARM_UP + count; i++) {
		wake_up();
		cost[i < WARM_UP ? 0 : i - WARM_UP] = burst();
		pause_ms(PAUSE_MS);
	}
	print_values("peer", cost, count);
	print_count("events", BURST * (WARM_UP + count));
	return 0;
}
