/*
 * report_text.c - all of the analysis as plain text: the diagnosis, whether the
 * trace can be believed, the findings, where the time of each device went and
 * why it was idle, then tables.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/words.h"
#include "base/text.h"
#include "report/report.h"
#include "report/report_parts.h"

#define BAR_WIDTH 24
#define DEVICES_WHOLE 2 /* more of them get a line each */
#define LABEL "%-12s"

enum style { STYLE_BOLD, STYLE_GOOD, STYLE_WARN, STYLE_BAD, STYLE_DIM };

struct text {
	struct buffer *out;
	const struct timeline *timeline;
	struct report_text_options options;
	int error;
};

static void check(struct text *x, int rc)
{
	if (rc < 0 && x->error == 0)
		x->error = rc;
}

static void put(struct text *x, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *x, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	check(x, buffer_vprintf(x->out, format, args));
	va_end(args);
}

static void put_styled(struct text *x, enum style style, const char *words)
{
	static const char *const codes[] = { "1", "32", "33", "31;1", "2" };

	if (x->options.color)
		put(x, "\033[%sm%s\033[0m", codes[style], words);
	else
		put(x, "%s", words);
}

/* Untrusted text, to the end of the line, of which `used` columns are full. */
static void put_rest(struct text *x, const char *words, size_t size, unsigned used)
{
	unsigned left = x->options.columns > used + 8 ? x->options.columns - used : 8;

	check(x, text_append_terminal(x->out, words, size, left));
}

static void put_name(struct text *x, uint32_t name, unsigned used)
{
	size_t size;
	const char *words = timeline_string(x->timeline, name, &size);

	words = report_short_name(words, &size);
	put_rest(x, size ? words : "(no name)", size ? size : 9, used);
}

static void heading(struct text *x, const char *words)
{
	put(x, "\n");
	put_styled(x, STYLE_BOLD, words);
	put(x, "\n");
}

static double percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void put_program(struct text *x, const struct analysis *a)
{
	char text[2 * PROGRAM_SENTENCE];
	struct report_end end;

	for (size_t i = 0; report_end(a, i, &end); i++) {
		put(x, LABEL, end.label);
		check(x, text_append_terminal(x->out, end.text, strlen(end.text), 0));
		put(x, "\n");
	}
	report_run_by(a, text);
	if (text[0] == '\0')
		return;
	put(x, LABEL, "program");
	check(x, text_append_terminal(x->out, text, strlen(text), 0));
	put(x, "\n");
}

static void put_head(struct text *x, const struct analysis *a, const struct report_source *source)
{
	const struct timeline *t = a->timeline;
	char count[TEXT_COUNT_SIZE], time[32];

	put(x, LABEL, "trace");
	put_rest(x, source->path, strlen(source->path), 12);
	put(x, "\n" LABEL "%s, %s, %s", "", source->format, text_count(count, t->events, "event", "events"),
	    text_duration(time, (double)t->duration));
	if (a->device_count)
		put(x, ", %s", text_count(count, a->device_count, "device", "devices"));
	if (t->lost)
		put(x, ", %s lost", text_count(count, t->lost, "event", "events"));
	put(x, "\n");
	put_program(x, a);
}

static void put_integrity(struct text *x, const struct analysis *a)
{
	static const enum style styles[] = { STYLE_GOOD, STYLE_WARN, STYLE_BAD };

	put(x, LABEL, "integrity");
	put_styled(x, styles[a->verdict], verdict_name(a->verdict));
	put(x, "\n");
	for (size_t i = 0; i < a->check_count; i++) {
		const struct analysis_check *c = &a->checks[i];

		if (c->status != CHECK_WARN && c->status != CHECK_FAIL && c->status != CHECK_NOTE)
			continue;
		put(x, "  ");
		put_styled(x, c->status == CHECK_FAIL ? STYLE_BAD : c->status == CHECK_WARN ? STYLE_WARN : STYLE_DIM,
			   check_status_name(c->status));
		put(x, ": ");
		check(x, text_append_terminal(x->out, c->detail, strlen(c->detail), 0));
		put(x, "\n");
	}
	for (uint32_t i = 0; i < a->timeline->clock_count; i++) {
		const struct timeline_clock *c = &a->timeline->clocks[i];
		char words[REPORT_CLOCK];

		if (c->of_device)
			put(x, "  clock of device %u: %s\n", a->timeline->devices[c->device].index, report_clock(a, c, words));
	}
}

/* A share of a whole: label, time, percentage and a bar. */
static void put_share(struct text *x, const char *label, int64_t part, int64_t whole)
{
	double share = percent(part, whole);
	int bar = (int)(share * BAR_WIDTH / 100 + 0.5);
	char time[32];

	put(x, "  %-24s%12s %6.1f %%  %.*s\n", label, text_duration(time, (double)part), share, bar,
	    "########################");
}

static void put_causes(struct text *x, const struct device_states *s, int64_t whole)
{
	for (unsigned cause = 0; cause < IDLE_CAUSE_COUNT; cause++) {
		char label[40];

		if (s->idle[cause] == 0)
			continue;
		snprintf(label, sizeof label, "  %s", words_label(idle_cause_name(cause)));
		put_share(x, label, s->idle[cause], whole);
	}
}

static void put_idle_range(struct text *x, const struct analysis_device *d)
{
	char low[32], high[32];

	if (d->idle_low == d->idle_high || !d->idle_range_why)
		return;
	put(x, "  ");
	put_styled(x, STYLE_WARN, "idle is between");
	put(x, " %s and %s: %s\n", text_duration(low, (double)d->idle_low), text_duration(high, (double)d->idle_high),
	    d->idle_range_why);
}

/* The other windows, where they say something else. */
static void put_other_windows(struct text *x, const struct analysis_device *d)
{
	const struct {
		const char *name, *meaning;
		const struct device_window *window;
	} all[] = {
		{ "all", "all device work", &d->states->all },
		{ "launched", "only work whose launch is in the trace", &d->states->launched },
	};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		const struct device_window *w = all[i].window;
		char total[32];

		if (strcmp(all[i].name, d->window_name) == 0 || w->count == 0 ||
		    (w->to - w->from == d->window->to - d->window->from && w->count == d->window->count))
			continue;
		put(x, "  window %-10s%11s   %5.1f %% busy, %5.1f %% idle   (%s)\n", all[i].name,
		    text_duration(total, (double)(w->to - w->from)), percent(device_window_busy(w), w->to - w->from),
		    percent(device_window_idle(w), w->to - w->from), all[i].meaning);
	}
}

static void put_rates(struct text *x, const struct analysis_device *d)
{
	const char *between = "  ";

#define RATE(there, ...)                      \
	do {                                  \
		if (there) {                  \
			put(x, "%s", between); \
			put(x, __VA_ARGS__);  \
			between = ", ";       \
		}                             \
	} while (0)
	RATE(!isnan(d->communication_hidden), "communication %.0f %% hidden", 100 * d->communication_hidden);
	RATE(!isnan(d->copy_hidden), "copies %.0f %% hidden", 100 * d->copy_hidden);
	RATE(!isnan(d->concurrency_mean) && d->concurrency_mean > 1.005, "%.2f pieces of work at once", d->concurrency_mean);
	RATE(d->queue_depth_max > 0, "queue %.1f deep, at most %u", d->queue_depth_mean, d->queue_depth_max);
	RATE(!isnan(d->tensor_core_share), "tensor cores in %.0f %% of compute", 100 * d->tensor_core_share);
	RATE(!isnan(d->occupancy), "occupancy about %.0f %%", 100 * d->occupancy);
#undef RATE
	if (strcmp(between, ", ") == 0)
		put(x, "\n");
}

static void put_gaps(struct text *x, const struct device_states *s)
{
	uint32_t count, *longest = report_longest_gaps(s, x->options.top < 5 ? x->options.top : 5, &count);
	char time[32], at[32];

	if (count)
		put(x, "  %12s  %12s  %-17s %s\n", "idle for", "at", "cause", "in");
	for (uint32_t i = 0; i < count; i++) {
		const struct timeline_gap *gap = &s->gaps[longest[i]];
		uint32_t reason = report_gap_reason(gap);

		put(x, "  %12s  %12s  %-17s ", text_duration(time, (double)(gap->end - gap->begin)),
		    text_duration(at, (double)gap->begin), words_label(idle_cause_name(gap->cause)));
		if (reason != TIMELINE_NONE)
			put_name(x, x->timeline->name[reason], 48);
		put(x, "\n");
	}
	free(longest);
}

static void put_kernels(struct text *x, const struct analysis_device *d)
{
	int64_t busy = device_window_busy(d->window);
	char total[32], mean[32], p99[32], digits[32];

	if (d->kernel_count)
		put(x, "  %8s %12s %7s %11s %11s  %s\n", "count", "total", "share", "mean", "p99", "device work");
	for (size_t i = 0; i < d->kernel_count && i < x->options.top; i++) {
		const struct analysis_entry *e = &d->kernels[i].times;

		put(x, "  %8s %12s %5.1f %% %11s %11s  ", text_group_digits(digits, e->count),
		    text_duration(total, (double)e->total), percent(e->total, busy), text_duration(mean, e->mean),
		    text_duration(p99, (double)e->p99));
		put_name(x, e->name, 58);
		put(x, "\n");
	}
}

static void put_copies(struct text *x, const struct analysis_device *d)
{
	static const char *const directions[] = { "host to device", "device to host", "device to device" };
	char total[32], bytes[32], digits[32];

	for (size_t i = 0; i < d->copy_count; i++) {
		const struct analysis_copy *c = &d->copies[i];

		put(x, "  %8s %12s %9s in copies %s, %s to %s\n", text_group_digits(digits, c->count),
		    text_duration(total, (double)c->total), text_byte_size(bytes, c->bytes),
		    c->kind >= EVENT_H2D_COPY && c->kind <= EVENT_D2D_COPY ? directions[c->kind - EVENT_H2D_COPY] : "",
		    event_memory_kind_name(c->memory_from), event_memory_kind_name(c->memory_to));
	}
}

static void put_device(struct text *x, const struct analysis *a, const struct analysis_device *d)
{
	const struct timeline_device *device = &a->timeline->devices[d->device];
	const struct device_window *w = d->window;
	int64_t whole = w->to - w->from;
	char label[64], time[32];

	snprintf(label, sizeof label, "device %u", device->index);
	put(x, "\n");
	put_styled(x, STYLE_BOLD, label);
	if (device->name) {
		put(x, "  ");
		put_name(x, device->name, 40);
	}
	if (device->rank >= 0)
		put(x, "  rank %" PRId64, device->rank);
	put(x, "  %s%s%s\n", text_duration(time, (double)whole), strcmp(d->window_name, "all") == 0 ? "" : ", window ",
	    strcmp(d->window_name, "all") == 0 ? "" : d->window_name);
	put_share(x, "compute", device_window_compute(w), whole);
	put_share(x, "exposed communication", device_window_exposed_communication(w), whole);
	put_share(x, "exposed copies", device_window_exposed_copy(w), whole);
	put_share(x, "idle", device_window_idle(w), whole);
	put_causes(x, d->states, whole);
	put_idle_range(x, d);
	put_other_windows(x, d);
	put_rates(x, d);
	put_gaps(x, d->states);
	put_kernels(x, d);
	put_copies(x, d);
}

static enum idle_cause main_cause(const struct device_states *s)
{
	enum idle_cause most = 0;

	for (unsigned cause = 1; cause < IDLE_CAUSE_COUNT; cause++)
		if (s->idle[cause] > s->idle[most])
			most = cause;
	return most;
}

/* A line a device, and all there is to say of the one that is idle for the longest. */
static void put_device_table(struct text *x, const struct analysis *a)
{
	const struct analysis_device *worst = &a->devices[0];
	char time[32];

	heading(x, "devices");
	put(x, "  %6s %6s %12s %9s %9s %9s %9s  %s\n", "device", "rank", "time", "compute", "comm", "copies", "idle", "mostly");
	for (size_t i = 0; i < a->device_count; i++) {
		const struct analysis_device *d = &a->devices[i];
		const struct device_window *w = d->window;
		const struct timeline_device *device = &a->timeline->devices[d->device];
		int64_t whole = w->to - w->from;

		put(x, "  %6u ", device->index);
		if (device->rank >= 0)
			put(x, "%6" PRId64, device->rank);
		else
			put(x, "%6s", "-");
		put(x, " %12s %7.1f %% %7.1f %% %7.1f %% %7.1f %%  %s\n", text_duration(time, (double)whole),
		    percent(device_window_compute(w), whole), percent(device_window_exposed_communication(w), whole),
		    percent(device_window_exposed_copy(w), whole), percent(device_window_idle(w), whole),
		    device_window_idle(w) ? words_label(idle_cause_name(main_cause(d->states))) : "");
		if (device_window_idle(w) > device_window_idle(worst->window))
			worst = d;
	}
	put_device(x, a, worst);
}

static void put_gpus(struct text *x, const struct analysis *a)
{
	char line[REPORT_GPU_LINE];

	if (a->gpu_count)
		heading(x, "what the driver says of GPUs");
	for (size_t i = 0; i < a->gpu_count; i++) {
		report_gpu_line(&a->gpus[i], line, sizeof line);
		put(x, "  %u  %s\n", a->timeline->devices[a->gpus[i].device].index, line);
	}
}

static void put_devices(struct text *x, const struct analysis *a)
{
	if (a->device_count > DEVICES_WHOLE) {
		put_device_table(x, a);
		return;
	}
	for (size_t i = 0; i < a->device_count; i++)
		put_device(x, a, &a->devices[i]);
}

static void put_breakdown(struct text *x, const struct analysis *a)
{
	heading(x, "where the time went");
	for (size_t i = 0; i < a->category_count; i++)
		if (a->breakdown[i].duration > 0)
			put_share(x, words_label(a->breakdown[i].name), a->breakdown[i].duration, a->summary.end_to_end);
}

static void put_safe(struct text *x, const char *words)
{
	check(x, text_append_terminal(x->out, words, strlen(words), 0));
}

static void put_finding(struct text *x, const struct analysis_finding *f, size_t number)
{
	const char *level = report_level(f);

	put(x, "  %zu ", number);
	put_styled(x, level[0] == 'H' ? STYLE_BAD : STYLE_WARN, level);
	put(x, " ");
	put_safe(x, words_label(f->kind));
	if (!f->note)
		put(x, ", saves %.1f %% (%.1f to %.1f), confidence %.2f", 100 * f->gain, 100 * f->gain_low, 100 * f->gain_high, f->confidence);
	put(x, "\n    ");
	put_safe(x, f->action);
	put(x, "\n");
	for (unsigned i = 0; i < f->evidence.count; i++) {
		put(x, "    ");
		put_safe(x, f->evidence.text[i]);
		put(x, "\n");
	}
	for (unsigned i = 0; i < f->where.count; i++) {
		put(x, "    at ");
		put_rest(x, f->where.text[i], strlen(f->where.text[i]), 7);
		put(x, "\n");
	}
}

static void put_findings(struct text *x, const struct analysis *a)
{
	if (a->findings.count == 0)
		return;
	heading(x, "findings");
	for (size_t i = 0; i < a->findings.count && i < x->options.top; i++)
		put_finding(x, &a->findings.list[i], i + 1);
}

static void put_notes(struct text *x, const struct analysis *a)
{
	if (a->notes.count == 0)
		return;
	heading(x, "notes");
	for (unsigned i = 0; i < a->notes.count; i++) {
		put(x, "  ");
		put_safe(x, a->notes.text[i]);
		put(x, "\n");
	}
}

static void put_steps(struct text *x, const struct analysis *a)
{
	static const char *const sources[] = { "", "marked by the profiler", "marked by a scope", "found by repetition" };
	const struct analysis_steps *s = &a->steps;
	char mean[32], p50[32], p99[32];

	if (s->count) {
		heading(x, "steps");
		put(x, "  %zu, %s: mean %s, p50 %s, p99 %s\n", s->count, sources[a->timeline->step_source],
		    text_duration(mean, s->mean), text_duration(p50, (double)s->p50), text_duration(p99, (double)s->p99));
	}
	if (!isnan(s->input_share) && s->input_share > 0)
		put(x, "  %.1f %% of %s was spent waiting for input\n", 100 * s->input_share, s->count ? "step time" : "the time");
}

static void put_table(struct text *x, const char *title, const struct analysis_table *table)
{
	char total[32], self[32], p50[32], p99[32], digits[32];

	if (table->count == 0)
		return;
	heading(x, title);
	put(x, "  %8s %12s %12s %11s %11s\n", "count", "total", "self", "p50", "p99");
	for (size_t i = 0; i < table->count && i < x->options.top; i++) {
		const struct analysis_entry *e = &table->entries[i];

		put(x, "  %8s %12s %12s %11s %11s  ", text_group_digits(digits, e->count),
		    text_duration(total, (double)e->total), text_duration(self, (double)e->self),
		    text_duration(p50, (double)e->p50), text_duration(p99, (double)e->p99));
		put_name(x, e->name, 62);
		put(x, "\n");
	}
}

static void put_ranks(struct text *x, const struct analysis *a)
{
	const struct analysis_collectives *c = &a->collectives;
	char wait[32], caused[32];

	if (c->rank_count < 2)
		return;
	heading(x, "ranks");
	if (c->straggler >= 0)
		put(x, "  rank %" PRId64 " arrives last in more collectives than any other\n", c->straggler);
	put(x, "  %6s %14s %14s %18s\n", "rank", "arrived last", "waited", "others waited");
	for (size_t i = 0; i < c->rank_count; i++)
		put(x, "  %6" PRId64 " %6" PRIu64 " of %-4zu %14s %18s\n", c->ranks[i].rank, c->ranks[i].arrived_last, c->count,
		    text_duration(wait, (double)c->ranks[i].wait), text_duration(caused, (double)c->ranks[i].caused));
}

int report_text(const struct analysis *a, const struct report_source *source, const struct report_text_options *options,
		struct buffer *out)
{
	const struct report_view_options view = { .columns = options->columns, .color = options->color, .ascii = options->ascii };
	struct text x = { .out = out, .timeline = a->timeline, .options = *options };

	if (x.options.columns == 0)
		x.options.columns = 100;
	if (x.options.top == 0)
		x.options.top = 10;
	check(&x, report_diagnosis(a, source, &view, out));
	put(&x, "\n");
	put_head(&x, a, source);
	put_integrity(&x, a);
	put_findings(&x, a);
	put_notes(&x, a);
	if (a->summary.end_to_end > 0)
		put_breakdown(&x, a);
	put_devices(&x, a);
	put_gpus(&x, a);
	put_steps(&x, a);
	put_ranks(&x, a);
	put_table(&x, "operators", &a->operators);
	put_table(&x, "scopes", &a->scopes);
	put_table(&x, "functions", &a->functions);
	put_table(&x, "runtime calls", &a->calls);
	return x.error;
}
