/* report_json_device.c - the devices of the analysis JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/report_parts.h"

#define GAPS_LISTED 50u

static const char *const class_names[WORK_CLASS_COUNT] = { "compute", "communication", "copy" };

void report_json_window(struct json_writer *j, const struct device_window *w)
{
	json_us(j, "total_us", w->to - w->from);
	json_us(j, "busy_us", device_window_busy(w));
	json_us(j, "compute_us", device_window_compute(w));
	json_us(j, "exposed_comm_us", device_window_exposed_communication(w));
	json_us(j, "exposed_copy_us", device_window_exposed_copy(w));
	json_us(j, "idle_us", device_window_idle(w));
}

static void put_window(struct json_writer *j, const char *name, const struct device_window *w)
{
	json_open(j, NULL, '{');
	json_text(j, "name", name);
	json_us(j, "from_us", w->from);
	report_json_window(j, w);
	json_us(j, "comm_us", device_window_class(w, WORK_COMMUNICATION));
	json_us(j, "copy_us", device_window_class(w, WORK_COPY));
	json_unsigned(j, "work", w->count);
	json_close(j);
}

static void put_causes(struct json_writer *j, const struct device_states *s)
{
	json_open(j, "idle_causes", '{');
	for (unsigned cause = 0; cause < IDLE_CAUSE_COUNT; cause++) {
		char key[40];

		snprintf(key, sizeof key, "%s_us", idle_cause_name(cause));
		json_us(j, key, s->idle[cause]);
	}
	json_close(j);
}

static void put_slice(struct json_writer *j, const char *key, const struct timeline *t, uint32_t slice)
{
	if (slice == TIMELINE_NONE)
		return;
	report_json_name(j, key, t, t->name[slice]);
}

static void put_gaps(struct json_writer *j, const struct timeline *t, const struct device_states *s)
{
	uint32_t count, *longest = report_longest_gaps(s, GAPS_LISTED, &count);

	json_open(j, "longest_gaps", '[');
	for (uint32_t i = 0; i < count; i++) {
		const struct timeline_gap *gap = &s->gaps[longest[i]];

		json_open(j, NULL, '{');
		json_us(j, "start_us", gap->begin);
		json_us(j, "duration_us", gap->end - gap->begin);
		json_text(j, "cause", idle_cause_name(gap->cause));
		put_slice(j, "blocking_call", t, gap->blocking);
		put_slice(j, "on_top", t, gap->top);
		put_slice(j, "launch", t, gap->launch);
		put_slice(j, "next", t, gap->next);
		json_close(j);
	}
	json_close(j);
	free(longest);
}

static void put_gap_histogram(struct json_writer *j, const struct analysis_device *d)
{
	static const char *const names[GAP_BINS] = { "under_5_us", "5_to_30_us", "30_us_to_1_ms", "over_1_ms" };

	json_open(j, "gap_lengths", '[');
	for (unsigned i = 0; i < GAP_BINS; i++) {
		json_open(j, NULL, '{');
		json_text(j, "length", names[i]);
		json_unsigned(j, "count", d->gap_counts[i]);
		json_us(j, "total_us", d->gap_bins[i]);
		json_close(j);
	}
	json_close(j);
}

static void put_streams(struct json_writer *j, const struct timeline *t, const struct device_states *s)
{
	json_open(j, "streams", '[');
	for (uint32_t i = 0; i < s->stream_count; i++) {
		const struct stream_states *stream = &s->streams[i];

		json_open(j, NULL, '{');
		json_unsigned(j, "stream_id", t->tracks[stream->track].os_id);
		report_json_name(j, "name", t, t->tracks[stream->track].name);
		json_unsigned(j, "work", stream->count);
		json_open(j, "states", '{');
		for (unsigned state = 0; state < STREAM_STATE_COUNT; state++) {
			char key[40];

			snprintf(key, sizeof key, "%s_us", stream_state_name(state));
			json_us(j, key, stream->state[state]);
		}
		json_close(j);
		json_unsigned(j, "queue_depth_max", stream->depth_max);
		json_fixed(j, "queue_depth_mean", stream->depth_mean, 3);
		json_close(j);
	}
	json_close(j);
}

static void put_kernels(struct json_writer *j, const struct timeline *t, const struct analysis_device *d)
{
	json_open(j, "kernels", '[');
	for (size_t i = 0; i < d->kernel_count; i++) {
		const struct analysis_kernel *k = &d->kernels[i];

		json_open(j, NULL, '{');
		report_json_entry(j, t, &k->times);
		json_text(j, "class", k->class < WORK_CLASS_COUNT ? class_names[k->class] : NULL);
		if (!isnan(k->tensor_core))
			json_bool(j, "tensor_cores", k->tensor_core > 0);
		if (!isnan(k->occupancy))
			json_fixed(j, "occupancy_percent", 100 * k->occupancy, 2);
		if (!isnan(k->blocks_per_multiprocessor))
			json_fixed(j, "blocks_per_multiprocessor", k->blocks_per_multiprocessor, 3);
		json_close(j);
	}
	json_close(j);
}

static void put_copies(struct json_writer *j, const struct analysis_device *d)
{
	json_open(j, "copies", '[');
	for (size_t i = 0; i < d->copy_count; i++) {
		const struct analysis_copy *c = &d->copies[i];

		json_open(j, NULL, '{');
		json_text(j, "direction", event_kind_name(c->kind));
		json_text(j, "memory_from", event_memory_kind_name(c->memory_from));
		json_text(j, "memory_to", event_memory_kind_name(c->memory_to));
		json_unsigned(j, "count", c->count);
		json_unsigned(j, "bytes", c->bytes);
		json_us(j, "total_us", c->total);
		json_us(j, "exposed_us", c->exposed);
		json_fixed(j, "bandwidth_gbs", c->total > 0 && c->bytes ? (double)c->bytes / (double)c->total : NAN, 3);
		json_close(j);
	}
	json_close(j);
}

static void put_rates(struct json_writer *j, const struct analysis_device *d)
{
	json_fixed(j, "copy_hidden_percent", 100 * d->copy_hidden, 3);
	json_fixed(j, "comm_hidden_percent", 100 * d->communication_hidden, 3);
	json_fixed(j, "concurrency_mean", d->concurrency_mean, 3);
	json_integer(j, "concurrency_max", d->window->concurrency_max);
	json_unsigned(j, "queue_depth_max", d->queue_depth_max);
	json_fixed(j, "queue_depth_mean", d->queue_depth_mean, 3);
	json_fixed(j, "tensor_core_percent", 100 * d->tensor_core_share, 3);
	json_fixed(j, "occupancy_percent", 100 * d->occupancy, 3);
}

static void put_device(struct json_writer *j, const struct analysis *a, const struct analysis_device *d)
{
	const struct timeline *t = a->timeline;
	const struct timeline_device *device = &t->devices[d->device];

	json_open(j, NULL, '{');
	json_unsigned(j, "device_id", device->index);
	report_json_name(j, "name", t, device->name);
	if (device->rank >= 0)
		json_integer(j, "rank", device->rank);
	report_json_window(j, d->window);
	json_us(j, "idle_low_us", d->idle_low);
	json_us(j, "idle_high_us", d->idle_high);
	if (d->idle_range_why)
		json_text(j, "idle_range_why", d->idle_range_why);
	put_causes(j, d->states);
	json_text(j, "window", d->window_name);
	json_open(j, "windows", '[');
	put_window(j, "all", &d->states->all);
	put_window(j, "launched", &d->states->launched);
	if (d->states->stray_count)
		put_window(j, "trimmed", &d->states->trimmed);
	json_close(j);
	put_rates(j, d);
	put_gap_histogram(j, d);
	put_gaps(j, t, d->states);
	put_streams(j, t, d->states);
	put_kernels(j, t, d);
	put_copies(j, d);
	json_close(j);
}

static void put_gpu(struct json_writer *j, const struct analysis *a, const struct analysis_gpu *g)
{
	const struct timeline_device *device = &a->timeline->devices[g->device];

	json_open(j, NULL, '{');
	json_unsigned(j, "device_id", device->index);
	report_json_name(j, "name", a->timeline, device->name);
	if (device->rank >= 0)
		json_integer(j, "rank", device->rank);
	json_unsigned(j, "samples", g->samples);
	json_fixed(j, "utilization_percent", g->utilization, 3);
	json_fixed(j, "utilization_max_percent", g->utilization_max, 3);
	json_fixed(j, "memory_utilization_percent", g->memory_utilization, 3);
	json_fixed(j, "memory_used_max_bytes", g->memory_used, 0);
	json_fixed(j, "memory_total_bytes", g->memory_total, 0);
	json_fixed(j, "program_memory_max_bytes", g->program_memory, 0);
	json_fixed(j, "sm_clock_mhz", g->sm_clock, 1);
	json_fixed(j, "sm_clock_limit_mhz", g->sm_clock_limit, 1);
	json_fixed(j, "memory_clock_mhz", g->memory_clock, 1);
	json_fixed(j, "memory_clock_limit_mhz", g->memory_clock_limit, 1);
	json_fixed(j, "power_w", g->power, 3);
	json_fixed(j, "power_max_w", g->power_max, 3);
	json_fixed(j, "power_limit_w", g->power_limit, 3);
	json_fixed(j, "energy_j", g->energy, 3);
	json_fixed(j, "temperature_max_c", g->temperature_max, 1);
	json_fixed(j, "throttled_percent", 100 * g->throttled, 3);
	json_fixed(j, "throttled_power_percent", 100 * g->throttled_power, 3);
	json_fixed(j, "throttled_thermal_percent", 100 * g->throttled_thermal, 3);
	json_close(j);
}

void report_json_gpus(struct json_writer *j, const struct analysis *a)
{
	json_open(j, "gpus", '[');
	for (size_t i = 0; i < a->gpu_count; i++)
		put_gpu(j, a, &a->gpus[i]);
	json_close(j);
}

void report_json_devices(struct json_writer *j, const struct analysis *a)
{
	json_open(j, "devices", '[');
	for (size_t i = 0; i < a->device_count; i++)
		put_device(j, a, &a->devices[i]);
	json_close(j);
}
