/* states.c - see states.h; this file makes the windows and puts the parts together. */
#include "timeline/states.h"

#include <errno.h>
#include <stdlib.h>

#include "timeline/gaps.h"
#include "timeline/states_build.h"

const char *stream_state_name(enum stream_state state)
{
	static const char *const names[STREAM_STATE_COUNT] = {
		"empty", "queued", "blocked", "jit", "kernel", "h2d", "d2h", "d2d", "other",
	};

	return (unsigned)state < STREAM_STATE_COUNT ? names[state] : "unknown";
}

const char *idle_cause_name(enum idle_cause cause)
{
	static const char *const names[IDLE_CAUSE_COUNT] = {
		"host_late", "sync", "launch_latency", "dependency", "input", "jit", "no_work", "unknown",
	};

	return (unsigned)cause < IDLE_CAUSE_COUNT ? names[cause] : "unknown";
}

/* ---- What a window says ---- */

int64_t device_window_class(const struct device_window *w, enum work_class class)
{
	int64_t sum = 0;

	for (unsigned mix = 0; mix < MIX_COUNT; mix++)
		if (mix >> class & 1)
			sum += w->mix[mix];
	return sum;
}

int64_t device_window_compute(const struct device_window *w)
{
	return device_window_class(w, WORK_COMPUTE);
}

int64_t device_window_exposed_communication(const struct device_window *w)
{
	return w->mix[1u << WORK_COMMUNICATION] + w->mix[1u << WORK_COMMUNICATION | 1u << WORK_COPY];
}

int64_t device_window_exposed_copy(const struct device_window *w)
{
	return w->mix[1u << WORK_COPY];
}

int64_t device_window_idle(const struct device_window *w)
{
	return w->mix[0];
}

int64_t device_window_busy(const struct device_window *w)
{
	return w->to - w->from - w->mix[0];
}

/* ---- Making one ---- */

/* *sum += time * times, as far as there is room. */
static void add_time(int64_t *sum, int64_t time, uint32_t times)
{
	int64_t product;

	if (__builtin_mul_overflow(time, (int64_t)times, &product) || __builtin_add_overflow(*sum, product, sum))
		*sum = INT64_MAX;
}

static void window_add(struct device_window *w, const struct device_moment *m)
{
	int64_t length = m->end - m->begin;
	unsigned mix = 0;

	for (unsigned c = 0; c < WORK_CLASS_COUNT; c++) {
		mix |= m->running[c] ? 1u << c : 0;
		add_time(&w->class_total[c], length, m->running[c]);
	}
	w->mix[mix] += length;
	add_time(&w->work_total, length, m->total);
	if (m->total > w->concurrency_max)
		w->concurrency_max = m->total;
}

static struct device_window measure(const struct timeline *t, const struct timeline_states *s, const struct device_order *order,
				    int64_t from, int64_t to)
{
	struct device_window w = { .from = from, .to = to };
	struct device_moment m;
	struct device_walk walk;
	uint32_t ended;

	device_walk_start(&walk, t, s, order, from);
	ended = walk.ended;
	while (device_walk_next(&walk, to, &m))
		window_add(&w, &m);
	w.count = walk.begun - ended;
	return w;
}

static struct device_window measure_all(const struct timeline *t, const struct timeline_states *s, const struct device_order *order)
{
	struct device_window w = { 0 };

	if (!order->count)
		return w;
	w = measure(t, s, order, t->begin[order->by_begin[0]], slice_end(t, order->by_end[order->count - 1]));
	w.count = order->count;
	return w;
}

static bool any_unlaunched(const struct timeline *t, const struct device_order *order)
{
	for (uint32_t i = 0; i < order->count; i++)
		if (t->flags[order->by_begin[i]] & SLICE_UNLAUNCHED)
			return true;
	return false;
}

static int measure_launched(const struct states_builder *b, struct device_states *d)
{
	struct device_order order;
	int r;

	d->launched = d->all;
	if (!any_unlaunched(b->t, &d->order))
		return 0;
	r = device_order_build(&order, b->t, b->s->class_of, d->device, true);
	if (r < 0)
		return r;
	d->launched = measure_all(b->t, b->s, &order);
	device_order_release(&order);
	return 0;
}

/* The last end of the first `count` pieces. */
static int64_t last_end(const struct timeline *t, const struct device_order *order, uint32_t count)
{
	int64_t end = 0;

	for (uint32_t i = 0; i < count; i++)
		end = slice_end(t, order->by_begin[i]) > end ? slice_end(t, order->by_begin[i]) : end;
	return end;
}

static int measure_trimmed(const struct states_builder *b, struct device_states *d)
{
	uint32_t head, tail;
	int r = strays_find(b->t, &d->order, &head, &tail);

	d->trimmed = d->all;
	if (r < 0 || (head == 0 && tail == d->order.count))
		return r;
	d->strays = calloc((size_t)d->order.count - (tail - head), sizeof *d->strays);
	if (!d->strays)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->order.count; i++)
		if (i < head || i >= tail)
			d->strays[d->stray_count++] = d->order.by_begin[i];
	d->trimmed = measure(b->t, b->s, &d->order, b->t->begin[d->order.by_begin[head]], last_end(b->t, &d->order, tail));
	d->trimmed.count = tail - head;
	return 0;
}

int device_window_between(const struct timeline *t, const struct timeline_states *s, uint32_t device, int64_t from, int64_t to,
			  struct device_window *ret)
{
	if (device >= s->count || from > to)
		return -EINVAL;
	*ret = measure(t, s, &s->devices[device].order, from, to);
	return 0;
}

/* ---- All together ---- */

static int build_device(struct states_builder *b, struct device_states *d)
{
	int r = device_order_build(&d->order, b->t, b->s->class_of, d->device, false);

	if (r < 0)
		return r;
	d->all = measure_all(b->t, b->s, &d->order);
	r = measure_launched(b, d);
	if (r == 0)
		r = measure_trimmed(b, d);
	if (r == 0)
		r = streams_build(b, d);
	if (r == 0)
		r = gaps_build(b, d);
	return r;
}

static int build_devices(struct states_builder *b)
{
	int r = 0;

	b->s->devices = calloc((size_t)b->t->device_count + 1, sizeof *b->s->devices);
	b->s->class_of = malloc((size_t)b->t->slice_count + 1);
	b->waits = calloc((size_t)b->t->slice_count + 1, 1);
	if (!b->s->devices || !b->s->class_of || !b->waits)
		return -ENOMEM;
	r = evidence_new(&b->evidence, b->t);
	if (r == 0)
		r = quiet_new(&b->quiet, b->t, b->evidence);
	if (r == 0)
		r = states_classify(b->t, b->rules, b->s->class_of);
	if (r == 0)
		waits_find(b);
	for (uint32_t i = 0; r == 0 && i < b->t->device_count; i++) {
		b->s->devices[i].device = i;
		b->s->count = i + 1;
		r = build_device(b, &b->s->devices[i]);
	}
	return r;
}

int timeline_states_build(struct timeline_states *ret, const struct timeline *t, const struct work_rules *rules, struct error *err)
{
	struct timeline_states s = { 0 };
	struct states_builder b = { .t = t, .s = &s, .rules = rules };
	int r = build_devices(&b);

	quiet_free(b.quiet);
	evidence_free(b.evidence);
	free(b.waits);
	if (r < 0) {
		timeline_states_release(&s);
		return error_errno(err, r, "cannot work out what the devices did");
	}
	*ret = s;
	return 0;
}

void timeline_states_release(struct timeline_states *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->count; i++) {
		device_order_release(&s->devices[i].order);
		free(s->devices[i].strays);
		free(s->devices[i].streams);
		free(s->devices[i].gaps);
	}
	free(s->devices);
	free(s->class_of);
	*s = (struct timeline_states){ 0 };
}
