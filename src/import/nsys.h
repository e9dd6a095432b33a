/*
 * nsys.h - the insides of the importer of Nsight Systems' SQLite exports.
 *
 * nsys.c opens the file, nsys_info.c reads what it says about itself,
 * nsys_source.c goes through the tables of events, all at once and in the order
 * of time, and gives each row to a function of nsys_gpu.c, nsys_cpu.c or
 * nsys_nvtx.c.  nsys_where.c knows processes, threads, devices and streams,
 * nsys_string.c the names.
 *
 * Tables and columns come and go with the versions of the tool.  What a file
 * does not have is absent and nothing more; what a cell holds is looked at, not
 * what the schema says of its column.
 */
#ifndef IMPORT_NSYS_H
#define IMPORT_NSYS_H

#include "import/output.h"
#include "import/output_map.h"
#include "sql/sandbox.h"

struct nsys;

/* The row at hand.  Columns are counted as the table lists them. */
struct nsys_row {
	const struct nsys_table *table;
	struct sql_query *query;
	int64_t id; /* rowid */
	int64_t start, end;
	bool has_end;
};

struct nsys_table {
	const char *name;
	/* Separated by blanks, the time first and the end second ("-": none); "a|b" is the first of these that there is. */
	const char *columns;
	/* Or NULL: which rows of the table are meant; uses the column `needs`.  A damaged table is read without it. */
	const char *where;
	const char *needs;
	bool device; /* times of 0 and 0 mean that the device did not say */
	/* Negative only when the trace cannot be written; *skip is why a row makes no sense. */
	int (*read)(struct nsys *n, const struct nsys_row *row, const char **skip, struct error *err);
};

extern const struct nsys_table nsys_gpu_tables[], nsys_cpu_tables[], nsys_nvtx_tables[]; /* the last has no name */

#define NSYS_STRING_CACHE 16384u

/* Names by number, a table of the file. */
struct nsys_strings {
	struct sql_query *query; /* NULL: the file has none */
	struct nsys_string_place {
		int64_t id;
		uint32_t number;
		bool used;
	} * cache;
	/* When the table has no key: where each number is, in order. */
	struct nsys_string_row {
		int64_t id, row;
	} * rows;
	size_t count;
	bool by_row;
};

#define NSYS_ENUM_MAX 32
#define NSYS_AMBIGUOUS UINT64_MAX /* in place of a call */

struct nsys {
	struct output *o;
	struct sql *sql;
	const struct import_options *options;
	const char *path;
	struct nsys_strings strings;
	struct buffer metadata; /* of the event at hand: a map of at most 15 pairs */

	/* nsys_where.c */
	struct output_map threads;         /* thread of the file -> track */
	struct output_map processes;       /* pid -> process, of those that have events */
	struct output_map cuda_devices;    /* pid, number in the process -> number on the machine */
	struct output_map contexts;        /* pid, context -> device */
	struct output_map first_contexts;  /* process and device -> context of its plain stream numbers */
	struct output_map device_tracks;   /* device -> track of what belongs to it as a whole */
	struct output_map metric_devices;  /* low byte of a metric's type -> device */
	bool has_cuda_devices, times_are_utc;

	/* nsys_info.c */
	uint8_t memory_kinds[NSYS_ENUM_MAX]; /* the file's number -> enum memory_kind */
	uint8_t sync_types[NSYS_ENUM_MAX];   /* the file's number -> enum nsys_sync */
	struct output_map metrics;     /* type, metric -> name */
	struct output_map records;     /* pid, event (or its synchronization) -> its place in record_calls */
	uint64_t *record_calls;
	size_t record_count, record_capacity;
	bool records_by_sync;

	/* nsys_nvtx.c */
	struct output_map domains, categories; /* pid and domain, category -> place in names */
	struct buffer names;

	struct sql_query *sample_query; /* innermost function of a sample */
	bool no_samples;                /* the file has no such functions */
};

enum nsys_sync { NSYS_SYNC_UNKNOWN, NSYS_SYNC_EVENT, NSYS_SYNC_WAIT, NSYS_SYNC_STREAM, NSYS_SYNC_CONTEXT };

/* nsys_info.c */
void nsys_read_info(struct nsys *n);  /* before the events */
void nsys_read_names(struct nsys *n); /* after them */
/* Gives each row to a function, until that returns false. */
typedef bool nsys_each_row(struct nsys *n, struct sql_query *q);
int nsys_each(struct nsys *n, const char *table, const char *columns, const char *where, nsys_each_row *row, struct error *err);

/* nsys_nvtx.c */
void nsys_read_nvtx_names(struct nsys *n);   /* of domains and categories; before the events */
void nsys_read_nvtx_threads(struct nsys *n); /* after them */

/* nsys_source.c */
int nsys_read_events(struct nsys *n, struct error *err);
/* "SELECT rowid, ...": NULL for columns that there are not. */
int nsys_select(struct nsys *n, struct buffer *text, const char *table, const char *columns);
void nsys_damage(struct nsys *n, const char *table, int64_t row, const char *reason);

/* nsys_string.c */
int nsys_strings_open(struct nsys *n, struct error *err);
void nsys_strings_release(struct nsys_strings *s);
uint32_t nsys_string(struct nsys *n, int64_t id);                              /* 0: the file does not say */
uint32_t nsys_text(struct nsys *n, struct sql_query *q, int column);           /* a text, or the number of one */
bool nsys_text_of(struct nsys *n, int64_t id, const char **ret, size_t *ret_size); /* until the next look-up */

/* nsys_where.c */
uint64_t nsys_pid(int64_t global);
uint32_t nsys_process(struct nsys *n, uint64_t pid);
uint32_t nsys_thread(struct nsys *n, struct sql_query *q, int column);      /* its track */
uint32_t nsys_process_track(struct nsys *n, struct sql_query *q, int column);
uint64_t nsys_device_index(struct nsys *n, uint64_t pid, uint64_t cuda);    /* its number on the machine */
uint32_t nsys_device(struct nsys *n, uint64_t index);
uint32_t nsys_device_track(struct nsys *n, uint64_t index);
void nsys_context(struct nsys *n, uint64_t pid, uint64_t context, uint64_t index);
/* Columns: device, context, stream, process.  OUTPUT_NONE when it names no stream.  The context decides which device it is
 * where the table's own column cannot be relied on. */
uint32_t nsys_stream(struct nsys *n, struct sql_query *q, const int columns[4], bool by_context);
void nsys_where_release(struct nsys *n);

/* Events of a row: complete, or begun and never ended. */
struct import_event nsys_event(const struct nsys_row *row, enum event_kind kind, uint32_t track, uint32_t name);
void nsys_field(struct import_event *e, enum event_field field, struct sql_query *q, int column); /* if it is a number */
int nsys_put(struct nsys *n, struct import_event *e, struct error *err);

/* The arguments of the event at hand.  Nothing is kept of those when nobody wants them. */
void nsys_arguments(struct nsys *n);
void nsys_properties(struct nsys *n); /* the same, wanted in any case */
void nsys_argument_integer(struct nsys *n, const char *key, int64_t value);
void nsys_argument_number(struct nsys *n, const char *key, double value);
void nsys_argument_text(struct nsys *n, const char *key, const char *text, size_t size);
void nsys_argument_cell(struct nsys *n, const char *key, struct sql_query *q, int column); /* if it is not NULL */

#endif
