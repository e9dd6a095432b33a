/*
 * report_markdown.c - the analysis as Markdown, for a ticket or a review.
 *
 * One fact a line, fixed units and a stable order, so that two reports can be
 * compared.  Names from the trace stand in code spans, where Markdown, HTML and
 * mentions mean nothing.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/report.h"
#include "report/report_parts.h"

#define ROWS 20
#define NAME_COLUMNS 160

struct markdown {
	struct buffer *out;
	const struct timeline *timeline;
	int error;
};

static void check(struct markdown *m, int rc)
{
	if (rc < 0 && m->error == 0)
		m->error = rc;
}

static void put(struct markdown *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct markdown *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	check(m, buffer_vprintf(m->out, format, args));
	va_end(args);
}

/* The longest run of backticks in a text. */
static size_t longest_fence(const char *text, size_t size)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < size; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* A code span; in a table a bar would end the cell even there. */
static void put_code(struct markdown *m, const char *text, size_t size)
{
	struct buffer safe = BUFFER_INIT;
	size_t fence;

	check(m, text_append_terminal(&safe, text, size, NAME_COLUMNS));
	if (safe.size == 0)
		check(m, buffer_append(&safe, "(no name)", 9));
	fence = longest_fence((const char *)safe.data, safe.size) + 1;
	for (size_t i = 0; i < fence; i++)
		put(m, "`");
	put(m, fence > 1 ? " " : "");
	for (size_t i = 0; i < safe.size; i++)
		put(m, safe.data[i] == '|' ? "\\|" : "%c", safe.data[i]);
	put(m, fence > 1 ? " " : "");
	for (size_t i = 0; i < fence; i++)
		put(m, "`");
	buffer_release(&safe);
}

static void put_name(struct markdown *m, uint32_t name)
{
	size_t size;
	const char *text = timeline_string(m->timeline, name, &size);

	put_code(m, text, size);
}

static void put_text(struct markdown *m, const char *text)
{
	put_code(m, text, strlen(text));
}

static double percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static double ms(int64_t ns)
{
	return (double)ns / 1e6;
}

static void put_head(struct markdown *m, const struct analysis *a)
{
	if (a->findings.count)
		put(m, "# %s: %s would save %.1f %%\n\n", bottleneck_name(a->bottleneck.type), a->findings.list[0].kind,
		    100 * a->findings.list[0].gain);
	else if (a->device_count)
		put(m, "# %s: nothing stands out\n\n", bottleneck_name(a->bottleneck.type));
	else
		put(m, "# Where the time went\n\n");
	put(m, "%.3f ms, %" PRIu64 " events, %zu device%s, integrity %s.\n", ms(a->timeline->duration), a->timeline->events,
	    a->device_count, a->device_count == 1 ? "" : "s", verdict_name(a->verdict));
}

static void put_breakdown(struct markdown *m, const struct analysis *a)
{
	put(m, "\n## Where the time goes\n\n| category | ms | %% |\n| --- | --- | --- |\n");
	for (size_t i = 0; i < a->category_count; i++)
		if (a->breakdown[i].duration > 0)
			put(m, "| %s | %.3f | %.1f |\n", a->breakdown[i].name, ms(a->breakdown[i].duration),
			    percent(a->breakdown[i].duration, a->summary.end_to_end));
}

static void put_texts(struct markdown *m, const char *label, const struct finding_texts *texts)
{
	for (unsigned i = 0; i < texts->count; i++) {
		put(m, "- %s: ", label);
		put_text(m, texts->text[i]);
		put(m, "\n");
	}
}

static void put_finding(struct markdown *m, const struct analysis_finding *f, size_t number)
{
	put(m, "\n### %zu. %s\n\n", number, f->kind);
	put(m, "- Share: %.1f %%\n", 100 * f->share);
	put_texts(m, "Evidence", &f->evidence);
	put(m, "- Change: ");
	put_text(m, f->action);
	put(m, "\n- Why: ");
	put_text(m, f->rationale);
	put(m, "\n");
	put_texts(m, "Where", &f->where);
}

static void put_findings(struct markdown *m, const struct analysis *a)
{
	if (a->device_count == 0)
		return;
	put(m, "\n## Findings\n\n");
	if (a->findings.count == 0) {
		put(m, "Nothing stands out: ");
		put_text(m, a->bottleneck.cause);
		put(m, "\n");
		return;
	}
	put(m, "| # | finding | gain %% | range %% | confidence |\n| --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < a->findings.count; i++) {
		const struct analysis_finding *f = &a->findings.list[i];

		put(m, "| %zu | %s | %.1f | %.1f to %.1f | %.2f |\n", i + 1, f->kind, 100 * f->gain, 100 * f->gain_low, 100 * f->gain_high,
		    f->confidence);
	}
	for (size_t i = 0; i < a->findings.count; i++)
		put_finding(m, &a->findings.list[i], i + 1);
}

static void put_devices(struct markdown *m, const struct analysis *a)
{
	if (a->device_count == 0)
		return;
	put(m, "\n## Devices\n\n| device | rank | window | ms | compute %% | exposed communication %% | exposed copies %% | idle %% |\n"
	       "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < a->device_count; i++) {
		const struct analysis_device *d = &a->devices[i];
		const struct device_window *w = d->window;
		const struct timeline_device *device = &a->timeline->devices[d->device];
		int64_t whole = w->to - w->from;

		put(m, "| %u | ", device->index);
		if (device->rank >= 0)
			put(m, "%" PRId64, device->rank);
		put(m, " | %s | %.3f | %.1f | %.1f | %.1f | %.1f |\n", d->window_name, ms(whole),
		    percent(device_window_compute(w), whole), percent(device_window_exposed_communication(w), whole),
		    percent(device_window_exposed_copy(w), whole), percent(device_window_idle(w), whole));
	}
}

static void put_table(struct markdown *m, const char *title, const struct analysis_table *table)
{
	if (table->count == 0)
		return;
	put(m, "\n## %s\n\n| name | count | total ms | self ms | p50 us | p99 us |\n| --- | --- | --- | --- | --- | --- |\n", title);
	for (size_t i = 0; i < table->count && i < ROWS; i++) {
		const struct analysis_entry *e = &table->entries[i];

		put(m, "| ");
		put_name(m, e->name);
		put(m, " | %" PRIu64 " | %.3f | %.3f | %.3f | %.3f |\n", e->count, ms(e->total), ms(e->self), (double)e->p50 / 1e3,
		    (double)e->p99 / 1e3);
	}
}

static void put_kernels(struct markdown *m, const struct analysis *a)
{
	for (size_t d = 0; d < a->device_count; d++) {
		const struct analysis_device *device = &a->devices[d];

		put(m, "\n## Work of device %u\n\n| name | count | total ms | mean us | p99 us |\n| --- | --- | --- | --- | --- |\n",
		    a->timeline->devices[device->device].index);
		for (size_t i = 0; i < device->kernel_count && i < ROWS; i++) {
			const struct analysis_entry *e = &device->kernels[i].times;

			put(m, "| ");
			put_name(m, e->name);
			put(m, " | %" PRIu64 " | %.3f | %.3f | %.3f |\n", e->count, ms(e->total), e->mean / 1e3, (double)e->p99 / 1e3);
		}
	}
}

static void put_integrity(struct markdown *m, const struct analysis *a)
{
	put(m, "\n## Integrity\n\n");
	for (size_t i = 0; i < a->check_count; i++) {
		const struct analysis_check *c = &a->checks[i];

		if (c->status == CHECK_OK || c->status == CHECK_SKIPPED)
			continue;
		put(m, "- %s, %s: ", c->name, check_status_name(c->status));
		put_text(m, c->detail);
		put(m, "\n");
	}
	put(m, "- verdict: %s\n", verdict_name(a->verdict));
}

int report_markdown(const struct analysis *a, const struct report_source *source, struct buffer *out)
{
	struct markdown m = { .out = out, .timeline = a->timeline };

	put_head(&m, a);
	put_breakdown(&m, a);
	put_findings(&m, a);
	put_devices(&m, a);
	put_table(&m, "Operators", &a->operators);
	put_kernels(&m, a);
	put_table(&m, "Scopes", &a->scopes);
	put_table(&m, "Functions", &a->functions);
	put_integrity(&m, a);
	put(&m, "\n## Run\n\n- Trace: ");
	put_text(&m, source->path);
	put(&m, "\n- Format: %s\n", source->format);
	return m.error;
}
