/*
 * analysis.h - the answer: integrity, breakdown, states, and where time went.
 *
 *      struct analysis *a;
 *      analysis_run(&a, timeline, &options, &err);
 *      ... report/ prints it ...
 *      analysis_free(a);
 *
 * Times are nanoseconds, exact; whatever is said to sum does so to the last
 * one.  Names are string numbers of the trace (timeline_string()).  A double
 * that is NAN, and a count that is negative, mean "the trace does not say".
 */
#ifndef ANALYZE_ANALYSIS_H
#define ANALYZE_ANALYSIS_H

#include "analyze/findings.h"
#include "analyze/host.h"
#include "timeline/states.h"
#include "timeline/timeline.h"
#include "trace/program.h"

/* Integrity: can the figures be believed? */
enum check_status { CHECK_OK, CHECK_NOTE, CHECK_WARN, CHECK_FAIL, CHECK_SKIPPED };
enum verdict { VERDICT_GOOD, VERDICT_DEGRADED, VERDICT_POOR };
const char *check_status_name(enum check_status status); /* "ok" "note" "warning" "failed" "not_applicable" */
const char *verdict_name(enum verdict verdict);          /* "good" "degraded" "poor" */

struct analysis_check {
	const char *name; /* "gpu_work_without_launch" */
	enum check_status status;
	uint64_t count;
	char detail[400]; /* one sentence with the figures; names in it are as the trace has them: not safe to print */
};

/* Count and times of slices of one name. */
struct analysis_entry {
	uint32_t name;
	uint64_t count;
	int64_t total;  /* a slice inside another of its name counts once */
	int64_t self;   /* without what was inside it */
	int64_t min, max, p50, p99;
	double mean;
};
struct analysis_table {
	struct analysis_entry *entries; /* the largest total first, then by name's text */
	size_t count;
};

struct analysis_kernel {
	struct analysis_entry times; /* total: all durations; self: time in which nothing else ran on the device */
	enum work_class class;
	double tensor_core;     /* 1 it uses them, 0 it does not, NAN unknown */
	double occupancy;       /* estimated, time-weighted mean, 0..1; NAN */
	double blocks_per_multiprocessor; /* time-weighted mean; NAN */
};

/* Copies of a device by direction and the kinds of memory. */
struct analysis_copy {
	uint8_t kind;           /* EVENT_H2D_COPY... */
	uint8_t memory_from, memory_to;
	uint64_t count, bytes;
	int64_t total, exposed; /* exposed: nothing else ran on the device */
};

struct analysis_stream {
	const struct stream_states *states;
	double busy_share; /* of the window */
};

#define GAP_BINS 4 /* < 5 us, < 30 us, < 1 ms, longer */
struct analysis_device {
	uint32_t device;
	const struct device_states *states;
	const struct device_window *window; /* the one that the headline figures are for: */
	const char *window_name;            /* "trimmed" when there are strays, else "all" */
	int64_t idle_low, idle_high;        /* equal to the idle time unless integrity is poor (idle_range.c) */
	const char *idle_range_why;         /* a sentence, or NULL */
	struct analysis_kernel *kernels;    /* all device work by name */
	size_t kernel_count;
	struct analysis_copy *copies;
	size_t copy_count;
	int64_t gap_bins[GAP_BINS];         /* idle time in gaps of each length */
	uint64_t gap_counts[GAP_BINS];
	double copy_hidden;                 /* share of copy time under compute or communication; NAN */
	double communication_hidden;        /* share of communication time under compute; NAN */
	double concurrency_mean;            /* while busy; NAN */
	double tensor_core_share;           /* of compute time in kernels that use them; NAN: no kernel names tell */
	double tensor_core_unknown;         /* of compute time in kernels whose names do not tell; NAN: there is none */
	double occupancy;                   /* estimated; NAN */
	uint32_t queue_depth_max;           /* of a stream */
	double queue_depth_mean;            /* of all streams together */
	struct analysis_stream *streams;
	uint32_t stream_count;
};

/* What the driver said about a GPU, whether or not its work was recorded; NAN: nothing. */
struct analysis_gpu {
	uint32_t device;
	uint64_t samples;
	double utilization, utilization_max; /* percent of the time in which any kernel ran; mean, and at most */
	double memory_utilization;           /* in which memory was read or written */
	double memory_used, memory_total;    /* bytes, by everybody, at most */
	double program_memory;               /* of the program's processes, at most */
	double sm_clock, sm_clock_limit, memory_clock, memory_clock_limit; /* MHz */
	double power, power_max, power_limit; /* W */
	double energy;                       /* J, from the first sample to the last */
	double temperature_max;              /* degrees Celsius */
	double link_generation, link_lanes;  /* of PCI Express, at most: it is slower while nothing uses it */
	double throttled, throttled_power, throttled_thermal; /* share of the samples: for whatever reason, and for these */
};

struct analysis_step {
	uint32_t step;   /* in the timeline */
	uint32_t device; /* the one that its process launches most work on; TIMELINE_NONE: none */
	struct device_window window; /* of that device during the step */
	int64_t input;   /* how long the step's thread waited for input */
};
struct analysis_steps {
	struct analysis_step *steps;
	size_t count;
	int64_t p50, p99, min, max; /* durations */
	double mean;
	double input_share;   /* of step time; NAN when the trace does not tell */
	double input_share_low; /* without guesses from names of functions */
};

struct analysis_thread {
	uint32_t track;
	uint64_t slices;
	int64_t busy;      /* union of its slices */
	/* Self times, which sum to busy: Python or native functions, operators, scopes, runtime calls that go on, those that
	 * wait for the device, and whatever else. */
	int64_t in_calls, in_ops, in_scopes, in_runtime, in_sync, in_other;
	uint64_t launches;
};

/* A collective that several ranks took part in, the i-th of its group on each of them. */
struct analysis_collective {
	uint32_t name;           /* of the kernels */
	uint32_t index;
	const char *operation;   /* "all_to_all"; NULL: not known */
	const char *group;       /* the process group; NULL */
	int64_t begin;           /* of the first */
	uint32_t ranks;          /* that are in the trace */
	int64_t last_rank;       /* that came last */
	int64_t start_skew, end_skew;
	int64_t transfer;        /* shortest duration: nobody waits any more */
	int64_t wait_total;      /* what all ranks together waited for the last one */
	uint64_t bytes;
	double bus_bandwidth;    /* bytes a second; NAN */
};
struct analysis_rank {
	int64_t rank;
	uint64_t arrived_last;
	int64_t wait;            /* in collectives, for others */
	int64_t caused;          /* what others waited for it */
};
struct analysis_collectives {
	struct analysis_collective *rows;
	size_t count;
	struct analysis_rank *ranks;
	size_t rank_count;
	uint64_t unmatched;      /* kernels of communication that no other rank was there for */
	int64_t straggler;       /* the rank that came last most often, if it stands out; -1 */
	double clock_error_ns;   /* how far ends of collectives lie apart, at most: the ranks' clocks agree that well; NAN */
};

/* "gpu_compute", "communication", "copy", "idle_host_late" and the other causes, "no_gpu_work"; of a trace without devices
 * the owners of its spine's time (host.h), or, where nobody looked at threads from outside, "python", "operators", "scopes",
 * "runtime", "waiting", "other", "unknown" (breakdown.c). */
struct analysis_category {
	const char *name;
	int64_t duration;
};

struct analysis {
	const struct timeline *timeline;
	struct timeline_states states;
	int64_t clock_margin; /* ns */

	struct trace_program program; /* how it ended */
	bool ran_nothing;      /* it failed before it ran any code of its own: there is nothing to analyse */
	bool waits_asked; /* threads were to be looked at from outside */

	enum verdict verdict;
	struct analysis_check *checks;
	size_t check_count;

	struct {
		int64_t end_to_end;         /* the trace's span */
		int64_t cpu;                /* of all threads: in any slice */
		int64_t gpu, idle;          /* of all devices: busy and idle, in the windows of their headlines */
		int64_t h2d, d2h;           /* all durations */
		int64_t framework_overhead; /* what operators, scopes and functions kept devices waiting (overhead.c) */
	} summary;
	struct analysis_category *breakdown; /* sums to end_to_end */
	size_t category_count;

	struct analysis_device *devices;
	size_t device_count;
	struct analysis_gpu *gpus;
	size_t gpu_count;
	struct analysis_steps steps;
	struct analysis_thread *threads; /* the busiest first */
	size_t thread_count;
	struct analysis_table scopes, operators, functions, calls; /* calls: of the GPU runtime */
	struct analysis_collectives collectives;
	struct analysis_thresholds thresholds;
	struct analysis_host host;
	struct analysis_findings findings;
	struct analysis_bottleneck bottleneck;
	struct finding_texts notes;
};

struct analysis_options {
	const struct work_rules *rules; /* NULL: the built-in ones */
	const struct analysis_thresholds *thresholds; /* NULL: the usual ones */
	const int64_t *clock_margin; /* ns: the error of a clock that has no bound, and the largest that is fine; NULL: ANALYSIS_CLOCK_MARGIN */
};
#define ANALYSIS_CLOCK_MARGIN 1000000

int analysis_run(struct analysis **ret, const struct timeline *t, const struct analysis_options *options, struct error *err);
void analysis_free(struct analysis *a);

/* Why nothing is known of what threads did, where it is not; advise: and what to do about it. */
const char *analysis_unseen(const struct analysis *a, bool advise);

/* By how much times of this clock may be off, as far as can be told, ns; NAN for the one clock of another tool's file. */
double analysis_clock_error(const struct analysis *a, const struct timeline_clock *clock);

#endif
