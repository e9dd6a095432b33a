/*
 * step_times.c - how long steps took, what the device did in them, and how long they waited for input.
 *
 * Waiting for input is the time that the step's thread spends in slices whose
 * names say so (timeline/gaps_names.c); its thread is that of its mark, or the
 * one that launches most of the process's work.  A trace without steps has the
 * share of its whole span.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/parts.h"
#include "timeline/gaps.h"

static uint32_t main_thread(const struct parts *p, uint32_t process)
{
	const struct analysis_thread *th;

	if (process < p->t->process_count && p->process_thread[process] != TIMELINE_NONE)
		return p->process_thread[process];
	for (size_t d = 0; process == TIMELINE_NONE && d < p->a->device_count; d++)
		if (p->views[d].launcher_count)
			return p->views[d].launchers[0].track;
	th = main_thread_of(p, process);
	return th ? th->track : TIMELINE_NONE;
}

static uint32_t thread_of(const struct parts *p, const struct timeline_step *step, uint32_t *hint)
{
	uint32_t track = TIMELINE_NONE;

	if (step->slice < p->t->slice_count)
		track = track_near(p->t, step->slice, hint);
	if (track < p->t->track_count && p->host[track])
		return track;
	return main_thread(p, step->process);
}

/* The device with the most work. */
static uint32_t busiest(const struct parts *p)
{
	uint32_t best = TIMELINE_NONE;
	int64_t most = -1;

	for (size_t d = 0; d < p->a->device_count; d++) {
		int64_t busy = device_window_busy(p->a->devices[d].window);

		if (busy > most) {
			most = busy;
			best = (uint32_t)d;
		}
	}
	return best;
}

static int device_part(struct parts *p, struct analysis_step *s, const struct timeline_step *step, int64_t duration)
{
	uint32_t d = step->process < p->t->process_count ? p->process_device[step->process] : busiest(p);

	s->device = TIMELINE_NONE;
	if (d >= p->a->device_count)
		return 0;
	s->device = p->a->devices[d].device;
	return device_window_between(p->t, &p->a->states, s->device, step->begin, step->begin + duration,
				     &s->window);
}

struct inputs {
	struct evidence *evidence;
	int64_t time, input, marked;
	bool told; /* there is a slice that waits for input */
};

static int input_part(struct parts *p, struct inputs *in, uint32_t track, int64_t from, int64_t to, int64_t *ret)
{
	int64_t any, marked;
	int rc;

	in->time = time_sum(in->time, to - from);
	*ret = 0;
	if (track >= p->t->track_count)
		return 0;
	rc = evidence_time(in->evidence, track, EVIDENCE_INPUT, 0, p->t->duration, &any);
	if (rc == 0)
		rc = evidence_time(in->evidence, track, EVIDENCE_INPUT, from, to, ret);
	if (rc == 0)
		rc = evidence_time(in->evidence, track, EVIDENCE_MARKED_INPUT, from, to, &marked);
	if (rc)
		return rc;
	in->told |= any > 0;
	in->input = time_sum(in->input, *ret);
	in->marked = time_sum(in->marked, marked);
	return 0;
}

static int describe(struct parts *p, int64_t *durations, struct inputs *in)
{
	struct analysis_steps *steps = &p->a->steps;
	uint32_t hint = 0;
	int rc = 0;

	for (uint32_t i = 0; i < p->t->step_count && rc == 0; i++) {
		const struct timeline_step *step = &p->t->steps[i];
		struct analysis_step *s = &steps->steps[i];

		s->step = i;
		durations[i] = step->end > step->begin ? step->end - step->begin : 0;
		rc = device_part(p, s, step, durations[i]);
		if (rc == 0)
			rc = input_part(p, in, thread_of(p, step, &hint), step->begin, step->begin + durations[i], &s->input);
		steps->count++;
	}
	return rc;
}

static void summarize(struct analysis_steps *steps, int64_t *durations)
{
	double sum = 0;

	steps->min = INT64_MAX;
	for (size_t i = 0; i < steps->count; i++) {
		sum += (double)durations[i];
		if (durations[i] < steps->min)
			steps->min = durations[i];
		if (durations[i] > steps->max)
			steps->max = durations[i];
	}
	steps->mean = sum / (double)steps->count;
	percentiles(durations, steps->count, &steps->p50, &steps->p99);
}

int analyze_steps(struct parts *p)
{
	struct analysis_steps *steps = &p->a->steps;
	struct inputs in = { 0 };
	int64_t *durations = malloc((p->t->step_count + 1) * sizeof *durations), whole;
	int rc = evidence_new(&in.evidence, p->t);

	steps->mean = NAN;
	steps->steps = calloc(p->t->step_count + 1, sizeof *steps->steps);
	if (rc == 0 && (!durations || !steps->steps))
		rc = -ENOMEM;
	if (rc == 0)
		rc = describe(p, durations, &in);
	if (rc == 0 && steps->count)
		summarize(steps, durations);
	if (rc == 0 && !steps->count)
		rc = input_part(p, &in, main_thread(p, TIMELINE_NONE), 0, p->t->duration, &whole);
	steps->input_share = in.told ? share(in.input, in.time) : NAN;
	steps->input_share_low = in.told ? share(in.marked, in.time) : NAN;
	free(durations);
	evidence_free(in.evidence);
	return rc;
}
