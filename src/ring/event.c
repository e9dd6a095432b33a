/*
 * event.c - the names of kinds, fields and reasons, as people see them.
 */
#include "ring/event.h"

#include <stddef.h>
#include <string.h>

static const char *const kind_names[EVENT_KIND_COUNT] = {
	[EVENT_CPU_CALL] = "cpu_call",
	[EVENT_SCOPE] = "scope",
	[EVENT_INSTANT] = "instant",
	[EVENT_COUNTER] = "counter",
	[EVENT_CPU_SYSCALL] = "cpu_syscall",
	[EVENT_CPU_SAMPLE] = "cpu_sample",
	[EVENT_MEMORY_ALLOC] = "memory_alloc",
	[EVENT_MEMORY_FREE] = "memory_free",
	[EVENT_OP] = "op",
	[EVENT_RUNTIME_CALL] = "runtime_call",
	[EVENT_GPU_KERNEL] = "gpu_kernel",
	[EVENT_H2D_COPY] = "h2d_copy",
	[EVENT_D2H_COPY] = "d2h_copy",
	[EVENT_D2D_COPY] = "d2d_copy",
	[EVENT_MEMSET] = "memset",
	[EVENT_SYNC] = "sync",
	[EVENT_COLLECTIVE] = "collective",
	[EVENT_FLOW] = "flow",
	[EVENT_LOST] = "lost",
	[EVENT_CLOCK_PAIR] = "clock_pair",
};

static const char *const field_names[FIELD_LIMIT] = {
	[FIELD_SHAPE] = "shape",
	[FIELD_TIME] = "time",
	[FIELD_NAME] = "name",
	[FIELD_CPU] = "cpu",
	[FIELD_DEPTH] = "depth",
	[FIELD_DURATION] = "duration",
	[FIELD_VALUE] = "value",
	[FIELD_INTEGER] = "integer",
	[FIELD_CORRELATION] = "correlation",
	[FIELD_FLOW] = "flow",
	[FIELD_STACK] = "stack",
	[FIELD_BYTES] = "bytes",
	[FIELD_GRID_X] = "grid_x",
	[FIELD_GRID_Y] = "grid_y",
	[FIELD_GRID_Z] = "grid_z",
	[FIELD_BLOCK_X] = "block_x",
	[FIELD_BLOCK_Y] = "block_y",
	[FIELD_BLOCK_Z] = "block_z",
	[FIELD_SHARED_MEMORY] = "shared_memory",
	[FIELD_REGISTERS] = "registers",
	[FIELD_POINTER] = "pointer",
	[FIELD_NUMA_NODE] = "numa_node",
	[FIELD_METADATA] = "metadata",
	[FIELD_COUNT] = "count",
	[FIELD_REASON] = "reason",
	[FIELD_ID] = "id",
	[FIELD_LINK] = "link",
	[FIELD_OPERATOR] = "operator",
	[FIELD_GRAPH] = "graph",
	[FIELD_MEMORY_KIND] = "memory_kind",
	[FIELD_WAIT] = "wait",
};

static const char *const reason_names[LOST_REASON_COUNT] = {
	[LOST_OVERWRITTEN] = "overwritten", [LOST_REFUSED] = "refused",       [LOST_NO_BUFFER] = "no_buffer",
	[LOST_REENTRY] = "reentry",         [LOST_NAMES] = "names",           [LOST_UNWRITTEN] = "unwritten",
	[LOST_DROPPED] = "dropped",         [LOST_UNREADABLE] = "unreadable",
	[LOST_UNSEEN] = "unseen",
};

static const char *const memory_names[MEMORY_KIND_COUNT] = {
	[MEMORY_UNKNOWN] = "unknown", [MEMORY_PAGEABLE] = "pageable", [MEMORY_PINNED] = "pinned",
	[MEMORY_DEVICE] = "device",   [MEMORY_ARRAY] = "array",       [MEMORY_MANAGED] = "managed",
};

const char *event_kind_name(unsigned kind)
{
	return kind < EVENT_KIND_COUNT ? kind_names[kind] : NULL;
}

const char *event_field_name(unsigned field)
{
	return field < FIELD_LIMIT ? field_names[field] : NULL;
}

const char *event_lost_reason_name(unsigned reason)
{
	return reason < LOST_REASON_COUNT ? reason_names[reason] : NULL;
}

const char *event_memory_kind_name(unsigned kind)
{
	return kind < MEMORY_KIND_COUNT ? memory_names[kind] : NULL;
}

unsigned event_kind_from_name(const char *name)
{
	for (unsigned kind = EVENT_NONE + 1; kind < EVENT_KIND_COUNT; kind++)
		if (strcmp(kind_names[kind], name) == 0)
			return kind;
	return EVENT_NONE;
}
