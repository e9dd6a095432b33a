/*
 * operation_stats.h - figures of an operation that comes again and again, in a fixed amount of memory.
 *
 * Durations are counted in buckets, eight to a doubling, so that percentiles are
 * right within an eighth; and they are kept in their order as sums of blocks of
 * equal counts, which tell how much the program's pace varies: neighbours are
 * alike, so that the spread of single durations would promise too much.
 */
#ifndef ENGINE_OPERATION_STATS_H
#define ENGINE_OPERATION_STATS_H

#include <stddef.h>
#include <stdint.h>

#define OPERATION_BUCKETS 352u /* up to nineteen hours; what is longer is in the last */
#define OPERATION_BLOCKS 64u   /* when they are full, two become one */

/* Clocks, or spans of them; what is not collected is 0. */
struct operation_clocks {
	uint64_t wall, process, thread; /* ns; the last two on processors */
};

struct operation_block {
	uint64_t count, ns;
};

struct operation_stats {
	uint64_t count, failures, unfinished;
	struct operation_clocks total, self; /* self: without operations inside */
	uint64_t min_ns, max_ns;
	int64_t memory, memory_most; /* bytes by which it grew: in all, and in one that grew most */
	int64_t gpu, gpu_most;
	uint32_t buckets[OPERATION_BUCKETS];
	struct operation_block blocks[OPERATION_BLOCKS];
	uint32_t block_count, block_size; /* durations of a whole block */
};

struct operation_span {
	struct operation_clocks total, self;
	int64_t memory, gpu;
	int failed, unfinished;
};

void operation_stats_add(struct operation_stats *s, const struct operation_span *span);

/* What another thread has counted; its blocks are not merged, see operation_stats_blocks(). */
void operation_stats_merge(struct operation_stats *s, const struct operation_stats *other);

/* The duration below which this share (0..1) of them is. */
double operation_stats_quantile(const struct operation_stats *s, double share);

/* Whole blocks; the last may not be. */
size_t operation_stats_whole_blocks(const struct operation_stats *s);

#endif
