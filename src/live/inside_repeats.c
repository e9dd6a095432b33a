/*
 * inside_repeats.c - steps that nobody marks: by the repetition of operators, or of calls where there are none.
 *
 * What the followed thread begins one after another is a sequence of names, without end.  For each name, and for each
 * name after another one, the sum of all that comes before the next of its kind is compared with what it mostly is.  Where
 * the two are the same again and again, and that is nearly all of the time, a step is from one to the next.  That needs
 * neither the sequence nor a bound on the length of a step, and a few additions for each name.
 *
 * The layers of a model repeat as well, and so does what is done at every tenth step.  What tells a step is that the host takes
 * part: it asks for a value.  Then the shortest repetition in which it does is the step.  Where it nowhere does, it is the
 * longest, and there must be no exception: else there are steps that have not been seen yet.
 *
 * Of operators that are recorded for a part of the time nothing is compared across a rest.
 */
#include <stdio.h>
#include <string.h>

#include "live/inside_state.h"

#define SEGMENTS_MIN 6u   /* fewer are no repetition, */
#define SEGMENTS_LONG 4u  /* or fewer than these, where all of them are the same and */
#define UNITS_LONG 8u     /* so long, and the host takes part */
#define SEGMENTS_FADE 256u
#define SAME 0.9          /* of the segments, where the host takes part in them */
#define SAME_TIME 0.8     /* and of their time */
#define OBSERVED_S 1.0    /* at least */
#define TROUBLE_S 10.0    /* then it is said that there are none; */
#define TROUBLE_LONG_S 40.0 /* where something has come again, but not often enough, then */
#define LEVEL_EVERY 256u  /* calls */
#define LEVEL_MIN 6u
#define HOST_LENGTH 24u
#define HOST_S 20.0       /* after which the host no longer takes part */

/* Numbers that are not alike for numbers that are. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return (x ^ (x >> 31)) | 1;
}

/* ---- As they come ------------------------------------------------------------- */

static struct inside_key *find_key(struct inside_repeats *r, uint64_t hash)
{
	uint32_t set = (uint32_t)(hash >> 32) % (KEYS / KEY_WAYS) * KEY_WAYS;
	struct inside_key *oldest = NULL;

	for (uint32_t i = set; i < set + KEY_WAYS; i++) {
		struct inside_key *k = &r->keys[i];

		if (k->hash == hash)
			return k;
		if (k->hash != r->chosen || !k->hash)
			oldest = !oldest || k->begin < oldest->begin ? k : oldest;
	}
	*oldest = (struct inside_key){ .hash = hash };
	return oldest;
}

static void fade(struct inside_key *k)
{
	k->segments /= 2;
	k->same /= 2;
	k->ticks /= 2;
	k->same_ticks /= 2;
	k->gaps /= 2;
}

/* Most of the votes are for what there is most of, as long as that is more than half. */
static void vote(struct inside_key *k, uint64_t segment, uint32_t units, uint32_t parts)
{
	if (segment == k->typical) {
		k->votes += k->votes < SEGMENTS_FADE;
	} else if (k->votes > 0) {
		k->votes--;
	} else {
		k->typical = segment;
		k->votes = 1;
		k->units = units;
		k->parts = parts;
		k->same = 0;
		k->same_ticks = 0;
	}
}

/* From its newest to this one.  What a stretch begins with may be the rest of something. */
static void add_segment(struct inside_repeats *r, struct inside_key *k, uint64_t time, uint64_t gap)
{
	uint64_t segment = r->sum - k->sum;
	double ticks = (double)(time - k->begin);

	if (k->first && k->votes > 0 && segment != k->typical)
		return;
	vote(k, segment, r->index - k->index, r->host - k->host);
	k->segments++;
	k->ticks += ticks;
	k->gaps += (double)gap;
	if (segment == k->typical) {
		k->same++;
		k->same_ticks += ticks;
	}
	if (k->segments >= SEGMENTS_FADE)
		fade(k);
	if (r->distinct < r->stretch + 1)
		r->distinct = r->stretch + 1;
}

static bool note_key(struct inside_repeats *r, uint64_t hash, uint32_t name, uint64_t time, uint64_t gap)
{
	struct inside_key *k = find_key(r, hash);
	bool known = k->begin && k->stretch == r->stretch && k->name;

	if (known && time >= k->begin)
		add_segment(r, k, time, gap);
	k->first = !known;
	k->name = name;
	k->begin = time;
	k->stretch = r->stretch;
	k->sum = r->sum;
	k->index = r->index;
	k->host = r->host;
	return r->chosen && hash == r->chosen;
}

/* The program asks for a value, or makes a tensor of one. */
static bool is_host_part(const struct live_inside *in, const struct inside_open *o)
{
	static const char *const names[] = { "aten::item", "aten::is_nonzero", "aten::lift_fresh", "aten::equal", "aten::allclose" };
	size_t size;
	const char *text = o->kind == EVENT_OP ? drain_text(in->drain, o->name, &size) : NULL;

	for (size_t i = 0; text && size < HOST_LENGTH && i < sizeof names / sizeof names[0]; i++)
		if (strlen(names[i]) == size && memcmp(names[i], text, size) == 0)
			return true;
	return o->kind == EVENT_CPU_CALL;
}

static void begin_step(struct live_inside *in, struct inside_track *t, const struct inside_open *o, uint32_t depth)
{
	const struct inside_place step = { .name = o->name, .kind = o->kind, .rank = RANK_REPEATED, .stem = in->repeats.chosen };
	struct inside_repeats *r = &in->repeats;

	inside_step_begin(in, t, &step, o->begin, depth, r->chosen_stretch != r->stretch);
	r->chosen_stretch = r->stretch;
}

static void note_unit(struct live_inside *in, struct inside_track *t, const struct inside_open *o, uint32_t depth)
{
	struct inside_repeats *r = &in->repeats;
	uint64_t gap = r->end && o->begin > r->end ? o->begin - r->end : 0;
	bool step = note_key(r, mix(o->name), o->name, o->begin, gap);

	step |= note_key(r, mix((uint64_t)(r->previous + 1) << 32 | o->name), o->name, o->begin, gap);
	r->begin = r->begin ? r->begin : o->begin;
	r->last = o->begin;
	r->sum += mix(~(uint64_t)o->name);
	r->index++;
	if (is_host_part(in, o)) {
		r->host++;
		r->host_time = o->begin;
	}
	r->previous = o->name;
	if (step)
		begin_step(in, t, o, depth);
}

void inside_repeats_end(struct live_inside *in, uint64_t time)
{
	in->repeats.end = time > in->repeats.end ? time : in->repeats.end;
}

void inside_repeats_rest(struct live_inside *in)
{
	in->repeats.stretch++;
	in->repeats.previous = 0;
	in->repeats.end = 0;
}

void inside_repeats_forget(struct live_inside *in)
{
	memset(&in->repeats, 0, sizeof in->repeats);
}

/* ---- Calls: the outermost that repeat ---------------------------------------------- */

static void find_level(struct live_inside *in)
{
	struct inside_repeats *r = &in->repeats;
	uint32_t level = 0, count = sizeof r->depths / sizeof r->depths[0];

	while (level < count && r->depths[level] < LEVEL_MIN)
		level++;
	r->seen = 0;
	for (uint32_t i = 0; i < count; i++)
		r->depths[i] -= r->depths[i] / 4;
	if (level == r->level || level == count)
		return;
	inside_repeats_forget(in);
	r->calls = true;
	r->level = level;
	r->depths[level] = LEVEL_MIN;
}

static void note_call(struct live_inside *in, struct inside_track *t, const struct inside_open *o, uint32_t depth)
{
	struct inside_repeats *r = &in->repeats;

	if (depth < sizeof r->depths / sizeof r->depths[0])
		r->depths[depth]++;
	if (++r->seen >= LEVEL_EVERY || (depth < r->level && r->depths[depth] >= LEVEL_MIN))
		find_level(in);
	if (depth == r->level)
		note_unit(in, t, o, depth);
}

void inside_repeats_begin(struct live_inside *in, struct inside_track *t, const struct inside_open *o, uint32_t depth)
{
	struct inside_repeats *r = &in->repeats;

	if (in->anchor && in->anchor->rank != RANK_REPEATED) /* something better tells them */
		return;
	if (o->kind == EVENT_OP && r->calls)
		inside_repeats_forget(in);
	if (o->kind == EVENT_OP) {
		note_unit(in, t, o, depth);
		return;
	}
	if (!r->calls && r->index > 0)
		return;
	if (!r->calls)
		r->level = UINT32_MAX;
	r->calls = true;
	note_call(in, t, o, depth);
}

/* ---- Which of them it is --------------------------------------------------------- */

/* Nothing but the same name again: it may be any number of them that is a step. */
static bool is_single(const struct inside_repeats *r, const struct inside_key *k)
{
	return !r->calls && k->typical == k->units * mix(~(uint64_t)k->name);
}

static uint32_t segments_least(const struct inside_key *k)
{
	return k->parts > 0 && k->units >= UNITS_LONG && k->same == k->segments ? SEGMENTS_LONG : SEGMENTS_MIN;
}

static bool repeats(const struct inside_repeats *r, const struct inside_key *k)
{
	if (!k->hash || k->segments < segments_least(k) || k->votes == 0 || k->units == 0 || is_single(r, k))
		return false;
	if (k->stretch == r->stretch && r->index - k->index > 4 * k->units) /* it did */
		return false;
	if (k->same_ticks < SAME_TIME * k->ticks)
		return false;
	return k->parts > 0 ? k->same >= SAME * k->segments : k->same == k->segments;
}

/* A step begins where, before, least was done for longest. */
static bool is_better(const struct inside_key *k, const struct inside_key *than)
{
	bool host = k->parts > 0;

	if (!than || host != (than->parts > 0))
		return !than || host;
	if (k->units != than->units)
		return host == (k->units < than->units);
	return k->gaps / k->segments > than->gaps / than->segments;
}

/* Of late; what a program does before its loop says nothing of that. */
static bool host_takes_part(const struct live_inside *in)
{
	const struct inside_repeats *r = &in->repeats;

	return r->host > 0 && (double)(r->last - r->host_time) < HOST_S * in->rate;
}

/* What has been chosen stays so while it repeats, unless there is another length. */
void inside_repeats_choose(struct live_inside *in)
{
	struct inside_repeats *r = &in->repeats;
	const struct inside_key *best = NULL, *now = NULL;

	for (uint32_t i = 0; i < KEYS; i++) {
		const struct inside_key *k = &r->keys[i];

		if (!repeats(r, k))
			continue;
		if (k->hash == r->chosen)
			now = k;
		if (is_better(k, best))
			best = k;
	}
	if (best && best->parts == 0 && host_takes_part(in))
		best = now = NULL; /* the host takes part in something longer, which has not been seen often enough */
	if ((double)(r->last - r->begin) < OBSERVED_S * in->rate || (now && best && now->units == best->units))
		return;
	r->chosen = best ? best->hash : 0;
	r->chosen_stretch = r->stretch - 1;
}

/* Between two names that come again the host has taken part, if it does at all: no step is longer than what is recorded at a time. */
static bool has_whole(const struct inside_repeats *r, bool host)
{
	for (uint32_t i = 0; i < KEYS; i++)
		if (r->keys[i].segments > 0 && r->keys[i].votes > 0 && r->keys[i].parts > 0)
			return true;
	return !host;
}

/* It has come again, as what may be a step, but not often enough to be sure. */
static bool may_still(const struct inside_key *k, bool host)
{
	return k->hash && k->segments > 0 && k->segments < segments_least(k) && k->same == k->segments && k->units > 1 &&
	       (k->parts > 0 || !host);
}

void inside_repeats_trouble(const struct live_inside *in, uint64_t ticks, char *out, size_t size)
{
	static const char advice[] = "--step NAME says what begins one, or mark it: with inferscope.scope(\"step\")";
	const struct inside_repeats *r = &in->repeats;
	uint64_t since = r->begin ? r->begin : (uint64_t)in->options.start_ticks;
	bool host = host_takes_part(in);
	double waited_s = (double)(int64_t)(ticks - since) / in->rate;
	uint32_t names = 0, coming = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < KEYS; i++) {
		names += r->keys[i].hash == mix(r->keys[i].name);
		coming += may_still(&r->keys[i], host);
	}
	if (waited_s < (coming ? TROUBLE_LONG_S : TROUBLE_S))
		return;
	if (r->index == 0)
		snprintf(out, size, "no steps are seen: neither scopes nor operators are recorded; --calls on records functions, or mark "
			 "them: with inferscope.scope(\"step\")");
	else if (names == 1)
		snprintf(out, size, "cannot tell the steps apart: the same %s comes again and again; %s", r->calls ? "call" : "operator", advice);
	else if (r->stretch > 1 && (r->distinct == 0 || !has_whole(r, host)))
		snprintf(out, size, "cannot tell the steps apart: one has more operators than are recorded at a time; --detail full records "
			 "all of them, or mark it: with inferscope.scope(\"step\")");
	else
		snprintf(out, size, "cannot tell the steps apart: the %s do not come in the same order each time; %s",
			 r->calls ? "calls" : "operators", advice);
}
