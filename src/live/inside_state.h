/*
 * inside_state.h - what inside.c and its parts share.
 */
#ifndef LIVE_INSIDE_STATE_H
#define LIVE_INSIDE_STATE_H

#include "live/inside.h"
#include "live/window.h"

/* ---- Names: what each of them is, and how much time it took of late (inside_places.c) ---- */


#define PLACES 8192u    /* a power of two; the least used make room for new ones */
#define PLACE_WAYS 8u   /* where one may be */

/* What a name says of steps, the better the larger. */
enum inside_rank {
	RANK_NONE,
	RANK_WORK,      /* a scope that is called what a step does */
	RANK_LOADER,    /* the loader is asked for a batch */
	RANK_OPTIMIZER,
	RANK_STEP,      /* a scope that is called a step */
	RANK_PROFILER,
	RANK_ASKED,
	RANK_REPEATED,  /* of no name: operators or calls repeat (inside_repeats.c), the worst of all */
};

struct inside_place {
	uint32_t name;  /* the trace's; 0: free */
	uint8_t kind;
	uint8_t rank;   /* enum inside_rank */
	bool loader;    /* it waits for input */
	bool request;   /* somebody else asks for it */
	bool counts;    /* as a step, if it repeats */
	bool device;    /* work of devices, not of a thread */
	uint32_t calls; /* since the last snapshot */
	int64_t ticks;  /* likewise: of the thread that is followed, or of devices; */
	int64_t inside; /* and of operators that it calls */
	float slots_ticks[WINDOW_SLOTS], slots_inside[WINDOW_SLOTS], slots_calls[WINDOW_SLOTS];
	float recent_ticks, recent_calls; /* of all slots, as if operators were always recorded */
	uint64_t stem;  /* hash of the name without its number */
};

/* ---- Tracks and what is open on them (inside_tracks.c) ---- */

#define TRACKS 2048u
#define TRACK_WAYS 8u
#define STACK_MAX 1024u /* deeper ones are counted only */
#define LOOK_UP_MAX 64u /* slices around one that are asked what they are */

#define OPERATOR_PROCESSES 64u

struct inside_open {
	uint64_t begin;
	uint64_t counted; /* up to here its wait is in the track's already */
	uint32_t name;
	uint16_t place;
	uint16_t owner;  /* the place whose time it is: its own, or that of the operator that it is in */
	uint16_t around; /* the owner of what it is in; PLACES: of nothing */
	uint8_t kind;
	bool whole;   /* an operator, or in one: what it calls is its own */
	bool step;    /* it may be one, and has been told to its series */
};

struct inside_track {
	uint32_t id; /* plus one; 0: free */
	uint8_t kind;
	uint32_t thread, process;
	pid_t pid, tid;
	struct inside_open *stack;
	size_t capacity;
	uint32_t size;       /* slices open */
	uint32_t task;       /* id plus one of the task that the thread last ran; 0: none */
	uint64_t last_time;
	int64_t loader_ticks; /* in all, that it waited for input */
	float busy;      /* that anything was recorded of it: a share of the last snapshots, which fades */
	uint64_t looked; /* when that was asked last */
	bool has_loader;
	bool makes_steps;
};

/* The thread whose time is divided among places. */
struct inside_followed {
	uint32_t track;   /* plus one; 0: none yet */
	uint64_t counted; /* up to here its time is divided */
	uint16_t owner, around; /* of what is open; PLACES: nothing is */
	bool rest;        /* no operators are recorded */
};

/* ---- Steps (inside_steps.c) ---- */

#define SERIES 256u
#define STEPS_KEPT 100u
#define STEPS_MIN 3u

/* Slices of one name, but for its number, on one thread; those that are requests, in one process. */
struct inside_series {
	bool used;
	uint64_t stem;
	uint32_t owner;   /* of the series: INSIDE_OWNER() */
	uint32_t track;   /* of the thread, also for tasks; of the newest */
	uint32_t name;    /* likewise */
	pid_t pid, tid;
	uint8_t rank;
	bool request;
	bool many;          /* several threads or tasks make them */
	bool inner, within; /* inside other scopes; inside operators */
	bool dense;       /* it covers its thread's time */
	bool partly;      /* operators tell it, and they are recorded for a part of the time */
	uint32_t depth;
	uint64_t count;   /* begins so far */
	uint64_t ends;    /* likewise */
	uint64_t last_time; /* of its newest event */
	uint64_t begins[STEPS_KEPT + 1]; /* number n is at n % (STEPS_KEPT + 1) */
	bool apart[STEPS_KEPT + 1];     /* between it and the one before it something was not recorded */
	int64_t loader[STEPS_KEPT + 1]; /* what the thread had waited for input then */
	uint64_t own[STEPS_KEPT + 1];   /* how long it took itself; 0: not known */
};

#define INSIDE_OWNER(thread, process, request) ((request) ? 0x80000000u | (process) : (thread))

/* ---- Steps that nobody marks (inside_repeats.c) ---- */

#define KEYS 256u
#define KEY_WAYS 8u

/* A name, or a name after another one, of those that the followed thread begins one after another. */
struct inside_key {
	uint64_t hash;    /* 0: free */
	uint64_t begin;   /* of its newest, and the following were so then */
	uint64_t sum;
	uint32_t index, host, stretch;
	bool first;       /* its newest is the first of its stretch */
	uint32_t name;
	uint64_t typical; /* what lies between two of them mostly: a sum of the names */
	uint32_t votes, units, parts; /* for that; how many they are; how often the host takes part in it */
	uint32_t segments, same;      /* between two, so far; that are typical.  They fade. */
	double ticks, same_ticks, gaps; /* likewise: how long they take; how long nothing was open before */
};

struct inside_repeats {
	bool calls;        /* not operators: there are none */
	uint32_t level;    /* depth of these calls */
	uint32_t depths[32]; /* calls by depth, that fade */
	uint32_t seen;     /* calls since the level was looked at */
	uint64_t sum;      /* of the names so far */
	uint64_t end;      /* of the newest */
	uint64_t begin;    /* of the first; 0: none */
	uint64_t last;     /* of the newest */
	uint32_t index, host, previous;
	uint64_t host_time; /* when the host has taken part last */
	uint32_t stretch;  /* in which nothing is missing */
	uint32_t distinct; /* stretches with a whole segment */
	uint64_t chosen;   /* hash of a key; 0: none */
	uint32_t chosen_stretch;
	struct inside_key keys[KEYS];
};

/* The slices of a step, the longest of them. */
struct inside_slices {
	struct inside_slice {
		uint64_t begin, duration;
		uint32_t name;
		uint16_t depth;
		uint8_t kind;
	} items[LIVE_SLICES]; /* a heap, the shortest first */
	uint32_t count, left_out;
};

/* ---- What the program says of itself (inside_told.c) ---- */

struct inside_counter {
	uint32_t name;
	uint64_t heard; /* ticks */
	double value;
};

struct inside_told {
	struct live_told told;
	pid_t pid; /* who says so */
	bool used, active;
	bool fresh; /* it began after the last snapshot */
};

struct live_inside {
	struct drain *drain;
	struct live_inside_options options;
	char *step;        /* as options.step, which need not live on */
	char *trace_folder;
	double rate;       /* ticks a second */
	struct inside_track tracks[TRACKS];
	uint16_t used[TRACKS]; /* which of them are */
	uint32_t used_count;
	uint64_t place_keys[PLACES]; /* name and kind: looked through without touching the places */
	struct inside_place places[PLACES];
	uint16_t used_places[PLACES]; /* that have a name, in no order */
	uint32_t used_place_count;
	struct inside_series series[SERIES];
	struct inside_series *anchor; /* NULL: no steps yet */
	uint8_t tier;                 /* how good it is */
	bool own;                     /* a step is the slice itself, not all up to the next one */
	uint32_t open;                /* slices of it, now */
	uint32_t marked;              /* the track whose slices are kept, plus one; 0: none */
	struct inside_slices slices[2]; /* of the step at hand, and of the newest that is over */
	unsigned at_hand;
	uint64_t slices_begin;          /* of the step at hand; 0: none */
	struct live_slice *done;        /* the newest that is over, as it is shown */
	uint32_t done_count, done_left_out;
	bool done_fresh;                /* slices[] has a newer one */
	uint64_t done_begin;
	uint64_t steps;
	double sum_s, input_sum_s;
	uint64_t buckets[LIVE_STEP_BUCKETS];
	uint64_t busy_ticks;      /* when the thread that makes steps was last seen running */
	uint64_t last_fill;
	uint64_t last_events, last_disk;
	double disk_free_bytes, disk_free;
	struct inside_followed followed;
	struct inside_repeats repeats;
	struct window window;     /* of places */
	int64_t recorded;         /* ticks of the followed thread since the last snapshot in which operators were recorded */
	double slots_recorded[WINDOW_SLOTS];
	struct {
		uint32_t process; /* plus one */
		bool rest;
	} operators[OPERATOR_PROCESSES]; /* of processes that record them for a part of the time */
	uint32_t operators_name;  /* of the counter that says so; 0: not seen */
	struct inside_counter counters[LIVE_COUNTERS];
	uint32_t counter_count;
	struct inside_told told[LIVE_TOLD];
	int oom_fd;               /* -1: there is none */
	bool oom_tried;
};

uint16_t inside_place(struct live_inside *in, uint32_t name, uint8_t kind);
void inside_places_forget(struct live_inside *in); /* the time they took */
void inside_places_fill(struct live_inside *in, double elapsed_s, struct live_snapshot *snapshot);

void inside_hear(void *arg, const struct drain_run *run);
void inside_count_open(struct live_inside *in, uint64_t ticks);
void inside_threads_fill(struct live_inside *in, struct live_snapshot *snapshot);
struct inside_track *inside_track_by_id(struct live_inside *in, uint32_t id);

/* Its time up to now goes to what was open; then something else is, on the track. */
void inside_divide(struct live_inside *in, uint64_t time);
void inside_divide_on(struct live_inside *in, const struct inside_track *t);
bool inside_follow(struct live_inside *in, pid_t main); /* true: it is another one from now on */

/* The followed thread begins or ends an operator that is in no other one, or a call that is in none. */
void inside_repeats_begin(struct live_inside *in, struct inside_track *t, const struct inside_open *o, uint32_t depth);
void inside_repeats_end(struct live_inside *in, uint64_t time);
void inside_repeats_rest(struct live_inside *in); /* what comes does not follow what was */
void inside_repeats_forget(struct live_inside *in);
void inside_repeats_choose(struct live_inside *in);
/* Why none repeat, for a person; "": it is too early to say. */
void inside_repeats_trouble(const struct live_inside *in, uint64_t ticks, char *out, size_t size);

/* A slice that may be a step begins or ends on the track.  apart: something before it was not recorded. */
void inside_step_begin(struct live_inside *in, struct inside_track *t, const struct inside_place *p, uint64_t time, uint32_t depth, bool apart);
void inside_step_end(struct live_inside *in, struct inside_track *t, const struct inside_place *p, uint64_t begin, uint64_t time);
/* Any slice of the thread that makes steps has ended. */
void inside_slice(struct live_inside *in, const struct inside_open *open, uint32_t depth, uint64_t end);
void inside_steps_fill(struct live_inside *in, uint64_t ticks, struct live_snapshot *snapshot);

void inside_counter(struct live_inside *in, uint32_t name, uint64_t time, double value);
void inside_hear_mark(struct live_inside *in, const struct inside_track *track, const struct event_slot *slot);
void inside_told_fill(struct live_inside *in, struct live_snapshot *snapshot);

/* A text for the snapshot: cut where a character ends; and a name. */
void inside_copy_text(const char *text, size_t length, char *out, size_t size);
void inside_copy_name(const struct live_inside *in, uint32_t name, char *out, size_t size);

#endif
