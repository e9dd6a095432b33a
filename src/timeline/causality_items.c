/*
 * causality_items.c - see causality.h.
 *
 * Which work a call waited for is known where the stream has a mark of it (a
 * sync with the correlation of the call), or the process, if it uses one device;
 * and of copies to the host that block, which wait for themselves.  Copies to a
 * device may return earlier.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/calls.h"
#include "timeline/causality.h"
#include "timeline/index_sort.h"

#define DEVICE_SCOPE ((uint64_t)1 << 63)

/* ---- Waits ---- */

static uint64_t device_scope(uint32_t device, uint32_t process)
{
	return DEVICE_SCOPE | (uint64_t)device << 31 | (process & 0x7fffffffu);
}

static enum call_class class_of(const struct timeline *t, uint32_t call)
{
	if (call >= t->slice_count || t->kind[call] != EVENT_RUNTIME_CALL || t->name[call] >= t->string_count)
		return CALL_OTHER;
	return (enum call_class)t->call_class[t->name[call]];
}

static int add_waited(struct waited_list *list, uint64_t scope, int64_t begin, int64_t end)
{
	if (ROOM_FOR(list->items, list->capacity, list->count + 1) < 0)
		return -ENOMEM;
	list->items[list->count++] = (struct waited){ scope, begin, end };
	return 0;
}

static int take_mark(const struct timeline *t, uint32_t track, uint32_t slice, struct waited_list *list)
{
	const struct timeline_track *place = &t->tracks[track];
	uint32_t call = t->kind[slice] == EVENT_SYNC ? t->link[slice] : TIMELINE_NONE;
	enum call_class class = class_of(t, call);

	if ((class != CALL_SYNC_STREAM && class != CALL_SYNC_DEVICE) || t->flags[call] & SLICE_OPEN)
		return 0;
	return add_waited(list, class == CALL_SYNC_STREAM ? track : device_scope(place->device, place->process), t->begin[call],
			  t->end[call]);
}

/* On the track of a process: a wait for all of a context, which does not say of which device it is. */
static int take_process_mark(const struct timeline *t, uint32_t slice, uint64_t scope, struct waited_list *list)
{
	static const char name[] = "Context Sync";
	size_t size;
	const char *text;

	if (t->kind[slice] != EVENT_SYNC || t->flags[slice] & SLICE_OPEN)
		return 0;
	text = timeline_string(t, t->name[slice], &size);
	if (size != sizeof name - 1 || memcmp(text, name, size) != 0)
		return 0;
	return add_waited(list, scope, t->begin[slice], t->end[slice]);
}

/* The device that a process uses, if it is one; else TIMELINE_NONE. */
static uint32_t only_device(const struct timeline *t, uint32_t process)
{
	uint32_t found = TIMELINE_NONE;

	for (uint32_t i = 0; i < t->stream_count; i++) {
		const struct timeline_track *stream = &t->tracks[t->streams[i]];

		if (stream->process != process)
			continue;
		if (found != TIMELINE_NONE && found != stream->device)
			return TIMELINE_NONE;
		found = stream->device;
	}
	return found;
}

static int take_process_marks(const struct timeline *t, const struct timeline_track *track, struct waited_list *list)
{
	uint32_t device = only_device(t, track->process);
	int rc = 0;

	for (uint32_t i = track->first; i < track->first + track->count && device != TIMELINE_NONE && rc == 0; i++)
		rc = take_process_mark(t, i, device_scope(device, track->process), list);
	return rc;
}

static int compare_waited(const void *a, const void *b)
{
	const struct waited *x = a, *y = b;

	if (x->scope != y->scope)
		return x->scope < y->scope ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool is_sorted(const struct waited_list *list)
{
	for (size_t i = 1; i < list->count; i++)
		if (compare_waited(&list->items[i - 1], &list->items[i]) > 0)
			return false;
	return true;
}

int waited_collect(const struct builder *b, struct waited_list *list)
{
	const struct timeline *t = b->t;
	int rc = 0;

	for (uint32_t k = 0; k < t->track_count && rc == 0; k++) {
		const struct timeline_track *track = &t->tracks[k];

		if (track->kind == TRACK_PROCESS && track->process != TIMELINE_NONE && track->count)
			rc = take_process_marks(t, track, list);
		if (track->device == TIMELINE_NONE || (track->kind != TRACK_STREAM && track->kind != TRACK_DEVICE))
			continue;
		for (uint32_t i = track->first; i < track->first + track->count && rc == 0; i++)
			rc = take_mark(t, k, i, list);
	}
	if (rc == 0 && !is_sorted(list))
		qsort(list->items, list->count, sizeof *list->items, compare_waited);
	return rc;
}

/* When the first call returned that began at `time` or later and waited for this. */
static int64_t returned(const struct waited_list *list, uint64_t scope, int64_t time)
{
	struct waited key = { .scope = scope, .begin = time };
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_waited(&list->items[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < list->count && list->items[low].scope == scope ? list->items[low].end : NEVER;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* A graph's work may be shown on streams that it was not launched to. */
static bool is_of_graph(const struct timeline *t, uint32_t slice)
{
	return t->detail[slice] != TIMELINE_NONE && t->details[t->detail[slice]].graph;
}

static int64_t until_of(const struct timeline *t, uint32_t slice, uint32_t track, const struct waited_list *list)
{
	uint32_t call = t->link[slice];
	int64_t until = returned(list, device_scope(t->tracks[track].device, t->tracks[track].process), t->end[call]);

	if (!is_of_graph(t, slice))
		until = earlier(until, returned(list, track, t->end[call]));
	if (t->kind[slice] == EVENT_D2H_COPY && class_of(t, call) == CALL_COPY && !(t->flags[call] & SLICE_OPEN))
		until = earlier(until, t->end[call]);
	return until;
}

/* ---- Work ---- */

static int add_stream(const struct timeline *t, uint32_t track, const struct waited_list *list, struct work_items *items)
{
	for (uint32_t i = t->tracks[track].first; i < t->tracks[track].first + t->tracks[track].count; i++) {
		if (!timeline_is_device_work(t->kind[i]) || t->link[i] >= t->slice_count)
			continue;
		if (ROOM_FOR(items->items, items->capacity, items->count + 1) < 0)
			return -ENOMEM;
		items->items[items->count++] = (struct work_item){
			.launch = t->begin[t->link[i]],
			.until = until_of(t, i, track, list),
			.begin = t->begin[i],
			.end = t->end[i],
			.slice = i,
			.track = track,
		};
	}
	return 0;
}

static bool launched_before(const void *arg, uint32_t a, uint32_t b)
{
	const struct work_item *x = (const struct work_item *)arg + a, *y = (const struct work_item *)arg + b;

	return x->launch != y->launch ? x->launch < y->launch : x->begin < y->begin;
}

static bool placed_before(const void *arg, uint32_t a, uint32_t b)
{
	const struct work_item *items = arg;

	return items[a].place < items[b].place;
}

/* Those from `from` on. */
static int sort_items(struct work_items *all, size_t from, index_before before)
{
	struct work_item *items, *sorted;
	size_t count = all->count - from, at = 1;
	uint32_t *order;

	if (count < 2)
		return 0;
	items = all->items + from;
	while (at < count && !before(items, (uint32_t)at, (uint32_t)at - 1))
		at++;
	if (at >= count)
		return 0;
	order = malloc(2 * count * sizeof *order);
	sorted = malloc(count * sizeof *sorted);
	for (size_t i = 0; order && i < count; i++)
		order[i] = (uint32_t)i;
	if (order && sorted) {
		index_sort(order, count, order + count, before, items);
		for (size_t i = 0; i < count; i++)
			sorted[i] = items[order[i]];
		memcpy(items, sorted, count * sizeof *items);
	}
	at = order && sorted;
	free(order);
	free(sorted);
	return at ? 0 : -ENOMEM;
}

/* Work of a stream runs as it was launched, so that what seems to be earlier was seen by a clock that was set back. */
static void find_places(struct work_item *items, size_t count)
{
	int64_t place = 0;

	for (size_t i = 0; i < count; i++) {
		struct work_item *item = &items[i];

		if (item->begin <= item->until) /* else its begin tells nothing */
			place = item->begin > place ? item->begin : place;
		place = item->launch > place ? item->launch : place;
		item->place = place;
	}
}

int items_collect(const struct builder *b, uint32_t device, const struct waited_list *list, struct work_items *items)
{
	const struct timeline_device *d = &b->t->devices[device];
	int rc = 0;

	items->count = 0;
	for (uint32_t i = d->first_stream; i < d->first_stream + d->stream_count && rc == 0; i++) {
		size_t from = items->count;

		rc = add_stream(b->t, b->t->streams[i], list, items);
		rc = rc ? rc : sort_items(items, from, launched_before);
		if (rc == 0 && items->count > from)
			find_places(items->items + from, items->count - from);
	}
	return rc ? rc : sort_items(items, 0, placed_before);
}
