/*
 * detail.h - how much of a program's calls is recorded.
 *
 * To record a call takes some 120 ns at its begin and as much at its end, all that it disturbs included.  A program that calls
 * something every microsecond would pay a fifth of its time to know what its shortest functions do.  So each thread keeps
 * account of what recording takes it, and where that is more than half a per cent of its time it records less, from the short end:
 *
 *      a function whose calls are short is recorded, and nothing that it calls;
 *      where that does not do, the shortest are left out altogether.
 *
 * It is not how long a function takes that makes it dear to look into, but how many calls it makes meanwhile, recorded or not: one
 * that calls something every few microseconds counts as shorter than it is, unless it takes a millisecond.
 *
 * What usually takes long does not go missing, and the time of what is not recorded is that of the function around it.  How long
 * calls of a function take is read from the thread's own ring, a chunk at a time, so that a call costs no more for it.
 */
#ifndef TRACER_DETAIL_H
#define TRACER_DETAIL_H

#include "tracer.h"

/* How long calls take of late, by name: in units of detail.c, plus one; 0: not known. */
extern uint32_t detail_typical[NAME_LIMIT];

/* How many calls it makes itself, of late, that come through the frame hook: in sixteenths. */
extern uint16_t detail_inside[NAME_LIMIT];

#define DETAIL_FEW (8u * 16) /* that do not make a function count as shorter than it is */

static inline uint32_t detail_length(uint32_t id)
{
	return __atomic_load_n(&detail_typical[id], __ATOMIC_RELAXED) - 1;
}

/* Recorded, but nothing that it calls. */
static inline bool detail_is_short(const struct tracer_thread *me, uint32_t id)
{
	uint32_t length;

	if (INFERSCOPE_LIKELY(!me->short_below))
		return false;
	length = detail_length(id);
	return length < me->short_below ||
	       (length < me->dense_below && (uint64_t)DETAIL_FEW * length < (uint64_t)detail_inside[id] * me->short_below);
}

/* Where it is called by one that is short, it need not be seen by anybody. */
static inline bool detail_may_go(const struct tracer_thread *me, uint32_t id)
{
	return detail_length(id) < me->gone_below;
}

/* Not even recorded. */
static inline bool detail_leaves_out(const struct tracer_thread *me, uint32_t id)
{
	return INFERSCOPE_UNLIKELY(me->none_below) && detail_length(id) < me->none_below;
}

/* No other thread has called anything for a while. */
static inline bool detail_is_quiet(const struct tracer_thread *me)
{
	return tracer.last == me && me->begin - tracer.turn > tracer.quiet << 2 * me->surprises;
}

/* And yet one has run. */
static inline void detail_surprise(struct tracer_thread *me)
{
	tracer.turn = me->begin;
	me->surprises += me->surprises < 6;
}

/* Nor is there any. */
static inline bool detail_is_alone(void)
{
	return !PyThreadState_Next(PyInterpreterState_ThreadHead(tracer.interpreter));
}

/* A recording begins: nothing is known, all is recorded. */
void detail_start(void);

/* The ring has no room at hand: what has been written since the last time is looked at, and how much is to be recorded from now
 * on.  Before the next chunk is asked for. */
void detail_look(struct tracer_thread *me);

/* A call that was recorded, but nothing of what it called; one that was left out. */
void detail_count_short(struct tracer_thread *me, uint32_t id);
void detail_count_left_out(struct tracer_thread *me);

/* A call was recorded, and so many came through the hook that it made itself. */
void detail_learn_inside(uint32_t id, uint32_t calls);

void detail_free(struct detail *detail);

#endif
