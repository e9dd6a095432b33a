/*
 * export_match.h - whether there is anything in a trace of what an export was asked for.
 */
#ifndef CMD_EXPORT_MATCH_H
#define CMD_EXPORT_MATCH_H

#include "rows/row_filter.h"
#include "trace/reader.h"

/* 0, or an exit code, having said that the window is outside the trace, or that nothing is selected.  Looks no further than the first
 * event that is.  The depth of slices is not looked at.  `kinds` is what was typed, or NULL. */
int export_match_check(struct trace_reader *reader, const struct row_filter *filter, const char *kinds, const char *title);

#endif
