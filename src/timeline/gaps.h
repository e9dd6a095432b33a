/*
 * gaps.h - what the threads of the host did while a device did nothing.
 */
#ifndef TIMELINE_GAPS_H
#define TIMELINE_GAPS_H

#include "timeline/timeline.h"

/* What a slice on a thread says about the time it takes. */
enum evidence_kind {
	EVIDENCE_JIT,   /* code was compiled or loaded */
	EVIDENCE_SYNC,  /* the thread waited for the device */
	EVIDENCE_INPUT, /* data were loaded */
	EVIDENCE_SLEEP, /* the thread waited for something to do */
	EVIDENCE_BUSY,  /* any of jit, sync and input */
	EVIDENCE_MARKED_INPUT, /* input, by what the program or its framework says, not by the name of a function */
	EVIDENCE_KIND_COUNT
};

/* gaps_names.c: bits of the kinds that a name stands for; for a function `text` is "file: name". */
uint8_t evidence_of_name(uint8_t kind, const char *text, size_t size);

/* gaps_evidence.c: found out for each thread when it is first asked for. */
struct evidence;
int evidence_new(struct evidence **ret, const struct timeline *t);
void evidence_free(struct evidence *e);
/* How much of [from, to) a thread spent so. */
int evidence_time(struct evidence *e, uint32_t track, enum evidence_kind kind, int64_t from, int64_t to, int64_t *ret);
/* The slice of that kind that takes most of [from, to), or TIMELINE_NONE. */
int evidence_longest(struct evidence *e, uint32_t track, enum evidence_kind kind, int64_t from, int64_t to, uint32_t *ret);
/* The slice of that kind that the thread was in right before `time`, or TIMELINE_NONE. */
int evidence_before(struct evidence *e, uint32_t track, enum evidence_kind kind, int64_t time, uint32_t *ret);
/* Whether a slice of a thread is of that kind. */
bool evidence_is(struct evidence *e, uint32_t slice, enum evidence_kind kind);

/* gaps_quiet.c: whether the process of a thread that launches did nothing for half of [from, to) or more.  Fastest when asked
 * in the order of time. */
struct quiet;
int quiet_new(struct quiet **ret, const struct timeline *t, struct evidence *e);
void quiet_free(struct quiet *q);
bool process_was_quiet(struct quiet *q, uint32_t thread, int64_t from, int64_t to);

/* gaps_seen.c: whether a thread ran for most of [from, to), as far as it was looked at.  Fastest when asked in the order of time. */
struct seen {
	bool any;
	uint32_t thread;         /* that was asked for last: */
	uint32_t first, end, at; /* its looks, */
	bool sampled;            /* samples of its program counter among them */
};
bool thread_was_running(struct seen *s, const struct timeline *t, uint32_t thread, int64_t from, int64_t to);

/* gaps_top.c: what a thread was in: see struct timeline_gap. */
struct top_finder {
	struct top_level *stack;
	size_t capacity;
};
int top_find(struct top_finder *f, const struct timeline *t, uint32_t track, int64_t from, int64_t to, uint32_t launch,
	     uint32_t *ret);
void top_finder_release(struct top_finder *f);

#endif
