/*
 * query_state.h - what the tables of query.h share.
 */
#ifndef QUERY_QUERY_STATE_H
#define QUERY_QUERY_STATE_H

#include <sqlite3.h>

#include "analyze/analysis.h"
#include "query/query.h"
#include "timeline/timeline.h"

/* What a table is made of. */
enum query_needs {
	NEEDS_DICTIONARY, /* nothing but the reader */
	NEEDS_ANY,        /* a timeline of any part of the run: it is about what all parts know */
	NEEDS_PART,       /* of the part that is asked about */
	NEEDS_TIMELINE,   /* of the whole run */
	NEEDS_ANALYSIS,
};

/* Rows that are made when they are first asked for; NULL: not yet. */
struct query_made {
	struct query_counter {
		int64_t time;
		double value;
		uint32_t track, name;
		const char *what;
	} *counters;
	struct query_state {
		int64_t begin, end;
		uint32_t device;
		uint32_t running[WORK_CLASS_COUNT];
	} *states;
	uint32_t *instants, *thread_states; /* points; looks */
	size_t counter_count, state_count, instant_count, thread_state_count;
};
void query_made_release(struct query_made *made);

struct query_table;
/* What the module of such a table is given. */
struct query_table_of {
	struct query *q;
	const struct query_table *table;
};

struct query {
	struct trace_reader *reader;
	struct query_options options;
	struct sql *sql;
	struct error failure; /* of the timeline or the analysis, while SQLite runs */

	/* of the question at hand: the part of the run that it is about, since the start of the trace */
	int64_t from_ns, to_ns;

	struct timeline *timeline; /* NULL: not yet */
	bool partial;              /* of [loaded_from, loaded_to) */
	int64_t loaded_from, loaded_to;
	struct analysis *analysis; /* NULL: not yet */
	struct query_names *names; /* of the slices of the timeline; NULL: not yet */
	struct query_made made;    /* of the timeline and the analysis */
	struct query_table_of tables[32];
};

/* A table with numbered rows. */
struct query_table {
	const char *name, *columns; /* as CREATE TABLE has them; the first is "id", the row's number, unless there is a time */
	enum query_needs needs;
	int time; /* the column by which rows are sorted, nanoseconds since the start of the trace; -1: none */
	int (*prepare)(struct query *q); /* when what it needs is loaded; negative errno.  May be NULL */
	int64_t (*count)(const struct query *q);
	int64_t (*time_of)(const struct query *q, int64_t row); /* where `time` is not negative */
	void (*cell)(const struct query *q, int64_t row, int column, sqlite3_context *context);
};
extern const sqlite3_module query_rows_module;
extern const struct query_table query_world_tables[], query_time_tables[], query_finding_tables[]; /* the last has no name */

/* What is needed is loaded; an SQLite code, with q->failure set. */
int query_need(struct query *q, enum query_needs needs);
void query_unload(struct query *q);
/* A table of parts is about this part, in the question that is being prepared. */
void query_widen(struct query *q, int64_t from_ns, int64_t to_ns);
/* The part that constraints on column `time` leave, as far as they are constants. */
void query_bounds(sqlite3_index_info *info, int time, int64_t *ret_from, int64_t *ret_to);
bool query_is_bound(unsigned char op);
/* The values of these in xFilter(); anything that is not a number leaves the bound as it is. */
void query_bound(sqlite3_value *value, unsigned char op, int64_t *from, int64_t *to);

/* A virtual table of ours, whatever its module. */
struct query_vtab {
	sqlite3_vtab base;
	struct query *q;
};
int query_connect(struct query *q, const char *columns, sqlite3_vtab **ret);
int query_disconnect(sqlite3_vtab *table);

/* Tables with modules of their own. */
extern const sqlite3_module query_slices_module, query_args_module, query_events_module;
#define SLICES_COLUMNS                                                                                                          \
	"id INTEGER, ts INTEGER, dur INTEGER, end_ts INTEGER, name TEXT, kind TEXT, track INTEGER, thread INTEGER, process INTEGER, " \
	"device INTEGER, stream INTEGER, parent INTEGER, depth INTEGER, launch INTEGER, correlation INTEGER, bytes INTEGER, "      \
	"unfinished INTEGER"
#define ARGS_COLUMNS "slice INTEGER, key TEXT, value"
#define EVENTS_COLUMNS \
	"id INTEGER, ts INTEGER, kind TEXT, phase TEXT, track INTEGER, name TEXT, dur INTEGER, value, cpu INTEGER, correlation INTEGER, bytes INTEGER"

/* query_names.c: slices by name, names in the order of their bytes. */
struct query_names {
	uint32_t *order;  /* slices */
	uint32_t *ranked; /* names that slices have, in order */
	uint32_t *first;  /* in `order`, by place in `ranked`, and one more */
	uint32_t count;
};
int query_names_new(struct query_names **ret, const struct timeline *t);
void query_names_free(struct query_names *names);
/* The places in `order` of slices with this name: [*ret_first, *ret_end). */
void query_names_find(const struct query_names *names, const struct timeline *t, const char *text, size_t size, uint32_t *ret_first,
		      uint32_t *ret_end);

/* Cells. */
void cell_string(const struct query *q, uint32_t string, sqlite3_context *context); /* NULL for 0 */
void cell_number(sqlite3_context *context, double value);                            /* NULL for NAN */
void cell_index(sqlite3_context *context, uint32_t index);                           /* NULL for TIMELINE_NONE */
void cell_static(sqlite3_context *context, const char *text);                       /* NULL for NULL */

#endif
