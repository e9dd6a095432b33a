/*
 * open.c - slices that end out of order; runtime.h has the rule.
 */
#include <sys/mman.h>

#include "runtime/emit.h"

static uint32_t kind_at(const struct runtime_thread *t, uint32_t depth)
{
	return depth < t->open_limit ? OPEN_KIND(t->open[depth]) : EVENT_CPU_CALL;
}

/* An end with a link says that the slice goes on: its next part begins at once. */
static void end_innermost(struct runtime_thread *t, slot_word *slot, bool goes_on)
{
	if (t->depth == 0)
		return;
	emit_slot(&inferscope_runtime, t, slot, kind_at(t, t->depth - 1), EVENT_FLAGS(PHASE_END, goes_on ? FIELD_LINK : 0, 0), NAME_NONE, 0,
		  emit_depth(t->depth - 1), 0);
	t->depth--;
}

static void begin_again(struct runtime_thread *t, uint32_t entry)
{
	const struct runtime *rt = &inferscope_runtime;
	slot_word *slot = emit_room(rt, t);

	emit_slot(rt, t, slot, OPEN_KIND(entry), EVENT_FLAGS(PHASE_BEGIN, FIELD_LINK, 0), OPEN_NAME(entry), 0, emit_depth(t->depth), 0);
	emit_opened(t, OPEN_KIND(entry), OPEN_NAME(entry));
}

void inferscope_end_at(struct runtime_thread *t, uint32_t depth, slot_word *slot)
{
	uint32_t was = t->depth, epoch = t->epoch;

	while (t->depth > depth && t->epoch == epoch) {
		end_innermost(t, slot, t->depth - 1 > depth && kind_at(t, t->depth - 1) == EVENT_SCOPE);
		slot = t->depth > depth ? emit_room(&inferscope_runtime, t) : NULL;
	}
	/* what follows is written where others have been read */
	for (uint32_t d = depth + 1; d < was && d < t->open_limit && t->epoch == epoch; d++)
		if (OPEN_KIND(t->open[d]) == EVENT_SCOPE)
			begin_again(t, t->open[d]);
}

bool inferscope_end(struct runtime_thread *t, uint32_t entry, slot_word *slot)
{
	uint32_t depth = t->depth;

	if (depth > t->open_limit) { /* too deep to be told apart, or no memory: ends come in order there */
		end_innermost(t, slot, false);
		return true;
	}
	while (depth-- > 0)
		if (t->open[depth] == entry) {
			inferscope_end_at(t, depth, slot);
			return true;
		}
	return false;
}

int64_t inferscope_innermost(const struct runtime_thread *t, uint32_t kind)
{
	uint32_t depth = t->depth;

	if (depth > t->open_limit)
		return depth - 1;
	while (depth-- > 0)
		if (OPEN_KIND(t->open[depth]) == kind)
			return depth;
	return -1;
}

void inferscope_open_map(struct runtime_thread *t)
{
	void *memory;

	if (t->open)
		return;
	memory = mmap(NULL, OPEN_LIMIT * sizeof *t->open, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return;
	t->open = memory;
	t->open_limit = OPEN_LIMIT;
}

void inferscope_open_unmap(struct runtime_thread *t)
{
	if (t->open)
		munmap(t->open, OPEN_LIMIT * sizeof *t->open);
	t->open = NULL;
	t->open_limit = 0;
}
