/*
 * tracer.h - inferscope._tracer, the extension that records a Python program.
 *
 *      module.c        the module: what Python calls
 *      link.c          finds and loads libinferscope-rt.so
 *      functions.c     a code object seen for the first time: name, place, skip or not
 *      filter.c        which functions are left out
 *      cfunctions.c    names of functions written in C
 *      calls.h         a call begins, a call ends: the fast path
 *      detail.c        how much is recorded where there are too many calls
 *      threads.c       each thread's part, and all that is not fast
 *      hook_frame.c    CPython 3.9 to 3.11: frame evaluation (PEP 523)
 *      hook_monitor.c  CPython 3.12 and later: sys.monitoring (PEP 669)
 *      subscripts.c    3.11: what the frame hook would miss
 *      hook_profile.c  C calls, and what is left when the frame hook is taken, before 3.12
 *      objects.c       names taken from objects: nn.Module, Thread
 *      torch_itt.c     PyTorch's operators when the runtime's own way is barred
 *      scope.c         scope, mark_event, counter
 *      tasks.c         asyncio tasks and greenlets
 *      gc.c            garbage collections
 *      end.c           which interpreter it is, and the exception that ends the program
 *      metadata.c      Python values as MessagePack
 *      misuse.c        scope, mark_event and counter used wrongly: a warning, never an exception
 *
 * Everything runs in the profiled program: no exception of ours reaches it, an
 * exception of its own that is on its way stays, and nothing is allocated for
 * an event.
 */
#ifndef TRACER_TRACER_H
#define TRACER_TRACER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "runtime/inside.h"

#if PY_VERSION_HEX < 0x030a0000
static inline PyObject *Py_NewRef(PyObject *object)
{
	Py_INCREF(object);
	return object;
}
#endif

#define BEFORE_312 (PY_VERSION_HEX < 0x030c0000)

/*
 * What a code object is known by, in its co_extra slot: these flags, the number of its name, and which of the filters that
 * there have been decided.
 */
#define CODE_KNOWN 1u   /* not 0 */
#define CODE_SKIP 2u    /* left out */
#define CODE_MODULE 4u  /* the function through which an nn.Module is called */
#define CODE_THREAD 8u  /* the function in which a thread begins */
#define CODE_GENERATOR 16u /* a generator or coroutine, before 3.12: not every evaluation runs it */
#define CODE_PROFILER 32u /* the function in which PyTorch's own profiler begins */
#define CODE_SUBSCRIPT 64u /* in 3.11: a __getitem__ or the class of one, see subscripts.c */
#define CODE_IMPORT (CODE_THREAD | CODE_PROFILER) /* the function in which an import ends; no bit is left for it */
#define CODE_SPECIAL (CODE_MODULE | CODE_THREAD | CODE_PROFILER)
#define CODE_FLAGS 127u
#define CODE_SHIFT 7
#define CODE_NAME(extra) ((uint32_t)((extra) >> CODE_SHIFT) & (NAME_LIMIT - 1))
#define CODE_FILTER_SHIFT 24
#define CODE_FILTER 0xff000000u
_Static_assert(NAME_LIMIT << CODE_SHIFT <= 1u << CODE_FILTER_SHIFT, "a name fits");

struct tracer_options {
	bool calls;
	bool c_calls;
	bool ops;
	bool shapes;
	bool full;  /* all calls, whatever that takes */
	bool light; /* operators for a part of the time */
};

/* One for the process. */
struct tracer {
	const struct inferscope_inside *inside;
	const struct runtime *rt;
	struct tracer_options options;
	bool on;          /* calls are being recorded */
	bool plain;       /* and nothing else needs to be looked at when one comes */
	uint32_t known;   /* flags of a code object that the filter at hand knows, and of which there is nothing else to say */
	int torch;        /* 0: look for it, 1: recording, -1: cannot, -2: by ITT */
	bool main_seen;   /* code of the program's own has run */
	bool torch_seen;  /* code of torch's has run */
	bool tasks_seen;  /* so has code of asyncio's or greenlet's, and we have not looked yet */
	bool greenlets;   /* there may be some: a call need not return before another one begins that has nothing to do with it */
	bool keep_hook;   /* the frame hook has to be there always: somebody may put himself in its place, or is waited for */
	Py_ssize_t index; /* of our co_extra slot, in every interpreter that we record; -1: none yet */
	PyInterpreterState *interpreter; /* the one whose calls are recorded */
	const struct tracer_thread *last; /* that made a call; compared only, it may have ended */
	uint64_t turn;    /* when it was another one than before, in ticks */
	uint64_t quiet;   /* so much later the others are taken to be idle */
	uint32_t starts;  /* of recordings */
	PyObject *disable; /* sys.monitoring.DISABLE, the same in all of them */
};
extern struct tracer tracer;

/* A thread's part; private to it. */
struct tracer_thread {
	struct runtime_thread *t;
	uint32_t epoch;     /* of t, as of when what is open in it was right */
	uint32_t inherited; /* the outermost of those that were there before us, and whose end we are not told (before 3.12) */
	uintptr_t stack_low; /* below this address the frame hook must stop, or look again how much there is */
	uint32_t collecting; /* the name of the garbage collection that it is in; 0: none */
	uint64_t skipped;    /* calls, before there was a ring to count them in */
	uint32_t short_below, none_below; /* detail.h; 0: all is recorded */
	uint32_t gone_below;  /* 3.12 and later: below which functions need not be seen by anybody, */
	uint32_t dense_below; /* before: below which it matters how many calls a function makes; */
	uint32_t told_below;  /* and what the trace says of short ones: that they were below this */
	uint32_t inside;      /* calls that the innermost recorded function has made; before 3.12, like what follows from it */
	uint32_t shut;       /* inside a short function: how often that is open (in 3.12 and later), or that it is */
	uint32_t shut_name;  /* its name; 3.12 and later, like the next */
	uint32_t shut_start; /* in which recording it began: its end may not have been seen */
	uint64_t begin;      /* of its last call, in ticks */
	uint32_t surprises;  /* times that others were taken to be idle, and were not: each takes more to be sure again */
	uint32_t left_out;   /* calls, for being short and many */
	uint32_t passed;     /* calls inside short functions that came through the hook, since it was last looked at */
	struct detail *detail;
	const void **frames; /* the inherited ones' */
};
extern __thread struct tracer_thread *tracer_thread __attribute__((tls_model("initial-exec")));

/* One for each interpreter that has the module. */
struct tracer_state {
	PyObject *scope_type;
	PyObject *callback_type, *task_type;
	PyObject *tasks;   /* id of a task -> its state */
	PyObject *current_task, *running_loop, *current_greenlet;
	int tool; /* sys.monitoring's number for us, -1: none */
	bool has_index; /* the co_extra slot is ours in this interpreter */
	struct {
		PyObject *name;
		uint32_t id;
	} names[256]; /* of scopes and marks: most come again */
};
struct tracer_state *tracer_state_of(PyObject *module);
PyObject *tracer_loaded(const char *name); /* a module that the program has imported, borrowed; NULL: it has not */

/* link.c */
int tracer_link(const char *path); /* 0, -ENOENT: no library there, -EPERM: others could have written it, -EPROTO: another release's */

/* functions.c.  The current exception is kept. */
uintptr_t tracer_first_sight(PyCodeObject *code, PyObject *globals, PyObject *first_argument);
void tracer_torch_look(const char *module); /* whose code runs: has the time come to record operators? */
void tracer_company_look(const char *module, const char *qualname); /* is it of those that hooks have to heed? */
int tracer_request_index(void);
/* "module NUL qualname NUL file NUL line" into out; its size. */
size_t tracer_compose(char out[NAME_MAX_BYTES], const char *module, const char *qualname, const char *file, int line);

/* filter.c */
int tracer_filter_set(const char *include, const char *exclude); /* comma-separated globs; NULL: none */
bool tracer_filter_skips(const char *module, const char *qualname, const char *file);

/* cfunctions.c: the number of a C function's name, 0 for what is not one. */
uint32_t tracer_c_function(PyObject *callable);

/* threads.c */
struct tracer_thread *tracer_thread_make(void); /* NULL when it cannot be had */
void tracer_forget_stack(void); /* what is open in this thread now is of no interest */
void tracer_begin_slow(struct tracer_thread *me, uint32_t kind, uint32_t id, bool in_frame);
void tracer_end_slow(struct tracer_thread *me, uint32_t kind, uint32_t id, bool in_frame);
void tracer_check_inherited(struct tracer_thread *me, const void *caller);
void tracer_count_skipped(struct tracer_thread *me);
void tracer_settle(struct tracer_thread *me); /* before an event that is no call: what is open has been said */
bool tracer_has_stack(struct tracer_thread *me); /* for the frame hook; looks again how much there is */
void tracer_unseen(struct tracer_thread *me, uint64_t from);

/* hook_*.c: 0, or -1 with an exception. */
int tracer_hook_install(struct tracer_state *state);
void tracer_hook_remove(struct tracer_state *state);
void tracer_hook_again(void); /* whatever had it taken away */
void tracer_hook_reopen(void); /* functions that answered DISABLE are seen again; 3.12 and later */
#if BEFORE_312
int tracer_profile_install_all(void);
void tracer_profile_here(void); /* C calls of this thread */
void tracer_profile_remove_all(void);
#endif

/* objects.c: the name of a special function's call, from its first argument; 0: the function's own. */
uint32_t tracer_special(uintptr_t extra, PyObject *self);

/* gc.c.  No exception. */
void tracer_gc_install(void);
void tracer_gc_remove(void);
void tracer_gc_look(void); /* the program may just have imported gc */

/* end.c.  No exception. */
void tracer_tell_interpreter(void);
void tracer_await_end(void);
void tracer_at_exit(PyCFunction function); /* is called once, when the program has ended */

/* torch_itt.c */
void tracer_itt_enter(void); /* as soon as it can be done */
void tracer_itt_leave(void);

/* misuse.c.  No exception. */
enum misuse {
	MISUSE_SCOPE,
	MISUSE_MARK,
	MISUSE_COUNTER,
	MISUSE_NAME,
	MISUSE_VALUE,
	MISUSE_EXIT,
	MISUSE_DECORATED,
	MISUSE_BARE,
	MISUSE_COUNT
};
void tracer_misuse(enum misuse misuse); /* warns, once; the exception at hand, which it is about, is gone */
void tracer_swallow(void);              /* the exception at hand is gone; an interrupt by the user comes again, in the program */
/* Arguments by place or name into ret, borrowed, NULL where one is missing; false when there is one too many. */
bool tracer_arguments(const char *const *words, Py_ssize_t count, PyObject *const *args, Py_ssize_t nargs, PyObject *names,
		      PyObject **ret);

/* scope.c, tasks.c, metadata.c */
int tracer_add_scope(PyObject *module, struct tracer_state *state);
extern PyMethodDef tracer_scope_methods[];
uint32_t tracer_name(struct tracer_state *state, PyObject *name); /* a string, else the name is that of its type; no exception */
struct tracer_task *tracer_current_task(struct tracer_state *state); /* NULL: none */
void tracer_task_begin(struct tracer_task *task, uint32_t name);
void tracer_task_end(struct tracer_task *task);
void tracer_tasks_look(struct tracer_state *state);
size_t tracer_metadata(uint8_t *out, size_t size, PyObject *mapping); /* MessagePack */

#endif
