/* outside_tree.c - processes and threads, and how fast what is counted of each grows: what changed between two views. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "live/outside_parts.h"

#define SHORT_S 0.02     /* readings that are closer say nothing yet */
#define SPLIT_S 1.0      /* over which user and system time are told apart */
#define RANK_PART 0.2    /* of what is new */

/* ---- By number ------------------------------------------------------------------ */

typedef uint32_t number_of(const struct outside_tree *tree, uint32_t index);

/* Numbers are given one after the other, so most find their own slot free. */
static uint32_t *find_slot(const struct outside_tree *tree, uint32_t number, number_of *number_at)
{
	size_t mask = tree->slot_capacity - 1, at = number & mask;

	while (tree->slots[at] && number_at(tree, tree->slots[at] - 1) != number)
		at = (at + 1) & mask;
	return &tree->slots[at];
}

static uint32_t old_process_number(const struct outside_tree *tree, uint32_t index)
{
	return tree->old_processes[index].now.number;
}

static uint32_t old_thread_number(const struct outside_tree *tree, uint32_t index)
{
	return tree->old_threads[index].now.number;
}

/* A table of twice as many slots as there are, all free; false when there is no memory for it. */
static bool clear_slots(struct outside_tree *tree, size_t count)
{
	size_t capacity = 64;

	while (capacity < 2 * count)
		capacity *= 2;
	if (capacity > tree->slot_capacity) {
		uint32_t *slots = realloc(tree->slots, capacity * sizeof *slots);

		if (!slots)
			return false;
		tree->slots = slots;
		tree->slot_capacity = capacity;
	}
	memset(tree->slots, 0, tree->slot_capacity * sizeof *tree->slots);
	return true;
}

static bool index_old(struct outside_tree *tree, size_t count, number_of *number_at)
{
	if (!clear_slots(tree, count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		*find_slot(tree, number_at(tree, i), number_at) = i + 1;
	return true;
}

/* Where it stands: by what it used of late, from the first time that this is known. */
static double rank(double rank_before, double cpu_before, double cpu)
{
	if (isnan(cpu))
		return rank_before;
	return isnan(cpu_before) ? cpu : rank_before + RANK_PART * (cpu - rank_before);
}

/* ---- Processes --------------------------------------------------------------- */

/* NAN where either reading does not know. */
static double rate_of(const struct outside_process *old, const struct watched_process_view *now, enum process_counter c,
		      double seconds)
{
	if (!(old->now.counters.known >> c & 1) || !(now->counters.known >> c & 1))
		return NAN;
	return outside_rate(now->counters.values[c], old->now.counters.values[c], seconds);
}

static void split(struct outside_process *p, double tick_s)
{
	const uint64_t *v = p->now.counters.values;
	double user, system;

	if (p->mark_time && (double)(p->now.time - p->mark_time) * tick_s < SPLIT_S)
		return;
	user = outside_rate(v[PROCESS_USER_NS], p->mark_user_ns, 1);
	system = outside_rate(v[PROCESS_SYSTEM_NS], p->mark_system_ns, 1);
	if (user + system > 0)
		p->user = user / (user + system);
	p->mark_user_ns = v[PROCESS_USER_NS];
	p->mark_system_ns = v[PROCESS_SYSTEM_NS];
	p->mark_time = p->now.time;
}

static double cpu_rate(const struct outside_process *old, const struct watched_process_view *now, double seconds, double most)
{
	double cpu = NAN;

	if (now->cpu_ns != UINT64_MAX && old->now.cpu_ns != UINT64_MAX)
		cpu = outside_rate(now->cpu_ns, old->now.cpu_ns, seconds) / 1e9;
	return cpu > most ? most : cpu;
}

/* Bytes and calls are not read every time. */
static void renew_io(struct outside_process *p, const struct watched_process_view *now, double tick_s)
{
	double seconds = now->io_time > p->now.io_time ? (double)(now->io_time - p->now.io_time) * tick_s : 0;
	const struct outside_process old = *p;

	if (seconds < SHORT_S)
		return;
	p->read_bytes = rate_of(&old, now, PROCESS_READ_BYTES, seconds);
	p->written_bytes = rate_of(&old, now, PROCESS_WRITTEN_BYTES, seconds);
	p->read_chars = rate_of(&old, now, PROCESS_READ_CHARS, seconds);
	p->written_chars = rate_of(&old, now, PROCESS_WRITTEN_CHARS, seconds);
	p->read_calls = rate_of(&old, now, PROCESS_READ_CALLS, seconds);
	p->write_calls = rate_of(&old, now, PROCESS_WRITE_CALLS, seconds);
}

static void renew_process(struct outside_process *p, const struct watched_process_view *now, double tick_s, double most)
{
	double seconds = now->time > p->now.time ? (double)(now->time - p->now.time) * tick_s : 0;
	const struct outside_process old = *p;

	if (seconds < SHORT_S)
		return;
	renew_io(p, now, tick_s);
	p->cpu = cpu_rate(&old, now, seconds, most);
	p->minor_faults = rate_of(&old, now, PROCESS_MINOR_FAULTS, seconds);
	p->major_faults = rate_of(&old, now, PROCESS_MAJOR_FAULTS, seconds);
	p->rank = rank(p->rank, old.cpu, p->cpu);
	p->now = *now;
	split(p, tick_s);
}

static void begin_process(const struct outside_time *t, struct outside_process *p, const struct watched_process_view *now, double tick_s)
{
	*p = (struct outside_process){ .now = *now, .cpu = NAN, .user = 1 };
	p->minor_faults = p->major_faults = NAN;
	p->read_bytes = p->written_bytes = p->read_chars = p->written_chars = p->read_calls = p->write_calls = NAN;
	split(p, tick_s);
	outside_time_begin(t, p);
}

static void take_processes(struct live_outside *o, const struct watch_view *view)
{
	struct outside_tree *tree = &o->tree;
	struct outside_process *swap = tree->old_processes;
	size_t capacity = tree->old_process_capacity, count = view->process_count, old_count = tree->process_count;
	double most = o->machine.cpu_count ? (double)o->machine.cpu_count : 1;

	tree->old_processes = tree->processes;
	tree->old_process_capacity = tree->process_capacity;
	tree->processes = swap;
	tree->process_capacity = capacity;
	if (ARRAY_GROW(tree->processes, tree->process_capacity, count) != 0)
		count = tree->process_capacity;
	tree->process_count = index_old(tree, old_count, old_process_number) ? count : 0;
	for (size_t i = 0; i < tree->process_count; i++) {
		const struct watched_process_view *now = &view->processes[i];
		uint32_t old = *find_slot(tree, now->number, old_process_number);

		if (old) {
			tree->processes[i] = tree->old_processes[old - 1];
			tree->old_processes[old - 1].stays = true;
			renew_process(&tree->processes[i], now, o->tick_s, most);
		} else {
			begin_process(&o->time, &tree->processes[i], now, o->tick_s);
		}
	}
	for (size_t i = 0; i < old_count; i++)
		if (!tree->old_processes[i].stays)
			outside_time_end(tree, old_count, &tree->old_processes[i]);
}

struct outside_process *outside_tree_process(const struct outside_tree *tree, pid_t pid)
{
	for (size_t i = 0; i < tree->process_count; i++)
		if (tree->processes[i].now.pid == pid)
			return &tree->processes[i];
	return NULL;
}

/* ---- Threads ----------------------------------------------------------------- */

/* The ledger of one that runs lags behind by up to a tick of the kernel. */
static void renew_thread(struct outside_thread *t, const struct watched_thread_view *now, double tick_s)
{
	double seconds = now->time > t->now.time ? (double)(now->time - t->now.time) * tick_s : 0, sum, before = t->cpu;

	if (seconds < SHORT_S) {
		t->now.object = now->object;
		t->now.since = now->since;
		return;
	}
	t->cpu = outside_rate(now->ledger.run_ns, t->now.ledger.run_ns, seconds) / 1e9;
	t->queue = outside_rate(now->ledger.queue_ns, t->now.ledger.queue_ns, seconds) / 1e9;
	sum = t->cpu + t->queue;
	if (sum > 1) {
		t->cpu /= sum;
		t->queue /= sum;
	}
	t->blocked = sum < 1 ? 1 - sum : 0;
	t->rank = rank(t->rank, before, t->cpu);
	t->now = *now;
}

static void take_threads(struct live_outside *o, const struct watch_view *view)
{
	struct outside_tree *tree = &o->tree;
	struct outside_thread *swap = tree->old_threads;
	size_t capacity = tree->old_thread_capacity, count = view->thread_count, old_count = tree->thread_count;

	tree->old_threads = tree->threads;
	tree->old_thread_capacity = tree->thread_capacity;
	tree->threads = swap;
	tree->thread_capacity = capacity;
	if (ARRAY_GROW(tree->threads, tree->thread_capacity, count) != 0)
		count = tree->thread_capacity;
	tree->thread_count = index_old(tree, old_count, old_thread_number) ? count : 0;
	for (size_t i = 0; i < tree->thread_count; i++) {
		const struct watched_thread_view *now = &view->threads[i];
		uint32_t old = *find_slot(tree, now->number, old_thread_number);

		if (old) {
			tree->threads[i] = tree->old_threads[old - 1];
			renew_thread(&tree->threads[i], now, o->tick_s);
		} else {
			tree->threads[i] = (struct outside_thread){ .now = *now, .cpu = NAN, .queue = NAN, .blocked = NAN };
		}
	}
}

void outside_tree_take(struct live_outside *o, const struct watch_view *view)
{
	take_processes(o, view);
	take_threads(o, view);
}

void outside_tree_release(struct outside_tree *tree)
{
	free(tree->processes);
	free(tree->old_processes);
	free(tree->threads);
	free(tree->old_threads);
	free(tree->slots);
	free(tree->order);
}
