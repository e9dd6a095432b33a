/* watch_memory.c - what the kernel has to walk all the memory of a process for: rarely, for what it costs.  Of the first process
 * for the trace, and of all of them, one after the other, for who looks on. */
#include <time.h>

#include "record/watch_state.h"

#define MEMORY_FIRST_NS 1000000000 /* when memory is first walked: a program has begun by then */
#define MEMORY_NS 10000000000      /* and how often */
#define MEMORY_DEAR_NS 5000000     /* of processor time */
#define MEMORY_DEAR_BYTES (256u << 20) /* that are likely to take so long, until it is known better */
#define VIEW_NS 5000000000         /* of all processes: how often, where there is time for it, */
#define VIEW_PARTS 1000            /* of which it takes one part in so many, */
#define VIEW_SAVED_NS 20000000000  /* those of so much time at once if it took none in it */
#define VIEW_REST_NS 600000000000  /* of one that is too dear */

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- Of the first process ------------------------------------------------------ */

static bool is_due(const struct watch *w, const struct rare_read *rare, uint64_t rss)
{
	int64_t now = now_ns(CLOCK_MONOTONIC);

	return rare_read_due(rare, now, rss) || (w->last && rare_read_due_at_end(rare, now, rss));
}

static void count_cost(struct rare_read *rare, int64_t begin, uint64_t rss)
{
	rare_read_took(rare, now_ns(CLOCK_MONOTONIC), now_ns(CLOCK_THREAD_CPUTIME_ID) - begin, rss);
}

static void look_at_pss(struct watch *w, struct watched_process *p, struct process_counters *counters)
{
	uint64_t rss = counters->values[PROCESS_RSS_BYTES], bytes;
	int64_t begin;

	if (!is_due(w, &w->pss_reads, rss))
		return;
	begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
	if (process_memory_pss(p->pid, &bytes) == 0)
		process_counters_set(counters, PROCESS_PSS_BYTES, bytes);
	count_cost(&w->pss_reads, begin, rss);
	p->pss_reads.next_ns = now_ns(CLOCK_MONOTONIC) + VIEW_NS; /* keep_counters() has it from here */
}

/* A node that no memory lies on any longer has none: that is a change too. */
static void put_numa(struct watch *w, const struct watched_process *p, const struct numa_memory *now)
{
	uint64_t nodes = now->nodes | w->numa.nodes, ticks = clock_ticks(w->clock);

	for (unsigned i = 0; i < NUMA_NODES; i++) {
		const struct watch_record record = {
			.kind = WATCH_NUMA, .counter = (uint8_t)i, .time = ticks, .value = now->bytes[i]
		};

		if (nodes >> i & 1 && !(w->numa.nodes >> i & 1 && w->numa.bytes[i] == now->bytes[i]))
			watch_put_process(w, p, &record);
	}
	w->numa = *now;
	w->numa.nodes = nodes;
}

static void look_at_numa(struct watch *w, const struct watched_process *p, uint64_t rss)
{
	struct numa_memory memory;
	int64_t begin;

	if (!is_due(w, &w->numa_reads, rss))
		return;
	begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
	if (process_memory_numa(p->pid, &memory) == 0)
		put_numa(w, p, &memory);
	count_cost(&w->numa_reads, begin, rss);
}

void watch_memory_look(struct watch *w, struct watched_process *p, struct process_counters *counters)
{
	look_at_pss(w, p, counters);
	look_at_numa(w, p, counters->values[PROCESS_RSS_BYTES]);
}

/* ---- Of all processes ---------------------------------------------------------- */

struct rare_read watch_memory_reads(int64_t next_ns)
{
	return (struct rare_read){
		.every_ns = MEMORY_NS,
		.dear_ns = MEMORY_DEAR_NS,
		.next_ns = next_ns,
		.cost_ns = MEMORY_DEAR_NS,
		.size = MEMORY_DEAR_BYTES,
	};
}

static struct watched_process *longest_unread(const struct watch *w)
{
	struct watched_process *ret = NULL;

	for (size_t i = 0; i < w->process_count; i++) {
		struct watched_process *p = w->processes[i];

		if (!p->leader_ended && !p->gone && (!ret || p->pss_reads.next_ns < ret->pss_reads.next_ns))
			ret = p;
	}
	return ret;
}

/* One that is too dear, or may not be read, is not known.  The pace of threads does not pay for this. */
static void view_pss(struct watch *w, struct watched_process *p, int64_t now)
{
	uint64_t rss = p->now.values[PROCESS_RSS_BYTES], bytes;
	int64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID), cost;

	p->now.known &= ~(1u << PROCESS_PSS_BYTES);
	if (!rare_read_bearable(&p->pss_reads, rss)) {
		p->pss_reads = watch_memory_reads(now + VIEW_REST_NS); /* what it cost once may have been bad luck */
		return;
	}
	if (process_memory_pss(p->pid, &bytes) == 0) {
		process_counters_set(&p->now, PROCESS_PSS_BYTES, bytes);
		cost = now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
		rare_read_took(&p->pss_reads, now, cost, rss);
		if (w->next_pss_ns < now - VIEW_SAVED_NS)
			w->next_pss_ns = now - VIEW_SAVED_NS;
		w->next_pss_ns += cost * VIEW_PARTS;
		w->cpu_mark_ns += (uint64_t)cost;
	}
	p->pss_reads.next_ns = now + VIEW_NS;
}

void watch_memory_pass(struct watch *w)
{
	int64_t now = now_ns(CLOCK_MONOTONIC);
	struct watched_process *p;

	if (!w->options.views || w->last || now < w->first_pss_ns || now < w->next_pss_ns)
		return;
	p = longest_unread(w);
	if (p && now >= p->pss_reads.next_ns)
		view_pss(w, p, now);
}

/* ---- Beginning ------------------------------------------------------------------- */

void watch_memory_start(struct watch *w)
{
	int64_t first_ns = now_ns(CLOCK_MONOTONIC) + MEMORY_FIRST_NS;

	w->first_pss_ns = first_ns;
	w->pss_reads = w->numa_reads = watch_memory_reads(first_ns);
	if (numa_node_count() < 2)
		w->numa_reads.next_ns = INT64_MAX; /* it would say what rss_bytes says */
}
