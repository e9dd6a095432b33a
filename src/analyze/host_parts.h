/*
 * host_parts.h - what the files of the host's attribution share.
 */
#ifndef ANALYZE_HOST_PARTS_H
#define ANALYZE_HOST_PARTS_H

#include "analyze/host.h"
#include "analyze/parts.h"

/* host_others.c: the threads of the program other than the spine, and what they did at some moment. */
struct other_state {
	int64_t begin, end;
	const char *what;
	uint8_t state;
};
struct other_thread {
	uint32_t track;   /* of its states */
	uint32_t own;     /* of its own events, or TIMELINE_NONE */
	uint32_t process;
	bool same;        /* of the spine's process */
	bool traced;      /* its process has events of its own */
	struct other_state *states;
	uint32_t count, at;
	/* at the moment that was asked for */
	enum host_state state;
	const char *what;
	bool active;      /* at work, or about to be */
	uint32_t leaf, place; /* slices; TIMELINE_NONE */
	uint32_t flags;   /* of what it is in */
	/* sums over moments */
	int64_t active_waiting, active_running; /* while the spine waited for others; while it ran */
};
/* Time by name of a place; those that come when it is full are left out. */
#define PLACES_TOLD 64u
struct place_times {
	struct {
		uint32_t name;
		int64_t time;
	} rows[PLACES_TOLD];
	size_t count;
};
struct host_others {
	const struct timeline *t;
	struct host_names *names;
	struct other_thread *threads;
	size_t count;
	int64_t contended;               /* time in which threads of the spine's process wait for locks in the user's own code */
	/* sums over moments */
	int64_t ran;                     /* the spine */
	struct place_times holders, waiters; /* who runs while others wait for the interpreter; who waits for a lock */
};
int host_others_init(struct host_others *others, const struct analysis_host *h, struct host_names *names);
void host_others_release(struct host_others *others);
void host_others_rewind(struct host_others *others);
/* Moments have to come in order. */
void host_others_at(struct host_others *others, int64_t time);

/* host_waits.c: a server that waits for its clients most of the time: a faster one would only wait longer. */
bool host_serves(const struct host_window *w);
/* Whose a wait of the spine is; also follows it to those it is for, in w. */
struct host_wait {
	enum host_state state;
	const char *what; /* NULL */
	uint32_t node;
};
enum host_owner host_wait_owner(struct host_window *w, struct host_others *others, const struct host_wait *wait, int64_t time,
				int64_t duration);
/* The spine ran; others may have been at work, or wanted to be. */
void host_ran(struct host_window *w, struct host_others *others, int64_t time, int64_t duration);
/* After all moments: whom waits are for, or that it cannot be told. */
void host_waits_finish(struct host_window *w, struct host_others *others);

/* host_spine.c: which thread, and which part of its time. */
int host_choose(struct parts *p, struct analysis_host *h, struct host_names *names);

/* host_costs.c */
int host_window_fill(struct host_window *w, const struct analysis_host *h, struct host_names *names, struct host_others *others,
		     int64_t from, int64_t to);
void host_window_release(struct host_window *w);

/* host_load.c */
int host_load_find(struct host_load *load, const struct analysis_host *h, const struct timeline *t, int64_t from, int64_t to);
/* What a counter of a track says about [from, to]: its values at both ends, between looks in proportion.  False: nothing. */
bool host_counter(const struct timeline *t, uint32_t track, const char *name, int64_t from, int64_t to, double *ret_begin,
		  double *ret_end);

/* host.c */
/* Most of what it waits for disks is in the first fifth of the window. */
bool host_reads_early(const struct host_window *w);
/* Of the window, time for new memory that operators asked for. */
int64_t host_operator_memory(const struct analysis_host *h);
int analyze_host(struct parts *p);
void analysis_host_release(struct analysis_host *h);

#endif
