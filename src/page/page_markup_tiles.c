/* page_markup_tiles.c - the four figures that say most, of what the trace has. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analyze/words.h"
#include "base/text.h"
#include "page/page_markup.h"

#define TILES 4
#define TEXT 120

/* All of it is ours. */
struct tiles {
	struct page *p;
	unsigned count;
};

static void tile(struct tiles *t, const char *label, const char *value, const char *more)
{
	if (t->count >= TILES)
		return;
	t->count++;
	page_put(t->p, "<div class=\"tile\"><dt>%s</dt><dd class=\"value\">", label);
	page_words(t->p, value);
	page_put(t->p, "</dd><dd class=\"more\">%s</dd></div>\n", more);
}

static void add_time(struct tiles *t)
{
	const struct analysis *a = t->p->a;
	char value[TEXT], more[TEXT], time[32];

	if (a->steps.count == 0) {
		tile(t, "Duration", page_time(time, (double)a->timeline->duration), "no steps were found");
		return;
	}
	snprintf(value, sizeof value, "%s", page_time(time, (double)a->steps.p50));
	snprintf(more, sizeof more, "median; %s p99, slowest #%" PRId64, page_time(time, (double)a->steps.p99),
		 report_slowest_step(a)->number);
	tile(t, "Step time", value, more);
}

static void add_devices(struct tiles *t)
{
	const struct analysis *a = t->p->a;
	const struct report_device_time d = report_device_time(a);
	const char *gpu = a->device_count == 1 ? "GPU busy" : "GPUs busy";
	char value[TEXT], more[TEXT], time[32];

	snprintf(value, sizeof value, "%.1f %%", report_percent(d.span - d.idle, d.span));
	snprintf(more, sizeof more, "of %s", page_time(time, (double)d.span));
	if (d.idle_low != d.idle_high)
		snprintf(value, sizeof value, "%.1f to %.1f %%", report_percent(d.span - d.idle_high, d.span),
			 report_percent(d.span - d.idle_low, d.span));
	tile(t, gpu, value, more);
}

static const struct report_share *largest(const struct report_shares *shares, bool waiting)
{
	const struct report_share *most = NULL;

	for (size_t i = 0; i < shares->count; i++) {
		const struct report_share *s = &shares->list[i];

		if (!(waiting && s->group != REPORT_WAITING) && (!most || s->time > most->time))
			most = s;
	}
	return most;
}

static void add_largest(struct tiles *t, const struct report_shares *shares, bool waiting, const char *label, const char *none)
{
	const struct report_share *most = largest(shares, waiting);
	char more[TEXT], time[32];

	if (!most) {
		if (none)
			tile(t, label, "none", none);
		return;
	}
	snprintf(more, sizeof more, "%.1f %%, %s", report_percent(most->time, shares->span), page_time(time, (double)most->time));
	tile(t, label, words_label(most->name), more);
}

static void add_copies(struct tiles *t)
{
	const struct analysis *a = t->p->a;
	char value[TEXT], more[TEXT], to[32], from[32];

	if (a->summary.h2d == 0 && a->summary.d2h == 0)
		return;
	snprintf(value, sizeof value, "%s", page_time(to, (double)a->summary.h2d + (double)a->summary.d2h));
	snprintf(more, sizeof more, "%s to the GPU, %s back", page_time(to, (double)a->summary.h2d),
		 page_time(from, (double)a->summary.d2h));
	tile(t, "Copies", value, more);
}

static void add_load(struct tiles *t)
{
	const struct host_load *l = &t->p->a->host.load;
	char value[TEXT], more[TEXT], size[32];

	if (!t->p->a->host.known)
		return;
	if (!isnan(l->tree) && !isnan(l->cpus)) {
		snprintf(value, sizeof value, "%.2f of %.0f", l->tree, l->cpus);
		snprintf(more, sizeof more, "processor cores in use, %.2f wanted", isnan(l->demand) ? l->tree : l->demand);
		tile(t, "Processor use", value, more);
	}
	if (isnan(l->memory_begin) || isnan(l->memory_end) || l->memory_begin < 0 || l->memory_end < 0)
		return;
	snprintf(value, sizeof value, "%s", text_byte_size(size, (uint64_t)fmin(l->memory_end, 1e18)));
	snprintf(more, sizeof more, "at the end; %s at the begin", text_byte_size(size, (uint64_t)fmin(l->memory_begin, 1e18)));
	tile(t, "Memory", value, more);
}

/* Where there is little else. */
static void add_counts(struct tiles *t)
{
	const struct analysis *a = t->p->a;
	char value[TEXT], more[TEXT], digits[32];

	snprintf(value, sizeof value, "%zu", a->thread_count);
	tile(t, a->thread_count == 1 ? "Thread" : "Threads", value, "that did something");
	snprintf(more, sizeof more, "%s lost", a->timeline->lost ? text_group_digits(digits, a->timeline->lost) : "none");
	tile(t, "Events", text_group_digits(value, a->timeline->events), more);
}

void page_markup_tiles(struct page *p)
{
	struct tiles t = { .p = p };
	struct report_shares shares;

	report_shares(p->a, &shares);
	page_put(p, "<dl class=\"tiles\">\n");
	add_time(&t);
	if (p->a->device_count) {
		add_devices(&t);
		add_largest(&t, &shares, true, "Largest cause of idle time", "never idle");
		add_copies(&t);
	} else {
		add_largest(&t, &shares, false, "Most time in", NULL);
		add_load(&t);
		add_largest(&t, &shares, true, "Waits most for", NULL);
	}
	add_counts(&t);
	page_put(p, "</dl>\n");
}
