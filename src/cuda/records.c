/*
 * records.c - records become events.
 *
 * What has times that cannot be (devices run out of memory for them, and then
 * records have none) is counted and not guessed.
 */
#include <stdio.h>

#include "cuda/cuda.h"

/* ---- Names of our own ------------------------------------------------------------------ */

/* Interned when first needed; the id stays. */
static uint32_t fixed_name(struct runtime_thread *t, uint32_t *id, const char *text)
{
	if (!*id)
		*id = inferscope_intern(t, text, strlen(text));
	return *id;
}

#define WAYS 11u
#define MEMORIES 8u

static const char *memory_name(unsigned kind)
{
	static const char *const names[MEMORIES] = { "Unknown", "Pageable", "Pinned",	     "Device",
						     "Array",	"Managed",  "Device Static", "Managed Static" };

	return names[kind < MEMORIES ? kind : 0];
}

static unsigned memory_kind(unsigned kind)
{
	static const uint8_t kinds[MEMORIES] = { MEMORY_UNKNOWN, MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE,
						 MEMORY_ARRAY,	 MEMORY_MANAGED,  MEMORY_DEVICE, MEMORY_MANAGED };

	return kinds[kind < MEMORIES ? kind : 0];
}

/* Kinds of copies by CUPTI's numbers. */
static const struct way {
	const char *text;
	uint8_t kind;
} ways[WAYS] = {
	{ "", EVENT_D2D_COPY },     { "HtoD", EVENT_H2D_COPY }, { "DtoH", EVENT_D2H_COPY }, { "HtoA", EVENT_H2D_COPY },
	{ "AtoH", EVENT_D2H_COPY }, { "AtoA", EVENT_D2D_COPY }, { "AtoD", EVENT_D2D_COPY }, { "DtoA", EVENT_D2D_COPY },
	{ "DtoD", EVENT_D2D_COPY }, { "HtoH", EVENT_D2D_COPY }, { "PtoP", EVENT_D2D_COPY },
};

/* "Memcpy HtoD (Pinned -> Device)", as other tools write it. */
static uint32_t copy_name(struct runtime_thread *t, unsigned way, unsigned from, unsigned to)
{
	static uint32_t ids[WAYS][MEMORIES][MEMORIES];
	uint32_t *id = &ids[way][from < MEMORIES ? from : 0][to < MEMORIES ? to : 0];
	char text[80];

	if (*id)
		return *id;
	snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", ways[way].text, memory_name(from), memory_name(to));
	return fixed_name(t, id, text);
}

static uint32_t set_name(struct runtime_thread *t, unsigned memory)
{
	static uint32_t ids[MEMORIES];
	char text[48];

	snprintf(text, sizeof text, "Memset (%s)", memory_name(memory));
	return fixed_name(t, &ids[memory < MEMORIES ? memory : 0], text);
}

/* ---- Further facts, as a MessagePack map ------------------------------------------------- */

struct map {
	uint8_t bytes[160];
	size_t size;
};
#define MAP_INIT { .bytes = { 0x80 }, .size = 1 }

static void put(struct map *m, const char *key, uint64_t value)
{
	size_t length = strlen(key);

	if (m->size + 1 + length + 9 > sizeof m->bytes)
		return;
	m->bytes[0]++;
	m->bytes[m->size++] = (uint8_t)(0xa0 | length); /* keys are shorter than 32 bytes */
	memcpy(m->bytes + m->size, key, length);
	m->size += length;
	m->bytes[m->size++] = 0xcf;
	for (int shift = 56; shift >= 0; shift -= 8)
		m->bytes[m->size++] = (uint8_t)(value >> shift);
}

static void finish(struct gpu_work *work, const struct map *m)
{
	if (m->size == 1)
		return;
	work->metadata = m->bytes;
	work->metadata_size = m->size;
}

/* ---- Work of devices --------------------------------------------------------------------- */

struct where {
	uint32_t device, context, stream;
};

/* False: its times cannot be.  An end of 0 is that of work that still runs when the program ends, and the last we know of it. */
static bool take_times(struct gpu_work *work, struct map *m, uint64_t start, uint64_t end)
{
	if (!cuda_times(start, end, work)) {
		gpu_count_lost(1);
		return false;
	}
	if (end == 0)
		put(m, "unfinished", 1);
	return true;
}

static void emit_work(struct runtime_thread *t, struct where at, struct gpu_work *work, struct map *m)
{
	finish(work, m);
	gpu_emit(t, cuda_stream(t, at.device, at.context, at.stream), work);
}

static void set_graph(struct gpu_work *work, struct map *m, uint32_t graph, uint64_t node)
{
	work->graph = graph;
	if (node)
		put(m, "graph node id", node);
}

static void emit_kernel(struct runtime_thread *t, struct record r)
{
	struct where at = { record_u32(r, AT_KERNEL_DEVICE), record_u32(r, AT_KERNEL_CONTEXT), record_u32(r, AT_KERNEL_STREAM) };
	struct gpu_work work = { .kind = EVENT_GPU_KERNEL, .correlation = record_u32(r, AT_KERNEL_CORRELATION) };
	struct map m = MAP_INIT;

	if (!take_times(&work, &m, record_u64(r, AT_KERNEL_START), record_u64(r, AT_KERNEL_END)))
		return;
	work.name = cuda_name(t, record_u64(r, AT_KERNEL_NAME));
	for (unsigned i = 0; i < 3; i++) {
		work.grid[i] = record_u32(r, AT_KERNEL_GRID + 4 * i);
		work.block[i] = record_u32(r, AT_KERNEL_BLOCK + 4 * i);
	}
	work.shared_memory = (uint64_t)record_u32(r, AT_KERNEL_STATIC_SHARED) + record_u32(r, AT_KERNEL_DYNAMIC_SHARED);
	work.registers = record_u16(r, AT_KERNEL_REGISTERS);
	set_graph(&work, &m, record_u32(r, AT_KERNEL_GRAPH), record_u64(r, AT_KERNEL_GRAPH_NODE));
	if (record_u32(r, AT_KERNEL_CLUSTER)) {
		put(&m, "cluster_x", record_u32(r, AT_KERNEL_CLUSTER));
		put(&m, "cluster_y", record_u32(r, AT_KERNEL_CLUSTER + 4));
		put(&m, "cluster_z", record_u32(r, AT_KERNEL_CLUSTER + 8));
	}
	if (record_u8(r, AT_KERNEL_LAUNCH_TYPE)) /* 0: as usual */
		put(&m, "launch_type", record_u8(r, AT_KERNEL_LAUNCH_TYPE));
	emit_work(t, at, &work, &m);
}

/* Copies; those from one device to another say which. */
static void emit_copy(struct runtime_thread *t, struct record r, bool peers)
{
	struct where at = { record_u32(r, AT_MEMCPY_DEVICE), record_u32(r, AT_MEMCPY_CONTEXT), record_u32(r, AT_MEMCPY_STREAM) };
	unsigned way = record_u8(r, AT_MEMCPY_KIND), from = record_u8(r, AT_MEMCPY_FROM), to = record_u8(r, AT_MEMCPY_TO);
	struct gpu_work work = { .bytes = record_u64(r, AT_MEMCPY_BYTES) };
	struct map m = MAP_INIT;

	way = way < WAYS ? way : 0;
	if (!take_times(&work, &m, record_u64(r, AT_MEMCPY_START), record_u64(r, AT_MEMCPY_END)))
		return;
	work.kind = ways[way].kind;
	work.name = copy_name(t, way, from, to);
	work.memory_kinds = MEMORY_KINDS(memory_kind(from), memory_kind(to));
	work.correlation = record_u32(r, peers ? AT_MEMCPY2_CORRELATION : AT_MEMCPY_CORRELATION);
	set_graph(&work, &m, record_u32(r, peers ? AT_MEMCPY2_GRAPH : AT_MEMCPY_GRAPH),
		  record_u64(r, peers ? AT_MEMCPY2_GRAPH_NODE : AT_MEMCPY_GRAPH_NODE));
	if (peers) {
		put(&m, "from_device", record_u32(r, AT_MEMCPY2_FROM_DEVICE));
		put(&m, "to_device", record_u32(r, AT_MEMCPY2_TO_DEVICE));
	}
	emit_work(t, at, &work, &m);
}

static void emit_set(struct runtime_thread *t, struct record r)
{
	struct where at = { record_u32(r, AT_MEMSET_DEVICE), record_u32(r, AT_MEMSET_CONTEXT), record_u32(r, AT_MEMSET_STREAM) };
	unsigned memory = record_u16(r, AT_MEMSET_MEMORY);
	struct gpu_work work = { .kind = EVENT_MEMSET, .bytes = record_u64(r, AT_MEMSET_BYTES) };
	struct map m = MAP_INIT;

	work.correlation = record_u32(r, AT_MEMSET_CORRELATION);
	if (!take_times(&work, &m, record_u64(r, AT_MEMSET_START), record_u64(r, AT_MEMSET_END)))
		return;
	work.name = set_name(t, memory);
	work.memory_kinds = MEMORY_KINDS(0, memory_kind(memory));
	set_graph(&work, &m, record_u32(r, AT_MEMSET_GRAPH), record_u64(r, AT_MEMSET_GRAPH_NODE));
	emit_work(t, at, &work, &m);
}

/* ---- Waiting, and what CUPTI and the driver do themselves ---------------------------------- */

enum { SYNC_EVENT = 1, SYNC_STREAM_WAIT = 2, SYNCS = 5 };

static void emit_sync(struct runtime_thread *t, struct record r)
{
	static const char *const names[SYNCS] = { "Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync" };
	static uint32_t ids[SYNCS];
	uint32_t type = record_u32(r, AT_SYNC_TYPE);
	struct gpu_work work = { .kind = EVENT_SYNC, .correlation = record_u32(r, AT_SYNC_CORRELATION) };

	type = type < SYNCS ? type : 0;
	if (!cuda_times(record_u64(r, AT_SYNC_START), record_u64(r, AT_SYNC_END), &work)) {
		gpu_count_lost(1);
		return;
	}
	work.name = fixed_name(t, &ids[type], names[type]);
	if (type == SYNC_EVENT || type == SYNC_STREAM_WAIT)
		work.wait = cuda_waits_find(r);
	gpu_emit(t, cuda_stream_of_context(t, record_u32(r, AT_SYNC_CONTEXT), record_u32(r, AT_SYNC_STREAM)), &work);
}

/* A thread of the driver's runs it, and the stream waits until it is over: no work of the device, as other waits of streams are not. */
static void emit_host(struct runtime_thread *t, struct record r, bool node)
{
	static uint32_t id;
	struct gpu_work work = { .kind = EVENT_SYNC, .correlation = record_u32(r, AT_HOST_CORRELATION) };
	struct where at = { record_u32(r, AT_HOST_DEVICE), record_u32(r, AT_HOST_CONTEXT), record_u32(r, AT_HOST_STREAM) };
	struct map m = MAP_INIT;

	if (!take_times(&work, &m, record_u64(r, node ? AT_HOST_NODE_START : AT_HOST_LAUNCH_START),
			record_u64(r, node ? AT_HOST_NODE_END : AT_HOST_LAUNCH_END)))
		return;
	work.name = fixed_name(t, &id, "Host Function");
	if (cuda_door->thread_ids)
		put(&m, "thread", record_u32(r, node ? AT_HOST_NODE_THREAD : AT_HOST_LAUNCH_THREAD));
	if (node)
		set_graph(&work, &m, record_u32(r, AT_HOST_NODE_GRAPH), record_u64(r, AT_HOST_NODE_NODE));
	emit_work(t, at, &work, &m);
}

#define OVERHEADS 10u
#define OVERHEAD_FLUSH 1u
#define OVERHEAD_REQUEST 7u
#define SHORT_NS 10000 /* of what we cause ourselves, all the time */

static void emit_overhead(struct runtime_thread *t, struct record r)
{
	static const char *const names[OVERHEADS] = {
		"CUDA overhead", "Buffer Flush", "Instrumentation", "Resource", "Runtime Triggered Module Loading",
		"Lazy Function Loading", "Command Buffer Full", "Activity Buffer Request", "UVM Activity Init", "Driver Compiler"
	};
	static uint32_t ids[OVERHEADS];
	uint32_t kind = record_u32(r, AT_OVERHEAD_KIND), place = kind == 1 ? OVERHEADS - 1 : kind >> 16;
	bool of_thread = record_u32(r, AT_OVERHEAD_OBJECT) == 2;
	struct cuda_thread *thread = cuda_thread(t, of_thread && cuda_door->thread_ids ? record_u32(r, AT_OVERHEAD_THREAD) : 0);
	struct gpu_work work = { .kind = EVENT_SCOPE };

	place = place < OVERHEADS ? place : 0;
	if (!cuda_times(record_u64(r, AT_OVERHEAD_START), record_u64(r, AT_OVERHEAD_END), &work)) {
		gpu_count_lost(1);
		return;
	}
	if ((place == OVERHEAD_FLUSH || place == OVERHEAD_REQUEST) && work.duration < cuda_clock_ticks(SHORT_NS))
		return;
	work.name = fixed_name(t, &ids[place], names[place]);
	gpu_emit(t, thread ? &thread->stream : cuda_process(t), &work);
}

/* ---- Memory -------------------------------------------------------------------------------- */

static void emit_memory(struct runtime_thread *t, struct record r)
{
	static uint32_t ids[MEMORIES];
	unsigned kind = record_u32(r, AT_MEMORY_KIND);
	struct gpu_memory memory = {
		.kind = record_u32(r, AT_MEMORY_OPERATION) == 2 ? EVENT_MEMORY_FREE : EVENT_MEMORY_ALLOC,
		.pointer = record_u64(r, AT_MEMORY_ADDRESS),
		.bytes = record_u64(r, AT_MEMORY_BYTES),
		.correlation = record_u32(r, AT_MEMORY_CORRELATION),
		.memory = memory_kind(kind),
	};
	char text[48];

	if (!cuda_time(record_u64(r, AT_MEMORY_TIME), &memory.time)) {
		gpu_count_lost(1);
		return;
	}
	snprintf(text, sizeof text, "CUDA memory (%s)", memory_name(kind));
	memory.name = fixed_name(t, &ids[kind < MEMORIES ? kind : 0], text);
	gpu_emit_memory(t, cuda_device(t, record_u32(r, AT_MEMORY_DEVICE)), &memory);
}

static void emit_pool(struct runtime_thread *t, struct record r)
{
	static const char *const names[4] = { "CUDA memory pool", "CUDA memory pool created", "CUDA memory pool destroyed",
					      "CUDA memory pool trimmed" };
	static uint32_t ids[4];
	uint32_t operation = record_u32(r, AT_POOL_OPERATION);
	struct gpu_memory memory = {
		.kind = EVENT_INSTANT,
		.pointer = record_u64(r, AT_POOL_ADDRESS),
		.bytes = record_u64(r, AT_POOL_SIZE),
		.correlation = record_u32(r, AT_POOL_CORRELATION),
	};

	operation = operation < 4 ? operation : 0;
	if (!cuda_time(record_u64(r, AT_POOL_TIME), &memory.time)) {
		gpu_count_lost(1);
		return;
	}
	memory.name = fixed_name(t, &ids[operation], names[operation]);
	gpu_emit_memory(t, cuda_device_in_use(t, record_u32(r, AT_POOL_DEVICE)), &memory);
}

/* ---- All of them --------------------------------------------------------------------------- */

void cuda_records_learn(struct runtime_thread *t, struct record r, unsigned kind)
{
	(void)t;
	if (kind == KIND_EVENT)
		cuda_waits_learn(r);
	else if (kind == KIND_KERNEL)
		cuda_places_see(record_u32(r, AT_KERNEL_DEVICE), record_u32(r, AT_KERNEL_CONTEXT));
	else if (kind == KIND_MEMCPY || kind == KIND_MEMSET)
		cuda_places_see(record_u32(r, AT_MEMCPY_DEVICE), record_u32(r, AT_MEMCPY_CONTEXT));
	else
		cuda_places_learn(r, kind);
}

void cuda_records_emit(struct runtime_thread *t, struct record r, unsigned kind)
{
	switch (kind) {
	case KIND_KERNEL:
		emit_kernel(t, r);
		break;
	case KIND_MEMCPY:
	case KIND_MEMCPY2:
		emit_copy(t, r, kind == KIND_MEMCPY2);
		break;
	case KIND_MEMSET:
		emit_set(t, r);
		break;
	case KIND_RUNTIME:
	case KIND_DRIVER:
		cuda_calls_take(t, r, kind);
		break;
	case KIND_SYNC:
		emit_sync(t, r);
		break;
	case KIND_HOST_NODE:
	case KIND_HOST_LAUNCH:
		emit_host(t, r, kind == KIND_HOST_NODE);
		break;
	case KIND_OVERHEAD:
		emit_overhead(t, r);
		break;
	case KIND_MEMORY:
		emit_memory(t, r);
		break;
	case KIND_POOL:
		emit_pool(t, r);
		break;
	case KIND_ENVIRONMENT:
		cuda_environment_emit(t, r);
		break;
	default:
		break;
	}
}

void cuda_records_pass_over(struct runtime_thread *t, bool last)
{
	cuda_calls_pass_over(t, last);
	cuda_names_forget();
}

bool cuda_records_credible(struct record r, unsigned kind)
{
	struct gpu_work work;

	switch (kind) {
	case KIND_KERNEL:
	case KIND_MEMCPY:
	case KIND_MEMCPY2:
	case KIND_MEMSET: /* their times are at the same place */
		return cuda_times(record_u64(r, AT_KERNEL_START), record_u64(r, AT_KERNEL_END), &work);
	case KIND_RUNTIME:
	case KIND_DRIVER:
	case KIND_SYNC: /* likewise */
		return cuda_times(record_u64(r, AT_API_START), record_u64(r, AT_API_END), &work);
	case KIND_HOST_NODE:
		return cuda_times(record_u64(r, AT_HOST_NODE_START), record_u64(r, AT_HOST_NODE_END), &work);
	case KIND_HOST_LAUNCH:
		return cuda_times(record_u64(r, AT_HOST_LAUNCH_START), record_u64(r, AT_HOST_LAUNCH_END), &work);
	case KIND_OVERHEAD:
		return cuda_times(record_u64(r, AT_OVERHEAD_START), record_u64(r, AT_OVERHEAD_END), &work);
	case KIND_MEMORY:
		return cuda_time(record_u64(r, AT_MEMORY_TIME), &work.begin);
	case KIND_POOL:
		return cuda_time(record_u64(r, AT_POOL_TIME), &work.begin);
	case KIND_ENVIRONMENT:
		return cuda_time(record_u64(r, AT_ENVIRONMENT_TIME), &work.begin);
	default:
		return false;
	}
}
