/*
 * row_walk.h - turns a trace into rows, in bounded memory: one block of events
 * is held at a time.
 *
 * Scopes become two rows, scope_enter and scope_exit, unless the filter wants
 * whole_scopes.  Slices of other kinds become one row with both times, where
 * they end; of one that never did, end_ns is how far it is known to have come.  Rows are in the order of
 * time within a block, and blocks follow each other in time except for what
 * the recorder picked up late; each thread's rows are always in its order.
 *
 * In a window the slices that are open where it begins come first, those of
 * other kinds than scope where they end, all marked ROW_ENCLOSING.
 */
#ifndef ROWS_ROW_WALK_H
#define ROWS_ROW_WALK_H

#include <stdint.h>

#include "base/error.h"
#include "rows/row_filter.h"
#include "rows/row.h"

/* A non-zero result stops the walk and is returned. */
typedef int (*row_fn)(void *arg, const struct row *row);

/* *ret_decoded: how many blocks of events could be read. */
int row_walk(struct trace_reader *reader, const struct row_filter *filter, row_fn fn, void *arg,
	      uint64_t *ret_decoded, struct error *err);

#endif
