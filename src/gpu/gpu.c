/* gpu.c - see gpu.h. */
#include "gpu/gpu.h"

#include <string.h>

/* ---- Fields that an event has besides those of its slot ------------------------ */

#define FIELDS 18u /* more than any event of ours has, of 11 bytes each; and a map with its head */

struct fields {
	uint8_t bytes[2 + FIELDS * 11 + 3 + GPU_METADATA + sizeof(struct event_slot)];
	size_t size; /* the first two are the size of the list */
};
_Static_assert(sizeof ((struct fields *)0)->bytes / sizeof(struct event_slot) <= 255, "continuation slots are counted in a byte");

/* The bytes are written as they are needed: to clear them all would take longer than the rest. */
static void begin_fields(struct fields *f)
{
	f->size = 2;
}

static void put_bytes(struct fields *f, uint8_t field, const void *data, size_t size)
{
	uint16_t length = (uint16_t)size;

	f->bytes[f->size] = field;
	memcpy(f->bytes + f->size + 1, &length, 2);
	memcpy(f->bytes + f->size + 3, data, size);
	f->size += 3 + size;
}

static size_t size_of(uint64_t value)
{
	return value <= UINT8_MAX ? 1 : value <= UINT16_MAX ? 2 : value <= UINT32_MAX ? 4 : 8;
}

/* As few bytes of it as will do. */
static void put(struct fields *f, uint8_t field, uint64_t value)
{
	size_t size = size_of(value);
	uint32_t head = field | (uint32_t)size << 8;

	memcpy(f->bytes + f->size, &head, sizeof head);
	memcpy(f->bytes + f->size + 3, &value, sizeof value);
	f->size += 3 + size;
}

static void put_known(struct fields *f, uint8_t field, uint64_t value)
{
	if (value)
		put(f, field, value);
}

static void put_sizes(struct fields *f, uint8_t first, const uint64_t sizes[3])
{
	for (uint8_t i = 0; i < 3 && sizes[0]; i++)
		if (i == 0 || sizes[i] != 1) /* see docs/sbt-format.md */
			put(f, (uint8_t)(first + i), sizes[i]);
}

static uint32_t slots_of(const struct fields *f)
{
	return (uint32_t)((f->size + sizeof(struct event_slot) - 1) / sizeof(struct event_slot));
}

static void write_fields(struct fields *f, slot_word *slot, uint32_t count)
{
	uint16_t size = (uint16_t)(f->size - 2);
	uint64_t words[4];

	memcpy(f->bytes, &size, 2);
	memset(f->bytes + f->size, 0, count * sizeof words - f->size);
	for (uint32_t i = 0; i < count; i++) {
		memcpy(words, f->bytes + i * sizeof words, sizeof words);
		ring_slot_write(slot + 4 * i, words[0], words[1], words[2], words[3]);
	}
}

/* ---- Events ---------------------------------------------------------------------- */

static _Atomic uint32_t next_stream;

/* Our heir goes on from there. */
static void tell_streams(uint32_t count)
{
	struct process_header *header = inferscope_runtime.memory->process.header;
	uint32_t told = header ? atomic_load_explicit(&header->streams, memory_order_relaxed) : count;

	while (told < count && !atomic_compare_exchange_weak(&header->streams, &told, count))
		;
}

void gpu_streams_inherit(void)
{
	atomic_store(&next_stream, atomic_load(&inferscope_runtime.memory->process.header->streams));
}

void gpu_stream_init(struct gpu_stream *stream, struct runtime_thread *t, const char *description)
{
	stream->number = atomic_fetch_add_explicit(&next_stream, 1, memory_order_relaxed);
	tell_streams(stream->number + 1);
	stream->description = inferscope_intern(t, description, strlen(description));
}

void gpu_count_lost(uint64_t events)
{
	struct ring_memory *memory = inferscope_runtime.memory;

	if (events && inferscope_joined() && memory->process.header)
		atomic_fetch_add_explicit(&memory->process.header->refused_no_ring, events, memory_order_relaxed);
}

uint32_t gpu_correlation(void)
{
	static _Atomic uint32_t next = 1;
	uint32_t number;

	do
		number = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
	while (number == 0);
	return number;
}

/* An event of a stream with its fields. */
static void emit(struct runtime_thread *t, const struct gpu_stream *stream, uint32_t kind, uint32_t phase, uint32_t name, uint64_t time,
		 struct fields *f)
{
	uint32_t more = slots_of(f);
	slot_word *slot = inferscope_group(t, 1 + more);

	if (!slot)
		return;
	ring_slot_write(slot, time, stream->description, ring_word_names(name, stream->number),
			ring_word_rest(EVENT_CPU_UNKNOWN, 0, kind, more, EVENT_FLAGS(phase, 0, 0) | EVENT_FLAG_STREAM));
	write_fields(f, slot + 4, more);
	ring_publish_group(t->producer, 1 + more, more);
}

void gpu_emit(struct runtime_thread *t, const struct gpu_stream *stream, const struct gpu_work *work)
{
	struct fields f;

	begin_fields(&f);
	put(&f, FIELD_DURATION, work->duration);
	put_known(&f, FIELD_CORRELATION, work->correlation);
	put_known(&f, FIELD_BYTES, work->bytes);
	put_known(&f, FIELD_MEMORY_KIND, work->memory_kinds);
	put_sizes(&f, FIELD_GRID_X, work->grid);
	put_sizes(&f, FIELD_BLOCK_X, work->block);
	put_known(&f, FIELD_SHARED_MEMORY, work->shared_memory);
	put_known(&f, FIELD_REGISTERS, work->registers);
	put_known(&f, FIELD_GRAPH, work->graph);
	put_known(&f, FIELD_WAIT, work->wait);
	if (work->metadata && work->metadata_size && work->metadata_size <= GPU_METADATA)
		put_bytes(&f, FIELD_METADATA, work->metadata, work->metadata_size);
	emit(t, stream, work->kind, PHASE_COMPLETE, work->name, work->begin, &f);
}

void gpu_emit_memory(struct runtime_thread *t, const struct gpu_stream *stream, const struct gpu_memory *memory)
{
	struct fields f;

	begin_fields(&f);
	put_known(&f, FIELD_POINTER, memory->pointer);
	put_known(&f, FIELD_BYTES, memory->bytes);
	put_known(&f, FIELD_CORRELATION, memory->correlation);
	put_known(&f, FIELD_MEMORY_KIND, MEMORY_KINDS(0, memory->memory));
	emit(t, stream, memory->kind, PHASE_INSTANT, memory->name, memory->time, &f);
}

void gpu_emit_counter(struct runtime_thread *t, const struct gpu_stream *stream, uint32_t name, uint64_t time, uint64_t value)
{
	struct fields f;

	begin_fields(&f);
	put(&f, FIELD_INTEGER, value);
	emit(t, stream, EVENT_COUNTER, PHASE_INSTANT, name, time, &f);
}

void gpu_emit_pair(struct runtime_thread *t, const struct gpu_stream *stream, const struct gpu_pair *pair)
{
	struct fields f;
	double off = (double)(int64_t)(pair->fitted - pair->time);
	uint64_t bits;

	begin_fields(&f);
	memcpy(&bits, &off, sizeof bits);
	put(&f, FIELD_DURATION, pair->width);
	put(&f, FIELD_INTEGER, pair->device);
	put(&f, FIELD_VALUE, bits);
	emit(t, stream, EVENT_CLOCK_PAIR, PHASE_INSTANT, NAME_NONE, pair->time, &f);
}

void gpu_emit_call(struct runtime_thread *t, uint32_t name, uint64_t begin, uint64_t end, uint32_t correlation)
{
	slot_word *slot = emit_room(&inferscope_runtime, t);

	if (!slot)
		return;
	ring_slot_write(slot, begin, end - begin, ring_word_names(name, correlation),
			ring_word_rest((uint32_t)*t->cpu, emit_depth(t->depth), EVENT_RUNTIME_CALL, 0,
				       EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, correlation ? FIELD_CORRELATION : 0) | EVENT_FLAG_THREAD));
	ring_publish(t->producer, 1);
}
