/*
 * api.c - the calls of include/inferscope.h.
 *
 * Each is one clock read and a few stores.  A call that finds the thread
 * inside another one (it comes from a signal handler) is refused and counted:
 * the slot at the cursor belongs to the call that was interrupted.
 */
#include <errno.h>
#include <string.h>

#include "inferscope.h"
#include "runtime/runtime.h"

#define METADATA_MAX 1008u /* bytes of MessagePack */
#define GROUP_SLOTS 33u    /* head, and 1024 bytes after it */

static inline bool enter(struct runtime_thread *t)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (INFERSCOPE_UNLIKELY(t->busy) && !inferscope_reenter(t, here))
		return false;
	t->busy = here;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

static inline void leave(struct runtime_thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = 0;
}

/* A site is written once: the id first, by whoever comes first, then the literal it belongs to. */
static void remember(struct inferscope_site *site, const char *name, uint32_t id)
{
	uint32_t none = 0;

	if (__atomic_compare_exchange_n(&site->id, &none, id, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		__atomic_store_n(&site->key, name, __ATOMIC_RELEASE);
}

static __attribute__((noinline, cold)) uint32_t look_up(struct runtime_thread *t, struct inferscope_site *site, const char *name)
{
	struct runtime *rt = &inferscope_runtime;
	struct process_header *header;
	int saved = errno;
	uint32_t id = NAME_TOO_MANY;

	/* A forked child needs a file of its own before it can name anything. */
	if (inferscope_have_process(t))
		id = name ? name_intern(rt->names, &rt->memory->process, name) : NAME_NONE;
	header = rt->memory->process.header;
	if (id == NAME_TOO_MANY && header)
		ring_count(&header->names_refused);
	else if (site && id != NAME_TOO_MANY)
		remember(site, name, id);
	errno = saved;
	return id;
}

static inline uint32_t name_id(struct runtime_thread *t, struct inferscope_site *site, const char *name)
{
	if (INFERSCOPE_LIKELY(site && __atomic_load_n(&site->key, __ATOMIC_ACQUIRE) == name))
		return site->id;
	return look_up(t, site, name);
}

/* Where the next slot goes, or NULL: refused, and counted.  Before the depth is looked at: a forked child starts from 0. */
static inline slot_word *room(struct runtime_thread *t)
{
	slot_word *slot = t->producer->cursor;

	if (INFERSCOPE_UNLIKELY(slot == t->producer->end))
		slot = inferscope_refill(t);
	return slot;
}

static inline void emit(struct runtime_thread *t, slot_word *slot, uint32_t kind, uint32_t flags, uint32_t name, uint32_t depth,
			uint64_t value)
{
	if (INFERSCOPE_UNLIKELY(!slot))
		return;
	ring_slot_write(slot, clock_ticks(inferscope_runtime.clock), value, ring_word_names(name, 0),
			ring_word_rest((uint32_t)*t->cpu, depth, kind, 0, flags | EVENT_FLAG_THREAD));
	ring_publish(t->producer, 1);
}

static inline uint32_t clamp_depth(uint32_t depth)
{
	return depth < EVENT_DEPTH_UNMATCHED ? depth : EVENT_DEPTH_UNMATCHED - 1;
}

static void scope_begin(struct inferscope_site *site, const char *name)
{
	struct runtime_thread *t = &inferscope_thread;
	slot_word *slot;
	uint32_t id;

	if (!enter(t))
		return;
	id = name_id(t, site, name);
	slot = room(t);
	emit(t, slot, EVENT_SCOPE, EVENT_FLAGS(PHASE_BEGIN, 0, 0), id, clamp_depth(t->depth), 0);
	t->depth++;
	leave(t);
}

static void scope_end(void)
{
	struct runtime_thread *t = &inferscope_thread;

	slot_word *slot;

	if (!enter(t))
		return;
	slot = room(t);
	emit(t, slot, EVENT_SCOPE, EVENT_FLAGS(PHASE_END, 0, 0), NAME_NONE,
	     t->depth ? clamp_depth(t->depth - 1) : EVENT_DEPTH_UNMATCHED, 0);
	t->depth -= t->depth != 0;
	leave(t);
}

static void counter(struct inferscope_site *site, const char *name, double value)
{
	struct runtime_thread *t = &inferscope_thread;
	slot_word *slot;
	uint64_t bits;
	uint32_t id;

	if (!enter(t))
		return;
	id = name_id(t, site, name);
	slot = room(t);
	memcpy(&bits, &value, sizeof bits);
	emit(t, slot, EVENT_COUNTER, EVENT_FLAGS(PHASE_INSTANT, FIELD_VALUE, 0), id, clamp_depth(t->depth), bits);
	leave(t);
}

static void range(struct inferscope_site *site, const char *name, uint64_t id, int what)
{
	struct runtime_thread *t = &inferscope_thread;
	uint32_t kind = what >= INFERSCOPE_FLOW_OUT ? EVENT_FLOW : EVENT_SCOPE, name_number;
	slot_word *slot;

	if (what < INFERSCOPE_ASYNC_BEGIN || what > INFERSCOPE_FLOW_IN || !enter(t))
		return;
	name_number = name_id(t, site, name);
	slot = room(t);
	emit(t, slot, kind, EVENT_FLAGS((uint32_t)what, FIELD_FLOW, 0), name_number, clamp_depth(t->depth), id);
	leave(t);
}

/* ---- Metadata ---------------------------------------------------------------- */

/* A MessagePack map under construction; what does not fit is left out, whole. */
struct map_writer {
	uint8_t bytes[METADATA_MAX];
	uint32_t size;
	uint32_t entries;
};

static void put_big_endian(struct map_writer *w, uint8_t type, uint64_t value, uint32_t bytes)
{
	w->bytes[w->size++] = type;
	while (bytes--)
		w->bytes[w->size++] = (uint8_t)(value >> 8 * bytes);
}

static void put_string(struct map_writer *w, const char *text, uint32_t size)
{
	put_big_endian(w, 0xda, size, 2); /* str 16 */
	memcpy(w->bytes + w->size, text, size);
	w->size += size;
}

static void put_value(struct map_writer *w, const struct inferscope_value *v, uint32_t string_size)
{
	uint64_t bits;

	switch (v->type) {
	case INFERSCOPE_DOUBLE:
		memcpy(&bits, &v->as.d, sizeof bits);
		put_big_endian(w, 0xcb, bits, 8);
		break;
	case INFERSCOPE_STRING:
		put_string(w, v->as.s ? v->as.s : "", string_size);
		break;
	case INFERSCOPE_BOOL:
		put_big_endian(w, v->as.i ? 0xc3 : 0xc2, 0, 0);
		break;
	default:
		put_big_endian(w, 0xd3, (uint64_t)v->as.i, 8);
	}
}

static void put_entry(struct map_writer *w, const struct inferscope_value *v)
{
	const char *key = v->key ? v->key : "";
	size_t key_size = strnlen(key, METADATA_MAX), value_size = 8;

	if (v->type == INFERSCOPE_STRING)
		value_size = v->as.s ? strnlen(v->as.s, METADATA_MAX) : 0;
	if (w->size + 3 + key_size + 3 + value_size > sizeof w->bytes)
		return;
	put_string(w, key, (uint32_t)key_size);
	put_value(w, v, (uint32_t)value_size);
	w->entries++;
}

/* The continuation slots: size of the list, then its one entry: field, size, bytes. */
static void write_metadata(slot_word *slots, uint32_t count, const struct map_writer *w)
{
	uint64_t words[4 * (GROUP_SLOTS - 1)] = { 0 };
	uint8_t *bytes = (uint8_t *)words, field = FIELD_METADATA;
	uint16_t size = (uint16_t)w->size, total = (uint16_t)(size + 3);

	memcpy(bytes, &total, 2);
	memcpy(bytes + 2, &field, 1);
	memcpy(bytes + 3, &size, 2);
	memcpy(bytes + 5, w->bytes, size);
	for (uint32_t i = 0; i < 4 * count; i++)
		atomic_store_explicit(slots + i, words[i], memory_order_relaxed);
}

static void emit_with_metadata(struct runtime_thread *t, uint32_t id, const struct map_writer *w)
{
	uint32_t more = (w->size + 5 + 31) / 32;
	slot_word *slot = inferscope_group(t, 1 + more);

	if (!slot)
		return;
	ring_slot_write(slot, clock_ticks(inferscope_runtime.clock), 0, ring_word_names(id, 0),
			ring_word_rest((uint32_t)*t->cpu, clamp_depth(t->depth), EVENT_INSTANT, more,
				       EVENT_FLAGS(PHASE_INSTANT, 0, 0) | EVENT_FLAG_THREAD));
	write_metadata(slot + 4, more, w);
	ring_publish_group(t->producer, 1 + more, more);
}

static void mark(struct inferscope_site *site, const char *name, const struct inferscope_value *values, size_t count)
{
	struct runtime_thread *t = &inferscope_thread;
	struct map_writer w;
	slot_word *slot;
	uint32_t id;

	if (!enter(t))
		return;
	id = name_id(t, site, name);
	w.size = 3;
	w.entries = 0;
	for (size_t i = 0; i < count; i++)
		put_entry(&w, &values[i]);
	w.bytes[0] = 0xde; /* map 16 */
	w.bytes[1] = (uint8_t)(w.entries >> 8);
	w.bytes[2] = (uint8_t)w.entries;
	if (w.entries) {
		emit_with_metadata(t, id, &w);
	} else {
		slot = room(t);
		emit(t, slot, EVENT_INSTANT, EVENT_FLAGS(PHASE_INSTANT, 0, 0), id, clamp_depth(t->depth), 0);
	}
	leave(t);
}

static void thread_name(const char *name)
{
	struct runtime_thread *t = &inferscope_thread;

	int saved = errno;

	if (!name || !enter(t))
		return;
	if (inferscope_have_ring(t)) /* a name needs no room for events, and is none */
		atomic_store_explicit(&t->producer->shared->name, look_up(t, NULL, name), memory_order_release);
	errno = saved;
	leave(t);
}

extern const struct inferscope_ops inferscope_api;
const struct inferscope_ops inferscope_api = {
	.size = sizeof(struct inferscope_ops),
	.version = INFERSCOPE_ABI,
	.scope_begin = scope_begin,
	.scope_end = scope_end,
	.mark = mark,
	.counter = counter,
	.range = range,
	.thread_name = thread_name,
};
