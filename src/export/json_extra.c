/* json_extra.c - findings, steps, and numbers of calls; see json_export.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/json_export.h"
#include "export/marks.h"

#define ROOM_MAX ((size_t)4 << 20) /* numbers that are kept for calls that are open, in all */

/* ---- Findings: each has a thread of a process of its own, for the places where it can be seen -------- */

static void put_texts(struct json_export *x, const char *key, const struct finding_texts *texts)
{
	if (texts->count == 0)
		return;
	JSON(x->out, ",");
	json_text_to(x->out, key);
	JSON(x->out, ":[");
	for (unsigned i = 0; i < texts->count; i++) {
		if (i)
			JSON(x->out, ",");
		json_text_to(x->out, texts->text[i]);
	}
	JSON(x->out, "]");
}

static void put_number(struct json_export *x, const char *key, double value)
{
	JSON(x->out, ",");
	json_text_to(x->out, key);
	JSON(x->out, ":");
	json_double_to(x->out, value);
}

static void put_finding_args(struct json_export *x, const struct analysis_finding *f)
{
	JSON(x->out, ",\"args\":{\"id\":");
	json_text_to(x->out, f->id);
	put_number(x, "share", f->share);
	put_number(x, "gain", f->gain);
	put_number(x, "gain_low", f->gain_low);
	put_number(x, "gain_high", f->gain_high);
	put_number(x, "severity", f->severity);
	put_number(x, "confidence", f->confidence);
	put_texts(x, "evidence", &f->evidence);
	put_texts(x, "where", &f->where);
	JSON(x->out, ",\"action\":");
	json_text_to(x->out, f->action);
	JSON(x->out, ",\"rationale\":");
	json_text_to(x->out, f->rationale);
	JSON(x->out, "}}");
}

static void open_finding(struct json_export *x, const struct analysis_finding *f, const char *phase, uint64_t tid, int64_t begin)
{
	json_begin_event(x);
	json_bytes(x->out, phase, strlen(phase));
	JSON(x->out, ",\"cat\":\"finding\",\"name\":");
	json_text_to(x->out, f->kind);
	JSON(x->out, ",\"pid\":");
	json_unsigned_to(x->out, x->places.own_pid);
	JSON(x->out, ",\"tid\":");
	json_unsigned_to(x->out, tid);
	JSON(x->out, ",\"ts\":");
	json_us_to(x->out, begin + x->shift);
}

/* One place of it; without one it is of the run as a whole. */
static void put_finding(struct json_export *x, const struct analysis_finding *f, const struct export_mark *mark, uint64_t tid)
{
	if (f->example_count == 0) {
		open_finding(x, f, "\"ph\":\"i\",\"s\":\"p\"", tid, mark->begin);
	} else {
		open_finding(x, f, "\"ph\":\"X\"", tid, mark->begin);
		JSON(x->out, ",\"dur\":");
		json_us_to(x->out, mark->end - mark->begin);
	}
	put_finding_args(x, f);
}

static void name_own(struct json_export *x, const char *what, uint64_t tid, const char *name)
{
	json_begin_event(x);
	JSON(x->out, "\"ph\":\"M\",\"ts\":0,\"name\":");
	json_text_to(x->out, what);
	JSON(x->out, ",\"pid\":");
	json_unsigned_to(x->out, x->places.own_pid);
	JSON(x->out, ",\"tid\":");
	json_unsigned_to(x->out, tid);
	JSON(x->out, ",\"args\":{\"name\":");
	json_text_to(x->out, name);
	JSON(x->out, "}}");
}

/* Places may overlap, so each has a thread. */
static unsigned put_places(struct json_export *x, const struct analysis_finding *f, uint64_t first_tid)
{
	struct export_mark marks[FINDING_EXAMPLES];
	unsigned count = export_marks(x->reader, x->options, f, marks);
	char name[160];

	for (unsigned i = 0; i < count; i++) {
		unsigned number = marks[i].number;

		put_finding(x, f, &marks[i], first_tid + number);
		snprintf(name, sizeof name, number ? "%s (%u)" : "%s", f->id, number + 1);
		name_own(x, "thread_name", first_tid + number, name);
	}
	return count;
}

void json_findings_to(struct json_export *x)
{
	const struct analysis *a = x->options->analysis;
	size_t written = 0;

	for (size_t i = 0; a && i < a->findings.count && export_out_ready(x->out); i++)
		written += put_places(x, &a->findings.list[i], 1 + i * FINDING_EXAMPLES);
	if (written)
		name_own(x, "process_name", 0, "findings");
}

/* ---- Steps: torch's tools know them by their name -------------------------------------------------- */

static bool is_wanted_step(const struct json_export *x, const struct timeline *t, const struct timeline_step *step)
{
	const struct row_filter *filter = &x->options->filter;

	if (step->slice == TIMELINE_NONE || !row_filter_match_track(filter, timeline_track_of(t, step->slice), x->reader))
		return false;
	return !filter->windowed || (step->begin + t->origin_ns < filter->to_ns && step->end + t->origin_ns >= filter->from_ns);
}

void json_steps_to(struct json_export *x)
{
	const struct timeline *t = x->options->analysis ? x->options->analysis->timeline : NULL;

	if (!t || x->imported || t->step_source == STEPS_PROFILER)
		return;
	for (uint32_t i = 0; i < t->step_count && export_out_ready(x->out); i++) {
		const struct timeline_step *step = &t->steps[i];
		int64_t begin = step->begin + t->origin_ns;

		if (!is_wanted_step(x, t, step))
			continue;
		json_begin_event(x);
		JSON(x->out, "\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#");
		json_signed_to(x->out, step->number);
		JSON(x->out, "\",");
		json_place_to(x->out, &x->places, json_place_of(&x->places, timeline_track_of(t, step->slice)), JSON_MAIN, 0);
		JSON(x->out, ",\"ts\":");
		json_us_to(x->out, begin + x->shift);
		JSON(x->out, ",\"dur\":");
		json_us_to(x->out, step->end - step->begin);
		JSON(x->out, "}");
	}
}

/* ---- Numbers of calls ------------------------------------------------------------------------------- */

static int grow_tracks(struct json_calls *calls, uint32_t track)
{
	size_t count = calls->track_count ? calls->track_count : 64;
	struct call_stack *tracks;

	while (count <= track)
		count *= 2;
	tracks = reallocarray(calls->tracks, count, sizeof *tracks);
	if (!tracks)
		return -ENOMEM;
	memset(tracks + calls->track_count, 0, (count - calls->track_count) * sizeof *tracks);
	calls->tracks = tracks;
	calls->track_count = count;
	return 0;
}

static int grow_stack(struct json_calls *calls, struct call_stack *stack, size_t depth)
{
	size_t count = stack->count ? stack->count : 32;
	uint64_t *ids;

	while (count <= depth)
		count *= 2;
	if (calls->room + count > ROOM_MAX)
		return 0;
	ids = reallocarray(stack->ids, count, sizeof *ids);
	if (!ids)
		return -ENOMEM;
	memset(ids + stack->count, 0, (count - stack->count) * sizeof *ids);
	calls->room += count - stack->count;
	stack->ids = ids;
	stack->count = count;
	return 0;
}

int json_call_ids(struct json_calls *calls, const struct row *row, uint64_t *ret_id, uint64_t *ret_parent)
{
	struct call_stack *stack;
	uint64_t *ids;

	if (row->track >= calls->track_count && grow_tracks(calls, row->track) < 0)
		return -ENOMEM;
	stack = &calls->tracks[row->track];
	if (row->depth >= stack->count && grow_stack(calls, stack, row->depth) < 0)
		return -ENOMEM;
	*ret_parent = 0;
	if (row->depth >= stack->count) { /* too deep to be true: a number, and no more */
		*ret_id = ++calls->last;
		return 0;
	}
	ids = stack->ids;
	*ret_id = ids[row->depth] ? ids[row->depth] : ++calls->last;
	ids[row->depth] = 0;
	if (row->depth > 0 && row->parent_kind == EVENT_CPU_CALL) {
		if (ids[row->depth - 1] == 0)
			ids[row->depth - 1] = ++calls->last;
		*ret_parent = ids[row->depth - 1];
	}
	return 0;
}

void json_calls_release(struct json_calls *calls)
{
	for (size_t i = 0; i < calls->track_count; i++)
		free(calls->tracks[i].ids);
	free(calls->tracks);
	*calls = (struct json_calls){ 0 };
}
