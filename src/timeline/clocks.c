/*
 * clocks.c - the clocks of a trace on one.
 *
 * The reader turns ticks into nanoseconds of CLOCK_MONOTONIC_RAW where there
 * are pairs of both.  Clocks of the time of day, and times of other tools
 * that look like it, are put beside it by what a pair says about the time of
 * day.  Clocks that lie days apart from the first have nothing to do with it,
 * as far as the trace tells: they start together.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "timeline/build.h"
#include "trace/clock_fit.h"

#define EPOCH_LIKE ((int64_t)1000000000000000000) /* September 2001 */
#define APART_NS ((int64_t)86400 * 1000000000)

/* What a pair of any domain says about the other clocks. */
struct relation {
	int64_t monotonic, realtime; /* to be added to nanoseconds of these */
	bool monotonic_known, realtime_known;
};

static struct relation relation_of(const struct trace_reader *r)
{
	struct relation relation = { 0 };

	for (uint32_t d = 0; d < TRACE_DOMAIN_MAX && !relation.realtime_known; d++) {
		const struct trace_clock_pair *pairs = NULL;
		size_t count = trace_reader_clock_pairs(r, d, &pairs);

		if (count && pairs[0].monotonic_ns && !relation.monotonic_known) {
			relation.monotonic = time_subtract(pairs[0].raw_ns, pairs[0].monotonic_ns);
			relation.monotonic_known = true;
		}
		if (count && pairs[0].realtime_ns) {
			relation.realtime = time_subtract(pairs[0].raw_ns, pairs[0].realtime_ns);
			relation.realtime_known = true;
		}
	}
	return relation;
}

/* From the heads of the blocks: when each clock was in use. */
static void find_spans(struct builder *b)
{
	for (size_t i = 0; i < trace_reader_block_count(b->reader); i++) {
		const struct trace_block *block = trace_reader_block(b->reader, i);
		struct domain_span *span = block->domain < TRACE_DOMAIN_MAX ? &b->domains[block->domain] : NULL;
		int64_t first, last;

		if (!span || block->count == 0)
			continue;
		first = trace_reader_ns(b->reader, block->domain, block->first_time);
		last = trace_reader_ns(b->reader, block->domain, block->last_time);
		span->first = !span->used || first < span->first ? first : span->first;
		span->last = !span->used || last > span->last ? last : span->last;
		span->used = true;
	}
}

static bool is_time_of_day(const struct trace_clock *clock, const struct domain_span *span)
{
	return clock && (clock->kind == CLOCK_KIND_REALTIME || (clock->kind == CLOCK_KIND_NANOSECONDS && span->first > EPOCH_LIKE));
}

static void place_domain(struct builder *b, uint32_t d, const struct relation *relation)
{
	const struct trace_clock *clock = trace_reader_clock(b->reader, d);
	const struct clock_fit *fit = trace_reader_fit(b->reader, d);
	struct domain_span *span = &b->domains[d];
	bool ticks = !clock || clock->kind == CLOCK_KIND_TSC || clock->kind == CLOCK_KIND_ARM || clock->kind == CLOCK_KIND_DEVICE;

	span->method = fit->used >= 2 ? "pairs" : ticks ? "nominal" : "as_given";
	if (is_time_of_day(clock, span) && relation->realtime_known)
		span->shift = relation->realtime;
	else if (clock && clock->kind == CLOCK_KIND_MONOTONIC && relation->monotonic_known)
		span->shift = relation->monotonic;
	if (is_time_of_day(clock, span) && !b->realtime_known) {
		b->realtime_known = true;
		b->realtime_offset = time_subtract(0, span->shift);
	}
}

/* Clocks that cannot be meant to agree with the first start when it does. */
static void align_starts(struct builder *b)
{
	const struct domain_span *reference = NULL;

	for (uint32_t d = 0; d < TRACE_DOMAIN_MAX; d++) {
		struct domain_span *span = &b->domains[d];
		int64_t first = time_add(span->first, span->shift), last = time_add(span->last, span->shift);
		int64_t zero;

		if (!span->used)
			continue;
		if (!reference) {
			reference = span;
			continue;
		}
		zero = time_add(reference->first, reference->shift);
		if (time_subtract(first, time_add(reference->last, reference->shift)) <= APART_NS && time_subtract(zero, last) <= APART_NS)
			continue;
		span->shift = time_subtract(zero, span->first);
		span->method = "start_aligned";
	}
}

void clocks_prepare(struct builder *b)
{
	struct relation relation = relation_of(b->reader);

	find_spans(b);
	b->realtime_known = relation.realtime_known;
	b->realtime_offset = time_subtract(0, relation.realtime);
	for (uint32_t d = 0; d < TRACE_DOMAIN_MAX; d++)
		if (b->domains[d].used)
			place_domain(b, d, &relation);
	align_starts(b);
}

/* The kernel's clocks count what they say; how well another tool's times fit is not known. */
static double error_of(const struct builder *b, uint32_t d)
{
	const struct trace_clock *clock = trace_reader_clock(b->reader, d);
	const struct clock_fit *fit = trace_reader_fit(b->reader, d);

	if (fit->used >= 2 || (fit->used == 1 && !(clock && clock->kind == CLOCK_KIND_NANOSECONDS)))
		return fit->error_ns;
	if (clock && b->domains[d].shift == 0 && (clock->kind == CLOCK_KIND_MONOTONIC_RAW || clock->kind == CLOCK_KIND_MONOTONIC ||
						  clock->kind == CLOCK_KIND_REALTIME))
		return 0;
	return -1;
}

bool clocks_are_ours(const struct builder *b, uint32_t domain)
{
	const struct trace_clock *clock = domain < TRACE_DOMAIN_MAX ? trace_reader_clock(b->reader, domain) : NULL;

	return clock && clock->kind != CLOCK_KIND_NANOSECONDS && clock->kind != CLOCK_KIND_REALTIME;
}

int clocks_describe(struct builder *b, int64_t start)
{
	struct timeline *t = b->t;

	for (uint32_t d = 0; d < TRACE_DOMAIN_MAX; d++)
		t->clock_count += b->domains[d].used;
	t->clocks = calloc((size_t)t->clock_count + t->device_count + 2, sizeof *t->clocks); /* a device may be adopted */
	if (!t->clocks)
		return -ENOMEM;
	t->clock_count = 0;
	for (uint32_t d = 0; d < TRACE_DOMAIN_MAX; d++) {
		const struct trace_clock *clock = trace_reader_clock(b->reader, d);

		if (!b->domains[d].used)
			continue;
		t->clocks[t->clock_count++] = (struct timeline_clock){
			.domain = d,
			.name = clock ? clock->name : 0,
			.slope = trace_reader_fit(b->reader, d)->ns_per_tick,
			.offset_ns = time_subtract(clocks_ns(b, d, 0), start),
			.error_ns = error_of(b, d),
			.method = b->domains[d].method,
			.drift_ppm = NAN,
			.residual_ns = NAN,
		};
	}
	t->start_ns = b->realtime_known ? time_add(start, b->realtime_offset) : 0;
	return pairs_describe(b, start);
}
