#include "ring/names.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "ring/memory.h"

#define COMMIT_STEP 16384u /* bytes of arena that are made ready at a time */
#define PROBES 128u

struct name_table *name_table_map(void)
{
	struct name_table *table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (table == MAP_FAILED)
		return NULL;
	atomic_store(&table->next, NAME_FIRST);
	return table;
}

/* Eight bytes at a time, multiplied and folded. */
static uint64_t hash_name(const char *name, size_t size)
{
	uint64_t h = size * 0x9e3779b97f4a7c15ull, word;

	for (; size >= 8; name += 8, size -= 8) {
		memcpy(&word, name, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, name, size);
	h = (h ^ word) * 0xc4ceb9fe1a85ec53ull;
	return h ^ h >> 29;
}

/* Not in the middle of a UTF-8 sequence. */
static size_t cut_length(const char *name, size_t size)
{
	size_t n;

	if (size <= NAME_MAX_BYTES)
		return size;
	for (n = NAME_MAX_BYTES; n > NAME_MAX_BYTES - 4 && ((uint8_t)name[n] & 0xc0) == 0x80; n--)
		;
	return n;
}

static bool text_equals(const uint8_t *text, const char *name, size_t size)
{
	uint16_t stored;

	if (!text)
		return false;
	memcpy(&stored, text, sizeof stored);
	return stored == size && memcmp(text + 2, name, size) == 0;
}

/* Makes [0, to) of a part of the file usable; `committed` says how far it is. */
static bool commit_up_to(struct ring_process *process, uint64_t part, _Atomic uint32_t *committed, uint32_t to, uint32_t limit)
{
	uint32_t from = atomic_load_explicit(committed, memory_order_acquire), end;

	if (to <= from)
		return true;
	end = (to + COMMIT_STEP - 1) / COMMIT_STEP * COMMIT_STEP;
	if (end > limit)
		end = limit;
	if (memory_commit(process->map, part + from, end - from, process->path) != 0)
		return false;
	while (from < end && !atomic_compare_exchange_weak(committed, &from, end))
		;
	return true;
}

/* Writes the name into the arena; its place, or NULL when there is no room.  In the child of a signal handler that forked
 * in the middle, `process` is wiped: then memory cannot be had, or is there and the parent writes the same to it. */
static const uint8_t *store_text(struct ring_process *process, uint32_t index, const char *name, size_t size)
{
	uint32_t need = (uint32_t)(2 + size), offset = atomic_load(&process->name_text);
	void *map = process->map;
	_Atomic uint32_t *entry = layout_name_index(map) + index;
	uint16_t length = (uint16_t)size;
	uint8_t *text;

	do
		if (offset + need > NAME_TEXT_SIZE)
			return NULL;
	while (!atomic_compare_exchange_weak(&process->name_text, &offset, offset + need));
	if (!commit_up_to(process, PROCESS_NAME_TEXT_OFFSET, &process->name_text_committed, offset + need, NAME_TEXT_SIZE) ||
	    !commit_up_to(process, PROCESS_NAME_INDEX_OFFSET, &process->name_index_committed, (index + 1) * 4, NAME_LIMIT * 4))
		return NULL;
	text = layout_name_text(map) + offset;
	memcpy(text, &length, sizeof length);
	memcpy(text + 2, name, size);
	atomic_store_explicit(entry, offset + 1, memory_order_release);
	return text;
}

static uint32_t take_id(struct name_table *table)
{
	uint32_t id = atomic_load(&table->next);

	do
		if (id >= NAME_LIMIT)
			return NAME_TOO_MANY;
	while (!atomic_compare_exchange_weak(&table->next, &id, id + 1));
	return id;
}

/* Ids below `end` may be looked for. */
static void announce(struct process_header *header, uint32_t end)
{
	uint32_t seen = atomic_load(&header->names);

	while (seen < end && !atomic_compare_exchange_weak(&header->names, &seen, end))
		;
}

/* An id taken and then not used is a hole that no event refers to. */
static uint32_t add_name(struct name_table *table, struct ring_process *process, const char *name, size_t size)
{
	struct process_header *header = process->header;
	uint32_t id = header ? take_id(table) : NAME_TOO_MANY;
	const uint8_t *text;

	if (id == NAME_TOO_MANY)
		return id;
	text = store_text(process, id - process->first_name, name, size);
	if (!text)
		return NAME_TOO_MANY;
	atomic_store_explicit(&table->text[id], text, memory_order_release);
	announce(header, id + 1);
	return id;
}

uint32_t name_intern(struct name_table *table, struct ring_process *process, const char *name, size_t size)
{
	uint64_t hash, tag, seen;
	uint32_t id = 0;

	size = cut_length(name, size);
	hash = hash_name(name, size);
	tag = hash & ~(uint64_t)UINT32_MAX;
	for (uint32_t probe = 0; probe < PROBES; probe++) {
		_Atomic uint64_t *slot = &table->slots[(hash + probe) % NAME_TABLE_SIZE];

		seen = atomic_load_explicit(slot, memory_order_acquire);
		if (seen == 0) {
			if (!id)
				id = add_name(table, process, name, size);
			if (id == NAME_TOO_MANY || atomic_compare_exchange_strong(slot, &seen, tag | id))
				return id;
		}
		if ((seen & ~(uint64_t)UINT32_MAX) == tag &&
		    text_equals(atomic_load_explicit(&table->text[(uint32_t)seen], memory_order_acquire), name, size))
			return (uint32_t)seen;
	}
	return id ? id : add_name(table, process, name, size);
}

void name_table_move(struct name_table *table, struct ring_process *process)
{
	uint32_t end = atomic_load(&table->next);

	for (uint32_t id = NAME_FIRST; id < end && id < NAME_LIMIT; id++) {
		const uint8_t *text = atomic_load(&table->text[id]);
		uint16_t size;

		if (!text)
			continue;
		memcpy(&size, text, sizeof size);
		/* One that finds no room is nowhere: the file it is in now will go. */
		text = store_text(process, id - process->first_name, (const char *)text + 2, size);
		atomic_store_explicit(&table->text[id], text, memory_order_release);
	}
	announce(process->header, end);
}

const uint8_t *name_in_file(void *map, uint32_t first_name, uint32_t id, size_t *ret_size)
{
	uint32_t offset;
	uint16_t size;
	const uint8_t *text;

	if (id < first_name || id >= NAME_LIMIT)
		return NULL;
	offset = atomic_load_explicit(layout_name_index(map) + (id - first_name), memory_order_acquire);
	if (offset == 0 || offset > NAME_TEXT_SIZE - 2)
		return NULL;
	text = layout_name_text(map) + offset - 1;
	memcpy(&size, text, sizeof size);
	if (size > NAME_MAX_BYTES || offset - 1 + 2 + size > NAME_TEXT_SIZE)
		return NULL;
	*ret_size = size;
	return text + 2;
}
