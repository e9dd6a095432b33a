/*
 * findings_copies.c - copies between host and devices that keep devices from computing.
 *
 * All of the exposed copies is one finding; what to do about them depends on
 * what they are like.  A link that is full: fewer bytes.  The same size from the
 * same place several times a step: once, and keep it there.  Pageable memory: pin
 * it, which about doubles the rate and lets copies run beside compute.  Else:
 * beside compute.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/findings_link.h"
#include "base/array.h"
#include "base/text.h"

#define LINK_FULL 0.75    /* of a link's rate, a part of which packets take for themselves: more than that is hardly to be had */
#define REPEATED 4        /* copies a step that are alike: two or three may be different arrays of one shape */

/* Copies of one direction, size and place. */
struct alike {
	uint32_t place; /* name; 0 not known */
	uint8_t kind;
	uint64_t bytes;
	uint64_t count;
	int64_t alone;
};

struct copies {
	struct alike *rows;
	size_t count, capacity;
	uint64_t number, bytes, pageable;
	int64_t total, pageable_time;
	const struct alike *repeated; /* several times in a step, and most of the exposed time; NULL */
	struct link_use use;
};

/* The name of the call of the runtime is no place. */
static uint32_t launched_at(const struct timeline *t, uint32_t slice)
{
	uint32_t place = t->flags[slice] & SLICE_UNLAUNCHED ? TIMELINE_NONE : place_of(t, t->link[slice]);

	return place == TIMELINE_NONE || t->kind[place] == EVENT_RUNTIME_CALL ? 0 : t->name[place];
}

static int take_copy(struct copies *c, const struct timeline *t, uint32_t slice, int64_t alone)
{
	const struct timeline_detail *detail = detail_of(t, slice);

	c->number++;
	c->bytes += detail->bytes;
	c->total = time_sum(c->total, slice_duration(t, slice));
	if (detail->memory_from == MEMORY_PAGEABLE || detail->memory_to == MEMORY_PAGEABLE) {
		c->pageable++;
		c->pageable_time = time_sum(c->pageable_time, slice_duration(t, slice));
	}
	if (alone <= 0)
		return 0;
	if (ARRAY_GROW(c->rows, c->capacity, c->count + 1) < 0)
		return -ENOMEM;
	c->rows[c->count++] = (struct alike){ launched_at(t, slice), t->kind[slice], detail->bytes, 1, alone };
	return 0;
}

static int compare_alike(const void *a, const void *b)
{
	const struct alike *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int compare_alone(const void *a, const void *b)
{
	const struct alike *x = a, *y = b;

	return x->alone != y->alone ? (x->alone > y->alone ? -1 : 1) : compare_alike(a, b);
}

/* One row for all that are alike, those that take the most time first. */
static void join_alike(struct copies *c)
{
	size_t count = 0;

	if (c->count == 0)
		return;
	qsort(c->rows, c->count, sizeof *c->rows, compare_alike);
	for (size_t i = 0; i < c->count; i++)
		if (count && compare_alike(&c->rows[count - 1], &c->rows[i]) == 0) {
			c->rows[count - 1].count++;
			c->rows[count - 1].alone = time_sum(c->rows[count - 1].alone, c->rows[i].alone);
		} else {
			c->rows[count++] = c->rows[i];
		}
	c->count = count;
	qsort(c->rows, c->count, sizeof *c->rows, compare_alone);
}

static int collect(struct copies *c, const struct parts *p, int64_t exposed)
{
	int rc = 0;

	*c = (struct copies){ .use = link_use_most(p) };
	for (size_t d = 0; d < p->a->device_count; d++)
		for (uint32_t k = 0; k < p->views[d].count && rc == 0; k++) {
			uint32_t slice = p->views[d].work[k];

			if (p->t->kind[slice] >= EVENT_H2D_COPY && p->t->kind[slice] <= EVENT_D2D_COPY &&
			    is_judged(p, p->t->end[slice]))
				rc = take_copy(c, p->t, slice, p->views[d].alone[k]);
		}
	join_alike(c);
	if (c->count && p->a->steps.count && c->rows[0].place && c->rows[0].count >= REPEATED * p->a->steps.count &&
	    c->rows[0].alone > exposed / 2)
		c->repeated = &c->rows[0];
	return rc;
}

static void tell(const struct parts *p, struct analysis_finding *f, const struct copies *c)
{
	char time[32], count[TEXT_COUNT_SIZE];

	texts_add(&f->evidence, "%s of copies run with nothing beside them, %.1f %% of the devices' time; copies in all: %llu, of %.1f MB",
		  format_time(time, f->owned), 100 * share(f->owned, p->a->findings.span), (unsigned long long)c->number,
		  (double)c->bytes / 1e6);
	if (c->pageable)
		texts_add(&f->evidence, "%llu of them, %s, are from or to pageable memory", (unsigned long long)c->pageable,
			  format_time(time, c->pageable_time));
	if (c->repeated)
		texts_add(&f->evidence, "%.1f copies a step have the same size, %.3f MB, and come from the same place",
			  (double)c->repeated->count / (double)p->a->steps.count, (double)c->repeated->bytes / 1e6);
	tell_link(&f->evidence, &c->use);
	for (size_t i = 0; i < c->count && i < PLACES; i++)
		if (c->rows[i].place)
			texts_add(&f->where, "%.200s: %s in %s of %.3f MB", name_text(p->t, c->rows[i].place),
				  format_time(time, c->rows[i].alone), text_count(count, c->rows[i].count, "copy", "copies"),
				  (double)c->rows[i].bytes / 1e6);
	examples_of_work(p, f, WORK_COPY);
}

/* What to do, and what it gains of the time that copies are exposed. */
static void advise(const struct parts *p, struct analysis_finding *f, const struct copies *c)
{
	double part = share(f->owned, p->a->findings.span);
	const char *what, *rationale = "exposed copies can be hidden behind compute, and pinned ones take about half as long; look at "
				       "copy_hidden_percent afterwards";

	f->gain_high = removal_high(part);
	f->gain_low = 0.25 * part;
	if (c->repeated) {
		what = "repeated";
		f->gain = 0.95 * share(c->repeated->alone, p->a->findings.span) *
			  (1 - (double)p->a->steps.count / (double)c->repeated->count);
		snprintf(f->action, sizeof f->action, "copy once and keep it on the device, or copy all of it in one piece: %.160s",
			 name_text(p->t, c->repeated->place));
		rationale = "one of these copies a step stays; look at the number of copies afterwards";
	} else if (c->use.full >= LINK_FULL) {
		what = "link";
		f->gain = 0.5 * part;
		snprintf(f->action, sizeof f->action, "move fewer bytes (half precision, uint8 images, data that stays on the device), or copy "
			 "while the device computes: the link is full");
		rationale = "half as many bytes take half as long; look at the bytes that are copied afterwards";
	} else if (c->pageable_time > c->total / 2) {
		what = "pageable";
		f->gain = 0.7 * part;
		snprintf(f->action, sizeof f->action, "%s", has_cuda(p) ?
			 "pin the memory (pin_memory=True, non_blocking=True) and copy while the device computes" :
			 "keep on the device what is the same again, or copy while it computes (another queue)");
	} else {
		what = c->pageable ? "pageable" : "copies";
		f->gain = 0.5 * part;
		snprintf(f->action, sizeof f->action, "copy while the device computes (another stream), or keep the data on the device");
	}
	snprintf(f->id, sizeof f->id, "gpu_transfer:%s", what);
	snprintf(f->rationale, sizeof f->rationale, "%s", rationale);
}

int find_copies(struct parts *p)
{
	struct analysis_finding f = { .kind = "gpu_transfer", .confidence = 0.9, .frequency = NAN };
	struct copies c;
	int rc = 0;

	for (size_t d = 0; d < p->a->device_count && rc == 0; d++) {
		struct device_window w;

		rc = judged_window(p, d, &w);
		f.owned = rc == 0 ? time_sum(f.owned, device_window_exposed_copy(&w)) : 0;
	}
	if (rc)
		return rc;
	rc = collect(&c, p, f.owned);
	if (rc == 0) {
		tell(p, &f, &c);
		advise(p, &f, &c);
		rc = finding_add(p, &f);
	}
	free(c.rows);
	return rc;
}
