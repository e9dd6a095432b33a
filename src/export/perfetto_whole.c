/*
 * perfetto_whole.c - slices given whole, which Perfetto has as a begin and an end.
 *
 * They come in any order (other tools write them as they end, or by kind), and
 * must go out by their begins, the longer first, so that each is inside the one
 * it is part of.  So they wait, a bounded number a track; one that comes too
 * late, or that crosses another, goes to a lane beside the track.  Arrows wait
 * with them: one that leaves or arrives where a slice begins is the slice's.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "export/perfetto.h"

#define BIT(field) ((uint64_t)1 << (field))
#define ITEMS_MAX ((size_t)1 << 17)    /* that wait on one track */
#define WAITING_MAX ((size_t)96 << 20) /* bytes of all of them */
#define ARROWS_MAX 16u                 /* of one slice; more are instants */
#define CALLS_MAX 16                   /* slices that are looked at for a call inside another */
#define PACKET_EVENT 11
#define END_SIZE 32

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };
enum { EVENT_FLOW_IDS = 47, EVENT_ENDING_FLOW_IDS = 48 };

/* ---- Order ----------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct pf_item *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool in_order(const struct pf_track *t)
{
	for (size_t i = 1; i < t->item_count; i++)
		if (compare(&t->items[i - 1], &t->items[i]) > 0)
			return false;
	return true;
}

/* ---- Lanes ------------------------------------------------------------------------------- */

static struct pf_lane *new_lane(struct pf *p, struct pf_track *t)
{
	struct pf_lane *lane;

	if (ARRAY_GROW(t->lanes, t->lane_capacity, t->lane_count + 1)) {
		pf_check(p, -ENOMEM);
		return NULL;
	}
	lane = &t->lanes[t->lane_count];
	*lane = (struct pf_lane){ .floor = t->lane_count || t->direct_uuid ? INT64_MIN : t->direct_time };
	if (t->lane_count)
		lane->uuid = pf_lane_track(p, t, t->lane_count);
	t->lane_count++;
	return lane;
}

static void write_end(struct pf *p, struct pf_track *t, const struct pf_lane *lane, int64_t ns)
{
	uint64_t uuid = lane->uuid ? lane->uuid : t->seq->shared ? t->uuid : 0;
	uint8_t body[END_SIZE], *at = proto_put_number(body, 9, TYPE_END);

	if (uuid)
		at = proto_put_number(at, 11, uuid);
	pf_packet_at(p, t->seq, ns, PACKET_EVENT, body, (size_t)(at - body));
}

/* Ends what ends by ns, on all lanes, the earliest first. */
static void end_until(struct pf *p, struct pf_track *t, int64_t ns)
{
	for (;;) {
		struct pf_lane *first = NULL;

		for (size_t i = 0; i < t->lane_count; i++) {
			struct pf_lane *lane = &t->lanes[i];

			if (lane->count && lane->ends[lane->count - 1] <= ns &&
			    (!first || lane->ends[lane->count - 1] < first->ends[first->count - 1]))
				first = lane;
		}
		if (!first)
			return;
		first->floor = first->ends[--first->count];
		if (first->floor < PF_TIME_MAX)
			write_end(p, t, first, first->floor);
	}
}

static bool fits(const struct pf_lane *lane, const struct pf_item *item, int64_t limit)
{
	return lane->floor <= item->begin && (lane->uuid || item->end <= limit) &&
	       (lane->count == 0 || lane->ends[lane->count - 1] >= item->end);
}

/* NULL: there are too many already. */
static struct pf_lane *lane_for(struct pf *p, struct pf_track *t, const struct pf_item *item, int64_t limit)
{
	for (size_t i = 0; i < t->lane_count; i++)
		if (fits(&t->lanes[i], item, limit))
			return &t->lanes[i];
	while (p->failure == 0 && t->lane_count < PF_LANES_MAX) {
		struct pf_lane *lane = new_lane(p, t);

		if (lane && fits(lane, item, limit))
			return lane;
	}
	return NULL;
}

/* ---- Arrows ------------------------------------------------------------------------------- */

/* One that leaves where it has just arrived goes on: that is one number, not two. */
static bool goes_on(const struct pf_item *arrows, size_t count, const struct pf_item *arrow)
{
	for (size_t i = 0; i < count; i++)
		if (arrows[i].id == arrow->id && !arrows[i].arrives)
			return true;
	return false;
}

/* One that arrives at the work that a call asked for: the correlation says it already. */
static bool is_launch(const struct pf_item *arrow, struct pf_launch launch)
{
	return arrow->arrives && launch.work && launch.correlation && arrow->number == launch.correlation;
}

/* launch: of the slice that they are at. */
static void put_arrows(struct pf *p, const struct pf_item *arrows, size_t count, struct pf_launch launch,
		       struct buffer *out)
{
	for (size_t i = 0; i < count; i++)
		if (!is_launch(&arrows[i], launch) && (!arrows[i].arrives || !goes_on(arrows, count, &arrows[i])))
			pf_check(p, proto_fixed64(out, arrows[i].arrives ? EVENT_ENDING_FLOW_IDS : EVENT_FLOW_IDS,
						  arrows[i].id));
}

/* No slice begins here: the arrow is an instant of its own. */
static void write_arrow(struct pf *p, struct pf_track *t, const struct pf_item *item)
{
	uint64_t uuid = t->seq->shared ? t->uuid : 0;

	buffer_clear(&p->body);
	pf_check(p, proto_number(&p->body, 9, TYPE_INSTANT) |
			    buffer_append(&p->body, t->bodies.data + item->body, item->size));
	if (uuid)
		pf_check(p, proto_number(&p->body, 11, uuid));
	put_arrows(p, item, 1, (struct pf_launch){ 0 }, &p->body);
	pf_packet_at(p, t->seq, item->begin, PACKET_EVENT, p->body.data, p->body.size);
}

/* A call of the runtime and that of the driver inside it, which asked for the work, have the same correlation. */
static bool has_inner_call(const struct pf_track *t, const struct pf_item *item)
{
	const struct pf_item *end = t->items + t->item_count, *last = end - item > CALLS_MAX ? item + CALLS_MAX : end;

	for (const struct pf_item *inner = item + 1; inner < last && inner->begin < item->end; inner++)
		if (!inner->arrow && inner->launch.correlation == item->launch.correlation)
			return true;
	return false;
}

static size_t arrows_at(const struct pf_track *t, size_t first, size_t end, int64_t ns)
{
	size_t count = 0;

	while (count < ARROWS_MAX && first + count < end && t->items[first + count].arrow &&
	       t->items[first + count].begin == ns)
		count++;
	return count;
}

/* ---- Going out ----------------------------------------------------------------------------- */

static void open_slice(struct pf *p, struct pf_lane *lane, int64_t end)
{
	if (ARRAY_GROW(lane->ends, lane->capacity, lane->count + 1))
		pf_check(p, -ENOMEM);
	else
		lane->ends[lane->count++] = end;
}

/* A slice and the arrows behind it. */
static void write_item(struct pf *p, struct pf_track *t, const struct pf_item *item, size_t arrows, int64_t limit)
{
	struct pf_lane *lane = lane_for(p, t, item, limit);
	uint64_t uuid = lane && lane->uuid ? lane->uuid : t->seq->shared ? t->uuid : 0;

	if (p->failure)
		return;
	buffer_clear(&p->body);
	pf_check(p, proto_number(&p->body, 9, lane ? TYPE_BEGIN : TYPE_INSTANT) |
			    buffer_append(&p->body, t->bodies.data + item->body, item->size));
	if (uuid)
		pf_check(p, proto_number(&p->body, 11, uuid));
	if (!lane)
		pf_arg_number(p, t->seq, "duration_ns", (double)(item->end - item->begin), &p->body);
	put_arrows(p, item + 1, arrows, item->launch, &p->body);
	if (item->launch.correlation && (item->launch.work || !has_inner_call(t, item)))
		pf_put_launch(p, t, item->launch, &p->body);
	pf_packet_at(p, t->seq, item->begin, PACKET_EVENT, p->body.data, p->body.size);
	if (lane) {
		lane->floor = item->begin;
		open_slice(p, lane, item->end);
	}
}

static void send(struct pf *p, struct pf_track *t, size_t count, int64_t limit)
{
	for (size_t i = 0; i < count && p->failure == 0; i++) {
		const struct pf_item *item = &t->items[i];
		size_t arrows = item->arrow ? 0 : arrows_at(t, i + 1, count, item->begin);

		end_until(p, t, item->begin);
		if (item->arrow)
			write_arrow(p, t, item);
		else
			write_item(p, t, item, arrows, limit);
		i += arrows;
	}
}

/* What stays moves to the front. */
static void keep_from(struct pf *p, struct pf_track *t, size_t first)
{
	struct buffer bodies = BUFFER_INIT;

	p->waiting_bytes -= t->bodies.size + t->item_count * sizeof *t->items;
	for (size_t i = first; i < t->item_count; i++) {
		struct pf_item item = t->items[i];

		pf_check(p, buffer_append(&bodies, t->bodies.data + item.body, item.size));
		item.body = bodies.size - item.size;
		t->items[i - first] = item;
	}
	t->item_count -= first;
	if (t->item_count) {
		buffer_release(&t->bodies);
		t->bodies = bodies;
	} else {
		buffer_release(&bodies);
		buffer_clear(&t->bodies);
	}
	p->waiting_bytes += t->bodies.size + t->item_count * sizeof *t->items;
}

static void send_items(struct pf *p, struct pf_track *t, size_t count, int64_t limit)
{
	if (t->item_count > 1 && !in_order(t))
		qsort(t->items, t->item_count, sizeof *t->items, compare);
	if (t->lane_count == 0 && t->item_count && !new_lane(p, t))
		return;
	send(p, t, count, limit);
	keep_from(p, t, count);
}

/* Begins and ends of the track itself follow: what would cross them goes beside it. */
void pf_whole_flush(struct pf *p, struct pf_track *t, int64_t limit)
{
	if (t->item_count)
		send_items(p, t, t->item_count, limit);
	if (t->lane_count == 0 || p->failure)
		return;
	end_until(p, t, limit);
	if (t->lanes[0].count && !t->direct_uuid)
		t->direct_uuid = pf_lane_track(p, t, PF_LANES_MAX);
	if (!t->direct_uuid)
		t->lanes[0].floor = limit;
}

void pf_whole_finish(struct pf *p, struct pf_track *t)
{
	if (t->item_count)
		send_items(p, t, t->item_count, PF_TIME_MAX);
	end_until(p, t, PF_TIME_MAX);
}

void pf_track_release(struct pf_track *t)
{
	for (size_t i = 0; i < t->lane_count; i++)
		free(t->lanes[i].ends);
	free(t->lanes);
	free(t->items);
	free(t->open);
	buffer_release(&t->bodies);
	buffer_release(&t->saved);
	if (t->seq && !t->seq->shared)
		pf_sequence_free(t->seq);
}

/* ---- Coming in ------------------------------------------------------------------------------ */

static void add(struct pf *p, struct pf_track *t, struct pf_item item, const struct buffer *body)
{
	if (t->item_count >= ITEMS_MAX || p->waiting_bytes >= WAITING_MAX)
		send_items(p, t, t->item_count > 1 ? t->item_count / 2 : t->item_count,
			   t->open_count ? t->direct_time : PF_TIME_MAX);
	if (ARRAY_GROW(t->items, t->item_capacity, t->item_count + 1) ||
	    buffer_append(&t->bodies, body->data, body->size)) {
		pf_check(p, -ENOMEM);
		return;
	}
	item.size = (uint32_t)body->size;
	item.body = t->bodies.size - body->size;
	item.order = t->item_order++;
	t->items[t->item_count++] = item;
	p->waiting_bytes += body->size + sizeof item;
}

void pf_whole(struct pf *p, struct pf_track *t, uint32_t event, int64_t begin, int64_t end)
{
	const struct trace_batch *b = p->batch;
	struct pf_item item = { .begin = begin, .end = end > begin ? end : begin, .launch = pf_launch_of(p, t, event) };

	buffer_clear(&p->body);
	pf_intern(p, t->seq, b->kind[event], b->name[event]);
	pf_check(p,
		 proto_number(&p->body, 3, pf_category(b->kind[event])) | proto_number(&p->body, 10, b->name[event]));
	if (pf_bit(&t->seq->functions, b->name[event]))
		pf_check(p, proto_number(&p->body, 34, b->name[event]));
	pf_args(p, t->seq, event, 0, &p->body);
	add(p, t, item, &p->body);
}

void pf_arrow(struct pf *p, struct pf_track *t, uint32_t event, int64_t ns, uint64_t id)
{
	const struct trace_batch *b = p->batch;
	struct pf_item item = { .begin = ns,
				.end = ns,
				.id = id,
				.arrow = true,
				.arrives = b->phase[event] == PHASE_FLOW_IN,
				.number = b->field[FIELD_FLOW] ? b->field[FIELD_FLOW][event] : 0 };

	buffer_clear(&p->body);
	pf_intern(p, t->seq, EVENT_FLOW, b->name[event]);
	pf_check(p, proto_number(&p->body, 3, pf_category(EVENT_FLOW)) | proto_number(&p->body, 10, b->name[event]));
	pf_args(p, t->seq, event, BIT(FIELD_FLOW), &p->body);
	add(p, t, item, &p->body);
}
