/*
 * api.c - the calls of include/inferscope.h.
 */
#include <errno.h>
#include <string.h>

#include "inferscope.h"
#include "runtime/emit.h"

#define METADATA_MAX (EMIT_FIELDS_MAX - 3) /* bytes of MessagePack */
#define GROUP_SLOTS 33u                   /* head, and 1024 bytes after it */

/* A site is written once: the id first, by whoever comes first, then the literal it belongs to. */
static void remember(struct inferscope_site *site, const char *name, uint32_t id)
{
	uint32_t none = 0;

	if (__atomic_compare_exchange_n(&site->id, &none, id, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		__atomic_store_n(&site->key, name, __ATOMIC_RELEASE);
}

uint32_t inferscope_intern(struct runtime_thread *t, const char *name, size_t size)
{
	struct runtime *rt = &inferscope_runtime;
	struct process_header *header;
	int saved = errno;
	uint32_t id = NAME_TOO_MANY;

	/* A forked child needs a file of its own before it can name anything. */
	if (inferscope_have_process(t))
		id = name_intern(rt->names, &rt->memory->process, name, size);
	header = rt->memory->process.header;
	if (id == NAME_TOO_MANY && header)
		ring_count(&header->names_refused);
	errno = saved;
	return id;
}

static __attribute__((noinline, cold)) uint32_t look_up(struct runtime_thread *t, struct inferscope_site *site, const char *name)
{
	uint32_t id = name ? inferscope_intern(t, name, strnlen(name, NAME_MAX_BYTES + 4)) : NAME_NONE;

	if (site && id != NAME_TOO_MANY)
		remember(site, name, id);
	return id;
}

static inline uint32_t name_id(struct runtime_thread *t, struct inferscope_site *site, const char *name)
{
	if (INFERSCOPE_LIKELY(site && __atomic_load_n(&site->key, __ATOMIC_ACQUIRE) == name))
		return site->id;
	return look_up(t, site, name);
}

/* The continuation slots: size of the list, then the list. */
static void write_fields(slot_word *slots, uint32_t count, const void *fields, size_t size)
{
	uint64_t words[4 * (GROUP_SLOTS - 1)] = { 0 };
	uint16_t total = (uint16_t)size;

	memcpy(words, &total, 2);
	memcpy((uint8_t *)words + 2, fields, size);
	for (uint32_t i = 0; i < 4 * count; i++)
		atomic_store_explicit(slots + i, words[i], memory_order_relaxed);
}

void inferscope_emit_fields(struct runtime_thread *t, uint32_t kind, uint32_t flags, uint32_t name, uint64_t value,
			    const void *fields, size_t size)
{
	uint32_t more = (uint32_t)(size + 2 + 31) / 32;
	slot_word *slot = size <= EMIT_FIELDS_MAX ? inferscope_group(t, 1 + more) : NULL;

	if (!slot)
		return;
	ring_slot_write(slot, clock_ticks(inferscope_runtime.clock), value, ring_word_names(name, 0),
			ring_word_rest((uint32_t)*t->cpu, emit_depth(t->depth), kind, more, flags | EVENT_FLAG_THREAD));
	write_fields(slot + 4, more, fields, size);
	ring_publish_group(t->producer, 1 + more, more);
}

static void scope_begin(struct inferscope_site *site, const char *name)
{
	const struct runtime *rt = &inferscope_runtime;
	struct runtime_thread *t = &inferscope_thread;

	if (!emit_enter(rt, t))
		return;
	emit_begin(rt, t, EVENT_SCOPE, name_id(t, site, name));
	emit_leave(t);
}

/* Not the innermost slice: a call of some language, which is still running, is inside it. */
static __attribute__((noinline)) void scope_end_slow(struct runtime_thread *t, slot_word *slot)
{
	int64_t depth = inferscope_innermost(t, EVENT_SCOPE);

	if (depth >= 0)
		inferscope_end_at(t, (uint32_t)depth, slot);
	else
		emit_slot(&inferscope_runtime, t, slot, EVENT_SCOPE, EVENT_FLAGS(PHASE_END, 0, 0), NAME_NONE, 0, EVENT_DEPTH_UNMATCHED, 0);
}

static void scope_end(void)
{
	const struct runtime *rt = &inferscope_runtime;
	struct runtime_thread *t = &inferscope_thread;
	slot_word *slot;

	if (!emit_enter(rt, t))
		return;
	slot = emit_room(rt, t);
	if (INFERSCOPE_LIKELY(t->depth - 1 < t->open_limit && OPEN_KIND(t->open[t->depth - 1]) == EVENT_SCOPE))
		emit_end_innermost(rt, t, slot, EVENT_SCOPE);
	else
		scope_end_slow(t, slot);
	emit_leave(t);
}

static void counter(struct inferscope_site *site, const char *name, double value)
{
	const struct runtime *rt = &inferscope_runtime;
	struct runtime_thread *t = &inferscope_thread;
	slot_word *slot;
	uint64_t bits;
	uint32_t id;

	if (!emit_enter(rt, t))
		return;
	id = name_id(t, site, name);
	slot = emit_room(rt, t);
	memcpy(&bits, &value, sizeof bits);
	emit_slot(rt, t, slot, EVENT_COUNTER, EVENT_FLAGS(PHASE_INSTANT, FIELD_VALUE, 0), id, 0, emit_depth(t->depth), bits);
	emit_leave(t);
}

static void range(struct inferscope_site *site, const char *name, uint64_t id, int what)
{
	const struct runtime *rt = &inferscope_runtime;
	struct runtime_thread *t = &inferscope_thread;
	uint32_t kind = what >= INFERSCOPE_FLOW_OUT ? EVENT_FLOW : EVENT_SCOPE, name_number;
	slot_word *slot;

	if (what < INFERSCOPE_ASYNC_BEGIN || what > INFERSCOPE_FLOW_IN || !emit_enter(rt, t))
		return;
	name_number = name_id(t, site, name);
	slot = emit_room(rt, t);
	emit_slot(rt, t, slot, kind, EVENT_FLAGS((uint32_t)what, FIELD_FLOW, 0), name_number, 0, emit_depth(t->depth), id);
	emit_leave(t);
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

/* A list of one: field, size, bytes. */
static void emit_with_metadata(struct runtime_thread *t, uint32_t id, const struct map_writer *w)
{
	uint8_t fields[3 + METADATA_MAX];
	uint16_t size = (uint16_t)w->size;

	fields[0] = FIELD_METADATA;
	memcpy(fields + 1, &size, 2);
	memcpy(fields + 3, w->bytes, size);
	inferscope_emit_fields(t, EVENT_INSTANT, EVENT_FLAGS(PHASE_INSTANT, 0, 0), id, 0, fields, 3u + size);
}

static void mark(struct inferscope_site *site, const char *name, const struct inferscope_value *values, size_t count)
{
	const struct runtime *rt = &inferscope_runtime;
	struct runtime_thread *t = &inferscope_thread;
	struct map_writer w;
	slot_word *slot;
	uint32_t id;

	if (!emit_enter(rt, t))
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
		slot = emit_room(rt, t);
		emit_slot(rt, t, slot, EVENT_INSTANT, EVENT_FLAGS(PHASE_INSTANT, 0, 0), id, 0, emit_depth(t->depth), 0);
	}
	emit_leave(t);
}

static void thread_name(const char *name)
{
	const struct runtime *rt = &inferscope_runtime;
	struct runtime_thread *t = &inferscope_thread;
	int saved = errno;

	if (!name || !emit_enter(rt, t))
		return;
	if (inferscope_have_ring(t)) /* a name needs no room for events, and is none */
		atomic_store_explicit(&t->producer->shared->name, look_up(t, NULL, name), memory_order_release);
	errno = saved;
	emit_leave(t);
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
