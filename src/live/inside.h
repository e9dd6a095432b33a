/*
 * inside.h - the part of a snapshot that the program's own events tell: steps, open scopes and operators, where time goes,
 * events and losses.
 */
#ifndef LIVE_INSIDE_H
#define LIVE_INSIDE_H

#include "live/snapshot.h"
#include "record/drain.h"

struct live_inside;

/* Hears of every event that drain, borrowed, reads.  start_ticks: the beginning of the run. */
int live_inside_new(struct live_inside **ret, struct drain *drain, enum clock_source clock, int64_t start_ticks);
void live_inside_free(struct live_inside *inside); /* before the drain's end */

/* Everything of *snapshot that is this part's; threads, which are there already, get their scope and operator. */
void live_inside_fill(struct live_inside *inside, struct live_snapshot *snapshot);

#endif
