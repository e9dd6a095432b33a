/* host_others.c - see host_parts.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/findings_parts.h"
#include "analyze/host_parts.h"

#define FRAMES_MOST 64 /* around a slice that are looked at */

static int copy_states(struct other_thread *other, struct host_names *names, uint32_t first, uint32_t count)
{
	other->states = malloc(((size_t)count + 1) * sizeof *other->states);
	if (!other->states)
		return -ENOMEM;
	for (uint32_t i = first; i < first + count; i++) {
		const struct timeline_look *look = &names->t->looks[i];

		if (look->kind == LOOK_STATE)
			other->states[other->count++] = (struct other_state){ look->begin, look->end, look->what,
									      (uint8_t)host_look_state(names, look) };
	}
	return 0;
}

/* Where it is in its own calls. */
static void find_leaf(struct host_others *others, struct other_thread *other, int64_t time)
{
	const struct timeline *t = others->t;
	unsigned frames = 0;

	other->leaf = other->own != TIMELINE_NONE ? timeline_at(t, other->own, time) : TIMELINE_NONE;
	other->place = TIMELINE_NONE;
	other->flags = 0;
	for (uint32_t at = other->leaf; at != TIMELINE_NONE && frames < FRAMES_MOST; at = t->parent[at], frames++) {
		uint32_t flags = host_name_flags(others->names, t->kind[at], t->name[at]);

		if (flags & NODE_OWN && other->place == TIMELINE_NONE)
			other->place = at;
		other->flags |= at == other->leaf ? flags : flags & (NODE_HANDED_DOWN);
	}
}

/* How long a thread waits for locks in the user's own code. */
static int64_t lock_waits(struct host_others *others, struct other_thread *other)
{
	int64_t time = 0;

	for (uint32_t i = 0; i < other->count; i++) {
		const struct other_state *state = &other->states[i];

		if (state->state != STATE_LOCK)
			continue;
		find_leaf(others, other, state->begin);
		if (other->place != TIMELINE_NONE && other->place == other->leaf)
			time = time_sum(time, state->end - state->begin);
	}
	return time;
}

static bool *traced_processes(const struct timeline *t)
{
	bool *traced = calloc((size_t)t->process_count + 1, sizeof *traced);

	for (uint32_t i = 0; traced && i < t->track_count; i++)
		if (t->tracks[i].kind == TRACK_THREAD && t->tracks[i].count && t->tracks[i].process < t->process_count)
			traced[t->tracks[i].process] = true;
	return traced;
}

int host_others_init(struct host_others *others, const struct analysis_host *h, struct host_names *names)
{
	const struct timeline *t = names->t;
	bool *traced = traced_processes(t);
	int rc = traced ? 0 : -ENOMEM;

	*others = (struct host_others){ .t = t, .names = names };
	others->threads = calloc((size_t)t->track_count + 1, sizeof *others->threads);
	rc = others->threads ? rc : -ENOMEM;
	for (uint32_t i = 0; i < t->track_count && rc == 0; i++) {
		const struct timeline_track *track = &t->tracks[i];
		struct other_thread *other;
		uint32_t count, first;

		if (track->kind != TRACK_STATES || i == h->states)
			continue;
		first = timeline_looks_from(t, i, INT64_MIN, &count);
		other = &others->threads[others->count++];
		*other = (struct other_thread){ .track = i, .process = track->process, .same = track->process == h->process };
		other->own = track->parent < t->track_count && t->tracks[track->parent].count ? track->parent : TIMELINE_NONE;
		other->traced = track->process < t->process_count && traced[track->process];
		rc = copy_states(other, names, first, count);
		if (rc == 0 && other->same && other->own != TIMELINE_NONE)
			others->contended = time_sum(others->contended, lock_waits(others, other));
	}
	free(traced);
	if (rc)
		host_others_release(others);
	return rc;
}

void host_others_release(struct host_others *others)
{
	for (size_t i = 0; i < others->count; i++)
		free(others->threads[i].states);
	free(others->threads);
	*others = (struct host_others){ 0 };
}

void host_others_rewind(struct host_others *others)
{
	for (size_t i = 0; i < others->count; i++) {
		others->threads[i].at = 0;
		others->threads[i].active_waiting = others->threads[i].active_running = 0;
	}
	others->ran = 0;
	others->holders.count = others->waiters.count = 0;
}

/* A wait for others is no work; to sleep is, if it is the user's own doing, since whoever waits for it waits for that. */
static bool is_active(const struct other_thread *other)
{
	switch (other->state) {
	case STATE_RUNNING:
	case STATE_GIL:
	case STATE_FILE:
	case STATE_FSYNC:
	case STATE_SOCKET_NETWORK:
	case STATE_PAGE_FAULT_IO:
	case STATE_DEVICE:
		return other->own != TIMELINE_NONE || !other->traced;
	case STATE_SLEEP:
		return other->place != TIMELINE_NONE && other->place == other->leaf;
	default:
		return false;
	}
}

void host_others_at(struct host_others *others, int64_t time)
{
	for (size_t i = 0; i < others->count; i++) {
		struct other_thread *other = &others->threads[i];
		const struct other_state *state;

		while (other->at < other->count && other->states[other->at].end <= time)
			other->at++;
		state = other->at < other->count && other->states[other->at].begin <= time ? &other->states[other->at] : NULL;
		other->state = state ? state->state : STATE_UNKNOWN;
		other->what = state ? state->what : NULL;
		other->leaf = other->place = TIMELINE_NONE;
		other->flags = 0;
		if (state)
			find_leaf(others, other, time);
		other->active = state && is_active(other);
	}
}
