/*
 * thread.c - gives each thread its ring, and finds out what is wrong when there is no room.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>

#include "runtime/runtime.h"

/* The CPU of a thread that we cannot ask. */
static const int32_t no_cpu = -1;

/* What a thread without a ring writes to: there is never any room. */
static struct ring_producer no_producer;

__thread struct runtime_thread inferscope_thread __attribute__((tls_model("initial-exec"))) = {
	.producer = &no_producer, .cpu = &no_cpu
};

static const int32_t *cpu_of_this_thread(void)
{
	ptrdiff_t offset = inferscope_runtime.rseq_cpu;
	char *self;

	if (!offset)
		return &no_cpu;
#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(self));
#elif defined(__aarch64__)
	__asm__("mrs %0, tpidr_el0" : "=r"(self));
#else
	return &no_cpu;
#endif
	return (const int32_t *)(self + offset);
}

/* A forked child: what the thread knew is its parent's. */
static void forget_parent(struct runtime_thread *thread)
{
	thread->producer = &no_producer;
	thread->depth = 0;
	thread->serial = 0;
	thread->refused = 0;
	thread->epoch++;
	thread->forked = true;
}

/* Another session: what the thread knew is gone, and must not even be looked at. */
static void catch_up(struct runtime_thread *thread)
{
	if (thread->generation == inferscope_runtime.generation)
		return;
	thread->generation = inferscope_runtime.generation;
	forget_parent(thread);
	thread->forked = false;
}

bool inferscope_have_process(struct runtime_thread *thread)
{
	struct ring_memory *memory = inferscope_runtime.memory;

	catch_up(thread);
	if (thread->producer != &no_producer && !thread->producer->shared)
		forget_parent(thread);
	return atomic_load_explicit(&memory->process.attached, memory_order_acquire) == 2 || inferscope_attach_process();
}

static struct ring_producer *open_ring(struct runtime_thread *thread)
{
	struct runtime *rt = &inferscope_runtime;
	uint32_t flags = thread->forked ? RING_FORKED : 0;
	struct ring_producer *p = ring_producer_open(rt->memory, clock_ticks(rt->clock), flags, &thread->serial);

	if (!p)
		return NULL;
	thread->producer = p; /* from here on refusals are counted there */
	atomic_signal_fence(memory_order_seq_cst);
	atomic_fetch_add_explicit(&p->shared->refused_reentry, thread->refused, memory_order_relaxed);
	thread->refused = 0;
	thread->cpu = cpu_of_this_thread();
	inferscope_open_map(thread);
	if (rt->has_exit_key)
		(void)pthread_setspecific(rt->exit_key, thread);
	return p;
}

bool inferscope_have_ring(struct runtime_thread *thread)
{
	catch_up(thread);
	return thread->producer->shared || (inferscope_have_process(thread) && open_ring(thread));
}

/* An event of a thread that has no ring to count it in. */
static void refuse_without_ring(void)
{
	struct process_header *header = inferscope_runtime.memory->process.header;

	if (header)
		ring_count(&header->refused_no_ring);
}

/* The recorder has ended: nothing more is written, at the price of this look for each event. */
static bool session_is_over(void)
{
	return atomic_load_explicit(&inferscope_runtime.session->closed, memory_order_relaxed) != 0;
}

slot_word *inferscope_refill(struct runtime_thread *thread)
{
	int saved = errno;
	slot_word *slot = NULL;

	catch_up(thread);
	if (session_is_over())
		return NULL;
	if (inferscope_have_ring(thread)) {
		struct ring_producer *p = thread->producer;

		if (p->cursor != p->end || ring_producer_refill(p))
			slot = p->cursor;
	} else {
		refuse_without_ring();
	}
	errno = saved;
	return slot;
}

slot_word *inferscope_group(struct runtime_thread *thread, uint32_t count)
{
	catch_up(thread);
	if (thread->producer->cursor == thread->producer->end && !inferscope_refill(thread))
		return NULL;
	return ring_producer_group(thread->producer, count);
}

static void refuse_reentry(struct runtime_thread *thread)
{
	struct ring_header *shared = thread->producer->shared;

	if (shared)
		ring_count(&shared->refused_reentry);
	else
		thread->refused++;
}

/* A handler on the thread's own stack runs below the call that it interrupted; on one of its own it may be anywhere. */
static bool has_left_by_a_jump(const struct runtime_thread *thread, uintptr_t here)
{
	stack_t stack;

	return here >= thread->busy && sigaltstack(NULL, &stack) == 0 && !(stack.ss_flags & SS_ONSTACK);
}

bool inferscope_reenter(struct runtime_thread *thread, uintptr_t here)
{
	int saved = errno;
	bool left = has_left_by_a_jump(thread, here);

	if (left) { /* in the middle of anything, so the thread starts again with another ring */
		ring_producer_exit(thread->producer);
		thread->producer = &no_producer;
	} else {
		refuse_reentry(thread);
	}
	errno = saved;
	return left;
}

/* Other destructors may still call us, so the ring is given up in the last round; after that a call opens a new one. */
void inferscope_thread_exit(void *arg)
{
	struct runtime_thread *thread = arg;

	if (++thread->exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
		(void)pthread_setspecific(inferscope_runtime.exit_key, thread);
		return;
	}
	thread->busy = 1;
	if (thread->generation == inferscope_runtime.generation)
		ring_producer_exit(thread->producer);
	thread->producer = &no_producer;
	inferscope_open_unmap(thread);
	thread->depth = 0;
	thread->busy = 0;
}
