/*
 * integrity_launches.c - launches and the work that should follow from them.
 *
 * gpu_work_without_launch   its launch lies before the trace, or was not recorded: a note, of more than 5 % of the work's time
 *                           a warning, of more than 25 % failed
 * launches_without_gpu_work the work was lost, or came after the end: a note, more than 1 % of the launches a warning,
 *                           more than 10 % failed.  Kernels and graphs only: copies and memsets of nothing leave nothing,
 *                           and libraries do ask for them
 * gpu_work_before_launch    the clocks of host and device do not agree: a note, more than 1 % of the work a warning, more
 *                           than 10 % failed.  In recordings of ours it was put right, and the check says how: a note, a warning
 *                           when it was more than the margin, or more than 1 % of the work, each piece alone
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/parts.h"
#include "base/text.h"

static enum check_status grade(double found, double warn, double fail)
{
	return found > fail ? CHECK_FAIL : found > warn ? CHECK_WARN : found > 0 ? CHECK_NOTE : CHECK_OK;
}

/* ---- Work without a launch ---- */

static int check_unlaunched(struct parts *p, bool calls)
{
	const struct timeline *t = p->t;
	uint64_t count = 0, all = 0;
	double time = 0, total = 0, part;

	for (size_t d = 0; d < p->a->device_count; d++) {
		const struct device_view *view = &p->views[d];

		all += view->count;
		for (uint32_t k = 0; k < view->count; k++) {
			double duration = (double)slice_duration(t, view->work[k]);

			total += duration;
			if (!(t->flags[view->work[k]] & SLICE_UNLAUNCHED))
				continue;
			count++;
			time += duration;
		}
	}
	part = total > 0 ? time / total : count > 0;
	if (count && !calls)
		return check_add(p, "gpu_work_without_launch", CHECK_WARN, count,
				 "no runtime calls were recorded, so no launch is known of any of %llu pieces of device work: idle time can "
				 "be told, its causes cannot",
				 (unsigned long long)all);
	return check_add(p, "gpu_work_without_launch", grade(part, 0.05, 0.25), count,
			 "%llu of %llu pieces of device work, %.1f %% of device work's time, were launched outside the trace (warning above "
			 "5 %%, failed above 25 %%)",
			 (unsigned long long)count, (unsigned long long)all, 100 * part);
}

/* ---- Launches without work ---- */

struct launch_counts {
	uint64_t launches, missing, captured;
	bool calls;
};

/* While a stream is captured into a graph, launches build the graph and launch nothing. */
static int capture_step(const struct timeline *t, uint32_t slice)
{
	size_t size;
	const char *name;

	if (slice_call(t, slice) != CALL_GRAPH_BUILD)
		return 0;
	name = timeline_string(t, slice_name(t, slice), &size);
	if (memmem(name, size, "BeginCapture", 12))
		return 1;
	return memmem(name, size, "EndCapture", 10) ? -1 : 0;
}

/* A runtime call that launches by a call of the driver: only one of them has the work. */
static bool around_launch(const struct timeline *t, uint32_t slice, uint32_t end)
{
	uint32_t parent = t->parent[slice];

	if (parent < t->slice_count && call_launches(slice_call(t, parent)))
		return true;
	return slice + 1 < end && t->parent[slice + 1] == slice && call_launches(slice_call(t, slice + 1));
}

static void miss(struct parts *p, uint32_t process)
{
	uint32_t d = process < p->t->process_count ? p->process_device[process] : TIMELINE_NONE;

	if (d >= p->a->device_count)
		d = 0;
	if (d < p->a->device_count) {
		p->views[d].missing_work++;
		p->views[d].missing_time = time_sum(p->views[d].missing_time, p->views[d].median);
	}
}

static void count_launches(struct parts *p, uint32_t track, struct launch_counts *counts)
{
	const struct timeline *t = p->t;
	uint32_t end = t->tracks[track].first + t->tracks[track].count;
	int capturing = 0;

	for (uint32_t i = t->tracks[track].first; i < end; i++) {
		enum call_class class = slice_call(t, i);

		if (t->kind[i] != EVENT_RUNTIME_CALL)
			continue;
		counts->calls = true;
		capturing += capture_step(t, i);
		capturing = capturing < 0 ? 0 : capturing;
		if (class != CALL_LAUNCH && class != CALL_GRAPH_LAUNCH)
			continue;
		if (t->link[i] == TIMELINE_NONE && around_launch(t, i, end))
			continue;
		if (t->link[i] == TIMELINE_NONE && capturing) {
			counts->captured++;
			continue;
		}
		counts->launches++;
		if (t->link[i] != TIMELINE_NONE)
			continue;
		counts->missing++;
		miss(p, t->tracks[track].process);
	}
}

static int check_missing(struct parts *p, const struct launch_counts *counts)
{
	double part = counts->launches ? (double)counts->missing / (double)counts->launches : 0;
	char count[TEXT_COUNT_SIZE];

	if (counts->launches == 0)
		return check_add(p, "launches_without_gpu_work", CHECK_SKIPPED, 0, "the trace has no launches");
	if (p->a->device_count == 0)
		return check_add(p, "launches_without_gpu_work", CHECK_FAIL, counts->missing,
				 "%s and no device work: the device's side was not recorded", text_count(count, counts->missing, "launch", "launches"));
	return check_add(p, "launches_without_gpu_work", grade(part, 0.01, 0.10), counts->missing,
			 "%llu of %llu launches of kernels and graphs, %.1f %%, have no device work in the trace (warning above 1 %%, "
			 "failed above 10 %%)%s",
			 (unsigned long long)counts->missing, (unsigned long long)counts->launches, 100 * part,
			 counts->captured ? "; launches into a graph being captured do not count" : "");
}

/* ---- Work before its launch ---- */

struct corrections {
	uint64_t moved, clamped;
	int64_t most;
};

static struct corrections sum_corrections(const struct timeline *t)
{
	struct corrections sum = { 0 };

	for (uint32_t i = 0; i < t->clock_count; i++) {
		const struct timeline_clock *c = &t->clocks[i];

		if (!c->of_device)
			continue;
		sum.moved += c->moved;
		sum.clamped += c->clamped;
		sum.most = c->moved_most > sum.most ? c->moved_most : sum.most;
	}
	return sum;
}

static int add_corrected(struct parts *p, const struct corrections *c, uint64_t all)
{
	bool much = c->most > p->a->clock_margin || (double)c->clamped > 0.01 * (double)all;
	char text[32], margin[32];

	return check_add(p, "gpu_work_before_launch", much ? CHECK_WARN : CHECK_NOTE, c->moved + c->clamped,
			 "of %llu launched pieces of device work %llu were moved, by %s at most, since by the device's clock they began before "
			 "their launch or ended after a wait for them (method causality); %llu more were wrong by themselves, and were cut to "
			 "the time between (warning above the margin of %s, sync_error_margin_us, or 1 %% of the work)",
			 (unsigned long long)all, (unsigned long long)c->moved, format_time(text, c->most), (unsigned long long)c->clamped,
			 format_time(margin, p->a->clock_margin));
}

static int check_order(struct parts *p)
{
	struct corrections corrections = sum_corrections(p->t);
	const struct timeline *t = p->t;
	uint64_t count = 0, all = 0;
	int64_t worst = 0;
	char text[32];
	double part;

	for (size_t d = 0; d < p->a->device_count; d++) {
		for (uint32_t k = 0; k < p->views[d].count; k++) {
			uint32_t slice = p->views[d].work[k], launch = t->link[slice];

			if (launch >= t->slice_count)
				continue;
			all++;
			if (!(t->flags[slice] & SLICE_CLOCK_DAMAGE))
				continue;
			count++;
			if (t->begin[launch] - t->begin[slice] > worst)
				worst = t->begin[launch] - t->begin[slice];
		}
	}
	part = all ? (double)count / (double)all : 0;
	if (count == 0 && corrections.moved + corrections.clamped)
		return add_corrected(p, &corrections, all);
	return check_add(p, "gpu_work_before_launch", grade(part, 0.01, 0.10), count,
			 "%llu of %llu launched pieces of device work, %.1f %%, begin before their launch, by %s at most (warning above 1 "
			 "%%, failed above 10 %%)",
			 (unsigned long long)count, (unsigned long long)all, 100 * part, format_time(text, worst));
}

int check_launches(struct parts *p)
{
	struct launch_counts counts = { 0 };
	int rc;

	for (uint32_t i = 0; i < p->t->track_count; i++)
		if (p->host[i])
			count_launches(p, i, &counts);
	if (p->a->device_count == 0) {
		rc = check_add(p, "gpu_work_without_launch", CHECK_SKIPPED, 0, "the trace has no device work");
		if (rc == 0)
			rc = check_missing(p, &counts);
		return rc ? rc : check_add(p, "gpu_work_before_launch", CHECK_SKIPPED, 0, "the trace has no device work");
	}
	rc = check_unlaunched(p, counts.calls);
	if (rc == 0)
		rc = check_missing(p, &counts);
	return rc ? rc : check_order(p);
}
