/* operation_log.c - see operation_log.h. */
#include "operation_log.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "system/proc.h"

#define FRAMES_MOST 10000u /* open in a thread at the same time */
#define STACKS 64u
#define SESSION_SHIFT 16 /* in an operation's number */

/* One run of an operation that has begun. */
struct frame {
	struct frame *next;   /* older, in the same bucket of stacks */
	struct frame *parent; /* around it, in the same task */
	const void *operation, *task;
	uint32_t number;
	struct operation_clocks begin, inside; /* inside: spent in operations that it is around */
	struct operation_clocks credit;        /* from when on its time is its parent's inside */
	int64_t memory, gpu;
	bool scoped;
};

struct slot {
	struct slot *next;           /* of the log */
	struct slot *next_of_thread; /* of other logs */
	_Atomic(struct log *) log;   /* NULL: it has gone, and the slot is its thread's to free */
	bool taken;
	atomic_flag lock;
	uint64_t session;
	struct frame *stacks[STACKS]; /* by task, newest first */
	struct frame *unused;
	size_t frame_count;
	size_t in_tasks; /* frames of asyncio's tasks that are open */
	struct operation_stats **stats; /* by number; NULL: none yet */
	size_t stats_capacity;
};

/* Guards lists of slots, and names. */
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t slots_once = PTHREAD_ONCE_INIT;
static pthread_key_t slots_key;
static _Thread_local struct slot *own_slots;

/* ---- Clocks, memory -------------------------------------------------------------- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct operation_clocks now(const struct log *log)
{
	struct operation_clocks c = { .wall = clock_ns(CLOCK_MONOTONIC) };

	if (log->clocks) {
		c.process = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		c.thread = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	}
	return c;
}

static uint64_t over(uint64_t to, uint64_t from)
{
	return to > from ? to - from : 0;
}

static struct operation_clocks since(struct operation_clocks to, struct operation_clocks from)
{
	return (struct operation_clocks){ over(to.wall, from.wall), over(to.process, from.process), over(to.thread, from.thread) };
}

static void add(struct operation_clocks *sum, struct operation_clocks c)
{
	sum->wall += c.wall;
	sum->process += c.process;
	sum->thread += c.thread;
}

/* "12 34 ..." is pages of address space, and of those that are in memory.  0 when it cannot be told. */
static int64_t memory_now(const struct log *log)
{
	char text[128];
	const char *at = text;
	uint64_t pages;

	if (!log->memory || proc_reread(log->statm, text, sizeof text) <= 0 || !proc_number(&at, &pages) || !proc_number(&at, &pages) ||
	    pages > (uint64_t)(INT64_MAX / log->page))
		return 0;
	return (int64_t)pages * log->page;
}

/* What a function of Python says; one that fails says 0. */
static int64_t gpu_now(const struct log *log)
{
	PyObject *number = log->gpu ? PyObject_CallObject(log->gpu, NULL) : NULL;
	long long bytes = number ? PyLong_AsLongLong(number) : 0;

	Py_XDECREF(number);
	if (PyErr_Occurred()) {
		PyErr_Clear();
		return 0;
	}
	return bytes;
}

static void open_statm(struct log *log)
{
	struct stat st;

	log->statm = proc_open(getpid(), 0, "statm");
	if (log->statm >= 0 && fstat(log->statm, &st) == 0) {
		log->statm_device = st.st_dev;
		log->statm_inode = st.st_ino;
	}
}

/* The program may have closed it, and have the number for a file of its own. */
static void close_statm(struct log *log)
{
	struct stat st;

	if (log->statm >= 0 && fstat(log->statm, &st) == 0 && st.st_dev == log->statm_device && st.st_ino == log->statm_inode)
		close(log->statm);
	log->statm = -1;
}

/* ---- Slots ------------------------------------------------------------------------- */

static void slot_lock(struct slot *s)
{
	while (atomic_flag_test_and_set_explicit(&s->lock, memory_order_acquire))
		sched_yield();
}

static void slot_unlock(struct slot *s)
{
	atomic_flag_clear_explicit(&s->lock, memory_order_release);
}

static void slot_free(struct slot *s)
{
	struct frame *f;

	for (unsigned i = 0; i < STACKS; i++) {
		while ((f = s->stacks[i])) {
			s->stacks[i] = f->next;
			free(f);
		}
	}
	while ((f = s->unused)) {
		s->unused = f->next;
		free(f);
	}
	for (size_t i = 0; i < s->stats_capacity; i++)
		free(s->stats[i]);
	free(s->stats);
	free(s);
}

/* A thread ends: its slots are for others, or gone with their logs. */
static void leave_slots(void *list)
{
	struct slot *s, *next;

	pthread_mutex_lock(&slots_lock);
	for (s = list; s; s = next) {
		next = s->next_of_thread;
		if (atomic_load(&s->log))
			s->taken = false;
		else
			slot_free(s);
	}
	pthread_mutex_unlock(&slots_lock);
	own_slots = NULL;
}

/* In the child, the thread that held it may not be there. */
static void after_fork(void)
{
	slots_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void make_key(void)
{
	(void)pthread_key_create(&slots_key, leave_slots);
	(void)pthread_atfork(NULL, NULL, after_fork);
}

static void own(struct slot *s)
{
	s->taken = true;
	s->next_of_thread = own_slots;
	own_slots = s;
	(void)pthread_setspecific(slots_key, own_slots);
}

/* Drops those whose logs have gone. */
static void prune_own_slots(void)
{
	struct slot **at = &own_slots, *s;

	while ((s = *at)) {
		if (atomic_load(&s->log)) {
			at = &s->next_of_thread;
			continue;
		}
		*at = s->next_of_thread;
		slot_free(s);
	}
	(void)pthread_setspecific(slots_key, own_slots);
}

static struct slot *new_slot(struct log *log)
{
	struct slot *s;

	pthread_once(&slots_once, make_key);
	pthread_mutex_lock(&slots_lock);
	prune_own_slots();
	for (s = log->slots; s && s->taken; s = s->next)
		;
	if (!s && (s = calloc(1, sizeof *s))) {
		atomic_store(&s->log, log);
		atomic_flag_clear(&s->lock);
		s->next = log->slots;
		log->slots = s;
	}
	if (s)
		own(s);
	pthread_mutex_unlock(&slots_lock);
	return s;
}

/* That of this thread; NULL when there is no memory. */
static struct slot *slot_of(struct log *log)
{
	struct slot *s = own_slots;

	while (s && atomic_load_explicit(&s->log, memory_order_relaxed) != log)
		s = s->next_of_thread;
	return s ? s : new_slot(log);
}

static struct frame *slot_frame(struct slot *s)
{
	struct frame *f = s->unused;

	if (f)
		s->unused = f->next;
	else if (s->frame_count < FRAMES_MOST && (f = malloc(sizeof *f)))
		s->frame_count++;
	return f;
}

/* For a new session: nothing is open, and nothing has been counted.  Figures keep their memory. */
static void slot_reset(struct slot *s, uint64_t session)
{
	struct frame *f;

	for (unsigned i = 0; i < STACKS; i++) {
		while ((f = s->stacks[i])) {
			s->stacks[i] = f->next;
			f->next = s->unused;
			s->unused = f;
		}
	}
	for (size_t i = 0; i < s->stats_capacity; i++)
		if (s->stats[i])
			*s->stats[i] = (struct operation_stats){ 0 };
	s->in_tasks = 0;
	s->session = session;
}

static struct operation_stats *slot_stats(struct slot *s, uint32_t number)
{
	if (number >= s->stats_capacity) {
		size_t before = s->stats_capacity;

		if (ARRAY_GROW(s->stats, s->stats_capacity, (size_t)number + 1) < 0)
			return NULL;
		memset(s->stats + before, 0, (s->stats_capacity - before) * sizeof *s->stats);
	}
	if (!s->stats[number])
		s->stats[number] = calloc(1, sizeof **s->stats);
	return s->stats[number];
}

/* ---- Names --------------------------------------------------------------------------- */

static bool same(const struct name *known, const struct operation *op)
{
	return known->type == op->type && PyUnicode_Compare(known->name, op->name) == 0;
}

static uint32_t number_of(struct log *log, struct operation *op, uint64_t session)
{
	uint64_t known = atomic_load_explicit(&op->number, memory_order_relaxed);
	uint32_t i;

	if (known >> SESSION_SHIFT == session)
		return known & ((1u << SESSION_SHIFT) - 1);
	pthread_mutex_lock(&slots_lock);
	for (i = 0; i < log->name_count && !same(&log->names[i], op); i++)
		;
	if (i == log->name_count && i < NAMES_MOST - 1) {
		Py_INCREF(op->name);
		Py_INCREF(op->type);
		log->names[i] = (struct name){ op->name, op->type };
		log->name_count++;
	}
	pthread_mutex_unlock(&slots_lock);
	i = i < NAMES_MOST - 1 ? i : NAMES_MOST - 1;
	atomic_store_explicit(&op->number, session << SESSION_SHIFT | i, memory_order_relaxed);
	return i;
}

static void forget_names(struct log *log)
{
	for (uint32_t i = 0; i < log->name_count; i++) {
		Py_DECREF(log->names[i].name);
		Py_DECREF(log->names[i].type);
	}
	log->name_count = 0;
}

/* ---- Tasks --------------------------------------------------------------------------- */

/* The program has asyncio or it has not: importing it is not ours to do. */
static bool has_asyncio(struct log *log)
{
	PyObject *module, *loop, *task;

	if (log->running_loop)
		return true;
	module = PyImport_GetModule(log->asyncio);
	if (!module)
		return false;
	loop = PyObject_GetAttrString(module, "_get_running_loop");
	task = loop ? PyObject_GetAttrString(module, "current_task") : NULL;
	Py_DECREF(module);
	if (task) {
		log->current_task = task;
		log->running_loop = loop;
		return true;
	}
	PyErr_Clear(); /* half imported */
	Py_XDECREF(loop);
	return false;
}

/* The task that runs in this thread, of which the address will do.  NULL: none. */
static const void *task_now(struct log *log)
{
	PyObject *loop = has_asyncio(log) ? PyObject_CallObject(log->running_loop, NULL) : NULL;
	PyObject *task = NULL;

	if (loop && loop != Py_None)
		task = PyObject_CallFunctionObjArgs(log->current_task, loop, NULL);
	if (PyErr_Occurred())
		PyErr_Clear();
	Py_XDECREF(loop);
	Py_XDECREF(task); /* it runs, so others have it */
	return task == Py_None ? NULL : task;
}

static struct frame **stack_of(struct slot *s, const void *task)
{
	return &s->stacks[((uintptr_t)task >> 5) % STACKS];
}

/* ---- Beginning and ending -------------------------------------------------------------- */

static void open_frame(struct slot *s, struct operation *op, const void *task, uint64_t session, int64_t gpu)
{
	struct frame **stack = stack_of(s, task), *f, *parent;
	struct log *log = op->log;
	uint32_t number = number_of(log, op, session);

	slot_lock(s);
	if (s->session != session)
		slot_reset(s, session);
	f = slot_frame(s);
	if (f) {
		for (parent = *stack; parent && parent->task != task; parent = parent->next)
			;
		*f = (struct frame){ .next = *stack, .parent = parent, .operation = op, .task = task, .number = number, .gpu = gpu,
				     .scoped = log->scopes && op->scope };
		f->memory = memory_now(log);
		*stack = f;
		s->in_tasks += task != NULL;
		f->begin = f->credit = now(log);
	} else {
		atomic_fetch_add(&log->dropped, 1);
	}
	slot_unlock(s);
}

/* Takes it off its stack.  Those that began inside it and have not ended, as when generators take turns, are its parent's now. */
static void unlink_frame(struct frame **stack, struct frame *f, struct operation_clocks end)
{
	for (; *stack != f; stack = &(*stack)->next) {
		struct frame *inner = *stack;

		if (inner->parent != f)
			continue;
		add(&f->inside, since(end, inner->credit));
		inner->credit = end;
		inner->parent = f->parent;
	}
	*stack = f->next;
}

struct ending {
	struct operation_clocks end;
	int64_t memory, gpu;
	bool failed, unfinished, scoped;
};

static void close_frame(struct slot *s, struct frame **stack, struct frame *f, const struct ending *e)
{
	struct operation_stats *stats = slot_stats(s, f->number);
	struct operation_span span = { .total = since(e->end, f->begin),
				       .memory = e->memory && f->memory ? e->memory - f->memory : 0,
				       .gpu = e->gpu - f->gpu,
				       .failed = e->failed,
				       .unfinished = e->unfinished };

	unlink_frame(stack, f, e->end);
	span.self = since(span.total, f->inside);
	if (f->parent)
		add(&f->parent->inside, since(e->end, f->credit));
	if (stats)
		operation_stats_add(stats, &span);
	s->in_tasks -= f->task != NULL;
	f->next = s->unused;
	s->unused = f;
}

/* The newest of this operation, in this task; false when there is none.  e->scoped: whether its scope is open, too. */
static bool end_in(struct slot *s, const struct operation *op, const void *task, struct ending *e, uint64_t session)
{
	struct frame **stack = stack_of(s, task), *f = NULL;

	slot_lock(s);
	if (s->session == session)
		for (f = *stack; f && (f->operation != op || f->task != task); f = f->next)
			;
	if (f) {
		e->scoped = f->scoped;
		close_frame(s, stack, f, e);
	}
	slot_unlock(s);
	return f;
}

/* One that began in another thread, as generators of thread pools do; or not at all, when it began before the session. */
static void end_elsewhere(struct log *log, const struct operation *op, const void *task, struct ending *e, uint64_t session)
{
	pthread_mutex_lock(&slots_lock);
	for (struct slot *s = log->slots; s && !end_in(s, op, task, e, session); s = s->next)
		;
	pthread_mutex_unlock(&slots_lock);
}

/* What is open becomes part of the figures: of each stack the newest first. */
static void end_all(struct log *log)
{
	struct ending e = { .end = now(log), .memory = memory_now(log), .gpu = gpu_now(log), .unfinished = true };

	e.end.thread = 0; /* each thread has its own */
	for (struct slot *s = log->slots; s; s = s->next) {
		slot_lock(s);
		for (unsigned i = 0; i < STACKS && s->session == log->sessions; i++)
			while (s->stacks[i])
				close_frame(s, &s->stacks[i], s->stacks[i], &e);
		slot_unlock(s);
	}
}

/* ---- For others ------------------------------------------------------------------------ */

void operation_begin(struct operation *op)
{
	struct log *log = op->log;
	uint64_t session = atomic_load_explicit(&log->session, memory_order_relaxed);
	struct slot *s = session ? slot_of(log) : NULL;

	if (s)
		open_frame(s, op, task_now(log), session, log->gpu ? gpu_now(log) : 0);
}

bool operation_end(struct operation *op, bool failed)
{
	struct log *log = op->log;
	uint64_t session = atomic_load_explicit(&log->session, memory_order_relaxed);
	struct slot *s = session ? slot_of(log) : NULL;
	struct ending e = { .failed = failed };
	const void *task;

	if (!s)
		return false;
	e.end = now(log);
	e.memory = memory_now(log);
	e.gpu = log->gpu ? gpu_now(log) : 0;
	task = s->in_tasks ? task_now(log) : NULL;
	if (!end_in(s, op, task, &e, session))
		end_elsewhere(log, op, task, &e, session);
	return e.scoped;
}

void operation_log_start(struct log *log, bool memory)
{
	close_statm(log);
	if (memory)
		open_statm(log);
	log->memory = log->statm >= 0;
	pthread_mutex_lock(&slots_lock);
	forget_names(log);
	pthread_mutex_unlock(&slots_lock);
	atomic_store(&log->dropped, 0);
	atomic_store(&log->session, ++log->sessions);
}

void operation_log_stop(struct log *log)
{
	if (atomic_exchange(&log->session, 0))
		end_all(log);
	close_statm(log);
}

/* Others' slots may be locked for ever there. */
void operation_log_abandon(struct log *log)
{
	atomic_store(&log->session, 0);
	for (struct slot *s = log->slots; s; s = s->next)
		atomic_flag_clear(&s->lock);
}

void operation_log_release(struct log *log)
{
	struct slot *s, *next;

	pthread_mutex_lock(&slots_lock);
	for (s = log->slots; s; s = next) {
		next = s->next;
		if (s->taken)
			atomic_store(&s->log, NULL);
		else
			slot_free(s);
	}
	pthread_mutex_unlock(&slots_lock);
	close_statm(log);
	forget_names(log);
}

struct slot *operation_log_next(const struct log *log, const struct slot *s)
{
	return s ? s->next : log->slots;
}

bool operation_log_copy(const struct log *log, struct slot *s, uint32_t number, struct operation_stats *ret)
{
	bool has;

	slot_lock(s);
	has = s->session == log->sessions && number < s->stats_capacity && s->stats[number] && s->stats[number]->count;
	if (has)
		*ret = *s->stats[number];
	slot_unlock(s);
	return has;
}
