/*
 * alerts_growth.c - does memory grow steadily?
 *
 * The least of every five seconds is kept, so that what comes and goes is not
 * seen.  Memory grows when each quarter of the window has more than the one
 * before, the last quarter is not much slower than the whole, and most of it is more than there ever
 * was: a sawtooth is none of that.  The slope is the median over all
 * pairs, which a few jumps do not move.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "live/alerts_state.h"

#define LEAST_BYTES (32.0 * 1024 * 1024) /* in the window */
#define LEAST_SHARE 0.02
#define STILL 0.4 /* of the slope, in the last quarter */
#define NEW 0.5   /* of the growth, above all there was before */

void alert_growth_reset(struct alert_growth *g, double before)
{
	*g = (struct alert_growth){ .before = before, .begin_s = NAN, .now = NAN };
}

static void push(struct alert_growth *g, double bytes)
{
	if (g->count == GROWTH_BUCKETS) {
		g->before = fmax(g->before, g->least[0]);
		memmove(g->least, g->least + 1, (GROWTH_BUCKETS - 1) * sizeof *g->least);
		g->count--;
	}
	g->least[g->count++] = bytes;
}

void alert_growth_add(struct alert_growth *g, double now_s, double bytes)
{
	if (isnan(bytes))
		return;
	if (!isnan(g->begin_s) && now_s - g->begin_s >= 2 * GROWTH_BUCKET_S) /* nobody looked for a while */
		alert_growth_reset(g, fmax(g->before, bytes));
	if (!isnan(g->begin_s) && now_s - g->begin_s >= GROWTH_BUCKET_S) {
		push(g, g->now);
		g->begin_s += GROWTH_BUCKET_S;
		g->now = NAN;
	}
	if (isnan(g->begin_s))
		g->begin_s = now_s;
	g->now = fmin(g->now, bytes); /* passes over a NAN */
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of all pairs, in bytes a second. */
static double median_slope(const double *values, uint32_t count)
{
	double slopes[GROWTH_BUCKETS * (GROWTH_BUCKETS - 1) / 2];
	size_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = i + 1; j < count; j++)
			slopes[n++] = (values[j] - values[i]) / ((double)(j - i) * GROWTH_BUCKET_S);
	qsort(slopes, n, sizeof *slopes, compare);
	return n ? slopes[n / 2] : 0;
}

static double least_of(const double *values, uint32_t count)
{
	double least = values[0];

	for (uint32_t i = 1; i < count; i++)
		least = fmin(least, values[i]);
	return least;
}

static double most_before(const struct alert_growth *g, uint32_t first)
{
	double most = g->before;

	for (uint32_t i = 0; i < first; i++)
		most = fmax(most, g->least[i]);
	return most;
}

double alert_growth_slope(const struct alert_growth *g, uint32_t buckets)
{
	uint32_t quarter = buckets / 4;
	const double *window;
	double least[4], slope;

	if (g->count < buckets || quarter == 0)
		return 0;
	window = g->least + (g->count - buckets);
	for (uint32_t i = 0; i < 4; i++) {
		least[i] = least_of(window + i * quarter, quarter);
		if (i > 0 && least[i] <= least[i - 1])
			return 0;
	}
	if (least[3] - most_before(g, g->count - buckets) < NEW * (least[3] - least[0]))
		return 0;
	slope = median_slope(window, buckets);
	if (slope * buckets * GROWTH_BUCKET_S < fmax(LEAST_BYTES, LEAST_SHARE * least[3]))
		return 0;
	return (least[3] - least[2]) / (quarter * GROWTH_BUCKET_S) >= STILL * slope ? slope : 0;
}
