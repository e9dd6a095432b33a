/*
 * inside_places.c - names: what each of them says, and how much time it took of late.
 *
 * The table has room for a fixed number of names, whatever the program makes up:
 * a new one takes the place of the least used of those that it could be beside.
 * Times fade by half in about three seconds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "live/inside_state.h"
#include "trace/step_name.h"

#define FADE_S 5.0

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
	return p->name ? p->mean_ticks + (double)p->ticks : -1;
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

static void fade(struct live_inside *in, double elapsed_s)
{
	double kept = exp(-elapsed_s / FADE_S);

	in->weight = in->weight * kept + elapsed_s;
	for (uint32_t i = 0; i < in->used_place_count; i++) {
		struct inside_place *p = &in->places[in->used_places[i]];

		p->mean_ticks = p->mean_ticks * kept + (double)p->ticks;
		p->mean_calls = p->mean_calls * kept + (double)p->calls;
		p->ticks = 0;
		p->calls = 0;
	}
}

/* The largest first, at most LIVE_PLACES. */
static uint32_t choose(const struct live_inside *in, uint16_t *chosen)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < in->used_place_count; i++) {
		const struct inside_place *p = &in->places[in->used_places[i]];
		uint32_t at = count;

		if (p->mean_ticks <= 0 || p->kind == EVENT_CPU_SAMPLE)
			continue;
		while (at > 0 && in->places[chosen[at - 1]].mean_ticks < p->mean_ticks)
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

void inside_places_fill(struct live_inside *in, double elapsed_s, struct live_snapshot *s)
{
	uint16_t chosen[LIVE_PLACES];

	fade(in, elapsed_s);
	s->place_count = in->weight > 0 ? choose(in, chosen) : 0;
	for (uint32_t i = 0; i < s->place_count; i++) {
		const struct inside_place *p = &in->places[chosen[i]];
		struct live_place *out = &s->places[i];

		inside_copy_name(in, p->name, out->name, sizeof out->name);
		copy_kind(p->kind, out->kind, sizeof out->kind);
		out->calls = p->mean_calls / in->weight;
		out->share = p->mean_ticks / (in->weight * in->rate);
	}
}
