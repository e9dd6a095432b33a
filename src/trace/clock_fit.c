/* clock_fit.c - see clock_fit.h. */
#include "trace/clock_fit.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static int compare_widths(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Brackets up to twice the narrowest are as good as they get; but at least half of the pairs are used.  A wide bracket
 * means that the reader was interrupted between the clocks. */
static uint64_t widest_used(const struct trace_clock_pair *pairs, size_t count)
{
	uint64_t *widths = malloc(count * sizeof *widths), limit;

	if (!widths)
		return UINT64_MAX;
	for (size_t i = 0; i < count; i++)
		widths[i] = pairs[i].width;
	qsort(widths, count, sizeof *widths, compare_widths);
	limit = widths[0] > UINT64_MAX / 2 ? UINT64_MAX : 2 * widths[0];
	if (limit < widths[count / 2])
		limit = widths[count / 2];
	free(widths);
	return limit;
}

static double difference(int64_t a, int64_t b)
{
	int64_t exact;

	return __builtin_sub_overflow(a, b, &exact) ? (double)a - (double)b : (double)exact;
}

struct sums {
	double n, x, y, xx, xy;
};

static double line_slope(const struct trace_clock_pair *pairs, size_t count, uint64_t limit, struct sums *s)
{
	double x, y;

	*s = (struct sums){ 0 };
	for (size_t i = 0; i < count; i++) {
		if (pairs[i].width > limit)
			continue;
		s->n++;
		s->x += difference(pairs[i].ticks, pairs[0].ticks);
		s->y += difference(pairs[i].raw_ns, pairs[0].raw_ns);
	}
	s->x /= s->n;
	s->y /= s->n;
	for (size_t i = 0; i < count; i++) {
		if (pairs[i].width > limit)
			continue;
		x = difference(pairs[i].ticks, pairs[0].ticks) - s->x;
		y = difference(pairs[i].raw_ns, pairs[0].raw_ns) - s->y;
		s->xx += x * x;
		s->xy += x * y;
	}
	return s->xx > 0 ? s->xy / s->xx : 0;
}

/* How far the used pairs are from the line at most. */
static double largest_error(const struct clock_fit *fit, const struct trace_clock_pair *pairs, size_t count,
			    uint64_t limit)
{
	double largest = 0;

	for (size_t i = 0; i < count; i++) {
		double line = difference(pairs[i].ticks, fit->origin_ticks) * fit->ns_per_tick;
		double error = fabs(difference(pairs[i].raw_ns, fit->origin_ns) - line) +
			       (double)pairs[i].width / 2 * fit->ns_per_tick;

		if (pairs[i].width <= limit && error > largest)
			largest = error;
	}
	return largest;
}

void clock_fit_compute(struct clock_fit *fit, const struct trace_clock_pair *pairs, size_t count, uint64_t nominal_rate)
{
	uint64_t limit = count ? widest_used(pairs, count) : 0;
	double nominal = nominal_rate ? 1e9 / (double)nominal_rate : 1, slope = 0;
	struct sums s;

	*fit = (struct clock_fit){ .ns_per_tick = nominal, .pairs = count };
	if (count == 0)
		return;
	fit->origin_ticks = pairs[0].ticks;
	fit->origin_ns = pairs[0].raw_ns;
	slope = line_slope(pairs, count, limit, &s);
	if (slope > 0 && isfinite(slope) && isfinite(s.y - slope * s.x)) {
		fit->ns_per_tick = slope;
		/* the origin moves to the line; what is cut off here is below a nanosecond */
		fit->origin_ns = clock_fit_ns(&(struct clock_fit){ .origin_ns = pairs[0].raw_ns, .ns_per_tick = 1 },
					      llround(fmax(fmin(s.y - slope * s.x, 9e18), -9e18)));
	}
	fit->used = (size_t)s.n;
	fit->error_ns = largest_error(fit, pairs, count, limit);
}

/* origin + delta, held within the range of int64_t. */
static int64_t add_saturated(int64_t origin, double delta)
{
	int64_t sum;

	if (!(delta > -9.2e18))
		return INT64_MIN;
	if (!(delta < 9.2e18))
		return INT64_MAX;
	if (__builtin_add_overflow(origin, (int64_t)llround(delta), &sum))
		return delta < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/* With a rate of one, differences are exact whatever their size; doubles are not. */
static int64_t move_by(int64_t value, int64_t from, int64_t to, double rate)
{
	int64_t delta, sum;

	if (rate != 1 || __builtin_sub_overflow(value, from, &delta))
		return add_saturated(to, difference(value, from) * rate);
	if (__builtin_add_overflow(to, delta, &sum))
		return delta < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

int64_t clock_fit_ns(const struct clock_fit *fit, int64_t ticks)
{
	return move_by(ticks, fit->origin_ticks, fit->origin_ns, fit->ns_per_tick);
}

int64_t clock_fit_ticks(const struct clock_fit *fit, int64_t ns)
{
	return move_by(ns, fit->origin_ns, fit->origin_ticks, 1 / fit->ns_per_tick);
}
