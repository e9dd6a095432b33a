/*
 * torch_ops.c - the callbacks: what libtorch calls at the begin and the end of an operator.
 *
 * An end names its begin by the RecordFunction's address, so each thread has a
 * stack of what is open.  It is found by the thread's ring and belongs to
 * whoever has that ring now: a thread needs no room reserved in libraries'
 * thread-local memory for it, one that ends leaves nothing to clean up, and in
 * a forked child, where the kernel has wiped the list of them, nothing is open.
 *
 * Operators and the calls of a language share a thread's stack of slices.  When
 * calls around an operator have ended, so has the operator, even if its own end
 * never came to this thread; a user's scope goes on outside them (open.c).
 */
#include "runtime/torch_ops.h"

#include <string.h>
#include <sys/mman.h>

#include "runtime/emit.h"
#include "runtime/inside.h"

#define OPEN_MAX 1000u
#define NAMES 256u

struct open_function {
	const void *function;
	uint32_t entry, depth; /* in the thread's stack of slices; a scope may have moved since */
};

/* A name that was at this address once.  It may be another by now: names of user scopes are temporary strings. */
struct known_name {
	const char *address;
	uint32_t id;
};

struct torch_thread {
	uint64_t owner;
	uint32_t count;
	struct torch_learner learner;
	struct open_function open[OPEN_MAX];
	struct known_name names[NAMES];
};
_Static_assert(sizeof(struct torch_thread) <= 20480, "five pages a thread, of which two are used");

struct torch inferscope_torch;
_Atomic uint32_t inferscope_torch_trust;

/* ---- The thread ------------------------------------------------------------- */

static uint64_t owner_of(const struct runtime_thread *t)
{
	return (uint64_t)t->generation << 32 | t->serial;
}

static __attribute__((noinline, cold)) struct torch_thread *take_over(struct runtime_thread *t)
{
	struct torch_thread **place = &inferscope_torch.threads[t->producer->index];

	if (!*place) {
		void *memory = mmap(NULL, sizeof **place, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			return NULL;
		*place = memory;
	}
	(*place)->owner = owner_of(t);
	(*place)->count = 0;
	return *place;
}

/* For a thread that has a ring. */
static inline struct torch_thread *thread_of(struct runtime_thread *t)
{
	struct torch_thread *thread = inferscope_torch.threads[t->producer->index];

	return INFERSCOPE_LIKELY(thread && thread->owner == owner_of(t)) ? thread : NULL;
}

/* Neither its begin nor its end will be there. */
static __attribute__((noinline, cold)) struct torch_thread *refuse(struct runtime_thread *t)
{
	ring_count(&t->producer->shared->refused_full);
	ring_count(&t->producer->shared->refused_full);
	return NULL;
}

/* Forgets what is no longer open: scopes can be ended by others, and operators with what is around them. */
static __attribute__((noinline, cold)) void prune(const struct runtime_thread *t, struct torch_thread *thread)
{
	uint32_t kept = 0, depth = 0;

	if (t->depth > t->open_limit)
		return;
	for (uint32_t i = 0; i < thread->count; i++) {
		uint32_t at = depth;

		while (at < t->depth && t->open[at] != thread->open[i].entry)
			at++;
		if (at == t->depth)
			continue;
		thread->open[kept++] = thread->open[i];
		depth = at + 1;
	}
	thread->count = kept;
}

/* With room for one more; or NULL, and counted if there is a ring to count it in. */
static inline struct torch_thread *thread_to_begin(struct runtime_thread *t)
{
	struct torch_thread *thread;

	if (!t->producer->shared)
		return NULL;
	thread = thread_of(t);
	if (!thread)
		thread = take_over(t);
	if (!thread)
		return refuse(t);
	if (INFERSCOPE_UNLIKELY(t->depth == 0))
		thread->count = 0; /* what is left there never ended here */
	if (INFERSCOPE_UNLIKELY(thread->count == OPEN_MAX))
		prune(t, thread);
	return thread->count < OPEN_MAX ? thread : refuse(t);
}

/* ---- Names ------------------------------------------------------------------- */

static inline bool is_name(uint32_t id, const char *name)
{
	const uint8_t *text = atomic_load_explicit(&inferscope_runtime.names->text[id], memory_order_acquire);
	uint16_t size;

	memcpy(&size, text, sizeof size);
	return strncmp(name, (const char *)text + 2, size) == 0 && name[size] == '\0';
}

static inline uint32_t name_id(struct runtime_thread *t, struct torch_thread *thread, const char *name)
{
	struct known_name *known = &thread->names[((uintptr_t)name >> 4 ^ (uintptr_t)name >> 12) % NAMES];
	uint32_t id;

	if (!name || !*name)
		return NAME_NONE;
	if (INFERSCOPE_LIKELY(known->address == name && is_name(known->id, name)))
		return known->id;
	id = inferscope_intern(t, name, strnlen(name, NAME_MAX_BYTES + 4));
	if (id != NAME_TOO_MANY)
		*known = (struct known_name){ name, id };
	return id;
}

/* ---- Begins and ends ---------------------------------------------------------- */

/* -1: none, or we do not know where it is. */
static inline int64_t sequence_of(struct torch_thread *thread, const void *function, const char *name, bool dispatched)
{
	uint32_t offset = atomic_load_explicit(&inferscope_torch_sequence_offset, memory_order_relaxed);
	int64_t number;

	if (INFERSCOPE_UNLIKELY(!offset)) {
		if (dispatched && inferscope_torch.peek && strncmp(name, "aten::", 6) == 0)
			inferscope_torch_learn(&thread->learner, function);
		offset = atomic_load_explicit(&inferscope_torch_sequence_offset, memory_order_relaxed);
	}
	if (!offset)
		return -1;
	memcpy(&number, (const char *)function + offset, sizeof number);
	return number;
}

struct beginning {
	uint32_t kind;
	bool dispatched, numbered; /* an operator of the dispatcher; may have a number */
	uint32_t fields_size;
	const uint8_t *fields;
};

static inline __attribute__((always_inline)) void begin(const void *function, const struct beginning *b)
{
	const struct runtime *rt = &inferscope_runtime;
	struct runtime_thread *t = &inferscope_thread;
	struct torch_thread *thread;
	const char *name = inferscope_torch.name(function);
	slot_word *slot;
	int64_t sequence = -1;
	uint64_t value;
	uint32_t id, flags;

	if (!emit_enter(rt, t))
		return;
	slot = emit_room(rt, t); /* before the thread: it gives it a ring */
	thread = thread_to_begin(t);
	if (INFERSCOPE_LIKELY(thread)) {
		id = name_id(t, thread, name);
		if (b->numbered)
			sequence = sequence_of(thread, function, name, b->dispatched);
		flags = EVENT_FLAGS(PHASE_BEGIN, sequence < 0 ? 0 : FIELD_CORRELATION, 0);
		value = sequence < 0 ? 0 : (uint64_t)sequence;
		if (b->fields_size)
			inferscope_emit_fields(t, b->kind, flags, id, value, b->fields, b->fields_size);
		else
			emit_slot(rt, t, slot, b->kind, flags, id, 0, emit_depth(t->depth), value);
		thread->open[thread->count++] = (struct open_function){ function, OPEN_ENTRY(b->kind, id), t->depth };
		emit_opened(t, b->kind, id);
	}
	emit_leave(t);
}

/* Out of line: most do not want shapes, and a kilobyte of stack for them. */
static __attribute__((noinline)) void begin_with_shapes(const void *function, bool dispatched)
{
	uint8_t fields[EMIT_FIELDS_MAX];
	/* before we are inside of an event of our own: it allocates, and may throw */
	uint32_t size = (uint32_t)inferscope_torch_shapes(function, fields);

	begin(function, &(struct beginning){
				.kind = EVENT_OP, .dispatched = dispatched, .numbered = true, .fields = fields, .fields_size = size });
}

/* Takes it from the list; with it go the operators inside it, since they end too.  Scopes go on. */
static inline struct open_function take(struct torch_thread *thread, uint32_t index)
{
	struct open_function taken = thread->open[index];
	uint32_t kept = index;

	for (uint32_t i = index + 1; INFERSCOPE_UNLIKELY(i < thread->count); i++)
		if (OPEN_KIND(thread->open[i].entry) == EVENT_SCOPE)
			thread->open[kept++] = thread->open[i];
	thread->count = kept;
	return taken;
}

/* An operator stays where it is until it ends, or something around it does. */
static inline void end_operator(const struct runtime *rt, struct runtime_thread *t, const struct open_function *open)
{
	slot_word *slot = emit_room(rt, t);

	if (INFERSCOPE_UNLIKELY(open->depth >= t->depth || (open->depth < t->open_limit && t->open[open->depth] != open->entry)))
		return;
	if (INFERSCOPE_LIKELY(open->depth == t->depth - 1))
		emit_end_innermost(rt, t, slot, EVENT_OP);
	else
		inferscope_end_at(t, open->depth, slot);
}

/* Ends what began with this function.  One that began in another thread, session or process, or whose surroundings have ended,
 * ends nothing. */
static inline void end(const void *function, uint32_t kind)
{
	const struct runtime *rt = &inferscope_runtime;
	struct runtime_thread *t = &inferscope_thread;
	struct torch_thread *thread;
	struct open_function open;
	uint32_t i;

	if (INFERSCOPE_UNLIKELY(t->generation != rt->generation || !t->producer->shared))
		return;
	thread = thread_of(t);
	if (!thread || !emit_enter(rt, t))
		return;
	for (i = thread->count; i > 0 && thread->open[i - 1].function != function; i--)
		;
	if (i > 0) {
		open = take(thread, i - 1);
		if (kind == EVENT_OP)
			end_operator(rt, t, &open);
		else
			(void)emit_end(rt, t, open.entry);
		if (INFERSCOPE_UNLIKELY(inferscope_torch_trust != TORCH_TRUSTED))
			inferscope_torch_saw_end();
	}
	emit_leave(t);
}

static inline bool is_welcome(const void *function, enum torch_scope scope)
{
	uint32_t trust = atomic_load_explicit(&inferscope_torch_trust, memory_order_relaxed);

	return INFERSCOPE_LIKELY(trust == TORCH_TRUSTED) || inferscope_torch_admits(function, scope);
}

/* Of all threads together; that now and then one is not counted does not matter. */
static inline void count_operator(void)
{
	static uint32_t begun;
	uint32_t count = __atomic_load_n(&begun, __ATOMIC_RELAXED) + 1;

	__atomic_store_n(&begun, count, __ATOMIC_RELAXED);
	if (INFERSCOPE_UNLIKELY(count % TORCH_COUNT == 0))
		inferscope_torch_count();
}

static inline __attribute__((always_inline)) void operator_begins(const void *function, bool dispatched)
{
	if (INFERSCOPE_UNLIKELY(inferscope_torch.flags & INFERSCOPE_TORCH_LIGHT))
		count_operator();
	if (!is_welcome(function, dispatched ? TORCH_FUNCTION : TORCH_BACKWARD))
		return;
	if (inferscope_torch.sizes)
		begin_with_shapes(function, dispatched);
	else
		begin(function, &(struct beginning){ .kind = EVENT_OP, .dispatched = dispatched, .numbered = true });
}

static void operator_ends(const void *function, void *context)
{
	(void)context;
	end(function, EVENT_OP);
	if (INFERSCOPE_UNLIKELY(inferscope_torch_trust == TORCH_CHECKED))
		inferscope_torch_saw_end();
}

/* A scope that ends when a future is there, in whatever thread: it belongs to none. */
static void emit_async(const void *function, uint32_t phase)
{
	const struct runtime *rt = &inferscope_runtime;
	struct runtime_thread *t = &inferscope_thread;
	const char *name = inferscope_torch.name(function);
	uint32_t id;
	slot_word *slot;

	if (!emit_enter(rt, t))
		return;
	slot = emit_room(rt, t);
	id = slot && name && *name ? inferscope_intern(t, name, strnlen(name, NAME_MAX_BYTES + 4)) : NAME_NONE;
	emit_slot(rt, t, slot, EVENT_SCOPE, EVENT_FLAGS(phase, FIELD_FLOW, 0), id, 0, emit_depth(t->depth), (uintptr_t)function);
	emit_leave(t);
}

static bool is_async(const void *function)
{
	return inferscope_torch.is_async && inferscope_torch.is_async(function);
}

static inline void user_scope_begins(const void *function)
{
	if (!is_welcome(function, TORCH_USER))
		return;
	if (is_async(function))
		emit_async(function, PHASE_ASYNC_BEGIN);
	else
		begin(function, &(struct beginning){ .kind = EVENT_SCOPE });
}

static void user_scope_ends(const void *function, void *context)
{
	(void)context;
	if (!is_async(function))
		end(function, EVENT_SCOPE);
	else if (inferscope_torch_trust == TORCH_TRUSTED)
		emit_async(function, PHASE_ASYNC_END);
}

/* ---- Doors -------------------------------------------------------------------- */

/*
 * In C++ a start function returns a unique_ptr, through a pointer that the caller passes: on x86-64 as if it were the first
 * argument, on ARM in a register that C has no name for.  Ours is always empty.
 */
#if defined(__x86_64__)
#define DOOR(door, action)                                   \
	static void *door(void **ret, const void *function)  \
	{                                                    \
		*ret = NULL;                                 \
		action;                                      \
		return ret;                                  \
	}
#elif defined(__aarch64__)
#define DOOR(door, action)                                                                          \
	static __attribute__((used)) void door##_in_c(const void *function) __asm__(#door "_in_c"); \
	static void door##_in_c(const void *function)                                               \
	{                                                                                           \
		action;                                                                             \
	}                                                                                           \
	extern char door[] __attribute__((visibility("hidden")));                                   \
	__asm__(".pushsection .text\n.p2align 2\n.hidden " #door "\n.globl " #door "\n.type " #door \
		", %function\n" #door ":\n\thint #34\n\tstr xzr, [x8]\n\tb " #door "_in_c\n.popsection");
#else
#define DOOR(door, action) static char door[1];
#endif

DOOR(inferscope_torch_function, operator_begins(function, true))
DOOR(inferscope_torch_backward, operator_begins(function, false))
DOOR(inferscope_torch_user, user_scope_begins(function))
DOOR(inferscope_torch_pulse, ((void)function, inferscope_torch_beat()))

static void pulse_ends(const void *function, void *context)
{
	(void)function;
	(void)context;
}

void inferscope_torch_doors(enum torch_scope scope, struct torch_callback *ret)
{
	ret->start = scope == TORCH_FUNCTION ? (void *)inferscope_torch_function :
		     scope == TORCH_BACKWARD ? (void *)inferscope_torch_backward :
					       (void *)inferscope_torch_user;
	ret->end = scope == TORCH_USER ? (void *)user_scope_ends : (void *)operator_ends;
	ret->scopes[scope] = 1;
}

void inferscope_torch_pulse_doors(struct torch_callback *ret)
{
	ret->start = (void *)inferscope_torch_pulse;
	ret->end = (void *)pulse_ends;
	ret->scopes[TORCH_FUNCTION] = 1;
}
