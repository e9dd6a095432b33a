/*
 * inside_steps.c - steps: what the program does again and again.
 *
 * Every scope that could be one is a series, by its name without its number and
 * by its thread.  The best series (inside.h says which) is what steps begin with.
 * A step lasts from one beginning to the next.  But where the slice covers less
 * than half of its thread's time, as when a server handles a request now and then,
 * the step is the slice itself.  Where no scope tells, repetition may (inside_repeats.c).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/inside_state.h"
#include "system/thread_state.h"

#define WAYS 8u
#define RATE_S 10.0     /* steps a second, over so many of them */
#define DENSE 0.5       /* share of the time from which on a series covers it, */
#define SPARSE 0.3      /* and below which it no longer does */
#define SILENT 30.0     /* times the usual after which another series may do */
#define BUSY 0.3        /* of a processor: the thread does something */

static uint32_t place_in(uint64_t number)
{
	return (uint32_t)(number % (STEPS_KEPT + 1));
}

/* ---- Series ------------------------------------------------------------------- */

static struct inside_series *find_series(struct live_inside *in, const struct inside_track *t, const struct inside_place *p, bool make)
{
	uint32_t owner = INSIDE_OWNER(t->thread, t->process, p->request);
	uint32_t set = (uint32_t)((p->stem ^ (uint64_t)owner * 0x9e3779b97f4a7c15u) >> 20) % (SERIES / WAYS) * WAYS;
	struct inside_series *least = NULL;

	for (uint32_t i = set; i < set + WAYS; i++) {
		struct inside_series *s = &in->series[i];

		if (s->used && s->stem == p->stem && s->owner == owner)
			return s;
		if (s != in->anchor && (!least || (least->used && (!s->used || s->count < least->count))))
			least = s;
	}
	if (!make || !least)
		return NULL;
	memset(least, 0, sizeof *least);
	least->used = true;
	least->stem = p->stem;
	least->owner = owner;
	return least;
}

/* What is around it tells whether it can be a step. */
static void look_around(struct inside_series *s, const struct inside_track *t, uint32_t depth)
{
	uint32_t size = depth < t->capacity ? depth : (uint32_t)t->capacity;

	for (uint32_t d = size, n = 0; d-- > 0 && n < LOOK_UP_MAX; n++) {
		s->inner |= t->stack[d].kind == EVENT_SCOPE && t->stack[d].name;
		s->within |= t->stack[d].kind == EVENT_OP && t->stack[d].name;
	}
}

/* ---- Finished steps ----------------------------------------------------------- */

static void add_step(struct live_inside *in, uint64_t ticks, int64_t waited)
{
	double seconds = (double)ticks / in->rate;
	uint32_t bucket = 0;

	while (bucket + 1 < LIVE_STEP_BUCKETS && seconds > live_step_bounds[bucket])
		bucket++;
	in->buckets[bucket]++;
	in->steps++;
	in->sum_s += seconds;
	in->input_sum_s += waited > 0 ? fmin((double)waited / in->rate, seconds) : 0;
}

static void begin_slices(struct live_inside *in, uint64_t time)
{
	in->slices[in->at_hand].count = in->slices[in->at_hand].left_out = 0;
	in->slices_begin = time;
}

static void finish_slices(struct live_inside *in)
{
	if (!in->slices_begin)
		return;
	in->done_begin = in->slices_begin;
	in->done_fresh = true;
	in->at_hand = !in->at_hand;
	in->slices_begin = 0;
}

/* Of the series, the step that began as number n (from 0); false: it is not over, or not known any more. */
static bool step_of(const struct live_inside *in, const struct inside_series *s, uint64_t n, uint64_t *ret_ticks, int64_t *ret_waited)
{
	uint32_t at = place_in(n), next = place_in(n + 1);

	if (n >= s->count || s->count - n > STEPS_KEPT + 1)
		return false;
	if (in->own) {
		*ret_ticks = s->own[at];
		*ret_waited = 0;
		return s->own[at] > 0;
	}
	if (n + 1 >= s->count || s->begins[next] < s->begins[at] || s->apart[next])
		return false;
	*ret_ticks = s->begins[next] - s->begins[at];
	*ret_waited = s->loader[next] - s->loader[at];
	return true;
}

static void count_newest(struct live_inside *in, const struct inside_series *s, uint64_t n)
{
	uint64_t ticks;
	int64_t waited;

	if (step_of(in, s, n, &ticks, &waited))
		add_step(in, ticks, waited);
}

/* ---- As they come ------------------------------------------------------------- */

void inside_step_begin(struct live_inside *in, struct inside_track *t, const struct inside_place *p, uint64_t time, uint32_t depth,
		       bool apart)
{
	struct inside_series *s = find_series(in, t, p, true);
	uint32_t at;

	if (!s)
		return;
	if (s->count < 16)
		look_around(s, t, depth);
	s->many |= t->kind == TRACK_TASK || (s->count > 0 && s->track != t->thread);
	s->track = t->thread;
	s->last_time = time;
	s->name = p->name;
	s->rank = p->rank;
	s->request = p->request;
	s->pid = t->pid;
	s->tid = t->tid;
	s->depth = depth;
	at = place_in(s->count++);
	s->begins[at] = time;
	s->apart[at] = apart;
	s->partly |= apart && s->count > 1;
	s->loader[at] = t->loader_ticks;
	s->own[at] = 0;
	if (s != in->anchor)
		return;
	if (!in->own) {
		if (s->count > 1)
			count_newest(in, s, s->count - 2);
		if (apart)
			in->slices_begin = 0;
		finish_slices(in);
	}
	begin_slices(in, time);
}

void inside_step_end(struct live_inside *in, struct inside_track *t, const struct inside_place *p, uint64_t begin, uint64_t time)
{
	struct inside_series *s = find_series(in, t, p, false);
	uint64_t n = s ? s->count : 0, kept = n < STEPS_KEPT ? n : STEPS_KEPT;

	while (kept > 0 && s->begins[place_in(n - 1)] != begin) {
		kept--;
		n--;
	}
	if (kept == 0) /* too many have begun since */
		return;
	s->ends++;
	s->last_time = time;
	s->own[place_in(n - 1)] = time > begin ? time - begin : 1;
	if (s == in->anchor && in->own) {
		count_newest(in, s, n - 1);
		finish_slices(in);
	}
}

/* ---- The slices of a step ------------------------------------------------------ */

static void sift_down(struct inside_slices *s, uint32_t at)
{
	struct inside_slice item = s->items[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < s->count && s->items[child + 1].duration < s->items[child].duration)
			child++;
		if (child >= s->count || s->items[child].duration >= item.duration)
			break;
		s->items[at] = s->items[child];
		at = child;
	}
	s->items[at] = item;
}

static void sift_up(struct inside_slices *s, uint32_t at)
{
	struct inside_slice item = s->items[at];

	for (; at > 0 && s->items[(at - 1) / 2].duration > item.duration; at = (at - 1) / 2)
		s->items[at] = s->items[(at - 1) / 2];
	s->items[at] = item;
}

void inside_slice(struct live_inside *in, const struct inside_open *o, uint32_t depth, uint64_t end)
{
	struct inside_slices *s = &in->slices[in->at_hand];
	uint32_t base = in->anchor ? in->anchor->depth : 0;
	struct inside_slice slice = { o->begin, end > o->begin ? end - o->begin : 0, o->name,
				      (uint16_t)(depth > base ? depth - base : 0), o->kind };

	if (!in->slices_begin || o->begin < in->slices_begin)
		return;
	if (s->count < LIVE_SLICES) {
		s->items[s->count] = slice;
		sift_up(s, s->count++);
		return;
	}
	s->left_out++;
	if (slice.duration <= s->items[0].duration)
		return;
	s->items[0] = slice;
	sift_down(s, 0);
}

static int compare_slices(const void *a, const void *b)
{
	const struct inside_slice *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

static void show_slices(struct live_inside *in)
{
	struct inside_slices *s = &in->slices[!in->at_hand];

	qsort(s->items, s->count, sizeof *s->items, compare_slices);
	for (uint32_t i = 0; i < s->count; i++) {
		struct live_slice *out = &in->done[i];
		const char *kind = event_kind_name(s->items[i].kind);

		memset(out->kind, 0, sizeof out->kind);
		strncpy(out->kind, kind ? kind : "", sizeof out->kind - 1);
		out->begin_s = (double)(s->items[i].begin - in->done_begin) / in->rate;
		out->duration_s = (double)s->items[i].duration / in->rate;
		out->depth = s->items[i].depth;
		inside_copy_name(in, s->items[i].name, out->name, sizeof out->name);
	}
	in->done_count = s->count;
	in->done_left_out = s->left_out;
	in->done_fresh = false;
}

/* ---- Which series it is -------------------------------------------------------- */

/* How much of its thread's time it takes, of late; 0 when nobody knows. */
static double coverage(const struct inside_series *s)
{
	uint64_t kept = s->count < STEPS_KEPT ? s->count : STEPS_KEPT, sum = 0, last = 0;

	if (kept < 2)
		return 0;
	for (uint64_t n = s->count - kept; n < s->count; n++) {
		sum += s->own[place_in(n)];
		last = s->begins[place_in(n)] + s->own[place_in(n)];
	}
	last -= s->begins[place_in(s->count - kept)];
	return last ? (double)sum / (double)last : 0;
}

enum tier {
	TIER_NONE,
	TIER_REPEATED,
	TIER_WORK_AT_TIMES, /* it does not cover its thread's time */
	TIER_STEP_AT_TIMES,
	TIER_SCOPE,
	TIER_WORK,
	TIER_LOADER,
	TIER_OPTIMIZER,
	TIER_STEP,
	TIER_PROFILER,
	TIER_ASKED,
};

/* The better the larger. */
static uint8_t tier_of(const struct live_inside *in, struct inside_series *s)
{
	double covered;

	if (!s->used || s->count < STEPS_MIN)
		return TIER_NONE;
	if (s->rank == RANK_REPEATED)
		return s->stem == in->repeats.chosen ? TIER_REPEATED : TIER_NONE;
	if (s->rank == RANK_ASKED || s->rank == RANK_PROFILER)
		return s->rank == RANK_ASKED ? TIER_ASKED : TIER_PROFILER;
	if (s->rank == RANK_OPTIMIZER)
		return TIER_OPTIMIZER;
	if (s->rank == RANK_LOADER)
		return TIER_LOADER;
	covered = s->ends >= STEPS_MIN ? coverage(s) : 0;
	s->dense = covered >= DENSE || (s->dense && covered >= SPARSE);
	if (s->within || (s->rank != RANK_STEP && s->inner))
		return TIER_NONE;
	if (s->rank == RANK_STEP)
		return s->dense ? TIER_STEP : TIER_STEP_AT_TIMES;
	if (s->rank == RANK_WORK)
		return s->dense ? TIER_WORK : TIER_WORK_AT_TIMES;
	return s->dense ? TIER_SCOPE : TIER_NONE;
}

/* The slice itself is the step, since most of the time there is none, or there are several at once. */
static bool is_own(struct inside_series *s, uint8_t tier)
{
	return tier == TIER_WORK_AT_TIMES || tier == TIER_STEP_AT_TIMES || (tier != TIER_NONE && s->many) ||
	       (tier == TIER_ASKED && s->request && coverage(s) < DENSE);
}

static bool is_better(const struct inside_series *a, uint8_t tier, const struct inside_series *b, uint8_t tier_b)
{
	if (!b || tier != tier_b)
		return !b || tier > tier_b;
	if (a->inner != b->inner)
		return b->inner;
	if (a->depth != b->depth)
		return a->depth < b->depth;
	return a->count > b->count;
}

static bool has_gone_silent(const struct live_inside *in, uint64_t ticks, double median_s)
{
	const struct inside_series *s = in->anchor;
	double since = (double)(int64_t)(ticks - s->begins[place_in(s->count - 1)]) / in->rate;

	return !in->open && since > SILENT * median_s && since > RATE_S;
}

/* The slices of one thread are shown; of several there would be no telling whose step it is. */
static void mark_track(struct live_inside *in)
{
	struct inside_track *t = in->marked ? inside_track_by_id(in, in->marked - 1) : NULL;

	if (t)
		t->makes_steps = false;
	t = in->anchor->many ? NULL : inside_track_by_id(in, in->anchor->track);
	if (t)
		t->makes_steps = true;
	in->marked = t ? t->id : 0;
}

/* What it knows of steps that are over counts, if these are the first ones. */
static void adopt(struct live_inside *in, struct inside_series *s, uint8_t tier)
{
	bool first = in->steps == 0;

	in->anchor = s;
	in->tier = tier;
	in->own = is_own(s, tier);
	in->slices_begin = 0;
	mark_track(in);
	for (uint64_t n = s->count > STEPS_KEPT ? s->count - STEPS_KEPT : 0; first && n < s->count; n++)
		count_newest(in, s, n);
}

static void choose_anchor(struct live_inside *in, uint64_t ticks, double median_s)
{
	struct inside_series *best = NULL;
	uint8_t best_tier = 0, tier;
	bool silent = in->anchor && has_gone_silent(in, ticks, median_s);

	if (in->anchor && in->anchor->rank == RANK_REPEATED && in->anchor->stem != in->repeats.chosen) {
		in->anchor = NULL; /* a wrong step is worse than none */
		silent = false;
	}
	for (uint32_t i = 0; i < SERIES; i++) {
		struct inside_series *s = &in->series[i];

		tier = tier_of(in, s);
		if (s == in->anchor)
			in->tier = tier ? tier : in->tier;
		if (tier && is_better(s, tier, best, best_tier) &&
		    !(silent && s->begins[place_in(s->count - 1)] <= in->anchor->begins[place_in(in->anchor->count - 1)])) {
			best = s;
			best_tier = tier;
		}
	}
	if (best && best != in->anchor && (!in->anchor || best_tier > in->tier || silent))
		adopt(in, best, best_tier);
	else if (in->anchor && in->own != is_own(in->anchor, in->tier))
		adopt(in, in->anchor, in->tier);
}

/* ---- The snapshot --------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Times of the steps that are known, the newest last in *ret_last. */
static uint32_t step_times(const struct live_inside *in, double *times, double *ret_last)
{
	const struct inside_series *s = in->anchor;
	uint32_t count = 0;
	uint64_t ticks;
	int64_t waited;

	*ret_last = NAN;
	for (uint64_t n = s->count > STEPS_KEPT + 1 ? s->count - STEPS_KEPT - 1 : 0; n < s->count && count < STEPS_KEPT; n++)
		if (step_of(in, s, n, &ticks, &waited))
			times[count++] = *ret_last = (double)ticks / in->rate;
	qsort(times, count, sizeof *times, compare_times);
	return count;
}

static double input_wait(struct live_inside *in)
{
	const struct inside_series *s = in->anchor;
	const struct inside_track *t = inside_track_by_id(in, s->track);
	uint64_t kept = s->count < STEPS_KEPT + 1 ? s->count : STEPS_KEPT + 1;
	uint32_t from = place_in(s->count - kept), to = place_in(s->count - 1);

	if (!t || !t->has_loader || s->many || in->own || kept < 2 || s->begins[to] <= s->begins[from])
		return NAN;
	return fmax(0, fmin(1, (double)(s->loader[to] - s->loader[from]) / (double)(s->begins[to] - s->begins[from])));
}

/* Of those that are known whole: of some nobody knows. */
static double whole_rate(const struct live_inside *in)
{
	double times[STEPS_KEPT], last, sum = 0;
	uint32_t count = step_times(in, times, &last);

	for (uint32_t i = 0; i < count; i++)
		sum += times[i];
	return sum > 0 ? count / sum : 0;
}

/* Steps that began in the last seconds, a second; none is less than one that is as long as this one is already. */
static double rate_of(const struct live_inside *in, uint64_t ticks, double median_s, double since_s)
{
	const struct inside_series *s = in->anchor;
	uint64_t kept = s->count < STEPS_KEPT ? s->count : STEPS_KEPT, n = 0;
	double age = 0;

	while (n < kept) {
		age = (double)(int64_t)(ticks - s->begins[place_in(s->count - 1 - n)]) / in->rate;
		if (age > RATE_S)
			break;
		n++;
	}
	if (s->partly)
		return whole_rate(in);
	if (n >= 3 && age > 0)
		return age > RATE_S ? (double)n / RATE_S : (double)(n - 1) / age;
	return since_s <= fmax(3 * median_s, RATE_S) && median_s > 0 ? 1 / fmax(median_s, since_s) : 0;
}

static bool is_there(const struct live_snapshot *s, pid_t pid, pid_t tid)
{
	for (uint32_t i = 0; i < s->thread_count && i < LIVE_THREADS; i++)
		if (s->threads[i].tid == tid && s->threads[i].pid == pid)
			return true;
	return s->thread_count == 0 || s->threads_left_out > 0;
}

/* Slices of the series that are open now; a thread that has ended left none behind. */
static uint32_t count_open(const struct live_inside *in, const struct live_snapshot *s)
{
	const struct inside_series *a = in->anchor;
	uint32_t count = 0;

	for (uint32_t i = 0; a && i < in->used_count; i++) {
		const struct inside_track *t = &in->tracks[in->used[i]];
		uint32_t size = t->size < t->capacity ? t->size : (uint32_t)t->capacity, here = 0;

		if (INSIDE_OWNER(t->thread, t->process, a->request) != a->owner)
			continue;
		for (uint32_t d = 0; d < size && d < LOOK_UP_MAX; d++)
			here += t->stack[d].name && t->stack[d].step && in->places[t->stack[d].place].stem == a->stem;
		count += here && (!t->tid || is_there(s, t->pid, t->tid)) ? here : 0;
	}
	return count;
}

static const struct live_thread *step_thread(const struct live_inside *in, const struct live_snapshot *s)
{
	for (uint32_t i = 0; i < s->thread_count && i < LIVE_THREADS; i++)
		if (in->anchor->tid && s->threads[i].tid == in->anchor->tid && s->threads[i].pid == in->anchor->pid)
			return &s->threads[i];
	return NULL;
}

static bool is_state(const struct live_thread *thread, enum thread_state state)
{
	return strcmp(thread->state, thread_state_name(state)) == 0;
}

/* It has nothing open and waits where requests come from: a socket; a queue or a pipe, if it is called a handler of them.  Where
 * several threads or tasks handle them, it is enough that none does. */
static bool is_idle(const struct live_inside *in, const struct live_thread *thread)
{
	if (in->open || in->anchor->many)
		return !in->open;
	if (!thread || thread->depth > 0 || thread->cpu > BUSY)
		return false;
	if (is_state(thread, THREAD_POLL) || is_state(thread, THREAD_SOCKET_LOCAL) || is_state(thread, THREAD_SOCKET_NETWORK))
		return true;
	return in->anchor->request &&
	       (is_state(thread, THREAD_LOCK) || is_state(thread, THREAD_PIPE) || is_state(thread, THREAD_SLEEP));
}

static void look_at_thread(struct live_inside *in, uint64_t ticks, struct live_snapshot *s)
{
	const struct live_thread *thread = step_thread(in, s);
	const struct inside_track *t = inside_track_by_id(in, in->anchor->track);
	uint64_t heard = t && t->last_time > in->anchor->last_time ? t->last_time : in->anchor->last_time;

	if (thread && thread->cpu > BUSY)
		in->busy_ticks = ticks;
	heard = in->busy_ticks > heard ? in->busy_ticks : heard;
	s->steps.quiet_s = heard && ticks > heard ? (double)(ticks - heard) / in->rate : 0;
	s->steps.idle = is_idle(in, thread);
}

/* Without its number, unless it is nothing else. */
static void copy_stem(const struct live_inside *in, char *out, size_t size)
{
	size_t length;

	inside_copy_name(in, in->anchor->name, out, size);
	length = strlen(out);
	while (length > 1 && out[length - 1] >= '0' && out[length - 1] <= '9')
		length--;
	out[length] = '\0';
}

/* For a person, after "found by". */
static const char *found_by(const struct live_inside *in)
{
	static const char *const words[] = {
		[RANK_NONE] = "a scope that repeats",
		[RANK_WORK] = "the name of a scope",
		[RANK_LOADER] = "PyTorch's loader",
		[RANK_OPTIMIZER] = "PyTorch's optimizer",
		[RANK_STEP] = "the name of a scope",
		[RANK_PROFILER] = "the marks of PyTorch's profiler",
		[RANK_ASKED] = "the name that --step says",
		[RANK_REPEATED] = "the repetition of operators",
	};

	return in->anchor->rank == RANK_REPEATED && in->repeats.calls ? "the repetition of calls" : words[in->anchor->rank];
}

static void fill_figures(struct live_inside *in, uint64_t ticks, struct live_steps *out)
{
	const struct inside_series *s = in->anchor;
	double times[STEPS_KEPT], last = NAN;
	uint32_t count = step_times(in, times, &last);

	copy_stem(in, out->name, sizeof out->name);
	out->known = true;
	out->pid = s->pid;
	out->tid = s->tid;
	out->last_s = last;
	out->median_s = count ? times[count / 2] : NAN;
	out->p95_s = count ? times[(count * 95 - 1) / 100 < count ? (count * 95 - 1) / 100 : count - 1] : NAN;
	snprintf(out->found, sizeof out->found, "%s", found_by(in));
	out->since_s = s->partly ? NAN : fmax(0, (double)(int64_t)(ticks - s->begins[place_in(s->count - 1)]) / in->rate);
	out->begin_s = (double)((int64_t)s->begins[place_in(s->count - 1)] - in->options.start_ticks) / in->rate;
	out->rate = rate_of(in, ticks, isnan(out->median_s) ? 0 : out->median_s, out->since_s);
	out->input_wait = input_wait(in);
}

void inside_steps_fill(struct live_inside *in, uint64_t ticks, struct live_snapshot *s)
{
	double median = NAN, times[STEPS_KEPT], last;
	uint32_t count = in->anchor ? step_times(in, times, &last) : 0;

	median = count ? times[count / 2] : 0;
	in->open = count_open(in, s);
	inside_repeats_choose(in);
	choose_anchor(in, ticks, median);
	s->steps.count = in->steps;
	s->steps.sum_s = in->sum_s;
	s->steps.input_sum_s = in->input_sum_s;
	memcpy(s->steps.buckets, in->buckets, sizeof s->steps.buckets);
	if (!in->anchor)
		inside_repeats_trouble(in, ticks, s->steps.trouble, sizeof s->steps.trouble);
	if (!in->anchor)
		return;
	fill_figures(in, ticks, &s->steps);
	look_at_thread(in, ticks, s);
	if (in->done_fresh)
		show_slices(in);
	memcpy(s->slices, in->done, in->done_count * sizeof *in->done);
	s->slice_count = in->done_count;
	s->slices_left_out = in->done_left_out;
}
