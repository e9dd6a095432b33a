/*
 * report_parts.h - what the files of a report share.
 */
#ifndef REPORT_REPORT_PARTS_H
#define REPORT_REPORT_PARTS_H

#include "analyze/analysis.h"
#include "base/json_writer.h"
#include "report/report.h"

/* report_json.c */
void report_json_name(struct json_writer *j, const char *key, const struct timeline *t, uint32_t name);
void report_json_entry(struct json_writer *j, const struct timeline *t, const struct analysis_entry *e);

/* report_json_host.c: attribution */
void report_json_host(struct json_writer *j, const struct analysis *a);
/* report_json_findings.c: bottleneck, findings, suggestions */
void report_json_findings(struct json_writer *j, const struct analysis *a);

/* report_json_device.c */
void report_json_devices(struct json_writer *j, const struct analysis *a);
/* report_gpu.c: what the driver said about it; cut where it does not fit. */
void report_gpu_line(const struct analysis_gpu *g, char *out, size_t size);
#define REPORT_GPU_LINE 300
void report_json_gpus(struct json_writer *j, const struct analysis *a);
void report_json_window(struct json_writer *j, const struct device_window *w);

/* report_device.c: for any report */

/* The part of a kernel's name that tells it from others: without "void", and well-known namespaces.  Still not safe to print. */
const char *report_short_name(const char *name, size_t *size);

/* Numbers of the longest gaps of a device, the longest first; at most `most` of them, allocated.  NULL when there are none
 * or no memory. */
uint32_t *report_longest_gaps(const struct device_states *states, uint32_t most, uint32_t *ret_count);
/* The slice that explains a gap best: the blocking call, what was on top, or the launch; TIMELINE_NONE. */
uint32_t report_gap_reason(const struct timeline_gap *gap);

/* ---- report_verdict.c: what all reports for people say in the same words ---- */

/* "HIGH" from a share of 20 % on, "MED" from 10 %, else "LOW". */
const char *report_level(const struct analysis_finding *f);
/* "high" from 0.75 on, "medium" from 0.5, else "low". */
const char *report_confidence(double confidence);

/* The worst check, where one says that the trace is doubtful; NULL. */
const struct analysis_check *report_doubt(const struct analysis *a);

/* How well the clock of a device is known: "known within 2.1 us (method pairs, drift 50.0 ppm, residual 1.3 us, jumps 1)"; ours: safe to print. */
#define REPORT_CLOCK 160
const char *report_clock(const struct analysis *a, const struct timeline_clock *clock, char words[REPORT_CLOCK]);

/* What is said of the whole trace. */
struct report_verdict {
	bool judged;        /* false: the evidence for a judgement is missing, which is not the same as "healthy" */
	char words[200];    /* ours: safe to print */
	const char *reason; /* of the trace, to follow the words; not safe; NULL: none */
};
struct report_verdict report_verdict(const struct analysis *a);
/* The first finding that is not a rule's: those say what they are told to.  NULL: there is none. */
const struct analysis_finding *report_first(const struct analysis *a);

/* Of all devices together; of their windows. */
struct report_device_time {
	int64_t span, compute, communication, copy, idle, idle_low, idle_high;
	int64_t causes[IDLE_CAUSE_COUNT];
};
struct report_device_time report_device_time(const struct analysis *a);

/* "data loading: train.py:12", of its kind and place.  Not safe. */
#define REPORT_TITLE 200
const char *report_title(const struct analysis_finding *f, char title[REPORT_TITLE]);

/* What a finding is about in the user's program, out of `where`; size 0 when that is not known.  Not safe. */
const char *report_place(const struct analysis_finding *f, size_t *ret_size);

/* What is left of a time when the first `count` findings are mended, each of which works on what the others leave.  Those of
 * rules are left out, since their gains may overlap with others; *ret_used has how many are not. */
double report_remainder(const struct analysis *a, size_t count, size_t *ret_used);

/* What the findings that are shown first would leave of the median step, or of the time. */
struct report_outcome {
	const char *words;        /* "all three"; NULL: nothing is foretold */
	const char *of;           /* "step" or "time" */
	double before;            /* ns */
	double left, least, most; /* of it, 0..1 */
};
#define REPORT_FIRST 3
struct report_outcome report_outcome(const struct analysis *a);

/* What own times in a table are shares of: the time of all threads, or of other things that ran beside them. */
int64_t report_host_time(const struct analysis *a, const struct analysis_table *table);
/* Entries of a table that have the most time of their own, the most first; returns how many of `most` there are. */
size_t report_most_self(const struct analysis_table *table, size_t *ret, size_t most);

/* ---- report_program.c: the program that was run ---- */

/* What all reports say first of how it ended, one after the other; false: there is no more.  The sentences are not safe. */
struct report_end {
	const char *label; /* "failed", "killed", "running" */
	char text[PROGRAM_SENTENCE];
};
bool report_end(const struct analysis *a, size_t index, struct report_end *ret);
/* "run by /usr/bin/python3 (Python 3.11.2), ended with status 0"; "" where neither is known.  Not safe. */
void report_run_by(const struct analysis *a, char out[2 * PROGRAM_SENTENCE]);

/* ---- report_shares.c: what the bars of all reports are made of ---- */

enum report_group {
	REPORT_BUSY,
	REPORT_WAITING, /* idle, of a device */
	REPORT_UNSEEN,
};
struct report_share {
	const char *name; /* an identifier, see words.h */
	int64_t time;
	enum report_group group;
};
/* Of the devices' time, of all together; without devices, of the window that is judged, else of the time of the breakdown. */
struct report_shares {
	struct report_share list[OWNER_COUNT + IDLE_CAUSE_COUNT];
	size_t count;
	int64_t span;
};
void report_shares(const struct analysis *a, struct report_shares *ret);
const char *report_whole(const struct analysis *a); /* of what they are shares, for a person */

/* The largest costs, for where nothing is to be changed: of the devices' time, or of the threads'. */
#define REPORT_COSTS 2
struct report_cost {
	uint32_t name;
	double share; /* 0..1 */
};
size_t report_costs(const struct analysis *a, struct report_cost costs[REPORT_COSTS]);

/* 0..100, and 0 of nothing. */
double report_percent(int64_t part, int64_t whole);
double report_ms(int64_t ns);
/* "found by repetition" */
const char *report_step_source(const struct analysis *a);
/* NULL: there are no steps. */
const struct timeline_step *report_slowest_step(const struct analysis *a);
/* "2026-11-16T08:30:00Z" of nanoseconds since 1970; false: not known. */
#define REPORT_DATE 40
bool report_date(char text[REPORT_DATE], int64_t ns);

/* ---- report_program.c ---- */

/* The name of what was profiled: the script, or the program; else the file.  Points into the trace or the source; not safe. */
const char *report_program(const struct analysis *a, const struct report_source *source, size_t *ret_size);
/* The words of the command that was recorded, with blanks between them; nothing when the trace does not say.  Not safe. */
int report_command(const struct analysis *a, struct buffer *out);

#endif
