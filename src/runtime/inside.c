/*
 * inside.c - see inside.h.
 */
#include "runtime/inside.h"

#include "inferscope.h"
#include "runtime/flush.h"
#include "runtime/torch.h"

extern const struct inferscope_ops inferscope_api;

static struct runtime_thread *this_thread(void)
{
	return &inferscope_thread;
}

static void name_thread(const char *name)
{
	inferscope_api.thread_name(name);
}

static const struct inferscope_inside inside = {
	.version = INFERSCOPE_INSIDE,
	.runtime = &inferscope_runtime,
	.thread = this_thread,
	.joined = inferscope_joined,
	.join = inferscope_join,
	.leave = inferscope_leave,
	.intern = inferscope_intern,
	.emit_fields = inferscope_emit_fields,
	.thread_name = name_thread,
	.note = inferscope_note,
	.fact = inferscope_fact,
	.torch_start = inferscope_torch_start,
	.torch_stop = inferscope_torch_stop,
	.flush = inferscope_flush,
	.yield = inferscope_yield,
};

__attribute__((visibility("default"))) const struct inferscope_inside *inferscope_inside(uint32_t version)
{
	inferscope_load();
	return version == INFERSCOPE_INSIDE ? &inside : NULL;
}
