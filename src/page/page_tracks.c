/* page_tracks.c - which tracks are in the page, in which order, and what they are called. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page/page_parts.h"

#define NAME_MOST 200u /* bytes of a name that the trace has */

const char *page_track_kind_name(uint8_t kind)
{
	static const char *const names[PAGE_TRACK_KINDS] = { "thread", "task", "other", "stream", "other" };

	return names[kind];
}

static uint8_t kind_of(const struct timeline_track *track)
{
	switch (track->kind) {
	case TRACK_THREAD:
	case TRACK_STATES:
		return PAGE_THREAD;
	case TRACK_TASK:
		return PAGE_TASK;
	case TRACK_STREAM:
		return PAGE_STREAM;
	case TRACK_DEVICE:
		return PAGE_DEVICE;
	default:
		return PAGE_OTHER;
	}
}

/* ---- Processes --------------------------------------------------------------- */

static int compare_processes(const void *a, const void *b, void *arg)
{
	const struct timeline *t = arg;
	const struct timeline_process *x = &t->processes[*(const uint32_t *)a], *y = &t->processes[*(const uint32_t *)b];
	uint64_t rank_x = (uint64_t)x->rank, rank_y = (uint64_t)y->rank; /* none is the last */

	if (rank_x != rank_y)
		return rank_x < rank_y ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int order_processes(struct page_world *w)
{
	const struct timeline *t = w->t;

	w->process_order = calloc((size_t)t->process_count + 1, sizeof *w->process_order);
	w->process_place = calloc((size_t)t->process_count + 1, sizeof *w->process_place);
	if (!w->process_order || !w->process_place)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->process_count; i++)
		w->process_order[i] = i;
	if (t->process_count)
		qsort_r(w->process_order, t->process_count, sizeof *w->process_order, compare_processes, (void *)t);
	for (uint32_t i = 0; i < t->process_count; i++)
		w->process_place[w->process_order[i]] = i;
	return 0;
}

/* The process that asked for the first work of a stream whose launch is known. */
static uint32_t launching_process(const struct timeline *t, const struct timeline_track *track)
{
	for (uint32_t i = track->first; i < track->first + track->count; i++)
		if (page_is_launched(t, i, true) && t->link[i] < t->slice_count)
			return t->tracks[timeline_track_of(t, t->link[i])].process;
	return TIMELINE_NONE;
}

static uint32_t process_of_rank(const struct timeline *t, int64_t rank)
{
	for (uint32_t i = 0; i < t->process_count && rank >= 0; i++)
		if (t->processes[i].rank == rank)
			return i;
	return TIMELINE_NONE;
}

/* Whose device it is, when all that is known of the stream is its device. */
static uint32_t process_of(const struct timeline *t, const struct timeline_track *track)
{
	uint32_t process = track->process;

	if (process >= t->process_count && page_is_stream(track))
		process = launching_process(t, track);
	if (process >= t->process_count && track->device < t->device_count)
		process = process_of_rank(t, t->devices[track->device].rank);
	return process < t->process_count ? process : TIMELINE_NONE;
}

/* ---- Tracks ------------------------------------------------------------------ */

static bool has_states(const struct timeline *t, uint32_t track)
{
	uint32_t count, first = timeline_looks_from(t, track, INT64_MIN, &count);

	for (uint32_t i = first; i < first + count; i++)
		if (t->looks[i].kind == LOOK_STATE)
			return true;
	return false;
}

/* The track that states are shown with: that of the thread's own events; the states' own where there is none, or another
 * has it already. */
static uint32_t shown_with(const struct timeline *t, const uint32_t *states_of, uint32_t track)
{
	uint32_t parent = t->tracks[track].parent;

	if (parent >= t->track_count || t->tracks[parent].kind == TRACK_STATES || states_of[parent] != TIMELINE_NONE)
		return track;
	return parent;
}

static int find_states(const struct timeline *t, uint32_t **ret)
{
	uint32_t *states_of = malloc(((size_t)t->track_count + 1) * sizeof *states_of);

	if (!states_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->track_count; i++)
		states_of[i] = TIMELINE_NONE;
	for (uint32_t i = 0; i < t->track_count; i++)
		if (t->tracks[i].kind == TRACK_STATES && has_states(t, i))
			states_of[shown_with(t, states_of, i)] = i;
	*ret = states_of;
	return 0;
}

static uint32_t count_rows(const struct timeline *t, const struct timeline_track *track)
{
	struct page_walk walk;
	struct page_slice s;
	uint32_t rows = 0;

	page_walk_start(&walk, t, track);
	while (page_walk_next(&walk, &s))
		rows = s.row >= rows ? s.row + 1 : rows;
	return rows;
}

static bool is_main(const struct timeline *t, const struct page_track *track)
{
	uint32_t process = t->tracks[track->track].process;

	return track->kind == PAGE_THREAD && process < t->process_count && t->processes[process].pid == t->tracks[track->track].os_id;
}

static int compare_tracks(const void *a, const void *b, void *arg)
{
	const struct timeline *t = arg;
	const struct page_track *x = a, *y = b;
	bool main_x = is_main(t, x), main_y = is_main(t, y);

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (main_x != main_y)
		return main_x ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->track < y->track ? -1 : x->track > y->track;
}

static void add_track(struct page_world *w, uint32_t number, uint32_t states)
{
	const struct timeline *t = w->t;
	const struct timeline_track *track = &t->tracks[number];
	uint32_t process = process_of(t, track);

	w->tracks[w->track_count++] = (struct page_track){
		.track = number,
		.states = states,
		.process = process == TIMELINE_NONE ? process : w->process_place[process],
		.device = track->device < t->device_count ? track->device : TIMELINE_NONE,
		.rows = count_rows(t, track),
		.kind = kind_of(track),
	};
}

static int list_tracks(struct page_world *w)
{
	const struct timeline *t = w->t;
	uint32_t *states_of;

	if (find_states(t, &states_of) < 0)
		return -ENOMEM;
	w->tracks = calloc((size_t)t->track_count + 1, sizeof *w->tracks);
	w->track_place = malloc(((size_t)t->track_count + 1) * sizeof *w->track_place);
	if (!w->tracks || !w->track_place) {
		free(states_of);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < t->track_count; i++) {
		w->track_place[i] = TIMELINE_NONE;
		if (t->tracks[i].count || states_of[i] != TIMELINE_NONE)
			add_track(w, i, states_of[i]);
	}
	free(states_of);
	return 0;
}

int page_tracks_init(struct page_world *w)
{
	if (order_processes(w) < 0 || list_tracks(w) < 0)
		return -ENOMEM;
	if (w->track_count)
		qsort_r(w->tracks, w->track_count, sizeof *w->tracks, compare_tracks, (void *)w->t);
	for (uint32_t i = 0; i < w->track_count; i++)
		w->track_place[w->tracks[i].track] = i;
	return 0;
}

void page_tracks_release(struct page_world *w)
{
	free(w->tracks);
	free(w->track_place);
	free(w->process_order);
	free(w->process_place);
}

/* ---- Names ------------------------------------------------------------------- */

static const char *word_of(const struct page_track *track, const struct timeline_track *row)
{
	if (row->kind == TRACK_PROCESS)
		return "process";
	if (row->kind == TRACK_DEVICE)
		return "device";
	return track->kind == PAGE_OTHER ? "track" : page_track_kind_name(track->kind);
}

/* Most tools put the number into the name themselves. */
static bool says_number(const char *name, size_t size, const char *number)
{
	return memmem(name, size, number, strlen(number)) != NULL;
}

int page_track_name(const struct page_world *w, const struct page_track *track, struct buffer *out)
{
	const struct timeline_track *row = &w->t->tracks[track->track];
	char number[24];
	size_t size;
	const char *name = timeline_string(w->t, row->name, &size);
	int rc = 0;

	snprintf(number, sizeof number, "%" PRIu64, row->os_id);
	while (size > 0 && name[size - 1] == ' ')
		size--;
	if (size > NAME_MOST)
		size = NAME_MOST;
	if (size && says_number(name, size, number))
		return buffer_append(out, name, size);
	rc = buffer_printf(out, "%s %s", word_of(track, row), number);
	if (rc || !size)
		return rc;
	rc = buffer_append(out, " (", 2);
	if (rc == 0)
		rc = buffer_append(out, name, size);
	return rc ? rc : buffer_append(out, ")", 1);
}
