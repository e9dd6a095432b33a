/*
 * page_markup_tables.c - devices and ranks, and the largest of each table, for
 * whoever reads the page without its code.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "page/page_markup.h"

#define ROWS 10
#define DEVICES 64        /* rows */
#define DEVICE_TABLES 8   /* of kernels */
#define RANKS 1024

static void open_table(struct page *p, const char *title, const char *const *columns, size_t count)
{
	page_put(p, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"%s\"><table class=\"plain\">"
		    "<caption>%s</caption>\n<thead><tr>", title, title);
	for (size_t i = 0; i < count; i++)
		page_put(p, "<th scope=\"col\"%s>%s</th>", i ? " class=\"number\"" : "", columns[i]);
	page_put(p, "</tr></thead>\n<tbody>\n");
}

static void close_table(struct page *p)
{
	page_put(p, "</tbody></table></div>\n");
}

#define OPEN_TABLE(p, title, ...) \
	open_table(p, title, (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* ---- Devices ------------------------------------------------------------------ */

/* Opens its row. */
static void put_device_head(struct page *p, const struct timeline_device *device)
{
	page_put(p, "<tr><th scope=\"row\">%u", device->index);
	if (device->rank >= 0)
		page_put(p, ", rank %" PRId64, device->rank);
	if (device->name) {
		page_put(p, " ");
		page_string(p, device->name);
	}
	page_put(p, "</th>");
}

static void put_device(struct page *p, const struct analysis_device *d)
{
	const struct device_window *w = d->window;
	int64_t whole = w->to - w->from;

	put_device_head(p, &p->a->timeline->devices[d->device]);
	page_put(p, "<td>%s</td><td>%.3f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td><td>", d->window_name, report_ms(whole),
		 report_percent(device_window_compute(w), whole), report_percent(device_window_exposed_communication(w), whole),
		 report_percent(device_window_exposed_copy(w), whole));
	if (d->idle_low != d->idle_high)
		page_put(p, "%.1f to %.1f</td></tr>\n", report_percent(d->idle_low, whole), report_percent(d->idle_high, whole));
	else
		page_put(p, "%.1f</td></tr>\n", report_percent(device_window_idle(w), whole));
}

static void put_ranks(struct page *p)
{
	const struct analysis_collectives *c = &p->a->collectives;

	if (c->rank_count < 2)
		return;
	OPEN_TABLE(p, "Ranks", "rank", "arrived last", "of", "waited ms", "others waited ms");
	for (size_t i = 0; i < c->rank_count && i < RANKS; i++)
		page_put(p, "<tr><th scope=\"row\">%" PRId64 "</th><td>%" PRIu64 "</td><td>%zu</td><td>%.3f</td><td>%.3f</td></tr>\n",
			 c->ranks[i].rank, c->ranks[i].arrived_last, c->count, report_ms(c->ranks[i].wait), report_ms(c->ranks[i].caused));
	close_table(p);
	if (c->straggler >= 0)
		page_put(p, "<p>Rank %" PRId64 " arrives last more often than any other.</p>\n", c->straggler);
}

static void put_shares(struct page *p)
{
	if (p->a->device_count == 0)
		return;
	OPEN_TABLE(p, "Shares of their time", "device", "window", "ms", "compute %", "exposed communication %", "exposed copies %",
		   "idle %");
	for (size_t i = 0; i < p->a->device_count && i < DEVICES; i++)
		put_device(p, &p->a->devices[i]);
	close_table(p);
	put_ranks(p);
}

/* ---- What the driver says of them ----------------------------------------------- */

/* What a GPU does not tell is no number. */
static void put_figure(struct page *p, double value, int decimals)
{
	if (isfinite(value))
		page_put(p, "<td>%.*f</td>", decimals, value);
	else
		page_put(p, "<td>-</td>");
}

/* "990 of 1980"; without a limit the value alone. */
static void put_limited(struct page *p, double value, double limit)
{
	if (isfinite(value) && isfinite(limit))
		page_put(p, "<td>%.0f of %.0f</td>", value, limit);
	else
		put_figure(p, value, 0);
}

static bool is_size(double value)
{
	return value >= 0 && value < 0x1p63;
}

static void put_bytes(struct page *p, double value, double limit)
{
	char size[32];

	page_put(p, "<td>%s", is_size(value) ? text_byte_size(size, (uint64_t)value) : "-");
	if (is_size(value) && is_size(limit))
		page_put(p, " of %s", text_byte_size(size, (uint64_t)limit));
	page_put(p, "</td>");
}

static void put_gpu_use(struct page *p, const struct analysis_gpu *g)
{
	put_device_head(p, &p->a->timeline->devices[g->device]);
	page_put(p, "<td>%" PRIu64 "</td>", g->samples);
	put_figure(p, g->utilization, 1);
	put_figure(p, g->utilization_max, 1);
	put_figure(p, g->memory_utilization, 1);
	put_bytes(p, g->memory_used, g->memory_total);
	put_bytes(p, g->program_memory, NAN);
	page_put(p, "</tr>\n");
}

static void put_gpu_speed(struct page *p, const struct analysis_gpu *g)
{
	put_device_head(p, &p->a->timeline->devices[g->device]);
	put_limited(p, g->sm_clock, g->sm_clock_limit);
	put_limited(p, g->memory_clock, g->memory_clock_limit);
	put_limited(p, g->power, g->power_limit);
	put_figure(p, g->power_max, 0);
	put_figure(p, g->energy, 1);
	put_figure(p, g->temperature_max, 0);
	put_figure(p, 100 * g->throttled, 1);
	put_figure(p, 100 * g->throttled_power, 1);
	put_figure(p, 100 * g->throttled_thermal, 1);
	page_put(p, "</tr>\n");
}

/* Two tables, since one would be wider than most windows. */
static void put_gpus(struct page *p)
{
	const struct analysis *a = p->a;

	if (a->gpu_count == 0)
		return;
	OPEN_TABLE(p, "What the driver says of GPUs: their use", "GPU", "samples", "kernels ran %", "at most %", "memory at work %",
		   "memory at most", "the program\xe2\x80\x99s at most");
	for (size_t i = 0; i < a->gpu_count && i < DEVICES; i++)
		put_gpu_use(p, &a->gpus[i]);
	close_table(p);
	OPEN_TABLE(p, "What the driver says of GPUs: clocks, power and heat", "GPU", "clock MHz", "memory clock MHz", "power W", "at most W",
		   "energy J", "at most \xc2\xb0" "C", "slowed down %", "by power %", "by heat %");
	for (size_t i = 0; i < a->gpu_count && i < DEVICES; i++)
		put_gpu_speed(p, &a->gpus[i]);
	close_table(p);
}

static void put_devices(struct page *p)
{
	if (p->a->device_count == 0 && p->a->gpu_count == 0)
		return;
	page_put(p, "<section id=\"devices\" aria-labelledby=\"devices-heading\">\n<h2 id=\"devices-heading\">Devices</h2>\n");
	put_shares(p);
	put_gpus(p);
	page_put(p, "</section>\n");
}

/* ---- The largest ---------------------------------------------------------------- */

static void put_table(struct page *p, const char *title, const struct analysis_table *table)
{
	if (table->count == 0)
		return;
	OPEN_TABLE(p, title, "name", "count", "total ms", "self ms", "p50 us", "p99 us");
	for (size_t i = 0; i < table->count && i < ROWS; i++) {
		const struct analysis_entry *e = &table->entries[i];

		page_put(p, "<tr><th scope=\"row\">");
		page_string(p, e->name);
		page_put(p, "</th><td>%" PRIu64 "</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%.3f</td></tr>\n", e->count,
			 report_ms(e->total), report_ms(e->self), (double)e->p50 / 1e3, (double)e->p99 / 1e3);
	}
	close_table(p);
}

static void put_kernels(struct page *p, const struct analysis_device *d)
{
	const struct timeline_device *about = &p->a->timeline->devices[d->device];
	char title[96];

	if (d->kernel_count == 0)
		return;
	if (about->rank >= 0)
		snprintf(title, sizeof title, "Top kernels of device %u, rank %" PRId64, about->index, about->rank);
	else
		snprintf(title, sizeof title, "Top kernels of device %u", about->index);
	OPEN_TABLE(p, title, "name", "count", "total ms", "mean us", "p99 us");
	for (size_t i = 0; i < d->kernel_count && i < ROWS; i++) {
		const struct analysis_entry *e = &d->kernels[i].times;

		page_put(p, "<tr><th scope=\"row\">");
		page_string(p, e->name);
		page_put(p, "</th><td>%" PRIu64 "</td><td>%.3f</td><td>%.3f</td><td>%.3f</td></tr>\n", e->count, report_ms(e->total),
			 e->mean / 1e3, (double)e->p99 / 1e3);
	}
	close_table(p);
}

static void put_thread(struct page *p, const struct analysis_thread *th)
{
	const struct timeline_track *track = &p->a->timeline->tracks[th->track];

	page_put(p, "<tr><th scope=\"row\">%" PRIu64, track->os_id);
	if (track->name) {
		page_put(p, " ");
		page_string(p, track->name);
	}
	page_put(p, "</th><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%.3f</td><td>%.3f</td></tr>\n",
		 report_ms(th->busy), report_ms(th->in_calls), report_ms(th->in_ops), report_ms(th->in_scopes), report_ms(th->in_runtime),
		 report_ms(th->in_sync), report_ms(th->in_other));
}

static void put_threads(struct page *p)
{
	if (p->a->thread_count == 0)
		return;
	OPEN_TABLE(p, "Busiest threads", "thread", "busy ms", "functions", "operators", "scopes", "runtime", "waiting", "other");
	for (size_t i = 0; i < p->a->thread_count && i < ROWS; i++)
		put_thread(p, &p->a->threads[i]);
	close_table(p);
}

void page_markup_tops(struct page *p)
{
	const struct analysis *a = p->a;

	put_devices(p);
	page_put(p, "<section id=\"tops\" aria-labelledby=\"tops-heading\">\n<h2 id=\"tops-heading\">What takes the most time</h2>\n");
	put_table(p, "Top operators", &a->operators);
	for (size_t d = 0; d < a->device_count && d < DEVICE_TABLES; d++)
		put_kernels(p, &a->devices[d]);
	put_table(p, "Top functions", &a->functions);
	put_table(p, "Top scopes", &a->scopes);
	put_table(p, "Top runtime calls", &a->calls);
	put_threads(p);
	if (a->timeline->slice_count == 0)
		page_put(p, "<p>There is nothing with a duration in the trace.</p>\n");
	page_put(p, "</section>\n");
}
