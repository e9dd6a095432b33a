/*
 * gaps.c - when a device did nothing, and why: see enum idle_cause.
 */
#include "timeline/gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "timeline/states_build.h"

struct gap_builder {
	struct states_builder *b;
	struct device_states *d;
	size_t capacity;
	struct top_finder top;
	struct seen outside;
	uint32_t seen;     /* places in the order that were looked at for launches */
	uint32_t launched; /* the last launch among them, or TIMELINE_NONE */
};

/* A gap while its cause is being found. */
struct gap_look {
	struct timeline_gap *gap;
	uint32_t before; /* the work that ended last */
	uint32_t thread; /* that launched, or would have; TIMELINE_NONE */
	int64_t split;   /* until then the host had not launched */
	int64_t takes[IDLE_CAUSE_COUNT];
};

static bool half_of(int64_t part, const struct timeline_gap *gap)
{
	return part >= gap->end - gap->begin - part;
}

/* ---- The device's side: after the launch ---- */

/* Work of one graph waits for work of it; unless the call is still busy handing it over. */
static bool waits_in_graph(const struct timeline *t, uint32_t before, const struct timeline_gap *gap)
{
	return before != TIMELINE_NONE && before != gap->next && launch_of(t, before) == gap->launch &&
	       call_class_of(t, gap->launch) == CALL_GRAPH_LAUNCH && slice_end(t, gap->launch) < gap->end;
}

/* Drivers may compile at the first launch, on the side of the device: a slice of its stream right before the work. */
static bool was_compiled(const struct timeline *t, const struct gap_look *l)
{
	const struct timeline_gap *gap = l->gap;
	uint32_t before = gap->next - 1;
	int64_t from, to;

	if (gap->next == 0 || timeline_track_of(t, before) != timeline_track_of(t, gap->next) || call_class_of(t, before) != CALL_COMPILE)
		return false;
	from = t->begin[before] > gap->begin ? t->begin[before] : gap->begin;
	to = t->end[before] < gap->end ? t->end[before] : gap->end;
	return half_of(to - from, gap);
}

static bool is_host_function(const struct timeline *t, uint32_t slice)
{
	static const char name[] = "Host Function"; /* the CUDA door's word */
	size_t size;
	const char *text = t->kind[slice] == EVENT_SYNC ? timeline_string(t, t->name[slice], &size) : NULL;

	return text && size == sizeof name - 1 && memcmp(text, name, size) == 0;
}

/* A stream waits until the host has run what it was told to call: the slices right before the work. */
static bool was_held_up_by_host(const struct timeline *t, const struct timeline_gap *gap)
{
	uint32_t first = t->tracks[timeline_track_of(t, gap->next)].first;
	int64_t takes = 0, until = gap->end;

	for (uint32_t i = gap->next; i > first && is_host_function(t, i - 1); i--) {
		int64_t from = t->begin[i - 1] > gap->begin ? t->begin[i - 1] : gap->begin;
		int64_t to = t->end[i - 1] < until ? t->end[i - 1] : until;

		takes += to > from ? to - from : 0;
		until = from < until ? from : until;
	}
	return half_of(takes, gap);
}

static enum idle_cause device_cause(const struct gap_builder *g, const struct gap_look *l)
{
	const struct timeline *t = g->b->t;
	const struct timeline_gap *gap = l->gap;

	if (was_compiled(t, l))
		return IDLE_JIT;
	if (waits_in_graph(t, l->before, gap) || was_held_up_by_host(t, gap))
		return IDLE_DEPENDENCY;
	if (g->b->waits[gap->next] && (t->begin[gap->launch] <= gap->begin || gap->end - l->split > IDLE_LAUNCH_MAX))
		return IDLE_DEPENDENCY;
	return IDLE_LAUNCH_LATENCY;
}

/* ---- The host's side: before it ---- */

static int measure_host(struct gap_builder *g, struct gap_look *l)
{
	static const struct {
		enum evidence_kind kind;
		enum idle_cause cause;
	} parts[] = { { EVIDENCE_JIT, IDLE_JIT }, { EVIDENCE_SYNC, IDLE_SYNC }, { EVIDENCE_INPUT, IDLE_INPUT } };
	int64_t busy = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof parts / sizeof *parts; i++)
		r = evidence_time(g->b->evidence, l->thread, parts[i].kind, l->gap->begin, l->split, &l->takes[parts[i].cause]);
	if (r == 0)
		r = evidence_time(g->b->evidence, l->thread, EVIDENCE_BUSY, l->gap->begin, l->split, &busy);
	if (r == 0 && l->takes[IDLE_SYNC])
		r = evidence_longest(g->b->evidence, l->thread, EVIDENCE_SYNC, l->gap->begin, l->split, &l->gap->blocking);
	l->takes[IDLE_HOST_LATE] = l->split - l->gap->begin - busy;
	return r;
}

static int slept(struct gap_builder *g, const struct gap_look *l, bool *ret)
{
	const struct timeline_gap *gap = l->gap;
	int64_t sleep;
	int r;

	*ret = false;
	if (gap->end - gap->begin <= IDLE_NO_WORK_MIN)
		return 0;
	r = evidence_time(g->b->evidence, l->thread, EVIDENCE_SLEEP, gap->begin, l->split, &sleep);
	if (r == 0)
		*ret = half_of(sleep, gap) ||
		       (process_was_quiet(g->b->quiet, l->thread, gap->begin, gap->end) &&
			!thread_was_running(&g->outside, g->b->t, l->thread, gap->begin, l->split));
	return r;
}

/* A thread that waited for the device until it was done had been ahead of it: without the wait it would not be late. */
static int was_held_up(struct gap_builder *g, struct gap_look *l)
{
	uint32_t call;
	int r = evidence_before(g->b->evidence, l->thread, EVIDENCE_SYNC, l->gap->begin, &call);

	if (r == 0 && call != TIMELINE_NONE) {
		l->gap->cause = IDLE_SYNC;
		l->gap->blocking = call;
	}
	return r;
}

/* ---- The cause ---- */

static enum idle_cause choose(const struct gap_look *l)
{
	static const enum idle_cause order[] = { IDLE_JIT, IDLE_SYNC, IDLE_DEPENDENCY, IDLE_LAUNCH_LATENCY, IDLE_INPUT, IDLE_HOST_LATE };
	enum idle_cause most = order[0];

	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		if (half_of(l->takes[order[i]], l->gap))
			return order[i];
		if (l->takes[order[i]] > l->takes[most])
			most = order[i];
	}
	return most;
}

static int find_cause(struct gap_builder *g, struct gap_look *l)
{
	struct timeline_gap *gap = l->gap;
	bool nothing = false;
	int r;

	gap->cause = IDLE_UNKNOWN;
	if (l->thread == TIMELINE_NONE)
		return 0;
	r = measure_host(g, l);
	if (r < 0)
		return r;
	if (gap->launch != TIMELINE_NONE)
		l->takes[device_cause(g, l)] = gap->end - l->split;
	gap->cause = choose(l);
	if (gap->cause == IDLE_HOST_LATE)
		r = slept(g, l, &nothing);
	if (nothing)
		gap->cause = IDLE_NO_WORK;
	else if (gap->launch == TIMELINE_NONE && (gap->cause == IDLE_HOST_LATE || !half_of(l->takes[gap->cause], gap)))
		gap->cause = IDLE_UNKNOWN; /* nobody knows whether the host was late */
	if (r == 0 && gap->cause == IDLE_HOST_LATE)
		r = was_held_up(g, l);
	return r;
}

/* ---- Gaps ---- */

/* The launch of the last work before a place that has one: its thread is the one that feeds the device. */
static void follow_launches(struct gap_builder *g, uint32_t place)
{
	for (; g->seen < place; g->seen++) {
		uint32_t launch = launch_of(g->b->t, g->d->order.by_begin[g->seen]);

		if (launch != TIMELINE_NONE)
			g->launched = launch;
	}
}

/* Of the work that begins at a time, the first that has a launch, or just the first. */
static uint32_t work_at(const struct timeline *t, const struct device_order *order, uint32_t place)
{
	int64_t begin = t->begin[order->by_begin[place]];

	for (uint32_t i = place; i < order->count && t->begin[order->by_begin[i]] == begin; i++)
		if (launch_of(t, order->by_begin[i]) != TIMELINE_NONE)
			return order->by_begin[i];
	return order->by_begin[place];
}

static int64_t split_at(const struct timeline *t, const struct timeline_gap *gap)
{
	int64_t split = gap->launch != TIMELINE_NONE ? t->begin[gap->launch] : gap->end;

	return split < gap->begin ? gap->begin : split > gap->end ? gap->end : split;
}

static int look_at_gap(struct gap_builder *g, struct timeline_gap *gap, uint32_t before)
{
	const struct timeline *t = g->b->t;
	struct gap_look l = { .gap = gap, .before = before, .thread = TIMELINE_NONE };
	uint32_t call;
	int r;

	gap->launch = launch_of(t, gap->next);
	l.split = split_at(t, gap);
	call = gap->launch != TIMELINE_NONE ? gap->launch : g->launched;
	if (call != TIMELINE_NONE)
		l.thread = timeline_track_of(t, call);
	r = find_cause(g, &l);
	if (r == 0 && l.thread != TIMELINE_NONE)
		r = top_find(&g->top, t, l.thread, gap->begin, gap->end, gap->launch, &gap->top);
	return r;
}

static int add_gap(struct gap_builder *g, const struct device_walk *walk, const struct device_moment *m)
{
	struct device_states *d = g->d;
	struct timeline_gap gap = { .begin = m->begin, .end = m->end, .blocking = TIMELINE_NONE, .top = TIMELINE_NONE };
	int r = ARRAY_GROW(d->gaps, g->capacity, (size_t)d->gap_count + 1);

	if (r < 0)
		return r;
	gap.next = work_at(g->b->t, &d->order, walk->begun);
	follow_launches(g, walk->begun);
	r = look_at_gap(g, &gap, walk->ended ? d->order.by_end[walk->ended - 1] : TIMELINE_NONE);
	if (r < 0)
		return r;
	d->gaps[d->gap_count++] = gap;
	d->idle[gap.cause] += gap.end - gap.begin;
	return 0;
}

int gaps_build(struct states_builder *b, struct device_states *d)
{
	struct gap_builder g = { .b = b, .d = d, .launched = TIMELINE_NONE };
	struct device_walk walk;
	struct device_moment m;
	int r = 0;

	device_walk_start(&walk, b->t, b->s, &d->order, d->trimmed.from);
	while (r == 0 && device_walk_next(&walk, d->trimmed.to, &m))
		if (!m.total)
			r = add_gap(&g, &walk, &m);
	top_finder_release(&g.top);
	return r;
}
