/* marks.c - see marks.h. */
#include "export/marks.h"

#include "timeline/timeline.h"

static int64_t since_start(const struct timeline *t, int64_t ns)
{
	int64_t sum;

	return __builtin_add_overflow(ns, t->origin_ns, &sum) ? (ns < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* The part in the window; false: there is none.  A place may be an instant. */
static bool clip(const struct row_filter *filter, struct export_mark *mark)
{
	if (mark->end < mark->begin)
		mark->end = mark->begin;
	if (!filter->windowed)
		return true;
	if (mark->begin >= filter->to_ns || mark->end < filter->from_ns || (mark->end == filter->from_ns && mark->begin < mark->end))
		return false;
	mark->begin = mark->begin < filter->from_ns ? filter->from_ns : mark->begin;
	mark->end = mark->end > filter->to_ns ? filter->to_ns : mark->end;
	return true;
}

unsigned export_marks(const struct trace_reader *reader, const struct export_options *options, const struct analysis_finding *f,
		      struct export_mark *marks)
{
	const struct analysis *a = options->analysis;
	const struct row_filter *filter = &options->filter;
	unsigned count = 0;

	for (unsigned i = 0; i < f->example_count && i < FINDING_EXAMPLES; i++) {
		const struct finding_example *e = &f->examples[i];
		struct export_mark mark = { since_start(a->timeline, e->begin), since_start(a->timeline, e->end), i };

		if (row_filter_match_track(filter, e->track, reader) && clip(filter, &mark))
			marks[count++] = mark;
	}
	if (f->example_count == 0) {
		marks[0] = (struct export_mark){ since_start(a->timeline, a->findings.from > 0 ? a->findings.from : 0), /* no part was judged: all of it */
						 since_start(a->timeline, a->summary.end_to_end), 0 };
		count = clip(filter, &marks[0]);
	}
	return count;
}
