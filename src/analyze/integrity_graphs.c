/*
 * integrity_graphs.c - graph_work_missing: launches of one graph that left different amounts of work.
 *
 * A graph launches the same nodes each time, so launches with fewer are those
 * whose records were lost: graph replays overflow the buffers of profilers.  If
 * the fewest are more than 2 % below the most of any graph, the check has
 * failed, and any difference is a warning.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/parts.h"
#include "base/array.h"
#include "base/text.h"

struct replay {
	uint32_t process, graph, call;
	uint32_t device; /* place in a->devices */
	uint32_t work;
};

struct replays {
	struct replay *list;
	size_t count, capacity;
	uint64_t unnamed; /* launches of which graph is not said */
};

static uint32_t graph_of(const struct timeline *t, uint32_t slice)
{
	return detail_of(t, slice)->graph;
}

static uint32_t device_of(const struct parts *p, uint32_t track)
{
	uint32_t device = p->t->tracks[track].device;

	return device < p->t->device_count ? p->device_place[device] : TIMELINE_NONE;
}

static int add_replay(struct parts *p, struct replays *r, uint32_t call, uint32_t process, uint32_t *hint)
{
	const struct timeline *t = p->t;
	struct replay replay = { .process = process, .call = call, .graph = graph_of(t, call) };
	uint32_t at = t->link[call];

	if (at >= t->work_count)
		return 0;
	replay.device = device_of(p, track_near(t, t->work[at], hint));
	for (; at < t->work_count && t->link[t->work[at]] == call; at++) {
		replay.work++;
		if (!replay.graph)
			replay.graph = graph_of(t, t->work[at]);
	}
	if (!replay.graph) {
		r->unnamed++;
		return 0;
	}
	if (ARRAY_GROW(r->list, r->capacity, r->count + 1) < 0)
		return -ENOMEM;
	r->list[r->count++] = replay;
	return 0;
}

static int list_replays(struct parts *p, struct replays *r)
{
	const struct timeline *t = p->t;
	uint32_t hint = 0;

	for (uint32_t k = 0; k < t->track_count; k++) {
		const struct timeline_track *track = &t->tracks[k];

		for (uint32_t i = track->first; p->host[k] && i < track->first + track->count; i++)
			if (slice_call(t, i) == CALL_GRAPH_LAUNCH && add_replay(p, r, i, track->process, &hint) < 0)
				return -ENOMEM;
	}
	return 0;
}

static int compare_replays(const void *a, const void *b)
{
	const struct replay *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->graph != y->graph)
		return x->graph < y->graph ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

struct spread {
	uint64_t graphs, short_launches, missing;
	double worst;
	uint32_t worst_graph, worst_least, worst_most;
};

static void miss(struct parts *p, const struct replay *replay, uint32_t missing)
{
	struct device_view *view;

	if (replay->device >= p->a->device_count)
		return;
	view = &p->views[replay->device];
	view->missing_work += missing;
	view->missing_time = time_sum(view->missing_time, time_scaled(view->median, missing));
}

/* Launches of one graph. */
static void measure_graph(struct parts *p, const struct replay *list, size_t count, struct spread *s)
{
	uint32_t most = 0, least = UINT32_MAX;

	for (size_t i = 0; i < count; i++)
		most = list[i].work > most ? list[i].work : most;
	for (size_t i = 0; i < count; i++) {
		if (list[i].work == most)
			continue;
		least = list[i].work < least ? list[i].work : least;
		s->short_launches++;
		s->missing += most - list[i].work;
		miss(p, &list[i], most - list[i].work);
	}
	s->graphs++;
	if (least < most && (double)(most - least) / most > s->worst) {
		s->worst = (double)(most - least) / most;
		s->worst_graph = list[0].graph;
		s->worst_least = least;
		s->worst_most = most;
	}
}

static void measure_graphs(struct parts *p, struct replays *r, struct spread *s)
{
	size_t first = 0;

	qsort(r->list, r->count, sizeof *r->list, compare_replays);
	for (size_t i = 1; i <= r->count; i++) {
		if (i < r->count && r->list[i].process == r->list[first].process && r->list[i].graph == r->list[first].graph)
			continue;
		measure_graph(p, r->list + first, i - first, s);
		first = i;
	}
}

static int report(struct parts *p, const struct replays *r, const struct spread *s)
{
	char launches[TEXT_COUNT_SIZE], graphs[TEXT_COUNT_SIZE];

	if (r->count == 0)
		return check_add(p, "graph_work_missing", CHECK_SKIPPED, 0, r->unnamed ? "the trace does not say which graphs were launched" :
											 "no graph was launched");
	if (s->short_launches == 0)
		return check_add(p, "graph_work_missing", CHECK_OK, 0, "%s of %s left as much work each time",
				 text_count(launches, r->count, "launch", "launches"), text_count(graphs, s->graphs, "graph", "graphs"));
	return check_add(p, "graph_work_missing", s->worst > 0.02 ? CHECK_FAIL : CHECK_WARN, s->missing,
			 "%llu of %zu graph launches left less work than others of the same graph, %llu pieces in all; of graph %u some left "
			 "%u and some %u (failed above 2 %% less): records were lost",
			 (unsigned long long)s->short_launches, r->count, (unsigned long long)s->missing, s->worst_graph, s->worst_least,
			 s->worst_most);
}

int check_graphs(struct parts *p)
{
	struct replays r = { 0 };
	struct spread s = { 0 };
	int rc = list_replays(p, &r);

	if (rc == 0) {
		if (r.count)
			measure_graphs(p, &r, &s);
		rc = report(p, &r, &s);
	}
	free(r.list);
	return rc;
}
