/*
 * gaps_quiet.c - whether a process did nothing.
 *
 * A time without any event that is half of a gap or more has the middle of the
 * gap in it: so what each thread did around the middle is enough to know.
 * Slices that are open throughout say nothing about it, such as the main
 * function or what a server's thread runs in; except on the thread that
 * launches, where the program says with a scope or an operator what it does.
 *
 * A process may have had very many threads and tasks, but few at a time: gaps
 * come in the order of time, and those that lived by then are kept along.
 */
#include <errno.h>
#include <stdlib.h>

#include "timeline/gaps.h"
#include "timeline/states_build.h"

/* From the first begin to the last end on a track. */
struct life {
	int64_t begin, end;
	uint32_t process, track;
};

/* A process's part of the lives. */
struct crowd {
	uint32_t first, count;
	uint32_t come;    /* how many of them have begun */
	uint32_t present; /* how many of those are in `here`, from `first` on */
	int64_t at;
};

struct quiet {
	struct evidence *e;
	const struct timeline *t;
	struct life *lives; /* by process, then by begin */
	uint32_t count;
	struct crowd *crowds; /* by process; the last one for tracks of none */
	uint32_t *here;       /* places in `lives` */
};

/* A gap, and the part of it in which nothing has been found to happen. */
struct look {
	const struct quiet *q;
	int64_t from, to, middle;
	int64_t begin, end;
};

/* ---- Who lived when ---- */

static uint32_t crowd_of(const struct timeline *t, uint32_t process)
{
	return process < t->process_count ? process : t->process_count;
}

static int compare_lives(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->track > y->track) - (x->track < y->track);
}

static void collect_lives(struct quiet *q)
{
	const struct timeline *t = q->t;

	for (uint32_t i = 0; i < t->track_count; i++) {
		const struct timeline_track *track = &t->tracks[i];
		struct life *life = &q->lives[q->count];

		if ((track->kind != TRACK_THREAD && track->kind != TRACK_TASK) || !track->count)
			continue;
		*life = (struct life){ .begin = t->begin[track->first], .process = crowd_of(t, track->process), .track = i };
		for (uint32_t k = track->first; k < track->first + track->count; k++)
			life->end = slice_end(t, k) > life->end ? slice_end(t, k) : life->end;
		q->count++;
	}
	qsort(q->lives, q->count, sizeof *q->lives, compare_lives);
	for (uint32_t i = q->count; i-- > 0;) {
		q->crowds[q->lives[i].process].first = i;
		q->crowds[q->lives[i].process].count++;
	}
}

int quiet_new(struct quiet **ret, const struct timeline *t, struct evidence *e)
{
	struct quiet *q = calloc(1, sizeof *q);

	if (!q)
		return -ENOMEM;
	q->t = t;
	q->e = e;
	q->lives = calloc((size_t)t->track_count + 1, sizeof *q->lives);
	q->crowds = calloc((size_t)t->process_count + 1, sizeof *q->crowds);
	q->here = calloc((size_t)t->track_count + 1, sizeof *q->here);
	if (!q->lives || !q->crowds || !q->here) {
		quiet_free(q);
		return -ENOMEM;
	}
	collect_lives(q);
	*ret = q;
	return 0;
}

void quiet_free(struct quiet *q)
{
	if (!q)
		return;
	free(q->lives);
	free(q->crowds);
	free(q->here);
	free(q);
}

/* Leaves in `here` those who lived between `from` and `to`. */
static void gather(struct quiet *q, struct crowd *c, int64_t from, int64_t to)
{
	uint32_t *here = q->here + c->first, kept = 0;

	if (from < c->at)
		c->come = c->present = 0;
	c->at = from;
	for (; c->come < c->count && q->lives[c->first + c->come].begin < to; c->come++)
		here[c->present++] = c->first + c->come;
	for (uint32_t i = 0; i < c->present; i++)
		if (q->lives[here[i]].end > from)
			here[kept++] = here[i];
	c->present = kept;
}

/* ---- What they did ---- */

static void narrow(struct look *l, int64_t begin, int64_t end)
{
	l->begin = begin > l->begin ? begin : l->begin;
	l->end = end < l->end ? end : l->end;
}

/* The innermost sleep around a slice. */
static uint32_t sleep_around(const struct look *l, uint32_t slice)
{
	while (slice != TIMELINE_NONE && !evidence_is(l->q->e, slice, EVIDENCE_SLEEP))
		slice = l->q->t->parent[slice];
	return slice;
}

static bool is_open_throughout(const struct look *l, uint32_t slice)
{
	return l->q->t->begin[slice] <= l->from && slice_end(l->q->t, slice) >= l->to;
}

/* Whether a scope or an operator is around a slice, or it is one. */
static bool in_something(const struct timeline *t, uint32_t slice)
{
	while (slice != TIMELINE_NONE && t->kind[slice] != EVENT_SCOPE && t->kind[slice] != EVENT_OP)
		slice = t->parent[slice];
	return slice != TIMELINE_NONE;
}

static bool thread_was_quiet(struct look *l, uint32_t thread, bool launches)
{
	const struct timeline *t = l->q->t;
	const struct timeline_track *track = &t->tracks[thread];
	uint32_t next = timeline_first_at(t, thread, l->middle + 1), open = next > track->first ? next - 1 : TIMELINE_NONE, sleep;
	int64_t begin = open != TIMELINE_NONE ? t->begin[open] : l->from;

	for (; open != TIMELINE_NONE && slice_end(t, open) <= l->middle; open = t->parent[open])
		begin = slice_end(t, open) > begin ? slice_end(t, open) : begin;
	sleep = sleep_around(l, open);
	if (sleep != TIMELINE_NONE) {
		narrow(l, t->begin[sleep], slice_end(t, sleep));
		return true;
	}
	if (open != TIMELINE_NONE && (!is_open_throughout(l, open) || (launches && in_something(t, open))))
		return false;
	narrow(l, begin, next < track->first + track->count ? t->begin[next] : l->to);
	return true;
}

bool process_was_quiet(struct quiet *q, uint32_t thread, int64_t from, int64_t to)
{
	struct crowd *c = &q->crowds[crowd_of(q->t, q->t->tracks[thread].process)];
	struct look l = { .q = q, .from = from, .to = to, .middle = from + (to - from) / 2, .begin = from, .end = to };

	gather(q, c, from, to);
	for (uint32_t i = 0; i < c->present; i++) {
		uint32_t track = q->lives[q->here[c->first + i]].track;

		if (!thread_was_quiet(&l, track, track == thread) || l.end - l.begin < (to - from) - (l.end - l.begin))
			return false;
	}
	return true;
}
