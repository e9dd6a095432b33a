/*
 * thread.c - gives each thread its ring, and finds out what is wrong when there is no room.
 */
#include <errno.h>
#include <limits.h>

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
	thread->forked = true;
}

bool inferscope_have_process(struct runtime_thread *thread)
{
	if (atomic_load_explicit(&inferscope_runtime.memory->process.attached, memory_order_acquire) == 2)
		return true;
	if (thread->producer != &no_producer)
		forget_parent(thread);
	return inferscope_attach_process();
}

static struct ring_producer *open_ring(struct runtime_thread *thread)
{
	struct runtime *rt = &inferscope_runtime;
	uint32_t flags = thread->forked ? RING_FORKED : 0;
	struct ring_producer *p = ring_producer_open(rt->memory, clock_ticks(rt->clock), flags, &thread->serial);

	if (!p)
		return NULL;
	atomic_fetch_add_explicit(&p->shared->refused_reentry, thread->refused, memory_order_relaxed);
	thread->refused = 0;
	thread->cpu = cpu_of_this_thread();
	if (rt->has_exit_key)
		(void)pthread_setspecific(rt->exit_key, thread);
	return p;
}

/* Makes sure that thread->producer is a ring of this process. */
static bool have_ring(struct runtime_thread *thread)
{
	struct ring_producer *producer;

	if (thread->producer->shared)
		return true;
	if (!inferscope_have_process(thread))
		return false;
	producer = open_ring(thread);
	if (producer)
		thread->producer = producer;
	else
		ring_count(&inferscope_runtime.memory->process.header->refused_no_ring);
	return producer != NULL;
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

	if (!session_is_over() && have_ring(thread)) {
		struct ring_producer *p = thread->producer;

		if (p->cursor != p->end || ring_producer_refill(p))
			slot = p->cursor;
	}
	errno = saved;
	return slot;
}

slot_word *inferscope_group(struct runtime_thread *thread, uint32_t count)
{
	if (thread->producer->cursor == thread->producer->end && !inferscope_refill(thread))
		return NULL;
	return ring_producer_group(thread->producer, count);
}

void inferscope_refuse_reentry(struct runtime_thread *thread)
{
	struct ring_header *shared = thread->producer->shared;

	if (shared)
		ring_count(&shared->refused_reentry);
	else
		thread->refused++;
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
	ring_producer_exit(thread->producer);
	thread->producer = &no_producer;
	thread->busy = 0;
}
