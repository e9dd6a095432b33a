/*
 * findings_host.h - what the files of the host's findings share: the time of the window by place and owner, of which a
 * finding takes what it explains, so that nobody else can.
 */
#ifndef ANALYZE_FINDINGS_HOST_H
#define ANALYZE_FINDINGS_HOST_H

#include "analyze/findings_parts.h"
#include "analyze/host_parts.h"

#define GAIN_MOST 0.999
#define IDLE_CORE 0.25 /* so much of one is enough for a fix that needs one */

/* A function of the user's, with what it calls in libraries; the first is of nobody. */
struct place_cells {
	uint32_t name;
	uint32_t node;               /* the first */
	int64_t time[OWNER_COUNT];   /* that nobody has taken yet */
	int64_t wall;
	int64_t startup;             /* what comes before the loop, and is in none of the others */
	int64_t operators;           /* wall of operators in it */
	uint64_t operator_count;     /* outermost ones, of the whole trace */
	int64_t operators_run;       /* and their time there */
	uint64_t asks;               /* calls that ask without waiting, of the whole trace */
	uint64_t calls;
	uint32_t samples, waits;
	bool model;                  /* they are of modules of the framework */
};

struct host_cells {
	struct parts *p;
	const struct analysis_host *h;
	const struct host_window *w;
	struct place_cells *places;
	size_t count, capacity;
	uint32_t *of_name; /* number of the place plus 1 */
	bool *before;      /* by node: it is startup; NULL: nothing is */
	int64_t span;
	double unknown;    /* share of the span that nobody can explain */
	bool has_model;    /* operators are a good part of the window */
};

int host_cells_init(struct host_cells *c, struct parts *p);
void host_cells_release(struct host_cells *c);
/* Takes what a place, or all of them, has of an owner. */
int64_t cells_take(struct place_cells *place, enum host_owner owner);
int64_t cells_take_all(struct host_cells *c, enum host_owner owner);
int64_t cells_sum(const struct host_cells *c, enum host_owner owner);
/* The place with most of an owner; NULL. */
struct place_cells *cells_largest(struct host_cells *c, enum host_owner owner);

/* A finding under way: what its confidence rests on. */
struct host_claim {
	struct analysis_finding f;
	bool exact;      /* its time is, not sampled */
	double agree;    /* of the signals that could tell, how many do; 0..1 */
	bool needs_core; /* the fix runs something side by side */
};
/* Adds "where" and the id from a place, with who calls it. */
void claim_place(struct host_cells *c, struct host_claim *claim, const struct place_cells *place, int64_t time);
/* The same for a function of another thread. */
void claim_name(struct host_cells *c, struct host_claim *claim, uint32_t name, const char *whose);
/* Gains of leaving something out: eliminated, or done in a better way. */
void claim_removal(struct host_cells *c, struct host_claim *claim, bool eliminated);
int claim_add(struct host_cells *c, struct host_claim *claim);
/* "read_records (shard.py:15)" */
#define PLACE_TEXT 200
const char *place_text(const struct host_cells *c, uint32_t name, char *out);
double cells_share(const struct host_cells *c, int64_t time);
/* How often in a step, or in a second where there are none; *ret_unit "a step". */
double cells_rate(const struct host_cells *c, double count, const char **ret_unit);

/* findings_waits.c */
int find_host_input(struct host_cells *c);
int find_host_contention(struct host_cells *c);
int find_host_workers(struct host_cells *c);
int find_host_polling(struct host_cells *c);
int find_host_sleep(struct host_cells *c);
int find_host_network(struct host_cells *c);
int find_host_children(struct host_cells *c);

/* findings_work.c */
int find_host_oversubscription(struct host_cells *c);
int find_host_files(struct host_cells *c);
int find_host_operators(struct host_cells *c);
int find_host_memory(struct host_cells *c);
int find_host_collections(struct host_cells *c);
int find_host_compilation(struct host_cells *c);
int find_host_startup(struct host_cells *c);
int find_host_python(struct host_cells *c);

#endif
