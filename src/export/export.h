/*
 * export.h - a trace in the formats of other tools.
 *
 *      struct export_out out;
 *      export_out_init(&out, write_some, arg, EXPORT_PLAIN);
 *      export_trace(reader, EXPORT_CHROME, &options, &out, &err);
 *      export_out_release(&out);
 *
 * Each format is a file of its own, with a row in the table of export.c.  Those
 * that can be written as the trace is read are (export_*.c over rows/row_walk.h
 * or blocks), in memory that does not depend on its length; those that have to
 * be grouped by thread or summed up are made from a timeline.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "base/error.h"
#include "export/export_out.h"
#include "rows/row_filter.h"
#include "trace/reader.h"

/* By what stacks are weighed. */
enum export_weight { EXPORT_WALL, EXPORT_CPU, EXPORT_GPU };

struct export_options {
	struct row_filter filter;        /* what is wanted: window, kinds, name, thread, process, depth, duration */
	int64_t first_step, last_step;   /* only the time of these; -1: not asked for */
	enum export_weight weight;
	const struct analysis *analysis; /* whose findings are written, where the format has a place for them; may be NULL */
	void (*progress)(void *arg, uint64_t done, uint64_t total); /* of blocks; may be NULL */
	void *progress_arg;
};
#define EXPORT_OPTIONS_INIT { .filter = ROW_FILTER_INIT, .first_step = -1, .last_step = -1 }

/* One row of the table. */
struct export_format {
	const char *name;     /* "perfetto" */
	const char *what;     /* for --help: "Perfetto's protobuf (ui.perfetto.dev)" */
	const char *suffixes; /* of files: ".pftrace .perfetto-trace"; the first is what a file gets that is not named */
	bool compressed;      /* always gzip, whatever the file is called */
	bool binary;          /* no text */
	bool findings;        /* has a place for them */
	bool by_event;        /* written as the trace is read */
	int (*write)(struct trace_reader *reader, const struct export_options *options, struct export_out *out, struct error *err);
};
const struct export_format *export_format_at(size_t i); /* NULL past the last */
const struct export_format *export_format_named(const char *name);
/* By the end of the file's name, of which .gz may be a part; the longest suffix counts.  NULL: none. */
const struct export_format *export_format_of_file(const char *path);

/* Whether a file of that name is compressed, which NULL is not unless the format always is. */
enum export_packing export_packing_of(const struct export_format *format, const char *path);

/* The time of steps becomes the filter's window; then the format writes.  Negative: errno, said in err; -ECANCELED and what the
 * output failed with come back as they are. */
int export_trace(struct trace_reader *reader, const struct export_format *format, const struct export_options *options,
		 struct export_out *out, struct error *err);

#endif
