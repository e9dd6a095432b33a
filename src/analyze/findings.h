/*
 * findings.h - what costs time that could be saved, and how much of it.
 *
 * Each nanosecond has one owner: the times that findings own do not overlap,
 * so their shares never sum to more than all of it.  A gain is what a fix
 * saves if it is the only one, as a share of the same span, with a range.
 * What cannot be judged is left out, and what is too small to matter, too.
 */
#ifndef ANALYZE_FINDINGS_H
#define ANALYZE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FINDING_TEXTS 6
#define FINDING_TEXT 320

/* A few sentences, in the words of the trace: not safe to print. */
struct finding_texts {
	char text[FINDING_TEXTS][FINDING_TEXT];
	unsigned count;
};

/* A part of the timeline in which it can be seen. */
#define FINDING_EXAMPLES 3
struct finding_example {
	uint32_t slice, track, name; /* track and name of the slice */
	int64_t begin, end;
};

struct analysis_finding {
	char id[128];     /* kind and place */
	const char *kind; /* "data_loading" */
	int64_t owned;    /* of the span, all devices together */
	double share;     /* the same, 0..1 */
	double severity;  /* 0..1 */
	double gain_low, gain, gain_high; /* 0..1 of the span */
	double confidence;                /* 0..1 */
	double frequency;                 /* share of the steps that have it; NAN: there are no steps */
	struct finding_texts evidence, where;
	struct finding_example examples[FINDING_EXAMPLES]; /* the worst first */
	unsigned example_count;
	char action[FINDING_TEXT];    /* what to change */
	char rationale[FINDING_TEXT]; /* how the gain was computed, and what to look at afterwards */

	/* Of a rule of somebody's (rules/): it owns no time, so that owned and share are 0. */
	const char *rule;  /* "FILE:NAME"; NULL: one of ours */
	double rule_share; /* what it says its share is, which others may share; NAN: nothing */
	bool note;         /* it predicts no gain; the gains are 0 */
};
struct analysis_findings {
	struct analysis_finding *list; /* the largest gain first */
	size_t count, capacity;
	int64_t span; /* of which they are shares */
	int64_t from; /* what devices do before it is not judged; the rest of their time, of all together, is the span */
};

/* The largest gain first, then by id; notes last. */
void findings_rank(struct analysis_findings *findings);

/* From where on something is said. */
struct analysis_thresholds {
	double share_least, gain_least;             /* of a finding, 0..1 */
	double share_severe;                        /* severity is 1 from there on */
	double bottleneck_idle, bottleneck_copies;  /* bottleneck.c, 0..1 */
	double bottleneck_gpu_to_cpu;               /* a ratio */
};
extern const struct analysis_thresholds analysis_thresholds_initial;

enum bottleneck { BOTTLENECK_UNKNOWN, BOTTLENECK_CPU, BOTTLENECK_GPU, BOTTLENECK_MEMORY, BOTTLENECK_BALANCED };
const char *bottleneck_name(enum bottleneck bottleneck); /* "cpu_bound" */

struct analysis_bottleneck {
	enum bottleneck type;
	char cause[FINDING_TEXT]; /* a sentence */
	double confidence;
	struct finding_texts evidence;
};

#endif
