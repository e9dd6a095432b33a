/* findings_example.c - where in the timeline a finding can be seen: the longest of what it is about, and one that is like most. */
#include <stdlib.h>

#include "analyze/findings_parts.h"

#define PART 20 /* of a call in which nothing else was recorded, one part in so many shows what all of it is like */

void pick_see(struct example_pick *pick, uint32_t slice, int64_t begin, int64_t end)
{
	int64_t length = end - begin;

	if (slice == TIMELINE_NONE || length < 0)
		return;
	if (!pick->second) {
		pick->total = time_sum(pick->total, length);
		if (pick->count++ == 0 || length > pick->longest.end - pick->longest.begin)
			pick->longest = (struct finding_example){ .slice = slice, .begin = begin, .end = end };
	} else if (pick->off < 0 || llabs(length - pick->mean) < pick->off) {
		pick->off = llabs(length - pick->mean);
		pick->typical = (struct finding_example){ .slice = slice, .begin = begin, .end = end };
	}
}

bool pick_again(struct example_pick *pick)
{
	if (pick->second || pick->count == 0)
		return false;
	pick->second = true;
	pick->mean = pick->total / (int64_t)pick->count;
	pick->off = -1;
	return true;
}

static void add(struct analysis_finding *f, const struct timeline *t, struct finding_example example)
{
	if (f->example_count >= FINDING_EXAMPLES)
		return;
	for (unsigned i = 0; i < f->example_count; i++)
		if (f->examples[i].slice == example.slice && f->examples[i].begin == example.begin)
			return;
	example.track = timeline_track_of(t, example.slice);
	example.name = t->name[example.slice];
	f->examples[f->example_count++] = example;
}

void pick_tell(const struct example_pick *pick, const struct timeline *t, struct analysis_finding *f)
{
	if (pick->count == 0)
		return;
	add(f, t, pick->longest);
	if (pick->second)
		add(f, t, pick->typical);
}

/* What the host did in a gap, as far as it did so in it. */
static void see_gap(struct example_pick *pick, const struct parts *p, const struct timeline_gap *gap, enum idle_cause cause)
{
	const struct timeline *t = p->t;
	uint32_t slice = gap->cause == IDLE_SYNC && gap->blocking != TIMELINE_NONE ? gap->blocking : gap->top != TIMELINE_NONE ? gap->top : gap->launch;
	int64_t begin, end;

	if (gap->cause != cause || slice == TIMELINE_NONE || gap->begin < p->a->findings.from)
		return;
	begin = t->begin[slice] > gap->begin ? t->begin[slice] : gap->begin;
	end = t->end[slice] < gap->end ? t->end[slice] : gap->end;
	if (end <= begin) {
		begin = t->begin[slice];
		end = t->end[slice];
	}
	pick_see(pick, slice, begin, end);
}

void examples_of_gaps(const struct parts *p, struct analysis_finding *f, enum idle_cause cause)
{
	struct example_pick pick = { 0 };

	do {
		for (size_t d = 0; d < p->a->device_count; d++)
			for (uint32_t i = 0; i < p->a->devices[d].states->gap_count; i++)
				see_gap(&pick, p, &p->a->devices[d].states->gaps[i], cause);
	} while (pick_again(&pick));
	pick_tell(&pick, p->t, f);
}

void examples_of_work(const struct parts *p, struct analysis_finding *f, enum work_class class)
{
	struct example_pick pick = { 0 };

	do {
		for (size_t d = 0; d < p->a->device_count; d++)
			for (uint32_t k = 0; k < p->views[d].count; k++) {
				uint32_t slice = p->views[d].work[k];

				if (p->a->states.class_of[slice] == class && p->views[d].alone[k] > 0 &&
				    is_judged(p, p->t->end[slice]))
					pick_see(&pick, slice, p->t->begin[slice], p->t->end[slice]);
			}
	} while (pick_again(&pick));
	pick_tell(&pick, p->t, f);
}

/* The part of a long call that stands for all of it. */
static void see_call(struct example_pick *pick, const struct timeline *t, uint32_t slice, int64_t from, int64_t to)
{
	int64_t begin = t->begin[slice] > from ? t->begin[slice] : from, end = t->end[slice] < to ? t->end[slice] : to, length = end - begin;

	if (length <= 0)
		return;
	if (length > (to - from) / 4) {
		begin += length / 2;
		end = begin + length / PART;
	}
	pick_see(pick, slice, begin, end);
}

void examples_of_node(const struct parts *p, struct analysis_finding *f, uint32_t node)
{
	const struct analysis_host *h = &p->a->host;
	const struct timeline_track *spine = &p->t->tracks[h->spine];
	struct example_pick pick = { 0 };

	do {
		for (uint32_t i = 0; i < spine->count; i++)
			if (h->tree.node_of[i] == node)
				see_call(&pick, p->t, spine->first + i, h->window.from, h->window.to);
	} while (pick_again(&pick));
	pick_tell(&pick, p->t, f);
}
