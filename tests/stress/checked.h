/*
 * checked.h - events that show whether they are intact, for the stress tests.
 *
 * An event says which thread wrote it (serial) and which of that thread's events
 * it is (index); every other word of it, continuations included, is a hash of
 * these.  A reader that gets one word of another event notices.
 */
#ifndef STRESS_CHECKED_H
#define STRESS_CHECKED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "ring/consumer.h"
#include "ring/producer.h"

#define CHECK(condition)                                                                                               \
	((condition) ? (void)0 : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), exit(1)))

static inline uint64_t checked_hash(uint64_t serial, uint64_t index, uint64_t word)
{
	uint64_t h = (serial << 40 ^ index ^ word << 56) * 0x9e3779b97f4a7c15ull;

	return (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
}

/* Continuation slots that an event has: none mostly. */
static inline uint32_t checked_more(uint64_t serial, uint64_t index)
{
	uint64_t h = checked_hash(serial, index, 200);

	return h % 8 ? 0 : (uint32_t)(h >> 32) % 33;
}

/* False: refused, and counted. */
static inline bool checked_emit(struct ring_producer *p, uint32_t serial, uint32_t index)
{
	uint32_t more = checked_more(serial, index);
	slot_word *slot = ring_producer_group(p, 1 + more);

	if (!slot)
		return false;
	ring_slot_write(slot, index, checked_hash(serial, index, 0),
			ring_word_names(serial, (uint32_t)checked_hash(serial, index, 1)),
			ring_word_rest(0, 0, EVENT_INSTANT, more, 0));
	for (uint32_t i = 0; i < 4 * more; i++)
		atomic_store_explicit(slot + 4 + i, checked_hash(serial, index, 2 + i), memory_order_relaxed);
	ring_publish_group(p, 1 + more, more);
	return true;
}

/* Where a reader is in one ring. */
struct checked_ring {
	struct ring_cursor cursor;
	uint32_t serial, index; /* of the newest event */
	uint64_t read, lost;
};

static inline void checked_event(struct checked_ring *r, const struct event_slot *slot, uint32_t more)
{
	uint32_t serial = slot->name, index = (uint32_t)slot->time;
	const uint64_t *words = (const uint64_t *)(slot + 1);

	CHECK(slot->kind == EVENT_INSTANT);
	CHECK(slot->value == checked_hash(serial, index, 0));
	CHECK(slot->aux == (uint32_t)checked_hash(serial, index, 1));
	CHECK(more == checked_more(serial, index));
	for (uint32_t i = 0; i < 4 * more; i++)
		CHECK(words[i] == checked_hash(serial, index, 2 + i));
	CHECK(serial > r->serial || (serial == r->serial && index > r->index));
	r->serial = serial;
	r->index = index;
	r->read++;
}

static inline void checked_slots(struct checked_ring *r, const struct event_slot *slots, size_t count)
{
	for (size_t i = 0; i < count;) {
		uint32_t more = slots[i].extra;

		if (slots[i].kind == EVENT_NONE) {
			r->cursor.extra++;
			i++;
			continue;
		}
		CHECK(i + more < count);
		checked_event(r, &slots[i], more);
		r->cursor.extra += more;
		i += 1 + more;
	}
}

/* All that the ring has in this scan; returns how many slots. */
static inline size_t checked_read(struct checked_ring *r, struct ring_scan *scan, const struct ring_file *file,
				  uint32_t ring)
{
	static struct event_slot slots[CHUNK_SLOTS];
	struct ring_gap gap;
	size_t count, all = 0;

	while ((count = ring_read(scan, file, ring, &r->cursor, slots, CHUNK_SLOTS, &gap)) > 0) {
		r->lost += gap.events;
		checked_slots(r, slots, count);
		all += count;
	}
	return all;
}

#endif
