/*
 * page_data.c - all of a trace in a few megabytes, as exact as that allows.
 *
 * What is not slices is packed first; slices get the room that it leaves.  Of
 * their columns only those of times depend on the quantum, and how large they
 * get can be told from a part of them, so that hardly ever more than one
 * quantum is tried in full.
 */
#include "page/page_data.h"

#include <errno.h>
#include <stdlib.h>

#include "page/page_parts.h"

#define SLICES_MOST 4000000u /* in the page: the arrays of the code that shows it take about 40 bytes for each */
#define SAMPLE_LEAST 200000u /* slices from which on a part of them is tried first */
#define SAMPLE_MARGIN 1.06   /* how much smaller than told by that part they may well get */
#define QUANTUM_MOST 1000
#define QUANTUM_SOME 100     /* of a page without all slices: there it is their number that gives way */
#define SLICE_COST 4u        /* bytes of a slice in such a page, to begin with */
#define FLAME_PARTS 10000
#define TEXT_LEAST 64u       /* bytes to which texts of the analysis are cut at worst */
#define COUNTER_POINTS 4000u
#define COUNTER_POINTS_LEAST 16u
#define BUCKETS 4096u
#define STATE_CELLS 16384 /* of a thread, to begin with, when not every state fits */
#define TRIES 3
#define SLACK 64u /* by which the model may grow when all is known */

enum stream {
	STREAM_MODEL,
	STREAM_ANALYSIS,
	STREAM_ROW,
	STREAM_GAP,
	STREAM_DUR,
	STREAM_LABEL,
	STREAM_LINK,
	STREAM_FLAME,
	STREAM_STATES,
	STREAM_COUNTERS,
	STREAM_BUCKETS,
	STREAM_COUNT
};

struct draft {
	struct page_world w;
	struct page_stream streams[STREAM_COUNT];
	size_t most;
};

static int pack(struct draft *d, enum stream stream, struct buffer *raw)
{
	int rc = page_stream_pack(&d->streams[stream], &d->w.packer, raw);

	buffer_clear(raw);
	return rc;
}

static size_t cost_of(const struct draft *d, enum stream from, enum stream to)
{
	size_t cost = 0;

	for (enum stream i = from; i <= to; i++)
		cost += page_stream_cost(&d->streams[i]);
	return cost;
}

static size_t cost_of_all(const struct draft *d)
{
	return cost_of(d, 0, STREAM_COUNT - 1);
}

/* ---- What is not slices ------------------------------------------------------ */

/* As it is, unless its texts alone would take a third of the page. */
static int pack_analysis(struct draft *d, struct buffer *raw)
{
	struct buffer json = BUFFER_INIT;
	int rc = report_json(d->w.a, d->w.source, &json);

	if (rc == 0)
		rc = page_stream_pack(&d->streams[STREAM_ANALYSIS], &d->w.packer, &json);
	for (size_t text = PAGE_LABEL_TEXT; rc == 0 && text >= TEXT_LEAST; text /= 2) {
		if (page_stream_cost(&d->streams[STREAM_ANALYSIS]) <= d->most / 3)
			break;
		rc = page_analysis_cut(&json, text, raw);
		if (rc == 0 && raw->size < json.size - json.size / 16)
			rc = pack(d, STREAM_ANALYSIS, raw);
		buffer_clear(raw);
	}
	buffer_release(&json);
	return rc;
}

static int pack_flame(struct draft *d, struct buffer *raw)
{
	struct page_flame *f = NULL;
	int rc = page_flame_new(&f, &d->w);

	for (int64_t parts = FLAME_PARTS, depth = PAGE_ROWS_MOST; rc == 0; parts /= 4, depth /= 4) {
		rc = page_flame_put(f, parts, depth, raw);
		if (rc == 0)
			rc = pack(d, STREAM_FLAME, raw);
		if (page_stream_cost(&d->streams[STREAM_FLAME]) <= d->most / 8 || parts < 16)
			break;
	}
	page_flame_free(f);
	return rc;
}

static int pack_counters(struct draft *d, struct buffer *raw)
{
	int rc = 0;

	for (unsigned points = COUNTER_POINTS; rc == 0; points /= 4) {
		rc = page_counters_put(&d->w, points, raw);
		if (rc == 0)
			rc = pack(d, STREAM_COUNTERS, raw);
		if (page_stream_cost(&d->streams[STREAM_COUNTERS]) <= d->most / 10 || points < COUNTER_POINTS_LEAST)
			break;
	}
	return rc;
}

/* In the quantum of the world. */
static int pack_states(struct draft *d, struct buffer *raw)
{
	int64_t duration = d->w.t->duration;
	int rc = 0;

	for (int64_t cell = 0; rc == 0; cell = cell ? 4 * cell : duration / STATE_CELLS + 1) {
		rc = page_states_put(&d->w, cell, raw);
		if (rc == 0)
			rc = pack(d, STREAM_STATES, raw);
		if (page_stream_cost(&d->streams[STREAM_STATES]) <= d->most / 8 || cell > duration)
			break;
	}
	return rc;
}

static int pack_model(struct draft *d, struct buffer *raw)
{
	int rc = page_model_put(&d->w, raw);

	return rc ? rc : pack(d, STREAM_MODEL, raw);
}

static int pack_frame(struct draft *d, struct buffer *raw)
{
	int rc = pack_analysis(d, raw);

	if (rc == 0)
		rc = pack_flame(d, raw);
	if (rc == 0)
		rc = pack_counters(d, raw);
	if (rc == 0)
		rc = pack_states(d, raw);
	return rc ? rc : pack_model(d, raw);
}

/* ---- Columns ----------------------------------------------------------------- */

struct columns {
	struct buffer row, gap, dur, label, link;
};

static void columns_release(struct columns *c)
{
	buffer_release(&c->row);
	buffer_release(&c->gap);
	buffer_release(&c->dur);
	buffer_release(&c->label);
	buffer_release(&c->link);
}

static int pack_shapes(struct draft *d, struct columns *c)
{
	int rc = page_put_shapes(&d->w, &c->row, &c->label, &c->link);

	if (rc == 0)
		rc = pack(d, STREAM_ROW, &c->row);
	if (rc == 0)
		rc = pack(d, STREAM_LABEL, &c->label);
	return rc ? rc : pack(d, STREAM_LINK, &c->link);
}

static int pack_times(struct draft *d, struct columns *c)
{
	int rc = page_put_times(&d->w, d->w.quantum, &c->gap, &c->dur);

	if (rc == 0)
		rc = pack(d, STREAM_GAP, &c->gap);
	return rc ? rc : pack(d, STREAM_DUR, &c->dur);
}

/* What the columns of times would take at least, as far as a part of them tells. */
static int estimate_times(struct draft *d, struct columns *c, int64_t quantum, double *ret)
{
	uint32_t count = 0;
	size_t packed = 0;
	int rc = 0;

	*ret = 0;
	if (d->w.slices_here < SAMPLE_LEAST)
		return 0;
	rc = page_put_times_sample(&d->w, quantum, &c->gap, &c->dur, &count);
	if (rc == 0) {
		size_t gap = page_packed_size(&d->w.packer, &c->gap), dur = page_packed_size(&d->w.packer, &c->dur);

		packed = gap == SIZE_MAX || dur == SIZE_MAX ? SIZE_MAX : gap + dur;
	}
	buffer_clear(&c->gap);
	buffer_clear(&c->dur);
	if (rc == 0 && packed == SIZE_MAX)
		rc = -ENOMEM;
	if (rc == 0 && count)
		*ret = (double)packed / 3 * 4 / SAMPLE_MARGIN * d->w.slices_here / count;
	return rc;
}

/* ---- With all slices --------------------------------------------------------- */

/* The smallest in which all times fit a varint. */
static int64_t quantum_least(const struct timeline *t)
{
	int64_t quantum = 1;

	while (quantum < QUANTUM_MOST && t->duration / quantum > PAGE_TIME_MOST)
		quantum *= 10;
	return quantum;
}

/* Tries one quantum with the links that are packed, if any. */
static int try_quantum(struct draft *d, struct columns *c, int64_t quantum, bool *ret_fits)
{
	size_t room, others;
	double estimate;
	int rc;

	*ret_fits = false;
	page_stream_release(&d->streams[STREAM_GAP]);
	page_stream_release(&d->streams[STREAM_DUR]);
	others = cost_of_all(d) + SLACK;
	if (others > d->most)
		return 0;
	room = d->most - others;
	rc = estimate_times(d, c, quantum, &estimate);
	if (rc || estimate > (double)room)
		return rc;
	d->w.quantum = quantum;
	rc = pack_times(d, c);
	*ret_fits = rc == 0 && cost_of(d, STREAM_GAP, STREAM_DUR) <= room;
	return rc;
}

/* The finest in which what is kept fits. */
static int try_quanta(struct draft *d, struct columns *c, bool *ret_fits)
{
	int rc = pack_shapes(d, c);

	*ret_fits = false;
	d->w.links = true;
	for (int64_t q = quantum_least(d->w.t); q <= QUANTUM_MOST && rc == 0 && !*ret_fits; q *= 10)
		rc = try_quantum(d, c, q, ret_fits);
	return rc;
}

static int try_all(struct draft *d, bool *ret_fits)
{
	struct columns c = { 0 };
	int rc = try_quanta(d, &c, ret_fits);

	if (rc == 0 && !*ret_fits) {
		page_stream_release(&d->streams[STREAM_LINK]);
		d->w.links = false;
		rc = try_quantum(d, &c, QUANTUM_MOST, ret_fits);
	}
	columns_release(&c);
	return rc;
}

/* ---- With some of them ------------------------------------------------------- */

/* As fine as a quarter of the room allows. */
static int pack_buckets(struct draft *d, struct buffer *raw, size_t room)
{
	int rc = 0;

	for (unsigned buckets = BUCKETS; rc == 0; buckets /= 4) {
		rc = page_buckets_put(&d->w, buckets, raw);
		if (rc == 0)
			rc = pack(d, STREAM_BUCKETS, raw);
		if (page_stream_cost(&d->streams[STREAM_BUCKETS]) <= room / 4)
			break;
	}
	return rc;
}

static int try_some(struct draft *d, struct columns *c, struct buffer *raw, uint32_t count)
{
	int rc = page_keep_some(&d->w, count);

	if (rc == 0)
		rc = pack_shapes(d, c);
	if (rc == 0)
		rc = pack_times(d, c);
	return rc ? rc : pack_model(d, raw);
}

/* How many to try next, when `count` took `cost` bytes of `room`. */
static uint32_t next_count(uint32_t count, uint32_t most, size_t cost, size_t room, unsigned tries)
{
	double share = (double)room / (double)cost * 0.95, next;

	if (cost > room && tries > TRIES && share > 0.5)
		share = 0.5;
	next = (double)count * (share > 4 ? 4 : share);
	return next < most ? (uint32_t)next : most;
}

/* Until they fit, and for a while until they fill the room that what is packed of slices, the range, leaves. */
static int fit_some(struct draft *d, struct columns *c, struct buffer *raw, size_t room)
{
	size_t range = cost_of(d, STREAM_ROW, STREAM_LINK), target = room / SLICE_COST;
	uint32_t most = d->w.range_whole ? SLICES_MOST - d->w.slices_here : SLICES_MOST;
	uint32_t count = target < most ? (uint32_t)target : most, before = UINT32_MAX;

	for (unsigned tries = 0;; tries++) {
		int rc = try_some(d, c, raw, count);
		size_t columns = cost_of(d, STREAM_ROW, STREAM_LINK), cost = columns > range ? columns - range : 0;
		bool fits = cost_of_all(d) <= d->most;

		if (rc || count == 0)
			return rc;
		if (fits && (tries >= TRIES || cost > room / 10 * 9 || d->w.slices_here == before || count == most))
			return 0;
		before = d->w.slices_here;
		count = next_count(count, most, fits || cost > room ? cost + 1 : room + room / 8, room, tries);
	}
}

static void drop_columns(struct draft *d)
{
	for (enum stream i = STREAM_ROW; i <= STREAM_LINK; i++)
		page_stream_release(&d->streams[i]);
}

static int pack_states_in(struct draft *d, int64_t quantum, struct buffer *raw)
{
	d->w.quantum = quantum;
	return pack_states(d, raw);
}

static int64_t quantum_some(const struct timeline *t)
{
	return quantum_least(t) > QUANTUM_SOME ? quantum_least(t) : QUANTUM_SOME;
}

static size_t room_left(const struct draft *d)
{
	size_t taken = cost_of_all(d);

	return d->most > taken ? d->most - taken : 0;
}

/* The range alone, as fine as it fits; if it does not, it is like the rest. */
static int pack_range(struct draft *d, struct columns *c, struct buffer *raw)
{
	bool fits = false;
	int rc = pack_states_in(d, quantum_least(d->w.t), raw);

	d->w.range_whole = true;
	if (rc == 0)
		rc = page_keep_some(&d->w, 0);
	if (rc == 0)
		rc = pack_model(d, raw);
	if (rc == 0 && d->w.slices_here <= SLICES_MOST)
		rc = try_quanta(d, c, &fits);
	if (rc)
		return rc;
	d->w.range_whole = fits;
	if (!fits)
		drop_columns(d);
	return pack_states_in(d, fits ? d->w.quantum : quantum_some(d->w.t), raw);
}

static int pack_some(struct draft *d, struct buffer *raw)
{
	struct columns c = { 0 };
	int rc;

	drop_columns(d);
	d->w.links = true;
	rc = pack_states_in(d, quantum_some(d->w.t), raw);
	if (rc == 0 && d->w.range.to > 0)
		rc = pack_range(d, &c, raw);
	if (rc == 0)
		rc = pack_buckets(d, raw, room_left(d));
	if (rc == 0)
		rc = fit_some(d, &c, raw, room_left(d));
	columns_release(&c);
	return rc;
}

/* ---- All of it --------------------------------------------------------------- */

/* As far as it is in the run. */
static struct page_window range_in(const struct timeline *t, const struct page_options *options)
{
	struct page_window range = { options->from > 0 ? options->from : 0, options->to < t->duration ? options->to : t->duration };

	return range.from <= range.to ? range : (struct page_window){ 0, 0 };
}

static int draft_init(struct draft *d, const struct analysis *a, const struct report_source *source, const struct page_options *options)
{
	struct page_world *w = &d->w;
	int rc;

	w->a = a;
	w->t = a->timeline;
	w->source = source;
	w->links = true;
	w->quantum = quantum_least(w->t);
	w->range = range_in(w->t, options);
	d->most = options->size_most;
	rc = host_names_init(&w->names, w->t);
	if (rc == 0)
		rc = page_packer_init(&w->packer);
	if (rc == 0)
		rc = page_tracks_init(w);
	if (rc == 0)
		rc = page_labels_init(w);
	if (rc == 0)
		rc = page_labels_fit(w, d->most / 6);
	return rc ? rc : page_keep_all(w);
}

static void draft_release(struct draft *d)
{
	for (enum stream i = 0; i < STREAM_COUNT; i++)
		page_stream_release(&d->streams[i]);
	page_keep_release(&d->w);
	page_labels_release(&d->w.labels);
	page_tracks_release(&d->w);
	page_packer_release(&d->w.packer);
	host_names_release(&d->w.names);
	buffer_release(&d->w.states_json);
	buffer_release(&d->w.counters_json);
}

static int fill(struct draft *d)
{
	struct buffer raw = BUFFER_INIT;
	bool fits = false;
	int rc = pack_frame(d, &raw);

	if (rc == 0 && d->w.t->slice_count <= SLICES_MOST)
		rc = try_all(d, &fits);
	if (rc == 0 && fits && d->w.quantum > 1)
		rc = pack_states(d, &raw);
	if (rc == 0 && fits)
		rc = pack_model(d, &raw);
	if (rc == 0 && !fits)
		rc = pack_some(d, &raw);
	buffer_release(&raw);
	return rc;
}

static int append_streams(const struct draft *d, struct buffer *out)
{
	static const char *const ids[STREAM_COUNT] = {
		"data-model", "data-analysis", "data-row", "data-gap", "data-dur", "data-label",
		"data-link", "data-flame", "data-states", "data-counters", "data-buckets",
	};
	size_t before = out->size;
	int rc = buffer_reserve(out, cost_of_all(d));

	for (enum stream i = 0; i < STREAM_COUNT && rc == 0; i++)
		rc = page_stream_append(&d->streams[i], ids[i], out);
	if (rc)
		out->size = before;
	return rc;
}

int page_data_append(const struct analysis *a, const struct report_source *source, const struct page_options *options,
		     struct buffer *out, struct page_data_facts *ret_facts)
{
	struct draft d = { 0 };
	int rc = draft_init(&d, a, source, options);

	if (rc == 0)
		rc = fill(&d);
	if (rc == 0)
		rc = append_streams(&d, out);
	if (rc == 0)
		*ret_facts = (struct page_data_facts){ d.w.t->slice_count, d.w.slices_here, d.w.quantum, d.w.keep.all, d.w.links,
						       d.w.range.to > 0, d.w.range.to > 0 && (d.w.keep.all || d.w.range_whole) };
	draft_release(&d);
	return rc;
}
