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

/* A part of a trace, of all its clocks: nanoseconds since its start.  The part starts at from_ns; `part` in its info says where it is from. */
struct trace_redact; /* trace/redact.h */
struct trace_copy_window {
	int64_t from_ns, to_ns;
	struct trace_redact *redact; /* what texts become; NULL: they stay */
};
#define TRACE_PART_END (INT64_MAX / 2) /* to_ns of a part that goes as far as the trace */
int trace_copy_window(struct trace_reader *from, struct trace_writer *to, const struct trace_copy_window *window, struct error *err);

/* What a trace that is a part of another says of that. */
struct trace_part {
	int64_t from_ns, to_ns;
	unsigned redacted; /* trace/redact.h */
};
bool trace_part_read(const struct trace_reader *reader, struct trace_part *ret);

#endif
