/*
 * views.c - the work of each device: what ran alone, what beside other work, and who launched it.
 *
 * One pass over begins and ends in order of time keeps two clocks: one that
 * runs while exactly one piece of work does, and one that runs while compute
 * is on more than one stream.  How far a clock went between a begin and its
 * end is then the share of that piece of work.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/parts.h"

void view_release(struct device_view *view)
{
	free(view->work);
	free(view->stream);
	free(view->alone);
	free(view->crowded);
	free(view->launchers);
	*view = (struct device_view){ 0 };
}

uint32_t track_near(const struct timeline *t, uint32_t slice, uint32_t *hint)
{
	const struct timeline_track *track = *hint < t->track_count ? &t->tracks[*hint] : NULL;

	if (!track || slice < track->first || slice - track->first >= track->count)
		*hint = timeline_track_of(t, slice);
	return *hint;
}

/* ---- Its slices ---- */

static uint32_t slices_on(const struct timeline *t, const struct timeline_device *device)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < device->stream_count; i++)
		count += t->tracks[t->streams[device->first_stream + i]].count;
	return count;
}

static int gather(struct parts *p, struct device_view *view, const struct timeline_device *device)
{
	const struct timeline *t = p->t;
	uint32_t most = slices_on(t, device);

	view->work = malloc((most + 1) * sizeof *view->work);
	view->stream = malloc((most + 1) * sizeof *view->stream);
	if (!view->work || !view->stream)
		return -ENOMEM;
	for (uint32_t s = 0; s < device->stream_count; s++) {
		const struct timeline_track *track = &t->tracks[t->streams[device->first_stream + s]];

		for (uint32_t i = track->first; i < track->first + track->count; i++) {
			if (p->a->states.class_of[i] == WORK_NONE)
				continue;
			view->work[view->count] = i;
			view->stream[view->count++] = s;
		}
	}
	view->alone = calloc(view->count + 1, sizeof *view->alone);
	view->crowded = calloc(view->count + 1, sizeof *view->crowded);
	return view->alone && view->crowded ? 0 : -ENOMEM;
}

static int find_median(const struct timeline *t, struct device_view *view)
{
	int64_t *durations = malloc((view->count + 1) * sizeof *durations);

	if (!durations)
		return -ENOMEM;
	for (uint32_t i = 0; i < view->count; i++)
		durations[i] = slice_duration(t, view->work[i]);
	view->median = view->count ? percentile(durations, view->count, 50) : 0;
	free(durations);
	return 0;
}

/* ---- Beside what ---- */

struct clocks {
	int64_t now, alone, crowded;
	uint32_t running, streams; /* pieces of work, streams with compute */
	uint32_t *compute;         /* pieces of compute, by stream */
};

static void clocks_advance(struct clocks *c, int64_t now)
{
	if (c->running == 1)
		c->alone += now - c->now;
	if (c->streams > 1)
		c->crowded += now - c->now;
	c->now = now;
}

static void clocks_begin(struct clocks *c, struct device_view *view, uint32_t i, bool compute)
{
	view->alone[i] = -c->alone;
	c->running++;
	if (!compute)
		return;
	view->crowded[i] = -c->crowded;
	c->streams += c->compute[view->stream[i]]++ == 0;
}

static void clocks_end(struct clocks *c, struct device_view *view, uint32_t i, bool compute)
{
	view->alone[i] += c->alone;
	c->running--;
	if (!compute)
		return;
	view->crowded[i] += c->crowded;
	c->streams -= --c->compute[view->stream[i]] == 0;
}

/* Ends come before begins of the same time; work that took no time is left out. */
static size_t list_edges(const struct timeline *t, const struct device_view *view, struct sort_item *edges)
{
	size_t count = 0;

	for (uint32_t i = 0; i < view->count; i++) {
		if (slice_duration(t, view->work[i]) == 0)
			continue;
		edges[count++] = (struct sort_item){ (uint64_t)t->begin[view->work[i]] << 1 | 1, i };
		edges[count++] = (struct sort_item){ (uint64_t)t->end[view->work[i]] << 1, i };
	}
	return count;
}

static int measure(struct parts *p, struct device_view *view, uint32_t streams)
{
	struct sort_item *edges = malloc((2 * (size_t)view->count + 1) * sizeof *edges);
	struct clocks c = { .compute = calloc(streams + 1, sizeof *c.compute) };
	size_t count;
	int rc = -ENOMEM;

	if (!edges || !c.compute)
		goto out;
	count = list_edges(p->t, view, edges);
	rc = sort_items(edges, count);
	for (size_t k = 0; k < count && rc == 0; k++) {
		uint32_t i = edges[k].value, slice = view->work[i];
		bool compute = p->a->states.class_of[slice] == WORK_COMPUTE;

		clocks_advance(&c, (int64_t)(edges[k].key >> 1));
		if (edges[k].key & 1)
			clocks_begin(&c, view, i, compute);
		else
			clocks_end(&c, view, i, compute);
	}
	view->crowded_total = c.crowded;
out:
	free(edges);
	free(c.compute);
	return rc;
}

/* ---- Launched by whom ---- */

static int compare_launchers(const void *a, const void *b)
{
	const struct launcher *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->track < y->track ? -1 : x->track > y->track;
}

/* counts: one for each track, all 0 before and afterwards. */
static int find_launchers(const struct timeline *t, struct device_view *view, uint64_t *counts)
{
	uint32_t hint = 0, track;
	size_t found = 0;

	for (uint32_t i = 0; i < view->count; i++)
		if (t->link[view->work[i]] < t->slice_count)
			found += counts[track_near(t, t->link[view->work[i]], &hint)]++ == 0;
	view->launchers = malloc((found + 1) * sizeof *view->launchers);
	if (!view->launchers)
		return -ENOMEM;
	for (uint32_t i = 0; i < view->count; i++) {
		if (t->link[view->work[i]] >= t->slice_count)
			continue;
		track = track_near(t, t->link[view->work[i]], &hint);
		if (counts[track])
			view->launchers[view->launcher_count++] = (struct launcher){ track, counts[track] };
		counts[track] = 0;
	}
	qsort(view->launchers, view->launcher_count, sizeof *view->launchers, compare_launchers);
	return 0;
}

/* The device and the thread of most launches of each process. */
static int find_mains(struct parts *p)
{
	const struct timeline *t = p->t;
	uint64_t *by_process = calloc(t->process_count + 1, sizeof *by_process);
	uint64_t *best_device = calloc(t->process_count + 1, sizeof *best_device);
	uint64_t *best_thread = calloc(t->process_count + 1, sizeof *best_thread);

	for (size_t d = 0; d < p->a->device_count && by_process && best_device && best_thread; d++) {
		const struct device_view *view = &p->views[d];

		memset(by_process, 0, t->process_count * sizeof *by_process);
		for (size_t k = 0; k < view->launcher_count; k++) {
			const struct launcher *l = &view->launchers[k];
			uint32_t process = t->tracks[l->track].process;

			if (process >= t->process_count)
				continue;
			by_process[process] += l->count;
			if (l->count > best_thread[process]) {
				best_thread[process] = l->count;
				p->process_thread[process] = l->track;
			}
			if (by_process[process] > best_device[process]) {
				best_device[process] = by_process[process];
				p->process_device[process] = (uint32_t)d;
			}
		}
	}
	free(by_process);
	free(best_device);
	free(best_thread);
	return by_process && best_device && best_thread ? 0 : -ENOMEM;
}

static int view_build(struct parts *p, size_t d, uint64_t *counts)
{
	const struct timeline_device *device = &p->t->devices[p->a->devices[d].device];
	struct device_view *view = &p->views[d];
	int rc = gather(p, view, device);

	if (rc == 0)
		rc = find_median(p->t, view);
	if (rc == 0)
		rc = measure(p, view, device->stream_count);
	return rc ? rc : find_launchers(p->t, view, counts);
}

int views_build(struct parts *p)
{
	const struct timeline *t = p->t;
	uint64_t *counts = calloc(t->track_count + 1, sizeof *counts);
	int rc = counts ? 0 : -ENOMEM;

	for (size_t d = 0; d < p->a->device_count && rc == 0; d++)
		rc = view_build(p, d, counts);
	free(counts);
	return rc ? rc : find_mains(p);
}
