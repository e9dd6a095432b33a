/*
 * layout.h - records of CUPTI: where their fields lie, in every release from CUDA 11 on.
 *
 * Records only ever grow at their end, and do not say how long they are.  So the
 * loaded library is asked for the size of each kind, and what lies behind the
 * end of a record reads as 0.  The numbers are those of NVIDIA's cupti_activity.h.
 */
#ifndef CUDA_LAYOUT_H
#define CUDA_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum cupti_kind {
	KIND_MEMCPY = 1,
	KIND_MEMSET = 2,
	KIND_DRIVER = 4,
	KIND_RUNTIME = 5,
	KIND_DEVICE = 8,
	KIND_CONTEXT = 9,
	KIND_KERNEL = 10, /* of CUPTI's two kinds of kernels the one that does not make them run one after another */
	KIND_NAME = 11,
	KIND_OVERHEAD = 17,
	KIND_ENVIRONMENT = 20,
	KIND_MEMCPY2 = 22, /* from one device to another */
	KIND_EVENT = 36,
	KIND_SYNC = 38,
	KIND_MEMORY = 49,
	KIND_POOL = 50,
	KIND_HOST_NODE = 56, /* a function of the host in a graph */
	KIND_HOST_LAUNCH = 58, /* and one that a stream was told to call */
	KIND_LIMIT = 64
};

/* FIELD(record, name, offset): of a kind whose least size is in LAYOUT_LEAST. */
#define LAYOUT_FIELDS(FIELD) \
	FIELD(KERNEL, REGISTERS, 6) FIELD(KERNEL, START, 16) FIELD(KERNEL, END, 24) FIELD(KERNEL, DEVICE, 40) \
	FIELD(KERNEL, CONTEXT, 44) FIELD(KERNEL, STREAM, 48) FIELD(KERNEL, GRID, 52) FIELD(KERNEL, BLOCK, 64) \
	FIELD(KERNEL, STATIC_SHARED, 76) FIELD(KERNEL, DYNAMIC_SHARED, 80) FIELD(KERNEL, CORRELATION, 92) \
	FIELD(KERNEL, NAME, 104) FIELD(KERNEL, LAUNCH_TYPE, 136) \
	FIELD(KERNEL, GRAPH_NODE, 144) FIELD(KERNEL, GRAPH, 156) FIELD(KERNEL, CLUSTER, 176) \
	FIELD(MEMCPY, KIND, 4) FIELD(MEMCPY, FROM, 5) FIELD(MEMCPY, TO, 6) FIELD(MEMCPY, BYTES, 8) FIELD(MEMCPY, START, 16) \
	FIELD(MEMCPY, END, 24) FIELD(MEMCPY, DEVICE, 32) FIELD(MEMCPY, CONTEXT, 36) FIELD(MEMCPY, STREAM, 40) \
	FIELD(MEMCPY, CORRELATION, 44) FIELD(MEMCPY, GRAPH_NODE, 64) FIELD(MEMCPY, GRAPH, 72) \
	FIELD(MEMCPY2, FROM_DEVICE, 44) FIELD(MEMCPY2, TO_DEVICE, 52) FIELD(MEMCPY2, CORRELATION, 60) \
	FIELD(MEMCPY2, GRAPH_NODE, 72) FIELD(MEMCPY2, GRAPH, 80) \
	FIELD(MEMSET, BYTES, 8) FIELD(MEMSET, START, 16) FIELD(MEMSET, END, 24) FIELD(MEMSET, DEVICE, 32) \
	FIELD(MEMSET, CONTEXT, 36) FIELD(MEMSET, STREAM, 40) FIELD(MEMSET, CORRELATION, 44) FIELD(MEMSET, MEMORY, 50) \
	FIELD(MEMSET, GRAPH_NODE, 64) FIELD(MEMSET, GRAPH, 72) \
	FIELD(API, CALL, 4) FIELD(API, START, 8) FIELD(API, END, 16) FIELD(API, THREAD, 28) FIELD(API, CORRELATION, 32) \
	FIELD(SYNC, TYPE, 4) FIELD(SYNC, START, 8) FIELD(SYNC, END, 16) FIELD(SYNC, CORRELATION, 24) FIELD(SYNC, CONTEXT, 28) \
	FIELD(SYNC, STREAM, 32) FIELD(SYNC, EVENT, 36) FIELD(SYNC, EVENT_SYNC, 40) \
	FIELD(EVENT, CORRELATION, 4) FIELD(EVENT, CONTEXT, 8) FIELD(EVENT, EVENT, 16) FIELD(EVENT, EVENT_SYNC, 48) \
	FIELD(OVERHEAD, KIND, 4) FIELD(OVERHEAD, OBJECT, 8) FIELD(OVERHEAD, THREAD, 16) FIELD(OVERHEAD, START, 24) \
	FIELD(OVERHEAD, END, 32) \
	FIELD(MEMORY, OPERATION, 4) FIELD(MEMORY, KIND, 8) FIELD(MEMORY, CORRELATION, 12) FIELD(MEMORY, ADDRESS, 16) \
	FIELD(MEMORY, BYTES, 24) FIELD(MEMORY, TIME, 32) FIELD(MEMORY, DEVICE, 52) \
	FIELD(POOL, OPERATION, 4) FIELD(POOL, CORRELATION, 12) FIELD(POOL, DEVICE, 20) FIELD(POOL, ADDRESS, 32) \
	FIELD(POOL, SIZE, 40) FIELD(POOL, TIME, 56) \
	FIELD(ENVIRONMENT, DEVICE, 4) FIELD(ENVIRONMENT, TIME, 8) FIELD(ENVIRONMENT, KIND, 16) FIELD(ENVIRONMENT, SM_CLOCK, 20) \
	FIELD(ENVIRONMENT, MEMORY_CLOCK, 24) FIELD(ENVIRONMENT, PCIE_GENERATION, 28) FIELD(ENVIRONMENT, PCIE_WIDTH, 32) \
	FIELD(ENVIRONMENT, REASONS, 36) FIELD(ENVIRONMENT, TEMPERATURE, 20) FIELD(ENVIRONMENT, POWER, 20) \
	FIELD(ENVIRONMENT, POWER_LIMIT, 24) FIELD(ENVIRONMENT, FAN, 20) \
	FIELD(HOST, STREAM, 4) FIELD(HOST, CONTEXT, 8) FIELD(HOST, DEVICE, 12) FIELD(HOST, CORRELATION, 16) \
	FIELD(HOST_NODE, GRAPH, 20) FIELD(HOST_NODE, NODE, 24) FIELD(HOST_NODE, THREAD, 36) FIELD(HOST_NODE, START, 40) \
	FIELD(HOST_NODE, END, 48) \
	FIELD(HOST_LAUNCH, THREAD, 24) FIELD(HOST_LAUNCH, START, 32) FIELD(HOST_LAUNCH, END, 40) \
	FIELD(CONTEXT, CONTEXT, 4) FIELD(CONTEXT, DEVICE, 8) FIELD(CONTEXT, NULL_STREAM, 14) \
	FIELD(DEVICE, BANDWIDTH, 8) FIELD(DEVICE, MEMORY, 16) FIELD(DEVICE, CLOCK, 36) FIELD(DEVICE, COPY_ENGINES, 40) \
	FIELD(DEVICE, PROCESSORS, 44) FIELD(DEVICE, MAJOR, 104) FIELD(DEVICE, MINOR, 108) FIELD(DEVICE, NUMBER, 112) \
	FIELD(DEVICE, UUID, 120) FIELD(DEVICE, NAME, 136) FIELD(DEVICE, VISIBLE, 144) \
	FIELD(NAME, OBJECT, 4) FIELD(NAME, DEVICE, 8) FIELD(NAME, CONTEXT, 12) FIELD(NAME, STREAM, 16) FIELD(NAME, NAME, 24)

enum layout_offset {
#define FIELD(record, name, offset) AT_##record##_##name = (offset),
	LAYOUT_FIELDS(FIELD)
#undef FIELD
};

/* A record, and how much of it there is. */
struct record {
	const uint8_t *at;
	size_t size;
};

static inline uint64_t record_number(struct record r, size_t offset, size_t width)
{
	uint64_t value = 0;

	if (offset + width <= r.size)
		memcpy(&value, r.at + offset, width);
	return value;
}
static inline uint8_t record_u8(struct record r, size_t offset)
{
	return (uint8_t)record_number(r, offset, 1);
}
static inline uint16_t record_u16(struct record r, size_t offset)
{
	return (uint16_t)record_number(r, offset, 2);
}
static inline uint32_t record_u32(struct record r, size_t offset)
{
	return (uint32_t)record_number(r, offset, 4);
}
static inline uint64_t record_u64(struct record r, size_t offset)
{
	return record_number(r, offset, 8);
}

/* cuptiActivityGetNextRecord(). */
typedef int layout_walk(uint8_t *buffer, size_t valid, void **record);

/* The size of each kind that we read, in the library with this function; 0 where it does not have the kind, or one that is too
 * short to be what we know. */
void layout_ask(layout_walk *next, uint16_t ret_sizes[KIND_LIMIT]);

/* cuptiActivityGetNextRecord() for the first record of a buffer, where there is no library to ask; its answers. */
int layout_first(const uint16_t sizes[KIND_LIMIT], uint8_t *buffer, size_t valid, void **record);
/* The size of the record there; 0: there is none that we know. */
size_t layout_record(const uint16_t sizes[KIND_LIMIT], const uint8_t *at, const uint8_t *end);
/* How much of a buffer has been written to, if it was all zeroes before.  A record that we do not know is the last. */
size_t layout_valid(const uint16_t sizes[KIND_LIMIT], const uint8_t *buffer, size_t size);

/* The size of a kind in the oldest release that we know; 0: we do not read it. */
uint16_t layout_least(unsigned kind);

#endif
