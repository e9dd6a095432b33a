/*
 * emit.h - one event, as fast as it gets: one clock read and a few stores.
 *
 * For everything that records inside the profiled process: the calls of
 * include/inferscope.h, the doors beside it here, and the extensions of
 * language runtimes, which get `struct runtime` through inferscope_inside().
 *
 *      if (!emit_enter(rt, t))
 *              return;
 *      slot = emit_room(rt, t);
 *      emit_slot(rt, t, slot, ...);
 *      emit_leave(t);
 *
 * A call that finds the thread inside another one (it comes from a signal
 * handler) is refused and counted: the slot at the cursor belongs to the call
 * that was interrupted.
 */
#ifndef RUNTIME_EMIT_H
#define RUNTIME_EMIT_H

#include "runtime/runtime.h"

/* Where this thread's stack is.  Not __builtin_frame_address(), which would cost every caller a frame pointer. */
static inline uintptr_t emit_here(void)
{
#if defined(__x86_64__)
	uintptr_t here;

	__asm__("mov %%rsp, %0" : "=r"(here));
	return here;
#else
	return (uintptr_t)__builtin_frame_address(0);
#endif
}

static inline bool emit_enter(const struct runtime *rt, struct runtime_thread *t)
{
	uintptr_t here = emit_here();

	if (INFERSCOPE_UNLIKELY(t->busy) && !rt->slow.reenter(t, here))
		return false;
	t->busy = here;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static inline void emit_leave(struct runtime_thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = 0;
}

/* Where the next slot goes, or NULL: refused, and counted.  Before the depth is looked at: in a forked child, and in
 * another session, it starts from 0. */
static inline slot_word *emit_room(const struct runtime *rt, struct runtime_thread *t)
{
	slot_word *slot;

	if (INFERSCOPE_UNLIKELY(t->generation != rt->generation))
		return rt->slow.refill(t);
	slot = t->producer->cursor;
	if (INFERSCOPE_UNLIKELY(slot == t->producer->end))
		slot = rt->slow.refill(t);
	return slot;
}

static inline uint32_t emit_depth(uint32_t depth)
{
	return depth < EVENT_DEPTH_UNMATCHED ? depth : EVENT_DEPTH_UNMATCHED - 1;
}

static inline void emit_slot(const struct runtime *rt, struct runtime_thread *t, slot_word *slot, uint32_t kind, uint32_t flags,
			     uint32_t name, uint32_t aux, uint32_t depth, uint64_t value)
{
	if (INFERSCOPE_UNLIKELY(!slot))
		return;
	ring_slot_write(slot, clock_ticks(rt->clock), value, ring_word_names(name, aux),
			ring_word_rest((uint32_t)*t->cpu, depth, kind, 0, flags | EVENT_FLAG_THREAD));
	ring_publish(t->producer, 1);
}

/* A slice has begun: it is open, and counts, whether or not there was room for its event. */
static inline void emit_opened(struct runtime_thread *t, uint32_t kind, uint32_t name)
{
	if (INFERSCOPE_LIKELY(t->depth < t->open_limit))
		t->open[t->depth] = OPEN_ENTRY(kind, name);
	t->depth++;
}

/* A slice of this thread begins, around all that comes until its end. */
static inline void emit_begin(const struct runtime *rt, struct runtime_thread *t, uint32_t kind, uint32_t name)
{
	slot_word *slot = emit_room(rt, t);

	emit_slot(rt, t, slot, kind, EVENT_FLAGS(PHASE_BEGIN, 0, 0), name, 0, emit_depth(t->depth), 0);
	emit_opened(t, kind, name);
}

/* The innermost slice ends. */
static inline void emit_end_innermost(const struct runtime *rt, struct runtime_thread *t, slot_word *slot, uint32_t kind)
{
	emit_slot(rt, t, slot, kind, EVENT_FLAGS(PHASE_END, 0, 0), NAME_NONE, 0, emit_depth(t->depth - 1), 0);
	t->depth--;
}

/* The innermost slice that is open as this entry ends; see runtime.h for those inside it.  False: there is none. */
static inline bool emit_end_with(const struct runtime *rt, struct runtime_thread *t, uint32_t entry, slot_word *slot)
{
	if (INFERSCOPE_UNLIKELY(t->depth - 1 >= t->open_limit || t->open[t->depth - 1] != entry))
		return rt->slow.end(t, entry, slot);
	emit_end_innermost(rt, t, slot, OPEN_KIND(entry));
	return true;
}

static inline bool emit_end(const struct runtime *rt, struct runtime_thread *t, uint32_t entry)
{
	return emit_end_with(rt, t, entry, emit_room(rt, t));
}

#endif
