/* info_json.c - `inferscope info --format json`. */
#include "cmd/info_print.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/msgpack.h"
#include "cmd/summary.h"
#include "trace/clock_fit.h"
#include "trace/reader.h"

static void put_string(struct json_writer *j, const char *key, const struct info *info, uint32_t id)
{
	size_t size;
	const char *text = trace_reader_string(info->reader, id, &size);

	json_string(j, key, text, size);
}

static void put_us(struct json_writer *j, const char *key, int64_t ns)
{
	json_fixed(j, key, (double)ns / 1e3, 3);
}

static void put_info_integer(struct json_writer *j, const char *key, const struct info *info)
{
	int64_t value;

	if (trace_reader_info_integer(info->reader, key, &value) == 0)
		json_integer(j, key, value);
	else
		json_null(j, key);
}

/* As it is, where it is. */
static bool put_value(struct json_writer *j, const char *key, const struct info *info)
{
	struct buffer text = BUFFER_INIT;
	const uint8_t *raw;
	size_t size;
	bool there = trace_reader_info_raw(info->reader, key, &raw, &size) == 0 && msgpack_to_json(raw, size, &text) == 0;

	if (there)
		json_raw(j, key, (const char *)text.data, text.size);
	buffer_release(&text);
	return there;
}

static void put_head(struct json_writer *j, const struct info *info)
{
	const struct summary *s = info->summary;
	uint64_t size = trace_reader_size(info->reader);
	char text[40];
	int64_t start;

	json_text(j, "path", info->path);
	if (!put_value(j, "command", info))
		json_null(j, "command");
	json_text(j, "start", info_start_time(info->reader, &start) ? info_format_time(text, start) : NULL);
	put_us(j, "duration_us", s->duration_ns);
	put_info_integer(j, "exit_status", info);
	put_info_integer(j, "signal", info);
	put_value(j, "program", info);
	put_value(j, "part", info);
	put_value(j, "trouble", info);
	put_value(j, "unwritten", info);
	json_bool(j, "complete", trace_reader_report(info->reader)->complete);
	json_unsigned(j, "size_bytes", size);
	json_unsigned(j, "events", s->events);
	json_fixed(j, "bytes_per_event", s->events ? (double)size / (double)s->events : 0, 3);
}

static void put_counts(struct json_writer *j, const struct info *info)
{
	const struct summary *s = info->summary;
	char number[24];
	unsigned i;

	json_open(j, "events_by_kind", '{');
	for (i = 0; i < 256; i++) {
		snprintf(number, sizeof number, "kind_%u", i);
		if (s->kinds[i])
			json_unsigned(j, event_kind_name(i) ? event_kind_name(i) : number, s->kinds[i]);
	}
	json_close(j);
	json_unsigned(j, "lost", s->lost_total);
	json_open(j, "lost_by_reason", '{');
	for (i = 0; i < LOST_REASON_COUNT; i++)
		if (s->lost[i])
			json_unsigned(j, i ? event_lost_reason_name(i) : "unknown", s->lost[i]);
	json_close(j);
	json_unsigned(j, "unfinished", s->unfinished);
	json_unsigned(j, "unmatched_ends", s->unmatched_ends);
}

static void put_clocks(struct json_writer *j, const struct info *info)
{
	size_t i;

	json_open(j, "clocks", '[');
	for (i = 0; i < trace_reader_clock_count(info->reader); i++) {
		const struct trace_clock *clock = trace_reader_clock(info->reader, (uint32_t)i);
		const struct clock_fit *fit = trace_reader_fit(info->reader, (uint32_t)i);

		if (!clock)
			continue;
		json_open(j, NULL, '{');
		json_unsigned(j, "domain", i);
		json_text(j, "source", info_clock_name(clock->kind));
		json_unsigned(j, "rate_hz", clock->rate);
		json_unsigned(j, "pairs", fit ? fit->pairs : 0);
		json_fixed(j, "error_us", fit && fit->pairs ? fit->error_ns / 1e3 : NAN, 3); /* null: nothing tells */
		json_close(j);
	}
	json_close(j);
}

static void put_damage(struct json_writer *j, const struct info *info)
{
	const struct trace_report *report = trace_reader_report(info->reader);
	size_t i;

	json_bool(j, "has_index", report->has_index);
	json_unsigned(j, "damage_count", report->damage_count);
	json_unsigned(j, "damage_bytes", report->damage_bytes);
	json_open(j, "damage", '[');
	for (i = 0; i < report->damage_count && i < sizeof report->damage / sizeof report->damage[0]; i++) {
		json_open(j, NULL, '{');
		json_unsigned(j, "offset", report->damage[i].offset);
		json_unsigned(j, "size", report->damage[i].size);
		json_text(j, "reason", report->damage[i].reason);
		json_close(j);
	}
	json_close(j);
}

static void put_hosts(struct json_writer *j, const struct info *info)
{
	size_t i;

	json_open(j, "hosts", '[');
	for (i = 0; i < trace_reader_host_count(info->reader); i++) {
		const struct trace_host *host = trace_reader_host(info->reader, (uint32_t)i);

		if (!host)
			continue;
		json_open(j, NULL, '{');
		put_string(j, "name", info, host->name);
		put_string(j, "system", info, host->system);
		put_string(j, "machine", info, host->machine);
		json_close(j);
	}
	json_close(j);
}

static void put_processes(struct json_writer *j, const struct info *info)
{
	size_t i;

	json_open(j, "processes", '[');
	for (i = 0; i < trace_reader_process_count(info->reader); i++) {
		const struct trace_process *p = trace_reader_process(info->reader, (uint32_t)i);
		const struct trace_process *parent =
			p && p->parent >= 0 ? trace_reader_process(info->reader, (uint32_t)p->parent) : NULL;

		if (!p)
			continue;
		json_open(j, NULL, '{');
		json_unsigned(j, "process_id", p->pid);
		if (parent)
			json_unsigned(j, "parent_process_id", parent->pid);
		put_string(j, "name", info, p->name);
		put_string(j, "command", info, p->command);
		json_bool(j, "ended", p->flags & TRACE_PROCESS_ENDED);
		json_bool(j, "still_running", p->flags & TRACE_PROCESS_RUNNING);
		json_bool(j, "forked", p->flags & TRACE_PROCESS_FORKED);
		json_close(j);
	}
	json_close(j);
}

static void put_tracks(struct json_writer *j, const struct info *info)
{
	size_t i;

	json_open(j, "tracks", '[');
	for (i = 0; i < trace_reader_track_count(info->reader); i++) {
		const struct trace_track *track = trace_reader_track(info->reader, (uint32_t)i);
		const struct trace_process *p = track && track->process >= 0
							? trace_reader_process(info->reader, (uint32_t)track->process)
							: NULL;

		if (!track)
			continue;
		json_open(j, NULL, '{');
		json_text(j, "kind", info_track_kind(track->kind));
		if (p)
			json_unsigned(j, "process_id", p->pid);
		json_unsigned(j, track->kind == TRACK_THREAD || track->kind == TRACK_STATES ? "thread_id" : "id", track->os_id);
		put_string(j, "name", info, track->name);
		json_unsigned(j, "events", tally_count(&info->summary->tracks, (uint32_t)i));
		json_close(j);
	}
	json_close(j);
}

static void put_frame(struct json_writer *j, const struct info *info, const struct trace_frame *frame)
{
	if (!frame)
		return;
	if (frame->module)
		put_string(j, "module", info, frame->module);
	if (frame->file)
		put_string(j, "file", info, frame->file);
	if (frame->line)
		json_unsigned(j, "line", frame->line);
}

static void put_slices(struct json_writer *j, const char *key, const struct info *info, struct tally *tally)
{
	size_t i, count = tally_sort(tally);

	json_open(j, key, '[');
	for (i = 0; i < count && i < info->top; i++) {
		const struct tally_entry *entry = &tally->entries[i];

		json_open(j, NULL, '{');
		put_string(j, "name", info, entry->key);
		put_frame(j, info, trace_reader_function(info->reader, entry->key));
		json_unsigned(j, "count", entry->count);
		put_us(j, "total_us", entry->total_ns);
		put_us(j, "self_us", entry->self_ns > 0 ? entry->self_ns : 0);
		json_fixed(j, "mean_us", (double)entry->total_ns / (double)entry->count / 1e3, 3);
		put_us(j, "max_us", entry->max_ns);
		json_close(j);
	}
	json_close(j);
}

static void put_left_out(struct json_writer *j, const struct info *info)
{
	const char *text;
	size_t size;

	put_us(j, "unseen_us", info->summary->unseen_ns);
	json_unsigned(j, "skipped_calls", info_count(info->reader, "skipped_calls"));
	json_unsigned(j, "functions_seen", info_count(info->reader, "functions"));
	json_unsigned(j, "functions_skipped", info_count(info->reader, "functions_skipped"));
	json_unsigned(j, "short_calls", info_count(info->reader, "short_calls"));
	json_unsigned(j, "short_left_out", info_count(info->reader, "short_left_out"));
	json_fixed(j, "short_us", (double)info_count(info->reader, "short_ns") / 1e3, 3);
	json_open(j, "notes", '[');
	for (uint32_t i = 0; info_note(info->reader, i, &text, &size); i++)
		json_string(j, NULL, text, size);
	json_close(j);
}

int info_json(const struct info *info, struct buffer *out)
{
	struct json_writer j = { .out = out };

	json_open(&j, NULL, '{');
	put_head(&j, info);
	put_counts(&j, info);
	put_left_out(&j, info);
	put_value(&j, "gpu", info);
	put_value(&j, "sampling", info);
	put_value(&j, "sources", info); /* of an imported trace: the files it was made from */
	put_clocks(&j, info);
	put_damage(&j, info);
	put_hosts(&j, info);
	put_processes(&j, info);
	put_tracks(&j, info);
	put_slices(&j, "scopes", info, &info->summary->scopes);
	put_slices(&j, "functions", info, &info->summary->functions);
	put_slices(&j, "operators", info, &info->summary->operators);
	json_close(&j);
	return j.error;
}
