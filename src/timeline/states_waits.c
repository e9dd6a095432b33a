/*
 * states_waits.c - device work whose stream was told to wait before it.
 *
 * Some traces have a sync on the stream for each cudaStreamWaitEvent; its time
 * is that of the call, and it holds back what was launched to the stream after
 * it.  Others have only the call, which does not say for which stream it is:
 * then it is taken to be for the next work that the thread launches, which is
 * how streams are used.
 */
#include <string.h>

#include "timeline/states_build.h"

static bool is_wait(const struct timeline *t, uint32_t slice)
{
	char folded[PATTERN_TEXT_MAX];
	size_t size;
	const char *name;

	if (t->kind[slice] != EVENT_SYNC)
		return false;
	if (t->link[slice] < t->slice_count && call_class_of(t, t->link[slice]) == CALL_STREAM_WAIT)
		return true;
	name = timeline_string(t, t->name[slice], &size);
	return pattern_matches("*stream*wait*", strlen("*stream*wait*"), folded, pattern_fold(folded, name, size));
}

/* Waits and launches of a stream both come in the order of the host, so the work that a wait holds back is found by
 * going on from the one of the wait before. */
static bool mark_stream(struct states_builder *b, const struct timeline_track *track)
{
	const struct timeline *t = b->t;
	uint32_t end = track->first + track->count, work = track->first;
	bool any = false;

	for (uint32_t i = track->first; i < end; i++) {
		if (!is_wait(t, i))
			continue;
		any = true;
		while (work < end && (b->s->class_of[work] == WORK_NONE || launch_of(t, work) == TIMELINE_NONE ||
				      t->begin[launch_of(t, work)] < t->begin[i]))
			work++;
		if (work == end)
			break;
		b->waits[work] = 1;
	}
	return any;
}

/* Marks the first work of a call. */
static void mark_launched(struct states_builder *b, uint32_t call)
{
	uint32_t at = b->t->link[call];

	if (at < b->t->work_count && b->t->link[b->t->work[at]] == call)
		b->waits[b->t->work[at]] = 1;
}

static void mark_thread(struct states_builder *b, const struct timeline_track *track)
{
	bool pending = false;

	for (uint32_t i = track->first; i < track->first + track->count; i++) {
		enum call_class class = call_class_of(b->t, i);

		if (class == CALL_STREAM_WAIT) {
			pending = true;
		} else if (pending && call_launches(class)) {
			mark_launched(b, i);
			pending = false;
		}
	}
}

void waits_find(struct states_builder *b)
{
	bool any = false;

	for (uint32_t i = 0; i < b->t->stream_count; i++)
		any |= mark_stream(b, &b->t->tracks[b->t->streams[i]]);
	for (uint32_t i = 0; !any && i < b->t->track_count; i++)
		if (b->t->tracks[i].device == TIMELINE_NONE)
			mark_thread(b, &b->t->tracks[i]);
}
