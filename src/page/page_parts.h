/*
 * page_parts.h - what the files that write the page's data share.
 *
 * page_data.c makes a page_world, asks each part for its bytes, and chooses how
 * exact they can be.  Numbers of slices and tracks are the timeline's; "place"
 * is where something stands in the page.
 */
#ifndef PAGE_PAGE_PARTS_H
#define PAGE_PAGE_PARTS_H

#include "base/varint.h"
#include "page/page_labels.h"
#include "page/page_stream.h"
#include "report/report.h"

#define PAGE_TIME_MOST (((int64_t)1 << 52) - 1) /* in quanta: twice that, and one, is what a varint may hold */
#define PAGE_VARINT_MOST (((uint64_t)1 << 53) - 1)
#define PAGE_STREAM_ROWS 64u /* of a track whose slices overlap */
#define PAGE_ROWS_MOST 65536u

enum page_track_kind { PAGE_THREAD, PAGE_TASK, PAGE_OTHER, PAGE_STREAM, PAGE_DEVICE, PAGE_TRACK_KINDS };

struct page_track {
	uint32_t track;
	uint32_t states;  /* the track with what was seen of it, or TIMELINE_NONE; its own when it has no events */
	uint32_t process; /* place, or TIMELINE_NONE */
	uint32_t device;  /* TIMELINE_NONE */
	uint32_t rows;
	uint32_t first, kept; /* places of its slices */
	uint8_t kind;
};

/* Which slices are in the page. */
struct page_keep {
	bool all;
	uint64_t *bits;
	uint32_t *before; /* of each word of bits: how many are kept before it */
};

struct page_window {
	int64_t from, to;
};
#define PAGE_WINDOWS 24u

struct page_world {
	const struct analysis *a;
	const struct timeline *t;
	const struct report_source *source;
	struct host_names names; /* what looks and functions are */
	struct page_packer packer;
	struct page_labels labels;

	struct page_track *tracks;
	uint32_t track_count;
	uint32_t *track_place;   /* by number; TIMELINE_NONE: not in the page */
	uint32_t *process_order; /* by place */
	uint32_t *process_place; /* by number */

	struct page_keep keep;
	uint32_t slices_here;
	struct page_window windows[PAGE_WINDOWS]; /* in which all slices are kept; by time, apart from each other */
	unsigned window_count;
	int64_t least; /* slices of this length are kept everywhere */
	struct page_window range; /* what was asked for, within the run; 0, 0: nothing */
	bool range_whole;         /* it is one of the windows, whatever else is */

	int64_t quantum;
	bool links;
	unsigned buckets; /* of each row, in the stream of buckets */

	/* What the model says of states and counters: parts of its JSON. */
	struct buffer states_json, counters_json;
};

static inline uint32_t page_slice_name(const struct timeline *t, uint32_t slice)
{
	return t->name[slice] < t->string_count ? t->name[slice] : 0;
}

static inline int64_t page_sum(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Device work, or a wait on a stream, whose `link` is the call that launched it. */
static inline bool page_is_launched(const struct timeline *t, uint32_t slice, bool stream)
{
	return timeline_is_device_work(t->kind[slice]) || (stream && t->kind[slice] == EVENT_SYNC);
}

static inline bool page_is_stream(const struct timeline_track *track)
{
	return track->kind == TRACK_STREAM || track->kind == TRACK_DEVICE;
}

/* Spreads a pair of numbers over the slots of a table, whose size is a power of two. */
static inline size_t page_hash(uint32_t a, uint32_t b, size_t size)
{
	uint64_t mixed = ((uint64_t)a * 0x9e3779b97f4a7c15u + b) * 0xff51afd7ed558ccdu;

	return (size_t)((mixed ^ mixed >> 32) * 0x9e3779b97f4a7c15u >> 32) & (size - 1);
}

/* The buffer has room. */
static inline void page_put(struct buffer *out, uint64_t value)
{
	uint8_t *at = out->data + out->size;

	for (; value >= 128; value >>= 7)
		*at++ = (uint8_t)(value | 128);
	*at++ = (uint8_t)value;
	out->size = (size_t)(at - out->data);
}

static inline int64_t page_quanta(int64_t time, int64_t quantum)
{
	return quantum == 1 ? time : (time + quantum / 2) / quantum;
}

/* ---- page_tracks.c ---- */
int page_tracks_init(struct page_world *w);
void page_tracks_release(struct page_world *w);
const char *page_track_kind_name(uint8_t kind);
/* As people call it: "thread 25738 (python)". */
int page_track_name(const struct page_world *w, const struct page_track *track, struct buffer *out);

/* ---- page_slices.c ---- */

/* The slices of a track in order, each with its row. */
struct page_walk {
	const struct timeline *t;
	uint32_t next, end;
	bool stream;
	unsigned row_count; /* of a stream, so far */
	int64_t row_end[PAGE_STREAM_ROWS];
};
struct page_slice {
	uint32_t slice, row;
	int64_t begin, end;
};
void page_walk_start(struct page_walk *walk, const struct timeline *t, const struct timeline_track *track);
bool page_walk_next(struct page_walk *walk, struct page_slice *ret);

/* Columns of what is kept; appended.  0 or -ENOMEM. */
int page_put_shapes(struct page_world *w, struct buffer *rows, struct buffer *labels, struct buffer *links);
int page_put_times(struct page_world *w, int64_t quantum, struct buffer *gaps, struct buffer *durations);
/* The columns of times of some slices only, to tell from; how many these are. */
int page_put_times_sample(struct page_world *w, int64_t quantum, struct buffer *gaps, struct buffer *durations, uint32_t *ret_count);

/* ---- page_keep.c ---- */
static inline bool page_is_kept(const struct page_keep *keep, uint32_t slice)
{
	return keep->all || (keep->bits[slice / 64] >> slice % 64 & 1);
}
/* How many are kept before it. */
static inline uint32_t page_kept_before(const struct page_keep *keep, uint32_t slice)
{
	if (keep->all)
		return slice;
	return keep->before[slice / 64] +
	       (uint32_t)__builtin_popcountll(keep->bits[slice / 64] & (((uint64_t)1 << slice % 64) - 1));
}
int page_keep_all(struct page_world *w);
/* About as many as that, besides those of the range: those in the windows that matter most, and the longest of the rest, and
 * what is around them. */
int page_keep_some(struct page_world *w, uint32_t count);
void page_keep_release(struct page_world *w);

/* ---- The other streams; appended.  0 or -ENOMEM. ---- */
/* page_analysis.c: JSON with texts of about `most` bytes, cut in their middle. */
int page_analysis_cut(const struct buffer *json, size_t most, struct buffer *out);
/* page_flame.c: nodes of less than 1 / `parts` of all are folded, and those that are deeper than `depth_most`. */
struct page_flame;
int page_flame_new(struct page_flame **ret, struct page_world *w);
int page_flame_put(const struct page_flame *f, int64_t parts, int64_t depth_most, struct buffer *out);
void page_flame_free(struct page_flame *f);
/* page_states.c: with a `cell` of more than 0 ns only what takes the most of each; also fills states_json. */
int page_states_put(struct page_world *w, int64_t cell, struct buffer *out);
/* page_counters.c: at most so many points of each; also fills counters_json. */
int page_counters_put(struct page_world *w, unsigned points, struct buffer *out);
/* page_buckets.c: also sets w->buckets, to 0 when there is nothing to say it with. */
int page_buckets_put(struct page_world *w, unsigned buckets, struct buffer *out);
/* page_model.c */
int page_model_put(struct page_world *w, struct buffer *out);

#endif
