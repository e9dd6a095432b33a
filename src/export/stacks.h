/*
 * stacks.h - a trace as stacks, for formats that sum them up or show them sample by sample.
 *
 *      struct stacks s;
 *      stacks_open(&s, reader, options, &err);
 *      for (size_t i = 0; i < s.thread_count; i++)
 *              stacks_walk(&s, i, &sink, arg);
 *      stacks_close(&s);
 *
 * A stack is a node of a tree: what it is in, and the one around it.  The time
 * of a thread belongs to the innermost slice that is wanted.  By the clock it is
 * all of that time; by the processor, that in which the thread was seen to run;
 * by the device, that of the work it launched, with the work as the innermost.
 */
#ifndef EXPORT_STACKS_H
#define EXPORT_STACKS_H

#include "export/export.h"
#include "timeline/timeline.h"

#define STACKS_NONE UINT32_MAX

struct stack_node {
	uint32_t parent; /* or STACKS_NONE */
	uint32_t name;   /* string of the trace */
	uint32_t thread; /* its place in `threads` */
	uint64_t count;  /* slices */
	int64_t weight;  /* its own, ns */
};

/* A thread, or a stream whose work nobody is known to have launched. */
struct stack_thread {
	uint32_t track;
	int64_t begin, end; /* of what it has; equal when there is nothing */
};

struct stacks {
	struct timeline *timeline;
	const struct export_options *options;
	int64_t from, to;       /* on the timeline */
	uint8_t *name_wanted;   /* by name; NULL: all are */
	struct stack_thread *threads;
	size_t thread_count;
	struct stack_node *nodes;
	uint32_t node_count, node_capacity;
	uint32_t *places; /* nodes + 1 by parent and name; capacity is a power of two */
	size_t place_capacity;
};

int stacks_open(struct stacks *s, struct trace_reader *reader, const struct export_options *options, struct error *err);
void stacks_close(struct stacks *s);

/* What happens on a thread, in the order of time; functions that are NULL are not called.  A non-zero result stops and is returned. */
struct stacks_sink {
	int (*open)(void *arg, uint32_t node, int64_t time);
	int (*close)(void *arg, uint32_t node, int64_t time);
	int (*sample)(void *arg, uint32_t node, int64_t begin, int64_t weight); /* of the node's own; weight is never 0 */
};
/* The weights and counts of nodes grow by what is seen.  0 or negative errno. */
int stacks_walk(struct stacks *s, size_t thread, const struct stacks_sink *sink, void *arg);

/* Times of a trace may be anything: what cannot be told is the largest or smallest that can. */
static inline int64_t stacks_add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? a < 0 ? INT64_MIN : INT64_MAX : sum;
}

/* A time of the timeline, since the start of the trace. */
static inline int64_t stacks_since_start(const struct stacks *s, int64_t time)
{
	return stacks_add(time, s->timeline->origin_ns);
}

/* "python train.py (pid 12)" and "MainThread (12)", cut to size. */
void stacks_process_name(const struct stacks *s, size_t thread, char *ret, size_t size);
void stacks_thread_name(const struct stacks *s, size_t thread, char *ret, size_t size);

#endif
