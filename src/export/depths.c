/* depths.c - see depths.h. */
#include "export/depths.h"

#include <errno.h>

#include "timeline/timeline.h"

#define EVENT_MASK (((uint64_t)1 << TIMELINE_ORIGIN_BITS) - 1)

/* ---- Whether recorded depths are enough --------------------------------------------- */

/* What was seen from outside is beside the slices of a thread, not among them. */
static bool has_slices(const struct trace_reader *reader, uint32_t track)
{
	const struct trace_track *entry = trace_reader_track(reader, track);

	return !entry || (entry->kind != TRACK_STATES && entry->kind != TRACK_HOST);
}

static bool is_whole(const struct trace_batch *batch, uint32_t event)
{
	return batch->phase[event] == PHASE_COMPLETE && batch->kind[event] != EVENT_LOST && batch->kind[event] != EVENT_CLOCK_PAIR;
}

static bool has_whole(const struct trace_reader *reader, const struct trace_batch *batch)
{
	for (size_t s = 0; s < batch->segment_count; s++) {
		const struct trace_segment *segment = &batch->segments[s];

		if (!has_slices(reader, segment->track))
			continue;
		for (uint32_t i = segment->first; i < segment->first + segment->count; i++)
			if (is_whole(batch, i))
				return true;
	}
	return false;
}

/* Of another tool's trace the first block tells; one of ours without a GPU is read through. */
static bool any_whole(struct trace_reader *reader, const struct row_filter *filter)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	size_t first = 0, end = trace_reader_block_count(reader);
	bool found = false;

	if (filter->windowed)
		trace_reader_window(reader, trace_reader_ticks_from_start_ns(reader, 0, filter->from_ns),
				    trace_reader_ticks_from_start_ns(reader, 0, filter->to_ns), &first, &end);
	for (size_t i = first; i < end && !found; i++)
		found = trace_reader_decode(reader, i, &batch, NULL) == 0 && has_whole(reader, &batch);
	trace_batch_release(&batch);
	return found;
}

/* ---- What the timeline says ------------------------------------------------------------ */

static int take_deep(struct row_set *set, const struct timeline *t, int64_t limit)
{
	int rc = 0;

	for (uint32_t i = 0; i < t->slice_count && rc == 0; i++)
		if (t->depth[i] >= limit && t->origin[i] != TIMELINE_NO_ORIGIN)
			rc = row_set_add(set, (size_t)(t->origin[i] >> TIMELINE_ORIGIN_BITS), (uint32_t)(t->origin[i] & EVENT_MASK));
	return rc;
}

static int build_deep(struct row_set *set, const struct row_filter *filter, struct trace_reader *reader,
		      const struct export_options *options, struct error *err)
{
	const struct timeline_options how = { .progress = options->progress, .progress_arg = options->progress_arg, .origins = true,
					      .windowed = filter->windowed, .from_ns = filter->from_ns, .to_ns = filter->to_ns };
	struct timeline *t;
	int rc = timeline_build(&t, reader, &how, err);

	if (rc < 0)
		return rc;
	rc = take_deep(set, t, filter->depth);
	timeline_free(t);
	return rc < 0 ? error_errno(err, rc, "cannot export") : 0;
}

int depths_find(struct row_set *set, struct row_filter *filter, struct trace_reader *reader, const struct export_options *options,
		struct error *err)
{
	const struct timeline *known = options->analysis ? options->analysis->timeline : NULL;
	int rc;

	if (filter->depth < 0 || !any_whole(reader, filter))
		return 0;
	if (known && known->origin) {
		rc = take_deep(set, known, filter->depth);
		rc = rc < 0 ? error_errno(err, rc, "cannot export") : 0;
	} else {
		rc = build_deep(set, filter, reader, options, err);
	}
	filter->deep = set;
	return rc;
}
