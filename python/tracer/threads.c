/*
 * threads.c - each thread's part, and all that is not fast.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "detail.h"
#include "frames.h"

#define WALK_MAX 4096u /* frames that were open before we came */

__thread struct tracer_thread *tracer_thread __attribute__((tls_model("initial-exec")));

static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;

static void thread_free(void *arg)
{
	struct tracer_thread *me = arg;

	tracer_thread = NULL; /* a destructor that runs Python code after us makes another */
	free(me->frames);
	detail_free(me->detail);
	free(me);
}

/* A child may spend its life inside the function that forked it, and that may be one that is not looked into. */
static void look_again(void)
{
	if (!tracer_thread || !tracer_thread->shut)
		return;
	tracer_thread->shut = 0;
	if (tracer.on)
		tracer_hook_again();
}

static void make_exit_key(void)
{
	(void)pthread_key_create(&exit_key, thread_free);
	(void)pthread_atfork(NULL, NULL, look_again);
}

/*
 * With the frame hook every Python call is a C call too.  What works without us to any depth would end in a crash with
 * us, so where half of the stack is used the hook is off (a quarter before 3.11, where calls use the stack in any case):
 * the rest stays for the program.  How much there is can change: the main thread's is what the limit allows when it gets
 * there, so it is looked at again every STEP bytes.
 */
#define STEP (512u << 10)

static uintptr_t lowest_address(void)
{
	pthread_attr_t attributes;
	void *base = NULL;
	size_t size = 0;

	if (pthread_getattr_np(pthread_self(), &attributes) != 0)
		return UINTPTR_MAX;
	(void)pthread_attr_getstack(&attributes, &base, &size);
	(void)pthread_attr_destroy(&attributes);
	return (uintptr_t)base + (PY_VERSION_HEX < 0x030b0000 ? size / 4 * 3 : size / 2);
}

bool tracer_has_stack(struct tracer_thread *me)
{
	uintptr_t here = emit_here(), lowest = lowest_address();

	if (here < lowest)
		return false;
	me->stack_low = here - lowest > STEP ? here - STEP : lowest;
	return true;
}

struct tracer_thread *tracer_thread_make(void)
{
	struct tracer_thread *me = calloc(1, sizeof *me);

	if (!me)
		return NULL;
	pthread_once(&exit_once, make_exit_key);
	(void)pthread_setspecific(exit_key, me);
	me->t = tracer.inside->thread();
	me->epoch = me->t->epoch - 1; /* whatever is open already is said with the first call */
	me->stack_low = BEFORE_312 ? UINTPTR_MAX : 0; /* looked at with the first call */
	tracer_thread = me;
	return me;
}

/* ---- What was open before us -------------------------------------------------- */

/* The thread's track is new (a forked child, another session): what is open is said again. */
static void catch_up(struct tracer_thread *me, bool without_innermost)
{
	struct frame_entry *entries = tracer.on ? malloc(WALK_MAX * sizeof *entries) : NULL;
	size_t count = entries ? frames_walk(entries, WALK_MAX) : 0, first = without_innermost;

	me->epoch = me->t->epoch;
	me->inherited = 0;
	if (me->t->depth > 0) /* others were first: too late */
		count = 0;
	free(me->frames);
	me->frames = BEFORE_312 && count ? calloc(count, sizeof *me->frames) : NULL;
	while (count-- > first) {
		uintptr_t extra = entries[count].extra;

		if (extra & CODE_SKIP)
			continue;
		if (me->frames)
			me->frames[me->inherited++] = entries[count].frame;
		emit_begin(tracer.rt, me->t, EVENT_CPU_CALL, CODE_NAME(extra));
	}
	free(entries);
}

/* Is a chunk full?  Then it is time to look how much is recorded. */
static void look_at_chunk(struct tracer_thread *me)
{
	if (me->t->producer->cursor == me->t->producer->end)
		detail_look(me);
}

void tracer_begin_slow(struct tracer_thread *me, uint32_t kind, uint32_t id, bool in_frame)
{
	struct runtime_thread *t = me->t;
	slot_word *slot;

	if (!emit_enter(tracer.rt, t))
		return;
	look_at_chunk(me);
	slot = emit_room(tracer.rt, t); /* which finds out whether the track is new */
	if (me->epoch != t->epoch) {
		catch_up(me, in_frame);
		slot = emit_room(tracer.rt, t);
	}
	emit_slot(tracer.rt, t, slot, kind, EVENT_FLAGS(PHASE_BEGIN, 0, 0), id, 0, emit_depth(t->depth), 0);
	emit_opened(t, kind, id);
	emit_leave(t);
}

void tracer_settle(struct tracer_thread *me)
{
	if (INFERSCOPE_LIKELY(me->t->generation == tracer.rt->generation && me->t->epoch == me->epoch) ||
	    !emit_enter(tracer.rt, me->t))
		return;
	(void)emit_room(tracer.rt, me->t);
	if (me->epoch != me->t->epoch)
		catch_up(me, false);
	emit_leave(me->t);
}

void tracer_forget_stack(void)
{
	struct tracer_thread *me = tracer_thread ? tracer_thread : tracer_thread_make();

	if (!me || !emit_enter(tracer.rt, me->t))
		return;
	(void)emit_room(tracer.rt, me->t); /* so that the epoch is that of this session */
	me->epoch = me->t->epoch;
	me->inherited = 0;
	emit_leave(me->t);
}

/* Slices from `depth` on have ended without our being told. */
static void end_down_to(struct tracer_thread *me, uint32_t depth)
{
	while (me->t->depth > depth) {
		slot_word *slot = emit_room(tracer.rt, me->t);

		if (me->epoch != me->t->epoch) { /* the track is new, and nothing is open on it */
			catch_up(me, false);
			return;
		}
		emit_end_innermost(tracer.rt, me->t, slot, EVENT_CPU_CALL);
	}
	me->inherited = depth;
}

/* A call that no call of ours surrounds comes from an inherited frame: from the innermost that is still there. */
void tracer_check_inherited(struct tracer_thread *me, const void *caller)
{
	uint32_t depth = me->inherited;

	for (; caller; caller = frame_back(caller))
		for (uint32_t i = depth; i-- > 0;)
			if (me->frames[i] == caller) {
				if (i + 1 < depth && emit_enter(tracer.rt, me->t)) {
					end_down_to(me, i + 1);
					emit_leave(me->t);
				}
				return;
			}
	if (emit_enter(tracer.rt, me->t)) {
		end_down_to(me, 0);
		emit_leave(me->t);
	}
}

/* ---- Ends that do not fit ------------------------------------------------------ */

void tracer_end_slow(struct tracer_thread *me, uint32_t kind, uint32_t id, bool in_frame)
{
	slot_word *slot;

	if (!emit_enter(tracer.rt, me->t))
		return;
	look_at_chunk(me);
	slot = emit_room(tracer.rt, me->t);
	if (me->epoch == me->t->epoch) {
		(void)emit_end_with(tracer.rt, me->t, OPEN_ENTRY(kind, id), slot);
	} else {
		catch_up(me, false);
		if (in_frame) /* otherwise the frame has gone, and what was said is right without it */
			(void)emit_end(tracer.rt, me->t, OPEN_ENTRY(kind, id));
	}
	if (me->t->depth < me->inherited)
		me->inherited = me->t->depth;
	emit_leave(me->t);
}

void tracer_count_skipped(struct tracer_thread *me)
{
	struct ring_header *shared = me->t->generation == tracer.rt->generation ? me->t->producer->shared : NULL;

	me->skipped++;
	if (!shared)
		return;
	atomic_store_explicit(&shared->skipped, atomic_load_explicit(&shared->skipped, memory_order_relaxed) + me->skipped,
			      memory_order_relaxed);
	me->skipped = 0;
}

/* A `lost` event of which nobody knows how many it stands for: calls since `from` were not seen, in any thread. */
void tracer_unseen(struct tracer_thread *me, uint64_t from)
{
	struct runtime_thread *t = me->t;
	uint8_t fields[32] = { 22, 0, FIELD_COUNT, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, FIELD_REASON, 8, 0, LOST_UNSEEN };
	uint64_t words[4], duration = clock_ticks(tracer.rt->clock) - from;
	slot_word *slot;

	if (!emit_enter(tracer.rt, t))
		return;
	slot = emit_room(tracer.rt, t) ? tracer.rt->slow.group(t, 2) : NULL;
	if (slot) {
		ring_slot_write(slot, from, duration, 0,
				ring_word_rest(EVENT_CPU_UNKNOWN, 0, EVENT_LOST, 1,
					       EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0)));
		memcpy(words, fields, sizeof words);
		ring_slot_write(slot + 4, words[0], words[1], words[2], words[3]);
		ring_publish_group(t->producer, 2, 1);
	}
	emit_leave(t);
}
