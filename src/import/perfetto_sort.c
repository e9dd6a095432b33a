/*
 * perfetto_sort.c - puts events into the order of their times.
 *
 * A file has its packets sequence by sequence, a few seconds of each at a
 * time, while slices of one track may come from several sequences.  So events
 * wait here.  When there are too many, the earlier half goes out; one that
 * comes too late even so still goes out, only not in order.
 */
#include "import/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define ITEMS_MAX ((size_t)1 << 19)
#define BYTES_MAX ((size_t)64 << 20)

static size_t fields_size(const struct sort_record *r)
{
	return (size_t)__builtin_popcount(r->present) * sizeof(uint64_t);
}

size_t sort_record_size(const struct sort_record *r)
{
	return sizeof *r + fields_size(r) + ((r->metadata_size + 7u) & ~(size_t)7);
}

/* ---- Order -------------------------------------------------------------------- */

static bool in_order(const struct sort_item *items, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (items[i].time < items[i - 1].time)
			return false;
	return true;
}

static void merge(const struct sort_item *from, size_t left, size_t middle, size_t right, struct sort_item *to)
{
	size_t a = left, b = middle;

	for (size_t i = left; i < right; i++)
		to[i] = a < middle && (b >= right || from[a].time <= from[b].time) ? from[a++] : from[b++];
}

/* Stable: at one time, the order of the file. */
static int sort_items(struct sorter *s)
{
	if (in_order(s->items, s->count))
		return 0;
	if (ARRAY_GROW(s->merged, s->merged_capacity, s->count))
		return -ENOMEM;
	for (size_t width = 1; width < s->count; width *= 2) {
		struct sort_item *swap = s->items;
		size_t capacity = s->capacity;

		for (size_t i = 0; i < s->count; i += 2 * width) {
			size_t middle = i + width < s->count ? i + width : s->count;
			size_t right = i + 2 * width < s->count ? i + 2 * width : s->count;

			merge(s->items, i, middle, right, s->merged);
		}
		s->items = s->merged;
		s->capacity = s->merged_capacity;
		s->merged = swap;
		s->merged_capacity = capacity;
	}
	return 0;
}

/* ---- Going out ---------------------------------------------------------------- */

static const struct sort_record *record_at(const struct sorter *s, size_t i)
{
	return (const struct sort_record *)(const void *)(s->records.data + s->items[i].at);
}

static int send(struct perfetto *p, size_t count)
{
	struct sorter *s = &p->sorter;

	for (size_t i = 0; i < count; i++) {
		int rc = emit_record(p, s->items[i].time, record_at(s, i));

		s->any_emitted = true;
		if (rc)
			return rc;
	}
	return 0;
}

/* What stays moves to the front of the other buffer. */
static int keep_from(struct sorter *s, size_t first)
{
	struct buffer swap = s->records;

	buffer_clear(&s->spare);
	for (size_t i = first; i < s->count; i++) {
		const struct sort_record *r = record_at(s, i);
		struct sort_item item = { s->items[i].time, s->spare.size };

		if (buffer_append(&s->spare, r, sort_record_size(r)))
			return -ENOMEM;
		s->items[i - first] = item;
	}
	s->count -= first;
	s->records = s->spare;
	s->spare = swap;
	return 0;
}

static int flush(struct perfetto *p, bool all)
{
	struct sorter *s = &p->sorter;
	int rc = sort_items(s);
	size_t count = all || s->count < 2 ? s->count : s->count / 2;

	if (rc == 0)
		rc = send(p, count);
	return rc ? rc : keep_from(s, count);
}

/* ---- Coming in ---------------------------------------------------------------- */

static int append(struct sorter *s, const struct perfetto_event *pe, const struct sort_record *r)
{
	static const uint8_t padding[8];
	int rc = buffer_reserve(&s->records, sort_record_size(r));

	if (rc)
		return rc;
	buffer_append(&s->records, r, sizeof *r);
	for (uint32_t left = r->present; left; left &= left - 1)
		buffer_append(&s->records, &pe->e.field[__builtin_ctz(left)], sizeof(uint64_t));
	buffer_append(&s->records, pe->e.metadata, r->metadata_size);
	buffer_append(&s->records, padding, (8 - r->metadata_size % 8) % 8);
	return 0;
}

int sort_add(struct perfetto *p, const struct perfetto_event *pe)
{
	struct sorter *s = &p->sorter;
	const struct sort_record r = {
		.present = pe->e.present,
		.name = pe->e.name,
		.track = pe->e.track,
		.device = pe->device,
		.stream = pe->stream,
		.metadata_size = pe->e.metadata ? (uint32_t)pe->e.metadata_size : 0,
		.kind = pe->e.kind,
		.phase = pe->e.phase,
		.action = (uint8_t)pe->action,
		.direct = pe->direct,
		.counter = pe->counter,
		.on_stream = pe->has_stream,
	};
	int rc = 0;

	if (s->count >= ITEMS_MAX || s->records.size >= BYTES_MAX)
		rc = flush(p, false);
	if (rc == 0)
		rc = ARRAY_GROW(s->items, s->capacity, s->count + 1);
	if (rc)
		return rc;
	s->items[s->count] = (struct sort_item){ pe->e.time, s->records.size };
	rc = append(s, pe, &r);
	if (rc == 0)
		s->count++;
	return rc;
}

int sort_finish(struct perfetto *p)
{
	return flush(p, true);
}

void sorter_release(struct sorter *s)
{
	buffer_release(&s->records);
	buffer_release(&s->spare);
	free(s->items);
	free(s->merged);
	*s = (struct sorter){ 0 };
}
