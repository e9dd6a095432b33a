/*
 * inside_places.c - names: what each of them says, and how much time it took of late.
 *
 * The table has room for a fixed number of names, whatever the program makes up:
 * a new one takes the place of the least used of those that it could be beside.
 * Times are those of the last seconds, in slots of two.
 */
#include <stdlib.h>
#include <string.h>

#include "live/inside_state.h"
#include "trace/step_name.h"

#define LEAST_RECORDED 0.001 /* of the time: less tells nothing of the rest */

/* ---- What a name says -------------------------------------------------------- */

static bool begins_with(const char *name, size_t size, const char *with)
{
	return size >= strlen(with) && memcmp(name, with, strlen(with)) == 0;
}

static bool is_asked(const struct live_inside *in, const char *name, size_t size, size_t stem)
{
	size_t length = in->step ? strlen(in->step) : 0;

	return length && ((length == size && memcmp(name, in->step, size) == 0) ||
			  (step_stem(in->step, length) == stem && memcmp(name, in->step, stem) == 0));
}

static enum inside_rank rank_of(const struct live_inside *in, const char *name, size_t size, uint8_t kind)
{
	static const enum inside_rank ranks[] = { [STEP_NONE] = RANK_NONE, [STEP_WORK] = RANK_WORK, [STEP_STEP] = RANK_STEP };
	size_t stem = step_stem(name, size);

	if (is_asked(in, name, size, stem))
		return RANK_ASKED;
	if (begins_with(name, size, "ProfilerStep#"))
		return RANK_PROFILER;
	if (begins_with(name, size, "Optimizer.step#"))
		return RANK_OPTIMIZER;
	if (step_is_loader(name, size))
		return RANK_LOADER;
	if (kind != EVENT_SCOPE || begins_with(name, size, "Optimizer."))
		return RANK_NONE;
	return ranks[step_rank(name, stem)];
}

static void read_name(const struct live_inside *in, struct inside_place *p)
{
	static const char *const requests[] = { "request", "infer", "predict", "generate", "handle", "serve", NULL };
	size_t size;
	const char *text = drain_text(in->drain, p->name, &size);
	size_t stem;

	size = size < 1024 ? size : 1024;
	stem = step_stem(text, size);
	p->stem = step_hash(text, stem);
	if (p->kind != EVENT_SCOPE && p->kind != EVENT_OP && !(p->kind == EVENT_CPU_CALL && in->step))
		return;
	p->rank = (uint8_t)rank_of(in, text, size, p->kind);
	if (p->kind == EVENT_CPU_CALL && p->rank != RANK_ASKED)
		p->rank = RANK_NONE;
	p->loader = step_is_loader(text, size);
	p->request = p->rank != RANK_NONE && step_has_word(text, stem, requests);
	p->counts = p->rank != RANK_NONE || (p->kind == EVENT_SCOPE && !begins_with(text, size, "Optimizer."));
}

/* ---- Where it is ------------------------------------------------------------- */

static double weight_of(const struct inside_place *p)
{
	return p->name ? (double)p->recent_ticks + (double)p->ticks + 1e-3 * (double)(p->recent_calls + (float)p->calls) : -1;
}

static uint16_t make_place(struct live_inside *in, uint32_t set, uint32_t name, uint8_t kind)
{
	uint32_t least = set;

	for (uint32_t i = set; i < set + PLACE_WAYS; i++)
		if (weight_of(&in->places[i]) < weight_of(&in->places[least]))
			least = i;
	if (!in->place_keys[least])
		in->used_places[in->used_place_count++] = (uint16_t)least;
	in->places[least] = (struct inside_place){ .name = name, .kind = kind };
	in->place_keys[least] = (uint64_t)name << 8 | kind;
	read_name(in, &in->places[least]);
	return (uint16_t)least;
}

uint16_t inside_place(struct live_inside *in, uint32_t name, uint8_t kind)
{
	uint32_t set = (name * 0x9e3779b1u >> 16) % (PLACES / PLACE_WAYS) * PLACE_WAYS;
	uint64_t key = (uint64_t)name << 8 | kind;

	for (uint32_t i = set; i < set + PLACE_WAYS; i++)
		if (in->place_keys[i] == key)
			return (uint16_t)i;
	return make_place(in, set, name, kind);
}

/* ---- The snapshot ------------------------------------------------------------ */

void inside_copy_text(const char *text, size_t length, char *out, size_t size)
{
	if (length >= size)
		for (length = size - 1; length > 0 && ((uint8_t)text[length] & 0xc0) == 0x80;)
			length--;
	memcpy(out, text, length);
	out[length] = '\0';
	for (size_t i = 0; i < length; i++) /* a text of the snapshot has no NUL inside */
		out[i] = out[i] ? out[i] : ' ';
}

void inside_copy_name(const struct live_inside *in, uint32_t name, char *out, size_t size)
{
	size_t length;
	const char *text = drain_text(in->drain, name, &length);

	inside_copy_text(text, length, out, size);
}

void inside_places_forget(struct live_inside *in)
{
	in->window = (struct window){ .slot = 0 };
	memset(in->slots_recorded, 0, sizeof in->slots_recorded);
	in->recorded = 0;
	for (uint32_t i = 0; i < in->used_place_count; i++) {
		struct inside_place *p = &in->places[in->used_places[i]];

		memset(p->slots_ticks, 0, sizeof p->slots_ticks);
		memset(p->slots_inside, 0, sizeof p->slots_inside);
		memset(p->slots_calls, 0, sizeof p->slots_calls);
		p->recent_ticks = p->recent_calls = 0;
		p->ticks = p->inside = 0;
		p->calls = 0;
	}
}

static float add_to_slots(float *slots, unsigned slot, unsigned fresh, double more)
{
	float sum = 0;

	for (unsigned i = 0; i < WINDOW_SLOTS; i++) {
		slots[i] = (fresh >> i & 1 ? 0 : slots[i]) + (i == slot ? (float)more : 0);
		sum += slots[i];
	}
	return sum;
}

/* times: what operators stand for.  What they stand for besides themselves is time in which what calls them seemed to do without. */
static void add_to_place(struct inside_place *p, unsigned slot, unsigned fresh, float times)
{
	float ticks = add_to_slots(p->slots_ticks, slot, fresh, (double)p->ticks);
	float inside = add_to_slots(p->slots_inside, slot, fresh, (double)p->inside);
	float calls = add_to_slots(p->slots_calls, slot, fresh, p->calls);
	bool sampled = p->kind == EVENT_OP && !p->loader;

	p->recent_ticks = sampled ? ticks * times : ticks - inside * (times - 1);
	p->recent_calls = sampled ? calls * times : calls;
	p->ticks = p->inside = 0;
	p->calls = 0;
}

/* How many times its own time an operator stands for: operators may be recorded for a part of the time. */
static float operator_times(struct live_inside *in, unsigned fresh)
{
	double recorded = 0, span = window_span(&in->window) * in->rate;

	for (unsigned i = 0; i < WINDOW_SLOTS; i++) {
		in->slots_recorded[i] = (fresh >> i & 1 ? 0 : in->slots_recorded[i]) + (i == in->window.slot ? (double)in->recorded : 0);
		recorded += in->slots_recorded[i];
	}
	in->recorded = 0;
	return recorded > LEAST_RECORDED * span && recorded < span ? (float)(span / recorded) : 1;
}

/* Returns how many seconds all slots are. */
static double turn(struct live_inside *in, double elapsed_s)
{
	unsigned fresh = window_turn(&in->window, elapsed_s);
	float times = operator_times(in, fresh);

	for (uint32_t i = 0; i < in->used_place_count; i++)
		add_to_place(&in->places[in->used_places[i]], in->window.slot, fresh, times);
	return window_span(&in->window);
}

/* The largest first, at most LIVE_PLACES. */
static uint32_t choose(const struct live_inside *in, bool device, uint16_t *chosen)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < in->used_place_count; i++) {
		const struct inside_place *p = &in->places[in->used_places[i]];
		uint32_t at = count;

		if (p->recent_ticks <= 0 || p->device != device)
			continue;
		while (at > 0 && in->places[chosen[at - 1]].recent_ticks < p->recent_ticks)
			at--;
		if (at == LIVE_PLACES)
			continue;
		count += count < LIVE_PLACES;
		memmove(chosen + at + 1, chosen + at, (count - 1 - at) * sizeof *chosen);
		chosen[at] = in->used_places[i];
	}
	return count;
}

static void copy_kind(uint8_t kind, char *out, size_t size)
{
	const char *name = event_kind_name(kind);

	memset(out, 0, size);
	if (name)
		strncpy(out, name, size - 1);
}

static uint32_t fill_list(const struct live_inside *in, bool device, double span, struct live_place *list)
{
	uint16_t chosen[LIVE_PLACES];
	uint32_t count = span > 0 ? choose(in, device, chosen) : 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct inside_place *p = &in->places[chosen[i]];

		inside_copy_name(in, p->name, list[i].name, sizeof list[i].name);
		copy_kind(p->kind, list[i].kind, sizeof list[i].kind);
		list[i].calls = (double)p->recent_calls / span;
		list[i].share = (double)p->recent_ticks / (span * in->rate);
	}
	return count;
}

/* Of the thread's time, by what it was. */
static void fill_doing(struct live_inside *in, double span, struct live_doing *out)
{
	const struct inside_track *t = in->followed.track ? inside_track_by_id(in, in->followed.track - 1) : NULL;
	double whole = span * in->rate;

	if (!t || span <= 0)
		return;
	out->pid = t->pid;
	out->tid = t->tid;
	out->window_s = span;
	out->input = out->operators = out->scopes = out->functions = 0;
	for (uint32_t i = 0; i < in->used_place_count; i++) {
		const struct inside_place *p = &in->places[in->used_places[i]];
		double share = p->device || p->recent_ticks < 0 ? 0 : (double)p->recent_ticks / whole;

		*(p->loader ? &out->input : p->kind == EVENT_OP ? &out->operators : p->kind == EVENT_SCOPE ? &out->scopes : &out->functions) += share;
	}
}

void inside_places_fill(struct live_inside *in, double elapsed_s, struct live_snapshot *s)
{
	double span = turn(in, elapsed_s);

	s->place_count = fill_list(in, false, span, s->places);
	s->kernel_count = fill_list(in, true, span, s->kernels);
	fill_doing(in, span, &s->doing);
}
