/*
 * page_keep.c - which slices are in the page, when not all of them fit.
 *
 * All slices are kept in a few windows, where there is something to look at:
 * what was asked for, examples of findings, the slowest and the median step.
 * Elsewhere the longest are.  A slice around one that is kept is kept as well.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "page/page_parts.h"

#define FINDINGS_SHOWN 7u
#define AROUND 3 /* lengths of an example before it and after it */

/* ---- Windows ----------------------------------------------------------------- */

struct choice {
	struct page_window list[PAGE_WINDOWS];
	unsigned count;
	uint64_t slices, most; /* in them; that there may be */
};

/* Slices that begin in it. */
static uint64_t count_in(const struct timeline *t, const struct page_window *window)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < t->track_count; i++)
		if (t->tracks[i].count)
			count += timeline_first_at(t, i, window->to) - timeline_first_at(t, i, window->from);
	return count;
}

static bool choose(struct choice *c, const struct timeline *t, int64_t from, int64_t to)
{
	struct page_window window = { from > 0 ? from : 0, to < t->duration ? to : t->duration };
	uint64_t count;

	if (c->count == PAGE_WINDOWS || window.to < window.from)
		return false;
	window.to++; /* what begins at its end is in it */
	count = count_in(t, &window);
	if (count > c->most - c->slices)
		return false;
	c->list[c->count++] = window;
	c->slices += count;
	return true;
}

/* With what is around it, or, if that is too much, without. */
static void choose_example(struct choice *c, const struct timeline *t, const struct finding_example *e)
{
	int64_t length = e->end - e->begin, around;

	if (e->begin < 0 || length < 0 || e->end > TIMELINE_TIME_MAX)
		return;
	around = length < t->duration / AROUND ? AROUND * length : t->duration;
	if (!choose(c, t, e->begin - around, e->end + around))
		choose(c, t, e->begin, e->end);
}

static void choose_examples(struct choice *c, const struct analysis *a, unsigned number)
{
	for (size_t i = 0; i < a->findings.count && i < FINDINGS_SHOWN; i++)
		if (number < a->findings.list[i].example_count)
			choose_example(c, a->timeline, &a->findings.list[i].examples[number]);
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void choose_step_of(struct choice *c, const struct timeline *t, int64_t length)
{
	for (uint32_t i = 0; i < t->step_count; i++) {
		if (t->steps[i].end - t->steps[i].begin != length)
			continue;
		choose(c, t, t->steps[i].begin, t->steps[i].end);
		return;
	}
}

static int choose_steps(struct choice *c, const struct timeline *t)
{
	int64_t *lengths;

	if (t->step_count == 0)
		return 0;
	lengths = malloc(t->step_count * sizeof *lengths);
	if (!lengths)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->step_count; i++)
		lengths[i] = t->steps[i].end - t->steps[i].begin;
	qsort(lengths, t->step_count, sizeof *lengths, compare_times);
	choose_step_of(c, t, lengths[t->step_count - 1]);
	if (t->step_count > 1)
		choose_step_of(c, t, lengths[(t->step_count - 1) / 2]);
	free(lengths);
	return 0;
}

static int compare_windows(const void *a, const void *b)
{
	const struct page_window *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* By time, and those that touch as one. */
static void take_windows(struct page_world *w, struct choice *c)
{
	w->window_count = 0;
	qsort(c->list, c->count, sizeof *c->list, compare_windows);
	for (unsigned i = 0; i < c->count; i++) {
		struct page_window *last = w->window_count ? &w->windows[w->window_count - 1] : NULL;

		if (!last || c->list[i].from > last->to)
			w->windows[w->window_count++] = c->list[i];
		else if (c->list[i].to > last->to)
			last->to = c->list[i].to;
	}
}

/* What begins at its end is in it. */
static struct page_window range_window(const struct page_world *w)
{
	return (struct page_window){ w->range.from, w->range.to + 1 };
}

/* What matters most comes first: later ones may not fit any more. */
static int choose_windows(struct page_world *w, uint32_t most)
{
	struct choice c = { .most = most };

	if (w->range_whole)
		c.list[c.count++] = range_window(w);
	choose_examples(&c, w->a, 0);
	if (choose_steps(&c, w->t) < 0)
		return -ENOMEM;
	for (unsigned i = 1; i < FINDING_EXAMPLES; i++)
		choose_examples(&c, w->a, i);
	take_windows(w, &c);
	return 0;
}

/* ---- The longest ------------------------------------------------------------- */

/* Lengths by their power of two and 16 parts of it. */
#define BINS (64u * 16u)

static unsigned bin_of(int64_t length)
{
	uint64_t n = length > 0 ? (uint64_t)length : 0;
	unsigned power;

	if (n < 16)
		return (unsigned)n;
	power = 63u - (unsigned)__builtin_clzll(n);
	return (power - 3) * 16 + (unsigned)(n >> (power - 4) & 15);
}

static int64_t bin_least(unsigned bin)
{
	return bin < 16 ? bin : (int64_t)(16 + bin % 16) << (bin / 16 - 1);
}

/* The first of the bins from which on there are at most *count; takes them off it. */
static unsigned first_bin(const uint64_t *bins, uint64_t *count)
{
	unsigned bin = BINS;

	while (bin > 0 && bins[bin - 1] <= *count)
		*count -= bins[--bin];
	return bin;
}

/* The same, of equal parts of the lengths between two. */
static int64_t length_between(const struct timeline *t, int64_t from, int64_t to, uint64_t count)
{
	uint64_t bins[BINS] = { 0 };
	int64_t width = (to - from) / BINS + 1;

	for (uint32_t i = 0; i < t->slice_count; i++) {
		int64_t length = t->end[i] - t->begin[i];

		if (length >= from && length < to)
			bins[(length - from) / width]++;
	}
	from += first_bin(bins, &count) * width;
	return from < to ? from : to;
}

/* The length from which on there are at most `count`. */
static int64_t length_for(const struct timeline *t, uint64_t count)
{
	uint64_t bins[BINS] = { 0 };
	unsigned bin;

	for (uint32_t i = 0; i < t->slice_count; i++)
		bins[bin_of(t->end[i] - t->begin[i])]++;
	bin = first_bin(bins, &count);
	if (bin == 0)
		return 0;
	if (bin > bin_of(TIMELINE_TIME_MAX))
		return TIMELINE_TIME_MAX + 1;
	return length_between(t, bin_least(bin - 1), bin_least(bin), count);
}

/* ---- Marks ------------------------------------------------------------------- */

static void mark(struct page_keep *keep, const struct timeline *t, uint32_t slice)
{
	while (slice != TIMELINE_NONE && !(keep->bits[slice / 64] >> slice % 64 & 1)) {
		keep->bits[slice / 64] |= (uint64_t)1 << slice % 64;
		slice = t->parent[slice];
	}
}

/* *at is the first window that ends after the begin of the slice before. */
static bool in_window(const struct page_world *w, unsigned *at, int64_t begin, int64_t end)
{
	while (*at < w->window_count && w->windows[*at].to <= begin)
		++*at;
	return *at < w->window_count && (end > w->windows[*at].from || begin >= w->windows[*at].from);
}

static void mark_track(struct page_world *w, const struct timeline_track *track)
{
	const struct timeline *t = w->t;
	unsigned window = 0;

	for (uint32_t i = track->first; i < track->first + track->count; i++)
		if (in_window(w, &window, t->begin[i], t->end[i]) || t->end[i] - t->begin[i] >= w->least)
			mark(&w->keep, t, i);
}

static void count_marks(struct page_world *w)
{
	uint32_t words = w->t->slice_count / 64 + 1, sum = 0;

	for (uint32_t i = 0; i < words; i++) {
		w->keep.before[i] = sum;
		sum += (uint32_t)__builtin_popcountll(w->keep.bits[i]);
	}
}

static void place_tracks(struct page_world *w)
{
	w->slices_here = 0;
	for (uint32_t i = 0; i < w->track_count; i++) {
		const struct timeline_track *track = &w->t->tracks[w->tracks[i].track];

		w->tracks[i].first = w->slices_here;
		w->tracks[i].kept = page_kept_before(&w->keep, track->first + track->count) - page_kept_before(&w->keep, track->first);
		w->slices_here += w->tracks[i].kept;
	}
}

int page_keep_all(struct page_world *w)
{
	w->keep.all = true;
	w->window_count = 0;
	w->least = 0;
	place_tracks(w);
	return 0;
}

int page_keep_some(struct page_world *w, uint32_t count)
{
	size_t words = w->t->slice_count / 64 + 1;
	struct page_window range = range_window(w);
	uint64_t inside = 0, most = count;

	if (!w->keep.bits) {
		w->keep.bits = malloc(words * sizeof *w->keep.bits);
		w->keep.before = malloc(words * sizeof *w->keep.before);
	}
	if (!w->keep.bits || !w->keep.before || choose_windows(w, count / 2) < 0)
		return -ENOMEM;
	w->keep.all = false;
	memset(w->keep.bits, 0, words * sizeof *w->keep.bits);
	for (unsigned i = 0; i < w->window_count; i++)
		inside += count_in(w->t, &w->windows[i]);
	if (w->range_whole)
		most += count_in(w->t, &range);
	w->least = length_for(w->t, inside < most ? most - inside : 0);
	for (uint32_t i = 0; i < w->t->track_count; i++)
		mark_track(w, &w->t->tracks[i]);
	count_marks(w);
	place_tracks(w);
	return 0;
}

void page_keep_release(struct page_world *w)
{
	free(w->keep.bits);
	free(w->keep.before);
	w->keep = (struct page_keep){ 0 };
}
