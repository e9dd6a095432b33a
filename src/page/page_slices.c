/*
 * page_slices.c - slices as columns of small numbers (docs/report-page.md, "Slices").
 */
#include <errno.h>
#include <stdlib.h>

#include "page/page_parts.h"

#define CHUNK 1024u            /* slices between two looks whether there is room */
#define CHUNK_BYTES (10 * CHUNK)
#define SAMPLE_RUN 4096u       /* slices of a sample that follow each other */
#define SAMPLE_PERIOD (12u * SAMPLE_RUN)

/* ---- Rows -------------------------------------------------------------------- */

void page_walk_start(struct page_walk *walk, const struct timeline *t, const struct timeline_track *track)
{
	walk->t = t;
	walk->next = track->first;
	walk->end = track->first + track->count;
	walk->stream = page_is_stream(track);
	walk->row_count = 0;
}

/* The lowest row that is free.  When there is none, the last one is shared, one slice after the other. */
static void find_row(struct page_walk *walk, struct page_slice *s)
{
	unsigned row = 0;

	while (row < walk->row_count && walk->row_end[row] > s->begin)
		row++;
	if (row == walk->row_count && row < PAGE_STREAM_ROWS)
		walk->row_count++;
	if (row == PAGE_STREAM_ROWS) {
		row--;
		s->begin = walk->row_end[row];
		s->end = s->end > s->begin ? s->end : s->begin;
	}
	walk->row_end[row] = s->end;
	s->row = row;
}

bool page_walk_next(struct page_walk *walk, struct page_slice *ret)
{
	const struct timeline *t = walk->t;
	uint32_t i = walk->next;

	if (i == walk->end)
		return false;
	walk->next++;
	*ret = (struct page_slice){ .slice = i, .row = t->depth[i], .begin = t->begin[i], .end = t->end[i] };
	if (ret->end < ret->begin)
		ret->end = ret->begin;
	if (walk->stream)
		find_row(walk, ret);
	return true;
}

/* ---- Shapes: row, label, link ------------------------------------------------ */

static int make_room(struct buffer *out)
{
	return out ? buffer_reserve(out, CHUNK_BYTES) : 0;
}

/* The place of any slice; `hint` is the track that the last one was on. */
static uint32_t place_of(const struct page_world *w, uint32_t slice, uint32_t *hint)
{
	const struct timeline *t = w->t;
	const struct timeline_track *track = &t->tracks[*hint];

	if (slice < track->first || slice - track->first >= track->count) {
		*hint = timeline_track_of(t, slice);
		track = &t->tracks[*hint];
	}
	return w->tracks[w->track_place[*hint]].first + page_kept_before(&w->keep, slice) - page_kept_before(&w->keep, track->first);
}

struct link_state {
	uint32_t hint;
	int64_t before; /* the last one of the track */
};

static uint64_t link_of(const struct page_world *w, struct link_state *state, uint32_t slice, bool stream)
{
	const struct timeline *t = w->t;
	uint32_t from = t->link[slice];
	int64_t place, before = state->before;

	if (from >= t->slice_count || !page_is_launched(t, slice, stream) || !page_is_kept(&w->keep, from))
		return 0;
	place = place_of(w, from, &state->hint);
	state->before = place;
	return zigzag_encode(place - before) + 1;
}

static int put_track_shapes(struct page_world *w, const struct page_track *track, struct link_state *link, struct buffer *rows,
			    struct buffer *labels, struct buffer *links)
{
	const struct timeline *t = w->t;
	struct page_walk walk;
	struct page_slice s;
	int64_t before = -1;
	uint32_t put = 0;

	link->before = 0;
	page_walk_start(&walk, t, &t->tracks[track->track]);
	while (page_walk_next(&walk, &s)) {
		if (!page_is_kept(&w->keep, s.slice))
			continue;
		if (put++ % CHUNK == 0 && (make_room(rows) || make_room(labels) || make_room(links)))
			return -ENOMEM;
		page_put(rows, zigzag_encode(before + 1 - (int64_t)s.row));
		before = s.row;
		page_put(labels, page_label_of(&w->labels, page_slice_name(t, s.slice), page_sort_of(w->a, s.slice)));
		if (links)
			page_put(links, link_of(w, link, s.slice, walk.stream));
	}
	return 0;
}

int page_put_shapes(struct page_world *w, struct buffer *rows, struct buffer *labels, struct buffer *links)
{
	struct link_state link = { 0 };
	int rc = 0;

	for (uint32_t i = 0; i < w->track_count && rc == 0; i++)
		if (w->tracks[i].kept)
			rc = put_track_shapes(w, &w->tracks[i], &link, rows, labels, links);
	return rc;
}

/* ---- Times ------------------------------------------------------------------- */

/* Where the begin of the next slice of a row is counted from. */
struct cursors {
	int64_t *begin, *end; /* of the last slice of a row */
	uint32_t *open;       /* rows after whose last slice no smaller row came, ascending */
	uint32_t open_count, rows;
};

static int cursors_init(struct cursors *c, const struct page_world *w)
{
	uint32_t rows = 1;

	for (uint32_t i = 0; i < w->track_count; i++)
		rows = w->tracks[i].rows > rows ? w->tracks[i].rows : rows;
	c->begin = malloc(rows * sizeof *c->begin);
	c->end = malloc(rows * sizeof *c->end);
	c->open = malloc(((size_t)rows + 1) * sizeof *c->open);
	return c->begin && c->end && c->open ? 0 : -ENOMEM;
}

static void cursors_release(struct cursors *c)
{
	free(c->begin);
	free(c->end);
	free(c->open);
}

static void cursors_start(struct cursors *c, uint32_t rows)
{
	for (uint32_t i = 0; i < rows; i++)
		c->begin[i] = 0;
	c->open_count = 0;
}

static inline int64_t cursors_take(struct cursors *c, uint32_t row, int64_t begin, int64_t end)
{
	int64_t from;

	while (c->open_count && c->open[c->open_count - 1] > row)
		c->open_count--;
	if (c->open_count && c->open[c->open_count - 1] == row) {
		from = c->end[row];
	} else {
		c->open[c->open_count++] = row;
		from = row ? c->begin[row - 1] : 0;
	}
	c->begin[row] = begin;
	c->end[row] = end;
	return from;
}

struct times {
	struct page_world *w;
	struct cursors cursors;
	struct buffer *gaps, *durations;
};

/* Slices from `skip` on, `most` of them.  Made once for each quantum, since dividing by a constant is much faster. */
static inline __attribute__((always_inline)) int put_times(struct times *times, const struct page_track *track, uint32_t skip,
							   uint32_t most, int64_t quantum)
{
	const struct timeline *t = times->w->t;
	const struct page_keep *keep = &times->w->keep;
	struct page_walk walk;
	struct page_slice s;
	uint32_t put = 0;

	cursors_start(&times->cursors, track->rows);
	page_walk_start(&walk, t, &t->tracks[track->track]);
	walk.next += skip;
	while (put < most && page_walk_next(&walk, &s)) {
		int64_t begin, end;

		if (!page_is_kept(keep, s.slice))
			continue;
		if (put++ % CHUNK == 0 && (make_room(times->gaps) || make_room(times->durations)))
			return -ENOMEM;
		begin = page_quanta(s.begin, quantum);
		end = page_quanta(s.end, quantum);
		page_put(times->gaps, zigzag_encode(begin - cursors_take(&times->cursors, s.row, begin, end)));
		page_put(times->durations, (uint64_t)(end - begin));
	}
	return 0;
}

static int put_times_of(struct times *times, const struct page_track *track, uint32_t skip, uint32_t most, int64_t quantum)
{
	switch (quantum) {
	case 1:
		return put_times(times, track, skip, most, 1);
	case 10:
		return put_times(times, track, skip, most, 10);
	case 100:
		return put_times(times, track, skip, most, 100);
	default:
		return put_times(times, track, skip, most, 1000);
	}
}

int page_put_times(struct page_world *w, int64_t quantum, struct buffer *gaps, struct buffer *durations)
{
	struct times times = { .w = w, .gaps = gaps, .durations = durations };
	int rc = cursors_init(&times.cursors, w);

	for (uint32_t i = 0; i < w->track_count && rc == 0; i++)
		if (w->tracks[i].kept)
			rc = put_times_of(&times, &w->tracks[i], 0, UINT32_MAX, quantum);
	cursors_release(&times.cursors);
	return rc;
}

/* Runs from all over the trace.  All slices have to be kept. */
int page_put_times_sample(struct page_world *w, int64_t quantum, struct buffer *gaps, struct buffer *durations, uint32_t *ret_count)
{
	struct times times = { .w = w, .gaps = gaps, .durations = durations };
	int rc = cursors_init(&times.cursors, w);
	uint32_t count = 0;

	for (uint32_t i = 0; i < w->track_count && rc == 0; i++) {
		uint64_t first = w->tracks[i].first, end = first + w->tracks[i].kept;
		uint64_t run = first / SAMPLE_PERIOD * SAMPLE_PERIOD; /* runs go on across tracks */

		for (; run < end && rc == 0; run += SAMPLE_PERIOD) {
			uint64_t from = run > first ? run : first, to = run + SAMPLE_RUN < end ? run + SAMPLE_RUN : end;

			if (from >= to)
				continue;
			rc = put_times_of(&times, &w->tracks[i], (uint32_t)(from - first), (uint32_t)(to - from), quantum);
			count += (uint32_t)(to - from);
		}
	}
	cursors_release(&times.cursors);
	*ret_count = count;
	return rc;
}
