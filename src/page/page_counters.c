/*
 * page_counters.c - values over time (docs/report-page.md, "Counters").
 *
 * Sums that grow become rates.  Of many points those are kept that a picture
 * shows: the smallest and the largest of each short time.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_writer.h"
#include "page/page_parts.h"

#define SERIES_MOST 65536u /* that are told apart */
#define SERIES_SHOWN 400u  /* of these, those with the most points */
#define QUANTUM 1000       /* ns */
#define VALUE_MOST 2251799813685247.0 /* 2^51 - 1: the difference of two, twice, fits a varint */
#define DIGITS 6

struct series {
	uint32_t track, name;
	uint32_t count, first; /* points, and where the first is in the list of all */
	double least, most, last;
	bool falls;            /* some value is smaller than the one before */
};

struct counters {
	struct page_world *w;
	struct series *series;
	size_t count, capacity;
	uint32_t *table; /* number plus 1, by track and name */
	uint32_t *order; /* all points, series by series; those of looks are counted after the others */
};
#define TABLE_SIZE (4u * SERIES_MOST)

/* ---- Series ------------------------------------------------------------------ */

/* Readings of the machine are looks.  Those of threads are left out: their states say it better. */
static bool take_point(const struct timeline *t, uint64_t i, struct timeline_point *ret)
{
	const struct timeline_look *look;

	if (i < t->point_count) {
		*ret = t->points[i];
		return ret->kind == EVENT_COUNTER && isfinite(ret->value) && ret->name < t->string_count && ret->track < t->track_count;
	}
	look = &t->looks[i - t->point_count];
	*ret = (struct timeline_point){ .time = look->begin, .value = look->value, .track = look->track, .name = look->name };
	return look->kind == LOOK_COUNTER && isfinite(look->value) && look->name < t->string_count && look->track < t->track_count &&
	       t->tracks[look->track].kind == TRACK_HOST;
}

/* NULL: there are too many, or no memory, which *rc tells. */
static struct series *series_of(struct counters *c, const struct timeline_point *p, bool add, int *rc)
{
	size_t slot = page_hash(p->track, p->name, TABLE_SIZE);

	for (; c->table[slot]; slot = (slot + 1) & (TABLE_SIZE - 1)) {
		struct series *s = &c->series[c->table[slot] - 1];

		if (s->track == p->track && s->name == p->name)
			return s;
	}
	if (!add || c->count >= SERIES_MOST)
		return NULL;
	if (ARRAY_GROW(c->series, c->capacity, c->count + 1) < 0) {
		*rc = -ENOMEM;
		return NULL;
	}
	c->series[c->count] = (struct series){ .track = p->track, .name = p->name, .least = p->value, .most = p->value, .last = p->value };
	c->table[slot] = (uint32_t)++c->count;
	return &c->series[c->count - 1];
}

static void see(struct series *s, double value)
{
	s->count++;
	s->falls |= value < s->last;
	s->last = value;
	s->least = value < s->least ? value : s->least;
	s->most = value > s->most ? value : s->most;
}

/* Two rounds: how many points each has, then where they are. */
static int find_series(struct counters *c)
{
	const struct timeline *t = c->w->t;
	uint64_t all = (uint64_t)t->point_count + t->look_count, i;
	struct timeline_point p;
	struct series *s;
	uint32_t sum = 0;
	int rc = 0;

	if (all > UINT32_MAX)
		all = UINT32_MAX;
	for (i = 0; i < all && rc == 0; i++)
		if (take_point(t, i, &p) && (s = series_of(c, &p, true, &rc)) != NULL)
			see(s, p.value);
	for (size_t k = 0; k < c->count; k++) {
		c->series[k].first = sum;
		sum += c->series[k].count;
		c->series[k].count = 0;
	}
	c->order = malloc(((size_t)sum + 1) * sizeof *c->order);
	if (!c->order || rc)
		return -ENOMEM;
	for (i = 0; i < all; i++)
		if (take_point(t, i, &p) && (s = series_of(c, &p, false, &rc)) != NULL)
			c->order[s->first + s->count++] = (uint32_t)i;
	return 0;
}

/* ---- Which are shown --------------------------------------------------------- */

static int compare_counts(const void *a, const void *b)
{
	const struct series *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static uint32_t process_of(const struct page_world *w, const struct series *s)
{
	uint32_t process = w->t->tracks[s->track].process;

	return process < w->t->process_count ? w->process_place[process] : TIMELINE_NONE;
}

static int compare_shown(const void *a, const void *b, void *arg)
{
	const struct page_world *w = arg;
	const struct series *x = a, *y = b;
	uint32_t process_x = process_of(w, x), process_y = process_of(w, y);
	int names;

	if (process_x != process_y)
		return process_x < process_y ? -1 : 1;
	names = strcmp(timeline_string(w->t, x->name, NULL), timeline_string(w->t, y->name, NULL));
	if (names)
		return names;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Those that change, in the order in which they are shown. */
static void choose_series(struct counters *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++)
		if (c->series[i].least < c->series[i].most)
			c->series[kept++] = c->series[i];
	c->count = kept;
	if (kept > SERIES_SHOWN) {
		qsort(c->series, kept, sizeof *c->series, compare_counts);
		c->count = SERIES_SHOWN;
	}
	if (c->count)
		qsort_r(c->series, c->count, sizeof *c->series, compare_shown, c->w);
}

static bool ends_with(const char *name, size_t size, const char *back)
{
	size_t length = strlen(back);

	return size >= length && memcmp(name + size - length, back, length) == 0;
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

/* A sum since some beginning; what is named like a time and falls is none. */
static bool is_sum(const char *name, size_t size, const struct series *s)
{
	static const char *const sums[] = { "minor_faults", "major_faults", "rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes",
					    "voluntary_switches", "involuntary_switches", "throttled_periods", "quota_periods", "slices", NULL };

	return !s->falls && (is_one_of(name, sums) || ends_with(name, size, "_ns"));
}

static const char *unit_of(const char *name, size_t size)
{
	static const char *const bytes[] = { "rchar", "wchar", NULL };

	if (ends_with(name, size, "_bytes") || is_one_of(name, bytes))
		return "bytes";
	if (ends_with(name, size, "_ns"))
		return "ns";
	if (ends_with(name, size, "_mhz"))
		return "MHz";
	if (ends_with(name, size, "_millicores"))
		return "millicores";
	return ends_with(name, size, "_percent") ? "%" : "";
}

/* ---- Fewer points ------------------------------------------------------------ */

struct value {
	int64_t time;
	double value;
};

/* Takes points by time; of each of `buckets` equal times the smallest and the largest stay. */
struct reducer {
	struct value *list;
	size_t count;
	int64_t from;
	double width;
	uint64_t bucket;
	struct value least, most;
	bool filled;
};

static void reducer_flush(struct reducer *r)
{
	const struct value *first = r->least.time <= r->most.time ? &r->least : &r->most;
	const struct value *second = first == &r->least ? &r->most : &r->least;

	if (!r->filled)
		return;
	r->list[r->count++] = *first;
	if (second->time != first->time)
		r->list[r->count++] = *second;
	r->filled = false;
}

static void reducer_take(struct reducer *r, int64_t time, double value)
{
	uint64_t bucket = r->width > 0 ? (uint64_t)((double)(time - r->from) / r->width) : 0;
	struct value v = { time, value };

	if (r->filled && bucket != r->bucket)
		reducer_flush(r);
	if (!r->filled) {
		r->least = r->most = v;
		r->bucket = bucket;
		r->filled = true;
		return;
	}
	if (value < r->least.value)
		r->least = v;
	if (value > r->most.value)
		r->most = v;
}

/* A point for each that the counter has: its value, or how fast it grew until the next one. */
static void reduce_series(const struct counters *c, const struct series *s, bool rate, struct reducer *r, bool few)
{
	struct timeline_point p, next;
	double last = 0;

	take_point(c->w->t, c->order[s->first], &p);
	for (uint32_t i = 1; i <= s->count; i++) {
		bool more = i < s->count;

		if (more)
			take_point(c->w->t, c->order[s->first + i], &next);
		if (more && next.time <= p.time && !rate) {
			p = next; /* the last one of an instant counts */
			continue;
		}
		if (more && next.time <= p.time)
			continue;
		if (rate && more)
			last = (next.value - p.value) / ((double)(next.time - p.time) / 1e9);
		reducer_take(r, p.time, rate ? last : p.value);
		if (few)
			reducer_flush(r);
		p = next;
	}
	reducer_flush(r);
}

/* ---- The stream -------------------------------------------------------------- */

/* Whole numbers stay what they are, as far as they fit; others keep their first digits. */
static double scale_for(const struct value *list, size_t count)
{
	double most = 0;
	bool whole = true;
	int power;

	for (size_t i = 0; i < count; i++) {
		most = fabs(list[i].value) > most ? fabs(list[i].value) : most;
		whole &= list[i].value == floor(list[i].value);
	}
	if (most == 0 || (whole && most < VALUE_MOST))
		return 1;
	power = DIGITS - (int)floor(log10(most));
	return pow(10, power > 300 ? 300 : power);
}

static int64_t scaled(double value, double scale)
{
	double n = round(value * scale);

	return n > VALUE_MOST ? (int64_t)VALUE_MOST : n < -VALUE_MOST ? -(int64_t)VALUE_MOST : (int64_t)n;
}

static int put_values(struct buffer *out, const struct value *list, size_t count, double scale)
{
	int64_t time = 0, value = 0;

	if (buffer_reserve(out, 20 * count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int64_t at = page_quanta(list[i].time, QUANTUM), v = scaled(list[i].value, scale);

		page_put(out, (uint64_t)(at - time));
		page_put(out, zigzag_encode(v - value));
		time = at;
		value = v;
	}
	return 0;
}

static void describe(struct json_writer *j, const struct counters *c, const struct series *s, size_t count, double scale, bool rate)
{
	size_t size;
	const char *name = timeline_string(c->w->t, s->name, &size);
	uint32_t process = process_of(c->w, s);

	json_open(j, NULL, '{');
	json_string(j, "name", name, size < PAGE_LABEL_TEXT ? size : PAGE_LABEL_TEXT);
	json_text(j, "unit", unit_of(name, size));
	if (process == TIMELINE_NONE)
		json_null(j, "process");
	else
		json_unsigned(j, "process", process);
	json_unsigned(j, "count", count);
	json_unsigned(j, "quantum_ns", QUANTUM);
	json_number(j, "scale", scale);
	json_bool(j, "rate", rate);
	json_close(j);
}

static int put_series(struct counters *c, const struct series *s, unsigned points, struct value *list, struct json_writer *j,
		      struct buffer *out)
{
	struct reducer r = { .list = list };
	struct timeline_point first, last;
	size_t size;
	const char *name = timeline_string(c->w->t, s->name, &size);
	bool rate = is_sum(name, size, s), few = s->count <= points;
	double scale;

	take_point(c->w->t, c->order[s->first], &first);
	take_point(c->w->t, c->order[s->first + s->count - 1], &last);
	r.from = first.time;
	r.width = (double)(last.time - first.time + 1) / (points / 2);
	reduce_series(c, s, rate, &r, few);
	scale = scale_for(list, r.count);
	describe(j, c, s, r.count, scale, rate);
	return put_values(out, list, r.count, scale);
}

static int put_all(struct counters *c, unsigned points, struct buffer *out)
{
	struct json_writer j = { .out = &c->w->counters_json, .compact = true };
	struct value *list = malloc((points + 4) * sizeof *list);
	int rc = list ? 0 : -ENOMEM;

	buffer_clear(&c->w->counters_json);
	json_open(&j, NULL, '[');
	for (size_t i = 0; i < c->count && rc == 0; i++)
		rc = put_series(c, &c->series[i], points, list, &j, out);
	json_close(&j);
	free(list);
	return rc ? rc : j.error;
}

int page_counters_put(struct page_world *w, unsigned points, struct buffer *out)
{
	struct counters c = { .w = w };
	int rc = -ENOMEM;

	c.table = calloc(TABLE_SIZE, sizeof *c.table);
	if (c.table)
		rc = find_series(&c);
	if (rc == 0) {
		choose_series(&c);
		rc = put_all(&c, points, out);
	}
	free(c.table);
	free(c.series);
	free(c.order);
	return rc;
}
