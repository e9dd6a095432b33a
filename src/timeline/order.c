/* order.c - slices by track and begin, the longer first; points by time. */
#include <errno.h>
#include <stdlib.h>

#include "timeline/build.h"
#include "timeline/index_sort.h"

/* ---- Times since the start ---- */

/* Times of devices come through their clocks, and can be anything: they start nothing where a recorder of ours saw the host. */
static bool may_start(const struct builder *b, uint32_t slice)
{
	return !timeline_is_device_work(b->t->kind[slice]) || !clocks_are_ours(b, b->track_domain[b->track[slice]]);
}

static int64_t earliest_slice(const struct builder *b)
{
	const struct timeline *t = b->t;
	int64_t start = INT64_MAX, any = INT64_MAX;

	for (uint32_t i = 0; i < t->slice_count; i++) {
		any = t->begin[i] < any ? t->begin[i] : any;
		if (t->begin[i] < start && may_start(b, i))
			start = t->begin[i];
	}
	return start == INT64_MAX ? any : start;
}

static int64_t earliest(const struct builder *b)
{
	const struct timeline *t = b->t;
	int64_t start = earliest_slice(b);

	for (uint32_t i = 0; i < t->point_count; i++)
		start = t->points[i].time < start ? t->points[i].time : start;
	for (uint32_t i = 0; i < t->range_count; i++)
		start = t->ranges[i].begin < start ? t->ranges[i].begin : start;
	return start == INT64_MAX ? 0 : start;
}

static int64_t since(int64_t start, int64_t time)
{
	int64_t ns = time_subtract(time, start);

	return ns < 0 ? 0 : ns > TIMELINE_TIME_MAX ? TIMELINE_TIME_MAX : ns;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t order_from_start(struct builder *b)
{
	struct timeline *t = b->t;
	int64_t start = earliest(b);

	for (uint32_t i = 0; i < t->slice_count; i++) {
		t->begin[i] = since(start, t->begin[i]);
		t->end[i] = since(start, t->end[i]);
		t->duration = later(t->duration, t->end[i]);
	}
	for (uint32_t i = 0; i < t->point_count; i++) {
		t->points[i].time = since(start, t->points[i].time);
		t->duration = later(t->duration, t->points[i].time);
	}
	for (uint32_t i = 0; i < t->range_count; i++) {
		t->ranges[i].begin = t->ranges[i].flags & SLICE_BEGIN_UNKNOWN ? 0 : since(start, t->ranges[i].begin);
		t->ranges[i].end = since(start, t->ranges[i].end);
		t->duration = later(t->duration, t->ranges[i].end);
	}
	for (uint32_t i = 0; i < t->look_count; i++) { /* what the program did is what there is a timeline of */
		t->looks[i].begin = since(start, t->looks[i].begin);
		t->looks[i].end = since(start, t->looks[i].end);
	}
	for (size_t i = 0; i < b->flow_count; i++)
		b->flows[i].time = since(start, b->flows[i].time);
	return start;
}

/* ---- The order of slices ---- */

/* Of slices that cover the same time, the one whose kind asks for the other's is around it. */
static unsigned rank_of(uint8_t kind)
{
	switch (kind) {
	case EVENT_SCOPE:
		return 0;
	case EVENT_CPU_CALL:
		return 1;
	case EVENT_OP:
		return 2;
	case EVENT_RUNTIME_CALL:
		return 3;
	case EVENT_CPU_SYSCALL:
		return 4;
	default:
		return 5;
	}
}

static bool slice_before(const void *arg, uint32_t a, uint32_t b)
{
	const struct timeline *t = arg;

	if (t->begin[a] != t->begin[b])
		return t->begin[a] < t->begin[b];
	if (t->end[a] != t->end[b])
		return t->end[a] > t->end[b];
	if (t->depth[a] != t->depth[b])
		return t->depth[a] < t->depth[b];
	return rank_of(t->kind[a]) < rank_of(t->kind[b]);
}

/* Slices grouped by track; those of a track as they came. */
static void group_by_track(struct builder *b, uint32_t *order)
{
	struct timeline *t = b->t;
	uint32_t first = 0;

	for (uint32_t i = 0; i < t->slice_count; i++)
		t->tracks[b->track[i]].count++;
	for (uint32_t k = 0; k < t->track_count; k++) {
		t->tracks[k].first = first;
		first += t->tracks[k].count;
		t->tracks[k].count = 0;
	}
	for (uint32_t i = 0; i < t->slice_count; i++) {
		struct timeline_track *track = &t->tracks[b->track[i]];

		order[track->first + track->count++] = i;
	}
}

static int sort_tracks(const struct timeline *t, uint32_t *order)
{
	uint32_t largest = 0;
	uint32_t *scratch;

	for (uint32_t k = 0; k < t->track_count; k++)
		largest = t->tracks[k].count > largest ? t->tracks[k].count : largest;
	scratch = malloc(((size_t)largest + 1) * sizeof *scratch);
	if (!scratch)
		return -ENOMEM;
	for (uint32_t k = 0; k < t->track_count; k++)
		index_sort(order + t->tracks[k].first, t->tracks[k].count, scratch, slice_before, t);
	free(scratch);
	return 0;
}

/* One column at a time, so that there is never more than one twice. */
#define DEFINE_GATHER(type)                                                                                            \
	static int gather_##type(type **column, const uint32_t *order, uint32_t count)                                 \
	{                                                                                                              \
		type *sorted = malloc(((size_t)count + 1) * sizeof *sorted);                                           \
                                                                                                                       \
		if (!sorted)                                                                                           \
			return -ENOMEM;                                                                                \
		for (uint32_t i = 0; i < count; i++)                                                                   \
			sorted[i] = (*column)[order[i]];                                                               \
		free(*column);                                                                                         \
		*column = sorted;                                                                                      \
		return 0;                                                                                              \
	}
DEFINE_GATHER(int64_t)
DEFINE_GATHER(uint64_t)
DEFINE_GATHER(uint32_t)
DEFINE_GATHER(uint8_t)

static bool is_identity(const uint32_t *order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (order[i] != i)
			return false;
	return true;
}

static int move_columns(struct timeline *t, const uint32_t *order)
{
	uint32_t n = t->slice_count;

	if (is_identity(order, n))
		return 0;
	if (gather_int64_t(&t->begin, order, n) < 0 || gather_int64_t(&t->end, order, n) < 0 || gather_uint32_t(&t->name, order, n) < 0 ||
	    gather_uint32_t(&t->detail, order, n) < 0 || gather_uint8_t(&t->kind, order, n) < 0 || gather_uint8_t(&t->flags, order, n) < 0 ||
	    (t->origin && gather_uint64_t(&t->origin, order, n) < 0))
		return -ENOMEM;
	return 0;
}

/* Collectives know their slices, and details their collectives; both by the new numbers. */
static int renumber_collectives(struct timeline *t)
{
	struct timeline_collective *sorted;
	uint32_t count = 0;

	if (t->collective_count == 0)
		return 0;
	sorted = malloc(t->collective_count * sizeof *sorted);
	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->slice_count; i++) {
		struct timeline_detail *d = t->detail[i] == TIMELINE_NONE ? NULL : &t->details[t->detail[i]];

		if (!d || d->collective == TIMELINE_NONE)
			continue;
		sorted[count] = t->collectives[d->collective];
		sorted[count].slice = i;
		d->collective = count++;
	}
	free(t->collectives);
	t->collectives = sorted;
	t->collective_count = count;
	return 0;
}

int order_slices(struct builder *b)
{
	struct timeline *t = b->t;
	int rc;

	t->parent = malloc(((size_t)t->slice_count + 1) * sizeof *t->parent); /* holds the order until there are parents */
	if (!t->parent)
		return -ENOMEM;
	group_by_track(b, t->parent);
	free(b->track);
	b->track = NULL;
	rc = sort_tracks(t, t->parent);
	if (rc == 0)
		rc = move_columns(t, t->parent);
	if (rc == 0)
		rc = renumber_collectives(t);
	return rc;
}

int order_again(struct builder *b)
{
	struct timeline *t = b->t;
	int rc;

	for (uint32_t i = 0; i < t->slice_count; i++)
		t->parent[i] = i;
	rc = sort_tracks(t, t->parent);
	rc = rc ? rc : move_columns(t, t->parent);
	return rc ? rc : renumber_collectives(t);
}

/* ---- Points ---- */

static bool point_before(const void *arg, uint32_t a, uint32_t b)
{
	const struct timeline_point *points = arg;

	return points[a].time < points[b].time;
}

static void permute_points(struct timeline_point *points, uint32_t *order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct timeline_point first = points[i];
		uint32_t at = i, from;

		if (order[i] == i)
			continue;
		while ((from = order[at]) != i) {
			points[at] = points[from];
			order[at] = at;
			at = from;
		}
		points[at] = first;
		order[at] = at;
	}
}

int order_points(struct builder *b)
{
	struct timeline *t = b->t;
	size_t n = t->point_count;
	uint32_t *order = malloc((2 * n + 1) * sizeof *order);

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	index_sort(order, n, order + n, point_before, t->points);
	permute_points(t->points, order, t->point_count);
	free(order);
	return 0;
}
