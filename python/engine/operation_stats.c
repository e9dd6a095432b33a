/* operation_stats.c - see operation_stats.h. */
#include "operation_stats.h"

#include <math.h>

#define SUB_BITS 3u
#define SUBS (1u << SUB_BITS)

/* Below SUBS each nanosecond has a bucket; from there on a doubling has SUBS of them. */
static unsigned bucket_of(uint64_t ns)
{
	unsigned top, bucket;

	if (ns < SUBS)
		return (unsigned)ns;
	top = 63u - (unsigned)__builtin_clzll(ns);
	bucket = (top - SUB_BITS + 1) * SUBS + (unsigned)(ns >> (top - SUB_BITS) & (SUBS - 1));
	return bucket < OPERATION_BUCKETS ? bucket : OPERATION_BUCKETS - 1;
}

static double bucket_begin(unsigned bucket)
{
	unsigned octave = bucket / SUBS;

	return octave ? ldexp(SUBS + bucket % SUBS, (int)octave - 1) : bucket;
}

/* ---- Blocks ---------------------------------------------------------------- */

static void halve_blocks(struct operation_stats *s)
{
	for (unsigned i = 0; i < OPERATION_BLOCKS / 2; i++) {
		const struct operation_block *a = &s->blocks[2 * i], *b = a + 1;

		s->blocks[i] = (struct operation_block){ a->count + b->count, a->ns + b->ns };
	}
	s->block_count = OPERATION_BLOCKS / 2;
	s->block_size *= 2;
}

static void add_to_block(struct operation_stats *s, uint64_t ns)
{
	struct operation_block *last;

	if (!s->block_size)
		s->block_size = 1;
	if (!s->block_count || s->blocks[s->block_count - 1].count >= s->block_size) {
		if (s->block_count == OPERATION_BLOCKS)
			halve_blocks(s);
		s->blocks[s->block_count++] = (struct operation_block){ 0, 0 };
	}
	last = &s->blocks[s->block_count - 1];
	last->count++;
	last->ns += ns;
}

size_t operation_stats_whole_blocks(const struct operation_stats *s)
{
	size_t count = s->block_count;

	return count && s->blocks[count - 1].count < s->block_size ? count - 1 : count;
}

/* ---- Sums ------------------------------------------------------------------- */

static void add_clocks(struct operation_clocks *sum, const struct operation_clocks *c)
{
	sum->wall += c->wall;
	sum->process += c->process;
	sum->thread += c->thread;
}

static int64_t greater(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void operation_stats_add(struct operation_stats *s, const struct operation_span *span)
{
	uint64_t ns = span->total.wall;
	uint32_t *bucket = &s->buckets[bucket_of(ns)];

	s->min_ns = s->count && s->min_ns < ns ? s->min_ns : ns;
	s->max_ns = s->max_ns > ns ? s->max_ns : ns;
	s->count++;
	s->failures += span->failed != 0;
	s->unfinished += span->unfinished != 0;
	add_clocks(&s->total, &span->total);
	add_clocks(&s->self, &span->self);
	s->memory += span->memory;
	s->memory_most = greater(s->memory_most, span->memory);
	s->gpu += span->gpu;
	s->gpu_most = greater(s->gpu_most, span->gpu);
	if (*bucket < UINT32_MAX)
		++*bucket;
	if (!span->unfinished) /* it would look like a quick one */
		add_to_block(s, ns);
}

void operation_stats_merge(struct operation_stats *s, const struct operation_stats *other)
{
	if (!other->count)
		return;
	s->min_ns = s->count && s->min_ns < other->min_ns ? s->min_ns : other->min_ns;
	s->max_ns = s->max_ns > other->max_ns ? s->max_ns : other->max_ns;
	s->count += other->count;
	s->failures += other->failures;
	s->unfinished += other->unfinished;
	add_clocks(&s->total, &other->total);
	add_clocks(&s->self, &other->self);
	s->memory += other->memory;
	s->memory_most = greater(s->memory_most, other->memory_most);
	s->gpu += other->gpu;
	s->gpu_most = greater(s->gpu_most, other->gpu_most);
	for (unsigned i = 0; i < OPERATION_BUCKETS; i++) {
		uint64_t sum = (uint64_t)s->buckets[i] + other->buckets[i];

		s->buckets[i] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
	}
}

/* ---- Percentiles --------------------------------------------------------------- */

double operation_stats_quantile(const struct operation_stats *s, double share)
{
	double wanted, below = 0, ns;
	uint64_t all = 0;
	unsigned i;

	for (i = 0; i < OPERATION_BUCKETS; i++)
		all += s->buckets[i];
	wanted = share * (double)all;
	for (i = 0; i + 1 < OPERATION_BUCKETS && below + s->buckets[i] < wanted; i++)
		below += s->buckets[i];
	if (!s->buckets[i])
		return (double)s->max_ns;
	ns = bucket_begin(i) + (bucket_begin(i + 1) - bucket_begin(i)) * (wanted - below) / s->buckets[i];
	return fmin((double)s->max_ns, fmax((double)s->min_ns, ns));
}
