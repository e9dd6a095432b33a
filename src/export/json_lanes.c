/* json_lanes.c - see json_lanes.h. */
#include "export/json_lanes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/json_place.h"

/* ---- One row ------------------------------------------------------------------ */

void lane_set_release(struct lane_set *set)
{
	for (unsigned i = 0; i < set->count; i++)
		free(set->lanes[i].ends);
	free(set->lanes);
	*set = (struct lane_set){ 0 };
}

static void lane_set_clear(struct lane_set *set)
{
	for (unsigned i = 0; i < set->count; i++)
		set->lanes[i].count = 0;
	set->begun = false;
}

static bool fits(struct lane_stack *lane, int64_t begin, int64_t end)
{
	while (lane->count && lane->ends[lane->count - 1] <= begin)
		lane->count--;
	return lane->count == 0 || end <= lane->ends[lane->count - 1];
}

static int push(struct lane_stack *lane, int64_t end)
{
	uint32_t capacity = lane->capacity ? 2 * lane->capacity : 16;
	int64_t *ends;

	if (lane->count == lane->capacity) {
		ends = reallocarray(lane->ends, capacity, sizeof *ends);
		if (!ends)
			return -ENOMEM;
		lane->ends = ends;
		lane->capacity = capacity;
	}
	lane->ends[lane->count++] = end;
	return 0;
}

static int add_lane(struct lane_set *set)
{
	struct lane_stack *lanes = reallocarray(set->lanes, set->count + 1, sizeof *lanes);

	if (!lanes)
		return -ENOMEM;
	set->lanes = lanes;
	set->lanes[set->count++] = (struct lane_stack){ 0 };
	return 0;
}

int lane_set_put(struct lane_set *set, int64_t begin, int64_t end)
{
	unsigned lane = 0;
	int rc;

	set->begun = true;
	set->last_begin = begin;
	while (lane < set->count && lane + 1 < JSON_LANES && !fits(&set->lanes[lane], begin, end))
		lane++;
	if (lane == set->count && add_lane(set) < 0)
		return -ENOMEM;
	rc = end > begin ? push(&set->lanes[lane], end) : 0;
	return rc < 0 ? rc : (int)lane;
}

/* ---- As they come --------------------------------------------------------------- */

static struct lane_set *set_of(struct json_lanes *l, uint32_t row)
{
	size_t count = l->set_count ? l->set_count : 64;
	struct lane_set *sets;

	if (row < l->set_count)
		return &l->sets[row];
	while (count <= row)
		count *= 2;
	sets = reallocarray(l->sets, count, sizeof *sets);
	if (!sets)
		return NULL;
	memset(sets + l->set_count, 0, (count - l->set_count) * sizeof *sets);
	l->sets = sets;
	l->set_count = count;
	return &sets[row];
}

/* ---- Gathered first --------------------------------------------------------------- */

int json_lanes_gather(struct json_lanes *l, uint32_t row, int64_t begin, int64_t end)
{
	size_t capacity = l->capacity ? 2 * l->capacity : 4096;
	struct lane_slice *slices;

	if (l->count == l->capacity) {
		slices = reallocarray(l->slices, capacity, sizeof *slices);
		if (!slices)
			return -ENOMEM;
		l->slices = slices;
		l->capacity = capacity;
	}
	l->slices[l->count++] = (struct lane_slice){ row, 0, begin, end };
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct lane_slice *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

static struct lane_slice *find(const struct json_lanes *l, uint32_t row, int64_t begin, int64_t end)
{
	uint64_t hash = ((uint64_t)begin * 0x9e3779b97f4a7c15u ^ (uint64_t)end ^ row) * 0xd6e8feb86659fd93u;
	size_t mask = l->crossing_capacity - 1, at = (size_t)(hash >> 32) & mask;

	while (l->crossing[at].lane &&
	       (l->crossing[at].row != row || l->crossing[at].begin != begin || l->crossing[at].end != end))
		at = (at + 1) & mask;
	return &l->crossing[at];
}

static int enter(struct json_lanes *l, const struct lane_slice *slice)
{
	struct json_lanes larger = { .crossing_capacity = l->crossing_capacity ? 2 * l->crossing_capacity : 64 };

	if (2 * (l->crossing_count + 1) > l->crossing_capacity) {
		larger.crossing = calloc(larger.crossing_capacity, sizeof *larger.crossing);
		if (!larger.crossing)
			return -ENOMEM;
		for (size_t i = 0; i < l->crossing_capacity; i++)
			if (l->crossing[i].lane)
				*find(&larger, l->crossing[i].row, l->crossing[i].begin, l->crossing[i].end) = l->crossing[i];
		free(l->crossing);
		l->crossing = larger.crossing;
		l->crossing_capacity = larger.crossing_capacity;
	}
	*find(l, slice->row, slice->begin, slice->end) = *slice;
	l->crossing_count++;
	return 0;
}

int json_lanes_settle(struct json_lanes *l)
{
	struct lane_set set = { 0 };
	int lane = 0;

	if (l->count > 1)
		qsort(l->slices, l->count, sizeof *l->slices, compare);
	for (size_t i = 0; i < l->count && lane >= 0; i++) {
		struct lane_slice *slice = &l->slices[i];

		if (i && slice[-1].row != slice->row)
			lane_set_clear(&set);
		lane = lane_set_put(&set, slice->begin, slice->end);
		slice->lane = lane > 0 ? (uint8_t)lane : 0;
		if (lane > 0)
			lane = enter(l, slice);
	}
	lane_set_release(&set);
	free(l->slices);
	l->slices = NULL;
	l->count = l->capacity = 0;
	l->gathered = true;
	return lane < 0 ? lane : 0;
}

int json_lanes_of(struct json_lanes *l, uint32_t row, int64_t begin, int64_t end, bool in_order)
{
	struct lane_set *set;

	if (l->gathered)
		return l->crossing_count ? find(l, row, begin, end)->lane : 0;
	if (!in_order)
		return 0;
	set = set_of(l, row);
	if (!set)
		return -ENOMEM;
	return set->begun && begin < set->last_begin ? 0 : lane_set_put(set, begin, end);
}

void json_lanes_release(struct json_lanes *l)
{
	for (size_t i = 0; i < l->set_count; i++)
		lane_set_release(&l->sets[i]);
	free(l->sets);
	free(l->slices);
	free(l->crossing);
	*l = (struct json_lanes){ 0 };
}
