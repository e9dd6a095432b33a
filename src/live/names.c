/* names.c - see names.h. */
#include "live/names.h"

#include <math.h>
#include <string.h>

#define NAMES(type) static const struct live_name type##_names[]
#define FIELD(s, field, kind) { #field, kind, offsetof(struct live_##s, field) }
#define END { NULL, LIVE_NUMBER, 0 }

NAMES(program) = {
	FIELD(snapshot, sequence, LIVE_U64),
	FIELD(snapshot, realtime_ns, LIVE_I64),
	FIELD(snapshot, run_s, LIVE_NUMBER),
	FIELD(snapshot, interval_s, LIVE_NUMBER),
	FIELD(snapshot, command, LIVE_STRING),
	FIELD(snapshot, pid, LIVE_I32),
	FIELD(snapshot, state, LIVE_STATE_OF),
	FIELD(snapshot, exit_status, LIVE_I32),
	FIELD(snapshot, exit_signal, LIVE_I32),
	FIELD(snapshot, gpu_source, LIVE_STRING),
	FIELD(snapshot, processes_left_out, LIVE_U32),
	FIELD(snapshot, threads_left_out, LIVE_U32),
	FIELD(snapshot, slices_left_out, LIVE_U32),
	FIELD(snapshot, loader_workers, LIVE_U32),
	FIELD(snapshot, loader_busy, LIVE_NUMBER),
	FIELD(snapshot, active_alerts, LIVE_U32),
	FIELD(snapshot, alerts_begun, LIVE_U64),
	FIELD(snapshot, own_cpu, LIVE_NUMBER),
	FIELD(snapshot, own_rss_bytes, LIVE_NUMBER),
	END,
};

NAMES(cpu) = {
	FIELD(cpu, share, LIVE_NUMBER),
	FIELD(cpu, time_s, LIVE_NUMBER),
	FIELD(cpu, user, LIVE_NUMBER),
	FIELD(cpu, system, LIVE_NUMBER),
	FIELD(cpu, queue, LIVE_NUMBER),
	FIELD(cpu, gil_wait, LIVE_NUMBER),
	FIELD(cpu, machine, LIVE_NUMBER),
	FIELD(cpu, steal, LIVE_NUMBER),
	FIELD(cpu, throttled, LIVE_NUMBER),
	FIELD(cpu, available, LIVE_NUMBER),
	FIELD(cpu, count, LIVE_U32),
	FIELD(cpu, frequency_mhz, LIVE_NUMBER),
	END,
};

NAMES(memory) = {
	FIELD(memory, rss_bytes, LIVE_NUMBER),
	FIELD(memory, pss_bytes, LIVE_NUMBER),
	FIELD(memory, shared_bytes, LIVE_NUMBER),
	FIELD(memory, swap_bytes, LIVE_NUMBER),
	FIELD(memory, virtual_bytes, LIVE_NUMBER),
	FIELD(memory, total_bytes, LIVE_NUMBER),
	FIELD(memory, available_bytes, LIVE_NUMBER),
	FIELD(memory, used, LIVE_NUMBER),
	FIELD(memory, swap_total_bytes, LIVE_NUMBER),
	FIELD(memory, swap_used_bytes, LIVE_NUMBER),
	FIELD(memory, limited, LIVE_BOOL),
	FIELD(memory, minor_faults, LIVE_NUMBER),
	FIELD(memory, major_faults, LIVE_NUMBER),
	FIELD(memory, pressure, LIVE_NUMBER),
	FIELD(memory, oom_kills, LIVE_NUMBER),
	FIELD(memory, held_bytes, LIVE_NUMBER),
	END,
};

NAMES(io) = {
	FIELD(io, read_bytes, LIVE_NUMBER),
	FIELD(io, written_bytes, LIVE_NUMBER),
	FIELD(io, read_chars, LIVE_NUMBER),
	FIELD(io, written_chars, LIVE_NUMBER),
	FIELD(io, read_calls, LIVE_NUMBER),
	FIELD(io, write_calls, LIVE_NUMBER),
	FIELD(io, waiting, LIVE_NUMBER),
	FIELD(io, pressure, LIVE_NUMBER),
	FIELD(io, open_files, LIVE_NUMBER),
	FIELD(io, open_files_limit, LIVE_NUMBER),
	END,
};

NAMES(disk) = {
	FIELD(disk, name, LIVE_STRING),
	FIELD(disk, read_bytes, LIVE_NUMBER),
	FIELD(disk, written_bytes, LIVE_NUMBER),
	FIELD(disk, reads, LIVE_NUMBER),
	FIELD(disk, writes, LIVE_NUMBER),
	FIELD(disk, busy, LIVE_NUMBER),
	END,
};

NAMES(network) = {
	FIELD(network, received_bytes, LIVE_NUMBER),
	FIELD(network, sent_bytes, LIVE_NUMBER),
	END,
};

NAMES(interface) = {
	FIELD(interface, name, LIVE_STRING),
	FIELD(interface, received_bytes, LIVE_NUMBER),
	FIELD(interface, sent_bytes, LIVE_NUMBER),
	FIELD(interface, received_packets, LIVE_NUMBER),
	FIELD(interface, sent_packets, LIVE_NUMBER),
	FIELD(interface, errors, LIVE_NUMBER),
	END,
};

NAMES(gpu) = {
	FIELD(gpu, number, LIVE_U32),
	FIELD(gpu, name, LIVE_STRING),
	FIELD(gpu, uuid, LIVE_STRING),
	FIELD(gpu, memory_used_bytes, LIVE_NUMBER),
	FIELD(gpu, memory_total_bytes, LIVE_NUMBER),
	FIELD(gpu, program_bytes, LIVE_NUMBER),
	FIELD(gpu, utilization, LIVE_NUMBER),
	FIELD(gpu, memory_utilization, LIVE_NUMBER),
	FIELD(gpu, sm_clock_mhz, LIVE_NUMBER),
	FIELD(gpu, sm_clock_limit_mhz, LIVE_NUMBER),
	FIELD(gpu, power_watts, LIVE_NUMBER),
	FIELD(gpu, power_limit_watts, LIVE_NUMBER),
	FIELD(gpu, temperature_celsius, LIVE_NUMBER),
	END,
};

NAMES(process) = {
	FIELD(process, pid, LIVE_I32),
	FIELD(process, parent, LIVE_I32),
	FIELD(process, name, LIVE_STRING),
	FIELD(process, state, LIVE_LETTER),
	FIELD(process, threads, LIVE_U32),
	FIELD(process, cpu, LIVE_NUMBER),
	FIELD(process, rss_bytes, LIVE_NUMBER),
	FIELD(process, read_bytes, LIVE_NUMBER),
	FIELD(process, written_bytes, LIVE_NUMBER),
	FIELD(process, recorded, LIVE_BOOL),
	END,
};

NAMES(thread) = {
	FIELD(thread, pid, LIVE_I32),
	FIELD(thread, tid, LIVE_I32),
	FIELD(thread, name, LIVE_STRING),
	FIELD(thread, cpu, LIVE_NUMBER),
	FIELD(thread, queue, LIVE_NUMBER),
	FIELD(thread, blocked, LIVE_NUMBER),
	FIELD(thread, state, LIVE_STRING),
	FIELD(thread, what, LIVE_STRING),
	FIELD(thread, waiting_s, LIVE_NUMBER),
	FIELD(thread, scope, LIVE_STRING),
	FIELD(thread, op, LIVE_STRING),
	FIELD(thread, depth, LIVE_U32),
	END,
};

NAMES(steps) = {
	FIELD(steps, known, LIVE_BOOL),
	FIELD(steps, name, LIVE_STRING),
	FIELD(steps, found, LIVE_STRING),
	FIELD(steps, trouble, LIVE_STRING),
	FIELD(steps, count, LIVE_U64),
	FIELD(steps, last_s, LIVE_NUMBER),
	FIELD(steps, median_s, LIVE_NUMBER),
	FIELD(steps, p95_s, LIVE_NUMBER),
	FIELD(steps, rate, LIVE_NUMBER),
	FIELD(steps, since_s, LIVE_NUMBER),
	FIELD(steps, input_wait, LIVE_NUMBER),
	FIELD(steps, begin_s, LIVE_NUMBER),
	FIELD(steps, pid, LIVE_I32),
	FIELD(steps, tid, LIVE_I32),
	FIELD(steps, quiet_s, LIVE_NUMBER),
	FIELD(steps, idle, LIVE_BOOL),
	FIELD(steps, sum_s, LIVE_NUMBER),
	FIELD(steps, input_sum_s, LIVE_NUMBER),
	END,
};

NAMES(doing) = {
	FIELD(doing, pid, LIVE_I32),
	FIELD(doing, tid, LIVE_I32),
	FIELD(doing, thread, LIVE_STRING),
	FIELD(doing, window_s, LIVE_NUMBER),
	FIELD(doing, input, LIVE_NUMBER),
	FIELD(doing, operators, LIVE_NUMBER),
	FIELD(doing, scopes, LIVE_NUMBER),
	FIELD(doing, functions, LIVE_NUMBER),
	FIELD(doing, running, LIVE_NUMBER),
	FIELD(doing, queueing, LIVE_NUMBER),
	FIELD(doing, waiting, LIVE_NUMBER),
	FIELD(doing, most, LIVE_STRING),
	FIELD(doing, text, LIVE_STRING),
	END,
};

NAMES(slice) = {
	FIELD(slice, begin_s, LIVE_NUMBER),
	FIELD(slice, duration_s, LIVE_NUMBER),
	FIELD(slice, depth, LIVE_U32),
	FIELD(slice, kind, LIVE_STRING),
	FIELD(slice, name, LIVE_STRING),
	END,
};

NAMES(place) = {
	FIELD(place, name, LIVE_STRING),
	FIELD(place, kind, LIVE_STRING),
	FIELD(place, calls, LIVE_NUMBER),
	FIELD(place, share, LIVE_NUMBER),
	END,
};

NAMES(counter) = {
	FIELD(counter, name, LIVE_STRING),
	FIELD(counter, value, LIVE_NUMBER),
	END,
};

NAMES(events) = {
	FIELD(events, recorded, LIVE_BOOL),
	FIELD(events, rate, LIVE_NUMBER),
	FIELD(events, total, LIVE_U64),
	FIELD(events, lost, LIVE_U64),
	FIELD(events, unwritten, LIVE_U64),
	FIELD(events, trouble, LIVE_STRING),
	FIELD(events, trace_bytes, LIVE_U64),
	FIELD(events, disk_free_bytes, LIVE_NUMBER),
	FIELD(events, disk_free, LIVE_NUMBER),
	END,
};

NAMES(alert) = {
	FIELD(alert, number, LIVE_U64),
	FIELD(alert, kind, LIVE_STRING),
	FIELD(alert, subject, LIVE_STRING),
	FIELD(alert, severity, LIVE_SEVERITY_OF),
	FIELD(alert, active, LIVE_BOOL),
	FIELD(alert, begin_s, LIVE_NUMBER),
	FIELD(alert, end_s, LIVE_NUMBER),
	FIELD(alert, worse_s, LIVE_NUMBER),
	FIELD(alert, times, LIVE_U64),
	FIELD(alert, value, LIVE_NUMBER),
	FIELD(alert, threshold, LIVE_NUMBER),
	FIELD(alert, text, LIVE_STRING),
	FIELD(alert, advice, LIVE_STRING),
	END,
};

#define AT(field) offsetof(struct live_snapshot, field)
#define ONE(field, names) { #field, "", false, names, AT(field), 0, 0, 1 }
#define LIST(name, within, names, field, count, max) \
	{ name, within, true, names, AT(field), sizeof ((struct live_snapshot *)0)->field[0], AT(count), max }

const struct live_group live_groups[] = {
	{ "program", "", false, program_names, 0, 0, 0, 1 },
	ONE(cpu, cpu_names),
	ONE(memory, memory_names),
	ONE(io, io_names),
	LIST("disks", "io", disk_names, io.disks, io.disk_count, LIVE_DISKS),
	ONE(network, network_names),
	LIST("interfaces", "network", interface_names, network.interfaces, network.interface_count, LIVE_INTERFACES),
	LIST("gpus", "", gpu_names, gpus, gpu_count, LIVE_GPUS),
	LIST("processes", "", process_names, processes, process_count, LIVE_PROCESSES),
	LIST("threads", "", thread_names, threads, thread_count, LIVE_THREADS),
	ONE(steps, steps_names),
	LIST("slices", "", slice_names, slices, slice_count, LIVE_SLICES),
	ONE(doing, doing_names),
	LIST("places", "", place_names, places, place_count, LIVE_PLACES),
	LIST("kernels", "", place_names, kernels, kernel_count, LIVE_PLACES),
	LIST("counters", "", counter_names, counters, counter_count, LIVE_COUNTERS),
	ONE(events, events_names),
	LIST("alerts", "", alert_names, alerts, alert_count, LIVE_ALERTS),
	{ NULL, NULL, false, NULL, 0, 0, 0, 0 },
};

size_t live_group_rows(const struct live_group *g, const struct live_snapshot *s)
{
	uint32_t count;

	if (!g->list)
		return 1;
	memcpy(&count, (const char *)s + g->count_offset, sizeof count);
	return count < g->max ? count : g->max;
}

/* A text is never longer than its array, whoever wrote the snapshot. */
static size_t room_of(const struct live_group *g, const struct live_name *name)
{
	size_t size = g->list ? g->size : sizeof(struct live_snapshot) - g->offset;

	return size - name->offset;
}

static struct live_value text_value(const char *text, size_t size)
{
	return (struct live_value){ .kind = size ? LIVE_VALUE_TEXT : LIVE_VALUE_NULL, .text = text, .size = size };
}

static struct live_value name_value(const char *name)
{
	return text_value(name, name ? strlen(name) : 0);
}

static struct live_value integer_value(int64_t integer)
{
	return (struct live_value){ .kind = LIVE_VALUE_INTEGER, .integer = integer, .number = (double)integer };
}

#define READ(type, at) (*(const type *)(const void *)(at))

struct live_value live_value(const struct live_group *g, const struct live_snapshot *s, size_t row, const struct live_name *name)
{
	const char *at = (const char *)s + g->offset + row * g->size + name->offset;
	struct live_value value;

	switch (name->type) {
	case LIVE_NUMBER:
		value = (struct live_value){ .kind = LIVE_VALUE_NUMBER, .number = READ(double, at) };
		value.kind = isfinite(value.number) ? LIVE_VALUE_NUMBER : LIVE_VALUE_NULL;
		return value;
	case LIVE_U32:
		return integer_value(READ(uint32_t, at));
	case LIVE_U64:
		return integer_value(READ(uint64_t, at) > INT64_MAX ? INT64_MAX : (int64_t)READ(uint64_t, at));
	case LIVE_I32:
		return integer_value(READ(int32_t, at));
	case LIVE_I64:
		return integer_value(READ(int64_t, at));
	case LIVE_BOOL:
		value = integer_value(*(const unsigned char *)at != 0);
		value.kind = LIVE_VALUE_BOOL;
		return value;
	case LIVE_STRING:
		return text_value(at, strnlen(at, room_of(g, name)));
	case LIVE_LETTER:
		return text_value(at, *at != 0);
	case LIVE_STATE_OF:
		return name_value(live_state_name(*(const uint8_t *)at));
	case LIVE_SEVERITY_OF:
		return name_value(live_severity_name(*(const uint8_t *)at));
	}
	return (struct live_value){ .kind = LIVE_VALUE_NULL };
}

const char *live_state_name(unsigned state)
{
	static const char *const names[] = { "running", "stopped", "ended" };

	return state < sizeof names / sizeof *names ? names[state] : NULL;
}

const char *live_severity_name(unsigned severity)
{
	static const char *const names[] = { "info", "warning", "critical" };

	return severity < sizeof names / sizeof *names ? names[severity] : NULL;
}

const char *live_phase_name(const struct live_alert *alert)
{
	return !alert->active ? "end" : alert->worse_s > 0 ? "worse" : "begin";
}
