/* outside_list.c - processes and threads of a snapshot, and the sums over all of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "live/outside_parts.h"

#define LOADER_S 10.0 /* over which it is told how busy workers of a DataLoader are */
#define LOADER_NAME "pt_data_worker" /* PyTorch's, for the main thread of each */
#define NAMES_A_FILL 32u /* threads whose names are read: it takes 10 us each */

static double value_of(const struct outside_process *p, enum process_counter c)
{
	return p->now.counters.known >> c & 1 ? (double)p->now.counters.values[c] : NAN;
}

/* ---- Order ------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct outside_rank *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* In hundredths: a list that jumps with every look cannot be read. */
static double rounded(double rank)
{
	return rint(rank * 100);
}

static size_t rank_processes(struct live_outside *o)
{
	struct outside_tree *tree = &o->tree;

	if (ARRAY_GROW(tree->order, tree->order_capacity, tree->process_count) != 0)
		return 0;
	for (uint32_t i = 0; i < tree->process_count; i++) {
		const struct outside_process *p = &tree->processes[i];

		tree->order[i] = (struct outside_rank){ p->now.pid == o->root ? INFINITY : rounded(p->rank), p->now.number, i };
	}
	if (tree->process_count > 1)
		qsort(tree->order, tree->process_count, sizeof *tree->order, compare);
	return tree->process_count;
}

static size_t rank_threads(struct live_outside *o)
{
	struct outside_tree *tree = &o->tree;

	if (ARRAY_GROW(tree->order, tree->order_capacity, tree->thread_count) != 0)
		return 0;
	for (uint32_t i = 0; i < tree->thread_count; i++) {
		const struct outside_thread *t = &tree->threads[i];

		tree->order[i] = (struct outside_rank){ t->now.tid == o->root ? INFINITY : rounded(t->rank), t->now.number, i };
	}
	if (tree->thread_count > 1)
		qsort(tree->order, tree->thread_count, sizeof *tree->order, compare);
	return tree->thread_count;
}

/* ---- Lists ------------------------------------------------------------------- */

static void fill_process(const struct outside_process *p, struct live_process *ret)
{
	*ret = (struct live_process){
		.pid = p->now.pid,
		.parent = p->now.parent,
		.state = p->now.counters.state,
		.threads = (uint32_t)p->now.counters.values[PROCESS_THREADS],
		.cpu = p->cpu,
		.rss_bytes = value_of(p, PROCESS_RSS_BYTES),
		.read_bytes = p->read_bytes,
		.written_bytes = p->written_bytes,
		.recorded = p->recorded,
	};
	memcpy(ret->name, p->name, sizeof ret->name);
}

static void fill_processes(struct live_outside *o, int64_t now_ns, struct live_snapshot *s)
{
	size_t count = rank_processes(o), shown = count < LIVE_PROCESSES ? count : LIVE_PROCESSES;

	for (size_t i = 0; i < shown; i++) {
		struct outside_process *p = &o->tree.processes[o->tree.order[i].index];

		outside_name_process(p, now_ns);
		fill_process(p, &s->processes[i]);
	}
	s->process_count = (uint32_t)shown;
	s->processes_left_out = (uint32_t)(o->tree.process_count - shown);
}

static void fill_thread(const struct live_outside *o, const struct outside_thread *t, uint64_t now, struct live_thread *ret)
{
	const struct wait_object *object = &t->now.object;

	*ret = (struct live_thread){ .pid = t->now.pid, .tid = t->now.tid, .cpu = t->cpu, .queue = t->queue, .blocked = t->blocked };
	memcpy(ret->name, t->name, sizeof ret->name);
	ret->waiting_s = NAN;
	if (object->state == THREAD_STATE_COUNT)
		return;
	strncpy(ret->state, thread_state_name(object->state), sizeof ret->state - 1);
	memcpy(ret->what, object->what, strnlen(object->what, sizeof ret->what - 1));
	ret->waiting_s = now > t->now.since ? (double)(now - t->now.since) * o->tick_s : 0;
}

static void fill_threads(struct live_outside *o, int64_t now_ns, struct live_snapshot *s)
{
	size_t count = rank_threads(o), shown = count < LIVE_THREADS ? count : LIVE_THREADS;
	uint64_t now = clock_ticks(o->clock);
	unsigned names = 0;

	for (size_t i = 0; i < shown; i++) {
		struct outside_thread *t = &o->tree.threads[o->tree.order[i].index];

		if (names < NAMES_A_FILL)
			names += outside_name_thread(t, now_ns);
		fill_thread(o, t, now, &s->threads[i]);
	}
	s->thread_count = (uint32_t)shown;
	s->threads_left_out += (uint32_t)(o->tree.thread_count - shown);
}

/* ---- Sums -------------------------------------------------------------------- */

/* Of one that has ended nothing is left. */
static bool has_ended(const struct outside_process *p)
{
	return p->now.leader_ended && p->now.counters.values[PROCESS_THREADS] <= 1;
}

static void sum_process(const struct outside_process *p, struct live_snapshot *s)
{
	outside_add(&s->cpu.share, p->cpu);
	outside_add(&s->cpu.user, p->cpu * p->user);
	outside_add(&s->cpu.system, p->cpu * (1 - p->user));
	outside_add(&s->memory.rss_bytes, value_of(p, PROCESS_RSS_BYTES));
	outside_add(&s->memory.shared_bytes, value_of(p, PROCESS_SHARED_BYTES));
	outside_add(&s->memory.swap_bytes, value_of(p, PROCESS_SWAP_BYTES));
	outside_add(&s->memory.held_bytes, has_ended(p) ? NAN : value_of(p, PROCESS_HELD_BYTES));
	outside_add(&s->memory.virtual_bytes, (double)p->now.counters.virtual_bytes);
	outside_add(&s->memory.minor_faults, p->minor_faults);
	outside_add(&s->memory.major_faults, p->major_faults);
	outside_add(&s->io.read_bytes, p->read_bytes);
	outside_add(&s->io.written_bytes, p->written_bytes);
	outside_add(&s->io.read_chars, p->read_chars);
	outside_add(&s->io.written_chars, p->written_chars);
	outside_add(&s->io.read_calls, p->read_calls);
	outside_add(&s->io.write_calls, p->write_calls);
}

/* What they share is divided among them: where the part of one is not known, the sum says nothing. */
static double sum_pss(const struct live_outside *o)
{
	double sum = NAN;

	for (size_t i = 0; i < o->tree.process_count; i++) {
		const struct outside_process *p = &o->tree.processes[i];
		double bytes = value_of(p, PROCESS_PSS_BYTES);

		if (has_ended(p))
			continue;
		if (isnan(bytes))
			return NAN;
		outside_add(&sum, bytes);
	}
	return sum;
}

static void sum_processes(const struct live_outside *o, struct live_snapshot *s)
{
	s->cpu.share = s->cpu.user = s->cpu.system = NAN;
	s->memory.rss_bytes = s->memory.shared_bytes = s->memory.swap_bytes = s->memory.held_bytes = s->memory.virtual_bytes = NAN;
	s->memory.minor_faults = s->memory.major_faults = NAN;
	s->io.read_bytes = s->io.written_bytes = s->io.read_chars = s->io.written_chars = s->io.read_calls = s->io.write_calls = NAN;
	for (size_t i = 0; i < o->tree.process_count; i++)
		sum_process(&o->tree.processes[i], s);
	s->memory.pss_bytes = sum_pss(o);
}

/* A terminal is a file, too, but nothing to wait for. */
static bool waits_for_file(const struct outside_thread *t)
{
	const struct wait_object *o = &t->now.object;

	if (o->state == THREAD_FILE)
		return strncmp(o->what, "/dev/", 5) != 0;
	return o->state == THREAD_FSYNC || o->state == THREAD_PAGE_FAULT_IO;
}

/* A worker that has nothing to do waits for a pipe, or polls it, until it is told what to fetch.  Where it is at one moment is chance,
 * with few workers more so. */
static void judge_workers(struct live_outside *o, uint32_t idle, int64_t now_ns, struct live_snapshot *s)
{
	double now, passed = o->loader_ns ? (double)(now_ns - o->loader_ns) / 1e9 : INFINITY;

	s->loader_busy = NAN;
	if (s->loader_workers == 0) {
		o->loader_ns = 0;
		return;
	}
	now = 1 - (double)idle / s->loader_workers;
	o->loader_busy = isinf(passed) ? now : o->loader_busy + (now - o->loader_busy) * passed / (passed + LOADER_S);
	o->loader_ns = now_ns;
	s->loader_busy = o->loader_busy;
}

static bool is_worker(const struct outside_thread *t)
{
	return t->now.main && t->now.object.state != THREAD_STATE_COUNT && strcmp(t->name, LOADER_NAME) == 0;
}

/* What threads wait for is not known where it may not be seen.  That a thread is seen to wait for the interpreter is as likely as it
 * does: the sum over all looks is the time. */
static void sum_threads(struct live_outside *o, int64_t now_ns, struct live_snapshot *s)
{
	uint32_t idle = 0;
	bool seen = false;

	s->cpu.queue = NAN;
	s->io.waiting = s->cpu.gil_wait = 0;
	s->loader_workers = 0;
	for (size_t i = 0; i < o->tree.process_count; i++)
		seen = seen || o->tree.processes[i].now.syscalls;
	for (size_t i = 0; i < o->tree.thread_count; i++) {
		const struct outside_thread *t = &o->tree.threads[i];

		outside_add(&s->cpu.queue, t->queue);
		s->cpu.gil_wait += t->now.object.state == THREAD_GIL;
		s->loader_workers += is_worker(t);
		idle += is_worker(t) && (t->now.object.state == THREAD_PIPE || t->now.object.state == THREAD_POLL);
		if (waits_for_file(t))
			s->io.waiting += isnan(t->blocked) ? 1 : t->blocked;
	}
	if (!seen) {
		s->io.waiting = s->cpu.gil_wait = NAN;
		s->loader_workers = 0;
	}
	judge_workers(o, idle, now_ns, s);
}

void outside_list_fill(struct live_outside *o, int64_t now_ns, struct live_snapshot *s)
{
	fill_processes(o, now_ns, s);
	fill_threads(o, now_ns, s);
	sum_processes(o, s);
	sum_threads(o, now_ns, s);
}
