/* threads.c - what each thread did, and the time of each slice without what was inside it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/parts.h"
#include "analyze/sweep.h"

static void add_self(void *arg, uint32_t slice, int64_t from, int64_t to)
{
	((int64_t *)arg)[slice] += to - from;
}

static int64_t *share_of(struct analysis_thread *th, const struct timeline *t, uint32_t slice)
{
	switch (t->kind[slice]) {
	case EVENT_CPU_CALL:
		return &th->in_calls;
	case EVENT_OP:
		return &th->in_ops;
	case EVENT_SCOPE:
		return &th->in_scopes;
	case EVENT_SYNC:
		return &th->in_sync;
	case EVENT_RUNTIME_CALL:
		return call_blocks(slice_call(t, slice)) ? &th->in_sync : &th->in_runtime;
	default:
		return &th->in_other;
	}
}

static void describe(struct parts *p, struct analysis_thread *th)
{
	const struct timeline *t = p->t;
	const struct timeline_track *track = &t->tracks[th->track];

	for (uint32_t i = track->first; i < track->first + track->count; i++) {
		*share_of(th, t, i) += p->self[i];
		th->busy += p->self[i];
		th->launches += t->kind[i] == EVENT_RUNTIME_CALL && call_launches(slice_call(t, i));
	}
	th->slices = track->count;
}

static int compare_threads(const void *a, const void *b)
{
	const struct analysis_thread *x = a, *y = b;

	if (x->busy != y->busy)
		return x->busy > y->busy ? -1 : 1;
	return x->track < y->track ? -1 : x->track > y->track;
}

/* A thread that waits in one call all the time is busy, too, and is not the main one: of those that are half as busy as the
 * busiest, it is the one with the most slices. */
static bool is_rather(const struct analysis_thread *th, const struct analysis_thread *than,
		      const struct analysis_thread *busiest)
{
	return th->busy >= busiest->busy / 2 && th->slices > than->slices;
}

const struct analysis_thread *main_thread_of(const struct parts *p, uint32_t process)
{
	const struct analysis_thread *busiest = NULL, *main = NULL;

	for (size_t i = 0; i < p->a->thread_count; i++) {
		const struct analysis_thread *th = &p->a->threads[i];
		const struct timeline_track *track = &p->t->tracks[th->track];

		if (track->kind != TRACK_THREAD || (process != TIMELINE_NONE && track->process != process))
			continue;
		if (!busiest)
			busiest = main = th;
		else if (is_rather(th, main, busiest))
			main = th;
	}
	return main;
}

uint32_t *main_tracks_of_all(const struct parts *p)
{
	const struct timeline *t = p->t;
	uint32_t *main = numbers_none(t->process_count), *busiest = numbers_none(t->process_count);

	for (uint32_t i = 0; main && busiest && i < p->a->thread_count; i++) {
		const struct analysis_thread *all = p->a->threads;
		const struct timeline_track *track = &t->tracks[all[i].track];

		if (track->kind != TRACK_THREAD || track->process >= t->process_count)
			continue;
		if (busiest[track->process] == TIMELINE_NONE)
			busiest[track->process] = main[track->process] = i;
		else if (is_rather(&all[i], &all[main[track->process]], &all[busiest[track->process]]))
			main[track->process] = i;
	}
	for (uint32_t i = 0; main && busiest && i < t->process_count; i++)
		main[i] = main[i] == TIMELINE_NONE ? TIMELINE_NONE : p->a->threads[main[i]].track;
	if (!busiest) {
		free(main);
		main = NULL;
	}
	free(busiest);
	return main;
}

/* Kineto shows spans of its own as if a thread did them: "PyTorch Profiler (0)" of a thread "PyTorch Profiler", which has
 * no number. */
static bool is_profiler_row(const struct timeline *t, const struct timeline_track *track)
{
	size_t size, length;
	const char *text = timeline_string(t, track->name, &size), *name;

	if (track->os_id <= UINT32_MAX || track->count == 0 || size == 0)
		return false;
	name = timeline_string(t, slice_name(t, track->first), &length);
	return t->kind[track->first] == EVENT_SCOPE && length > size + 2 && memcmp(name, text, size) == 0 && name[size] == ' ' &&
	       name[size + 1] == '(';
}

/* What is on streams and devices beside work are scopes of device time. */
static void find_host_tracks(struct parts *p)
{
	for (uint32_t i = 0; i < p->t->track_count; i++) {
		const struct timeline_track *track = &p->t->tracks[i];

		p->host[i] = track->kind != TRACK_STREAM && track->kind != TRACK_DEVICE && !is_profiler_row(p->t, track);
	}
}

static bool is_thread(const struct timeline_track *track)
{
	return track->count && (track->kind == TRACK_THREAD || track->kind == TRACK_TASK);
}

int analyze_threads(struct parts *p)
{
	const struct timeline *t = p->t;
	struct analysis *a = p->a;
	int rc = 0;

	a->threads = calloc(t->track_count + 1, sizeof *a->threads);
	if (!a->threads)
		return -ENOMEM;
	find_host_tracks(p);
	for (uint32_t i = 0; i < t->track_count && rc == 0; i++) {
		if (!p->host[i])
			continue;
		rc = sweep_track(t, i, add_self, p->self);
		if (rc || !is_thread(&t->tracks[i]))
			continue;
		a->threads[a->thread_count] = (struct analysis_thread){ .track = i };
		describe(p, &a->threads[a->thread_count++]);
	}
	qsort(a->threads, a->thread_count, sizeof *a->threads, compare_threads);
	return rc;
}
