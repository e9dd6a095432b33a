/*
 * gaps_evidence.c - when a thread compiled, waited, loaded data or slept.
 *
 * For each of these a thread has a list of its outermost slices, without
 * overlaps and with the time before each added up, so that the time spent so
 * between any two moments takes two binary searches.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "timeline/gaps.h"
#include "timeline/states_build.h"

#define TEXT_MAX 1024 /* of a name, that is looked at */
#define KNOWN 0x80u

struct stretch {
	int64_t begin, end;
	int64_t before; /* time in the stretches before it */
	uint32_t slice;
};
struct stretches {
	struct stretch *items;
	size_t count, capacity;
};
struct thread_evidence {
	struct stretches lists[EVIDENCE_KIND_COUNT];
	bool known;
};

struct evidence {
	const struct timeline *t;
	struct thread_evidence *threads; /* by track */
	uint8_t *names[3];               /* by string: as a function, a scope, a system call; KNOWN once looked at */
};

int evidence_new(struct evidence **ret, const struct timeline *t)
{
	struct evidence *e = calloc(1, sizeof *e);

	if (!e)
		return -ENOMEM;
	e->t = t;
	e->threads = calloc((size_t)t->track_count + 1, sizeof *e->threads);
	for (int i = 0; i < 3; i++)
		e->names[i] = calloc((size_t)t->string_count + 1, 1);
	if (!e->threads || !e->names[0] || !e->names[1] || !e->names[2]) {
		evidence_free(e);
		return -ENOMEM;
	}
	*ret = e;
	return 0;
}

void evidence_free(struct evidence *e)
{
	if (!e)
		return;
	for (uint32_t i = 0; e->threads && i < e->t->track_count; i++)
		for (int k = 0; k < EVIDENCE_KIND_COUNT; k++)
			free(e->threads[i].lists[k].items);
	free(e->threads);
	for (int i = 0; i < 3; i++)
		free(e->names[i]);
	free(e);
}

/* ---- What a slice stands for ---- */

static uint8_t look_at_name(const struct evidence *e, uint32_t name, uint8_t kind)
{
	const struct trace_frame *frame = kind == EVENT_CPU_CALL ? trace_reader_function(e->t->reader, name) : NULL;
	char joined[TEXT_MAX + 1];
	size_t size;
	const char *text = timeline_string(e->t, name, &size), *file;
	uint8_t bits = evidence_of_name(kind, text, size);
	int length;

	if (!frame || !frame->file)
		return bits;
	file = timeline_string(e->t, frame->file, &size);
	length = snprintf(joined, sizeof joined, "%s: %s", file, text);
	if (length > 0)
		bits |= evidence_of_name(kind, joined, (size_t)length < TEXT_MAX ? (size_t)length : TEXT_MAX);
	return bits;
}

static uint8_t bits_of_name(const struct evidence *e, uint32_t name, uint8_t kind)
{
	uint8_t *known = e->names[kind == EVENT_CPU_CALL ? 0 : kind == EVENT_CPU_SYSCALL ? 2 : 1];

	if (name >= e->t->string_count)
		return 0;
	if (!(known[name] & KNOWN))
		known[name] = (uint8_t)(look_at_name(e, name, kind) | KNOWN);
	return (uint8_t)(known[name] & ~KNOWN);
}

static uint8_t bits_of_slice(const struct evidence *e, uint32_t slice)
{
	enum call_class class;

	switch (e->t->kind[slice]) {
	case EVENT_RUNTIME_CALL:
		class = call_class_of(e->t, slice);
		return class == CALL_COMPILE ? 1u << EVIDENCE_JIT : call_blocks(class) ? 1u << EVIDENCE_SYNC : 0;
	case EVENT_SYNC:
		return 1u << EVIDENCE_SYNC;
	case EVENT_CPU_CALL:
	case EVENT_SCOPE:
	case EVENT_OP:
	case EVENT_CPU_SYSCALL:
		return bits_of_name(e, e->t->name[slice], e->t->kind[slice]);
	default:
		return 0;
	}
}

bool evidence_is(struct evidence *e, uint32_t slice, enum evidence_kind kind)
{
	return bits_of_slice(e, slice) >> kind & 1;
}

/* ---- A thread's lists ---- */

/* A slice inside the last one of the list adds nothing, one that crosses its end only what is beyond. */
static int add_stretch(struct stretches *list, const struct timeline *t, uint32_t slice)
{
	const struct stretch *last = list->count ? &list->items[list->count - 1] : NULL;
	struct stretch new = { .begin = t->begin[slice], .end = slice_end(t, slice), .slice = slice };

	if (last) {
		new.begin = new.begin > last->end ? new.begin : last->end;
		new.before = last->before + (last->end - last->begin);
	}
	if (new.end <= new.begin)
		return 0;
	if (ARRAY_GROW(list->items, list->capacity, list->count + 1) < 0)
		return -ENOMEM;
	list->items[list->count++] = new;
	return 0;
}

static int add_slice(const struct evidence *e, struct thread_evidence *thread, uint32_t slice)
{
	const uint8_t busy = 1u << EVIDENCE_JIT | 1u << EVIDENCE_SYNC | 1u << EVIDENCE_INPUT;
	uint8_t bits = bits_of_slice(e, slice);

	if (bits & busy)
		bits |= 1u << EVIDENCE_BUSY;
	if (bits >> EVIDENCE_INPUT & 1 && e->t->kind[slice] != EVENT_CPU_CALL)
		bits |= 1u << EVIDENCE_MARKED_INPUT;
	for (int k = 0; bits; k++, bits >>= 1)
		if (bits & 1 && add_stretch(&thread->lists[k], e->t, slice) < 0)
			return -ENOMEM;
	return 0;
}

static int look_at_thread(struct evidence *e, uint32_t track, const struct thread_evidence **ret)
{
	struct thread_evidence *thread = &e->threads[track];
	const struct timeline_track *from = &e->t->tracks[track];

	for (uint32_t i = from->first; !thread->known && i < from->first + from->count; i++)
		if (add_slice(e, thread, i) < 0)
			return -ENOMEM;
	thread->known = true;
	*ret = thread;
	return 0;
}

/* ---- Questions ---- */

/* The first stretch that ends after `time`. */
static size_t stretch_at(const struct stretches *list, int64_t time)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->items[middle].end <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int64_t time_until(const struct stretches *list, int64_t time)
{
	size_t at = stretch_at(list, time);
	const struct stretch *last = at ? &list->items[at - 1] : NULL;
	int64_t sum = last ? last->before + (last->end - last->begin) : 0;

	return at < list->count && list->items[at].begin < time ? sum + (time - list->items[at].begin) : sum;
}

int evidence_time(struct evidence *e, uint32_t track, enum evidence_kind kind, int64_t from, int64_t to, int64_t *ret)
{
	const struct thread_evidence *thread;
	int r;

	*ret = 0;
	if (from >= to)
		return 0;
	r = look_at_thread(e, track, &thread);
	if (r == 0)
		*ret = time_until(&thread->lists[kind], to) - time_until(&thread->lists[kind], from);
	return r;
}

int evidence_longest(struct evidence *e, uint32_t track, enum evidence_kind kind, int64_t from, int64_t to, uint32_t *ret)
{
	const struct thread_evidence *thread;
	const struct stretches *list;
	int64_t most = 0;
	int r = look_at_thread(e, track, &thread);

	*ret = TIMELINE_NONE;
	if (r < 0)
		return r;
	list = &thread->lists[kind];
	for (size_t i = stretch_at(list, from); i < list->count && list->items[i].begin < to; i++) {
		int64_t begin = list->items[i].begin > from ? list->items[i].begin : from;
		int64_t end = list->items[i].end < to ? list->items[i].end : to;

		if (end - begin > most) {
			most = end - begin;
			*ret = list->items[i].slice;
		}
	}
	return 0;
}

int evidence_before(struct evidence *e, uint32_t track, enum evidence_kind kind, int64_t time, uint32_t *ret)
{
	const struct thread_evidence *thread;
	const struct stretches *list;
	int r = look_at_thread(e, track, &thread);
	size_t at;

	*ret = TIMELINE_NONE;
	if (r < 0)
		return r;
	list = &thread->lists[kind];
	at = stretch_at(list, time - 1);
	if (at < list->count && list->items[at].begin < time)
		*ret = list->items[at].slice;
	return 0;
}
