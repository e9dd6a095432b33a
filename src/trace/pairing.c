/*
 * pairing.c - see pairing.h.
 *
 * A track's stack holds the slices whose begin was seen.  Depths in between
 * that were never seen to begin are one entry for a whole range of them, so
 * that memory grows with events and not with what they claim.
 *
 * Every block says what was open before it.  Where that differs from what was
 * seen up to there (the window begins here, or a block before could not be
 * read) the block is right.
 */
#include "trace/pairing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint32_t depth; /* the first one, for a range of unseen begins */
	bool lost;      /* begin not seen */
	uint8_t kind;
	uint16_t cpu;
	uint32_t name;
	int64_t begin;
	uint64_t feed; /* batch and event of the begin */
	uint32_t event;
};

struct pairing_track {
	struct entry *entries; /* by depth */
	size_t count, capacity;
	uint32_t size; /* slices open */
	uint32_t domain;
	uint64_t synced; /* the feed whose table has this track */
	uint64_t early;  /* the feed in which it has events before the time that feeding goes to */
	int64_t last_time;
};

struct trace_pairing {
	struct pairing_track *tracks;
	size_t track_count;
	uint64_t feed;
	uint64_t unmatched;
	const struct trace_batch *batch;
	uint32_t event; /* the one at hand */
	uint32_t *open_names; /* slices open on track `counted` - 1, by name; NULL: nobody asked */
	size_t name_limit;
	uint32_t counted;
	trace_slice_fn fn;
	void *arg;
};

int trace_pairing_new(struct trace_pairing **ret)
{
	*ret = calloc(1, sizeof **ret);
	return *ret ? 0 : -ENOMEM;
}

void trace_pairing_free(struct trace_pairing *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->track_count; i++)
		free(p->tracks[i].entries);
	free(p->tracks);
	free(p->open_names);
	free(p);
}

int trace_pairing_count_names(struct trace_pairing *p, size_t limit)
{
	p->open_names = calloc(limit + 1, sizeof *p->open_names);
	p->name_limit = limit;
	return p->open_names ? 0 : -ENOMEM;
}

uint64_t trace_pairing_unmatched_ends(const struct trace_pairing *p)
{
	return p->unmatched;
}

static struct pairing_track *get_track(struct trace_pairing *p, uint32_t track)
{
	size_t count = p->track_count ? p->track_count : 64;
	struct pairing_track *tracks;

	if (track < p->track_count)
		return &p->tracks[track];
	while (count <= track)
		count *= 2;
	tracks = realloc(p->tracks, count * sizeof *tracks);
	if (!tracks)
		return NULL;
	memset(tracks + p->track_count, 0, (count - p->track_count) * sizeof *tracks);
	p->tracks = tracks;
	p->track_count = count;
	return &tracks[track];
}

/* ---- How often a name is open on the track at hand ---- */

static uint32_t *open_count(const struct trace_pairing *p, const struct entry *e)
{
	return p->open_names && !e->lost && e->name < p->name_limit ? &p->open_names[e->name] : NULL;
}

static void count_entries(const struct trace_pairing *p, const struct pairing_track *t, uint32_t by)
{
	for (size_t i = 0; i < t->count; i++)
		if (open_count(p, &t->entries[i]))
			*open_count(p, &t->entries[i]) += by;
}

/* Tracks come one after the other, so one set of counts is enough. */
static void turn_to(struct trace_pairing *p, uint32_t track)
{
	if (!p->open_names || p->counted == track + 1)
		return;
	if (p->counted)
		count_entries(p, &p->tracks[p->counted - 1], UINT32_MAX); /* minus one */
	count_entries(p, &p->tracks[track], 1);
	p->counted = track + 1;
}

/* ---- The stack of a track ---- */

static int push(struct trace_pairing *p, struct pairing_track *t, struct entry entry)
{
	size_t capacity = t->capacity ? 2 * t->capacity : 16;
	struct entry *entries;

	if (t->count == t->capacity) {
		entries = realloc(t->entries, capacity * sizeof *entries);
		if (!entries)
			return -ENOMEM;
		t->entries = entries;
		t->capacity = capacity;
	}
	entry.depth = t->size++;
	t->entries[t->count++] = entry;
	if (open_count(p, &entry))
		++*open_count(p, &entry);
	return 0;
}

/* Opens slices up to `size` that began unseen, some time since the event before. */
static int fill(struct trace_pairing *p, struct pairing_track *t, uint32_t size, int64_t since)
{
	int rc = 0;

	if (t->size >= size)
		return 0;
	if (t->count == 0 || !t->entries[t->count - 1].lost || t->entries[t->count - 1].begin != since)
		rc = push(p, t, (struct entry){ .lost = true, .begin = since, .cpu = EVENT_CPU_UNKNOWN });
	if (rc == 0)
		t->size = size;
	return rc;
}

/* Takes the topmost slice off. */
static struct entry pop(struct trace_pairing *p, struct pairing_track *t)
{
	struct entry top = t->entries[t->count - 1];

	t->size--;
	if (top.depth == t->size)
		t->count--;
	top.depth = t->size;
	if (open_count(p, &top))
		--*open_count(p, &top);
	return top;
}

static int report(struct trace_pairing *p, uint32_t track, const struct entry *e, int64_t end, uint32_t flags)
{
	const struct pairing_track *t = &p->tracks[track];
	const struct entry *parent = t->count && !t->entries[t->count - 1].lost ? &t->entries[t->count - 1] : NULL;
	struct trace_slice slice = {
		.track = track,
		.name = e->name,
		.kind = e->kind,
		.depth = e->depth > UINT16_MAX ? UINT16_MAX : (uint16_t)e->depth,
		.flags = flags | (e->lost ? SLICE_BEGIN_LOST : 0),
		.begin = e->begin,
		.end = end,
		.cpu = e->cpu,
		.feed = e->feed,
		.feed_event = e->event,
		.end_event = p->event,
		.parent_name = parent ? parent->name : 0,
		.parent_kind = parent ? parent->kind : 0,
		.nested = open_count(p, e) && *open_count(p, e),
	};

	if (e->feed == p->feed && e->feed) {
		slice.batch = p->batch;
		slice.event = e->event;
	}
	return p->fn(p->arg, &slice);
}

/* Ends slices whose ends were not seen; those whose begins were not seen either are nothing to tell of. */
static int cut(struct trace_pairing *p, uint32_t track, uint32_t size, int64_t end)
{
	struct pairing_track *t = &p->tracks[track];
	int rc = 0;

	while (rc == 0 && t->size > size) {
		struct entry *top = &t->entries[t->count - 1];
		struct entry gone;

		if (top->lost) {
			t->size = top->depth > size ? top->depth : size;
			t->count -= t->size == top->depth;
			continue;
		}
		gone = pop(p, t);
		rc = report(p, track, &gone, end, SLICE_UNFINISHED);
	}
	return rc;
}

/* ---- What a block says about the stacks before it ---- */

static bool same_slice(const struct entry *e, const struct trace_open_slice *s)
{
	return (e->lost && s->name == 0) ||
	       (!e->lost && e->name == s->name && e->kind == s->kind && e->begin == s->begin);
}

/* How many slices of the table are open here as well. */
static uint32_t common_depth(const struct pairing_track *t, const struct trace_open_slice *open, size_t count)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < t->count; i++) {
		uint32_t end = i + 1 < t->count ? t->entries[i + 1].depth : t->size;

		for (; depth < end; depth++)
			if (depth >= count || !same_slice(&t->entries[i], &open[depth]))
				return depth;
	}
	return depth;
}

static int sync_track(struct trace_pairing *p, const struct trace_open_slice *open, size_t count)
{
	struct pairing_track *t = get_track(p, open->track);
	uint32_t common;
	int rc;

	if (!t)
		return -ENOMEM;
	turn_to(p, open->track);
	t->synced = p->feed;
	t->domain = p->batch->domain;
	common = common_depth(t, open, count);
	rc = cut(p, open->track, common, p->batch->first_time);
	for (size_t i = common; rc == 0 && i < count; i++)
		rc = push(p, t, (struct entry){ .lost = open[i].name == 0,
						.kind = open[i].kind,
						.cpu = EVENT_CPU_UNKNOWN,
						.name = open[i].name,
						.begin = open[i].begin });
	return rc;
}

/* The table is grouped by track; a track that is not in it has nothing open. */
static int sync_tracks(struct trace_pairing *p)
{
	const struct trace_batch *b = p->batch;
	size_t i = 0, end;
	int rc = 0;

	for (; rc == 0 && i < b->open_count; i = end) {
		for (end = i + 1; end < b->open_count && b->open[end].track == b->open[i].track; end++)
			;
		rc = sync_track(p, &b->open[i], end - i);
	}
	for (size_t t = 0; rc == 0 && t < p->track_count; t++)
		if (p->tracks[t].size && p->tracks[t].synced != p->feed && p->tracks[t].domain == b->domain) {
			turn_to(p, (uint32_t)t);
			rc = cut(p, (uint32_t)t, 0, b->first_time);
		}
	return rc;
}

/* ---- Events ---- */

static struct entry entry_of(const struct trace_pairing *p, uint32_t i)
{
	const struct trace_batch *b = p->batch;

	return (struct entry){
		.depth = b->depth[i],
		.kind = b->kind[i],
		.cpu = b->cpu[i],
		.name = b->name[i],
		.begin = b->time[i],
		.feed = p->feed,
		.event = i,
	};
}

static int report_complete(struct trace_pairing *p, uint32_t track, uint32_t i)
{
	const uint64_t *durations = p->batch->field[FIELD_DURATION];
	struct entry e = entry_of(p, i);
	int64_t end = e.begin;

	if (durations && (durations[i] > INT64_MAX || __builtin_add_overflow(e.begin, (int64_t)durations[i], &end)))
		end = INT64_MAX;
	return report(p, track, &e, end, 0);
}

static int end_slice(struct trace_pairing *p, uint32_t track, uint32_t depth, int64_t time)
{
	struct pairing_track *t = &p->tracks[track];
	struct entry top;
	int rc = cut(p, track, depth + 1, time);

	rc = rc ? rc : fill(p, t, depth + 1, t->last_time);
	if (rc)
		return rc;
	top = pop(p, t);
	return report(p, track, &top, time, trace_batch_present(p->batch, p->event) & 1u << FIELD_LINK ? SLICE_GOES_ON : 0);
}

static int take_event(struct trace_pairing *p, uint32_t track, uint32_t i)
{
	const struct trace_batch *b = p->batch;
	struct pairing_track *t = &p->tracks[track];
	unsigned phase = b->phase[i];
	int64_t time = b->time[i];
	uint32_t depth = b->depth[i];
	int rc = 0;

	p->event = i;
	if (phase == PHASE_COMPLETE)
		return report_complete(p, track, i);
	if (!(trace_batch_present(b, i) >> FIELD_DEPTH & 1))
		return 0;
	if (phase == PHASE_END && depth == EVENT_DEPTH_UNMATCHED) {
		p->unmatched++;
		return 0;
	}
	if (phase == PHASE_END) {
		rc = end_slice(p, track, depth, time);
	} else {
		rc = cut(p, track, depth, time);
		rc = rc ? rc : fill(p, t, depth, t->last_time);
		if (rc == 0 && phase == PHASE_BEGIN)
			rc = push(p, t, entry_of(p, i));
	}
	t->last_time = time;
	return rc;
}

static int take_segment(struct trace_pairing *p, const struct trace_segment *s)
{
	struct pairing_track *t = get_track(p, s->track);
	int rc = 0;

	if (!t)
		return -ENOMEM;
	turn_to(p, s->track);
	if (t->last_time == 0 || t->domain != p->batch->domain)
		t->last_time = p->batch->first_time;
	t->domain = p->batch->domain;
	for (uint32_t i = s->first; rc == 0 && i < s->first + s->count; i++)
		rc = take_event(p, s->track, i);
	return rc;
}

int trace_pairing_feed(struct trace_pairing *p, const struct trace_batch *batch, trace_slice_fn fn, void *arg)
{
	int rc;

	p->feed++;
	p->batch = batch;
	p->fn = fn;
	p->arg = arg;
	rc = sync_tracks(p);
	for (size_t i = 0; rc == 0 && i < batch->segment_count; i++)
		rc = take_segment(p, &batch->segments[i]);
	return rc;
}

static int ignore_slice(void *arg, const struct trace_slice *slice)
{
	(void)arg;
	(void)slice;
	return 0;
}

/* Shortens the segments to what was before `time`, and notes of which tracks something is left. */
static int shorten_segments(struct trace_pairing *p, struct trace_batch *view, int64_t time)
{
	for (size_t i = 0; i < view->segment_count; i++) {
		struct trace_segment *segment = &view->segments[i];
		struct pairing_track *t = get_track(p, segment->track);
		uint32_t count = 0;

		if (!t)
			return -ENOMEM;
		while (count < segment->count && view->time[segment->first + count] < time)
			count++;
		segment->count = count;
		if (count)
			t->early = p->feed + 1;
	}
	return 0;
}

/* What a block says to have been open before it holds for a track at its first event there, which may be after the time: but
 * for the first block, it says nothing of tracks that have no event before. */
static void leave_out_later(struct trace_pairing *p, struct trace_batch *view)
{
	uint64_t feed = p->feed + 1;
	size_t count = 0;

	for (size_t i = 0; i < view->open_count; i++)
		if (view->open[i].track < p->track_count && p->tracks[view->open[i].track].early == feed)
			view->open[count++] = view->open[i];
	view->open_count = count;
	for (size_t t = 0; t < p->track_count; t++)
		if (p->tracks[t].early != feed)
			p->tracks[t].synced = feed;
}

int trace_pairing_feed_until(struct trace_pairing *p, const struct trace_batch *batch, int64_t time)
{
	struct trace_batch view = *batch;
	int rc = -ENOMEM;

	view.segments = malloc((batch->segment_count + 1) * sizeof *view.segments);
	view.open = malloc((batch->open_count + 1) * sizeof *view.open);
	if (view.segments && view.open) {
		if (batch->segment_count)
			memcpy(view.segments, batch->segments, batch->segment_count * sizeof *view.segments);
		if (batch->open_count)
			memcpy(view.open, batch->open, batch->open_count * sizeof *view.open);
		rc = shorten_segments(p, &view, time);
	}
	if (rc == 0) {
		if (p->feed > 0)
			leave_out_later(p, &view);
		rc = trace_pairing_feed(p, &view, ignore_slice, NULL);
	}
	free(view.segments);
	free(view.open);
	return rc;
}

int trace_pairing_finish(struct trace_pairing *p, int64_t end, trace_slice_fn fn, void *arg)
{
	int rc = 0;

	p->feed++;
	p->batch = NULL;
	p->fn = fn;
	p->arg = arg;
	for (size_t i = 0; rc == 0 && i < p->track_count; i++) {
		if (p->tracks[i].size == 0)
			continue;
		turn_to(p, (uint32_t)i);
		rc = cut(p, (uint32_t)i, 0, end);
	}
	return rc;
}
