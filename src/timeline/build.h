/*
 * build.h - a timeline while it is being made.
 *
 * timeline_build() runs these in turn: clocks (how ticks become nanoseconds),
 * load (blocks become columns, in the order slices end), world (tracks,
 * processes, devices), order (by track and begin), nesting, correlate, flows,
 * causality, steps.  Times are absolute nanoseconds until order makes them
 * relative.
 */
#ifndef TIMELINE_BUILD_H
#define TIMELINE_BUILD_H

#include "base/msgpack.h"
#include "timeline/timeline.h"
#include "trace/pairing.h"

/* An end of an arrow. */
struct flow_point {
	int64_t time;
	uint64_t id;
	uint32_t track, name;
	uint16_t domain;
	bool arrives;
};

struct domain_span {
	int64_t shift; /* added to its nanoseconds */
	int64_t first, last; /* of its blocks, ns, not shifted */
	const char *method;
	bool used;
};

/* A device's clock was read at `time`. */
struct device_pair {
	int64_t time, device; /* ns */
	double width, miss;   /* ns: of the bracket; how far the line before was off */
	uint32_t track, domain;
	uint32_t owner;       /* the device, once tracks are known */
};

struct ranges_open; /* ranges.c */
struct details_open; /* details.c */

struct builder {
	struct timeline *t;
	struct trace_reader *reader;
	struct domain_span domains[TRACE_DOMAIN_MAX];
	int64_t realtime_offset; /* of CLOCK_REALTIME to the absolute nanoseconds here */
	bool realtime_known;

	size_t slice_capacity, detail_capacity, point_capacity, look_capacity, range_capacity, collective_capacity;
	uint32_t *track;       /* of each slice, until they are ordered */
	uint16_t *track_domain; /* of each track; UINT16_MAX: no events */
	size_t track_limit;    /* tracks that track_domain has room for */

	struct flow_point *flows;
	size_t flow_count, flow_capacity;
	struct device_pair *pairs;
	size_t pair_count, pair_capacity;
	struct ranges_open *open_ranges;
	struct details_open *open_details;
	bool origins;   /* are wanted */
	bool finishing; /* the slices that never ended are coming */
};

/* room.c: room for `count` items without touching what is not used yet; *array stays as it was on failure. */
int room_for(void **array, size_t *capacity, size_t count, size_t size);
#define ROOM_FOR(array, capacity, count) room_for((void **)&(array), &(capacity), count, sizeof *(array))
/* Gives back what is not used. */
void room_trim(void **array, size_t count, size_t size);
#define ROOM_TRIM(array, count) room_trim((void **)&(array), count, sizeof *(array))
int64_t time_add(int64_t a, int64_t b); /* stays within int64_t */
int64_t time_subtract(int64_t a, int64_t b);

/* maps.c: calls take for each plain value of a MessagePack map.  What cannot be read ends it. */
void map_each(const void *data, size_t size,
	      void (*take)(void *arg, const struct msgpack_value *key, const struct msgpack_value *value), void *arg);

/* clocks.c */
void clocks_prepare(struct builder *b);
int clocks_describe(struct builder *b, int64_t start);
static inline int64_t clocks_ns(const struct builder *b, uint32_t domain, int64_t ticks)
{
	return domain < TRACE_DOMAIN_MAX ? time_add(trace_reader_ns(b->reader, domain, ticks), b->domains[domain].shift) : ticks;
}
/* Whether a recorder of ours read this clock: what other tools made is left as they made it. */
bool clocks_are_ours(const struct builder *b, uint32_t domain);

/* clock_pairs.c: pairs of readings on tracks of devices; then a clock for each device that has some. */
int pairs_take(struct builder *b, const struct trace_batch *batch, uint32_t track, uint32_t i);
int pairs_describe(struct builder *b, int64_t start);

/* load.c */
int load_blocks(struct builder *b, const struct timeline_options *options, struct error *err);

/* details.c: what events say beyond name and time. */
int details_add(struct builder *b, uint32_t *ret);
int details_begin_batch(struct builder *b, const struct trace_batch *batch);
int details_end_batch(struct builder *b, const struct trace_batch *batch);
/* The number of the slice's detail, or TIMELINE_NONE. */
int details_of(struct builder *b, const struct trace_batch *batch, const struct trace_slice *slice, uint32_t *ret);
void details_release(struct builder *b);

/* looks.c: what was seen from outside. */
bool looks_are_on(const struct builder *b, uint32_t track);
int looks_take_slice(struct builder *b, const struct trace_slice *slice, uint32_t domain);
int looks_take_event(struct builder *b, const struct trace_batch *batch, uint32_t track, uint32_t i);
int looks_order(struct builder *b);
/* The number that a counter's event has. */
double counter_value(const struct trace_batch *batch, uint32_t i);

/* collectives.c: adds a row when the metadata describe one. */
int collectives_take(struct builder *b, uint32_t slice, const void *metadata, size_t size);

/* texts.c */
int texts_intern(struct timeline_texts **texts, const char *text, size_t size, const char **ret);
void texts_free(struct timeline_texts *texts);

/* ranges.c */
int ranges_begin(struct builder *b, const struct trace_batch *batch, uint32_t track, uint32_t event);
int ranges_end(struct builder *b, const struct trace_batch *batch, uint32_t track, uint32_t event);
void ranges_finish(struct builder *b);
void ranges_release(struct builder *b);

/* world.c */
int world_describe(struct builder *b);
int world_streams(struct builder *b); /* once slices are in order */

/* order.c */
int64_t order_from_start(struct builder *b); /* times become relative; returns to what */
int order_slices(struct builder *b);
int order_again(struct builder *b); /* work of devices was moved */
int order_points(struct builder *b);

/* nesting.c */
void nesting_find(struct timeline *t);

/* correlate.c */
int correlate_launches(struct builder *b);
/* flows.c: uses links, may add some, and leaves in `flows` the other arrows. */
int flows_match(struct builder *b);
/* causality.c, after both: a bound for the clocks of devices, or a correction; *ret_moved tells that order has to be made again. */
int causality_apply(struct builder *b, bool *ret_moved);
/* correlate.c, after all of these: `work`, and the counts. */
int correlate_finish(struct builder *b);

/* steps.c */
int steps_find(struct timeline *t);

#endif
