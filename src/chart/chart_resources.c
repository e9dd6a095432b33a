/*
 * chart_resources.c - what the program used over time: processors, memory, devices.
 *
 * Time is divided into BINS equal parts.  What grows (processor time, busy time
 * of devices) is spread over the parts it grew in, so that nothing is lost or
 * counted twice; of what goes up and down (memory) a part has the most.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chart/chart_parts.h"
#include "report/report_parts.h"

#define BINS 240
#define DEVICES_APART 4 /* more of them are shown as their mean */

struct bins {
	double value[BINS];
	bool known[BINS];
	int64_t span;
};

static unsigned bin_of(const struct bins *b, int64_t time)
{
	double at = b->span > 0 ? (double)time / (double)b->span * BINS : 0;

	return at < 0 ? 0 : at >= BINS ? BINS - 1 : (unsigned)at;
}

static double bin_begin(const struct bins *b, unsigned i)
{
	return (double)b->span / BINS * i;
}

static void add(struct bins *b, unsigned i, double value)
{
	b->value[i] += value;
	b->known[i] = true;
}

/* `amount` that grew from one time to another. */
static void spread(struct bins *b, int64_t from, int64_t to, double amount)
{
	unsigned last = bin_of(b, to);

	if (to <= from)
		return;
	for (unsigned i = bin_of(b, from); i <= last; i++) {
		double begin = fmax((double)from, bin_begin(b, i)), end = fmin((double)to, bin_begin(b, i + 1));

		if (end > begin)
			add(b, i, amount * (end - begin) / (double)(to - from));
	}
}

static bool any_known(const struct bins *b)
{
	for (unsigned i = 0; i < BINS; i++)
		if (b->known[i])
			return true;
	return false;
}

static double most(const struct bins *b)
{
	double value = 0;

	for (unsigned i = 0; i < BINS; i++)
		if (b->known[i])
			value = fmax(value, b->value[i]);
	return value;
}

/* Values times `factor`; the line ends where the last known part does. */
static int put_line(struct chart_panel *p, const char *label, size_t size, const struct bins *b, double factor, double x_unit)
{
	struct chart_line *line;
	int rc = chart_add_line(p, label, size, &line);

	for (unsigned i = 0; i < BINS && rc == 0; i++) {
		if (!b->known[i])
			continue;
		rc = chart_add_point(line, bin_begin(b, i) / x_unit, b->value[i] * factor);
		if (rc == 0 && (i + 1 == BINS || !b->known[i + 1]))
			rc = chart_add_point(line, bin_begin(b, i + 1) / x_unit, b->value[i] * factor);
	}
	if (rc == 0)
		line->steps = true;
	return rc;
}

static int put_panel(struct chart *c, const char *title, const struct bins *b, double factor, double x_unit)
{
	struct chart_panel *p;
	int rc;

	if (!any_known(b) || c->panel_count == CHART_PANELS)
		return 0;
	rc = chart_add_panel(c, title, strlen(title), &p);
	return rc ? rc : put_line(p, "", 0, b, factor, x_unit);
}

/* The unit that suits a size, and what a byte is of it. */
static const char *byte_unit(double bytes, double *ret_factor)
{
	*ret_factor = bytes >= 2e9 ? 1e-9 : bytes >= 2e6 ? 1e-6 : 1e-3;
	return bytes >= 2e9 ? "GB" : bytes >= 2e6 ? "MB" : "kB";
}

static int put_bytes(struct chart *c, const char *words, const struct bins *b, double x_unit)
{
	double factor;
	const char *unit = byte_unit(most(b), &factor);
	char title[96];

	snprintf(title, sizeof title, "%s, %s", words, unit);
	return put_panel(c, title, b, factor, x_unit);
}

/* ---- Processors --------------------------------------------------------------- */

static bool is_named(const struct timeline *t, uint32_t name, const char *text)
{
	size_t size;
	const char *s = timeline_string(t, name, &size);

	return size == strlen(text) && memcmp(s, text, size) == 0;
}

/* Of each thread, as the kernel counts it; looks come by track. */
static void bin_threads(struct bins *b, const struct timeline *t)
{
	const struct timeline_look *before = NULL;

	for (uint32_t i = 0; i < t->look_count; i++) {
		const struct timeline_look *look = &t->looks[i];

		if (look->kind != LOOK_COUNTER || !is_named(t, look->name, "run_ns"))
			continue;
		if (before && before->track == look->track && look->value >= before->value)
			spread(b, before->begin, look->begin, look->value - before->value);
		before = look;
	}
}

struct reading {
	int64_t time;
	double value;
	bool known;
};

/* Of each process, by one of its counters. */
static int bin_processes(struct bins *b, const struct timeline *t, const char *counter)
{
	struct reading *before = calloc(t->track_count + 1, sizeof *before);

	if (!before)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->point_count; i++) {
		const struct timeline_point *p = &t->points[i];
		struct reading *last = &before[p->track];

		if (p->kind != EVENT_COUNTER || t->tracks[p->track].kind != TRACK_PROCESS || !is_named(t, p->name, counter))
			continue;
		if (last->known && p->value >= last->value)
			spread(b, last->time, p->time, p->value - last->value);
		*last = (struct reading){ p->time, p->value, true };
	}
	free(before);
	return 0;
}

static int put_processors(struct chart *c, struct bins *b, const struct timeline *t, double x_unit)
{
	int rc = 0;

	bin_threads(b, t);
	if (!any_known(b)) {
		rc = bin_processes(b, t, "user_ns");
		rc = rc ? rc : bin_processes(b, t, "system_ns");
	}
	return rc ? rc : put_panel(c, "processors in use, cores", b, BINS / (double)b->span, x_unit);
}

/* ---- Memory ------------------------------------------------------------------- */

/* A process whose value holds until the next reading. */
struct holder {
	int64_t time, longest; /* of the last reading; between two of them */
	double value, peak;    /* now; of this part */
	unsigned bin;
	bool known;
};

static void hold(struct bins *b, struct holder *h, const struct timeline_point *p)
{
	unsigned bin = bin_of(b, p->time);

	if (h->known && bin == h->bin) {
		h->peak = fmax(h->peak, p->value);
	} else {
		if (h->known)
			add(b, h->bin, h->peak);
		for (unsigned i = h->bin + 1; h->known && i < bin; i++)
			add(b, i, h->value);
		h->peak = h->known ? fmax(h->value, p->value) : p->value;
	}
	if (h->known && p->time - h->time > h->longest)
		h->longest = p->time - h->time;
	h->time = p->time;
	h->value = p->value;
	h->bin = bin;
	h->known = true;
}

/* A process that is silent for longer than it ever was is no more. */
static void let_go(struct bins *b, const struct holder *h)
{
	unsigned last = bin_of(b, h->time + h->longest);

	add(b, h->bin, h->peak);
	for (unsigned i = h->bin + 1; i <= last; i++)
		add(b, i, h->value);
}

static int put_memory(struct chart *c, struct bins *b, const struct timeline *t, double x_unit)
{
	struct holder *holders = calloc(t->track_count + 1, sizeof *holders);

	if (!holders)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->point_count; i++) {
		const struct timeline_point *p = &t->points[i];

		if (p->kind == EVENT_COUNTER && t->tracks[p->track].kind == TRACK_PROCESS && is_named(t, p->name, "rss_bytes"))
			hold(b, &holders[p->track], p);
	}
	for (uint32_t i = 0; i < t->track_count; i++)
		if (holders[i].known)
			let_go(b, &holders[i]);
	free(holders);
	return put_bytes(c, "memory of all processes (RSS)", b, x_unit);
}

/* What allocators took and gave back.  What they had when the trace began is not known, so it is counted from the least. */
static int put_allocators(struct chart *c, struct bins *b, const struct timeline *t, double x_unit)
{
	double sum = 0, least = 0;
	unsigned at = 0;
	bool any = false;

	for (uint32_t i = 0; i < t->point_count; i++) {
		const struct timeline_point *p = &t->points[i];
		unsigned bin = bin_of(b, p->time);

		if (p->kind != EVENT_MEMORY_ALLOC && p->kind != EVENT_MEMORY_FREE)
			continue;
		for (; any && at < bin; at++)
			b->value[at + 1] = sum;
		at = bin;
		any = true;
		sum += p->kind == EVENT_MEMORY_ALLOC ? p->value : -p->value;
		least = fmin(least, sum);
		b->value[bin] = fmax(b->value[bin], sum);
	}
	for (; any && at + 1 < BINS; at++)
		b->value[at + 1] = sum;
	for (unsigned i = 0; any && i < BINS; i++) {
		b->value[i] -= least;
		b->known[i] = true;
	}
	return put_bytes(c, "memory that allocators hold, above the least", b, x_unit);
}

/* ---- Devices ------------------------------------------------------------------- */

static void bin_device(struct bins *b, const struct analysis *a, size_t i)
{
	const struct device_states *states = a->devices[i].states;
	struct device_walk walk;
	struct device_moment m;

	device_walk_start(&walk, a->timeline, &a->states, &states->order, 0);
	while (device_walk_next(&walk, b->span, &m))
		spread(b, m.begin, m.end, m.total ? (double)(m.end - m.begin) : 0);
}

static int put_devices(struct chart *c, struct bins *b, const struct analysis *a, double x_unit)
{
	bool apart = a->device_count <= DEVICES_APART;
	double percent = 100 / ((double)b->span / BINS);
	struct chart_panel *p;
	char label[48];
	int rc, size;

	if (a->device_count == 0)
		return 0;
	rc = chart_add_panel(c, "devices busy, %", strlen("devices busy, %"), &p);
	if (rc == 0)
		p->least = 100;
	for (size_t i = 0; i < a->device_count && rc == 0; i++) {
		bin_device(b, a, i);
		if (!apart && i + 1 < a->device_count)
			continue;
		size = apart ? snprintf(label, sizeof label, "device %u", (unsigned)i) :
			       snprintf(label, sizeof label, "mean of %zu devices", a->device_count);
		rc = put_line(p, label, (size_t)size, b, apart ? percent : percent / (double)a->device_count, x_unit);
		*b = (struct bins){ .span = b->span };
	}
	return rc;
}

/* ---- Counters of devices --------------------------------------------------------- */

#define COUNTERS 4 /* the first that the trace has */

struct counter {
	uint32_t track, name;
};

static unsigned find_counters(struct counter *ret, const struct timeline *t)
{
	unsigned count = 0, k;

	for (uint32_t i = 0; i < t->point_count && count < COUNTERS; i++) {
		const struct timeline_point *p = &t->points[i];

		if (p->kind != EVENT_COUNTER || t->tracks[p->track].device == TIMELINE_NONE)
			continue;
		for (k = 0; k < count && (ret[k].track != p->track || ret[k].name != p->name); k++)
			;
		if (k == count)
			ret[count++] = (struct counter){ p->track, p->name };
	}
	return count;
}

static int put_counter(struct chart *c, struct bins *b, const struct timeline *t, const struct counter *counter, double x_unit)
{
	struct holder h = { 0 };
	char title[200];
	size_t size;
	const char *name = timeline_string(t, counter->name, &size);

	for (uint32_t i = 0; i < t->point_count; i++)
		if (t->points[i].kind == EVENT_COUNTER && t->points[i].track == counter->track && t->points[i].name == counter->name)
			hold(b, &h, &t->points[i]);
	if (h.known)
		let_go(b, &h);
	snprintf(title, sizeof title, "device %u: %.*s", t->tracks[counter->track].device, size > 150 ? 150 : (int)size, name);
	return put_panel(c, title, b, 1, x_unit);
}

static int put_counters(struct chart *c, struct bins *b, const struct timeline *t, double x_unit)
{
	struct counter counters[COUNTERS];
	unsigned count = find_counters(counters, t);
	int rc = 0;

	for (unsigned i = 0; i < count && rc == 0; i++) {
		rc = put_counter(c, b, t, &counters[i], x_unit);
		*b = (struct bins){ .span = b->span };
	}
	return rc;
}

int chart_make_resources(struct chart *c, const struct analysis *a)
{
	const struct timeline *t = a->timeline;
	struct bins b = { .span = t->duration };
	double x_unit;
	int rc;

	c->form = CHART_LINED;
	c->title = "Resources over the run";
	c->axis = chart_time_unit(t->duration, &x_unit);
	c->nothing = "the trace does not say what was used";
	c->full = (double)t->duration / x_unit;
	if (t->duration <= 0)
		return 0;
	rc = put_processors(c, &b, t, x_unit);
	b = (struct bins){ .span = t->duration };
	rc = rc ? rc : put_memory(c, &b, t, x_unit);
	b = (struct bins){ .span = t->duration };
	rc = rc ? rc : put_devices(c, &b, a, x_unit);
	b = (struct bins){ .span = t->duration };
	rc = rc ? rc : put_allocators(c, &b, t, x_unit);
	b = (struct bins){ .span = t->duration };
	return rc ? rc : put_counters(c, &b, t, x_unit);
}
