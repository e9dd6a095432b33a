/*
 * host_spine.c - which thread decides how long the program takes, and which part of its time is judged.
 *
 * The spine is the thread whose steps are marked; else the main thread of the
 * process that was started first, of those that run code of the user's.  Where
 * nothing was recorded from inside, it is the main thread of the first process,
 * as far as it was seen from outside.  Judged are its steps, without the first ones
 * while they take half as long again as the later ones; else the loop, which is
 * where the outermost calls repeat; else all of the run.  All of it, too, when
 * the loop is a small part of it, or less than what the program does before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/host_parts.h"
#include "analyze/sweep.h"

#define WARM_UP 1.5
#define REPEATS_LEAST 4u
#define LOOP_LEAST 0.10   /* of the run */
#define SPAN_LEAST 0.30   /* of the call that it is in, for calls to be a loop */
#define DESCEND_LEAST 0.40
#define DEPTH_MOST 64

/* ---- Which thread ------------------------------------------------------------ */

static uint32_t track_of_steps(const struct parts *p)
{
	const struct timeline *t = p->t;
	int64_t *times = calloc((size_t)t->track_count + 1, sizeof *times), most = 0;
	uint32_t best = TIMELINE_NONE, hint = 0;

	for (uint32_t i = 0; times && i < t->step_count && t->step_source != STEPS_REPETITION; i++) {
		const struct timeline_step *step = &t->steps[i];
		uint32_t track = step->slice < t->slice_count ? track_near(t, step->slice, &hint) : TIMELINE_NONE;

		if (track >= t->track_count || t->tracks[track].kind != TRACK_THREAD)
			continue;
		times[track] = time_sum(times[track], step->end - step->begin);
		if (times[track] > most) {
			most = times[track];
			best = track;
		}
	}
	free(times);
	return best;
}

/* The main threads of all processes: by their numbers, else by what they do. */
static uint32_t *find_main_tracks(const struct parts *p)
{
	const struct timeline *t = p->t;
	uint32_t *tracks = main_tracks_of_all(p);

	for (uint32_t i = t->track_count; tracks && i-- > 0;) { /* of several the first */
		const struct timeline_track *track = &t->tracks[i];

		if (track->kind == TRACK_THREAD && track->count && track->process < t->process_count &&
		    track->os_id == t->processes[track->process].pid)
			tracks[track->process] = i;
	}
	return tracks;
}

/* Whether a good part of it is in functions of the user's: what starts the program for others (torchrun) has none. */
static bool runs_own_code(const struct parts *p, uint32_t track, struct host_names *names)
{
	const struct timeline *t = p->t;
	int64_t covered = 0, own = 0;

	for (uint32_t i = t->tracks[track].first; i < t->tracks[track].first + t->tracks[track].count; i++)
		if (t->begin[i] >= covered && host_name_flags(names, t->kind[i], t->name[i]) & NODE_OWN) {
			own = time_sum(own, slice_duration(t, i));
			covered = t->end[i];
		}
	return own > t->duration / 10;
}

static int first_main_track(const struct parts *p, struct host_names *names, uint32_t *ret)
{
	uint32_t *tracks = find_main_tracks(p), first = TIMELINE_NONE;

	if (!tracks)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->t->process_count; i++) {
		if (tracks[i] != TIMELINE_NONE && runs_own_code(p, tracks[i], names)) {
			first = tracks[i];
			break;
		}
		first = first == TIMELINE_NONE ? tracks[i] : first;
	}
	free(tracks);
	*ret = first;
	return 0;
}

static bool was_looked_at(const struct timeline *t, uint32_t states)
{
	uint32_t count;

	(void)timeline_looks_from(t, states, INT64_MIN, &count);
	return count > 0;
}

/* The states of the main thread of the process that was started first. */
static uint32_t first_main_states(const struct timeline *t)
{
	uint32_t first = TIMELINE_NONE;

	for (uint32_t i = 0; i < t->track_count && t->duration > 0; i++) {
		const struct timeline_track *track = &t->tracks[i];

		if (track->kind == TRACK_STATES && track->process < t->process_count && track->os_id == t->processes[track->process].pid &&
		    (first == TIMELINE_NONE || track->process < t->tracks[first].process) && was_looked_at(t, i))
			first = i;
	}
	return first;
}

/* ---- Steps ------------------------------------------------------------------- */

static int64_t median_from(const struct timeline_step *steps, uint32_t count, int64_t *room)
{
	for (uint32_t i = 0; i < count; i++)
		room[i] = steps[i].end - steps[i].begin;
	return percentile(room, count, 50);
}

static int steps_window(const struct timeline *t, struct analysis_host *h)
{
	uint32_t first = 0, count = 0, skip = 0;
	int64_t *room, median;

	while (first < t->step_count && t->steps[first].process != h->process)
		first++;
	while (first + count < t->step_count && t->steps[first + count].process == h->process)
		count++;
	if (count < REPEATS_LEAST)
		return 0;
	room = malloc(count * sizeof *room);
	if (!room)
		return -ENOMEM;
	median = median_from(&t->steps[first + 1], count - 1, room);
	free(room);
	while (skip < count / 3 && (double)(t->steps[first + skip].end - t->steps[first + skip].begin) > WARM_UP * (double)median)
		skip++;
	h->unit = UNIT_STEPS;
	h->skipped = skip;
	h->steps = count - skip;
	h->first_step = t->steps[first].begin;
	h->loop_from = t->steps[first + skip].begin;
	h->loop_to = t->steps[first + count - 1].end;
	return 0;
}

/* ---- The loop ---------------------------------------------------------------- */

/* Calls of one name inside another call. */
struct repeat {
	uint32_t count, slice;
	int64_t total, first, last;
};

struct level {
	struct repeat *by_name;
	int64_t imports;  /* time of modules being loaded */
	uint32_t longest; /* slice */
};

static void take_call(struct level *level, struct host_names *names, uint32_t slice)
{
	const struct timeline *t = names->t;
	uint32_t flags = host_name_flags(names, t->kind[slice], t->name[slice]);
	struct repeat *r = &level->by_name[slice_name(t, slice)];

	if (flags & (NODE_IMPORT | NODE_GC)) {
		level->imports = time_sum(level->imports, slice_duration(t, slice));
		return;
	}
	if (flags & NODE_BUILDS) /* a model has many layers: that is no loop */
		return;
	if (r->count++ == 0)
		r->first = t->begin[slice];
	r->last = t->end[slice];
	r->slice = slice;
	r->total = time_sum(r->total, slice_duration(t, slice));
	if (level->longest == TIMELINE_NONE || slice_duration(t, slice) > slice_duration(t, level->longest))
		level->longest = slice;
}

/* From the first to the last of the calls that repeat, as far as they span a good part of `time`. */
static bool find_repeats(const struct timeline *t, const struct level *level, int64_t time, struct analysis_host *h)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < t->string_count; i++) {
		const struct repeat *r = &level->by_name[i];

		if (r->count < REPEATS_LEAST || (double)(r->last - r->first) < SPAN_LEAST * (double)time)
			continue;
		if (most == 0 || r->first < h->loop_from)
			h->loop_from = r->first;
		if (most == 0 || r->last > h->loop_to)
			h->loop_to = r->last;
		most = r->count > most ? r->count : most;
	}
	h->steps = most;
	return most > 0;
}

static int loop_window(struct host_names *names, struct analysis_host *h)
{
	const struct timeline *t = names->t;
	const struct timeline_track *track = &t->tracks[h->spine];
	struct level level = { .by_name = malloc(((size_t)t->string_count + 1) * sizeof *level.by_name) };
	uint32_t inside = TIMELINE_NONE, from = track->first, end = track->first + track->count;
	int64_t time = h->run.to - h->run.from;

	if (!level.by_name)
		return -ENOMEM;
	for (unsigned depth = 0; depth < DEPTH_MOST; depth++) {
		memset(level.by_name, 0, ((size_t)t->string_count + 1) * sizeof *level.by_name);
		level.imports = 0;
		level.longest = TIMELINE_NONE;
		for (uint32_t i = from; i < end && (inside == TIMELINE_NONE || t->begin[i] < t->end[inside]); i++)
			if (t->parent[i] == inside)
				take_call(&level, names, i);
		time -= level.imports;
		if (find_repeats(t, &level, time, h)) {
			h->unit = UNIT_LOOP;
			h->first_step = h->loop_from;
			break;
		}
		if (level.longest == TIMELINE_NONE || (double)slice_duration(t, level.longest) < DESCEND_LEAST * (double)time)
			break;
		inside = level.longest;
		from = inside + 1;
		time = slice_duration(t, inside);
	}
	free(level.by_name);
	return 0;
}

/* ---- Both -------------------------------------------------------------------- */

/* What the program itself does until a moment, without imports and compilations, which are no fault of its own. */
struct before {
	const struct host_tree *tree;
	uint32_t first;
	int64_t until, time;
	uint32_t builds; /* NODE_BUILDS: only what builds */
};

static void add_before(void *arg, uint32_t slice, int64_t from, int64_t to)
{
	struct before *before = arg;
	const struct host_node *n = &before->tree->nodes[before->tree->node_of[slice - before->first]];

	to = to > before->until ? before->until : to;
	if (to > from && n->place && !(n->flags & (NODE_IMPORT | NODE_COMPILE)) && (n->flags & before->builds) == before->builds)
		before->time += to - from;
}

/* What it waited for disks meanwhile: a second run has that in memory. */
static int64_t cold_time(const struct analysis_host *h, struct host_names *names, int64_t until)
{
	const struct timeline *t = names->t;
	uint32_t count = 0, first = h->states != TIMELINE_NONE ? timeline_looks_from(t, h->states, INT64_MIN, &count) : 0;
	int64_t time = 0;

	for (uint32_t i = first; i < first + count && t->looks[i].begin < until; i++) {
		enum host_state state = t->looks[i].kind == LOOK_STATE ? host_look_state(names, &t->looks[i]) : STATE_RUNNING;

		if (state == STATE_FILE || state == STATE_PAGE_FAULT_IO)
			time = time_sum(time, (t->looks[i].end < until ? t->looks[i].end : until) - t->looks[i].begin);
	}
	return time;
}

static int find_before(struct host_names *names, struct analysis_host *h)
{
	const struct timeline *t = names->t;
	struct before before = { .tree = &h->tree, .first = t->tracks[h->spine].first, .until = h->first_step };
	int rc;

	if (h->unit == UNIT_RUN) { /* without a loop: what it builds */
		before.until = INT64_MAX;
		before.builds = NODE_BUILDS;
	}
	rc = sweep_track(t, h->spine, add_before, &before);
	h->before = before.time - cold_time(h, names, before.until);
	h->before = h->before < 0 ? 0 : h->before;
	return rc;
}

static bool loop_is_small(const struct analysis_host *h)
{
	int64_t loop = h->loop_to - h->loop_from, run = h->run.to - h->run.from;

	return (double)loop < LOOP_LEAST * (double)run || h->before > loop;
}

int host_choose(struct parts *p, struct analysis_host *h, struct host_names *names)
{
	const struct timeline *t = p->t;
	int rc = 0;

	h->spine = track_of_steps(p);
	if (h->spine == TIMELINE_NONE)
		rc = first_main_track(p, names, &h->spine);
	if (rc)
		return rc;
	h->only_looks = h->spine == TIMELINE_NONE || t->tracks[h->spine].count == 0;
	h->states = h->only_looks ? first_main_states(t) : timeline_states_of(t, h->spine);
	h->spine = h->only_looks ? h->states : h->spine;
	if (h->spine == TIMELINE_NONE)
		return 0;
	h->known = true;
	h->process = t->tracks[h->spine].process;
	h->run.from = 0;
	h->run.to = t->duration;
	rc = host_tree_build(&h->tree, t, h->spine, names);
	if (rc == 0 && t->step_source != STEPS_REPETITION)
		rc = steps_window(t, h);
	if (rc == 0 && h->unit == UNIT_RUN)
		rc = loop_window(names, h);
	rc = rc ? rc : find_before(names, h);
	if (rc == 0 && h->unit != UNIT_RUN && loop_is_small(h))
		h->unit = UNIT_RUN;
	h->window.from = h->unit == UNIT_RUN ? h->run.from : h->loop_from;
	h->window.to = h->unit == UNIT_RUN ? h->run.to : h->loop_to;
	return rc;
}
