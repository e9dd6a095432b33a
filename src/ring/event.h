/*
 * event.h - the event model: kinds, phases, fields, and the 32-byte slot
 * that carries an event from a door to the trace writer.
 *
 * The numbers are those of docs/sbt-format.md and never change meaning.
 *
 *        0               8               16      20      24  26  28 29 30 32
 *        +---------------+---------------+-------+-------+---+---+--+--+---+
 *        | time (ticks)  | value         | name  | aux   |cpu|dep|k |x | f |
 *        +---------------+---------------+-------+-------+---+---+--+--+---+
 *
 * k is the kind, x the number of continuation slots that follow, and f holds
 * the phase and says which field `value` and `aux` stand for.  Events with
 * more fields carry them in the continuation slots, as a list of
 *
 *        field (u8), size (u16, little-endian), that many bytes
 *
 * preceded by the list's size in bytes (u16).  Numbers are 1, 2, 4 or 8 bytes
 * long (fields.h).
 */
#ifndef RING_EVENT_H
#define RING_EVENT_H

#include <stdint.h>

enum event_kind {
	EVENT_NONE = 0,
	EVENT_CPU_CALL = 1,
	EVENT_SCOPE = 2,
	EVENT_INSTANT = 3,
	EVENT_COUNTER = 4,
	EVENT_CPU_SYSCALL = 5,
	EVENT_CPU_SAMPLE = 6,
	EVENT_MEMORY_ALLOC = 7,
	EVENT_MEMORY_FREE = 8,
	EVENT_OP = 9,
	EVENT_RUNTIME_CALL = 10,
	EVENT_GPU_KERNEL = 11,
	EVENT_H2D_COPY = 12,
	EVENT_D2H_COPY = 13,
	EVENT_D2D_COPY = 14,
	EVENT_MEMSET = 15,
	EVENT_SYNC = 16,
	EVENT_COLLECTIVE = 17,
	EVENT_FLOW = 18,
	EVENT_LOST = 19,
	EVENT_CLOCK_PAIR = 20,
	EVENT_KIND_COUNT
};

enum event_phase {
	PHASE_BEGIN = 0,
	PHASE_END = 1,
	PHASE_COMPLETE = 2,
	PHASE_INSTANT = 3,
	PHASE_ASYNC_BEGIN = 4,
	PHASE_ASYNC_END = 5,
	PHASE_FLOW_OUT = 6,
	PHASE_FLOW_IN = 7,
	PHASE_COUNT
};

enum event_field {
	FIELD_SHAPE = 0, /* in a file only; in a slot: "value (or aux) is unused" */
	FIELD_TIME = 1,
	FIELD_NAME = 2,
	FIELD_CPU = 3,
	FIELD_DEPTH = 4,
	FIELD_DURATION = 5,
	FIELD_VALUE = 6,
	FIELD_INTEGER = 7,
	FIELD_CORRELATION = 8,
	FIELD_FLOW = 9,
	FIELD_STACK = 10,
	FIELD_BYTES = 11,
	FIELD_GRID_X = 12,
	FIELD_GRID_Y = 13,
	FIELD_GRID_Z = 14,
	FIELD_BLOCK_X = 15,
	FIELD_BLOCK_Y = 16,
	FIELD_BLOCK_Z = 17,
	FIELD_SHARED_MEMORY = 18,
	FIELD_REGISTERS = 19,
	FIELD_POINTER = 20,
	FIELD_NUMA_NODE = 21,
	FIELD_METADATA = 22, /* bytes: a MessagePack map */
	FIELD_COUNT = 23,
	FIELD_REASON = 24,
	FIELD_ID = 25,
	FIELD_LINK = 26,
	FIELD_OPERATOR = 27,    /* number of the operator that asked for this call or device work */
	FIELD_GRAPH = 28,       /* number of the graph that device work is a node of, or that a call launches */
	FIELD_MEMORY_KIND = 29, /* of a copy: MEMORY_KINDS(from, to) */
	FIELD_WAIT = 30,        /* of a sync: correlation of the call that recorded what it waits for */
	FIELD_LIMIT /* number of known fields */
};

enum lost_reason {
	LOST_OVERWRITTEN = 1,
	LOST_REFUSED = 2,
	LOST_NO_BUFFER = 3,
	LOST_REENTRY = 4,
	LOST_NAMES = 5, /* events kept, names not */
	LOST_UNWRITTEN = 6,
	LOST_DROPPED = 7,
	LOST_UNREADABLE = 8,
	LOST_UNSEEN = 9, /* nobody knows how many: for a time we did not look */
	LOST_REASON_COUNT
};

enum memory_kind {
	MEMORY_UNKNOWN = 0,
	MEMORY_PAGEABLE = 1,
	MEMORY_PINNED = 2,
	MEMORY_DEVICE = 3,
	MEMORY_ARRAY = 4,
	MEMORY_MANAGED = 5,
	MEMORY_KIND_COUNT
};
#define MEMORY_KINDS(from, to) ((uint64_t)(from) | (uint64_t)(to) << 8)
#define MEMORY_KIND_FROM(kinds) ((unsigned)((kinds) & 0xff))
#define MEMORY_KIND_TO(kinds) ((unsigned)((kinds) >> 8 & 0xff))

#define EVENT_CPU_UNKNOWN 0xffffu    /* slot.cpu when the CPU cannot be told */
#define EVENT_DEPTH_UNMATCHED 0xffffu /* slot.depth of an end that ends nothing */

struct event_slot {
	uint64_t time;
	uint64_t value;
	uint32_t name; /* 0: none */
	uint32_t aux;
	uint16_t cpu;
	uint16_t depth;
	uint8_t kind;
	uint8_t extra;  /* continuation slots that follow */
	uint16_t flags; /* EVENT_FLAGS() */
};

_Static_assert(sizeof(struct event_slot) == 32, "slots are 32 bytes");

/*
 * flags: bits 0-4 field of value, 5-9 field of aux, 10-12 phase, 13 event has cpu and depth, 14 event of a task, 15 of a stream
 *
 * An event of a task (an asyncio task, a greenlet) comes through the ring of the thread that runs it and belongs on the
 * task's own track: `aux` is the task's number in its process, `value` the name of the task.  Never in a file.
 *
 * So does an event of a device's stream, which comes through the ring of whoever saw it end: `aux` is the stream's number in
 * its process, counted from 0, `value` the name that describes it, a line for each thing that is known, "key=value":
 *
 *      kind=opencl          cuda, opencl, hip or other
 *      index=0              of the device
 *      name=...             of the device
 *      totalGlobalMem=...   any number of its properties
 *                           an empty line; what is before it is the device, the same for all of its streams
 *      stream=7             number of the stream on its device
 *      name=...             of the stream
 *
 * or instead of the last two
 *
 *      of=process           all of the device, as far as this process uses it: its memory
 *      of=device            all of the device, whoever uses it: its clocks, its power
 *
 * Or it is something that another thread tells of a thread of the process ("thread=ID" alone) or of the process as a whole
 * ("process"), and goes to that one's track.
 */
#define EVENT_FLAG_THREAD 0x2000u
#define EVENT_FLAG_TASK 0x4000u
#define EVENT_FLAG_STREAM 0x8000u
#define EVENT_FLAGS(phase, value_field, aux_field) \
	((uint16_t)((value_field) | (aux_field) << 5 | (phase) << 10))
#define EVENT_FLAGS_VALUE(flags) ((flags) & 31u)
#define EVENT_FLAGS_AUX(flags) ((flags) >> 5 & 31u)
#define EVENT_FLAGS_PHASE(flags) ((flags) >> 10 & 7u)

/* The names people see ("scope", "gpu_kernel", ...), or NULL. */
const char *event_kind_name(unsigned kind);
const char *event_field_name(unsigned field);
const char *event_lost_reason_name(unsigned reason);
const char *event_memory_kind_name(unsigned kind); /* "pageable" */
unsigned event_kind_from_name(const char *name); /* EVENT_NONE when unknown */

#endif
