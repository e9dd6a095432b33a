/*
 * host.h - where the time of a program goes that computes on the host.
 *
 * One thread, the spine, decides when a step ends.  Its time is divided over the
 * tree of its calls, exactly; what was seen from outside (timeline.h, looks)
 * divides the time of each node of the tree among owners: what it waited for,
 * and where the processor was when it ran.  A wait for others of the program is
 * followed to what they were doing; where that cannot be told it stays a wait.
 */
#ifndef ANALYZE_HOST_H
#define ANALYZE_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "timeline/timeline.h"

/* Whose time it is; each nanosecond has one. */
enum host_owner {
	OWNER_PYTHON,    /* the interpreter, with the parts of its standard library that are in C */
	OWNER_OPERATORS, /* operators of the framework */
	OWNER_NATIVE,    /* other libraries */
	OWNER_INPUT,     /* the loader of the framework, at work or waiting */
	OWNER_MESSAGES,  /* hands data to other processes, or takes them over */
	OWNER_LOG,
	OWNER_GC,
	OWNER_COMPILE,
	OWNER_IMPORT,
	OWNER_IO_CALLS,  /* in the kernel, for reads and writes */
	OWNER_MEMORY,    /* in the kernel, for memory that is new */
	OWNER_SYSTEM,    /* in the kernel, for anything else */
	OWNER_FILE,      /* waits for disks */
	OWNER_FSYNC,
	OWNER_NETWORK,
	OWNER_CLIENTS,   /* of a server, which has nothing to do until they ask */
	OWNER_SLEEP,
	OWNER_GIL,
	OWNER_LOCK,
	OWNER_WORKERS,   /* waits for threads or processes of the program, which were at work */
	OWNER_CHILD,     /* waits for another program that it started */
	OWNER_POOL,      /* waits for the threads of a library's pool */
	OWNER_DEVICE,
	OWNER_WAIT,      /* waits, and nobody can tell for what */
	OWNER_PROFILER,  /* what recording takes */
	OWNER_EDGES,     /* before the first and after the last of what was recorded: the interpreter begins and ends */
	OWNER_UNKNOWN,   /* in nothing that was recorded */
	OWNER_COUNT
};
const char *host_owner_name(enum host_owner owner); /* "python" */

/* Flags of a node, of what it is in, or of what a name says. */
enum {
	NODE_OWN = 1u << 0,      /* a function of the user's (not handed down) */
	NODE_GC = 1u << 1,
	NODE_COMPILE = 1u << 2,
	NODE_IMPORT = 1u << 3,
	NODE_LOADER = 1u << 4,   /* of the framework */
	NODE_LOADER_WORKERS = 1u << 5,
	NODE_LOG = 1u << 6,
	NODE_MESSAGES = 1u << 7, /* between processes: pickled, through pipes */
	NODE_SUBPROCESS = 1u << 8,
	NODE_OPERATOR = 1u << 9,
	NODE_MODEL = 1u << 10,   /* modules of the framework */
	NODE_ASKS = 1u << 11,    /* asks whether something is there, without waiting for it (not handed down) */
	NODE_IDLE = 1u << 12,    /* where threads of pools wait for work (not handed down) */
	NODE_SCOPE = 1u << 13,   /* not handed down */
	NODE_NETWORK = 1u << 14, /* what speaks to other machines */
	NODE_BUILDS = 1u << 15,  /* makes or loads a model, or anything else that stays */
};
#define NODE_HANDED_DOWN \
	(NODE_GC | NODE_COMPILE | NODE_IMPORT | NODE_LOADER | NODE_LOADER_WORKERS | NODE_LOG | NODE_MESSAGES | NODE_SUBPROCESS | \
	 NODE_OPERATOR | NODE_MODEL | NODE_NETWORK | NODE_BUILDS)

/* What a thread waits for, as the recorder names it; see docs/sbt-format.md. */
enum host_state {
	STATE_RUNNING,
	STATE_GIL,
	STATE_LOCK,
	STATE_BARRIER,
	STATE_SLEEP,
	STATE_POLL,
	STATE_PIPE,
	STATE_SOCKET_LOCAL,
	STATE_SOCKET_NETWORK,
	STATE_FILE,
	STATE_FSYNC,
	STATE_CHILD,
	STATE_PAGE_FAULT_IO,
	STATE_DEVICE,
	STATE_UNKNOWN,
	STATE_COUNT
};

/* Where the processor was. */
enum host_place {
	PLACE_INTERPRETER,
	PLACE_PROFILER,
	PLACE_COMPUTE, /* a library that computes */
	PLACE_OTHER,   /* another library */
	PLACE_FAULT,
	PLACE_IO,
	PLACE_MEMORY,
	PLACE_SYSTEM,
	PLACE_COUNT
};

/* host_names.c: what names say, each asked once. */
struct host_names {
	const struct timeline *t;
	uint32_t *flags;  /* by string, plus NAME_KNOWN */
	uint8_t *states;  /* by string: enum host_state plus 1 */
	uint8_t *places;  /* by string */
};
int host_names_init(struct host_names *names, const struct timeline *t);
void host_names_release(struct host_names *names);
uint32_t host_name_flags(struct host_names *names, uint8_t kind, uint32_t name);
enum host_state host_look_state(struct host_names *names, const struct timeline_look *look);
enum host_place host_look_place(struct host_names *names, const struct timeline_look *look);

/* The tree of a thread's calls.  Node 0 is the thread, in nothing that was recorded. */
struct host_node {
	uint32_t parent, name;
	uint32_t slice;  /* the first */
	uint32_t place;  /* the node of the innermost function of the user's around it, itself included; 0: none */
	uint32_t flags;
	uint32_t count;  /* of slices */
	uint16_t depth;
	uint8_t kind;
};
struct host_tree {
	uint32_t track;
	struct host_node *nodes;
	uint32_t count, capacity;
	uint32_t *node_of;  /* by slice of the track, from its first */
	uint32_t *children; /* hash table of nodes by parent and name */
	uint32_t mask;
};
int host_tree_build(struct host_tree *tree, const struct timeline *t, uint32_t track, struct host_names *names);
void host_tree_release(struct host_tree *tree);
/* The node that the thread is in at `time`. */
uint32_t host_tree_at(const struct host_tree *tree, const struct timeline *t, int64_t time);
/* Whether a node is `above` or inside it. */
bool host_tree_is_inside(const struct host_tree *tree, uint32_t node, uint32_t above);

/* What is known of a node's time in a window. */
struct host_cost {
	int64_t wall;               /* self time */
	int64_t time[OWNER_COUNT];  /* sums to wall */
	int64_t waited;             /* of that it was blocked, as far as it was sampled */
	uint32_t waits, samples;    /* looks that found it blocked; at work */
};

/* Who else was at work while the spine waited, or ran. */
struct host_blame {
	uint32_t thread;  /* track of states */
	uint32_t process;
	uint32_t name;    /* of the place where it was; 0: not known */
	enum host_state state;
	int64_t time;     /* of the spine's wait */
};

struct host_window {
	int64_t from, to;
	const struct host_tree *tree;
	struct host_cost *costs;        /* by node */
	int64_t time[OWNER_COUNT];      /* sums to `to - from` */
	uint32_t waits, samples;        /* looks at the spine that found it blocked; places */
	bool looked;                    /* from outside, at all */
	uint32_t input_places[PLACE_COUNT]; /* of samples in the loader */
	const char *library;            /* "numpy/a.so": in this package, "a.so": in this file most of what libraries do is done; NULL: none */
	/* threads and processes that the spine waits for, the most blamed first */
	struct host_blame *blames;
	size_t blame_count, blame_capacity;
	int64_t resolved, unresolved;   /* of waits for others of the program */
	int64_t remote;                 /* of resolved: for other processes */
	double cpus;                    /* that the program may use; NAN */
	double cores;                   /* while it waits for processes: that they keep busy on average */
	double active, active_peers;    /* while it waits for processes: how many are at work on average; how many there are */
	double gil_waiters, lock_waiters; /* mean number of others that wait, in time of owners GIL and LOCK */
	uint32_t gil_place, lock_place; /* names: who holds it; who waits for it */
	int64_t gil_time, lock_time;
	int64_t file_waits, file_waits_early; /* waits for disks; of these in the first fifth: files that are read for the first time */
	int64_t sleep_with_work;        /* of sleep: others of the program were at work */
	double others_active;           /* while the spine runs: of its time, another thread wants to run Python */
	/* from the ledger, as far as it reaches */
	double run, queue, blocked;     /* shares of the spine's time; NAN: not known */
};

/* Resources over a window: cores used on average. */
struct host_load {
	double cpus;      /* that the program may use; NAN */
	double interval;  /* ns between two looks at a thread, on average */
	double tree, demand, outside, idle; /* cores: the program ran, wanted to run, others ran, nobody ran; NAN */
	double free_cores; /* tree + idle, at most cpus; NAN */
	double system_share; /* of the program's processor time */
	double throttled;    /* share of the time that the control group wanted to run in which it was out of its quota */
	double switches;     /* slices a second of the busiest thread */
	uint32_t busy_threads; /* that wanted to run for a tenth of the time or more */
	double read_calls, write_calls, read_bytes, written_bytes, disk_bytes; /* a second */
	double faults, major_faults; /* a second */
	double memory_begin, memory_end; /* bytes, of the spine's process; NAN */
	double memory_growth; /* bytes by which the least of each fifth of the window rises, if it always does and is no swing; else 0 */
};

/* Which part of the run is judged. */
enum host_unit { UNIT_RUN, UNIT_LOOP, UNIT_STEPS };
const char *host_unit_name(enum host_unit unit); /* "run" "loop" "steps" */

struct analysis_host {
	bool known;            /* there is a spine */
	bool only_looks;       /* nothing of it was recorded from inside: what is known of it was seen from outside */
	uint32_t spine;        /* track; of states, where that is all there is */
	uint32_t states;       /* track of its states; TIMELINE_NONE */
	uint32_t process;
	enum host_unit unit;
	uint32_t steps, skipped; /* in the window; before it */
	int64_t loop_from, loop_to; /* of the steps or the loop; 0 to 0: none */
	int64_t first_step;         /* begin of the loop with the steps that were left out */
	int64_t before;             /* what the program itself did before that, without imports; without a loop: what it built */
	struct host_tree tree;
	struct host_window run, window; /* all of it; what is judged */
	struct host_load load;
};

#endif
