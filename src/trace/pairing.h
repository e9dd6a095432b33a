/*
 * pairing.h - turns the events of batches into slices.
 *
 * Keeps a stack for each track as docs/sbt-format.md section 3.4 describes,
 * and reports each slice once, when it ends: begin/end pairs, complete events,
 * and at the end the slices that never ended.  Feed batches in file order.
 */
#ifndef TRACE_PAIRING_H
#define TRACE_PAIRING_H

#include "trace/reader.h"

#define SLICE_UNFINISHED 1u /* never ended: end is the time of the end of the trace or of its track */
#define SLICE_BEGIN_LOST 2u /* begin was lost: begin is the earliest time it can have had */

#define SLICE_GOES_ON 4u    /* a part of one range: the next part begins where this one ends, outside the slice around it */

struct trace_slice {
	uint32_t track, name;
	uint8_t kind;
	uint16_t depth;
	uint32_t flags;
	int64_t begin, end;              /* ticks */
	uint16_t cpu;                    /* at the begin; EVENT_CPU_UNKNOWN when not known */
	const struct trace_batch *batch; /* of the begin or complete event, when it is the batch at hand; else NULL */
	uint32_t event;                  /* its index there */
	uint64_t feed;                   /* which batch that was, counted from 1; 0: none that was fed */
	uint32_t feed_event;             /* and its index there, whether or not it is the batch at hand */
	uint32_t end_event;              /* index in the batch at hand of the event at which it is reported */
	uint32_t parent_name;            /* of the slice around it, if its begin was seen; else kind and name are 0 */
	uint8_t parent_kind;
	bool nested; /* inside another of the same name; see trace_pairing_count_names() */
};

typedef int (*trace_slice_fn)(void *arg, const struct trace_slice *slice);

struct trace_pairing;
int trace_pairing_new(struct trace_pairing **ret);
void trace_pairing_free(struct trace_pairing *p);
/* Before the first batch: tell for names below `limit` whether slices of theirs are nested.  Takes 4 bytes a name. */
int trace_pairing_count_names(struct trace_pairing *p, size_t limit);
/* Each batch also says what was open before it, so feeding may start anywhere and leave out blocks that cannot be read;
 * slices that ended in one of these are reported as unfinished.  Non-zero results of fn stop and are returned. */
int trace_pairing_feed(struct trace_pairing *p, const struct trace_batch *batch, trace_slice_fn fn, void *arg);
/* Takes only what happened before `time` (ticks), and reports nothing; times rise along each segment. */
int trace_pairing_feed_until(struct trace_pairing *p, const struct trace_batch *batch, int64_t time);
/* Reports what is still open, with `end` as the end time. */
int trace_pairing_finish(struct trace_pairing *p, int64_t end, trace_slice_fn fn, void *arg);
uint64_t trace_pairing_unmatched_ends(const struct trace_pairing *p);

#endif
