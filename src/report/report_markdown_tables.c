/* report_markdown_tables.c - see markdown.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/words.h"
#include "report/markdown.h"

#define ROWS 20 /* of a table */
#define GAPS 10

/* ---- Devices ------------------------------------------------------------------ */

static void put_device_row(struct markdown *m, const struct analysis *a, const struct analysis_device *d)
{
	const struct device_window *w = d->window;
	const struct timeline_device *device = &a->timeline->devices[d->device];
	int64_t whole = w->to - w->from;

	markdown_put(m, "| %u | ", device->index);
	if (device->rank >= 0)
		markdown_put(m, "%" PRId64, device->rank);
	markdown_put(m, " | %s | %.3f | %.1f | %.1f | %.1f | ", d->window_name, report_ms(whole),
		     report_percent(device_window_compute(w), whole), report_percent(device_window_exposed_communication(w), whole),
		     report_percent(device_window_exposed_copy(w), whole));
	if (d->idle_low != d->idle_high)
		markdown_put(m, "%.1f to %.1f |\n", report_percent(d->idle_low, whole), report_percent(d->idle_high, whole));
	else
		markdown_put(m, "%.1f |\n", report_percent(device_window_idle(w), whole));
}

static void put_causes(struct markdown *m, const struct analysis *a)
{
	if (a->summary.idle == 0)
		return;
	markdown_put(m, "\n| device | rank | idle because | ms | %% |\n| --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < a->device_count; i++) {
		const struct analysis_device *d = &a->devices[i];
		const struct timeline_device *device = &a->timeline->devices[d->device];

		for (unsigned cause = 0; cause < IDLE_CAUSE_COUNT; cause++) {
			if (d->states->idle[cause] == 0)
				continue;
			markdown_put(m, "| %u | ", device->index);
			if (device->rank >= 0)
				markdown_put(m, "%" PRId64, device->rank);
			markdown_put(m, " | %s | %.3f | %.1f |\n", words_label(idle_cause_name(cause)), report_ms(d->states->idle[cause]),
				     report_percent(d->states->idle[cause], d->window->to - d->window->from));
		}
	}
}

static void put_devices(struct markdown *m, const struct analysis *a)
{
	if (a->device_count == 0)
		return;
	markdown_put(m, "\n## Devices\n\n| device | rank | window | ms | compute %% | exposed communication %% | exposed copies %% | idle %% |\n"
			"| --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < a->device_count; i++)
		put_device_row(m, a, &a->devices[i]);
	put_causes(m, a);
}

static void put_gpus(struct markdown *m, const struct analysis *a)
{
	char line[REPORT_GPU_LINE];

	if (a->gpu_count)
		markdown_put(m, "\n## What the driver says of GPUs\n\n| GPU | while the program ran |\n| --- | --- |\n");
	for (size_t i = 0; i < a->gpu_count; i++) {
		report_gpu_line(&a->gpus[i], line, sizeof line);
		markdown_put(m, "| %u | %s |\n", a->timeline->devices[a->gpus[i].device].index, line);
	}
}

static void put_ranks(struct markdown *m, const struct analysis *a)
{
	const struct analysis_collectives *c = &a->collectives;

	if (c->rank_count < 2)
		return;
	markdown_put(m, "\n## Ranks\n\n| rank | arrived last | of | waited ms | others waited ms |\n| --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < c->rank_count; i++)
		markdown_put(m, "| %" PRId64 " | %" PRIu64 " | %zu | %.3f | %.3f |\n", c->ranks[i].rank, c->ranks[i].arrived_last, c->count,
			     report_ms(c->ranks[i].wait), report_ms(c->ranks[i].caused));
	if (c->straggler >= 0)
		markdown_put(m, "\nRank %" PRId64 " arrives last more often than any other.\n", c->straggler);
}

/* ---- Tables -------------------------------------------------------------------- */

static void put_entries(struct markdown *m, const struct analysis_table *table)
{
	markdown_put(m, "| name | count | total ms | self ms | p50 us | p99 us |\n| --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < table->count && i < ROWS; i++) {
		const struct analysis_entry *e = &table->entries[i];

		markdown_put(m, "| ");
		markdown_name(m, e->name);
		markdown_put(m, " | %" PRIu64 " | %.3f | %.3f | %.3f | %.3f |\n", e->count, report_ms(e->total), report_ms(e->self),
			     (double)e->p50 / 1e3, (double)e->p99 / 1e3);
	}
}

static void put_table(struct markdown *m, const char *title, const struct analysis_table *table)
{
	if (table->count == 0)
		return;
	markdown_put(m, "\n## %s\n\n", title);
	put_entries(m, table);
}

static void put_kernels(struct markdown *m, const struct analysis *a)
{
	for (size_t d = 0; d < a->device_count; d++) {
		const struct analysis_device *device = &a->devices[d];
		const struct timeline_device *about = &a->timeline->devices[device->device];

		markdown_put(m, "\n## Top kernels of device %u", about->index);
		if (about->rank >= 0)
			markdown_put(m, ", rank %" PRId64, about->rank);
		markdown_put(m, "\n\n| name | count | total ms | mean us | p99 us |\n| --- | --- | --- | --- | --- |\n");
		for (size_t i = 0; i < device->kernel_count && i < ROWS; i++) {
			const struct analysis_entry *e = &device->kernels[i].times;

			markdown_put(m, "| ");
			markdown_name(m, e->name);
			markdown_put(m, " | %" PRIu64 " | %.3f | %.3f | %.3f |\n", e->count, report_ms(e->total), e->mean / 1e3, (double)e->p99 / 1e3);
		}
	}
}

/* ---- What is folded: without the blank line a table inside is no table -------------- */

static void fold(struct markdown *m, const char *title, size_t shown, size_t count)
{
	markdown_put(m, "\n<details>\n<summary>%s", title);
	if (shown < count)
		markdown_put(m, " (%zu of %zu)", shown, count);
	markdown_put(m, "</summary>\n\n");
}

static void unfold(struct markdown *m)
{
	markdown_put(m, "\n</details>\n");
}

static void put_folded(struct markdown *m, const char *title, const struct analysis_table *table)
{
	if (table->count == 0)
		return;
	fold(m, title, table->count < ROWS ? table->count : ROWS, table->count);
	put_entries(m, table);
	unfold(m);
}

static void put_gap_rows(struct markdown *m, const struct analysis *a, const struct analysis_device *d)
{
	uint32_t count, *longest = report_longest_gaps(d->states, GAPS, &count);

	for (uint32_t i = 0; i < count; i++) {
		const struct timeline_gap *gap = &d->states->gaps[longest[i]];
		uint32_t reason = report_gap_reason(gap);

		markdown_put(m, "| %u | %.3f | %.3f | %s | ", a->timeline->devices[d->device].index, (double)(gap->end - gap->begin) / 1e3,
			     report_ms(gap->begin), words_label(idle_cause_name(gap->cause)));
		if (reason != TIMELINE_NONE)
			markdown_name(m, m->timeline->name[reason]);
		markdown_put(m, " |\n");
	}
	free(longest);
}

static void put_gaps(struct markdown *m, const struct analysis *a)
{
	if (a->summary.idle == 0)
		return;
	fold(m, "Longest gaps", 0, 0);
	markdown_put(m, "| device | us | at ms | cause | in |\n| --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < a->device_count; i++)
		put_gap_rows(m, a, &a->devices[i]);
	unfold(m);
}

static void put_threads(struct markdown *m, const struct analysis *a)
{
	size_t shown = a->thread_count < ROWS ? a->thread_count : ROWS;

	if (shown == 0 || a->ran_nothing)
		return;
	fold(m, "Threads", shown, a->thread_count);
	markdown_put(m, "| thread | name | busy ms | functions | operators | scopes | runtime | waiting | other |\n"
			"| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < shown; i++) {
		const struct analysis_thread *th = &a->threads[i];
		const struct timeline_track *track = &a->timeline->tracks[th->track];

		markdown_put(m, "| %" PRIu64 " | ", track->os_id);
		if (track->name)
			markdown_name(m, track->name);
		markdown_put(m, " | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n", report_ms(th->busy), report_ms(th->in_calls),
			     report_ms(th->in_ops), report_ms(th->in_scopes), report_ms(th->in_runtime), report_ms(th->in_sync),
			     report_ms(th->in_other));
	}
	unfold(m);
}

void markdown_tables(struct markdown *m, const struct analysis *a)
{
	put_devices(m, a);
	put_gpus(m, a);
	put_ranks(m, a);
	put_table(m, "Top operators", &a->operators);
	put_kernels(m, a);
	if (a->operators.count == 0 && a->device_count == 0)
		put_table(m, "Top functions", &a->functions);
	else
		put_folded(m, "Functions", &a->functions);
	put_folded(m, "Scopes", &a->scopes);
	put_folded(m, "Runtime calls", &a->calls);
	put_threads(m, a);
	put_gaps(m, a);
}
