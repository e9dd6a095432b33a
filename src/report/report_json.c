/*
 * report_json.c - the analysis as JSON, version 1.
 *
 * People script against these names: adding is free, renaming is not.
 */
#include <math.h>

#include "analyze/words.h"
#include "base/json_writer.h"
#include "report/report.h"
#include "report/report_parts.h"

#define FUNCTIONS_LISTED 1000u /* a program may have very many */

void report_json_name(struct json_writer *j, const char *key, const struct timeline *t, uint32_t name)
{
	size_t size;
	const char *text = timeline_string(t, name, &size);

	json_string(j, key, text, size);
}

static void put_trace(struct json_writer *j, const struct analysis *a, const struct report_source *source)
{
	const struct timeline *t = a->timeline;
	uint64_t threads = 0;

	for (uint32_t i = 0; i < t->track_count; i++)
		threads += t->tracks[i].kind == TRACK_THREAD;
	json_open(j, "trace", '{');
	json_text(j, "path", source->path);
	json_text(j, "format", source->format);
	json_unsigned(j, "events", t->events);
	json_us(j, "duration_us", t->duration);
	json_unsigned(j, "hosts", t->host_count);
	json_unsigned(j, "processes", t->process_count);
	json_unsigned(j, "threads", threads);
	json_unsigned(j, "devices", a->device_count);
	json_unsigned(j, "lost_events", t->lost);
	json_close(j);
}

static void put_known(struct json_writer *j, const char *key, const char *text)
{
	json_text(j, key, text[0] ? text : NULL);
}

static void put_process(struct json_writer *j, const struct program_process *p)
{
	json_integer(j, "process_id", p->pid);
	json_text(j, "name", p->name);
}

static void put_descendants(struct json_writer *j, const struct trace_program *p)
{
	json_open(j, "killed", '[');
	for (size_t i = 0; i < p->death_count; i++) {
		json_open(j, NULL, '{');
		json_integer(j, "signal", p->deaths[i].signal);
		json_unsigned(j, "count", p->deaths[i].count);
		put_process(j, &p->deaths[i].last);
		json_close(j);
	}
	json_close(j);
	json_unsigned(j, "running_count", p->running_count);
	json_open(j, "running", '[');
	for (size_t i = 0; i < p->running_count && i < PROGRAM_LISTED; i++) {
		json_open(j, NULL, '{');
		put_process(j, &p->running[i]);
		json_close(j);
	}
	json_close(j);
}

/* How it ended; null: the trace does not say. */
static void put_program(struct json_writer *j, const struct analysis *a)
{
	const struct trace_program *p = &a->program;

	json_open(j, "program", '{');
	if (p->ended) {
		json_bool(j, "failed", trace_program_failed(p));
		json_integer(j, "exit_status", p->status);
		json_integer(j, "signal", p->signal);
	} else {
		json_null(j, "failed");
		json_null(j, "exit_status");
		json_null(j, "signal");
	}
	put_known(j, "exception", p->exception);
	put_known(j, "message", p->message);
	put_known(j, "interpreter", p->interpreter);
	put_known(j, "version", p->version);
	put_descendants(j, p);
	json_close(j);
}

static void put_integrity(struct json_writer *j, const struct analysis *a)
{
	json_open(j, "integrity", '{');
	json_text(j, "verdict", verdict_name(a->verdict));
	json_open(j, "checks", '[');
	for (size_t i = 0; i < a->check_count; i++) {
		json_open(j, NULL, '{');
		json_text(j, "name", a->checks[i].name);
		json_text(j, "status", check_status_name(a->checks[i].status));
		json_unsigned(j, "count", a->checks[i].count);
		json_text(j, "detail", a->checks[i].detail);
		json_close(j);
	}
	json_close(j);
	json_close(j);
}

static void put_device_clock(struct json_writer *j, const struct timeline *t, const struct timeline_clock *c)
{
	json_unsigned(j, "device_id", t->devices[c->device].index);
	json_fixed(j, "drift_ppm", c->drift_ppm, 3);
	json_fixed(j, "residual_us", c->residual_ns / 1e3, 3);
	json_unsigned(j, "jumps", c->jumps);
	json_unsigned(j, "pairs", c->pairs);
	json_unsigned(j, "moved", c->moved);
	json_fixed(j, "moved_max_us", (double)c->moved_most / 1e3, 3);
	json_unsigned(j, "clamped", c->clamped);
}

static void put_clocks(struct json_writer *j, const struct analysis *a)
{
	const struct timeline *t = a->timeline;

	json_open(j, "clock", '[');
	for (uint32_t i = 0; i < t->clock_count; i++) {
		const struct timeline_clock *c = &t->clocks[i];

		json_open(j, NULL, '{');
		json_unsigned(j, "domain", c->domain);
		report_json_name(j, "name", t, c->name);
		json_number(j, "slope", c->slope);
		json_integer(j, "offset_ns", c->offset_ns);
		json_fixed(j, "error_us", c->error_ns < 0 ? NAN : c->error_ns / 1e3, 3);
		json_fixed(j, "assumed_error_us", analysis_clock_error(a, c) / 1e3, 3);
		json_text(j, "method", c->method);
		if (c->of_device)
			put_device_clock(j, a->timeline, c);
		json_close(j);
	}
	json_close(j);
}

static void put_summary(struct json_writer *j, const struct analysis *a)
{
	json_open(j, "summary", '{');
	json_us(j, "end_to_end_latency_us", a->summary.end_to_end);
	json_us(j, "total_cpu_time_us", a->summary.cpu);
	json_us(j, "total_gpu_time_us", a->summary.gpu);
	json_us(j, "total_h2d_us", a->summary.h2d);
	json_us(j, "total_d2h_us", a->summary.d2h);
	json_us(j, "total_idle_us", a->summary.idle);
	json_us(j, "framework_overhead_us", a->summary.framework_overhead);
	json_close(j);
}

static void put_breakdown(struct json_writer *j, const struct analysis *a)
{
	double all = (double)a->summary.end_to_end;

	json_open(j, "timeline_breakdown", '[');
	for (size_t i = 0; i < a->category_count; i++) {
		json_open(j, NULL, '{');
		json_text(j, "category", a->breakdown[i].name);
		json_text(j, "label", words_label(a->breakdown[i].name));
		json_us(j, "duration_us", a->breakdown[i].duration);
		json_fixed(j, "percentage", all > 0 ? 100 * (double)a->breakdown[i].duration / all : 0, 6);
		json_close(j);
	}
	json_close(j);
}

void report_json_entry(struct json_writer *j, const struct timeline *t, const struct analysis_entry *e)
{
	report_json_name(j, "name", t, e->name);
	json_unsigned(j, "count", e->count);
	json_us(j, "total_us", e->total);
	json_us(j, "self_us", e->self);
	json_fixed(j, "mean_us", e->mean / 1e3, 3);
	json_us(j, "min_us", e->min);
	json_us(j, "p50_us", e->p50);
	json_us(j, "p99_us", e->p99);
	json_us(j, "max_us", e->max);
}

static void put_table(struct json_writer *j, const char *key, const struct timeline *t, const struct analysis_table *table,
		      size_t limit)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < table->count && i < limit; i++) {
		json_open(j, NULL, '{');
		report_json_entry(j, t, &table->entries[i]);
		json_close(j);
	}
	json_close(j);
}

static void put_step(struct json_writer *j, const struct timeline *t, const struct analysis_step *s)
{
	const struct timeline_step *step = &t->steps[s->step];

	json_open(j, NULL, '{');
	report_json_name(j, "name", t, step->name);
	json_integer(j, "number", step->number);
	if (step->process != TIMELINE_NONE)
		json_unsigned(j, "process_id", t->processes[step->process].pid);
	json_us(j, "start_us", step->begin);
	json_us(j, "duration_us", step->end - step->begin);
	json_us(j, "input_us", s->input);
	if (s->device != TIMELINE_NONE) {
		json_unsigned(j, "device_id", t->devices[s->device].index);
		report_json_window(j, &s->window);
	}
	json_close(j);
}

static void put_steps(struct json_writer *j, const struct analysis *a)
{
	static const char *const sources[] = { "none", "profiler_step", "scope", "repetition" };
	const struct analysis_steps *s = &a->steps;

	json_open(j, "steps", '[');
	for (size_t i = 0; i < s->count; i++)
		put_step(j, a->timeline, &s->steps[i]);
	json_close(j);
	json_open(j, "step_summary", '{');
	json_text(j, "source", sources[a->timeline->step_source]);
	json_unsigned(j, "count", s->count);
	json_fixed(j, "mean_us", s->count ? s->mean / 1e3 : NAN, 3);
	json_us(j, "p50_us", s->p50);
	json_us(j, "p99_us", s->p99);
	json_us(j, "min_us", s->min);
	json_us(j, "max_us", s->max);
	json_fixed(j, "input_percent", 100 * s->input_share, 3);
	json_fixed(j, "input_low_percent", 100 * s->input_share_low, 3);
	json_close(j);
}

static void put_thread(struct json_writer *j, const struct timeline *t, const struct analysis_thread *thread)
{
	const struct timeline_track *track = &t->tracks[thread->track];

	json_open(j, NULL, '{');
	json_unsigned(j, "thread_id", track->os_id);
	report_json_name(j, "name", t, track->name);
	if (track->process != TIMELINE_NONE) {
		json_unsigned(j, "process_id", t->processes[track->process].pid);
		if (t->processes[track->process].rank >= 0)
			json_integer(j, "rank", t->processes[track->process].rank);
	}
	json_unsigned(j, "slices", thread->slices);
	json_us(j, "busy_us", thread->busy);
	json_us(j, "functions_us", thread->in_calls);
	json_us(j, "operators_us", thread->in_ops);
	json_us(j, "runtime_us", thread->in_runtime);
	json_us(j, "blocked_us", thread->in_sync);
	json_unsigned(j, "launches", thread->launches);
	json_close(j);
}

static void put_threads(struct json_writer *j, const struct analysis *a)
{
	json_open(j, "threads", '[');
	for (size_t i = 0; i < a->thread_count; i++)
		put_thread(j, a->timeline, &a->threads[i]);
	json_close(j);
}

static void put_collective(struct json_writer *j, const struct timeline *t, const struct analysis_collective *c)
{
	json_open(j, NULL, '{');
	report_json_name(j, "name", t, c->name);
	json_unsigned(j, "index", c->index);
	json_unsigned(j, "ranks", c->ranks);
	json_integer(j, "last_rank", c->last_rank);
	json_us(j, "start_skew_us", c->start_skew);
	json_us(j, "end_skew_us", c->end_skew);
	json_us(j, "transfer_us", c->transfer);
	json_us(j, "wait_total_us", c->wait_total);
	json_unsigned(j, "bytes", c->bytes);
	json_fixed(j, "bus_bandwidth_gbs", c->bus_bandwidth / 1e9, 3);
	json_close(j);
}

static void put_collectives(struct json_writer *j, const struct analysis *a)
{
	const struct analysis_collectives *c = &a->collectives;

	json_open(j, "collectives", '[');
	for (size_t i = 0; i < c->count; i++)
		put_collective(j, a->timeline, &c->rows[i]);
	json_close(j);
	json_open(j, "ranks", '[');
	for (size_t i = 0; i < c->rank_count; i++) {
		json_open(j, NULL, '{');
		json_integer(j, "rank", c->ranks[i].rank);
		json_unsigned(j, "arrived_last", c->ranks[i].arrived_last);
		json_us(j, "wait_us", c->ranks[i].wait);
		json_us(j, "caused_us", c->ranks[i].caused);
		json_close(j);
	}
	json_close(j);
	if (c->straggler >= 0)
		json_integer(j, "straggler_rank", c->straggler);
	else
		json_null(j, "straggler_rank");
}

int report_json(const struct analysis *a, const struct report_source *source, struct buffer *out)
{
	const struct timeline *t = a->timeline;
	struct json_writer j = { .out = out };

	json_open(&j, NULL, '{');
	json_text(&j, "analysis_version", "1.0");
	put_trace(&j, a, source);
	put_program(&j, a);
	put_integrity(&j, a);
	put_clocks(&j, a);
	put_summary(&j, a);
	put_breakdown(&j, a);
	report_json_devices(&j, a);
	report_json_gpus(&j, a);
	put_steps(&j, a);
	put_threads(&j, a);
	put_table(&j, "scopes", t, &a->scopes, SIZE_MAX);
	put_table(&j, "operators", t, &a->operators, SIZE_MAX);
	put_table(&j, "functions", t, &a->functions, FUNCTIONS_LISTED);
	put_table(&j, "runtime_calls", t, &a->calls, SIZE_MAX);
	put_collectives(&j, a);
	report_json_host(&j, a);
	report_json_findings(&j, a);
	json_close(&j);
	return j.error ? j.error : buffer_append(out, "\n", 1);
}
