/*
 * copy.h - copies a trace into a writer: dictionary, clocks, info and events.
 *
 * Numbers of processes, tracks and the like stay what they were; those of
 * strings need not.  Copying several files that continue each other (the
 * segments of a bounded trace), oldest first, joins them.
 */
#ifndef TRACE_COPY_H
#define TRACE_COPY_H

#include "trace/reader.h"
#include "trace/writer.h"

/* Blocks that do not decode are left out, and are in the reader's report. */
int trace_copy(struct trace_reader *from, struct trace_writer *to, struct error *err);

/* The same for what happened at `since` (ticks of domain 0) and later, in whole blocks.  With `first`, what was open before the
 * first of these begins with it: for the first of several files. */
int trace_copy_since(struct trace_reader *from, struct trace_writer *to, int64_t since, bool first, struct error *err);

#endif
