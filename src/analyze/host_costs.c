/*
 * host_costs.c - the spine's time in a window, by node of its tree of calls and by owner, exactly.
 *
 * The time of a node is exact.  How much of it was waited, and for what, is
 * sampled, and set right by the kernel's ledger, which is exact over the whole
 * window; where samples say more than the node had, the rest is its caller's.
 * The time that remains it ran, and is divided as the samples of the processor
 * in it are; without any, as those of the nearest caller that has some.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/host_parts.h"
#include "analyze/sweep.h"
#include "base/array.h"

#define STRIDE 10000000 /* ns: what others do is asked for that often while the spine is in one state */
#define ASKED_MOST 20000000 /* times in all, each thread by itself: of a run that is longer, less often */
#define LEDGER_LEAST 1000000000 /* ns: of a window, to be better than samples */

struct evidence_of {
	double wait[OWNER_COUNT];
	uint32_t places[PLACE_COUNT];
	uint32_t place_count;
};

/* Samples by library; those that come when it is full are left out. */
#define LIBRARIES_TOLD 64u
struct libraries {
	struct {
		const char *name; /* kept by the timeline, each once */
		uint32_t samples;
	} rows[LIBRARIES_TOLD];
	size_t count;
	uint32_t samples; /* of all */
};

struct filling {
	struct host_window *w;
	const struct analysis_host *h;
	struct host_names *names;
	struct host_others *others;
	struct evidence_of *evidence; /* the first is of nobody */
	uint32_t *of_node;            /* its number, 0: none */
	size_t count, capacity;
	struct evidence_of all[2];    /* places of all nodes: functions, operators */
	struct libraries libraries;   /* that compute, or do anything else in the user's part of the processor's time */
	double waited;
	int64_t stride;
	int64_t until;                /* states of the spine have been taken up to there: they do not overlap */
};

static struct evidence_of *evidence_of(struct filling *f, uint32_t node)
{
	if (!f->of_node[node]) {
		if (ARRAY_GROW(f->evidence, f->capacity, f->count + 1) < 0)
			return NULL;
		f->evidence[f->count] = (struct evidence_of){ 0 };
		f->of_node[node] = (uint32_t)f->count++;
	}
	return &f->evidence[f->of_node[node]];
}

/* ---- Walls ------------------------------------------------------------------- */

static void add_wall(void *arg, uint32_t slice, int64_t from, int64_t to)
{
	struct filling *f = arg;
	uint32_t first = f->names->t->tracks[f->h->spine].first;

	from = from < f->w->from ? f->w->from : from;
	to = to > f->w->to ? f->w->to : to;
	if (to > from)
		f->w->costs[f->h->tree.node_of[slice - first]].wall += to - from;
}

static int fill_walls(struct filling *f)
{
	struct host_window *w = f->w;
	int64_t rest = w->to - w->from;
	int rc = sweep_track(f->names->t, f->h->spine, add_wall, f);

	for (uint32_t i = 1; i < f->h->tree.count; i++)
		rest -= w->costs[i].wall;
	w->costs[0].wall = rest;
	return rc;
}

/* ---- Looks ------------------------------------------------------------------- */

/* What a node is in comes before what it waits for.  Collections during imports and compilations are theirs. */
static enum host_owner owner_by_flags(uint32_t flags)
{
	return flags & NODE_COMPILE ? OWNER_COMPILE :
	       flags & NODE_IMPORT  ? OWNER_IMPORT :
	       flags & NODE_GC	    ? OWNER_GC :
	       flags & NODE_LOADER  ? OWNER_INPUT :
	       flags & NODE_LOG	    ? OWNER_LOG :
				      OWNER_COUNT;
}

/* Of time in which it runs, more is told by where it is. */
static enum host_owner owner_of_run(uint32_t flags)
{
	enum host_owner owner = owner_by_flags(flags);

	return owner < OWNER_COUNT	? owner :
	       flags & NODE_SUBPROCESS ? OWNER_CHILD :
	       flags & NODE_MESSAGES	? OWNER_MESSAGES :
					  OWNER_COUNT;
}

/* One wait, in the node that it was seen in at its begin; whom it is for may change while it lasts. */
static int take_wait(struct filling *f, enum host_state state, const char *what, int64_t from, int64_t to)
{
	struct host_window *w = f->w;
	uint32_t node = host_tree_at(&f->h->tree, f->names->t, from);
	const struct host_wait wait = { state, what, node };
	enum host_owner flagged = owner_by_flags(f->h->tree.nodes[node].flags);
	struct evidence_of *evidence = evidence_of(f, node);

	if (!evidence)
		return -ENOMEM;
	for (int64_t at = from; at < to; at += f->stride) {
		int64_t part = to - at < f->stride ? to - at : f->stride;
		enum host_owner owner = host_wait_owner(w, f->others, &wait, at, part);

		if (owner == OWNER_FILE) {
			w->file_waits += part;
			w->file_waits_early += at - w->from < (w->to - w->from) / 5 ? part : 0;
		}
		evidence->wait[flagged < OWNER_COUNT ? flagged : owner] += (double)part;
	}
	f->waited += (double)(to - from);
	w->costs[node].waits++;
	w->waits++;
	return 0;
}

static int take_state(struct filling *f, const struct timeline_look *look)
{
	int64_t from = look->begin < f->until ? f->until : look->begin, to = look->end > f->w->to ? f->w->to : look->end;
	enum host_state state = host_look_state(f->names, look);

	if (to <= from)
		return 0;
	f->until = to;
	f->w->looked = true;
	if (state != STATE_RUNNING)
		return take_wait(f, state, look->what, from, to);
	for (int64_t at = from; at < to; at += f->stride)
		host_ran(f->w, f->others, at, to - at < f->stride ? to - at : f->stride);
	return 0;
}

/* "numpy/a.so" and "numpy/b.so"; files of no package are the same if they are one. */
static bool is_same_package(const char *a, const char *b)
{
	size_t package = strcspn(a, "/");

	return a == b || (a[package] && strncmp(a, b, package + 1) == 0);
}

static void take_library(struct libraries *libraries, const char *name)
{
	size_t i = 0;

	libraries->samples++;
	if (!name)
		return;
	while (i < libraries->count && !is_same_package(libraries->rows[i].name, name))
		i++;
	if (i == LIBRARIES_TOLD)
		return;
	libraries->rows[i].name = name;
	libraries->rows[i].samples++;
	libraries->count += i == libraries->count;
}

static void tell_library(const struct libraries *libraries, struct host_window *w)
{
	for (size_t i = 0; i < libraries->count; i++)
		if (libraries->rows[i].samples > libraries->samples / 2)
			w->library = libraries->rows[i].name;
}

static int take_place(struct filling *f, const struct timeline_look *look)
{
	enum host_place place = host_look_place(f->names, look);
	uint32_t node = host_tree_at(&f->h->tree, f->names->t, look->begin);
	struct evidence_of *evidence = evidence_of(f, node), *all = &f->all[f->h->tree.nodes[node].flags & NODE_OPERATOR ? 1 : 0];

	if (!evidence)
		return -ENOMEM;
	evidence->places[place]++;
	evidence->place_count++;
	all->places[place]++;
	all->place_count++;
	f->w->input_places[place] += (f->h->tree.nodes[node].flags & NODE_LOADER) != 0;
	if (place == PLACE_COMPUTE || place == PLACE_OTHER)
		take_library(&f->libraries, look->what);
	f->w->costs[node].samples++;
	f->w->samples++;
	return 0;
}

static int take_looks(struct filling *f)
{
	const struct timeline *t = f->names->t;
	uint32_t count, first = timeline_looks_from(t, f->h->states, INT64_MIN, &count);
	int rc = 0;

	for (uint32_t i = first; i < first + count && rc == 0; i++) {
		const struct timeline_look *look = &t->looks[i];

		if (look->begin >= f->w->to)
			break;
		if (look->kind == LOOK_STATE)
			rc = take_state(f, look);
		else if (look->kind == LOOK_PLACE && look->begin >= f->w->from)
			rc = take_place(f, look);
	}
	return rc;
}

/* ---- The ledger -------------------------------------------------------------- */

static void read_ledger(struct filling *f)
{
	struct host_window *w = f->w;
	const struct timeline *t = f->names->t;
	double run[2], queue[2], span = (double)(w->to - w->from);

	w->run = w->queue = w->blocked = NAN;
	if (f->h->states == TIMELINE_NONE || span <= 0 || !host_counter(t, f->h->states, "run_ns", w->from, w->to, &run[0], &run[1]) ||
	    !host_counter(t, f->h->states, "queue_ns", w->from, w->to, &queue[0], &queue[1]))
		return;
	w->run = fmin(1, fmax(0, (run[1] - run[0]) / span));
	w->queue = fmin(1 - w->run, fmax(0, (queue[1] - queue[0]) / span));
	w->blocked = 1 - w->run - w->queue;
}

/* Samples of waits, set right: at most by half, since short windows begin and end between two readings of the ledger. */
static void scale_waits(struct filling *f)
{
	double exact = f->w->blocked * (double)(f->w->to - f->w->from), factor;

	if (isnan(exact) || f->waited <= 0 || f->w->to - f->w->from < LEDGER_LEAST)
		return;
	factor = fmin(1.5, fmax(0.67, exact / f->waited));
	for (size_t i = 1; i < f->count; i++)
		for (unsigned k = 0; k < OWNER_COUNT; k++)
			f->evidence[i].wait[k] *= factor;
	f->w->sleep_with_work = (int64_t)((double)f->w->sleep_with_work * factor);
}

/* Where it cannot be told whom the spine waits for, it just waits. */
static void leave_unresolved(struct filling *f)
{
	for (size_t i = 1; i < f->count && f->w->resolved == 0; i++) {
		f->evidence[i].wait[OWNER_WAIT] += f->evidence[i].wait[OWNER_WORKERS];
		f->evidence[i].wait[OWNER_WORKERS] = 0;
	}
}

/* ---- Owners ------------------------------------------------------------------ */

static double total_wait(const struct evidence_of *e)
{
	double sum = 0;

	for (unsigned k = 0; k < OWNER_COUNT; k++)
		sum += e->wait[k];
	return sum;
}

/* What was waited beyond a node's own time is its caller's; callers come before. */
static int hand_up_waits(struct filling *f)
{
	for (uint32_t node = f->h->tree.count; node-- > 1;) {
		struct evidence_of *e = f->of_node[node] ? &f->evidence[f->of_node[node]] : NULL, *above;
		double sum = e ? total_wait(e) : 0, wall = (double)f->w->costs[node].wall;

		if (!e || sum <= wall)
			continue;
		above = evidence_of(f, f->h->tree.nodes[node].parent);
		if (!above)
			return -ENOMEM;
		e = &f->evidence[f->of_node[node]]; /* the array may have moved */
		for (unsigned k = 0; k < OWNER_COUNT; k++) {
			above->wait[k] += e->wait[k] * (1 - wall / sum);
			e->wait[k] *= wall / sum;
		}
	}
	return 0;
}

static enum host_owner owner_of_place(enum host_place place, const struct evidence_of *e, bool operator)
{
	switch (place) {
	case PLACE_INTERPRETER:
		return operator ? OWNER_OPERATORS : OWNER_PYTHON;
	case PLACE_PROFILER:
		return OWNER_PROFILER;
	case PLACE_FAULT:
	case PLACE_MEMORY:
		return OWNER_MEMORY;
	case PLACE_IO:
		return OWNER_IO_CALLS;
	case PLACE_SYSTEM:
		return OWNER_SYSTEM;
	case PLACE_OTHER: /* the C library serves all: it is whoever is there mostly */
		if (!operator && e->places[PLACE_INTERPRETER] >= 2 * (e->places[PLACE_COMPUTE] + e->places[PLACE_OTHER]))
			return OWNER_PYTHON;
		return operator ? OWNER_OPERATORS : OWNER_NATIVE;
	default:
		return operator ? OWNER_OPERATORS : OWNER_NATIVE;
	}
}

/* Samples that stand for a node: its own, else those of the nearest caller, else of all. */
static const struct evidence_of *places_for(const struct filling *f, uint32_t node)
{
	const struct host_tree *tree = &f->h->tree;
	uint32_t operator = tree->nodes[node].flags & NODE_OPERATOR;

	for (uint32_t at = node; at && (tree->nodes[at].flags & NODE_OPERATOR) == operator; at = tree->nodes[at].parent)
		if (f->of_node[at] && f->evidence[f->of_node[at]].place_count)
			return &f->evidence[f->of_node[at]];
	return &f->all[operator ? 1 : 0];
}

/* How much of the window lies before the thread's first slice and after its last. */
static int64_t time_at_edges(const struct filling *f)
{
	const struct timeline *t = f->names->t;
	const struct timeline_track *track = &t->tracks[f->h->spine];
	int64_t first = t->begin[track->first], last = 0, time = 0;

	for (uint32_t i = track->first; i < track->first + track->count; i++)
		last = t->end[i] > last ? t->end[i] : last;
	if (first > f->w->from)
		time += (first < f->w->to ? first : f->w->to) - f->w->from;
	if (last < f->w->to)
		time += f->w->to - (last > f->w->from ? last : f->w->from);
	return time;
}

static void divide_nothing(const struct filling *f, int64_t run)
{
	struct host_cost *cost = &f->w->costs[0];
	int64_t edges = time_at_edges(f);

	edges = edges > run ? run : edges;
	cost->time[OWNER_EDGES] += edges;
	cost->time[OWNER_UNKNOWN] += run - edges;
}

static void divide_run(const struct filling *f, uint32_t node, int64_t run)
{
	const struct host_node *n = &f->h->tree.nodes[node];
	struct host_cost *cost = &f->w->costs[node];
	const struct evidence_of *e = places_for(f, node);
	enum host_owner flagged = owner_of_run(n->flags);
	bool operator = n->flags & NODE_OPERATOR;
	int64_t left = run;

	if (flagged < OWNER_COUNT || e->place_count == 0) {
		enum host_owner otherwise = f->h->only_looks ? OWNER_UNKNOWN : operator ? OWNER_OPERATORS : OWNER_PYTHON;

		cost->time[flagged < OWNER_COUNT ? flagged : otherwise] += run;
		return;
	}
	for (unsigned k = 0; k < PLACE_COUNT; k++) {
		enum host_owner owner = owner_of_place(k, e, operator);
		int64_t part = (int64_t)((double)run * e->places[k] / e->place_count);

		part = part > left ? left : part;
		cost->time[owner] += part;
		left -= part;
	}
	cost->time[operator ? OWNER_OPERATORS : e->places[PLACE_INTERPRETER] ? OWNER_PYTHON : OWNER_NATIVE] += left;
}

static void divide(const struct filling *f, uint32_t node)
{
	struct host_cost *cost = &f->w->costs[node];
	int64_t left = cost->wall;

	if (f->of_node[node])
		for (unsigned k = 0; k < OWNER_COUNT; k++) {
			int64_t part = (int64_t)f->evidence[f->of_node[node]].wait[k];

			part = part > left ? left : part;
			cost->time[k] += part;
			left -= part;
		}
	cost->waited = cost->wall - left;
	if (node || f->h->only_looks)
		divide_run(f, node, left);
	else
		divide_nothing(f, left);
	for (unsigned k = 0; k < OWNER_COUNT; k++)
		f->w->time[k] += cost->time[k];
}

/* ---- All of it --------------------------------------------------------------- */

static int fill(struct filling *f)
{
	int rc = fill_walls(f);

	read_ledger(f);
	host_others_rewind(f->others);
	if (rc == 0 && f->h->states != TIMELINE_NONE)
		rc = take_looks(f);
	tell_library(&f->libraries, f->w);
	host_waits_finish(f->w, f->others);
	leave_unresolved(f);
	scale_waits(f);
	rc = rc ? rc : hand_up_waits(f);
	for (uint32_t i = 0; i < f->h->tree.count && rc == 0; i++)
		divide(f, i);
	return rc;
}

int host_window_fill(struct host_window *w, const struct analysis_host *h, struct host_names *names, struct host_others *others,
		     int64_t from, int64_t to)
{
	struct filling f = { .w = w, .h = h, .names = names, .others = others, .count = 1, .until = from };
	int rc = -ENOMEM;

	f.stride = ((to - from) / ASKED_MOST + 1) * ((int64_t)others->count + 1);
	f.stride = f.stride < STRIDE ? STRIDE : f.stride;
	*w = (struct host_window){ .from = from, .to = to, .tree = &h->tree, .cpus = h->load.cpus };
	w->costs = calloc(h->tree.count, sizeof *w->costs);
	f.of_node = calloc(h->tree.count, sizeof *f.of_node);
	if (w->costs && f.of_node && ARRAY_GROW(f.evidence, f.capacity, 1) == 0)
		rc = fill(&f);
	free(f.of_node);
	free(f.evidence);
	return rc;
}

void host_window_release(struct host_window *w)
{
	free(w->costs);
	free(w->blames);
	*w = (struct host_window){ 0 };
}
