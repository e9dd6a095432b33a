/*
 * timeline.h - what a trace says, on one clock, as columns in memory.
 *
 *      struct timeline *t;
 *      timeline_build(&t, reader, &options, &err);
 *      for (uint32_t i = t->tracks[k].first; i < t->tracks[k].first + t->tracks[k].count; i++)
 *              ... t->begin[i], t->end[i], t->name[i] ...
 *      timeline_free(t);
 *
 * Slices are sorted by track, then by begin, then the longer first, so that
 * those of a track are a range and a slice follows the one around it.  A slice
 * takes TIMELINE_SLICE_BYTES bytes.  Times are nanoseconds since the start of
 * the timeline, never negative and at most TIMELINE_TIME_MAX, whatever clocks the
 * trace was recorded with.  In a damaged trace sums of durations may be too large
 * for an int64_t all the same.
 * Names are the trace's string numbers.  Nothing changes after building.
 */
#ifndef TIMELINE_TIMELINE_H
#define TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "ring/event.h"
#include "trace/reader.h"

#define TIMELINE_NONE UINT32_MAX
#define TIMELINE_TIME_MAX ((int64_t)1 << 60)
#define TIMELINE_ROUNDING 1000 /* ns by which a slice may outlive the one around it and still be inside: other tools round */
#define TIMELINE_SLICE_BYTES 36 /* begin 8, end 8, name 4, parent 4, link 4, detail 4, depth 2, kind 1, flags 1 */

#define TIMELINE_ORIGIN_BITS 20
#define TIMELINE_NO_ORIGIN UINT64_MAX

/* flags of a slice */
#define SLICE_OPEN 1u        /* never ended: end is as far as it is known to have come */
#define SLICE_CROSSES 2u     /* on a thread: ends after the slice it began in; parent is the one it began in */
#define SLICE_OVERLAPS 4u    /* device work that begins before the work before it on its stream has ended */
#define SLICE_CLOCK_DAMAGE 8u /* device work that begins before its launch did */
#define SLICE_UNLAUNCHED 16u /* device work whose launch is not in the trace */
#define SLICE_BEGIN_UNKNOWN 32u /* its begin was lost: begin is the earliest it can have been */
#define SLICE_CONTINUES 64u  /* a part of one range, whose next part begins here at its end: count it with the last part only */
#define SLICE_WORK_RUNS 128u /* on a stream, of any kind: work that began before it still runs */

struct timeline_host {
	uint32_t name;
};
struct timeline_process {
	uint32_t host;
	uint64_t pid;
	int64_t rank; /* -1: none */
	uint32_t parent; /* TIMELINE_NONE */
	uint32_t name, command;
};
struct timeline_device {
	uint32_t host;
	uint32_t index; /* on its host, as the trace says */
	uint8_t kind;   /* 1 CUDA, 2 OpenCL, 3 HIP, 4 other */
	int64_t rank;   /* of the process that uses it; -1 */
	uint32_t name;
	/* 0 where the trace does not say */
	uint32_t multiprocessors, max_threads_per_multiprocessor, max_threads_per_block, registers_per_multiprocessor, warp_size;
	uint32_t shared_memory_per_multiprocessor, compute_major, compute_minor;
	uint64_t memory;
	uint32_t first_stream, stream_count; /* in `streams`: numbers of its tracks */
};
struct timeline_track {
	uint8_t kind; /* enum trace_track_kind */
	uint32_t process; /* TIMELINE_NONE */
	uint32_t device;  /* TIMELINE_NONE */
	uint64_t os_id;   /* tid, stream, task */
	uint32_t parent;
	uint32_t name;
	uint32_t first, count; /* its slices */
};

/* What only some slices have: device work, copies, syncs, calls of the runtime that say so. */
struct timeline_detail {
	uint64_t correlation; /* 0: none */
	uint64_t bytes;
	uint64_t operator_id, wait; /* FIELD_OPERATOR, FIELD_WAIT; 0: none */
	uint32_t grid[3], block[3]; /* 0: not known */
	uint32_t shared_memory;
	uint32_t graph;             /* 0: none */
	uint16_t registers;
	uint8_t memory_from, memory_to; /* enum memory_kind */
	uint32_t collective;        /* in `collectives`, TIMELINE_NONE */
};

/* A collective operation on a device, as far as the trace describes it. */
struct timeline_collective {
	uint32_t slice;
	uint32_t group_size; /* 0: not known */
	/* Kept by the timeline, each text once, so that equal ones have the same address; NULL: not known. */
	const char *name;    /* "all_to_all" */
	const char *group;   /* the process group's name */
	const char *dtype;
	uint64_t in_elements, out_elements;
	uint64_t bytes;     /* the larger message; 0: not known */
};

/* Instants, counters, memory events. */
struct timeline_point {
	int64_t time;
	double value; /* of a counter; bytes of memory events */
	uint64_t pointer;
	uint32_t track, name;
	uint8_t kind;
};

/* What was seen of a thread, or of the machine, from outside, on a track of states or of the host. */
enum look_kind {
	LOOK_STATE,   /* the thread was in it at `begin`, and is taken to have been until `end` */
	LOOK_PLACE,   /* the thread ran, and its processor was there */
	LOOK_COUNTER, /* value */
};
struct timeline_look {
	int64_t begin, end;
	double value;
	const char *what; /* which one; NULL: nothing is said; kept by the timeline, each text once */
	uint32_t track, name;
	uint32_t samples; /* that a state rests on */
	uint8_t kind;
};

/* An arrow that the trace has, apart from launches: from the slice it leaves to the one it reaches. */
struct timeline_flow {
	uint32_t from, to;
	uint32_t name;
};

/* A range that need not nest. */
struct timeline_range {
	int64_t begin, end;
	uint32_t track, name;
	uint32_t flags; /* SLICE_OPEN */
};

struct timeline_step {
	int64_t begin, end;
	uint32_t process; /* TIMELINE_NONE: of the whole trace */
	int64_t number;
	uint32_t name;  /* of what marks it */
	uint32_t slice; /* that marks it, or TIMELINE_NONE when it was found by repetition */
};
enum step_source { STEPS_NONE, STEPS_PROFILER, STEPS_SCOPE, STEPS_REPETITION };

struct timeline_clock {
	uint32_t domain;
	uint32_t name;       /* of the domain, or of the device */
	double slope;        /* nanoseconds of the timeline for one of this clock's ticks */
	int64_t offset_ns;   /* of its zero, on the timeline */
	double error_ns;     /* bound; negative: not known */
	const char *method;  /* "pairs", "nominal", "as_given", "start_aligned", "causality" */

	/* A device's, whose work is in the domain already; the rest is 0 and not known for others. */
	bool of_device;
	uint32_t device;
	double drift_ppm;    /* by which it is fast; NAN: not known */
	double residual_ns;  /* by which a reading was off the line through those before it, at most; NAN: there are fewer than two */
	uint32_t jumps;      /* times that it was set */
	uint32_t pairs;      /* of readings */
	/* Work that began before its launch or ended after a wait for it: moved with what is around it, or alone. */
	uint64_t moved, clamped;
	int64_t moved_most;  /* ns; of those that were moved with others */
	double error_least;  /* ns: where there is no bound, at least this much has to be expected */
};

struct timeline {
	const struct trace_reader *reader; /* strings; outlives the timeline */

	uint32_t slice_count;
	int64_t *begin, *end;
	uint32_t *name;
	uint32_t *parent; /* the slice around it on its track, or TIMELINE_NONE */
	uint32_t *link;   /* of device work: the call that launched it; of a call: its place in `work`; TIMELINE_NONE */
	uint32_t *detail; /* in `details`, or TIMELINE_NONE */
	uint16_t *depth;
	uint8_t *kind;    /* enum event_kind */
	uint8_t *flags;
	uint64_t *origin; /* of its begin: block << TIMELINE_ORIGIN_BITS | event, or TIMELINE_NO_ORIGIN; NULL unless it was asked for */

	struct timeline_detail *details;
	uint32_t detail_count;
	/* Launched device work, sorted by the launching slice, then by begin: a call's is the run from work[link[call]] whose
	 * link is the call.  A sync on a stream has its call as link, too, and is not in here. */
	uint32_t *work;
	uint32_t work_count;

	struct timeline_track *tracks; /* numbers are the trace's */
	uint32_t track_count;
	struct timeline_process *processes;
	uint32_t process_count;
	struct timeline_device *devices;
	uint32_t device_count;
	struct timeline_host *hosts;
	uint32_t host_count;
	uint32_t *streams; /* tracks of devices, grouped by device */
	uint32_t stream_count;

	struct timeline_collective *collectives; /* by slice */
	uint32_t collective_count;
	struct timeline_point *points; /* by time */
	uint32_t point_count;
	struct timeline_look *looks; /* by track, then by begin */
	uint32_t look_count;
	struct timeline_flow *flows;
	uint32_t flow_count;
	struct timeline_range *ranges;
	uint32_t range_count;
	struct timeline_step *steps; /* by process, then by begin */
	uint32_t step_count;
	enum step_source step_source;
	struct timeline_clock *clocks;
	uint32_t clock_count;

	uint8_t *call_class; /* enum call_class of each string number that is the name of a runtime call; else 0 */
	uint32_t string_count;

	int64_t origin_ns; /* time 0, since the start of the trace as trace_reader_since_start_ns() counts it */
	int64_t start_ns;  /* realtime of time 0, ns since 1970; 0 when not known */
	int64_t duration;  /* the largest end */
	uint64_t events;   /* of the trace, of all kinds */
	uint64_t lost;     /* all of these but LOST_NAMES */
	uint64_t lost_by_reason[LOST_REASON_COUNT]; /* place 0: of unknown reason */
	uint64_t launches; /* calls that should have device work */
	uint64_t launches_without_work, work_without_launch, clock_damage;
	uint64_t copies_without_work; /* of launches_without_work: copies and memsets, which may have had nothing to do */

	struct timeline_texts *texts; /* what the texts of collectives and looks lie in */
};

struct timeline_options {
	/* Called now and then with blocks read and blocks in all; may be NULL. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
	/* Asked as often while events are read; true ends it with -ECANCELED.  May be NULL. */
	bool (*stop)(void *arg);
	void *stop_arg;
	/* Only the blocks of events that have to be read to know this part of the run, which may reach further than it; since the start
	 * of the trace.  Of slices that began before these blocks only the names and times are known. */
	bool windowed;
	int64_t from_ns, to_ns;
	bool origins; /* keep where in the file slices are from, for what the timeline has not: 8 more bytes a slice */
};

int timeline_build(struct timeline **ret, struct trace_reader *reader, const struct timeline_options *options, struct error *err);
void timeline_free(struct timeline *t);

static inline const char *timeline_string(const struct timeline *t, uint32_t name, size_t *ret_size)
{
	return trace_reader_string(t->reader, name, ret_size);
}

/* The track of a slice. */
uint32_t timeline_track_of(const struct timeline *t, uint32_t slice);
/* The innermost slice of a track that is open at `time`, or TIMELINE_NONE; on a stream the last begun of scopes and work. */
uint32_t timeline_at(const struct timeline *t, uint32_t track, int64_t time);
/* The first slice of a track that begins at `time` or later; tracks[].first + count when there is none. */
uint32_t timeline_first_at(const struct timeline *t, uint32_t track, int64_t time);

/* The first look of a track that begins at `time` or later, and how many of the track there are from there on. */
uint32_t timeline_looks_from(const struct timeline *t, uint32_t track, int64_t time, uint32_t *ret_count);
/* The track of the states of a thread, or TIMELINE_NONE. */
uint32_t timeline_states_of(const struct timeline *t, uint32_t thread);

static inline bool timeline_is_device_work(uint8_t kind)
{
	return (kind >= EVENT_GPU_KERNEL && kind <= EVENT_MEMSET) || kind == EVENT_COLLECTIVE;
}

#endif
