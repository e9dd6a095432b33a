/*
 * parts.h - what the parts of an analysis share.
 *
 * analysis_run() builds the views once, then each part fills its share of the
 * struct analysis.  Sums over tracks and devices saturate: times come from a
 * file, and their sum may be more than an int64_t holds.
 */
#ifndef ANALYZE_PARTS_H
#define ANALYZE_PARTS_H

#include "analyze/analysis.h"
#include "timeline/calls.h"

/* A thread that launches work of a device. */
struct launcher {
	uint32_t track;
	uint64_t count;
};

/* The work of one device; the arrays go with each other. */
struct device_view {
	uint32_t *work;   /* slices, stream by stream */
	uint32_t *stream; /* of each: which of the device's streams */
	int64_t *alone;   /* of each: how long nothing else ran on the device */
	int64_t *crowded; /* of compute: how long compute ran on more than one stream */
	uint32_t count;
	int64_t crowded_total;
	int64_t median;   /* duration */
	struct launcher *launchers; /* the one of the most work first */
	size_t launcher_count;
	uint64_t missing_work; /* launches without work, as far as they can be told to be this device's */
	int64_t missing_time;  /* an estimate */
};

struct parts {
	const struct timeline *t;
	struct analysis *a;
	bool *host;    /* by track: what is on it was done by the host */
	int64_t *self; /* of each slice of the host; the others have 0 */
	struct device_view *views; /* of a->devices */
	uint32_t *device_place;    /* by device: its place in a->devices, TIMELINE_NONE */
	uint32_t *process_device;  /* by process: the place in a->devices of the one it launches most on, TIMELINE_NONE */
	uint32_t *process_thread;  /* by process: the track that launches most, TIMELINE_NONE */
	uint8_t *tensor_use;       /* by name: enum tensor_use plus 1, as far as they were looked at */
};

/* What only some slices have; all 0 for the others. */
static inline const struct timeline_detail *detail_of(const struct timeline *t, uint32_t slice)
{
	static const struct timeline_detail nothing;

	return t->detail[slice] < t->detail_count ? &t->details[t->detail[slice]] : &nothing;
}

static inline int64_t time_sum(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static inline int64_t time_scaled(int64_t a, uint64_t factor)
{
	int64_t product;

	return factor > INT64_MAX || __builtin_mul_overflow(a, (int64_t)factor, &product) ? INT64_MAX : product;
}

static inline int64_t slice_duration(const struct timeline *t, uint32_t slice)
{
	return t->end[slice] > t->begin[slice] ? t->end[slice] - t->begin[slice] : 0;
}

static inline uint32_t slice_name(const struct timeline *t, uint32_t slice)
{
	return t->name[slice] < t->string_count ? t->name[slice] : 0;
}

static inline enum call_class slice_call(const struct timeline *t, uint32_t slice)
{
	return t->kind[slice] == EVENT_RUNTIME_CALL && t->name[slice] < t->string_count ? t->call_class[t->name[slice]] : CALL_OTHER;
}

static inline double share(int64_t part, int64_t whole)
{
	return whole > 0 ? (double)part / (double)whole : 0;
}

/* numbers.c */

struct sort_item {
	uint64_t key;
	uint32_t value;
};
/* By key; equal keys stay in order. */
int sort_items(struct sort_item *items, size_t count);
/* The k-th smallest (from 0); reorders. */
int64_t select_nth(int64_t *values, size_t count, size_t k);
/* The smallest value that at least `percent` of all are not above; reorders.  count > 0. */
int64_t percentile(int64_t *values, size_t count, unsigned percent);
/* 50 and 99, of values that are not negative. */
void percentiles(int64_t *values, size_t count, int64_t *ret_p50, int64_t *ret_p99);
/* 463300000 as "463.3 ms"; out has room for 32 bytes.  Returns out. */
char *format_time(char *out, int64_t ns);

/* tally.c: durations grouped by name, in two rounds over the same slices: tally_add() of each, tally_prepare(), then
 * tally_sample() of each, tally_result(). */
struct tally {
	const struct timeline *t;
	uint32_t *entry_of; /* by name: number of the entry plus 1 */
	struct tally_entry {
		uint64_t count;
		int64_t total, self, min, max, sum;
		int64_t covered; /* until where its last track is covered */
		uint32_t track;
		uint32_t name;
		size_t next;     /* place of its next duration */
	} *entries;
	size_t count, capacity;
	int64_t *samples;
};
int tally_init(struct tally *ta, const struct timeline *t);
void tally_release(struct tally *ta);
/* Its entry, until the next one is new; NULL when out of memory. */
struct tally_entry *tally_new(struct tally *ta, uint32_t name);
static inline struct tally_entry *tally_add(struct tally *ta, uint32_t name, int64_t duration)
{
	struct tally_entry *e = ta->entry_of[name] ? &ta->entries[ta->entry_of[name] - 1] : tally_new(ta, name);

	if (!e)
		return NULL;
	e->count++;
	e->min = duration < e->min ? duration : e->min;
	e->max = duration > e->max ? duration : e->max;
	e->sum = time_sum(e->sum, duration);
	return e;
}
/* For slices of a track in order of their begins: adds the part that none of the same name covered before. */
static inline void tally_cover(struct tally_entry *e, uint32_t track, int64_t begin, int64_t end)
{
	if (e->track == track && begin < e->covered)
		begin = e->covered;
	if (end <= begin)
		return;
	e->total = time_sum(e->total, end - begin);
	e->track = track;
	e->covered = end;
}
int tally_prepare(struct tally *ta);
static inline void tally_sample(struct tally *ta, uint32_t name, int64_t duration)
{
	ta->samples[ta->entries[ta->entry_of[name] - 1].next++] = duration;
}
/* All that there is to say of an entry. */
struct analysis_entry tally_result(struct tally *ta, size_t entry);
/* The largest total first, then by the text of the name. */
int entry_compare(const struct timeline *t, const struct analysis_entry *a, const struct analysis_entry *b);

/* analysis.c: TIMELINE_NONE so many times; to be freed, NULL without memory. */
uint32_t *numbers_none(uint32_t count);

/* views.c */
int views_build(struct parts *p);
void view_release(struct device_view *view);
/* The track of a slice, quickly when it is near the one asked for before; *hint starts as 0. */
uint32_t track_near(const struct timeline *t, uint32_t slice, uint32_t *hint);

/* kernel_traits.c */
enum tensor_use { TENSOR_UNKNOWN, TENSOR_USED, TENSOR_UNUSED, TENSOR_NO_MATRICES };
/* UNUSED: multiplies matrices without them; NO_MATRICES: would have no use for them. */
enum tensor_use kernel_tensor_use(const char *name, size_t size);
/* Estimated share of the device's threads that it can keep; NAN. */
double kernel_occupancy(const struct timeline_device *device, const struct timeline_detail *detail);
double kernel_blocks_per_multiprocessor(const struct timeline_device *device, const struct timeline_detail *detail);

/* Each fills its part; 0 or -ENOMEM. */
int analyze_program_end(struct parts *p);   /* program_end.c */
int analyze_threads(struct parts *p);       /* threads.c; first: others use `host` and `self` */
/* What is most likely the main thread of a process, or of all (TIMELINE_NONE); NULL when there is no thread. */
const struct analysis_thread *main_thread_of(const struct parts *p, uint32_t process);
/* The tracks of the main threads of all processes, TIMELINE_NONE where there is none; to be freed, NULL without memory. */
uint32_t *main_tracks_of_all(const struct parts *p);
int analyze_devices(struct parts *p);       /* device_figures.c */
int analyze_gpus(struct parts *p);          /* gpus.c */
int analyze_kernels(struct parts *p, struct analysis_device *d, const struct device_view *view); /* kernels.c */
int analyze_copies(struct parts *p, struct analysis_device *d, const struct device_view *view);  /* copies.c */
int analyze_tables(struct parts *p);        /* tables.c */
int analyze_steps(struct parts *p);         /* step_times.c */
int analyze_collectives(struct parts *p);   /* stragglers.c */
int analyze_integrity(struct parts *p);     /* integrity.c */
int analyze_idle_ranges(struct parts *p);   /* idle_range.c; after the verdict */
int analyze_breakdown(struct parts *p);     /* breakdown.c */
int analyze_overhead(struct parts *p);      /* overhead.c */
int analyze_findings(struct parts *p);      /* findings.c; after all figures */
int analyze_bottleneck(struct parts *p);    /* bottleneck.c; after the findings */
int analyze_notes(struct parts *p);         /* notes.c; last */

/* integrity.c: another check; the text is a printf format. */
int check_add(struct parts *p, const char *name, enum check_status status, uint64_t count, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
int check_launches(struct parts *p);        /* integrity_launches.c */
int check_graphs(struct parts *p);          /* integrity_graphs.c */
int check_work(struct parts *p);            /* integrity_work.c */
int check_clocks(struct parts *p);          /* integrity_clocks.c */
int check_complete(struct parts *p);        /* integrity_complete.c */
int check_sources(struct parts *p);         /* integrity_sources.c */
/* Of the files that the trace was made from: those that were laid beside the others by their begin. */
uint64_t sources_aligned(const struct trace_reader *reader);
int check_gpu(struct parts *p);             /* integrity_gpu.c */
/* The name for a detail: cut, and never NULL. */
#define NAME_CUT 80
struct cut_name {
	char text[NAME_CUT + 4];
};
struct cut_name cut_name(const struct timeline *t, uint32_t slice);

#endif
