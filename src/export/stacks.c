/* stacks.c - see stacks.h. */
#include "export/stacks.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define DEPTH_MAX 4096u /* slices inside each other that are told apart */

/* ---- What is wanted ------------------------------------------------------------------ */

/* A pattern is tried once a name. */
static int match_names(struct stacks *s)
{
	const char *pattern = s->options->filter.name;
	size_t size;

	if (!pattern)
		return 0;
	s->name_wanted = malloc((size_t)s->timeline->string_count + 1);
	if (!s->name_wanted)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->timeline->string_count; i++)
		s->name_wanted[i] = fnmatch(pattern, timeline_string(s->timeline, i, &size), 0) == 0;
	return 0;
}

static bool is_wanted(const struct stacks *s, uint32_t slice)
{
	const struct row_filter *f = &s->options->filter;
	const struct timeline *t = s->timeline;

	return (!f->types || f->types >> t->kind[slice] & 1) && (f->depth < 0 || t->depth[slice] < f->depth) &&
	       t->end[slice] - t->begin[slice] >= f->shortest_ns &&
	       (!s->name_wanted || (t->name[slice] < t->string_count && s->name_wanted[t->name[slice]]));
}

static bool is_wanted_track(const struct stacks *s, uint32_t k)
{
	const struct row_filter *f = &s->options->filter;
	const struct timeline_track *track = &s->timeline->tracks[k];
	bool stream = track->kind == TRACK_STREAM && s->options->weight == EXPORT_GPU;

	if (track->count == 0 || !(track->kind == TRACK_THREAD || track->kind == TRACK_TASK || stream))
		return false;
	if (f->thread >= 0 && (track->kind != TRACK_THREAD || track->os_id != (uint64_t)f->thread))
		return false;
	return f->process < 0 || (track->process != TIMELINE_NONE && s->timeline->processes[track->process].pid == (uint64_t)f->process);
}

static int list_threads(struct stacks *s)
{
	s->threads = calloc((size_t)s->timeline->track_count + 1, sizeof *s->threads);
	if (!s->threads)
		return -ENOMEM;
	for (uint32_t k = 0; k < s->timeline->track_count; k++)
		if (is_wanted_track(s, k))
			s->threads[s->thread_count++] = (struct stack_thread){ .track = k };
	return 0;
}

static int64_t difference(int64_t a, int64_t b)
{
	return stacks_add(a, b == INT64_MIN ? INT64_MAX : -b);
}

int stacks_open(struct stacks *s, struct trace_reader *reader, const struct export_options *options, struct error *err)
{
	const struct row_filter *f = &options->filter;
	const struct timeline_options how = { .progress = options->progress, .progress_arg = options->progress_arg,
					      .windowed = f->windowed, .from_ns = f->from_ns, .to_ns = f->to_ns };
	int rc;

	*s = (struct stacks){ .options = options, .from = 0, .to = INT64_MAX };
	rc = timeline_build(&s->timeline, reader, &how, err);
	if (rc < 0)
		return rc;
	if (f->windowed) {
		s->from = f->from_ns > s->timeline->origin_ns ? difference(f->from_ns, s->timeline->origin_ns) : 0;
		s->to = f->to_ns == INT64_MAX ? INT64_MAX : difference(f->to_ns, s->timeline->origin_ns);
	}
	rc = match_names(s);
	rc = rc ? rc : list_threads(s);
	if (rc < 0) {
		stacks_close(s);
		return error_errno(err, rc, "cannot export");
	}
	return 0;
}

void stacks_close(struct stacks *s)
{
	free(s->name_wanted);
	free(s->threads);
	free(s->nodes);
	free(s->places);
	timeline_free(s->timeline);
	*s = (struct stacks){ 0 };
}

/* ---- The tree -------------------------------------------------------------------------- */

static uint64_t hash_of(uint32_t parent, uint32_t name, uint32_t thread)
{
	uint64_t hash = ((uint64_t)parent << 32 | name) * 0x9e3779b97f4a7c15u;

	return (hash ^ hash >> 29 ^ thread) * 0xbf58476d1ce4e5b9u;
}

static uint32_t *place_of(const struct stacks *s, uint32_t parent, uint32_t name, uint32_t thread)
{
	size_t mask = s->place_capacity - 1, at = (size_t)(hash_of(parent, name, thread) >> 20) & mask;

	for (; s->places[at]; at = (at + 1) & mask) {
		const struct stack_node *n = &s->nodes[s->places[at] - 1];

		if (n->parent == parent && n->name == name && n->thread == thread)
			break;
	}
	return &s->places[at];
}

static int grow_places(struct stacks *s)
{
	size_t capacity = s->place_capacity ? 2 * s->place_capacity : 1024;
	uint32_t *larger = calloc(capacity, sizeof *larger);

	if (!larger)
		return -ENOMEM;
	free(s->places);
	s->places = larger;
	s->place_capacity = capacity;
	for (uint32_t i = 0; i < s->node_count; i++)
		*place_of(s, s->nodes[i].parent, s->nodes[i].name, s->nodes[i].thread) = i + 1;
	return 0;
}

static int node_of(struct stacks *s, uint32_t parent, uint32_t name, uint32_t thread, uint32_t *ret)
{
	size_t capacity = s->node_capacity;
	uint32_t *place;

	if (name >= s->timeline->string_count) /* it was in a part that could not be read */
		name = 0;
	if ((size_t)s->node_count * 2 >= s->place_capacity && grow_places(s) < 0)
		return -ENOMEM;
	place = place_of(s, parent, name, thread);
	if (!*place) {
		if (s->node_count == s->node_capacity && ARRAY_GROW(s->nodes, capacity, 2 * (size_t)s->node_count + 64) != 0)
			return -ENOMEM;
		s->node_capacity = (uint32_t)capacity;
		s->nodes[s->node_count] = (struct stack_node){ .parent = parent, .name = name, .thread = thread };
		*place = ++s->node_count;
	}
	*ret = *place - 1;
	return 0;
}

/* ---- A thread, by the clock or the processor ------------------------------------------------ */

struct walk {
	struct stacks *s;
	uint32_t thread;
	const struct stacks_sink *sink;
	void *arg;
	struct {
		uint32_t node;
		int64_t end;
	} open[DEPTH_MAX];
	uint32_t depth;
	int64_t at;
	uint32_t look, look_end; /* states of the thread, by the processor */
	uint32_t running;        /* the name of the one in which it runs */
};

/* How long of a time the thread was seen to run; asked in the order of time. */
static int64_t running_time(struct walk *w, int64_t begin, int64_t end)
{
	const struct timeline *t = w->s->timeline;
	int64_t sum = 0;

	while (w->look < w->look_end && t->looks[w->look].end <= begin)
		w->look++;
	for (uint32_t i = w->look; i < w->look_end && t->looks[i].begin < end; i++) {
		int64_t from = t->looks[i].begin > begin ? t->looks[i].begin : begin, to = t->looks[i].end < end ? t->looks[i].end : end;

		if (t->looks[i].kind == LOOK_STATE && t->looks[i].name == w->running && to > from)
			sum = stacks_add(sum, to - from);
	}
	return sum;
}

/* The time up to here is the innermost slice's own. */
static int advance(struct walk *w, int64_t time)
{
	struct stacks *s = w->s;
	int64_t begin = w->at > s->from ? w->at : s->from, end = time < s->to ? time : s->to, weight;
	uint32_t node = w->depth ? w->open[w->depth - 1].node : STACKS_NONE;

	w->at = time > w->at ? time : w->at;
	if (begin >= end || node == STACKS_NONE)
		return 0;
	weight = s->options->weight == EXPORT_CPU ? running_time(w, begin, end) : end - begin;
	if (weight == 0)
		return 0;
	s->nodes[node].weight = stacks_add(s->nodes[node].weight, weight);
	return w->sink->sample ? w->sink->sample(w->arg, node, begin, weight) : 0;
}

static int64_t clip(const struct stacks *s, int64_t time)
{
	return time < s->from ? s->from : time > s->to ? s->to : time;
}

static int close_until(struct walk *w, int64_t time)
{
	int rc = 0;

	while (rc == 0 && w->depth && w->open[w->depth - 1].end <= time) {
		int64_t end = w->open[w->depth - 1].end;

		rc = advance(w, end);
		w->depth--;
		if (rc == 0 && w->sink->close)
			rc = w->sink->close(w->arg, w->open[w->depth].node, clip(w->s, end));
	}
	return rc;
}

static int open_slice(struct walk *w, uint32_t slice)
{
	struct stacks *s = w->s;
	const struct timeline *t = s->timeline;
	uint32_t parent = w->depth ? w->open[w->depth - 1].node : STACKS_NONE, node;
	int64_t end = t->end[slice], begin = t->begin[slice];
	int rc = advance(w, begin);

	rc = rc ? rc : node_of(s, parent, t->name[slice], w->thread, &node);
	if (rc < 0 || w->depth == DEPTH_MAX)
		return rc;
	if (w->depth && end > w->open[w->depth - 1].end) /* it crosses the one around it: the part inside counts */
		end = w->open[w->depth - 1].end;
	s->nodes[node].count++;
	w->open[w->depth].node = node;
	w->open[w->depth++].end = end;
	return w->sink->open ? w->sink->open(w->arg, node, clip(s, begin)) : 0;
}

static int walk_host(struct walk *w, const struct timeline_track *track)
{
	struct stacks *s = w->s;
	const struct timeline *t = s->timeline;
	int rc = 0;

	for (uint32_t i = track->first; i < track->first + track->count && rc == 0; i++) {
		if (t->begin[i] >= s->to)
			break;
		if (t->end[i] <= s->from || !is_wanted(s, i))
			continue;
		rc = close_until(w, t->begin[i]);
		rc = rc ? rc : open_slice(w, i);
	}
	return rc ? rc : close_until(w, INT64_MAX);
}

/* The states of a thread are on a track of their own; -1: nobody looked. */
static int64_t states_of(const struct timeline *t, const struct timeline_track *thread)
{
	for (uint32_t k = 0; k < t->track_count; k++)
		if (t->tracks[k].kind == TRACK_STATES && t->tracks[k].process == thread->process && t->tracks[k].os_id == thread->os_id)
			return k;
	return -1;
}

static uint32_t name_of_running(const struct timeline *t)
{
	size_t size;

	for (uint32_t i = 1; i < t->string_count; i++)
		if (strcmp(timeline_string(t, i, &size), "running") == 0)
			return i;
	return 0;
}

static void find_states(struct walk *w, const struct timeline_track *track)
{
	const struct timeline *t = w->s->timeline;
	int64_t states = states_of(t, track);
	uint32_t count = 0;

	w->look = w->look_end = 0;
	if (states < 0)
		return;
	w->look = timeline_looks_from(t, (uint32_t)states, 0, &count);
	w->look_end = w->look + count;
	w->running = name_of_running(t);
}

/* ---- By the device ---------------------------------------------------------------------------- */

/* The stack of a slice of the host, from the outermost on. */
static int node_of_slice(struct stacks *s, uint32_t slice, uint32_t thread, uint32_t *ret)
{
	const struct timeline *t = s->timeline;
	uint32_t path[DEPTH_MAX], depth = 0;
	int rc = 0;

	for (uint32_t i = slice; i != TIMELINE_NONE && depth < DEPTH_MAX; i = t->parent[i])
		if (is_wanted(s, i))
			path[depth++] = i;
	*ret = STACKS_NONE;
	while (depth-- > 0 && rc == 0)
		rc = node_of(s, *ret, t->name[path[depth]], thread, ret);
	return rc;
}

/* Work that is not wanted is time of what launched it, as a slice that is not is time of the one around it. */
static int add_work(struct walk *w, uint32_t work, uint32_t around)
{
	struct stacks *s = w->s;
	const struct timeline *t = s->timeline;
	int64_t begin = clip(s, t->begin[work]), end = clip(s, t->end[work]);
	bool wanted = is_wanted(s, work);
	uint32_t node = around;
	int rc = 0;

	if (end <= begin || (!wanted && around == STACKS_NONE))
		return 0;
	if (wanted)
		rc = node_of(s, around, t->name[work], w->thread, &node);
	if (rc < 0)
		return rc;
	s->nodes[node].count++;
	s->nodes[node].weight = stacks_add(s->nodes[node].weight, end - begin);
	return w->sink->sample ? w->sink->sample(w->arg, node, begin, end - begin) : 0;
}

/* What the calls of a thread launched; of a stream, what nobody did. */
static int walk_device(struct walk *w, const struct timeline_track *track)
{
	struct stacks *s = w->s;
	const struct timeline *t = s->timeline;
	int rc = 0;

	for (uint32_t i = track->first; i < track->first + track->count && rc == 0; i++) {
		uint32_t around;

		if (track->kind == TRACK_STREAM) {
			if (timeline_is_device_work(t->kind[i]) && t->link[i] == TIMELINE_NONE && is_wanted(s, i))
				rc = add_work(w, i, STACKS_NONE);
			continue;
		}
		if (t->kind[i] != EVENT_RUNTIME_CALL || t->link[i] == TIMELINE_NONE)
			continue;
		rc = node_of_slice(s, i, w->thread, &around);
		for (uint32_t k = t->link[i]; rc == 0 && k < t->work_count && t->link[t->work[k]] == i; k++)
			rc = add_work(w, t->work[k], around);
	}
	return rc;
}

/* ---- All of it ---------------------------------------------------------------------------------- */

/* From the first to the last of its slices, within the window. */
static void find_span(struct stacks *s, struct stack_thread *thread)
{
	const struct timeline *t = s->timeline;
	const struct timeline_track *track = &t->tracks[thread->track];
	int64_t end = 0;

	for (uint32_t i = track->first; i < track->first + track->count; i++)
		end = t->end[i] > end ? t->end[i] : end;
	thread->begin = clip(s, t->begin[track->first]);
	thread->end = clip(s, end);
}

int stacks_walk(struct stacks *s, size_t thread, const struct stacks_sink *sink, void *arg)
{
	const struct timeline_track *track = &s->timeline->tracks[s->threads[thread].track];
	struct walk *w = calloc(1, sizeof *w);
	int rc;

	if (!w)
		return -ENOMEM;
	find_span(s, &s->threads[thread]);
	w->s = s;
	w->thread = (uint32_t)thread;
	w->sink = sink;
	w->arg = arg;
	if (s->options->weight == EXPORT_CPU)
		find_states(w, track);
	rc = s->options->weight == EXPORT_GPU ? walk_device(w, track) : track->kind == TRACK_STREAM ? 0 : walk_host(w, track);
	free(w);
	return rc;
}

void stacks_process_name(const struct stacks *s, size_t thread, char *ret, size_t size)
{
	const struct timeline *t = s->timeline;
	const struct timeline_track *track = &t->tracks[s->threads[thread].track];
	const struct timeline_process *p = track->process == TIMELINE_NONE ? NULL : &t->processes[track->process];
	size_t length;
	const char *name = p ? timeline_string(t, p->name ? p->name : p->command, &length) : "";

	if (!p)
		snprintf(ret, size, "device");
	else
		snprintf(ret, size, "%.120s%s(pid %llu)", name, name[0] ? " " : "", (unsigned long long)p->pid);
}

void stacks_thread_name(const struct stacks *s, size_t thread, char *ret, size_t size)
{
	const struct timeline *t = s->timeline;
	const struct timeline_track *track = &t->tracks[s->threads[thread].track];
	size_t length;
	const char *name = timeline_string(t, track->name, &length);

	snprintf(ret, size, "%.120s%s(%llu)", name, name[0] ? " " : "", (unsigned long long)track->os_id);
}
