/*
 * detail.c - see detail.h.
 *
 * A thread has credit: a two-hundredth of its processor time, and half as much of the time that it waits, less what its calls
 * took to record, never more than CREDIT_NS.  When that is used up, the next level leaves out more; where a level has taken little
 * for a while, the one before it is tried again, and less often the more often that was in vain.  Programs that make less than a
 * few hundred thousand calls never get there.
 *
 * A call that is left out costs hardly less than one that is recorded, if it has to come through the hook all the same.  It is not
 * paid for: no level would help a function that never returns and makes too many of them.
 */
#include "detail.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUDGET 200u          /* one part in so many of the time that it runs, */
#define BUDGET_IDLE 400u     /* and that it waits */
#define COMFORT 3u           /* the part of it that leaves room for more */
#define EVENT_NS 120u        /* what one end of a call takes where it is in the way of other things */
#define PASSED_NS 15u        /* what a call takes that only comes through the hook */
#define CREDIT_NS 20000000   /* what may be used at once */
#define STEP_NS 500000       /* what a level has before the next one is taken */
#define TRY_NS 2000000       /* and one that is tried again */
#define PATIENCE_NS 500000000u
#define PATIENCE_MAX_NS (128u * (uint64_t)PATIENCE_NS)

/* Levels: 0 all; then functions below 2, 4, ... 1,024 us are short, and those below a 1,024th of that are left out; then those
 * below 2, 4, 8 us. */
#define SHORT_LEVELS 10u
#define LEVELS (SHORT_LEVELS + 3u)
#define SHORT_NS(level) (1000u << (level))
#define NONE_NS(level) (SHORT_NS(level) >> 10)
#define GONE_LEVEL 7u        /* whatever is longer than what is short there may be seen: it is too rare to matter */

#define QUIET_NS 2000000     /* a thread that has not called anything for so long is idle */

#define UNIT_SHIFT 4         /* ticks, of the times in detail_typical */
#define FIRST_GUESS_NS 256000 /* before anything is known; so that it takes some calls until a function is short */
#define WEIGHT_SHIFT 4       /* of a call among those before it */
#define DEPTHS 128u          /* calls that are nested deeper are not looked at */
#define LOOK_SLOTS 512u      /* that are looked at, of a chunk, when a level has lasted for a while */
#define LEFT_OUT_LOOK 4096u  /* calls that are left out, after which it is time to look as well */

uint32_t detail_typical[NAME_LIMIT];
uint16_t detail_inside[NAME_LIMIT];

static struct {
	uint32_t names; /* what is known by name is zero from here on */
	uint64_t ticks, ns;
} since;

struct detail {
	uint32_t generation; /* of the session that all this is about */
	uint32_t level;
	uint64_t produced; /* slots that have been looked at */
	uint64_t ns;       /* when that was, */
	uint64_t cpu_ns;   /* and the processor time until then */
	int64_t credit;
	uint64_t spent, earned, span; /* at this level */
	uint64_t patience;    /* the span after which the level before is tried again */
	bool tried;           /* this level is such a try */
	struct {
		uint64_t time;
		uint32_t name; /* NAME_NONE: not a call, or not known */
	} open[DEPTHS];
};

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now = { 0, 0 };

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void detail_start(void)
{
	memset(detail_typical, 0, since.names * sizeof detail_typical[0]);
	memset(detail_inside, 0, since.names * sizeof detail_inside[0]);
	since.names = 0;
	tracer.starts++;
	since.ticks = clock_ticks(tracer.rt->clock);
	since.ns = read_ns(CLOCK_MONOTONIC);
}

void detail_free(struct detail *detail)
{
	free(detail);
}

/* ---- How long calls take ---------------------------------------------------------- */

static uint32_t units_of(uint64_t ticks)
{
	uint64_t units = ticks >> UNIT_SHIFT;

	return units < UINT32_MAX / 2 ? (uint32_t)units : UINT32_MAX / 2;
}

/* By the two clocks since the start, which is long ago when anybody asks. */
static uint32_t units_of_ns(uint64_t ns, uint64_t now)
{
	uint64_t ticks = clock_ticks(tracer.rt->clock) - since.ticks;

	return now > since.ns ? units_of((uint64_t)((double)ns * (double)ticks / (double)(now - since.ns))) : 0;
}

/* What it was, and the newest, which counts for a sixteenth. */
static uint32_t average(uint32_t before, uint32_t newest)
{
	int64_t change = ((int64_t)newest - before) / (1 << WEIGHT_SHIFT);

	if (change == 0 && newest < before)
		change = -1;
	return (uint32_t)(before + change);
}

static void know(uint32_t name)
{
	if (name >= since.names)
		since.names = name + 1;
}

/* A first call that took longer than the guess is all that is known: one that is long may not be seen again for a while, since its
 * begin and its end are far apart, and would be taken for short until then. */
static uint32_t first(uint32_t units, uint32_t guess)
{
	return units > guess ? units + 1 : average(guess + 1, units + 1);
}

/* Other threads may do the same at once: one of them wins. */
static void learn(uint32_t name, uint32_t units, uint32_t first_guess)
{
	uint32_t typical = __atomic_load_n(&detail_typical[name], __ATOMIC_RELAXED);

	__atomic_store_n(&detail_typical[name], typical ? average(typical, units + 1) : first(units, first_guess), __ATOMIC_RELAXED);
	know(name);
}

void detail_learn_inside(uint32_t id, uint32_t calls)
{
	uint32_t newest = calls < UINT16_MAX >> WEIGHT_SHIFT ? calls << WEIGHT_SHIFT : UINT16_MAX;

	detail_inside[id] = (uint16_t)(detail_inside[id] ? average(detail_inside[id], newest) : newest);
	know(id);
}

struct look {
	uint32_t first_guess;
	uint64_t calls; /* begins and ends */
};

static void look_at(struct detail *d, const slot_word *slot, struct look *look)
{
	uint64_t time = atomic_load_explicit(slot, memory_order_relaxed), rest = atomic_load_explicit(slot + 3, memory_order_relaxed);
	uint32_t name = (uint32_t)atomic_load_explicit(slot + 2, memory_order_relaxed);
	uint32_t depth = (uint32_t)(rest >> 16) & 0xffff, kind = (uint32_t)(rest >> 32) & 0xff;
	uint32_t phase = EVENT_FLAGS_PHASE((uint32_t)(rest >> 48));
	bool call = kind == EVENT_CPU_CALL;

	look->calls += call;
	if (depth >= DEPTHS || !(rest >> 48 & EVENT_FLAG_THREAD))
		return;
	if (phase == PHASE_BEGIN) {
		d->open[depth].time = time;
		d->open[depth].name = call && name >= NAME_FIRST && name < NAME_LIMIT ? name : NAME_NONE;
	} else if (phase == PHASE_END) {
		if (call && d->open[depth].name != NAME_NONE && time >= d->open[depth].time)
			learn(d->open[depth].name, units_of(time - d->open[depth].time), look->first_guess);
		d->open[depth].name = NAME_NONE;
	}
}

static uint32_t extra_of(const slot_word *slot)
{
	return (uint32_t)(atomic_load_explicit(slot + 3, memory_order_relaxed) >> 40) & 0xff;
}

/* The newest of what this thread has written since the last time.  How many of all these slots are of calls. */
static uint64_t look_at_slots(struct detail *d, const struct ring_producer *p, uint64_t now)
{
	uint64_t base = p->process->chunk_states[p->newest].base, from = d->produced, all = p->produced - from;
	const slot_word *slots = layout_chunk(p->process->map, p->process->chunk_offset, p->newest);
	struct look look = { .first_guess = units_of_ns(FIRST_GUESS_NS, now) };

	if (from < base)
		from = base;
	if (from >= p->produced || p->produced - base > CHUNK_SLOTS)
		return 0;
	if (d->span > PATIENCE_NS && p->produced - from > LOOK_SLOTS)
		from = p->produced - LOOK_SLOTS;
	if (from != d->produced) /* what was open then may have ended */
		memset(d->open, 0, sizeof d->open);
	for (uint64_t i = from - base; i < p->produced - base; i += 1 + extra_of(slots + 4 * i)) /* the first may be part of another */
		look_at(d, slots + 4 * i, &look);
	return look.calls * all / (p->produced - from);
}

/* ---- How much is recorded ---------------------------------------------------------- */

/* There are functions below that of which not all was recorded. */
static void tell_below(struct tracer_thread *me, uint64_t ns, uint64_t now)
{
	_Atomic uint64_t *short_ns = &me->t->producer->process->header->short_ns;

	if (ns > atomic_load_explicit(short_ns, memory_order_relaxed))
		atomic_store_explicit(short_ns, ns, memory_order_relaxed);
	me->told_below = units_of_ns(ns, now);
}

static void set_level(struct tracer_thread *me, uint32_t level, uint64_t now)
{
	struct detail *d = me->detail;
	uint64_t below = level == 0 ? 0 : SHORT_NS(level < SHORT_LEVELS ? level : SHORT_LEVELS);

	tracer.quiet = (uint64_t)units_of_ns(QUIET_NS, now) << UNIT_SHIFT;
	d->level = level;
	d->spent = d->earned = d->span = 0;
	me->short_below = units_of_ns(below, now);
	me->none_below = level > 0 ? units_of_ns(NONE_NS(level), now) : 0;
	me->gone_below = level < GONE_LEVEL ? me->short_below : units_of_ns(SHORT_NS(GONE_LEVEL), now);
	me->dense_below = units_of_ns(SHORT_NS(SHORT_LEVELS), now);
	tell_below(me, below, now);
}

static void record_less(struct tracer_thread *me, uint64_t now)
{
	struct detail *d = me->detail;

	if (d->tried && d->patience < PATIENCE_MAX_NS)
		d->patience *= 2;
	d->tried = false;
	d->credit = STEP_NS;
	if (d->level < LEVELS)
		set_level(me, d->level + 1, now);
}

/* As much as it may be that there is room for, if each level takes twice as much as the next. */
static void record_more(struct tracer_thread *me, uint64_t now)
{
	struct detail *d = me->detail;
	uint32_t level = d->level - 1;

	for (uint64_t guess = 2 * (d->spent + 1); level > 0 && guess < d->earned / COMFORT; guess *= 2)
		level--;
	d->tried = true;
	d->credit = TRY_NS;
	set_level(me, level, now);
	tracer_hook_reopen();
}

/* A new thread, or a new session for it. */
static bool begin(struct tracer_thread *me, uint64_t now)
{
	struct detail *d = me->detail;

	if (!d)
		d = me->detail = malloc(sizeof *d);
	if (!d)
		return false;
	*d = (struct detail){ .generation = me->t->generation, .ns = now, .cpu_ns = read_ns(CLOCK_THREAD_CPUTIME_ID),
			      .credit = CREDIT_NS, .patience = PATIENCE_NS,
			      .produced = me->t->producer->process->chunk_states[me->t->producer->newest].base };
	me->short_below = me->none_below = 0;
	return true;
}

/* What the time since the last look allows. */
static uint64_t earn(struct detail *d, uint64_t now)
{
	uint64_t cpu_ns = read_ns(CLOCK_THREAD_CPUTIME_ID), span = now - d->ns, ran = cpu_ns - d->cpu_ns;

	ran = ran < span ? ran : span;
	d->span += span;
	d->ns = now;
	d->cpu_ns = cpu_ns;
	return ran / BUDGET + (span - ran) / BUDGET_IDLE;
}

void detail_look(struct tracer_thread *me)
{
	const struct ring_producer *p = me->t->producer;
	uint64_t now, cost, earned;
	struct detail *d;

	if (tracer.options.full || tracer.greenlets || me->t->generation != tracer.rt->generation || me->epoch != me->t->epoch ||
	    !p->shared || p->chunk_count == 0)
		return;
	now = read_ns(CLOCK_MONOTONIC);
	if ((!me->detail || me->detail->generation != me->t->generation || p->produced < me->detail->produced) && !begin(me, now))
		return;
	d = me->detail;
	cost = look_at_slots(d, p, now) * EVENT_NS + me->passed * PASSED_NS;
	me->passed = 0;
	d->produced = p->produced;
	earned = earn(d, now);
	d->spent += cost;
	d->earned += earned;
	d->credit += (int64_t)earned - (int64_t)cost;
	if (d->credit > CREDIT_NS)
		d->credit = CREDIT_NS;
	if (d->credit < 0)
		record_less(me, now);
	else if (d->level > 0 && d->span > d->patience && d->spent < d->earned / COMFORT)
		record_more(me, now);
}

/* ---- What is said of it -------------------------------------------------------------- */

static struct ring_header *shared_of(const struct tracer_thread *me)
{
	return me->t->generation == tracer.rt->generation ? me->t->producer->shared : NULL;
}

static void count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* One that is not short, but makes many calls. */
static __attribute__((noinline)) void tell_dense(struct tracer_thread *me, uint32_t id)
{
	uint64_t now = read_ns(CLOCK_MONOTONIC), ns = SHORT_NS(1);

	while (ns < SHORT_NS(SHORT_LEVELS) && detail_length(id) >= units_of_ns(ns, now))
		ns *= 2;
	tell_below(me, ns, now);
}

void detail_count_short(struct tracer_thread *me, uint32_t id)
{
	struct ring_header *shared = shared_of(me);

	if (!shared)
		return;
	count(&shared->short_calls);
	if (INFERSCOPE_UNLIKELY(detail_length(id) >= me->told_below))
		tell_dense(me, id);
}

void detail_count_left_out(struct tracer_thread *me)
{
	struct ring_header *shared = shared_of(me);

	if (shared)
		count(&shared->left_out);
	if (++me->left_out % LEFT_OUT_LOOK == 0) /* there may be nothing else that would fill a chunk */
		detail_look(me);
}
