/*
 * overhead.c - framework overhead: what the framework, and not the runtime, kept a device waiting.
 *
 * For each gap of a device: the time that the thread which launched the work
 * after it (else the thread that launches most on the device) spent in
 * operators, scopes and functions, not in calls of the runtime inside them.
 * Gaps that have an owner already, input and compilation, do not count.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/parts.h"
#include "analyze/sweep.h"

struct walk {
	const struct timeline *t;
	const struct timeline_gap *gaps;
	const struct sort_item *items; /* gaps of one thread: the key's low half is their place */
	size_t count, next;
	int64_t sum;
};

static bool is_framework(uint8_t kind)
{
	return kind == EVENT_OP || kind == EVENT_CPU_CALL || kind == EVENT_SCOPE;
}

/* Parts of a thread's time come in order, and so do gaps. */
static void add_part(void *arg, uint32_t slice, int64_t from, int64_t to)
{
	struct walk *w = arg;

	while (w->next < w->count && w->gaps[w->items[w->next].value].end <= from)
		w->next++;
	if (!is_framework(w->t->kind[slice]))
		return;
	for (size_t i = w->next; i < w->count && w->gaps[w->items[i].value].begin < to; i++) {
		const struct timeline_gap *gap = &w->gaps[w->items[i].value];
		int64_t begin = gap->begin > from ? gap->begin : from, end = gap->end < to ? gap->end : to;

		w->sum += end - begin;
	}
}

/* Keys: thread, then gap; gaps nobody is to blame for are left out. */
static size_t list_gaps(const struct parts *p, const struct device_view *view, const struct device_states *s,
			struct sort_item *items)
{
	uint32_t hint = 0, track;
	size_t count = 0;

	for (uint32_t i = 0; i < s->gap_count; i++) {
		const struct timeline_gap *gap = &s->gaps[i];

		if (gap->cause == IDLE_INPUT || gap->cause == IDLE_JIT)
			continue;
		if (gap->launch < p->t->slice_count)
			track = track_near(p->t, gap->launch, &hint);
		else if (view->launcher_count)
			track = view->launchers[0].track;
		else
			continue;
		items[count++] = (struct sort_item){ (uint64_t)track << 32 | i, i };
	}
	return count;
}

static int measure(const struct parts *p, const struct device_view *view, const struct device_states *s, int64_t *sum)
{
	struct sort_item *items = malloc((s->gap_count + 1) * sizeof *items);
	size_t count, end;
	int rc;

	if (!items)
		return -ENOMEM;
	count = list_gaps(p, view, s, items);
	rc = sort_items(items, count);
	for (size_t i = 0; i < count && rc == 0; i = end) {
		struct walk w = { .t = p->t, .gaps = s->gaps, .items = items + i };

		for (end = i; end < count && items[end].key >> 32 == items[i].key >> 32; end++)
			w.count++;
		rc = sweep_track(p->t, (uint32_t)(items[i].key >> 32), add_part, &w);
		*sum = time_sum(*sum, w.sum);
	}
	free(items);
	return rc;
}

int analyze_overhead(struct parts *p)
{
	int rc = 0;

	for (size_t d = 0; d < p->a->device_count && rc == 0; d++)
		rc = measure(p, &p->views[d], p->a->devices[d].states, &p->a->summary.framework_overhead);
	return rc;
}
