/*
 * states.h - what each queue and each device did, and why a device did nothing.
 *
 * For a window of a device, every nanosecond belongs to one state of the
 * device, and for each of its streams to one state of the stream: the times
 * add up to the window exactly.  Device time is told by the classes of work
 * that ran at once (`mix`); work of communication counts as exposed where no
 * compute ran beside it, copies where neither did.
 */
#ifndef TIMELINE_STATES_H
#define TIMELINE_STATES_H

#include "timeline/timeline.h"

enum work_class { WORK_COMPUTE, WORK_COMMUNICATION, WORK_COPY, WORK_CLASS_COUNT, WORK_NONE = 255 };

/*
 * Rules for which device work is communication.  Patterns are matched against the whole name, case-insensitively, * for
 * any letters and ? for one.  The built-in ones know nccl, rccl, hccl, oneCCL, one- and two-shot all-reduces, expert-parallel
 * dispatch and combine, nvshmem, mscclpp, symmetric memory.  More can be added, and "!PATTERN" takes back: of the rules that
 * match a name the last one decides.  Of a name the first 4096 letters count.
 */
#define WORK_PATTERN_MAX 1024 /* letters */
#define WORK_RULES_MAX 4096
struct work_rules;
int work_rules_new(struct work_rules **ret);
/* -EINVAL for an empty pattern, -E2BIG for one that is too long or one too many. */
int work_rules_add(struct work_rules *rules, const char *pattern);
void work_rules_free(struct work_rules *rules);
/* rules may be NULL: the built-in ones. */
bool work_rules_communication(const struct work_rules *rules, const char *name, size_t size);

enum stream_state {
	STREAM_EMPTY,   /* nothing was asked of it */
	STREAM_QUEUED,  /* work had been launched and waited: behind other streams, or for the device */
	STREAM_BLOCKED, /* the same, and it had been told to wait for an event of another stream */
	STREAM_JIT,     /* nothing was asked of it, and the thread that launched its next work loaded or compiled code */
	STREAM_KERNEL,
	STREAM_H2D,
	STREAM_D2H,
	STREAM_D2D,
	STREAM_OTHER, /* memset */
	STREAM_STATE_COUNT
};
const char *stream_state_name(enum stream_state state);

/*
 * Why a device did nothing.  A gap is split at the launch of the work that ended it.  Before it, the launching thread
 * compiled, waited in a blocking call, fetched input, or was busy otherwise (late); after it, the device had the work
 * and did not begin it.  The cause is the first of jit, sync, dependency, launch_latency, input, host_late that takes at
 * least half of the gap, else the one that takes most.  A gap that would be host_late, is longer than a millisecond, and
 * for at least half of which the thread slept or no thread of the process did anything, is no_work; one that would be
 * host_late, but in which the thread had waited for the device until the gap began, is sync, too.  Without a launch
 * the thread that launched for the device last is looked at, and if that tells nothing, the cause is unknown.
 *
 * Dependency: the work is of the same graph launch as the work before the gap, and that call had returned; or its stream
 * was told to wait for an event, and it had been launched when the gap began or waited longer than IDLE_LAUNCH_MAX.
 */
#define IDLE_LAUNCH_MAX 30000 /* ns that a launch may take to reach an idle device */
#define IDLE_NO_WORK_MIN 1000000 /* ns */
enum idle_cause {
	IDLE_HOST_LATE,
	IDLE_SYNC,
	IDLE_LAUNCH_LATENCY,
	IDLE_DEPENDENCY,
	IDLE_INPUT,
	IDLE_JIT,
	IDLE_NO_WORK,
	IDLE_UNKNOWN,
	IDLE_CAUSE_COUNT
};
const char *idle_cause_name(enum idle_cause cause);

/* A time in which a device did nothing. */
struct timeline_gap {
	int64_t begin, end;
	enum idle_cause cause;
	uint32_t next;     /* device work that ended it */
	uint32_t launch;   /* the call that launched that, or TIMELINE_NONE */
	uint32_t blocking; /* the call in which the launching thread waited longest before the launch, also where that is not
			    * the cause; or TIMELINE_NONE */
	/* Operator, scope or function that the launching thread itself was in longest; where that is less than a quarter of the
	 * gap, the innermost one that lasted for half of it; where there is none, the one around the launch; or TIMELINE_NONE. */
	uint32_t top;
};

#define MIX_COUNT 8 /* bit c: work of class c ran */

struct device_window {
	int64_t from, to;           /* first begin and last end of the work that counts; equal when there is none */
	int64_t mix[MIX_COUNT];     /* how long each mix of classes ran; they sum to `to - from` */
	int64_t class_total[WORK_CLASS_COUNT]; /* sum of durations, overlapping or not; these and work_total stop at INT64_MAX */
	uint64_t count;             /* pieces of work */
	int64_t concurrency_max;    /* most at once */
	int64_t work_total;         /* sum of all durations: divided by busy time, the mean concurrency */
};
int64_t device_window_compute(const struct device_window *w);  /* any compute */
int64_t device_window_exposed_communication(const struct device_window *w);
int64_t device_window_exposed_copy(const struct device_window *w);
int64_t device_window_busy(const struct device_window *w);
int64_t device_window_idle(const struct device_window *w);
/* How long work of a class ran, whatever ran beside it. */
int64_t device_window_class(const struct device_window *w, enum work_class class);

struct stream_states {
	uint32_t track;
	int64_t state[STREAM_STATE_COUNT]; /* within the device's window `all`: they sum to it */
	uint64_t count;
	uint32_t depth_max;   /* work launched and not begun */
	double depth_mean;    /* weighted by time */
};

/* The work of a device by time, with marks to begin anywhere. */
struct order_mark;
struct device_order {
	uint32_t *by_begin, *by_end; /* slices */
	uint32_t count;
	struct order_mark *marks;
};

struct device_states {
	uint32_t device;               /* devices[i].device is i */
	struct device_order order;     /* of all its work */
	struct device_window all;      /* all work of the device */
	struct device_window launched; /* only work whose launch is in the trace */
	struct device_window trimmed;  /* `all` without strays, when there are any; else as `all` */
	/* At most a tenth of the work, before or after all other and further from it than ten times the time it all took: what a
	 * profiler caught by accident, with an idle time in between that means nothing. */
	uint32_t *strays;
	uint32_t stray_count;
	struct stream_states *streams;
	uint32_t stream_count;
	struct timeline_gap *gaps; /* of `trimmed`, by begin; their lengths sum to its idle time */
	uint32_t gap_count;
	int64_t idle[IDLE_CAUSE_COUNT]; /* of `trimmed`: they sum to its idle time */
};

struct timeline_states {
	struct device_states *devices;
	uint32_t count;
	uint8_t *class_of; /* enum work_class of each slice; WORK_NONE for what is no device work */
};

/* rules may be NULL: the built-in ones. */
int timeline_states_build(struct timeline_states *ret, const struct timeline *t, const struct work_rules *rules, struct error *err);
void timeline_states_release(struct timeline_states *s);

/*
 * The same figures for any part of a device's time, such as a step: mix[] sums to `to - from`, durations are those of the
 * parts inside, `count` is of all work that ran in it.  Takes as long as the window has work.  -EINVAL when there is no
 * such device or the window ends before it begins.
 */
int device_window_between(const struct timeline *t, const struct timeline_states *s, uint32_t device, int64_t from, int64_t to,
			  struct device_window *ret);

/*
 * A walk through a part of a device's time, by moments in which the same work ran:
 *
 *      struct device_walk walk;
 *      struct device_moment m;
 *      device_walk_start(&walk, t, s, &s->devices[d].order, from);
 *      while (device_walk_next(&walk, to, &m)) ...
 *
 * Moments follow each other without a hole from `from` to `to`.
 */
struct device_walk {
	const struct timeline *t;
	const uint8_t *class_of;
	const struct device_order *order;
	uint32_t begun, ended; /* places in by_begin and by_end */
	int64_t at;
	uint32_t running[WORK_CLASS_COUNT];
	uint32_t mixed; /* the numbers of all work that runs, combined by exclusive or */
};
struct device_moment {
	int64_t begin, end;
	uint32_t running[WORK_CLASS_COUNT]; /* pieces of work of each class */
	uint32_t total;
	uint32_t alone; /* the work that ran, when it was just one; else TIMELINE_NONE */
};
void device_walk_start(struct device_walk *walk, const struct timeline *t, const struct timeline_states *s,
		       const struct device_order *order, int64_t from);
bool device_walk_next(struct device_walk *walk, int64_t to, struct device_moment *ret);

#endif
