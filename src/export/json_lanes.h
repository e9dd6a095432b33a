/*
 * json_lanes.h - on which lane of its row a slice is, so that those of a lane nest.
 *
 * Viewers drop slices that cross others of their thread, or draw them wrongly.
 * Kernels of one stream overlap in earnest, and times that were rounded cross
 * by a little.  Such slices go to the next lane on which they fit.
 *
 * Slices that come in the order of their begins are judged as they come.  Other
 * tools' traces are not in order: their slices are gathered first, where memory
 * may be used for them, or stay on the first lane.
 */
#ifndef EXPORT_JSON_LANES_H
#define EXPORT_JSON_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lanes of one row: the ends of what is open on each. */
struct lane_stack {
	int64_t *ends;
	uint32_t count, capacity;
};
struct lane_set {
	struct lane_stack *lanes;
	unsigned count;
	int64_t last_begin;
	bool begun;
};
/* In the order of begins, the longer first.  The lane, or negative. */
int lane_set_put(struct lane_set *set, int64_t begin, int64_t end);
void lane_set_release(struct lane_set *set);

struct lane_slice {
	uint32_t row; /* a number of the caller's: a row of a track */
	uint8_t lane;
	int64_t begin, end;
};

struct json_lanes {
	/* in order: */
	struct lane_set *sets; /* by row */
	size_t set_count;
	/* gathered: */
	bool gathered;
	struct lane_slice *slices; /* until json_lanes_settle() */
	size_t count, capacity;
	struct lane_slice *crossing; /* those on other lanes than the first; open addressing */
	size_t crossing_count, crossing_capacity;
};

/* All return 0 or -ENOMEM. */
int json_lanes_gather(struct json_lanes *l, uint32_t row, int64_t begin, int64_t end);
int json_lanes_settle(struct json_lanes *l);
/* The lane, or -ENOMEM. */
int json_lanes_of(struct json_lanes *l, uint32_t row, int64_t begin, int64_t end, bool in_order);
void json_lanes_release(struct json_lanes *l);

#endif
