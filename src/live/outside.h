/*
 * outside.h - the part of a snapshot that is seen from outside: processes, threads and what they wait for, processors, memory,
 * disks, network, GPUs.
 *
 * Processes and threads come from the watch (record/watch.h), which has to keep
 * views; the machine is read here.  Everything is a difference of two readings,
 * each with the time that it was made at, so that no rate depends on when
 * somebody asks.
 */
#ifndef LIVE_OUTSIDE_H
#define LIVE_OUTSIDE_H

#include "live/snapshot.h"
#include "record/recorder.h"
#include "record/watch.h"

struct live_outside;

/* Borrows watch, which has begun with process root. */
int live_outside_new(struct live_outside **ret, struct watch *watch, pid_t root);
void live_outside_free(struct live_outside *outside);

/* A recorder is at work too: it says which processes record themselves, and asks about GPUs already.  Borrows what is in *scene.
 * Without it, a process is begun to ask about GPUs once one of the processes has CUDA's libraries in its memory. */
void live_outside_share(struct live_outside *outside, const struct recorder_scene *scene);

/* Everything of *snapshot that is this part's: cpu, memory, io, network, GPUs, processes, threads, deaths, state (running, stopped or
 * ended, of the root), own_cpu and own_rss_bytes.  now_ns: CLOCK_MONOTONIC. */
void live_outside_fill(struct live_outside *outside, int64_t now_ns, struct live_snapshot *snapshot);
/* Only the deaths since then: there will be no other snapshot. */
void live_outside_end(struct live_outside *outside, struct live_snapshot *snapshot);

/* From a text as /proc/PID/cmdline has it, of so many bytes, a zero behind each word: "python3 train.py", and never an argument.  The
 * length; 0 when it says nothing. */
size_t live_outside_program(const char *text, size_t size, char *ret, size_t ret_size);

#endif
