/*
 * perfetto_clock.c - from the clocks of packets to that of the trace.
 *
 * Snapshots give readings of several clocks at one moment.  Two clocks that
 * are in a snapshot together are joined by an edge, which holds their readings
 * in all snapshots; a time is carried over by the pair at or before it.  Where
 * two clocks are never in one snapshot the way goes over others.
 *
 * Clocks 64 to 127 are of their sequence alone, all others of their machine.
 */
#include "import/perfetto.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define CLOCKS_MAX 16384u
#define POINTS_MAX 4194304u
#define SNAPSHOT_MAX 16u /* clocks in one */
#define HOPS_MAX 4u
#define NO_EDGE UINT32_MAX

struct perfetto_clock {
	uint32_t id;
	bool incremental;
	uint64_t unit;  /* ns */
	int64_t last;   /* of an incremental one: the time its next packet counts from */
	uint32_t edges; /* the first of its list */
	/* the way to the trace's clock, as of `version` */
	uint32_t version, hop_count, hops[HOPS_MAX];
	/* of a search */
	uint32_t stamp, from;
};

struct clock_edge {
	uint32_t clock[2], next[2];
	struct point {
		int64_t time[2];
	} * points;
	size_t count, capacity;
};

struct reading {
	uint32_t clock; /* index */
	int64_t time;
};

static uint64_t scope_of(const struct sequence *s, uint64_t machine, uint32_t id)
{
	return id >= 64 && id < 128 ? (uint64_t)1 << 32 | s->id : machine;
}

static uint32_t find_clock(const struct clocks *k, const struct sequence *s, uint64_t machine, uint32_t id)
{
	return output_map_find(&k->map, scope_of(s, machine, id), id);
}

static uint32_t make_clock(struct clocks *k, const struct sequence *s, uint64_t machine, uint32_t id)
{
	uint32_t at = find_clock(k, s, machine, id);

	if (at != PERFETTO_NONE)
		return at;
	if (k->clock_count >= CLOCKS_MAX || ARRAY_GROW(k->clocks, k->clock_capacity, k->clock_count + 1) ||
	    output_map_add(&k->map, scope_of(s, machine, id), id, (uint32_t)k->clock_count))
		return PERFETTO_NONE;
	k->clocks[k->clock_count] =
		(struct perfetto_clock){ .id = id, .unit = 1, .edges = NO_EDGE, .version = UINT32_MAX };
	return (uint32_t)k->clock_count++;
}

/* ---- Edges -------------------------------------------------------------------- */

static uint32_t find_edge(const struct clocks *k, uint32_t a, uint32_t b)
{
	return a < b ? output_map_find(&k->pairs, a, b) : output_map_find(&k->pairs, b, a);
}

static struct clock_edge *make_edge(struct clocks *k, uint32_t a, uint32_t b)
{
	uint32_t at = find_edge(k, a, b);
	struct clock_edge *e;

	if (at != PERFETTO_NONE)
		return &k->edges[at];
	if (ARRAY_GROW(k->edges, k->edge_capacity, k->edge_count + 1) ||
	    output_map_add(&k->pairs, a < b ? a : b, a < b ? b : a, (uint32_t)k->edge_count))
		return NULL;
	e = &k->edges[k->edge_count];
	*e = (struct clock_edge){ .clock = { a, b }, .next = { k->clocks[a].edges, k->clocks[b].edges } };
	k->clocks[a].edges = k->clocks[b].edges = (uint32_t)k->edge_count++;
	k->version++;
	return e;
}

static int join(struct clocks *k, struct reading a, struct reading b)
{
	struct clock_edge *e;
	bool turned;

	if (a.clock == b.clock || k->points >= POINTS_MAX)
		return 0;
	e = make_edge(k, a.clock, b.clock);
	if (!e || ARRAY_GROW(e->points, e->capacity, e->count + 1))
		return -ENOMEM;
	turned = e->clock[0] != a.clock;
	e->points[e->count].time[turned] = a.time;
	e->points[e->count].time[!turned] = b.time;
	e->count++;
	k->points++;
	return 0;
}

/* The pair at or before the time, or the first. */
static const struct point *point_at(const struct clock_edge *e, bool side, int64_t time)
{
	size_t low = 0, high = e->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (e->points[middle].time[side] <= time)
			low = middle;
		else
			high = middle;
	}
	return &e->points[low];
}

/* ---- Snapshots ---------------------------------------------------------------- */

static int read_reading(struct perfetto *p, const struct sequence *s, uint64_t machine, struct cursor c,
			struct reading *ret)
{
	uint64_t id = 0, time = 0, unit = 1, product;
	struct perfetto_clock *clock;
	bool incremental = false;
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		switch (f.number) {
		case 1:
			id = f.value;
			break;
		case 2:
			time = f.value;
			break;
		case 3:
			incremental = f.value;
			break;
		case 4:
			unit = f.value ? f.value : 1;
			break;
		default:
			break;
		}
	}
	if (rc || id == 0 || id > UINT32_MAX || __builtin_mul_overflow(time, unit, &product) || product > INT64_MAX)
		return -EBADMSG;
	ret->clock = make_clock(&p->clocks, s, machine, (uint32_t)id);
	if (ret->clock == PERFETTO_NONE)
		return -EBADMSG;
	ret->time = (int64_t)product;
	clock = &p->clocks.clocks[ret->clock];
	clock->unit = unit;
	clock->incremental = incremental;
	clock->last = ret->time;
	return 0;
}

/* The trace's clock, unless events have been converted to another one already. */
static void set_primary(struct perfetto *p, uint64_t id)
{
	struct clocks *k = &p->clocks;

	if (id && id < 64 && !p->sorter.any_emitted && !p->sorter.count && k->primary != id) {
		k->primary = (uint32_t)id;
		k->version++;
	}
}

/* How the trace's clock relates to the time of day. */
static void set_base(struct perfetto *p, const struct reading *r, unsigned count, uint64_t machine)
{
	const struct clocks *k = &p->clocks;
	int64_t day = 0, trace = 0, base;
	bool has_day = false, has_trace = false;

	for (unsigned i = 0; i < count; i++) {
		uint32_t id = k->clocks[r[i].clock].id;

		if (id == CLOCK_ID_REALTIME) {
			day = r[i].time;
			has_day = true;
		}
		if (id == k->primary) {
			trace = r[i].time;
			has_trace = true;
		}
	}
	if (machine || k->based || p->sorter.any_emitted || !has_day || !has_trace ||
	    __builtin_sub_overflow(day, trace, &base))
		return;
	p->clocks.based = true;
	output_base_time(p->o, base);
}

int clock_snapshot(struct perfetto *p, const struct sequence *s, uint64_t machine, struct cursor c)
{
	struct reading r[SNAPSHOT_MAX];
	unsigned count = 0;
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 2)
			set_primary(p, f.value);
		if (f.number != 1 || f.wire != PB_BYTES || count == SNAPSHOT_MAX)
			continue;
		rc = read_reading(p, s, machine, pb_message(&f), &r[count]);
		if (rc)
			return rc;
		count++;
	}
	if (rc)
		return rc;
	p->clocks.snapshots = true;
	for (unsigned i = 0; i < count; i++)
		for (unsigned j = 0; j < i; j++)
			if (join(&p->clocks, r[j], r[i]))
				return -ENOMEM;
	set_base(p, r, count, machine);
	return 0;
}

/* ---- Conversion --------------------------------------------------------------- */

/* Breadth first from the trace's clock, until `from` is met. */
static bool search(struct clocks *k, uint32_t from, uint32_t target, uint32_t *queue)
{
	size_t head = 0, tail = 0;

	k->stamp++;
	k->clocks[target].stamp = k->stamp;
	queue[tail++] = target;
	while (head < tail && k->clocks[from].stamp != k->stamp) {
		uint32_t at = queue[head++];

		for (uint32_t e = k->clocks[at].edges; e != NO_EDGE;) {
			const struct clock_edge *edge = &k->edges[e];
			bool side = edge->clock[1] == at;
			struct perfetto_clock *other = &k->clocks[edge->clock[!side]];

			if (other->stamp != k->stamp) {
				other->stamp = k->stamp;
				other->from = e;
				queue[tail++] = edge->clock[!side];
			}
			e = edge->next[side];
		}
	}
	return k->clocks[from].stamp == k->stamp;
}

/* Finds the way of a clock and keeps it.  No hops: there is none. */
static int find_way(struct clocks *k, uint32_t from, uint32_t target)
{
	struct perfetto_clock *c = &k->clocks[from];
	uint32_t edge = find_edge(k, from, target), *queue;

	if (c->version == k->version)
		return 0;
	c->version = k->version;
	c->hop_count = 0;
	if (edge != PERFETTO_NONE) {
		c->hops[c->hop_count++] = edge;
		return 0;
	}
	queue = malloc(k->clock_count * sizeof *queue);
	if (!queue)
		return -ENOMEM;
	for (uint32_t at = search(k, from, target, queue) ? from : target; at != target;) {
		const struct clock_edge *e = &k->edges[k->clocks[at].from];

		if (c->hop_count == HOPS_MAX) {
			c->hop_count = 0;
			break;
		}
		c->hops[c->hop_count++] = k->clocks[at].from;
		at = e->clock[e->clock[0] == at];
	}
	free(queue);
	return 0;
}

static bool walk(const struct clocks *k, uint32_t from, int64_t *time)
{
	const struct perfetto_clock *c = &k->clocks[from];
	uint32_t at = from;

	for (uint32_t i = 0; i < c->hop_count; i++) {
		const struct clock_edge *e = &k->edges[c->hops[i]];
		bool side = e->clock[1] == at;
		const struct point *point = point_at(e, side, *time);

		if (__builtin_sub_overflow(*time, point->time[side], time) ||
		    __builtin_add_overflow(*time, point->time[!side], time))
			return false;
		at = e->clock[!side];
	}
	return true;
}

/* A reading of the clock in nanoseconds since its zero. */
static bool absolute(struct perfetto_clock *c, uint64_t time, int64_t *ret)
{
	uint64_t product;

	if (__builtin_mul_overflow(time, c->unit, &product) || product > INT64_MAX)
		return false;
	*ret = (int64_t)product;
	if (!c->incremental)
		return true;
	if (__builtin_add_overflow(*ret, c->last, ret))
		return false;
	c->last = *ret;
	return true;
}

bool clock_convert(struct perfetto *p, const struct sequence *s, uint64_t machine, uint32_t clock, uint64_t time,
		   int64_t *ret)
{
	struct clocks *k = &p->clocks;
	uint32_t from = clock ? find_clock(k, s, machine, clock) : PERFETTO_NONE, target;

	if (from == PERFETTO_NONE) {
		if (time > INT64_MAX || (clock >= 64 && clock < 128))
			return false;
		/* Without a snapshot a trace has but one clock, whatever it is. */
		if (clock && clock != k->primary && k->snapshots)
			output_report(p->o)->repaired++;
		*ret = (int64_t)time;
		return true;
	}
	if (!absolute(&k->clocks[from], time, ret))
		return false;
	target = find_clock(k, s, 0, k->primary);
	if (from == target || (clock == k->primary && target == PERFETTO_NONE))
		return true;
	if (target == PERFETTO_NONE || find_way(k, from, target) || k->clocks[from].hop_count == 0) {
		output_report(p->o)->repaired++;
		return true;
	}
	return walk(k, from, ret);
}

void clocks_release(struct clocks *k)
{
	for (size_t i = 0; i < k->edge_count; i++)
		free(k->edges[i].points);
	free(k->edges);
	free(k->clocks);
	output_map_release(&k->map);
	output_map_release(&k->pairs);
	*k = (struct clocks){ 0 };
}
