/*
 * clock_sync.c - see clock_sync.h.
 *
 * Good brackets are cut into segments, in the order of the host's time; then all
 * other samples narrow the lines of the segment that they fall into.
 */
#include "timeline/clock_sync.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "timeline/build.h"
#include "timeline/clock_state.h"

#define WIDE 2          /* brackets this many times as wide as a good one do not tell where a clock was set */
#define LOOK_AHEAD 3    /* samples that decide whether one that does not fit is alone */
#define ROUNDING_NS 0.5 /* of readings in whole nanoseconds */

static bool is_bracket(const struct clock_sample *s)
{
	return s->before != CLOCK_NO_BEFORE && s->after != CLOCK_NO_AFTER;
}

static bool is_good(const struct clock_sync *sync, const struct clock_sample *s)
{
	return is_bracket(s) && clock_difference(s->after, s->before) <= sync->good;
}

/* ---- Samples ---- */

static double residual(const struct clock_sync *sync, int64_t host, double x)
{
	return (double)((long double)clock_difference(host, sync->host) - (long double)sync->nominal * x);
}

static struct constraint constraint_of(const struct clock_sync *sync, const struct clock_sample *s)
{
	struct constraint c = { .device = s->device, .x = clock_difference(s->device, sync->device) };
	double rounding = is_bracket(s) ? ROUNDING_NS : 0; /* whole nanoseconds do not tell an effect from its cause */

	c.low = s->before == CLOCK_NO_BEFORE ? -INFINITY : residual(sync, s->before, c.x) - rounding;
	c.high = s->after == CLOCK_NO_AFTER ? INFINITY : residual(sync, s->after, c.x) + rounding;
	return c;
}

static int compare_host(const void *a, const void *b)
{
	const struct clock_sample *x = a, *y = b;

	if (x->before != y->before)
		return x->before < y->before ? -1 : 1;
	return x->device < y->device ? -1 : x->device > y->device;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int compare_x(const void *a, const void *b)
{
	const struct constraint *x = a, *y = b;

	return x->x < y->x ? -1 : x->x > y->x;
}

/* Brackets up to this width show where a clock was set; the narrower quarter is as good as brackets get here. */
static int find_good_width(struct clock_sync *sync, const struct clock_sample *samples, size_t count)
{
	double *widths = malloc((count + 1) * sizeof *widths);
	size_t brackets = 0;

	if (!widths)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (is_bracket(&samples[i]))
			widths[brackets++] = clock_difference(samples[i].after, samples[i].before);
	qsort(widths, brackets, sizeof *widths, compare_doubles);
	sync->good = brackets ? WIDE * fmax(widths[brackets / 4], 1) : 0;
	free(widths);
	return 0;
}

/* Without a nominal rate, that from the first bracket to the last. */
static double guess_rate(const struct clock_sample *samples, size_t count)
{
	const struct clock_sample *first = NULL, *last = NULL;
	double ticks, rate;

	for (size_t i = 0; i < count; i++)
		if (is_bracket(&samples[i])) {
			first = first ? first : &samples[i];
			last = &samples[i];
		}
	if (!first)
		return 1;
	ticks = clock_difference(last->device, first->device);
	rate = (clock_difference(last->before, first->before) + clock_difference(last->after, first->after)) / 2 / ticks;
	return rate > 0 && isfinite(rate) ? rate : 1;
}

static void set_origin(struct clock_sync *sync, const struct clock_sample *samples, size_t count,
		       const struct clock_sync_options *options)
{
	bool known = options && options->nominal > 0 && isfinite(options->nominal);
	double ppm = options && options->drift_ppm > 0 ? options->drift_ppm : CLOCK_DRIFT_PPM;

	sync->device = samples[0].device;
	sync->host = samples[0].before != CLOCK_NO_BEFORE ? samples[0].before : samples[0].after;
	sync->nominal = known ? options->nominal : guess_rate(samples, count);
	sync->drift = sync->nominal * (known ? fmin(ppm * 1e-6, 0.5) : 0.5);
}

/* ---- Segments ---- */

static struct segment *new_segment(struct clock_sync *sync)
{
	struct segment *s;

	if (ROOM_FOR(sync->segments, sync->capacity, sync->count + 1) < 0)
		return NULL;
	s = &sync->segments[sync->count++];
	*s = (struct segment){ .lines = { .slope_low = -sync->drift, .slope_high = sync->drift } };
	return s;
}

static int add_constraint(struct segment *s, const struct constraint *c)
{
	if (ROOM_FOR(s->items, s->capacity, s->count + 1) < 0)
		return -ENOMEM;
	s->items[s->count++] = *c;
	return 0;
}

static int bend_lines(struct lines *lines, const struct constraint *c)
{
	int rc = isfinite(c->high) ? hull_add(&lines->above, c->x, c->high) : 0;

	return rc == 0 && isfinite(c->low) ? hull_add(&lines->below, c->x, -c->low) : rc;
}

static bool fits(const struct segment *s, const struct constraint *c)
{
	return c->low <= lines_highest(&s->lines, c->x) && c->high >= lines_lowest(&s->lines, c->x);
}

/* Whether the reading after this one is wrong by itself: those behind it go on as before. */
static bool is_alone(const struct segment *s, const struct constraint *next, size_t count)
{
	size_t looked = count < LOOK_AHEAD ? count : LOOK_AHEAD, fitting = 0;

	for (size_t i = 0; i < looked; i++)
		fitting += next[i].x >= s->items[s->count - 1].x && fits(s, &next[i]);
	return looked > 0 && 2 * fitting > looked;
}

/* Good brackets, in the order of the host's time. */
static int cut_segments(struct clock_sync *sync, const struct constraint *items, size_t count)
{
	struct segment *s = NULL;
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		bool back = s && items[i].x < s->items[s->count - 1].x;

		if (s && (back || !fits(s, &items[i]))) {
			if (is_alone(s, items + i + 1, count - i - 1)) {
				sync->outliers++;
				continue;
			}
			sync->set_back |= back;
			s = NULL;
		}
		if (!s && !(s = new_segment(sync)))
			return -ENOMEM;
		rc = add_constraint(s, &items[i]);
		rc = rc ? rc : bend_lines(&s->lines, &items[i]);
		if (rc == 0)
			lines_narrow(&s->lines);
	}
	return rc;
}

/* The feasible lines of the first `count` constraints, sorted; -ERANGE when there are none. */
static int make_lines(const struct clock_sync *sync, struct segment *s, size_t count)
{
	struct lines lines = { .slope_low = -sync->drift, .slope_high = sync->drift };
	int rc = 0;

	qsort(s->items, count, sizeof *s->items, compare_x);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = bend_lines(&lines, &s->items[i]);
	if (rc == 0 && !lines_narrow(&lines))
		rc = -ERANGE;
	if (rc < 0) {
		lines_release(&lines);
		return rc;
	}
	lines_release(&s->lines);
	s->lines = lines;
	s->count = count;
	return 0;
}

/* The one segment that a device's time can belong to; NULL when that is not clear. */
static struct segment *segment_for(const struct clock_sync *sync, int64_t device)
{
	struct clock_place place = clock_locate(sync, device);

	return sync->set_back || place.left != place.right ? NULL : &sync->segments[place.left - sync->segments];
}

/* What has one side, or is wide, narrows the lines that the good brackets leave; what contradicts them is wrong itself. */
static int take_rest(struct clock_sync *sync, const struct clock_sample *samples, size_t count)
{
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		struct constraint c = constraint_of(sync, &samples[i]);
		struct segment *s = segment_for(sync, samples[i].device);

		if (!s || is_good(sync, &samples[i]))
			continue;
		if (fits(s, &c))
			rc = add_constraint(s, &c);
		else
			sync->outliers++;
	}
	return rc;
}

/* No good brackets at all: causes and effects alone, or if they contradict each other causes. */
static int fit_causes(struct clock_sync *sync, const struct clock_sample *samples, size_t count)
{
	struct segment *s = new_segment(sync);
	int rc = s ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && rc == 0; i++) {
		struct constraint c = constraint_of(sync, &samples[i]);

		rc = add_constraint(s, &c);
	}
	rc = rc ? rc : make_lines(sync, s, s->count);
	if (rc != -ERANGE)
		return rc;
	for (size_t i = 0; i < s->count;)
		if (isfinite(s->items[i].low))
			i++;
		else
			s->items[i] = s->items[--s->count];
	sync->outliers += count - s->count;
	return make_lines(sync, s, s->count);
}

static int64_t end_ns(const struct clock_sync *sync, const struct segment *s)
{
	double x = clock_difference(s->info.last, sync->device);

	return clock_host_of(sync, clock_line_at(s, x), x);
}

static void keep_good(const struct clock_sync *sync, struct segment *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++)
		if (clock_width(&s->items[i]) <= sync->good + 4 * ROUNDING_NS)
			s->items[kept++] = s->items[i];
	s->count = kept;
}

static void describe(const struct clock_sync *sync, struct segment *s)
{
	double x = clock_difference(s->info.first, sync->device), last;

	lines_middle(&s->lines, &s->slope, &s->height);
	s->info.slope = sync->nominal + s->slope;
	s->info.slope_error = (s->lines.slope_high - s->lines.slope_low) / 2 / s->info.slope;
	s->info.samples = s->count;
	s->info.offset_ns = clock_host_of(sync, clock_line_at(s, x), x);
	keep_good(sync, s);
	s->floor = -INFINITY;
	if (s > sync->segments) {
		last = clock_difference(s[-1].info.last, sync->device);
		s->floor = fmax(s[-1].floor, clock_line_at(&s[-1], last) + sync->nominal * last);
	}
}

/* Where each segment begins and ends, by its good brackets. */
static void note_extents(struct clock_sync *sync)
{
	for (size_t i = 0; i < sync->count; i++) {
		struct segment *s = &sync->segments[i];

		s->info.first = s->items[0].device;
		s->info.last = s->items[s->count - 1].device;
		if (i > 0 && s->info.first <= sync->segments[i - 1].info.last)
			sync->set_back = true;
	}
}

/* It may have been set just before the next segment's first sample, or just after this one's last. */
static void note_reaches(struct clock_sync *sync)
{
	for (size_t i = 0; i < sync->count; i++) {
		struct segment *s = &sync->segments[i];
		double first = clock_difference(s->info.first, sync->device), last = clock_difference(s->info.last, sync->device);
		double before = i ? clock_difference(s->info.offset_ns, end_ns(sync, &s[-1])) : INFINITY;
		double after = i + 1 < sync->count ? clock_difference(s[1].info.offset_ns, end_ns(sync, s)) : INFINITY;

		s->reach_low = first - fmax(before, 0) / s->info.slope;
		s->reach_high = last + fmax(after, 0) / s->info.slope;
	}
}

static int narrow_segments(struct clock_sync *sync, const size_t *good_counts)
{
	int rc = 0;

	for (size_t i = 0; i < sync->count && rc == 0; i++) {
		struct segment *s = &sync->segments[i];

		if (s->count > good_counts[i])
			rc = make_lines(sync, s, s->count);
		if (rc == -ERANGE) { /* together they contradict each other: the good ones stand */
			sync->outliers += s->count - good_counts[i];
			keep_good(sync, s);
			rc = 0;
		}
		describe(sync, s);
	}
	note_reaches(sync);
	return rc;
}

static int fit_brackets(struct clock_sync *sync, const struct clock_sample *samples, size_t count)
{
	struct constraint *items = malloc((count + 1) * sizeof *items);
	size_t found = 0, *good_counts = NULL;
	int rc = items ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && items; i++)
		if (is_good(sync, &samples[i]))
			items[found++] = constraint_of(sync, &samples[i]);
	rc = rc ? rc : cut_segments(sync, items, found);
	free(items);
	if (rc == 0 && !(good_counts = calloc(sync->count + 1, sizeof *good_counts)))
		rc = -ENOMEM;
	if (rc < 0)
		return rc;
	note_extents(sync);
	for (size_t i = 0; i < sync->count; i++)
		good_counts[i] = sync->segments[i].count;
	rc = take_rest(sync, samples, count);
	rc = rc ? rc : narrow_segments(sync, good_counts);
	free(good_counts);
	return rc;
}

static int fit(struct clock_sync *sync, struct clock_sample *samples, size_t count, const struct clock_sync_options *options)
{
	size_t valid = 0;
	int rc;

	for (size_t i = 0; i < count; i++) {
		bool sided = samples[i].before != CLOCK_NO_BEFORE || samples[i].after != CLOCK_NO_AFTER;

		if (sided && samples[i].before <= samples[i].after)
			samples[valid++] = samples[i];
	}
	sync->outliers = count - valid;
	if (valid == 0)
		return -ENODATA;
	qsort(samples, valid, sizeof *samples, compare_host);
	set_origin(sync, samples, valid, options);
	rc = find_good_width(sync, samples, valid);
	if (rc < 0)
		return rc;
	if (sync->good > 0)
		return fit_brackets(sync, samples, valid);
	rc = fit_causes(sync, samples, valid);
	if (rc == 0) {
		note_extents(sync);
		describe(sync, &sync->segments[0]);
		note_reaches(sync);
	}
	return rc;
}

int clock_sync_fit(struct clock_sync **ret, const struct clock_sample *samples, size_t count,
		   const struct clock_sync_options *options, struct error *err)
{
	struct clock_sample *copy = malloc((count + 1) * sizeof *copy);
	struct clock_sync *sync = calloc(1, sizeof *sync);
	int rc = copy && sync ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && copy; i++)
		copy[i] = samples[i];
	rc = rc ? rc : fit(sync, copy, count, options);
	free(copy);
	if (rc == 0) {
		*ret = sync;
		return 0;
	}
	clock_sync_free(sync);
	if (rc == -ENODATA)
		return error_set(err, rc, "there is no sample that relates the clocks");
	if (rc == -ERANGE)
		return error_set(err, rc, "the samples that relate the clocks contradict each other");
	return error_errno(err, rc, "cannot relate the clocks");
}

void clock_sync_free(struct clock_sync *sync)
{
	if (!sync)
		return;
	for (size_t i = 0; i < sync->count; i++) {
		lines_release(&sync->segments[i].lines);
		free(sync->segments[i].items);
	}
	free(sync->segments);
	free(sync);
}

size_t clock_sync_segment_count(const struct clock_sync *sync)
{
	return sync->count;
}

const struct clock_segment *clock_sync_segment(const struct clock_sync *sync, size_t i)
{
	return i < sync->count ? &sync->segments[i].info : NULL;
}

size_t clock_sync_outliers(const struct clock_sync *sync)
{
	return sync->outliers;
}
