/*
 * clock_pairs.c - clocks of devices, by the pairs of readings that recorded streams carry.
 *
 * Work of a device is on the host's clock when it comes: who recorded it drew
 * lines between these pairs.  Here the pairs say how well: half of the bracket
 * that a reading lay in, and by how much the line before a pair missed it; what
 * lies outside of all pairs is off by as much more as the rate may be.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/build.h"
#include "timeline/clock_sync.h"
#include "trace/clock_fit.h"

#define SAMPLES_MAX 4096u   /* pairs of a device that are fitted: of more, the narrowest of each few */
#define NEAR_NOMINAL 0.05   /* a rate this far from one nanosecond in a nanosecond is no drift: the unit is another one */
#define RATE_UNKNOWN (CLOCK_DRIFT_PPM * 1e-6)

int pairs_take(struct builder *b, const struct trace_batch *batch, uint32_t track, uint32_t i)
{
	const struct clock_fit *fit = batch->domain < TRACE_DOMAIN_MAX ? trace_reader_fit(b->reader, batch->domain) : NULL;
	double rate = fit ? fit->ns_per_tick : 1, miss = 0;

	if (batch->field[FIELD_VALUE])
		memcpy(&miss, &batch->field[FIELD_VALUE][i], sizeof miss);
	if (!batch->field[FIELD_INTEGER] || !isfinite(miss))
		return 0;
	if (ROOM_FOR(b->pairs, b->pair_capacity, b->pair_count + 1) < 0)
		return -ENOMEM;
	b->pairs[b->pair_count++] = (struct device_pair){
		.time = clocks_ns(b, batch->domain, batch->time[i]),
		.device = (int64_t)batch->field[FIELD_INTEGER][i],
		.width = batch->field[FIELD_DURATION] ? rate * (double)batch->field[FIELD_DURATION][i] : 0,
		.miss = rate * fabs(miss),
		.track = track,
		.domain = batch->domain,
	};
	return 0;
}

/* ---- Samples ---- */

static int compare_pairs(const void *a, const void *b)
{
	const struct device_pair *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

static struct clock_sample sample_of(const struct device_pair *p)
{
	int64_t half = p->width < 4e18 ? llrint(ceil(p->width / 2)) : INT64_MAX / 4;

	return (struct clock_sample){ time_subtract(p->time, half), p->device, time_add(p->time, half) };
}

/* Returns how many there are. */
static size_t thin(const struct device_pair *pairs, size_t count, struct clock_sample *samples)
{
	size_t step = (count + SAMPLES_MAX - 1) / SAMPLES_MAX, found = 0;

	for (size_t from = 0; from < count; from += step) {
		const struct device_pair *best = &pairs[from];

		for (size_t i = from; i < count && i < from + step; i++)
			best = pairs[i].width < best->width ? &pairs[i] : best;
		samples[found++] = sample_of(best);
	}
	return found;
}

static struct clock_sync_options options_for(const struct device_pair *pairs, size_t count)
{
	double device = (double)pairs[count - 1].device - (double)pairs[0].device;
	double host = (double)pairs[count - 1].time - (double)pairs[0].time;
	bool near = count < 2 || fabs(host - device) <= NEAR_NOMINAL * fabs(host);

	return (struct clock_sync_options){ .nominal = near ? 1 : 0 };
}

/* ---- The bound ---- */

/* How much the rate between two neighbours may be off. */
static double rate_error(const struct device_pair *a, const struct device_pair *b)
{
	double apart = (double)b->time - (double)a->time;

	return apart > 0 ? fmin((a->width + b->width) / 2 / apart, RATE_UNKNOWN) : RATE_UNKNOWN;
}

/* Work before the first pair or after the last: their line goes on. */
static double error_outside(const struct device_pair *pairs, size_t count, int64_t first, int64_t last)
{
	const struct device_pair *begin = pairs, *end = &pairs[count - 1];
	double early = (double)begin->time - (double)first, late = (double)last - (double)end->time, error = 0;

	if (early > 0)
		error = begin->width / 2 + early * (count > 1 ? rate_error(begin, begin + 1) : RATE_UNKNOWN);
	if (late > 0)
		error = fmax(error, end->width / 2 + late * (count > 1 ? rate_error(end - 1, end) : RATE_UNKNOWN));
	return error;
}

static double residual_of(const struct device_pair *pairs, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, pairs[i].miss);
	return count > 1 ? most : NAN;
}

static double error_of_pairs(const struct device_pair *pairs, size_t count)
{
	double error = 0;

	for (size_t i = 0; i < count; i++)
		error = fmax(error, pairs[i].width / 2 + pairs[i].miss);
	return error;
}

/* ---- The clocks ---- */

static const struct clock_segment *longest_segment(const struct clock_sync *sync)
{
	const struct clock_segment *longest = clock_sync_segment(sync, 0);

	for (size_t i = 1; i < clock_sync_segment_count(sync); i++)
		if (clock_sync_segment(sync, i)->samples > longest->samples)
			longest = clock_sync_segment(sync, i);
	return longest;
}

static void take_fit(struct timeline_clock *clock, const struct clock_sync *sync, int64_t start)
{
	const struct clock_segment *s = longest_segment(sync);
	long double zero = (long double)time_subtract(s->offset_ns, start) - (long double)s->slope * (long double)s->first;

	clock->slope = s->slope;
	clock->drift_ppm = s->slope > 0 && s->samples > 1 ? (1 / s->slope - 1) * 1e6 : NAN;
	clock->offset_ns = fabsl(zero) < 9e18L ? llroundl(zero) : 0;
	clock->jumps = (uint32_t)clock_sync_segment_count(sync) - 1;
}

/* Pairs of one device, by time, and the times of its work. */
static int describe_device_clock(struct builder *b, const struct device_pair *pairs, size_t count, const int64_t span[2], int64_t start)
{
	struct timeline *t = b->t;
	struct clock_sample *samples = malloc((SAMPLES_MAX + 1) * sizeof *samples);
	struct timeline_clock clock = { .domain = pairs->domain, .name = t->devices[pairs->owner].name, .of_device = true,
					.device = pairs->owner, .slope = 1, .drift_ppm = NAN, .method = "pairs" };
	struct clock_sync_options options = options_for(pairs, count);
	struct clock_sync *sync = NULL;
	struct error err;
	int rc = samples ? clock_sync_fit(&sync, samples, thin(pairs, count, samples), &options, &err) : -ENOMEM;

	free(samples);
	if (rc == -ENOMEM)
		return rc;
	if (rc == 0)
		take_fit(&clock, sync, start);
	clock_sync_free(sync);
	clock.pairs = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
	clock.residual_ns = residual_of(pairs, count);
	clock.error_ns = error_of_pairs(pairs, count);
	if (span[0] <= span[1])
		clock.error_ns = fmax(clock.error_ns, error_outside(pairs, count, time_add(span[0], start), time_add(span[1], start)));
	t->clocks[t->clock_count++] = clock;
	return 0;
}

/* From when to when each device worked, since the start. */
static void find_work_spans(const struct builder *b, int64_t (*spans)[2])
{
	const struct timeline *t = b->t;

	for (uint32_t d = 0; d < t->device_count; d++) {
		spans[d][0] = INT64_MAX;
		spans[d][1] = INT64_MIN;
	}
	for (uint32_t i = 0; i < t->slice_count; i++) {
		uint32_t device = t->tracks[b->track[i]].device;

		if (device == TIMELINE_NONE || !timeline_is_device_work(t->kind[i]))
			continue;
		spans[device][0] = t->begin[i] < spans[device][0] ? t->begin[i] : spans[device][0];
		spans[device][1] = t->end[i] > spans[device][1] ? t->end[i] : spans[device][1];
	}
}

static void find_owners(struct builder *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->pair_count; i++) {
		b->pairs[i].owner = b->t->tracks[b->pairs[i].track].device;
		if (b->pairs[i].owner != TIMELINE_NONE)
			b->pairs[kept++] = b->pairs[i];
	}
	b->pair_count = kept;
}

int pairs_describe(struct builder *b, int64_t start)
{
	int64_t (*spans)[2];
	int rc = 0;

	find_owners(b);
	if (b->pair_count == 0)
		return 0;
	spans = malloc(((size_t)b->t->device_count + 1) * sizeof *spans);
	if (!spans)
		return -ENOMEM;
	find_work_spans(b, spans);
	qsort(b->pairs, b->pair_count, sizeof *b->pairs, compare_pairs);
	for (size_t from = 0, to; from < b->pair_count && rc == 0; from = to) {
		for (to = from + 1; to < b->pair_count && b->pairs[to].owner == b->pairs[from].owner; to++)
			;
		rc = describe_device_clock(b, b->pairs + from, to - from, spans[b->pairs[from].owner], start);
	}
	free(spans);
	return rc;
}
