/*
 * breakdown.c - the summary, and where all of the time went: categories that sum to the span of the trace.
 *
 * With devices: what a device did, over the whole span; of several devices the
 * mean, rounded so that the sum is exact.  "no_gpu_work" is the time before a
 * device's first work and after its last (of the headline window).
 *
 * Without: whose the time of the main thread was (host.h), or, where threads were
 * not looked at from outside, what it did by self times, and "unknown" for the
 * time in which it was in nothing that was recorded.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/parts.h"

enum { GPU_COMPUTE, COMMUNICATION, COPY, FIRST_IDLE, NO_GPU_WORK = FIRST_IDLE + IDLE_CAUSE_COUNT, DEVICE_CATEGORIES };

static const char *const device_categories[DEVICE_CATEGORIES] = {
	[GPU_COMPUTE] = "gpu_compute",
	[COMMUNICATION] = "communication",
	[COPY] = "copy",
	[FIRST_IDLE + IDLE_HOST_LATE] = "idle_host_late",
	[FIRST_IDLE + IDLE_SYNC] = "idle_sync",
	[FIRST_IDLE + IDLE_LAUNCH_LATENCY] = "idle_launch_latency",
	[FIRST_IDLE + IDLE_DEPENDENCY] = "idle_dependency",
	[FIRST_IDLE + IDLE_INPUT] = "idle_input",
	[FIRST_IDLE + IDLE_JIT] = "idle_jit",
	[FIRST_IDLE + IDLE_NO_WORK] = "idle_no_work",
	[FIRST_IDLE + IDLE_UNKNOWN] = "idle_unknown",
	[NO_GPU_WORK] = "no_gpu_work",
};

/* A sum of times in units of which there are `parts` to a nanosecond: no overflow for as many devices. */
struct fraction {
	int64_t whole;
	uint64_t rest; /* below parts */
};

static void fraction_add(struct fraction *f, int64_t time, uint64_t parts)
{
	f->whole += time / (int64_t)parts;
	f->rest += (uint64_t)(time % (int64_t)parts);
	if (f->rest >= parts) {
		f->whole++;
		f->rest -= parts;
	}
}

static void add_device(struct fraction *sums, const struct analysis_device *d, int64_t span, uint64_t parts)
{
	fraction_add(&sums[GPU_COMPUTE], device_window_compute(d->window), parts);
	fraction_add(&sums[COMMUNICATION], device_window_exposed_communication(d->window), parts);
	fraction_add(&sums[COPY], device_window_exposed_copy(d->window), parts);
	for (unsigned i = 0; i < IDLE_CAUSE_COUNT; i++)
		fraction_add(&sums[FIRST_IDLE + i], d->states->idle[i], parts);
	fraction_add(&sums[NO_GPU_WORK], span - (d->window->to - d->window->from), parts);
}

/* The nanoseconds that rounding down took go to where it took most. */
static void round_sums(struct fraction *sums, int64_t span)
{
	int64_t left = span;

	for (unsigned i = 0; i < DEVICE_CATEGORIES; i++)
		left -= sums[i].whole;
	for (unsigned round = 0; round < DEVICE_CATEGORIES && left > 0; round++, left--) {
		struct fraction *most = &sums[0];

		for (unsigned i = 1; i < DEVICE_CATEGORIES; i++)
			if (sums[i].rest > most->rest)
				most = &sums[i];
		most->whole++;
		most->rest = 0;
	}
}

static int break_down_devices(struct parts *p)
{
	struct fraction sums[DEVICE_CATEGORIES] = { { 0 } };
	struct analysis *a = p->a;

	a->breakdown = calloc(DEVICE_CATEGORIES, sizeof *a->breakdown);
	if (!a->breakdown)
		return -ENOMEM;
	for (size_t d = 0; d < a->device_count; d++)
		add_device(sums, &a->devices[d], p->t->duration, a->device_count);
	round_sums(sums, p->t->duration);
	for (unsigned i = 0; i < DEVICE_CATEGORIES; i++)
		a->breakdown[i] = (struct analysis_category){ device_categories[i], sums[i].whole };
	a->category_count = DEVICE_CATEGORIES;
	return 0;
}

/* The owners of the spine's time, the largest first. */
static int break_down_spine(struct parts *p)
{
	const struct host_window *run = &p->a->host.run;
	struct analysis *a = p->a;

	a->breakdown = calloc(OWNER_COUNT, sizeof *a->breakdown);
	if (!a->breakdown)
		return -ENOMEM;
	for (unsigned i = 0; i < OWNER_COUNT; i++) {
		size_t at = a->category_count;

		if (run->time[i] == 0)
			continue;
		for (; at > 0 && a->breakdown[at - 1].duration < run->time[i]; at--)
			a->breakdown[at] = a->breakdown[at - 1];
		a->breakdown[at] = (struct analysis_category){ host_owner_name(i), run->time[i] };
		a->category_count++;
	}
	return 0;
}

static int break_down_thread(struct parts *p)
{
	static const struct analysis_thread nothing;
	const struct analysis_thread *th = main_thread_of(p, TIMELINE_NONE);
	struct analysis *a = p->a;

	if (!th)
		th = &nothing;
	const struct analysis_category categories[] = {
		{ "python", th->in_calls }, { "operators", th->in_ops },   { "scopes", th->in_scopes },
		{ "runtime", th->in_runtime }, { "waiting", th->in_sync }, { "other", th->in_other },
		{ "unknown", p->t->duration - th->busy },
	};

	a->category_count = sizeof categories / sizeof *categories;
	a->breakdown = calloc(a->category_count, sizeof *a->breakdown);
	if (!a->breakdown)
		return -ENOMEM;
	for (size_t i = 0; i < a->category_count; i++)
		a->breakdown[i] = categories[i];
	return 0;
}

static void sum_copies(struct analysis *a, const struct analysis_device *d)
{
	for (size_t i = 0; i < d->copy_count; i++) {
		if (d->copies[i].kind == EVENT_H2D_COPY)
			a->summary.h2d = time_sum(a->summary.h2d, d->copies[i].total);
		else if (d->copies[i].kind == EVENT_D2H_COPY)
			a->summary.d2h = time_sum(a->summary.d2h, d->copies[i].total);
	}
}

int analyze_breakdown(struct parts *p)
{
	struct analysis *a = p->a;

	a->summary.end_to_end = p->t->duration;
	for (size_t i = 0; i < a->thread_count; i++)
		if (p->t->tracks[a->threads[i].track].kind == TRACK_THREAD)
			a->summary.cpu = time_sum(a->summary.cpu, a->threads[i].busy);
	for (size_t d = 0; d < a->device_count; d++) {
		a->summary.gpu = time_sum(a->summary.gpu, device_window_busy(a->devices[d].window));
		a->summary.idle = time_sum(a->summary.idle, device_window_idle(a->devices[d].window));
		sum_copies(a, &a->devices[d]);
	}
	if (a->device_count)
		return break_down_devices(p);
	return a->host.run.looked ? break_down_spine(p) : break_down_thread(p);
}
