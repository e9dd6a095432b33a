/*
 * page_buckets.c - how full each row is over time, and of what (docs/report-page.md, "Buckets").
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "page/page_parts.h"

#define BUCKETS_LEAST 16u
#define RAW_MOST ((uint64_t)16 << 20) /* bytes of all rows */

struct buckets {
	struct page_world *w;
	unsigned count;
	int64_t *bound;    /* of each bucket, and the end of the last */
	uint32_t *order;   /* slices of a track, row by row */
	uint32_t *row_first;
	int64_t *time;     /* by label, in this bucket */
	uint32_t *touched; /* labels that have some */
	uint32_t touched_count;
	struct buffer labels;
	uint8_t *full;     /* of one row */
};

/* Enough for each row, and not too much for all. */
static unsigned count_for(const struct page_world *w, unsigned most)
{
	uint64_t rows = 0;

	for (uint32_t i = 0; i < w->track_count; i++)
		rows += w->tracks[i].rows;
	while (most >= BUCKETS_LEAST && rows * most > RAW_MOST)
		most /= 2;
	return most >= BUCKETS_LEAST ? most : 0;
}

static int buckets_init(struct buckets *b, struct page_world *w, unsigned count)
{
	uint32_t slices = 0, rows = 0;

	for (uint32_t i = 0; i < w->track_count; i++) {
		uint32_t n = w->t->tracks[w->tracks[i].track].count;

		slices = n > slices ? n : slices;
		rows = w->tracks[i].rows > rows ? w->tracks[i].rows : rows;
	}
	*b = (struct buckets){ .w = w, .count = count };
	b->bound = malloc((count + 1) * sizeof *b->bound);
	b->order = malloc(((size_t)slices + 1) * sizeof *b->order);
	b->row_first = malloc(((size_t)rows + 2) * sizeof *b->row_first);
	b->time = calloc((size_t)w->labels.all + 1, sizeof *b->time);
	b->touched = malloc(((size_t)w->labels.all + 1) * sizeof *b->touched);
	b->full = malloc(count);
	if (!b->bound || !b->order || !b->row_first || !b->time || !b->touched || !b->full)
		return -ENOMEM;
	for (unsigned i = 0; i <= count; i++)
		b->bound[i] = (int64_t)((__int128)w->t->duration * i / count);
	return 0;
}

static void buckets_release(struct buckets *b)
{
	free(b->bound);
	free(b->order);
	free(b->row_first);
	free(b->time);
	free(b->touched);
	free(b->full);
	buffer_release(&b->labels);
}

/* The slices of a track, sorted by row, by begin within a row. */
static void sort_by_row(struct buckets *b, const struct page_track *track)
{
	const struct timeline *t = b->w->t;
	struct page_walk walk;
	struct page_slice s;

	memset(b->row_first, 0, (track->rows + 2) * sizeof *b->row_first);
	page_walk_start(&walk, t, &t->tracks[track->track]);
	while (page_walk_next(&walk, &s))
		b->row_first[s.row + 2]++;
	for (uint32_t i = 2; i < track->rows + 2; i++)
		b->row_first[i] += b->row_first[i - 1];
	page_walk_start(&walk, t, &t->tracks[track->track]);
	while (page_walk_next(&walk, &s))
		b->order[b->row_first[s.row + 1]++] = s.slice;
}

static void give(struct buckets *b, uint32_t label, int64_t time)
{
	if (b->time[label] == 0)
		b->touched[b->touched_count++] = label;
	b->time[label] = page_sum(b->time[label], time);
}

/* What takes the most of a bucket is told, and all is forgotten. */
static int finish_bucket(struct buckets *b, unsigned at)
{
	uint32_t best = TIMELINE_NONE;
	int64_t sum = 0, width = b->bound[at + 1] - b->bound[at];
	double full;

	for (uint32_t i = 0; i < b->touched_count; i++) {
		uint32_t label = b->touched[i];

		if (best == TIMELINE_NONE || b->time[label] > b->time[best] || (b->time[label] == b->time[best] && label < best))
			best = label;
		sum = page_sum(sum, b->time[label]);
	}
	full = width > 0 ? 255 * ((double)sum / (double)width) : 0;
	b->full[at] = best == TIMELINE_NONE ? 0 : full < 1 ? 1 : full > 255 ? 255 : (uint8_t)(full + 0.5);
	for (uint32_t i = 0; i < b->touched_count; i++)
		b->time[b->touched[i]] = 0;
	b->touched_count = 0;
	return best == TIMELINE_NONE ? 0 : buffer_append_uv(&b->labels, best);
}

static int put_row(struct buckets *b, const uint32_t *slices, uint32_t count, struct buffer *out)
{
	const struct page_world *w = b->w;
	const struct timeline *t = w->t;
	int64_t covered = 0;
	unsigned at = 0;
	int rc = 0;

	memset(b->full, 0, b->count);
	buffer_clear(&b->labels);
	for (uint32_t i = 0; i < count && rc == 0; i++) {
		int64_t begin = t->begin[slices[i]] > covered ? t->begin[slices[i]] : covered, end = t->end[slices[i]];
		uint32_t label = page_label_of(&w->labels, page_slice_name(t, slices[i]), page_sort_of(w->a, slices[i]));

		while (begin < end && rc == 0) {
			int64_t until;

			while (at + 1 < b->count && b->bound[at + 1] <= begin && rc == 0)
				rc = finish_bucket(b, at++);
			until = at + 1 < b->count && b->bound[at + 1] < end ? b->bound[at + 1] : end;
			give(b, label, until - begin);
			begin = until;
		}
		covered = end > covered ? end : covered;
	}
	if (rc == 0)
		rc = finish_bucket(b, at);
	if (rc == 0)
		rc = buffer_append(out, b->full, b->count);
	return rc ? rc : buffer_append(out, b->labels.data, b->labels.size);
}

static int put_track(struct buckets *b, const struct page_track *track, struct buffer *out)
{
	uint32_t from = 0;
	int rc = 0;

	sort_by_row(b, track);
	for (uint32_t row = 0; row < track->rows && rc == 0; row++) {
		rc = put_row(b, b->order + from, b->row_first[row + 1] - from, out);
		from = b->row_first[row + 1];
	}
	return rc;
}

int page_buckets_put(struct page_world *w, unsigned buckets, struct buffer *out)
{
	struct buckets b;
	int rc;

	w->buckets = count_for(w, buckets);
	if (w->buckets == 0 || w->t->duration <= 0) {
		w->buckets = 0;
		return 0;
	}
	rc = buckets_init(&b, w, w->buckets);
	for (uint32_t i = 0; i < w->track_count && rc == 0; i++)
		rc = put_track(&b, &w->tracks[i], out);
	buckets_release(&b);
	return rc;
}
