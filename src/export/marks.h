/*
 * marks.h - where findings can be seen in what is exported.
 */
#ifndef EXPORT_MARKS_H
#define EXPORT_MARKS_H

#include "export/export.h"

struct export_mark {
	int64_t begin, end; /* since the start of the trace */
	unsigned number;    /* which of the finding's examples */
};

/* The places of a finding as far as they are in the window, and on threads and processes that are wanted; all of the judged time
 * in the window where no place is known.  At most FINDING_EXAMPLES of them. */
unsigned export_marks(const struct trace_reader *reader, const struct export_options *options, const struct analysis_finding *f,
		      struct export_mark *marks);

#endif
