/* metrics.c - see metrics.h. */
#include "live/metrics.h"

#include <math.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "live/names.h"

/* ---- Sums ------------------------------------------------------------------- */

struct rate {
	size_t total;  /* in struct live_totals */
	size_t source; /* in struct live_snapshot: by the second */
};

#define RATE(total, source) { offsetof(struct live_totals, total), offsetof(struct live_snapshot, source) }

static const struct rate rates[] = {
	RATE(queue_s, cpu.queue),
	RATE(throttled_s, cpu.throttled),
	RATE(gil_wait_s, cpu.gil_wait),
	RATE(minor_faults, memory.minor_faults),
	RATE(major_faults, memory.major_faults),
	RATE(read_bytes, io.read_bytes),
	RATE(written_bytes, io.written_bytes),
	RATE(received_bytes, network.received_bytes),
	RATE(sent_bytes, network.sent_bytes),
};
#define RATES (sizeof rates / sizeof *rates)

static double number_at(const void *base, size_t offset)
{
	double value;

	memcpy(&value, (const char *)base + offset, sizeof value);
	return value;
}

void live_totals_init(struct live_totals *t)
{
	const double unknown = NAN;

	for (size_t i = 0; i < RATES; i++)
		memcpy((char *)t + rates[i].total, &unknown, sizeof unknown);
}

void live_totals_add(struct live_totals *t, const struct live_snapshot *s)
{
	for (size_t i = 0; i < RATES; i++) {
		double more = number_at(s, rates[i].source) * s->interval_s, sum = number_at(t, rates[i].total);

		if (!isfinite(more) || more < 0)
			continue;
		sum = isnan(sum) ? more : sum + more;
		memcpy((char *)t + rates[i].total, &sum, sizeof sum);
	}
}

/* ---- Lines ------------------------------------------------------------------- */

struct writer {
	struct buffer *out;
	int error;
};

static void put(struct writer *w, const char *text)
{
	if (w->error == 0)
		w->error = buffer_append(w->out, text, strlen(text));
}

static void put_number(struct writer *w, double value)
{
	if (w->error == 0)
		w->error = json_append_number(w->out, value);
}

/* The family: its name without the ending that its samples have. */
static void put_head(struct writer *w, const char *name, const char *unit, const char *type, const char *help)
{
	put(w, "# TYPE ");
	put(w, name);
	put(w, unit);
	put(w, " ");
	put(w, type);
	if (unit[0]) {
		put(w, "\n# UNIT ");
		put(w, name);
		put(w, unit);
		put(w, " ");
		put(w, unit + 1);
	}
	put(w, "\n# HELP ");
	put(w, name);
	put(w, unit);
	put(w, " ");
	put(w, help);
	put(w, "\n");
}

static void put_label_character(struct writer *w, const char *at, size_t size, uint32_t c)
{
	if (c == '\\' || c == '"')
		put(w, c == '"' ? "\\\"" : "\\\\");
	else if (c == '\n')
		put(w, "\\n");
	else if (c == TEXT_INVALID || text_is_unsafe(c))
		put(w, "\xef\xbf\xbd");
	else if (w->error == 0)
		w->error = buffer_append(w->out, at, size);
}

/* before: what is to stand before the label: "{" or ",". */
static void put_label(struct writer *w, const char *before, const char *name, const char *value, size_t most)
{
	size_t left = strnlen(value, most);

	put(w, before);
	put(w, name);
	put(w, "=\"");
	while (left) {
		uint32_t c;
		size_t size = text_decode(value, left, &c);

		put_label_character(w, value, size, c);
		value += size;
		left -= size;
	}
	put(w, "\"");
}

static void put_sample(struct writer *w, const char *name, const char *unit, const char *ending, double value)
{
	put(w, name);
	put(w, unit);
	put(w, ending);
	put(w, " ");
	put_number(w, value);
	put(w, "\n");
}

static void put_gauge(struct writer *w, const char *name, const char *unit, const char *help, double value)
{
	if (!isfinite(value))
		return;
	put_head(w, name, unit, "gauge", help);
	put_sample(w, name, unit, "", value);
}

static void put_counter(struct writer *w, const char *name, const char *unit, const char *help, double value)
{
	if (!isfinite(value))
		return;
	put_head(w, name, unit, "counter", help);
	put_sample(w, name, unit, "_total", value);
}

/* ---- The program ---------------------------------------------------------------- */

struct row {
	const char *name, *unit, *help;
	size_t offset;
};

#define OF(field) offsetof(struct live_snapshot, field)

static const struct row gauges[] = {
	{ "process_resident_memory", "_bytes", "Resident memory of all processes.", OF(memory.rss_bytes) },
	{ "process_virtual_memory", "_bytes", "Addresses that all processes have mapped.", OF(memory.virtual_bytes) },
	{ "process_open_fds", "", "Descriptors that the first process has open.", OF(io.open_files) },
	{ "process_max_fds", "", "Descriptors that the first process may have open.", OF(io.open_files_limit) },
	{ "inferscope_memory_proportional", "_bytes", "Memory of all processes, what they share counted once.", OF(memory.pss_bytes) },
	{ "inferscope_memory_shared", "_bytes", "Part of the resident memory that may be shared.", OF(memory.shared_bytes) },
	{ "inferscope_memory_swap", "_bytes", "Memory of all processes that is swapped out.", OF(memory.swap_bytes) },
	{ "inferscope_memory_limit", "_bytes", "Memory of the control group, or of the machine.", OF(memory.total_bytes) },
	{ "inferscope_memory_available", "_bytes", "Memory that is left of it.", OF(memory.available_bytes) },
	{ "inferscope_memory_used", "_ratio", "Share of it that is used.", OF(memory.used) },
	{ "inferscope_memory_pressure", "_ratio", "Share of the time in which a thread lacked memory.", OF(memory.pressure) },
	{ "inferscope_cpu_used", "_cores", "Processors in use by all processes.", OF(cpu.share) },
	{ "inferscope_cpu_available", "_cores", "Processors that the program may use.", OF(cpu.available) },
	{ "inferscope_machine_cpu_used", "_ratio", "Share of the machine's processors in use.", OF(cpu.machine) },
	{ "inferscope_machine_cpu_steal", "_ratio", "Share of processor time that the machine was owed.", OF(cpu.steal) },
	{ "inferscope_io_waiting_threads", "", "Threads that wait for a file or a disk.", OF(io.waiting) },
	{ "inferscope_io_pressure", "_ratio", "Share of the time in which a thread waited for a disk.", OF(io.pressure) },
	{ "inferscope_step_median", "_seconds", "Median of the last hundred steps.", OF(steps.median_s) },
	{ "inferscope_step_age", "_seconds", "Time since the newest step began.", OF(steps.since_s) },
	{ "inferscope_dataloader_wait", "_ratio", "Share of the last steps that waited for input.", OF(steps.input_wait) },
	{ "inferscope_dataloader_worker_busy", "_ratio",
	  "Share of the last ten seconds or so in which workers of a DataLoader did not wait to be asked, estimated from one look an interval.",
	  OF(loader_busy) },
	{ "inferscope_monitor_cpu_used", "_ratio", "Processor time that the monitor itself takes.", OF(own_cpu) },
	{ "inferscope_monitor_resident_memory", "_bytes", "Memory that the monitor itself takes.", OF(own_rss_bytes) },
};

#define SUM(field) offsetof(struct live_totals, field)

static const struct row counters[] = {
	{ "inferscope_cpu_queue", "_seconds", "Time that threads waited for a processor.", SUM(queue_s) },
	{ "inferscope_cpu_throttled", "_seconds", "Time that a quota held the control group back.", SUM(throttled_s) },
	{ "inferscope_gil_wait", "_seconds",
	  "Time that threads waited for Python's lock of the interpreter, estimated from one look at each thread an interval.", SUM(gil_wait_s) },
	{ "inferscope_page_faults_minor", "", "Page faults without a disk.", SUM(minor_faults) },
	{ "inferscope_page_faults_major", "", "Page faults that read a disk.", SUM(major_faults) },
	{ "inferscope_io_read", "_bytes", "Read from disks.", SUM(read_bytes) },
	{ "inferscope_io_written", "_bytes", "Written to disks.", SUM(written_bytes) },
	{ "inferscope_network_received", "_bytes", "Received, without loopback.", SUM(received_bytes) },
	{ "inferscope_network_sent", "_bytes", "Sent, without loopback.", SUM(sent_bytes) },
};

/* Of the command line the program alone: what Prometheus has, many can read for long, and arguments may be secrets. */
static void put_run(struct writer *w, const struct live_snapshot *s)
{
	uint32_t threads = s->threads_left_out + s->thread_count;

	put_head(w, "inferscope_run", "", "info", "What is watched.");
	put_label(w, "inferscope_run_info{", "program", s->program, sizeof s->program);
	put(w, "} 1\n");
	put_gauge(w, "inferscope_running", "", "1 while the program runs, 0 when it is stopped or has ended.", s->state == LIVE_RUNNING);
	put_gauge(w, "inferscope_snapshot_timestamp", "_seconds", "When these figures were taken.", (double)s->realtime_ns / 1e9);
	if (s->start_ns) /* read once: who asks whether it has changed means another run */
		put_gauge(w, "process_start_time", "_seconds", "When the run began.", (double)(s->start_ns / 1000) / 1e6);
	put_counter(w, "process_cpu", "_seconds", "Processor time of all processes since they are watched, of those that have ended as well.",
		    s->cpu.time_s);
	put_gauge(w, "process_threads", "", "Threads of all processes.", threads);
	put_gauge(w, "inferscope_processes", "", "Processes of the program.", (double)s->process_count + s->processes_left_out);
}

static bool same_state(const struct live_thread *a, const struct live_thread *b)
{
	return strncmp(a->state, b->state, sizeof a->state) == 0;
}

/* How many threads are in which state: states are few, whatever the threads are called. */
static void put_states(struct writer *w, const struct live_snapshot *s)
{
	uint32_t count = s->thread_count < LIVE_THREADS ? s->thread_count : LIVE_THREADS;
	uint8_t told[LIVE_THREADS] = { 0 };

	put_head(w, "inferscope_threads", "", "gauge", "Threads by what they do or wait for.");
	for (uint32_t i = 0; i < count; i++) {
		uint32_t same = 0;

		for (uint32_t k = i; k < count && !told[i]; k++)
			if (same_state(&s->threads[i], &s->threads[k])) {
				told[k] = k > i;
				same++;
			}
		if (same == 0 || s->threads[i].state[0] == '\0')
			continue;
		put_label(w, "inferscope_threads{", "state", s->threads[i].state, sizeof s->threads[i].state);
		put_sample(w, "}", "", "", same);
	}
}

static void put_bucket(struct writer *w, double bound, uint64_t count)
{
	put(w, "inferscope_step_seconds_bucket{le=\"");
	if (isinf(bound)) {
		put(w, "+Inf");
	} else {
		put_number(w, bound);
		if (bound == rint(bound))
			put(w, ".0"); /* the canonical form of OpenMetrics */
	}
	put_sample(w, "\"}", "", "", (double)count);
}

static void put_steps(struct writer *w, const struct live_steps *steps)
{
	uint64_t sum = 0;

	if (!steps->known)
		return;
	put_head(w, "inferscope_step", "_seconds", "histogram", "Steps that have ended, by their time.");
	for (size_t i = 0; i < LIVE_STEP_BUCKETS; i++) {
		sum += steps->buckets[i];
		put_bucket(w, live_step_bounds[i], sum);
	}
	put_sample(w, "inferscope_step", "_seconds", "_count", (double)sum);
	put_sample(w, "inferscope_step", "_seconds", "_sum", isfinite(steps->sum_s) ? steps->sum_s : 0);
	if (steps->input_sum_s > 0 || isfinite(steps->input_wait)) /* else it cannot be told */
		put_counter(w, "inferscope_dataloader_wait", "_seconds", "Time that steps waited for their input.", steps->input_sum_s);
}

static void put_events(struct writer *w, const struct live_events *e)
{
	if (!e->recorded)
		return;
	put_counter(w, "inferscope_events", "", "Events recorded.", (double)e->total);
	put_counter(w, "inferscope_events_dropped", "", "Events lost: they came faster than they could be kept, or could not be written.", (double)e->lost);
	put_gauge(w, "inferscope_trace", "_bytes", "Size of the trace so far.", (double)e->trace_bytes);
}

/* ---- What the program counts itself -------------------------------------------------- */

static uint32_t label_character(uint32_t c)
{
	return c != '\n' && text_is_unsafe(c) ? TEXT_INVALID : c;
}

/* As labels say them: what is no text is the same for all of it there, and a label may be there once only. */
static bool same_label(const char *a, const char *b, size_t most)
{
	size_t left_a = strnlen(a, most), left_b = strnlen(b, most);

	while (left_a && left_b) {
		uint32_t one, other;
		size_t size_a = text_decode(a, left_a, &one), size_b = text_decode(b, left_b, &other);

		if (label_character(one) != label_character(other))
			return false;
		a += size_a;
		left_a -= size_a;
		b += size_b;
		left_b -= size_b;
	}
	return left_a == left_b;
}

static void put_program_counters(struct writer *w, const struct live_snapshot *s)
{
	uint32_t count = s->counter_count < LIVE_COUNTERS ? s->counter_count : LIVE_COUNTERS;

	if (count)
		put_head(w, "inferscope_program_value", "", "gauge", "What the program counts or measures itself, as it last said.");
	for (uint32_t i = 0; i < count; i++) {
		const struct live_counter *c = &s->counters[i];
		bool again = false;

		for (uint32_t k = 0; k < i && !again; k++)
			again = same_label(s->counters[k].name, c->name, sizeof c->name);
		if (again || !isfinite(c->value))
			continue;
		put_label(w, "inferscope_program_value{", "name", c->name, sizeof c->name);
		put_sample(w, "}", "", "", c->value);
	}
}

/* ---- Alerts ------------------------------------------------------------------------ */

static bool same_alert(const struct live_alert *a, const struct live_alert *b)
{
	return strncmp(a->kind, b->kind, sizeof a->kind) == 0 && strncmp(a->subject, b->subject, sizeof a->subject) == 0 &&
	       a->severity == b->severity;
}

static bool is_told(const struct live_snapshot *s, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (s->alerts[i].active && same_alert(&s->alerts[i], &s->alerts[at]))
			return true;
	return false;
}

static void put_alerts(struct writer *w, const struct live_snapshot *s)
{
	uint32_t count = s->alert_count < LIVE_ALERTS ? s->alert_count : LIVE_ALERTS;

	put_counter(w, "inferscope_alerts", "", "Alerts that have begun.", (double)s->alerts_begun);
	put_gauge(w, "inferscope_alerts_active", "", "Alerts that have not ended.", s->active_alerts);
	put_head(w, "inferscope_alert", "", "gauge", "1 for each alert that has not ended.");
	for (uint32_t i = 0; i < count; i++) {
		const struct live_alert *a = &s->alerts[i];
		const char *severity = live_severity_name(a->severity);

		if (!a->active || is_told(s, i))
			continue;
		put_label(w, "inferscope_alert{", "kind", a->kind, sizeof a->kind);
		put_label(w, ",", "subject", a->subject, sizeof a->subject);
		put_label(w, ",", "severity", severity ? severity : "", 16);
		put(w, "} 1\n");
	}
}

/* ---- GPUs -------------------------------------------------------------------------- */

#define GPU(field) offsetof(struct live_gpu, field)

static const struct row gpu_gauges[] = {
	{ "inferscope_gpu_used", "_ratio", "Share of the time in which a kernel ran.", GPU(utilization) },
	{ "inferscope_gpu_memory_busy", "_ratio", "Share of the time in which memory was read or written.", GPU(memory_utilization) },
	{ "inferscope_gpu_memory_used", "_bytes", "Memory in use, by whomever.", GPU(memory_used_bytes) },
	{ "inferscope_gpu_memory_limit", "_bytes", "Memory of the device.", GPU(memory_total_bytes) },
	{ "inferscope_gpu_memory_program", "_bytes", "Memory in use by the program.", GPU(program_bytes) },
	{ "inferscope_gpu_power", "_watts", "Power.", GPU(power_watts) },
	{ "inferscope_gpu_power_limit", "_watts", "Power that it may take.", GPU(power_limit_watts) },
	{ "inferscope_gpu_temperature", "_celsius", "Temperature.", GPU(temperature_celsius) },
};

static void put_gpu_value(struct writer *w, const struct live_gpu *gpu, const struct row *row)
{
	double value = number_at(gpu, row->offset);

	if (!isfinite(value))
		return;
	put(w, row->name);
	put(w, row->unit);
	put(w, "{gpu=\"");
	put_number(w, gpu->number);
	put(w, "\"");
	put_label(w, ",", "uuid", gpu->uuid, sizeof gpu->uuid);
	put_label(w, ",", "name", gpu->name, sizeof gpu->name);
	put_sample(w, "}", "", "", value);
}

static void put_gpus(struct writer *w, const struct live_snapshot *s)
{
	uint32_t count = s->gpu_count < LIVE_GPUS ? s->gpu_count : LIVE_GPUS;

	for (size_t i = 0; count && i < sizeof gpu_gauges / sizeof *gpu_gauges; i++) {
		put_head(w, gpu_gauges[i].name, gpu_gauges[i].unit, "gauge", gpu_gauges[i].help);
		for (uint32_t gpu = 0; gpu < count; gpu++)
			put_gpu_value(w, &s->gpus[gpu], &gpu_gauges[i]);
	}
}

int live_metrics(struct buffer *out, const struct live_snapshot *s, const struct live_totals *totals)
{
	struct writer w = { .out = out };
	size_t before = out->size;

	put_run(&w, s);
	for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++)
		put_gauge(&w, gauges[i].name, gauges[i].unit, gauges[i].help, number_at(s, gauges[i].offset));
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
		put_counter(&w, counters[i].name, counters[i].unit, counters[i].help, number_at(totals, counters[i].offset));
	put_states(&w, s);
	put_steps(&w, &s->steps);
	put_events(&w, &s->events);
	put_program_counters(&w, s);
	put_alerts(&w, s);
	put_gpus(&w, s);
	put(&w, "# EOF\n");
	if (w.error)
		out->size = before;
	return w.error;
}
