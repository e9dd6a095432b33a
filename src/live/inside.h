/*
 * inside.h - the part of a snapshot that the program's own events tell: steps, open scopes and operators, where time goes,
 * events and losses.
 *
 * It hears of every event as the recorder reads it (drain_listen()).  Stacks and
 * steps are followed event by event; where time goes is a sample when there are
 * more events than can be looked at for little.
 *
 * A step is what the program does again and again, from one beginning of it to
 * the next on the same thread.  Its name is, in this order: what was asked for,
 * PyTorch's ProfilerStep#N, a scope that is called a step (iteration, batch,
 * request), PyTorch's Optimizer.step, its loader being asked for a batch, a scope
 * that is called what a step does (forward, generate), the scope or operator that
 * repeats and covers most of its thread's time.  Where nothing says so by its name,
 * it is the repetition of operators, or of calls, that tells (inside_repeats.c).
 */
#ifndef LIVE_INSIDE_H
#define LIVE_INSIDE_H

#include "live/snapshot.h"
#include "record/drain.h"

struct live_inside;

struct live_inside_options {
	enum clock_source clock;
	int64_t start_ticks;       /* the beginning of the run */
	uint64_t rate;             /* ticks a second; 0: measure it, which takes a millisecond */
	const char *step;          /* what a step is called, without its number; NULL: find out */
	const char *trace_partial; /* where the trace is being written; NULL: not known */
	struct trace_writer *writer; /* borrowed, for its size; may be NULL */
};

/* Hears of every event that drain, borrowed, reads. */
int live_inside_new(struct live_inside **ret, struct drain *drain, const struct live_inside_options *options);
void live_inside_free(struct live_inside *inside); /* before the drain's end */

/* Everything of *snapshot that is this part's; threads, which are there already, get their scope and operator.  At `ticks`,
 * which is now. */
void live_inside_fill(struct live_inside *inside, uint64_t ticks, struct live_snapshot *snapshot);

#endif
