/* timeline.c - see timeline.h. */
#include "timeline/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/build.h"
#include "timeline/calls.h"

static enum call_class class_of_name(const struct timeline *t, uint32_t name)
{
	size_t size;
	const char *text = timeline_string(t, name, &size);

	return call_classify(text, size);
}

/* What the names of calls say about them. */
static int classify_calls(struct timeline *t)
{
	size_t strings = trace_reader_string_count(t->reader);

	t->string_count = strings < UINT32_MAX ? (uint32_t)strings : UINT32_MAX;
	t->call_class = malloc((size_t)t->string_count + 1);
	if (!t->call_class)
		return -ENOMEM;
	memset(t->call_class, CALL_CLASS_COUNT, (size_t)t->string_count + 1);
	for (uint32_t i = 0; i < t->slice_count; i++)
		if (t->kind[i] == EVENT_RUNTIME_CALL && t->name[i] < t->string_count && t->call_class[t->name[i]] == CALL_CLASS_COUNT)
			t->call_class[t->name[i]] = (uint8_t)class_of_name(t, t->name[i]);
	for (uint32_t i = 0; i < t->string_count; i++)
		if (t->call_class[i] == CALL_CLASS_COUNT)
			t->call_class[i] = CALL_OTHER;
	return 0;
}

/* What launched what, and arrows; once more if the work of devices was moved. */
static int link_slices(struct builder *b)
{
	struct timeline *t = b->t;
	int rc;

	memset(t->link, 0xff, (size_t)t->slice_count * sizeof *t->link); /* TIMELINE_NONE */
	free(t->flows);
	t->flows = NULL;
	t->flow_count = 0;
	rc = correlate_launches(b);
	return rc ? rc : flows_match(b);
}

static int link_again(struct builder *b)
{
	int rc = order_again(b);

	if (rc < 0)
		return rc;
	nesting_find(b->t);
	return link_slices(b);
}

static int find_relations(struct builder *b)
{
	struct timeline *t = b->t;
	bool moved = false;
	int rc;

	t->link = malloc(((size_t)t->slice_count + 1) * sizeof *t->link);
	if (!t->link)
		return -ENOMEM;
	nesting_find(t);
	rc = world_streams(b);
	rc = rc ? rc : classify_calls(t);
	rc = rc ? rc : link_slices(b);
	rc = rc ? rc : causality_apply(b, &moved);
	if (rc == 0 && moved)
		rc = link_again(b);
	rc = rc ? rc : correlate_finish(b);
	return rc ? rc : steps_find(t);
}

/* What is described here is on the timeline's own clock from now on. */
static int set_start(struct builder *b)
{
	const struct trace_reader *r = b->reader;
	int64_t start = order_from_start(b);

	b->t->origin_ns = time_subtract(start, trace_reader_ns(r, 0, trace_reader_ticks_from_start_ns(r, 0, 0)));
	return clocks_describe(b, start);
}

static int build(struct builder *b, const struct timeline_options *options, struct error *err)
{
	int rc;

	clocks_prepare(b);
	rc = load_blocks(b, options, err);
	if (rc < 0)
		return rc;
	rc = world_describe(b);
	rc = rc ? rc : set_start(b);
	rc = rc ? rc : order_slices(b);
	rc = rc ? rc : order_points(b);
	rc = rc ? rc : looks_order(b);
	rc = rc ? rc : find_relations(b);
	return rc < 0 ? error_errno(err, rc, "cannot build the timeline") : 0;
}

int timeline_build(struct timeline **ret, struct trace_reader *reader, const struct timeline_options *options, struct error *err)
{
	struct builder *b = calloc(1, sizeof *b);
	struct timeline *t = calloc(1, sizeof *t);
	int rc;

	if (!b || !t) {
		free(b);
		free(t);
		return error_errno(err, -ENOMEM, "cannot build the timeline");
	}
	t->reader = reader;
	b->t = t;
	b->reader = reader;
	rc = build(b, options, err);
	free(b->track);
	free(b->track_domain);
	free(b->flows);
	free(b->pairs);
	free(b);
	if (rc < 0)
		timeline_free(t);
	else
		*ret = t;
	return rc;
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	free(t->begin);
	free(t->end);
	free(t->name);
	free(t->parent);
	free(t->link);
	free(t->detail);
	free(t->depth);
	free(t->kind);
	free(t->flags);
	free(t->origin);
	free(t->details);
	free(t->work);
	free(t->tracks);
	free(t->processes);
	free(t->devices);
	free(t->hosts);
	free(t->streams);
	free(t->collectives);
	free(t->points);
	free(t->looks);
	free(t->flows);
	free(t->ranges);
	free(t->steps);
	free(t->clocks);
	free(t->call_class);
	texts_free(t->texts);
	free(t);
}

uint32_t timeline_track_of(const struct timeline *t, uint32_t slice)
{
	uint32_t low = 0, high = t->track_count;

	while (high - low > 1) { /* the last track that does not begin after it, among those with slices */
		uint32_t middle = low + (high - low) / 2;

		if (t->tracks[middle].first <= slice)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint32_t timeline_first_at(const struct timeline *t, uint32_t track, int64_t time)
{
	uint32_t low = t->tracks[track].first, high = low + t->tracks[track].count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->begin[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool covers(const struct timeline *t, uint32_t slice, int64_t time)
{
	return t->end[slice] > time || (t->end[slice] == time && t->begin[slice] == time);
}

/* The last one that began; else, back over work that may still have run, what is around that. */
uint32_t timeline_at(const struct timeline *t, uint32_t track, int64_t time)
{
	uint32_t first = t->tracks[track].first;
	uint32_t at = time < INT64_MAX ? timeline_first_at(t, track, time + 1) : first + t->tracks[track].count, around;

	if (at == first)
		return TIMELINE_NONE;
	around = t->parent[--at];
	for (;; at--) {
		if (covers(t, at, time))
			return at;
		if (!(t->flags[at] & SLICE_WORK_RUNS) || at == first)
			break;
	}
	while (around != TIMELINE_NONE && !covers(t, around, time))
		around = t->parent[around];
	return around;
}
