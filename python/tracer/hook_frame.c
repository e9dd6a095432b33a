/*
 * hook_frame.c - CPython 3.9 to 3.11: every Python call goes through our frame evaluation function (PEP 523).
 *
 * It costs a quarter of what a profile function does, covers all threads at
 * once, and leaves sys.setprofile() to others.  Generators come through it once
 * for each resumption.  Its price is that each Python call is a C call too, so
 * it must be off when the C stack gets short (threads.c).
 *
 * Dynamo (torch.compile) uses the same slot, and calls what it found there: we
 * must be there first, and never put ourselves on top of it.
 */
#include "interpreter_frame.h"

#include "calls.h"
#include "detail.h"
#include "frames.h"
#include "subscripts.h"

#if BEFORE_312

/* What the slot had before us: the interpreter's own function, always, since we do not install on top of others. */
#define evaluate _PyEval_EvalFrameDefault

static PyObject *hook(PyThreadState *ts, FRAME *frame, int throwing);

static bool slot_is(PyInterpreterState *interpreter, _PyFrameEvalFunction function)
{
	return _PyInterpreterState_GetEvalFrameFunc(interpreter) == function;
}

/* The stack gets short.  Without the hook Python calls cost none of it, in any thread; what we miss is said. */
static __attribute__((noinline)) PyObject *evaluate_unseen(PyThreadState *ts, FRAME *frame, int throwing, struct tracer_thread *me)
{
	PyInterpreterState *interpreter = ts->interp;
	uint64_t from = clock_ticks(tracer.rt->clock);
	PyObject *result;

	if (!slot_is(interpreter, hook)) /* Dynamo's is on top: it is not ours to take away */
		return evaluate(ts, frame, throwing);
	_PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
	result = evaluate(ts, frame, throwing);
	if (tracer.on && slot_is(interpreter, evaluate))
		_PyInterpreterState_SetEvalFrameFunc(interpreter, hook);
	tracer_unseen(me, from);
	return result;
}

/* All that a call needs once: the thread's state, the function's name, a name from its first argument. */
static __attribute__((noinline)) uintptr_t prepare(FRAME *frame, uintptr_t extra)
{
	uint32_t id;

	if (!tracer_thread && !tracer_thread_make())
		return 0;
	if (!code_is_known(extra))
		extra = tracer_first_sight(frame->f_code, frame->f_globals, frame_first_local(frame));
	if (extra & CODE_SPECIAL) {
		id = tracer_special(extra, frame_first_local(frame));
		if (id)
			extra = (extra & (CODE_FILTER | CODE_FLAGS)) | (uintptr_t)id << CODE_SHIFT;
	}
	return extra;
}

/* What it calls costs nothing, as if we were not there.  Should another thread have run meanwhile, what that called was not seen,
 * and is said. */
static PyObject *evaluate_unhooked(PyThreadState *ts, FRAME *frame, int throwing, struct tracer_thread *me)
{
	PyInterpreterState *interpreter = ts->interp;
	unsigned long turns = lock_turns();
	uint64_t from = detail_is_alone() ? 0 : clock_ticks(tracer.rt->clock);
	PyObject *result;

	_PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
	result = evaluate(ts, frame, throwing);
	if (tracer.on && slot_is(interpreter, evaluate))
		_PyInterpreterState_SetEvalFrameFunc(interpreter, hook);
	if (INFERSCOPE_UNLIKELY(from && lock_turns() != turns)) {
		tracer_unseen(me, from);
		detail_surprise(me);
	}
	return result;
}

/* What a short function calls is not recorded. */
static __attribute__((noinline)) PyObject *evaluate_short(PyThreadState *ts, FRAME *frame, int throwing, struct tracer_thread *me)
{
	bool unhook = !tracer.keep_hook && slot_is(ts->interp, hook) && (detail_is_quiet(me) || detail_is_alone());
	PyObject *result;

	me->shut = 1;
	result = unhook ? evaluate_unhooked(ts, frame, throwing, me) : evaluate(ts, frame, throwing);
	me->shut = 0;
	return result;
}

/* Is it worth looking into? */
static __attribute__((noinline)) PyObject *evaluate_counting(PyThreadState *ts, FRAME *frame, int throwing, struct tracer_thread *me,
							     uint32_t id)
{
	uint32_t around = me->inside;
	PyObject *result;

	me->inside = 0;
	result = evaluate(ts, frame, throwing);
	detail_learn_inside(id, me->inside);
	me->inside = around;
	return result;
}

static inline PyObject *evaluate_between(PyThreadState *ts, FRAME *frame, int throwing, struct tracer_thread *me, uint32_t id)
{
	PyObject *result;

	me->inside++;
	if (detail_leaves_out(me, id)) {
		detail_count_left_out(me);
		return evaluate_short(ts, frame, throwing, me);
	}
	call_begin(me, EVENT_CPU_CALL, id, false);
	if (detail_is_short(me, id)) {
		detail_count_short(me, id);
		result = evaluate_short(ts, frame, throwing, me);
	} else if (INFERSCOPE_UNLIKELY(me->short_below)) {
		result = evaluate_counting(ts, frame, throwing, me, id);
	} else {
		result = evaluate(ts, frame, throwing);
	}
	call_end(me, EVENT_CPU_CALL, id, false);
	return result;
}

/* With all that is known of the function. */
static PyObject *evaluate_known(PyThreadState *ts, FRAME *frame, int throwing, struct tracer_thread *me, uintptr_t extra)
{
	if (emit_here() < me->stack_low && !tracer_has_stack(me))
		return evaluate_unseen(ts, frame, throwing, me);
	if (me->shut) {
		me->passed++;
		return evaluate(ts, frame, throwing);
	}
	if ((extra & CODE_GENERATOR) && !frame_runs_generator(frame, throwing))
		return evaluate(ts, frame, throwing);
	if (tracer.options.c_calls && !ts->c_profilefunc)
		tracer_profile_here();
	if (extra & CODE_SKIP) {
		tracer_count_skipped(me);
		me->inside++;
		return evaluate(ts, frame, throwing);
	}
	if (me->inherited && me->inherited == me->t->depth)
		tracer_check_inherited(me, frame_current(ts));
	return evaluate_between(ts, frame, throwing, me, CODE_NAME(extra));
}

static __attribute__((noinline)) PyObject *hook_slow(PyThreadState *ts, FRAME *frame, int throwing, uintptr_t extra)
{
	PyObject *result, *namespace;

	if (!tracer_thread || !code_is_known(extra) || (extra & CODE_SPECIAL))
		extra = prepare(frame, extra);
	if (!tracer_thread || !extra || !tracer.on)
		return evaluate(ts, frame, throwing);
	if (!(extra & CODE_SUBSCRIPT))
		return evaluate_known(ts, frame, throwing, tracer_thread, extra);
	namespace = subscripts_enter(frame);
	result = evaluate_known(ts, frame, throwing, tracer_thread, extra);
	subscripts_leave(namespace);
	return result;
}

static PyObject *hook(PyThreadState *ts, FRAME *frame, int throwing)
{
	struct tracer_thread *me = tracer_thread;
	uintptr_t extra = code_extra(frame->f_code);

	if (INFERSCOPE_LIKELY(me && code_is_plain(extra) && tracer.plain && !me->shut && emit_here() >= me->stack_low &&
			      me->inherited != me->t->depth))
		return evaluate_between(ts, frame, throwing, me, CODE_NAME(extra));
	if (me && me->shut && code_is_plain(extra) && emit_here() >= me->stack_low) {
		me->passed++;
		return evaluate(ts, frame, throwing);
	}
	return hook_slow(ts, frame, throwing, extra);
}

int tracer_hook_install(struct tracer_state *state)
{
	(void)state;
	if (slot_is(tracer.interpreter, hook))
		return 0;
	if (!slot_is(tracer.interpreter, evaluate)) {
		tracer.inside->note("Python calls are recorded by a profile function, which is slower and misses threads that start "
				    "later, because something else evaluates frames (torch.compile?): start recording before it does");
		return tracer_profile_install_all();
	}
	_PyInterpreterState_SetEvalFrameFunc(tracer.interpreter, hook);
	return 0;
}

void tracer_hook_again(void)
{
	if (slot_is(tracer.interpreter, evaluate))
		_PyInterpreterState_SetEvalFrameFunc(tracer.interpreter, hook);
}

void tracer_hook_reopen(void)
{
}

void tracer_hook_remove(struct tracer_state *state)
{
	(void)state;
	if (slot_is(tracer.interpreter, hook))
		_PyInterpreterState_SetEvalFrameFunc(tracer.interpreter, evaluate);
	tracer_profile_remove_all();
}

#endif
