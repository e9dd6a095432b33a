/*
 * calls.h - a call begins, a call ends: what happens millions of times a second.
 */
#ifndef TRACER_CALLS_H
#define TRACER_CALLS_H

#include "tracer.h"

/* The fast path: nobody is inside a call of ours, the session is the one we know, the stack has room and so has the chunk.
 * Then nothing can have happened to what we know of this thread.  False: nothing was done. */
static inline bool call_ready(const struct runtime *rt, const struct tracer_thread *me, uint32_t depth)
{
	struct runtime_thread *t = me->t;

	if (INFERSCOPE_UNLIKELY(t->busy || t->generation != rt->generation || t->epoch != me->epoch || depth >= t->open_limit))
		return false;
	t->busy = emit_here();
	atomic_signal_fence(memory_order_seq_cst);
	if (INFERSCOPE_LIKELY(t->producer->cursor != t->producer->end))
		return true;
	emit_leave(t);
	return false;
}

static inline uint64_t call_write(const struct runtime *rt, struct runtime_thread *t, uint32_t kind, uint32_t phase, uint32_t id,
				  uint32_t depth)
{
	uint64_t ticks = clock_ticks(rt->clock);

	ring_slot_write(t->producer->cursor, ticks, 0, id,
			ring_word_rest((uint32_t)*t->cpu, depth, kind, 0, EVENT_FLAGS(phase, 0, 0) | EVENT_FLAG_THREAD));
	ring_publish(t->producer, 1);
	return ticks;
}

/* in_frame: the frame that begins is already the current one. */
static inline __attribute__((always_inline)) void call_begin(struct tracer_thread *me, uint32_t kind, uint32_t id, bool in_frame)
{
	const struct runtime *rt = tracer.rt;
	struct runtime_thread *t = me->t;
	uint32_t depth = t->depth;

	if (INFERSCOPE_UNLIKELY(!call_ready(rt, me, depth))) {
		tracer_begin_slow(me, kind, id, in_frame);
		return;
	}
	me->begin = call_write(rt, t, kind, PHASE_BEGIN, id, depth);
	if (INFERSCOPE_UNLIKELY(tracer.last != me)) {
		tracer.last = me;
		tracer.turn = me->begin;
	}
	t->open[depth] = OPEN_ENTRY(kind, id);
	t->depth = depth + 1;
	emit_leave(t);
}

/* in_frame: the one that ends is still the current one. */
static inline __attribute__((always_inline)) void call_end(struct tracer_thread *me, uint32_t kind, uint32_t id, bool in_frame)
{
	const struct runtime *rt = tracer.rt;
	struct runtime_thread *t = me->t;
	uint32_t depth = t->depth - 1;

	if (INFERSCOPE_UNLIKELY(depth >= t->open_limit || t->open[depth] != OPEN_ENTRY(kind, id) || depth < me->inherited ||
				!call_ready(rt, me, depth))) {
		tracer_end_slow(me, kind, id, in_frame);
		return;
	}
	(void)call_write(rt, t, kind, PHASE_END, NAME_NONE, depth);
	t->depth = depth;
	emit_leave(t);
}

/* All that most functions are: known, and nothing special about them. */
static inline bool code_is_plain(uintptr_t extra)
{
	return (extra & (CODE_FILTER | CODE_FLAGS)) == tracer.known;
}

/* Has the filter at hand decided about it? */
static inline bool code_is_known(uintptr_t extra)
{
	return (extra & (CODE_FILTER | CODE_KNOWN)) == tracer.known;
}

/* The co_extra slots of a code object, as CPython lays them out in all releases that we know. */
static inline uintptr_t code_extra(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030e0000 || defined(Py_GIL_DISABLED)
	void *extra = NULL;

	(void)PyUnstable_Code_GetExtra((PyObject *)code, tracer.index, &extra);
	return (uintptr_t)extra;
#else
	struct {
		Py_ssize_t size;
		void *extras[];
	} const *slots = code->co_extra;

	return slots && slots->size > tracer.index ? (uintptr_t)slots->extras[tracer.index] : 0;
#endif
}

#endif
