#include "ring/consumer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* ---- The file -------------------------------------------------------------- */

int ring_file_adopt(struct ring_file *file, void *map, uint64_t size, struct error *err)
{
	const struct process_header *h = map;
	struct ring_file f = { .map = map, .size = size };

	if (size < PROCESS_CHUNKS_OFFSET)
		return error_set(err, -EINVAL, "process file is too short");
	if (!atomic_load_explicit(&h->ready, memory_order_acquire))
		return -EAGAIN;
	f.number = h->number;
	f.pid = h->pid;
	f.parent = h->parent;
	f.first_name = h->first_name;
	f.flags = h->flags;
	f.chunk_limit = h->chunk_limit;
	f.start_ticks = h->start_ticks;
	f.pid_namespace = h->pid_namespace;
	if (h->magic != PROCESS_MAGIC || h->version != 1)
		return error_set(err, -EINVAL, "process file has the wrong magic or version");
	if (f.chunk_limit == 0 || f.chunk_limit > CHUNK_LIMIT || layout_file_size(f.chunk_limit) > size || f.first_name > NAME_LIMIT)
		return error_set(err, -EINVAL, "process file has limits that do not fit its size");
	f.chunk_offset = layout_chunk_offset(f.chunk_limit);
	*file = f;
	return 0;
}

/* By read(), not through a mapping: where memory is full, looking at a page that its process could not get is a signal. */
static bool is_ready(int fd)
{
	uint32_t ready = 0;

	return pread(fd, &ready, sizeof ready, offsetof(struct process_header, ready)) == sizeof ready && ready;
}

int ring_file_open(struct ring_file *file, int folder_fd, uint32_t number, struct error *err)
{
	char name[16];
	struct stat st;
	void *map;
	int fd, rc;

	snprintf(name, sizeof name, "p%u", number);
	fd = openat(folder_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : error_errno(err, -errno, "cannot open process file %s", name);
	rc = fstat(fd, &st) != 0 ? -errno : 0;
	if (rc == 0 && (!S_ISREG(st.st_mode) || st.st_uid != geteuid()))
		rc = error_set(err, -EPERM, "process file %s is not a file of ours", name);
	if (rc == 0 && ((uint64_t)st.st_size < PROCESS_CHUNKS_OFFSET || !is_ready(fd)))
		rc = -EAGAIN;
	if (rc == 0) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED) {
			rc = error_errno(err, -errno, "cannot map process file %s", name);
		} else {
			(void)madvise(map, (size_t)st.st_size, MADV_DONTFORK); /* or our children would keep its memory alive */
			rc = ring_file_adopt(file, map, (uint64_t)st.st_size, err);
			if (rc != 0)
				munmap(map, (size_t)st.st_size);
		}
	}
	close(fd);
	return rc;
}

void ring_file_close(struct ring_file *file)
{
	if (file->map)
		munmap(file->map, file->size);
	*file = (struct ring_file){ 0 };
}

uint32_t ring_file_rings(const struct ring_file *file)
{
	uint32_t n = atomic_load_explicit(&ring_file_header(file)->rings, memory_order_acquire);

	return n < RING_LIMIT ? n : RING_LIMIT;
}

uint32_t ring_file_chunks(const struct ring_file *file)
{
	uint32_t n = atomic_load_explicit(&ring_file_header(file)->chunks, memory_order_acquire);

	return n < file->chunk_limit ? n : file->chunk_limit;
}

/* ---- Looking --------------------------------------------------------------- */

static int by_ring_and_base(const void *a, const void *b)
{
	const struct ring_chunk *x = a, *y = b;

	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	return x->base < y->base ? -1 : x->base > y->base;
}

int ring_scan(struct ring_scan *scan, const struct ring_file *file)
{
	struct ring_header *rings = layout_rings(file->map);
	struct chunk_entry *entries = layout_chunks(file->map);
	uint32_t ring_count = ring_file_rings(file), chunk_count;

	if (ARRAY_GROW(scan->produced, scan->produced_capacity, ring_count) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < ring_count; i++)
		scan->produced[i] = atomic_load_explicit(&rings[i].produced, memory_order_acquire);
	scan->ring_count = ring_count;
	chunk_count = ring_file_chunks(file);
	if (ARRAY_GROW(scan->chunks, scan->chunk_capacity, chunk_count) != 0)
		return -ENOMEM;
	scan->chunk_count = 0;
	for (uint32_t i = 0; i < chunk_count; i++) {
		uint64_t base = atomic_load_explicit(&entries[i].base, memory_order_acquire);
		uint32_t owner = atomic_load_explicit(&entries[i].owner, memory_order_relaxed);
		struct ring_chunk *c = &scan->chunks[scan->chunk_count];

		if (base == CHUNK_NO_BASE || owner == CHUNK_UNUSED || owner > ring_count)
			continue;
		*c = (struct ring_chunk){ base, atomic_load_explicit(&entries[i].extra_base, memory_order_relaxed), owner - 1, i };
		scan->chunk_count++;
	}
	if (scan->chunk_count > 1)
		qsort(scan->chunks, scan->chunk_count, sizeof *scan->chunks, by_ring_and_base);
	return 0;
}

void ring_scan_release(struct ring_scan *scan)
{
	free(scan->produced);
	free(scan->chunks);
	*scan = (struct ring_scan){ 0 };
}

/* The chunk of the ring that holds the position, else the first one after it, or NULL. */
static struct ring_chunk *next_chunk(const struct ring_scan *scan, uint32_t ring, uint64_t position)
{
	size_t low = 0, high = scan->chunk_count;

	while (low < high) { /* the first chunk that begins after the position */
		size_t middle = (low + high) / 2;
		const struct ring_chunk *c = &scan->chunks[middle];

		if (c->ring < ring || (c->ring == ring && c->base <= position))
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0 && scan->chunks[low - 1].ring == ring && position - scan->chunks[low - 1].base < CHUNK_SLOTS)
		return &scan->chunks[low - 1];
	return low < scan->chunk_count && scan->chunks[low].ring == ring ? &scan->chunks[low] : NULL;
}

static uint64_t committed_slots(const struct ring_file *file, const struct ring_chunk *c)
{
	uint32_t committed = atomic_load_explicit(&(layout_chunks(file->map) + c->chunk)->committed, memory_order_acquire);

	return committed < CHUNK_SLOTS ? committed : CHUNK_SLOTS;
}

/* A chunk is full unless its thread had to leave it for want of memory: then it ends where the next one begins. */
static uint64_t chunk_end(const struct ring_scan *scan, const struct ring_file *file, const struct ring_chunk *c)
{
	const struct ring_chunk *next = c + 1;
	uint64_t end = c->base + committed_slots(file, c);

	return next < scan->chunks + scan->chunk_count && next->ring == c->ring && next->base < end ? next->base : end;
}

static void forget_chunk(struct ring_scan *scan, struct ring_chunk *c)
{
	size_t after = (size_t)(scan->chunks + scan->chunk_count - (c + 1));

	memmove(c, c + 1, after * sizeof *c);
	scan->chunk_count--;
}

#define EXTRA_UNKNOWN UINT64_MAX /* a cursor's, after ring_resume() */

/* ---- Reading --------------------------------------------------------------- */

static void copy_slots(struct event_slot *out, const slot_word *in, size_t count)
{
	uint64_t words[4];

	for (size_t i = 0; i < count; i++, in += 4) {
		for (int w = 0; w < 4; w++)
			words[w] = atomic_load_explicit(in + w, memory_order_relaxed);
		memcpy(out + i, words, sizeof words);
	}
}

/* Does the chunk still hold what it held when we looked?  If so, so did all that was copied since. */
static bool is_unchanged(const struct ring_file *file, const struct ring_chunk *c)
{
	const struct chunk_entry *entry = layout_chunks(file->map) + c->chunk;

	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&entry->base, memory_order_relaxed) == c->base &&
	       atomic_load_explicit(&entry->owner, memory_order_relaxed) == c->ring + 1;
}

/* Events between the cursor and a later place; the cursor goes there. */
static uint64_t skip_to(struct ring_cursor *cursor, uint64_t position, uint64_t extra)
{
	uint64_t slots = position - cursor->position;
	uint64_t extras = cursor->extra == EXTRA_UNKNOWN ? 0 : extra - cursor->extra;

	cursor->position = position;
	cursor->extra = extra;
	return extras < slots ? slots - extras : 0;
}

size_t ring_read(struct ring_scan *scan, const struct ring_file *file, uint32_t ring, struct ring_cursor *cursor,
		 struct event_slot *out, size_t capacity, struct ring_gap *ret_gap)
{
	struct ring_chunk *c;

	ret_gap->events = 0;
	while ((c = next_chunk(scan, ring, cursor->position)) != NULL) {
		struct ring_cursor from = *cursor;
		uint64_t end = chunk_end(scan, file, c), gap = 0;
		size_t count;

		if (end > scan->produced[ring])
			end = scan->produced[ring];
		if (c->base > from.position && c->base < end)
			gap = skip_to(&from, c->base, c->extra_base);
		if (end <= from.position || from.position < c->base)
			return 0;
		count = end - from.position < capacity ? (size_t)(end - from.position) : capacity;
		copy_slots(out, layout_chunk(file->map, file->chunk_offset, c->chunk) + 4 * (from.position - c->base), count);
		if (!is_unchanged(file, c)) {
			forget_chunk(scan, c);
			continue;
		}
		ret_gap->events = gap;
		*cursor = from;
		cursor->position += count;
		return count;
	}
	return 0;
}

uint64_t ring_read_rest(const struct ring_scan *scan, const struct ring_file *file, uint32_t ring, struct ring_cursor *cursor)
{
	uint64_t extra = atomic_load_explicit(&(layout_rings(file->map) + ring)->extra, memory_order_relaxed);

	if (scan->produced[ring] <= cursor->position)
		return 0;
	return skip_to(cursor, scan->produced[ring], extra);
}

/* Continuations and padding among the first `count` slots of a chunk. */
static uint64_t count_extra(const slot_word *slots, uint64_t count)
{
	uint64_t extra = 0;

	for (uint64_t i = 0; i < count;) {
		uint64_t rest = atomic_load_explicit(slots + 4 * i + 3, memory_order_relaxed);
		uint64_t more = rest >> 40 & 0xff;

		extra += (rest >> 32 & 0xff) == EVENT_NONE ? 1 : more;
		i += 1 + more;
	}
	return extra;
}

void ring_resume(const struct ring_scan *scan, const struct ring_file *file, uint32_t ring, uint64_t position,
		 struct ring_cursor *cursor)
{
	const struct ring_chunk *c = next_chunk(scan, ring, position);

	cursor->position = position;
	if (position == 0)
		cursor->extra = 0;
	else if (c && c->base <= position && position - c->base <= committed_slots(file, c))
		cursor->extra = c->extra_base + count_extra(layout_chunk(file->map, file->chunk_offset, c->chunk), position - c->base);
	else
		cursor->extra = EXTRA_UNKNOWN;
}

uint64_t ring_oldest(const struct ring_scan *scan, uint32_t ring)
{
	const struct ring_chunk *c = next_chunk(scan, ring, 0);

	return c ? c->base : scan->produced[ring];
}

/* ---- Giving back ------------------------------------------------------------ */

static void set_free(const struct ring_file *file, uint32_t chunk)
{
	atomic_store(&(layout_chunks(file->map) + chunk)->owner, CHUNK_FREE);
	atomic_fetch_add(&ring_file_header(file)->free_chunks, 1);
}

uint32_t ring_reclaim(const struct ring_scan *scan, const struct ring_file *file, uint32_t ring, uint64_t drained)
{
	uint32_t count = 0;

	for (size_t i = 0; i + 1 < scan->chunk_count; i++) {
		const struct ring_chunk *c = &scan->chunks[i], *next = c + 1;
		uint64_t base = c->base;

		if (c->ring != ring || next->ring != ring || next->base > drained)
			continue;
		if (atomic_compare_exchange_strong(&(layout_chunks(file->map) + c->chunk)->base, &base, CHUNK_NO_BASE)) {
			set_free(file, c->chunk);
			count++;
		}
	}
	return count;
}

static void give_back_budget(struct session_page *session)
{
	uint32_t used = atomic_load(&session->chunks_used);

	while (used && !atomic_compare_exchange_weak(&session->chunks_used, &used, used - 1))
		;
}

void ring_empty(const struct ring_file *file, struct session_page *session)
{
	struct process_header *h = ring_file_header(file);
	uint32_t count = ring_file_chunks(file);

	for (uint32_t i = 0; i < count; i++) {
		struct chunk_entry *entry = layout_chunks(file->map) + i;
		uint32_t owner = CHUNK_FREE;

		if (!atomic_compare_exchange_strong(&entry->owner, &owner, CHUNK_CLAIMED))
			continue;
		atomic_fetch_sub(&h->free_chunks, 1);
		if (madvise(layout_chunk(file->map, file->chunk_offset, i), CHUNK_SIZE, MADV_REMOVE) != 0) {
			set_free(file, i); /* a file system that cannot */
			return;
		}
		atomic_store(&entry->committed, 0);
		atomic_store(&entry->owner, CHUNK_EMPTY);
		atomic_fetch_add(&h->empty_chunks, 1);
		give_back_budget(session);
	}
}

uint32_t ring_file_held(const struct ring_file *file)
{
	uint32_t count = ring_file_chunks(file), held = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t owner = atomic_load(&(layout_chunks(file->map) + i)->owner);

		held += owner != CHUNK_UNUSED && owner != CHUNK_EMPTY;
	}
	return held;
}

int ring_populate(const struct ring_file *file, uint32_t first, uint32_t count)
{
	if (first >= file->chunk_limit)
		return -ENOSPC;
	if (count > file->chunk_limit - first)
		count = file->chunk_limit - first;
	return madvise(layout_chunk(file->map, file->chunk_offset, first), (size_t)count * CHUNK_SIZE, MADV_POPULATE_WRITE) == 0 ?
		       0 : -errno;
}

void ring_free(const struct ring_file *file, uint32_t ring)
{
	struct chunk_entry *entries = layout_chunks(file->map);
	uint32_t chunk_count = ring_file_chunks(file), expected = RING_EXITED;

	for (uint32_t i = 0; i < chunk_count; i++) {
		if (atomic_load(&entries[i].owner) != ring + 1)
			continue;
		atomic_store(&entries[i].base, CHUNK_NO_BASE);
		set_free(file, i);
	}
	if (atomic_compare_exchange_strong(&(layout_rings(file->map) + ring)->state, &expected, RING_FREE))
		atomic_fetch_add(&ring_file_header(file)->free_rings, 1);
}
