/*
 * inside_tracks.c - tracks and what is open on them, event by event.
 *
 * Every begin and end carries its depth, so that a stack is right again with
 * the next event after some were lost.
 *
 * Of one thread, which is followed, all time is divided among places, each moment
 * of it once: from event to event it is the innermost slice's that is open; but an
 * operator has with it all that it calls, since it is what the program has asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "live/inside_state.h"
#include "ring/fields.h"

#define COUNT_DEPTH 64u /* slices of a track whose time is counted while they are open */

/* ---- Finding a track --------------------------------------------------------- */

struct inside_track *inside_track_by_id(struct live_inside *in, uint32_t id)
{
	uint32_t set = id % (TRACKS / TRACK_WAYS) * TRACK_WAYS;

	for (uint32_t i = set; i < set + TRACK_WAYS; i++)
		if (in->tracks[i].id == id + 1)
			return &in->tracks[i];
	return NULL;
}

static bool is_older(const struct inside_track *t, const struct inside_track *than)
{
	return !than || t->last_time < than->last_time;
}

/* The one that has been silent for longest, of those with nothing open, else of tasks, which may never go on; NULL: none. */
static struct inside_track *find_room(struct live_inside *in, uint32_t id)
{
	uint32_t set = id % (TRACKS / TRACK_WAYS) * TRACK_WAYS;
	struct inside_track *idle = NULL, *task = NULL;

	for (uint32_t i = set; i < set + TRACK_WAYS; i++) {
		struct inside_track *t = &in->tracks[i];

		if (!t->id)
			return t;
		if (t->size == 0 && !t->makes_steps && is_older(t, idle))
			idle = t;
		if (t->kind == TRACK_TASK && is_older(t, task))
			task = t;
	}
	return idle ? idle : task;
}

static struct inside_track *track_of(struct live_inside *in, const struct drain_run *run)
{
	struct inside_track *t = inside_track_by_id(in, run->track);

	if (!t && (t = find_room(in, run->track))) {
		if (!t->id)
			in->used[in->used_count++] = (uint16_t)(t - in->tracks);
		free(t->stack);
		*t = (struct inside_track){ .id = run->track + 1, .kind = run->kind, .process = run->process };
	}
	if (t) { /* a task may go on in another thread */
		t->thread = run->thread;
		t->pid = run->pid;
		t->tid = run->tid;
	}
	return t;
}

/* ---- Operators that are recorded for a part of the time -------------------------- */

static bool operators_rest(const struct live_inside *in, uint32_t process)
{
	uint32_t at = process % OPERATOR_PROCESSES;

	return in->operators[at].process == process + 1 && in->operators[at].rest;
}

static bool is_operators(struct live_inside *in, uint32_t counter)
{
	static const char name[] = "inferscope.operators";
	const char *text;
	size_t size;

	if (!in->operators_name) {
		text = drain_text(in->drain, counter, &size);
		if (size == sizeof name - 1 && memcmp(text, name, size) == 0)
			in->operators_name = counter;
	}
	return counter == in->operators_name;
}

/* One of the program's own, or that of runtime/torch_rest.c: 0 when no operators are recorded from now on, more when they are. */
static void hear_counter(struct live_inside *in, const struct inside_track *t, const struct event_slot *slot)
{
	double value;

	if (EVENT_FLAGS_VALUE(slot->flags) != FIELD_VALUE || !slot->name)
		return;
	memcpy(&value, &slot->value, sizeof value);
	if (!is_operators(in, slot->name)) {
		inside_counter(in, slot->name, slot->time, value);
		return;
	}
	inside_repeats_rest(in);
	in->operators[t->process % OPERATOR_PROCESSES].process = t->process + 1;
	in->operators[t->process % OPERATOR_PROCESSES].rest = value == 0;
}

/* ---- The time of the thread that is followed -------------------------------------- */

static bool is_followed(const struct live_inside *in, const struct inside_track *t)
{
	return in->followed.track && t->thread + 1 == in->followed.track;
}

static void add_time(struct live_inside *in, int64_t ticks)
{
	const struct inside_followed *f = &in->followed;

	in->recorded += f->rest ? 0 : ticks;
	if (f->owner >= PLACES)
		return;
	in->places[f->owner].ticks += ticks;
	if (f->around < PLACES && in->places[f->owner].kind == EVENT_OP)
		in->places[f->around].inside += ticks;
}

void inside_divide(struct live_inside *in, uint64_t time)
{
	if (time <= in->followed.counted)
		return;
	add_time(in, (int64_t)(time - in->followed.counted));
	in->followed.counted = time;
}

void inside_divide_on(struct live_inside *in, const struct inside_track *t)
{
	const struct inside_open *o = t->size > 0 && t->size <= t->capacity ? &t->stack[t->size - 1] : NULL;
	bool known = o && o->name && in->places[o->place].name == o->name;

	in->followed.owner = known ? o->owner : PLACES;
	in->followed.around = known ? o->around : PLACES;
	in->followed.rest = operators_rest(in, t->process);
}

/* Who had something open or has said anything since the last look is busy. */
static void note_busy(struct inside_track *t)
{
	bool now = t->size > 0 || t->last_time > t->looked;

	t->busy = 0.8f * t->busy + 0.2f * (float)now;
	t->looked = t->last_time;
}

/* The better the larger; the one that is followed stays so until another one is clearly better. */
static float follow_score(const struct live_inside *in, const struct inside_track *t, pid_t main)
{
	float score = t->busy + (is_followed(in, t) ? 0.2f : 0) + (t->tid && t->tid == main ? 0.5f : 0);

	if (in->anchor && !in->anchor->many && in->anchor->track + 1 == t->id)
		score += 2;
	return t->busy > 0.02f ? score : 0;
}

static void follow(struct live_inside *in, const struct inside_track *t, uint64_t time)
{
	in->followed = (struct inside_followed){ .track = t->id, .counted = time };
	inside_divide_on(in, t);
	inside_places_forget(in);
	inside_repeats_forget(in);
}

bool inside_follow(struct live_inside *in, pid_t main)
{
	const struct inside_track *best = NULL;

	for (uint32_t i = 0; i < in->used_count; i++) {
		struct inside_track *t = &in->tracks[in->used[i]];

		if (t->kind != TRACK_THREAD)
			continue;
		note_busy(t);
		if (follow_score(in, t, main) > (best ? follow_score(in, best, main) : 0))
			best = t;
	}
	if (!best || is_followed(in, best))
		return false;
	follow(in, best, in->followed.counted > best->last_time ? in->followed.counted : best->last_time);
	return true;
}

/* ---- The stack --------------------------------------------------------------- */

static void close_slice(struct live_inside *in, struct inside_track *t, uint32_t depth, uint64_t time)
{
	const struct inside_open *o = &t->stack[depth];
	struct inside_place *p = &in->places[o->place];

	if (p->name == o->name && p->kind == o->kind) {
		if (is_followed(in, t))
			p->calls++;
		if (p->loader)
			t->loader_ticks += (int64_t)(time - o->counted);
		if (o->step)
			inside_step_end(in, t, p, o->begin, time);
	}
	if (t->makes_steps)
		inside_slice(in, o, depth, time);
	if (in->followed.track == t->id && o->owner == o->place)
		inside_repeats_end(in, time);
}

/* Slices whose ends were not seen. */
static void cut(struct live_inside *in, struct inside_track *t, uint32_t size, uint64_t time)
{
	if (t->size > t->capacity && t->size > size)
		t->size = size > t->capacity ? size : (uint32_t)t->capacity;
	while (t->size > size) {
		t->size--;
		if (t->stack[t->size].name)
			close_slice(in, t, t->size, time);
	}
}

/* Slices whose begins were not seen have no name. */
static void fill(struct inside_track *t, uint32_t size)
{
	for (uint32_t d = t->size; d < size && d < t->capacity; d++)
		t->stack[d].name = 0;
	t->size = t->size < size ? size : t->size;
}

static bool make_room(struct inside_track *t, uint32_t depth)
{
	size_t capacity = t->capacity ? t->capacity : 16;

	if (depth < t->capacity)
		return true;
	if (depth >= STACK_MAX)
		return false;
	while (capacity <= depth)
		capacity *= 2;
	return ARRAY_GROW(t->stack, t->capacity, capacity) == 0;
}

static bool is_next_part(const struct event_slot *slot)
{
	return EVENT_FLAGS_VALUE(slot->flags) == FIELD_LINK && slot->value == 0;
}

/* Most scopes that are no step are right inside of another one. */
static bool is_inner(const struct inside_track *t, uint32_t depth)
{
	return depth > 0 && t->stack[depth - 1].kind == EVENT_SCOPE && t->stack[depth - 1].name;
}

/* A step within a step of the same name is a part of that. */
static bool is_within_itself(const struct live_inside *in, const struct inside_track *t, const struct inside_place *p, uint32_t depth)
{
	for (uint32_t d = depth, n = 0; d-- > 0 && n < LOOK_UP_MAX; n++)
		if (t->stack[d].step && t->stack[d].name && in->places[t->stack[d].place].stem == p->stem)
			return true;
	return false;
}

/* A wait for input is whole as well, though the program's own code may be in it. */
static void set_owner(const struct live_inside *in, const struct inside_track *t, uint32_t depth)
{
	const struct inside_open *above = depth > 0 && t->stack[depth - 1].name ? &t->stack[depth - 1] : NULL;
	struct inside_open *o = &t->stack[depth];
	bool inner = above && above->whole;

	o->whole = inner || o->kind == EVENT_OP || in->places[o->place].loader;
	o->owner = inner ? above->owner : o->place;
	o->around = inner ? above->around : above ? above->owner : PLACES;
}

/* Operators that are in no other one; calls, where there is none around them. */
static bool may_repeat(const struct inside_open *o)
{
	return o->owner == o->place && (o->kind == EVENT_OP || o->kind == EVENT_CPU_CALL);
}

static void open_slice(struct live_inside *in, struct inside_track *t, const struct event_slot *slot)
{
	uint32_t depth = slot->depth;
	struct inside_open *o;
	const struct inside_place *p;

	if (depth != t->size) {
		cut(in, t, depth, slot->time);
		fill(t, depth);
	}
	t->size = depth + 1;
	if (!make_room(t, depth))
		return;
	o = &t->stack[depth];
	*o = (struct inside_open){ .begin = slot->time, .counted = slot->time, .name = slot->name, .kind = slot->kind,
				   .owner = PLACES, .around = PLACES };
	if (!slot->name)
		return;
	o->place = inside_place(in, slot->name, slot->kind);
	p = &in->places[o->place];
	set_owner(in, t, depth);
	if (in->followed.track == t->id && may_repeat(o) && !is_next_part(slot))
		inside_repeats_begin(in, t, o, depth);
	if (!p->counts || (p->rank == RANK_NONE && is_inner(t, depth)) || is_within_itself(in, t, p, depth))
		return;
	t->has_loader |= p->loader;
	o->step = true;
	if (!is_next_part(slot))
		inside_step_begin(in, t, p, slot->time, depth, false);
}

static void end_slice(struct live_inside *in, struct inside_track *t, const struct event_slot *slot)
{
	uint32_t depth = slot->depth;

	if (depth == EVENT_DEPTH_UNMATCHED)
		return;
	cut(in, t, depth + 1, slot->time);
	if (t->size <= depth) { /* nobody saw it begin */
		fill(t, depth);
		return;
	}
	t->size = depth;
	if (depth < t->capacity && t->stack[depth].name)
		close_slice(in, t, depth, slot->time);
}

/* ---- Events ------------------------------------------------------------------ */

static struct inside_place *complete_place(struct live_inside *in, const struct event_slot *slot)
{
	if (EVENT_FLAGS_VALUE(slot->flags) != FIELD_DURATION || !slot->name || slot->kind == EVENT_LOST || slot->kind == EVENT_CPU_SAMPLE ||
	    slot->value >= INT64_MAX / 4)
		return NULL;
	return &in->places[inside_place(in, slot->name, slot->kind)];
}

static void hear_work(struct live_inside *in, const struct event_slot *slot)
{
	struct inside_place *p = complete_place(in, slot);

	if (!p)
		return;
	p->device = true;
	p->calls++;
	p->ticks += (int64_t)slot->value;
}

/* What is told when it has ended: its time is in that of what was open meanwhile, unless that is an operator's.  Of what has not been
 * divided yet it is what comes first. */
static void hear_complete(struct live_inside *in, const struct inside_track *t, const struct event_slot *slot)
{
	const struct inside_followed *f = &in->followed;
	const struct inside_open *o = t->size > 0 && t->size <= t->capacity ? &t->stack[t->size - 1] : NULL;
	struct inside_place *p = is_followed(in, t) ? complete_place(in, slot) : NULL;
	uint64_t end = slot->time + slot->value;

	if (!p)
		return;
	p->calls++;
	if ((o && o->name && o->whole) || end <= f->counted)
		return;
	inside_divide(in, slot->time);
	p->ticks += (int64_t)(end - f->counted);
	in->followed.counted = end;
}

static void hear_event(struct live_inside *in, struct inside_track *t, const struct event_slot *slot)
{
	bool followed;

	if (!in->followed.track && t->kind == TRACK_THREAD)
		follow(in, t, slot->time);
	followed = is_followed(in, t) && EVENT_FLAGS_PHASE(slot->flags) != PHASE_COMPLETE;
	if (followed)
		inside_divide(in, slot->time);
	switch (EVENT_FLAGS_PHASE(slot->flags)) {
	case PHASE_BEGIN:
		open_slice(in, t, slot);
		break;
	case PHASE_END:
		end_slice(in, t, slot);
		break;
	case PHASE_COMPLETE:
		hear_complete(in, t, slot);
		return; /* its time is its beginning */
	default:
		if (slot->kind == EVENT_COUNTER)
			hear_counter(in, t, slot);
		else if (slot->kind == EVENT_INSTANT && slot->extra)
			inside_hear_mark(in, t, slot);
		if (slot->flags & EVENT_FLAG_THREAD) {
			cut(in, t, slot->depth, slot->time);
			fill(t, slot->depth);
		}
	}
	t->last_time = slot->time;
	if (followed)
		inside_divide_on(in, t);
}

/* The duration of device work is in a continuation slot: its own slot names the stream. */
static uint64_t told_duration(const struct event_slot *slot)
{
	struct event_fields fields = event_fields_of(slot, slot->extra);
	struct field_value value;
	uint64_t duration;

	while (event_fields_next(&fields, &value))
		if (value.field == FIELD_DURATION && field_number(&value, &duration))
			return duration;
	return 0;
}

static void hear_told(struct live_inside *in, const struct event_slot *slot)
{
	struct event_slot whole = *slot;

	if (EVENT_FLAGS_PHASE(slot->flags) != PHASE_COMPLETE)
		return;
	whole.value = told_duration(slot);
	whole.flags |= FIELD_DURATION;
	hear_work(in, &whole);
}

static void remember_task(struct live_inside *in, const struct drain_run *run)
{
	struct inside_track *thread = inside_track_by_id(in, run->thread);

	if (thread) {
		thread->task = run->track + 1;
		thread->last_time = run->slots[0].time > thread->last_time ? run->slots[0].time : thread->last_time;
	}
}

void inside_hear(void *arg, const struct drain_run *run)
{
	struct live_inside *in = arg;
	struct inside_track *t = NULL;

	if (run->kind == TRACK_THREAD || run->kind == TRACK_TASK)
		t = track_of(in, run);
	if (run->kind == TRACK_TASK)
		remember_task(in, run);
	for (size_t i = 0; i < run->count; i += 1 + (size_t)run->slots[i].extra) {
		if (t)
			hear_event(in, t, &run->slots[i]);
		else if (run->kind == TRACK_STREAM)
			hear_told(in, &run->slots[i]);
	}
}

/* ---- The snapshot ------------------------------------------------------------ */

/* What is open takes time, too.  Should a wait turn out to have ended before, the end takes back what was too much. */
void inside_count_open(struct live_inside *in, uint64_t ticks)
{
	inside_divide(in, ticks);
	for (uint32_t i = 0; i < in->used_count; i++) {
		struct inside_track *t = &in->tracks[in->used[i]];
		uint32_t size = t->size < COUNT_DEPTH ? t->size : COUNT_DEPTH;

		for (uint32_t d = 0; d < size && d < t->capacity; d++) {
			struct inside_open *o = &t->stack[d];
			struct inside_place *p = &in->places[o->place];
			int64_t more = (int64_t)(ticks - o->counted);

			if (!o->name || p->name != o->name || p->kind != o->kind || more <= 0)
				continue;
			if (p->loader)
				t->loader_ticks += more;
			o->counted = ticks;
		}
	}
}

static void fill_thread(const struct live_inside *in, const struct inside_track *t, struct live_thread *out)
{
	uint32_t size = t->size < t->capacity ? t->size : (uint32_t)t->capacity;

	for (uint32_t d = size; d-- > 0;) {
		const struct inside_open *o = &t->stack[d];

		if (o->kind == EVENT_SCOPE && o->name && !out->scope[0])
			inside_copy_name(in, o->name, out->scope, sizeof out->scope);
		if (o->kind == EVENT_OP && o->name && !out->op[0])
			inside_copy_name(in, o->name, out->op, sizeof out->op);
		out->depth += o->kind == EVENT_SCOPE || o->kind == EVENT_OP;
	}
}

static struct live_thread *find_thread(struct live_snapshot *s, pid_t pid, pid_t tid)
{
	for (uint32_t i = 0; i < s->thread_count && i < LIVE_THREADS; i++)
		if (s->threads[i].tid == tid && s->threads[i].pid == pid)
			return &s->threads[i];
	return NULL;
}

/* What a thread runs is its task's, where it has one. */
void inside_threads_fill(struct live_inside *in, struct live_snapshot *s)
{
	for (uint32_t i = 0; i < in->used_count; i++) {
		struct inside_track *t = &in->tracks[in->used[i]], *task;
		struct live_thread *out;

		if (t->kind != TRACK_THREAD || !t->tid || (t->size == 0 && !t->task))
			continue;
		out = find_thread(s, t->pid, t->tid);
		if (!out)
			continue;
		out->scope[0] = out->op[0] = '\0';
		out->depth = 0;
		task = t->task ? inside_track_by_id(in, t->task - 1) : NULL;
		if (task && task->thread + 1 == t->id)
			fill_thread(in, task, out);
		fill_thread(in, t, out);
	}
}
