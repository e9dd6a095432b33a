/*
 * perfetto.c - a trace as Perfetto's protobuf: the walk over its blocks, and what of them is wanted.
 *
 * See perfetto.h for where things are.
 */
#include "export/perfetto.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

#include "export/formats.h"

#define BIT(field) ((uint64_t)1 << (field))
#define SCOPE_HALVES ((uint64_t)3 << 62) /* scope_enter and scope_exit, which are a scope here */

/* ---- What is wanted ---------------------------------------------------------------------- */

bool pf_track_selected(struct pf *p, uint32_t track)
{
	struct pf_track *t = &p->tracks[track];

	if (!t->asked) {
		t->asked = true;
		t->wanted = pf_track_wanted(p, track);
	}
	return t->wanted;
}

/* A pattern is tried once a name. */
static bool name_wanted(struct pf *p, uint32_t name)
{
	size_t size;
	uint8_t *known = p->name_wanted && name < trace_reader_string_count(p->reader) ? &p->name_wanted[name] : NULL;

	if (!p->options->filter.name)
		return true;
	if (!known)
		return fnmatch(p->options->filter.name, trace_reader_string(p->reader, name, &size), 0) == 0;
	if (*known == 0)
		*known = fnmatch(p->options->filter.name, trace_reader_string(p->reader, name, &size), 0) == 0 ? 2 : 1;
	return *known == 2;
}

static bool kind_wanted(const struct pf *p, uint8_t kind)
{
	uint64_t types = p->options->filter.types;

	if (types & SCOPE_HALVES)
		types |= BIT(EVENT_SCOPE);
	return types == 0 || (kind < EVENT_KIND_COUNT && types >> kind & 1);
}

bool pf_slice_wanted(struct pf *p, uint8_t kind, uint32_t name, uint32_t depth)
{
	int64_t limit = p->options->filter.depth;

	return kind_wanted(p, kind) && (limit < 0 || depth < limit) && name_wanted(p, name);
}

bool pf_event_wanted(struct pf *p, uint32_t event)
{
	const struct row_set *deep = p->options->filter.deep;
	uint8_t kind = p->batch->kind[event];
	uint32_t name = p->batch->name[event];

	return deep ? !row_set_has(deep, p->block, event) && kind_wanted(p, kind) && name_wanted(p, name) :
		      pf_slice_wanted(p, kind, name, p->batch->depth[event]);
}

static bool whole_wanted(struct pf *p, uint32_t event, int64_t begin, int64_t end)
{
	return begin < p->to && end >= p->from && end - begin >= p->options->filter.shortest_ns &&
	       pf_event_wanted(p, event);
}

/* ---- Events ------------------------------------------------------------------------------- */

static int64_t end_of(const struct pf *p, uint32_t event)
{
	const uint64_t *durations = p->batch->field[FIELD_DURATION];
	int64_t end = p->batch->time[event];

	if (durations && (durations[event] > INT64_MAX || __builtin_add_overflow(end, (int64_t)durations[event], &end)))
		end = INT64_MAX;
	return pf_ns(p, end);
}

static void whole(struct pf *p, uint32_t event, int64_t begin)
{
	int64_t end = end_of(p, event);
	struct pf_track *t;

	if (!p->simple && !whole_wanted(p, event, begin, end))
		return;
	t = pf_place(p, p->track, begin);
	if (t && p->batch->kind[event] == EVENT_LOST)
		pf_event(p, t, event, begin);
	else if (t)
		pf_whole(p, t, event, begin, end);
}

static void point(struct pf *p, uint32_t event, int64_t ns)
{
	struct pf_track *t;

	if (!p->simple && (ns < p->from || ns >= p->to || !pf_slice_wanted(p, p->batch->kind[event], p->batch->name[event], 0)))
		return;
	t = pf_place(p, p->track, ns);
	if (!t)
		return;
	if (t->waiting)
		pf_slices_ready(p, t, ns);
	pf_event(p, t, event, ns);
}

static void take(struct pf *p, struct pf_track *t, uint32_t event)
{
	int64_t ns = pf_ns(p, p->batch->time[event]);
	uint8_t phase = p->batch->phase[event];

	if (phase <= PHASE_END && !t->described)
		t = pf_place(p, p->track, ns);
	if (!t)
		return;
	if (phase == PHASE_BEGIN)
		pf_begin(p, t, event, ns);
	else if (phase == PHASE_END)
		pf_end(p, t, event, ns);
	else if (phase == PHASE_COMPLETE)
		whole(p, event, ns);
	else
		point(p, event, ns);
}

static void take_segment(struct pf *p, const struct trace_segment *segment)
{
	struct pf_track *t;

	if (segment->track >= p->track_count || !pf_track_selected(p, segment->track))
		return;
	t = &p->tracks[segment->track];
	t->domain = p->domain;
	p->track = segment->track;
	p->first = segment->first;
	for (uint32_t i = segment->first; i < segment->first + segment->count && p->failure == 0; i++)
		take(p, t, i);
}

/* ---- Blocks -------------------------------------------------------------------------------- */

static void take_block(struct pf *p, const struct trace_batch *batch, bool sync)
{
	p->batch = batch;
	p->domain = batch->domain;
	if (sync)
		pf_slices_sync(p);
	for (size_t s = 0; s < batch->segment_count && p->failure == 0; s++)
		take_segment(p, &batch->segments[s]);
}

static void finish(struct pf *p, int64_t last)
{
	for (size_t i = 0; i < p->track_count && p->failure == 0; i++) {
		struct pf_track *t = &p->tracks[i];

		if (!t->described)
			continue;
		pf_slices_finish(p, t, last);
		pf_whole_finish(p, t);
	}
	pf_flush(p);
}

/* The blocks that the window lies in; those of several clocks need not be in the order of time. */
static void blocks_wanted(struct pf *p, size_t *ret_first, size_t *ret_end)
{
	const struct row_filter *filter = &p->options->filter;

	*ret_first = 0;
	*ret_end = trace_reader_block_count(p->reader);
	if (filter->windowed)
		trace_reader_window(p->reader, trace_reader_ticks_from_start_ns(p->reader, 0, filter->from_ns),
				    trace_reader_ticks_from_start_ns(p->reader, 0, filter->to_ns), ret_first, ret_end);
}

static void walk(struct pf *p)
{
	const struct export_options *options = p->options;
	struct trace_batch batch = TRACE_BATCH_INIT;
	size_t first, end;
	int64_t last = 0;
	bool sync = true;

	blocks_wanted(p, &first, &end);
	for (size_t i = first; i < end && p->failure == 0; i++) {
		if (trace_reader_decode(p->reader, i, &batch, NULL) < 0) {
			sync = true; /* what it held is in the reader's report */
			continue;
		}
		p->block = i;
		take_block(p, &batch, sync);
		sync = false;
		last = pf_ns(p, batch.last_time) > last ? pf_ns(p, batch.last_time) : last;
		if (options->progress)
			options->progress(options->progress_arg, i + 1 - first, end - first);
	}
	finish(p, last);
	trace_batch_release(&batch);
}

/* ---- Beginning and end ---------------------------------------------------------------------- */

/* The earliest time must not be negative: Perfetto's are unsigned. */
static void set_shift(struct pf *p)
{
	int64_t least = 0;

	for (size_t i = 0; i < trace_reader_block_count(p->reader); i++) {
		const struct trace_block *b = trace_reader_block(p->reader, i);
		int64_t ns = trace_reader_ns(p->reader, b->domain, b->first_time);

		least = ns < least ? ns : least;
	}
	p->shift = least < 0 && least > INT64_MIN ? -least : 0;
	p->start_ns = trace_reader_ns(p->reader, 0, trace_reader_ticks_from_start_ns(p->reader, 0, 0));
}

static int64_t bound(const struct pf *p, int64_t since_start)
{
	int64_t ns;

	if (__builtin_add_overflow(since_start, p->start_ns, &ns) || __builtin_add_overflow(ns, p->shift, &ns))
		return since_start < 0 ? INT64_MIN : PF_TIME_MAX;
	return ns;
}

static int set_filter(struct pf *p)
{
	const struct row_filter *filter = &p->options->filter;

	p->from = filter->windowed ? bound(p, filter->from_ns) : INT64_MIN;
	p->to = filter->windowed ? bound(p, filter->to_ns) : PF_TIME_MAX;
	p->simple =
		!filter->windowed && !filter->types && !filter->name && filter->depth < 0 && filter->shortest_ns <= 0;
	if (!filter->name)
		return 0;
	p->name_wanted = calloc(trace_reader_string_count(p->reader) + 1, 1);
	return p->name_wanted ? 0 : -ENOMEM;
}

static int begin(struct pf *p)
{
	int rc = pf_pack_init(p);

	if (rc == 0)
		rc = pf_places_init(p);
	set_shift(p);
	return rc ? rc : set_filter(p);
}

static void release(struct pf *p)
{
	for (size_t i = 0; p->tracks && i < p->track_count; i++)
		pf_track_release(&p->tracks[i]);
	free(p->tracks);
	free(p->process_described);
	free(p->device_used);
	free(p->process_pid);
	free(p->process_track);
	pf_launches_release(&p->launches);
	pf_sequence_free(p->shared);
	free(p->counters.keys);
	free(p->args.keys);
	free(p->flow_names.keys);
	free(p->name_wanted);
	pf_pack_release(p);
}

EXPORT_WRITER(export_perfetto)
{
	struct pf p = { .reader = reader, .options = options, .out = out };
	int rc = begin(&p);

	if (rc == 0) {
		pf_head(&p);
		walk(&p);
		rc = p.failure;
	}
	release(&p);
	return rc < 0 && rc != out->error ? error_errno(err, rc, "cannot write the trace for Perfetto") : rc;
}
