/*
 * gpu.h - what the doors of GPUs share: the work of devices, on our clock, into the rings.
 *
 *      struct gpu_stream stream;
 *      gpu_stream_init(&stream, thread, "kind=opencl\nindex=0\nname=...\n\nstream=1");
 *      gpu_emit(thread, &stream, &(struct gpu_work){ .kind = EVENT_GPU_KERNEL, .name = id, .begin = ticks, ... });
 *
 * Part of libinferscope-rt.so: nothing here allocates, blocks or prints.
 */
#ifndef GPU_GPU_H
#define GPU_GPU_H

#include "runtime/emit.h"

/* Of a device: a CUDA stream, a queue of OpenCL; or a thread of the program, for what is told about it later and elsewhere. */
struct gpu_stream {
	uint32_t number;      /* in this process */
	uint32_t description; /* the id of a name, see ring/event.h */
};
/* Between emit_enter() and emit_leave(), as all of these. */
void gpu_stream_init(struct gpu_stream *stream, struct runtime_thread *thread, const char *description);
/* This process is the heir of another (runtime.h): the streams that it makes are further ones of that. */
void gpu_streams_inherit(void);

/* A piece of work of a device; what is 0 is not known and not written, apart from the times. */
struct gpu_work {
	uint32_t kind; /* EVENT_GPU_KERNEL, ... */
	uint32_t name;
	uint64_t begin, duration; /* ticks */
	uint64_t correlation, bytes, memory_kinds;
	uint64_t graph, wait;
	uint64_t grid[3], block[3]; /* known when the first is not 0 */
	uint64_t shared_memory, registers;
	const void *metadata; /* a MessagePack map, */
	size_t metadata_size; /* of at most GPU_METADATA bytes: a larger one is left out */
};
#define GPU_METADATA 512u
void gpu_emit(struct runtime_thread *thread, const struct gpu_stream *stream, const struct gpu_work *work);

/* Memory of a device is allocated, or given back, at this time: EVENT_MEMORY_ALLOC or EVENT_MEMORY_FREE. */
struct gpu_memory {
	uint32_t kind;
	uint32_t name; /* of the call, or of the pool */
	uint64_t time; /* ticks */
	uint64_t pointer, bytes, correlation;
	uint64_t memory; /* MEMORY_DEVICE, ... */
};
void gpu_emit_memory(struct runtime_thread *thread, const struct gpu_stream *stream, const struct gpu_memory *memory);

/* A reading of a counter of a device. */
void gpu_emit_counter(struct runtime_thread *thread, const struct gpu_stream *stream, uint32_t name, uint64_t time, uint64_t value);

/* The device's clock was read, as `device` nanoseconds, in a bracket of so many ticks around `time`; and where the clock as it had
 * been fitted until then would have put it (`fitted` ticks; `time` for the first). */
struct gpu_pair {
	uint64_t time, width;
	uint64_t device;
	uint64_t fitted;
};
void gpu_emit_pair(struct runtime_thread *thread, const struct gpu_stream *stream, const struct gpu_pair *pair);

/* A call of the runtime or driver on this thread, which has just returned. */
void gpu_emit_call(struct runtime_thread *thread, uint32_t name, uint64_t begin, uint64_t end, uint32_t correlation);

/* Events that cannot be told, by whatever thread; also elsewhere. */
void gpu_count_lost(uint64_t events);

/* The number of the next launch in this process; never 0. */
uint32_t gpu_correlation(void);

#endif
