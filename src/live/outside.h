/*
 * outside.h - the part of a snapshot that is seen from outside: processes, threads and what they wait for, processors, memory,
 * disks, network, GPUs.
 */
#ifndef LIVE_OUTSIDE_H
#define LIVE_OUTSIDE_H

#include "live/snapshot.h"
#include "record/watch.h"

struct live_outside;

/* Borrows watch, which has begun with process root. */
int live_outside_new(struct live_outside **ret, struct watch *watch, pid_t root);
void live_outside_free(struct live_outside *outside);

/* Everything of *snapshot that is this part's; now_ns: CLOCK_MONOTONIC. */
void live_outside_fill(struct live_outside *outside, int64_t now_ns, struct live_snapshot *snapshot);

#endif
