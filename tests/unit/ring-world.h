/*
 * ring-world.h - a session with rings for tests: a page in memory, a folder for the processes' files, and a reader that
 * checks what it reads.
 *
 * Every event carries its number in `value` (from 0, in each ring) and so shows
 * that it is intact and in order.
 */
#ifndef RING_WORLD_H
#define RING_WORLD_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>

#include "ring/consumer.h"
#include "ring/producer.h"

struct world {
	struct session_page *session;
	char folder[64];
	int folder_fd;
};

/* One ring, from both sides. */
struct pair {
	struct ring_producer *producer;
	uint32_t serial;
	uint64_t emitted, refused; /* events */

	struct ring_file *file;
	struct ring_cursor cursor;
	uint64_t next; /* number of the event that comes next, if none is lost */
	uint64_t read, lost;
};

static inline void world_set_up(struct world *w, uint32_t chunk_limit, enum ring_overflow overflow)
{
	void *page = NULL;

	assert_int_equal(posix_memalign(&page, SESSION_PAGE_SIZE, SESSION_PAGE_SIZE), 0);
	memset(page, 0, SESSION_PAGE_SIZE);
	w->session = page;
	w->session->chunk_limit = chunk_limit;
	w->session->overflow = overflow;
	w->session->block_timeout_ms = 20;
	snprintf(w->folder, sizeof w->folder, "%s/test-ring-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(w->folder));
	w->folder_fd = open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(w->folder_fd >= 0);
}

static inline void world_tear_down(struct world *w)
{
	char name[16];

	for (uint32_t i = 0; i < w->session->processes; i++) {
		snprintf(name, sizeof name, "p%u", i);
		unlinkat(w->folder_fd, name, 0);
	}
	assert_int_equal(rmdir(w->folder), 0);
	close(w->folder_fd);
	free(w->session);
}

static inline int world_attach(struct world *w, struct ring_memory **ret, uint32_t first_name)
{
	struct ring_process_options options = {
		.session = w->session,
		.folder = w->folder,
		.chunk_limit = w->session->chunk_limit,
		.first_name = first_name,
	};

	*ret = ring_memory_map(w->session->chunk_limit);
	assert_non_null(*ret);
	return ring_process_attach(*ret, &options);
}

static inline void world_process(struct world *w, struct ring_memory **ret_memory, struct ring_file *ret_file)
{
	struct error err = { 0 };

	assert_int_equal(world_attach(w, ret_memory, 2), 0);
	assert_int_equal(ring_file_open(ret_file, w->folder_fd, (*ret_memory)->process.number, &err), 0);
}

static inline void pair_open(struct pair *pair, struct ring_memory *memory, struct ring_file *file)
{
	*pair = (struct pair){ .file = file };
	pair->producer = ring_producer_open(memory, 0, 0, &pair->serial);
	assert_non_null(pair->producer);
}

/* An event with `more` continuation slots, the bytes of which are its number too. */
static inline void pair_emit(struct pair *pair, uint32_t more)
{
	struct ring_producer *p = pair->producer;
	slot_word *slot = NULL;

	if (more)
		slot = ring_producer_group(p, 1 + more);
	else if (p->cursor != p->end || ring_producer_refill(p))
		slot = p->cursor;
	pair->emitted++;
	if (!slot) {
		pair->refused++;
		return;
	}
	ring_slot_write(slot, 0, pair->emitted - 1 - pair->refused, 0, ring_word_rest(0, 0, EVENT_INSTANT, more, 0));
	for (uint32_t i = 1; i <= more; i++)
		ring_slot_write(slot + 4 * i, pair->emitted - 1 - pair->refused, ~0ull, ~0ull, ~0ull);
	ring_publish_group(p, 1 + more, more);
}

/* Looks at what was read out of one chunk; events are whole, intact and in order. */
static inline void pair_check(struct pair *pair, const struct event_slot *slots, size_t count)
{
	for (size_t i = 0; i < count;) {
		size_t more = slots[i].extra;

		if (slots[i].kind == EVENT_NONE) {
			pair->cursor.extra++;
			i++;
			continue;
		}
		assert_int_equal(slots[i].kind, EVENT_INSTANT);
		assert_int_equal(slots[i].value, pair->next);
		assert_true(i + more < count);
		for (size_t j = 1; j <= more; j++)
			assert_int_equal(slots[i + j].time, pair->next);
		pair->cursor.extra += more;
		pair->next++;
		pair->read++;
		i += 1 + more;
	}
}

/* Reads all there is to be read now. */
static inline void pair_read(struct pair *pair)
{
	static struct event_slot slots[CHUNK_SLOTS];
	struct ring_scan scan = { 0 };
	struct ring_gap gap;
	size_t count;

	assert_int_equal(ring_scan(&scan, pair->file), 0);
	while ((count = ring_read(&scan, pair->file, pair->producer->index, &pair->cursor, slots, CHUNK_SLOTS, &gap)) >
	       0) {
		pair->lost += gap.events;
		pair->next += gap.events;
		pair_check(pair, slots, count);
	}
	ring_scan_release(&scan);
}

/* Says that what was read is safe. */
static inline void pair_drained(struct pair *pair)
{
	atomic_store(&pair->producer->shared->drained, pair->cursor.position);
}

/* The one thing that must always hold, when all has been read. */
static inline void pair_is_exact(const struct pair *pair)
{
	assert_int_equal(pair->cursor.position, pair->producer->produced);
	assert_int_equal(pair->emitted - pair->refused, pair->read + pair->lost);
	assert_int_equal(pair->cursor.extra, pair->producer->extra);
	assert_int_equal(pair->refused,
			 pair->producer->shared->refused_full + pair->producer->shared->refused_no_chunk);
}

#endif
