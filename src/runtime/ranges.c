/*
 * ranges.c - see ranges.h.
 *
 * The stack of a thread is memory that the kernel wipes in a forked child: the
 * ranges that were open there are the parent's.
 */
#include "runtime/ranges.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define STACK_BYTES (256u << 10) /* address space; memory as far as it is used */

struct open_range {
	uintptr_t domain;
	uint32_t entry; /* in the thread's stack of slices */
	uint32_t level;
};
#define RANGES_MAX (STACK_BYTES / sizeof(struct open_range) - 1)

struct range_stack {
	uint32_t generation; /* of the session; 0: fresh, or wiped by a fork */
	uint32_t count;
	uint32_t beyond; /* ranges inside those, of any domain: no room to remember them */
	uint32_t reserved;
	struct open_range ranges[RANGES_MAX];
};
_Static_assert(sizeof(struct range_stack) <= STACK_BYTES, "fits");

static __thread struct range_stack *mine;
static pthread_key_t exit_key;
static bool has_exit_key;

static void free_stack(void *stack)
{
	mine = NULL;
	munmap(stack, STACK_BYTES);
}

static void make_exit_key(void)
{
	has_exit_key = pthread_key_create(&exit_key, free_stack) == 0;
}

/* Without a key, the stacks of threads that have ended stay. */
static __attribute__((noinline, cold)) struct range_stack *make_stack(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;
	void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (stack != MAP_FAILED && madvise(stack, STACK_BYTES, MADV_WIPEONFORK) == 0) {
		mine = stack;
		pthread_once(&once, make_exit_key);
		if (has_exit_key)
			(void)pthread_setspecific(exit_key, stack);
	} else if (stack != MAP_FAILED) {
		munmap(stack, STACK_BYTES);
	}
	errno = saved;
	return mine;
}

/* The thread's stack.  After emit_room(). */
static struct range_stack *stack_of(const struct runtime_thread *t)
{
	struct range_stack *s = INFERSCOPE_LIKELY(mine != NULL) ? mine : make_stack();

	if (s && INFERSCOPE_UNLIKELY(s->generation != t->generation)) {
		s->generation = t->generation;
		s->count = 0;
		s->beyond = 0;
	}
	return s;
}

/* The domain's innermost range; NULL: it has none. */
static struct open_range *innermost(struct range_stack *s, uintptr_t domain)
{
	for (uint32_t i = s->count; i-- > 0;)
		if (s->ranges[i].domain == domain)
			return &s->ranges[i];
	return NULL;
}

static void forget(struct range_stack *s, struct open_range *range)
{
	s->count--;
	for (; range < s->ranges + s->count; range++)
		*range = range[1];
}

/* The level it gets. */
static uint32_t remember(struct range_stack *s, uintptr_t domain, uint32_t entry)
{
	const struct open_range *outer = innermost(s, domain);
	uint32_t level = outer ? outer->level + 1 : 0;

	if (INFERSCOPE_UNLIKELY(s->count == RANGES_MAX))
		return level + s->beyond++;
	s->ranges[s->count++] = (struct open_range){ .domain = domain, .entry = entry, .level = level };
	return level;
}

int inferscope_range_push(struct runtime_thread *t, uintptr_t domain, uint32_t name, const void *fields, size_t size)
{
	const struct runtime *rt = &inferscope_runtime;
	slot_word *slot = emit_room(rt, t);
	struct range_stack *s = stack_of(t);
	uint32_t level;

	if (!s)
		return -1;
	level = remember(s, domain, OPEN_ENTRY(EVENT_SCOPE, name));
	if (size == 0)
		emit_slot(rt, t, slot, EVENT_SCOPE, EVENT_FLAGS(PHASE_BEGIN, 0, 0), name, 0, emit_depth(t->depth), 0);
	else if (slot)
		inferscope_emit_fields(t, EVENT_SCOPE, EVENT_FLAGS(PHASE_BEGIN, 0, 0), name, 0, fields, size);
	emit_opened(t, EVENT_SCOPE, name);
	return (int)level;
}

/* No room to remember which it was: the innermost scope of all. */
static int pop_beyond(struct runtime_thread *t, struct range_stack *s, slot_word *slot)
{
	int64_t depth = inferscope_innermost(t, EVENT_SCOPE);

	if (depth >= 0)
		inferscope_end_at(t, (uint32_t)depth, slot);
	return (int)(s->ranges[s->count - 1].level + s->beyond--);
}

int inferscope_range_pop(struct runtime_thread *t, uintptr_t domain)
{
	const struct runtime *rt = &inferscope_runtime;
	slot_word *slot = emit_room(rt, t);
	struct range_stack *s = stack_of(t);
	struct open_range *range;
	int level;

	if (!s)
		return -1;
	if (INFERSCOPE_UNLIKELY(s->beyond))
		return pop_beyond(t, s, slot);
	range = innermost(s, domain);
	if (!range) {
		emit_slot(rt, t, slot, EVENT_SCOPE, EVENT_FLAGS(PHASE_END, 0, 0), NAME_NONE, 0, EVENT_DEPTH_UNMATCHED, 0);
		return -1;
	}
	level = (int)range->level;
	(void)emit_end_with(rt, t, range->entry, slot);
	forget(s, range);
	return level;
}

void inferscope_range_event(struct runtime_thread *t, uint32_t kind, uint32_t flags, uint32_t name, uint64_t value)
{
	const struct runtime *rt = &inferscope_runtime;
	slot_word *slot = emit_room(rt, t);

	emit_slot(rt, t, slot, kind, flags, name, 0, emit_depth(t->depth), value);
}
