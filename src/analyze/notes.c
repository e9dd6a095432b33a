/*
 * notes.c - what is worth knowing and no finding: other people's load, what cannot be judged, what happens once.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/findings_parts.h"
#include "analyze/host_parts.h"

#define OUTSIDE_LEAST 0.25  /* cores */
#define QUEUE_LEAST 0.10    /* of the spine's time */
#define SHARE_LEAST 0.05
#define BEFORE_LEAST 0.20   /* of the run, before the loop */

static void note_load(struct parts *p, const struct analysis_host *h)
{
	const struct host_load *l = &h->load;

	if (!isnan(l->outside) && l->outside >= OUTSIDE_LEAST && h->window.queue >= QUEUE_LEAST)
		texts_add(&p->a->notes,
			  "other programs used %.1f of %.0f cores; this one waited %.0f %% of its time for a processor: run it again on a quiet machine "
			  "before you trust gains that need a free core",
			  l->outside, l->cpus, 100 * h->window.queue);
	if (l->throttled >= 0.01)
		texts_add(&p->a->notes, "the control group was out of its quota of processor time for %.0f %% of the time", 100 * l->throttled);
}

static void note_start(struct parts *p, const struct analysis_host *h)
{
	int64_t run = h->run.to - h->run.from, before = h->first_step;
	char all[32], imports[32];

	if (h->unit == UNIT_RUN || share(before, run) < BEFORE_LEAST)
		return;
	texts_add(&p->a->notes, "%s pass before the %s, %.0f %% of the run; imports take %s of all: shares and gains are of the %s alone",
		  format_time(all, before), h->unit == UNIT_STEPS ? "steps" : "loop", 100 * share(before, run),
		  format_time(imports, h->run.time[OWNER_IMPORT]), h->unit == UNIT_STEPS ? "steps" : "loop");
}

static void note_sleep(struct parts *p, const struct analysis_host *h)
{
	const struct host_window *w = &h->window;
	int64_t span = w->to - w->from, idle = w->time[OWNER_SLEEP] - w->sleep_with_work;

	if (share(w->time[OWNER_SLEEP], span) >= SHARE_LEAST && w->sleep_with_work < w->time[OWNER_SLEEP] / 10)
		texts_add(&p->a->notes, "it sleeps for %.0f %% of the time while none of its threads works: a pace of its own, or a wait for something outside",
			  100 * share(idle, span));
	if (share(w->time[OWNER_CLIENTS], span) >= SHARE_LEAST)
		texts_add(&p->a->notes, "for %.0f %% of the time it waits for its clients to ask for something%s", 100 * share(w->time[OWNER_CLIENTS], span),
			  host_serves(w) ? ": their pace is its pace, and nothing is said to gain" : "");
	if (share(w->time[OWNER_WAIT], span) >= SHARE_LEAST)
		texts_add(&p->a->notes, "for %.0f %% of the time it waits, and it cannot be told for what", 100 * share(w->time[OWNER_WAIT], span));
}

/* Of any thread: the spine may have run too little for a sample. */
static bool has_places(const struct timeline *t)
{
	for (uint32_t i = 0; i < t->look_count; i++)
		if (t->looks[i].kind == LOOK_PLACE)
			return true;
	return false;
}

static bool has_finding(const struct parts *p, const char *front)
{
	for (size_t i = 0; i < p->a->findings.count; i++)
		if (strncmp(p->a->findings.list[i].kind, front, strlen(front)) == 0)
			return true;
	return false;
}

static void note_memory(struct parts *p, const struct analysis_host *h)
{
	int64_t span = h->window.to - h->window.from, time = host_operator_memory(h);

	if (share(time, span) >= 2 * SHARE_LEAST && !has_finding(p, "memory_"))
		texts_add(&p->a->notes,
			  "operators wait %.0f %% of the time for memory that is new: MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ of 1 GB, or "
			  "another allocator, may save some of it",
			  100 * share(time, span));
}

static void note_cold(struct parts *p, const struct analysis_host *h)
{
	char time[32];

	if (host_reads_early(&h->window) && share(h->window.file_waits, h->window.to - h->window.from) >= SHARE_LEAST)
		texts_add(&p->a->notes, "at the beginning it waits %s for disks, for code and data that are not in memory yet: a second run has them",
			  format_time(time, h->window.file_waits));
}

static void note_evidence(struct parts *p, const struct analysis_host *h)
{
	const struct host_window *w = &h->window;
	int64_t span = w->to - w->from;

	if (!w->looked)
		texts_add(&p->a->notes, "%s: what the program waits for cannot be judged", analysis_unseen(p->a, true));
	else if (w->samples == 0 && !(w->run <= SHARE_LEAST) && !has_places(p->t)) /* how much it ran may not be known */
		texts_add(&p->a->notes, "the kernel refused to tell where threads run (perf_event_paranoid), so that Python's part cannot be told from libraries'");
	if (share(w->time[OWNER_PROFILER], span) >= SHARE_LEAST)
		texts_add(&p->a->notes, "recording itself took %.0f %% of the time: leave functions that are called very often out (--exclude)",
			  100 * share(w->time[OWNER_PROFILER], span));
}

int analyze_notes(struct parts *p)
{
	const struct analysis_host *h = &p->a->host;

	if (!h->known || p->a->device_count)
		return 0;
	note_load(p, h);
	note_start(p, h);
	note_sleep(p, h);
	note_cold(p, h);
	note_memory(p, h);
	note_evidence(p, h);
	return 0;
}
