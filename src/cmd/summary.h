/*
 * summary.h - counts over a whole trace, for `info`.
 *
 * Blocks are decoded in parallel, each by itself: a block starts with the open
 * stacks of its tracks, so the slices that end in it can be told without the
 * blocks before it, and damage elsewhere does no harm.
 */
#ifndef CMD_SUMMARY_H
#define CMD_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/reader.h"

/* A count and times for each of some 32-bit numbers. */
struct tally_entry {
	uint32_t key;
	bool used;      /* or the place is free */
	uint64_t count;
	int64_t total_ns; /* a slice inside another of its name counts once */
	int64_t self_ns;  /* without what was inside it */
	int64_t max_ns;
};
struct tally {
	struct tally_entry *entries;
	size_t capacity, used; /* capacity: 0 or a power of two */
};

struct summary {
	uint64_t events, blocks;
	uint64_t kinds[256];
	uint64_t lost[LOST_REASON_COUNT]; /* place 0: of unknown reason */
	uint64_t lost_total;              /* without LOST_NAMES, where the events are kept */
	uint64_t unfinished, unmatched_ends;
	int64_t unseen_ns;   /* time in which calls were not seen: they are in no table */
	struct tally tracks; /* events of each track */
	struct tally scopes, functions, operators; /* slices of each name; what never ended counts as far as the trace goes */
	int64_t duration_ns; /* from the start of the trace to its last event */
};

int summary_collect(struct summary *summary, struct trace_reader *reader, struct error *err);
void summary_release(struct summary *summary);

uint64_t tally_count(const struct tally *tally, uint32_t key);
/* Moves the entries with a count together and sorts them: the largest total first, then the largest count.  No lookups
 * afterwards. */
size_t tally_sort(struct tally *tally);

#endif
