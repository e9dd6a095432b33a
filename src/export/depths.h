/*
 * depths.h - which slices are inside too many others, for formats that are written event by event.
 *
 * Where every slice has a begin and an end, its depth was recorded, and the
 * filter needs nothing else.  Slices that were given whole, as other tools and
 * the doors of GPUs do, come in any order and have none: how these nest is
 * what the timeline finds (timeline/nesting.c), of all of the trace or of its
 * window, so that every format means the same by a depth.  Of the timeline a
 * bit an event is kept.
 */
#ifndef EXPORT_DEPTHS_H
#define EXPORT_DEPTHS_H

#include "export/export.h"
#include "rows/row_set.h"

/* Fills the set and points the filter at it, where that is needed; the set is the caller's to release, also after a failure. */
int depths_find(struct row_set *set, struct row_filter *filter, struct trace_reader *reader, const struct export_options *options,
		struct error *err);

#endif
