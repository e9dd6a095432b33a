/* info_text.c - `inferscope info` for people. */
#include "cmd/info_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/msgpack.h"
#include "base/text.h"
#include "cmd/printer.h"
#include "cmd/summary.h"
#include "trace/clock_fit.h"
#include "trace/copy.h"
#include "trace/program.h"
#include "trace/reader.h"

#define LABEL "%-12s"
#define NAME_WIDTH 32

static void print_string(const struct info *info, struct printer *out, uint32_t id, size_t columns)
{
	size_t size;
	const char *text = trace_reader_string(info->reader, id, &size);

	printer_terminal(out, text, size, columns);
}

static void print_name(const struct info *info, struct printer *out, uint32_t id)
{
	size_t size;
	const char *text = trace_reader_string(info->reader, id, &size);

	printer_cell(out, text, size, NAME_WIDTH);
}

static void print_command(const struct info *info, struct printer *out)
{
	struct msgpack_value array, word;
	struct cursor c;
	const uint8_t *raw;
	size_t size;
	uint32_t i;

	if (trace_reader_info_raw(info->reader, "command", &raw, &size) < 0)
		return;
	c = cursor_of(raw, size);
	if (msgpack_read(&c, &array) < 0 || array.type != MSGPACK_ARRAY)
		return;
	printer_printf(out, LABEL, "command");
	for (i = 0; i < array.count && msgpack_read(&c, &word) == 0 && word.type == MSGPACK_STRING; i++) {
		printer_printf(out, i ? " " : "");
		printer_terminal(out, (const char *)word.data, word.size, 0);
	}
	printer_printf(out, "\n");
}

static void print_sentence(struct printer *out, const char *label, const char *text)
{
	if (text[0] == '\0')
		return;
	printer_printf(out, LABEL, label);
	printer_terminal(out, text, strlen(text), 0);
	printer_printf(out, "\n");
}

static void print_ended(struct printer *out, const char *end)
{
	static const char front[] = "ended with ";
	bool exited = strncmp(end, front, sizeof front - 1) == 0;

	printer_printf(out, LABEL "%s", "ended", exited ? "exit " : end[0] ? "" : "not known");
	printer_terminal(out, end + (exited ? sizeof front - 1 : 0), strlen(end) - (exited ? sizeof front - 1 : 0), 0);
	printer_printf(out, "\n");
}

static void print_end(const struct info *info, struct printer *out)
{
	struct trace_program program;
	char text[PROGRAM_SENTENCE];
	const char *trouble;
	size_t size;

	trace_program_read(info->reader, &program);
	trace_program_say_end(&program, text);
	print_ended(out, text);
	trace_program_say_interpreter(&program, text);
	print_sentence(out, "run by", text);
	for (size_t i = 0; i < program.death_count; i++) {
		trace_program_say_death(&program.deaths[i], text);
		print_sentence(out, "killed", text);
	}
	if (trace_reader_info_string(info->reader, "trouble", &trouble, &size) == 0) {
		printer_printf(out, LABEL "is not whole: ", "recording");
		printer_terminal(out, trouble, size, 0);
		printer_printf(out, "\n");
	}
	if (!trace_reader_report(info->reader)->complete)
		printer_printf(out, LABEL "did not end normally: the trace goes as far as it was written\n",
			       "recording");
}

/* Of a trace that `trim` made. */
static void print_part(const struct info *info, struct printer *out)
{
	struct trace_part part;
	char from[40], to[40];

	if (!trace_part_read(info->reader, &part))
		return;
	printer_printf(out, LABEL "from %s to %s of a longer one%s\n", "part", text_duration(from, (double)part.from_ns),
		       part.to_ns < TRACE_PART_END ? text_duration(to, (double)part.to_ns) : "the end",
		       part.redacted ? ", with names, paths or arguments replaced" : "");
}

static void print_head(const struct info *info, struct printer *out)
{
	const struct summary *s = info->summary;
	uint64_t size = trace_reader_size(info->reader);
	char text[40], digits[32];
	int64_t start;

	printer_printf(out, LABEL, "trace");
	printer_terminal(out, info->path, strlen(info->path), 0);
	printer_printf(out, "\n");
	print_command(info, out);
	if (info_start_time(info->reader, &start))
		printer_printf(out, LABEL "%s\n", "started", info_format_time(text, start));
	printer_printf(out, LABEL "%s\n", "duration", text_duration(text, (double)s->duration_ns));
	print_end(info, out);
	print_part(info, out);
	printer_printf(out, LABEL "%s bytes", "size", text_group_digits(digits, size));
	if (s->events > 0)
		printer_printf(out, ", %.2f an event", (double)size / (double)s->events);
	printer_printf(out, "\n");
}

static void print_kinds(const struct info *info, struct printer *out)
{
	const struct summary *s = info->summary;
	char digits[32], number[24];
	unsigned kind;

	printer_printf(out, LABEL "%s\n", "events", text_group_digits(digits, s->events));
	for (kind = 0; kind < 256; kind++) {
		const char *name = event_kind_name(kind);

		snprintf(number, sizeof number, "kind %u", kind);
		if (s->kinds[kind])
			printer_printf(out, "  %-16s%15s\n", name ? name : number,
				       text_group_digits(digits, s->kinds[kind]));
	}
}

static void print_lost(const struct info *info, struct printer *out)
{
	static const char *const why[LOST_REASON_COUNT] = {
		[0] = "for an unknown reason",
		[LOST_OVERWRITTEN] = "overwritten before they were read",
		[LOST_REFUSED] = "refused because the buffer was full",
		[LOST_NO_BUFFER] = "because no buffer could be had",
		[LOST_REENTRY] = "in signal handlers that interrupted the recording",
		[LOST_NAMES] = "kept without their name (too many different names)",
		[LOST_UNWRITTEN] = "could not be written to the file",
		[LOST_DROPPED] = "in the oldest part, dropped on request",
		[LOST_UNREADABLE] = "unreadable in the buffer",
		[LOST_UNSEEN] = "not seen",
	};
	const struct summary *s = info->summary;
	char digits[32];
	unsigned reason;

	printer_printf(out, LABEL "%s\n", "lost", text_group_digits(digits, s->lost_total));
	for (reason = 0; reason < LOST_REASON_COUNT; reason++)
		if (s->lost[reason])
			printer_printf(out, "  %15s  %s\n", text_group_digits(digits, s->lost[reason]), why[reason]);
}

/* Where recording everything would have taken too much. */
static void print_detail(const struct info *info, struct printer *out)
{
	uint64_t below = info_count(info->reader, "short_ns"), left_out = info_count(info->reader, "short_left_out");
	uint64_t short_calls = info_count(info->reader, "short_calls");
	char duration[32], count[TEXT_COUNT_SIZE];

	if (!below)
		return;
	printer_printf(out, LABEL "%s of functions that take less than %s %s called", "detail",
		       text_count(count, short_calls, "call", "calls"), text_duration(duration, (double)below), short_calls == 1 ? "is without what it" : "are without what they");
	if (left_out)
		printer_printf(out, "; %s left out", text_count(count, left_out, "other was", "others were"));
	printer_printf(out, "\n");
}

/* What is not in the trace though nothing was lost. */
static void print_left_out(const struct info *info, struct printer *out)
{
	uint64_t calls = info_count(info->reader, "skipped_calls"), functions = info_count(info->reader, "functions");
	uint64_t skipped = info_count(info->reader, "functions_skipped");
	char digits[32], more[32], count[TEXT_COUNT_SIZE];

	if (info->summary->unseen_ns > 0)
		printer_printf(out, LABEL "calls were not seen for %s (deep recursion, or beside a short function that waited)\n", "unseen",
			       text_duration(more, (double)info->summary->unseen_ns));
	if (functions)
		printer_printf(out, LABEL "%s seen, %s of them left out as asked\n", "functions",
			       text_group_digits(digits, functions), text_group_digits(more, skipped));
	if (calls)
		printer_printf(out, LABEL "%s left out as asked\n", "skipped", text_count(count, calls, "call", "calls"));
	print_detail(info, out);
}

/* Of a program that used none, whether there is one goes without saying. */
/* What looking at threads from outside took, and how often it was done. */
static void print_sampling(const struct info *info, struct printer *out)
{
	int64_t threads, interval, slots, missed, pace, cpu;
	char count[TEXT_COUNT_SIZE];

	if (!info_sampling(info->reader, "threads", &threads) || !info_sampling(info->reader, "interval_ns", &interval) ||
	    !info_sampling(info->reader, "slots", &slots) || !info_sampling(info->reader, "missed", &missed) ||
	    !info_sampling(info->reader, "slowest_pace", &pace) || !info_sampling(info->reader, "cpu_ns", &cpu))
		return;
	printer_printf(out, LABEL "%s every %.0f ms", "sampling", text_count(count, (uint64_t)threads, "thread", "threads"), (double)interval / 1e6);
	if (pace > 1)
		printer_printf(out, ", at the slowest every %.0f", (double)interval / 1e6 * (double)pace);
	if (slots > 0 && missed >= 0 && interval > 0)
		printer_printf(out, ", for %.2f %% of a core", 100 * (double)cpu / (((double)slots + (double)missed) * (double)interval));
	printer_printf(out, "\n");
}

static void print_gpu(const struct info *info, struct printer *out)
{
	const char *text;
	size_t size;

	if (!info_gpu_library(info->reader, 0, &text, &size))
		return;
	printer_printf(out, LABEL "CUDA (", "gpu");
	for (uint32_t i = 0; info_gpu_library(info->reader, i, &text, &size); i++) {
		printer_printf(out, i ? ", " : "");
		printer_terminal(out, text, size, 0);
	}
	printer_printf(out, ")");
	if (info_gpu_text(info->reader, "driver_version", &text, &size)) {
		printer_printf(out, ", driver ");
		printer_terminal(out, text, size, 0);
	}
	if (info_gpu_flag(info->reader, "recorded"))
		printer_printf(out, "; device work is recorded%s", info_gpu_flag(info->reader, "missing") ? " in part" : "");
	else if (info_gpu_text(info->reader, "reason", &text, &size)) {
		printer_printf(out, "; device work is not recorded: ");
		printer_terminal(out, text, size, 0);
	}
	printer_printf(out, "\n");
}

static void print_notes(const struct info *info, struct printer *out)
{
	const char *text;
	size_t size;

	for (uint32_t i = 0; info_note(info->reader, i, &text, &size); i++) {
		printer_printf(out, LABEL, "note");
		printer_terminal(out, text, size, 0);
		printer_printf(out, "\n");
	}
}

static void print_clocks(const struct info *info, struct printer *out)
{
	size_t i, count = trace_reader_clock_count(info->reader);
	char text[32], readings[TEXT_COUNT_SIZE];

	for (i = 0; i < count; i++) {
		const struct trace_clock *clock = trace_reader_clock(info->reader, (uint32_t)i);
		const struct clock_fit *fit = trace_reader_fit(info->reader, (uint32_t)i);

		if (!clock)
			continue;
		printer_printf(out, LABEL "%s", "clock", info_clock_name(clock->kind));
		if (clock->rate > 0 && clock->rate != 1000000000)
			printer_printf(out, " at %.3f GHz", (double)clock->rate / 1e9);
		if (fit && fit->pairs > 0)
			printer_printf(out, ", within %s of CLOCK_MONOTONIC_RAW (%s)",
				       text_duration(text, fit->error_ns), text_count(readings, fit->pairs, "reading", "readings"));
		printer_printf(out, "\n");
	}
}

static void print_damage(const struct info *info, struct printer *out)
{
	const struct trace_report *report = trace_reader_report(info->reader);
	const size_t listed = sizeof report->damage / sizeof report->damage[0];
	char places[TEXT_COUNT_SIZE], bytes[TEXT_COUNT_SIZE];
	size_t i;

	if (info->summary->unfinished)
		printer_printf(out, LABEL "%" PRIu64 " whose end was not recorded\n", "unfinished",
			       info->summary->unfinished);
	if (info->summary->unmatched_ends)
		printer_printf(out, LABEL "%s without a begin\n", "unmatched",
			       text_count(places, info->summary->unmatched_ends, "end", "ends"));
	if (!report->has_index)
		printer_printf(out, LABEL "missing; the blocks were found by reading the whole file\n", "index");
	if (report->damage_count == 0)
		return;
	printer_printf(out, LABEL "%s, %s that could not be read\n", "damage", text_count(places, report->damage_count, "place", "places"),
		       text_count(bytes, report->damage_bytes, "byte", "bytes"));
	for (i = 0; i < report->damage_count && i < listed; i++)
		printer_printf(out, "  byte %" PRIu64 ", %s: %s\n", report->damage[i].offset,
			       text_count(bytes, report->damage[i].size, "byte", "bytes"), report->damage[i].reason);
	if (report->damage_count > listed)
		printer_printf(out, "  and %zu more\n", report->damage_count - listed);
}

static void print_hosts(const struct info *info, struct printer *out)
{
	size_t i;

	for (i = 0; i < trace_reader_host_count(info->reader); i++) {
		const struct trace_host *host = trace_reader_host(info->reader, (uint32_t)i);

		if (!host || !host->name)
			continue;
		printer_printf(out, LABEL, "host");
		print_string(info, out, host->name, 0);
		if (host->system) {
			printer_printf(out, " (");
			print_string(info, out, host->system, 0);
			printer_printf(out, ", ");
			print_string(info, out, host->machine, 0);
			printer_printf(out, ")");
		}
		printer_printf(out, "\n");
	}
}

static void print_processes(const struct info *info, struct printer *out)
{
	size_t i, shown = 0, count = trace_reader_process_count(info->reader);

	printer_printf(out, LABEL "%zu\n", "processes", count);
	for (i = 0; i < count && shown < info->top; i++) {
		const struct trace_process *p = trace_reader_process(info->reader, (uint32_t)i);

		if (!p)
			continue;
		printer_printf(out, "  pid %-10" PRIu64 "  ", p->pid);
		print_string(info, out, p->command ? p->command : p->name, 90);
		printer_printf(out, "%s\n", p->flags & TRACE_PROCESS_RUNNING ? "  (still running at the end)" : "");
		shown++;
	}
	if (shown < count)
		printer_printf(out, "  and %zu more\n", count - shown);
}

static void print_track(const struct info *info, struct printer *out, const struct tally_entry *entry)
{
	const struct trace_track *track = trace_reader_track(info->reader, entry->key);
	const struct trace_process *p =
		track && track->process >= 0 ? trace_reader_process(info->reader, (uint32_t)track->process) : NULL;
	char digits[32];

	printer_printf(out, "  pid %-10" PRIu64 "  %s %-10" PRIu64 "  %15s events  ", p ? p->pid : 0,
		       info_track_kind(track ? track->kind : 0), track ? track->os_id : 0,
		       text_group_digits(digits, entry->count));
	print_string(info, out, track ? track->name : 0, 0);
	printer_printf(out, "\n");
}

static void print_tracks(const struct info *info, struct printer *out)
{
	size_t i, count = tally_sort(&info->summary->tracks);

	printer_printf(out, LABEL "%zu with events\n", "tracks", count);
	for (i = 0; i < count && i < info->top; i++)
		print_track(info, out, &info->summary->tracks.entries[i]);
	if (i < count)
		printer_printf(out, "  and %zu more\n", count - i);
}

static void print_scopes(const struct info *info, struct printer *out)
{
	size_t i, count = tally_sort(&info->summary->scopes);
	char digits[32], total[32], mean[32], longest[32];

	if (count == 0 || info->top == 0)
		return;
	printer_printf(out, "\n%-*s  %15s  %12s  %12s  %12s\n", NAME_WIDTH, "scope", "count", "total", "mean",
		       "longest");
	for (i = 0; i < count && i < info->top; i++) {
		const struct tally_entry *entry = &info->summary->scopes.entries[i];

		print_name(info, out, entry->key);
		printer_printf(out, "  %15s  %12s  %12s  %12s\n", text_group_digits(digits, entry->count),
			       text_duration(total, (double)entry->total_ns),
			       text_duration(mean, (double)entry->total_ns / (double)entry->count),
			       text_duration(longest, (double)entry->max_ns));
	}
	if (i < count)
		printer_printf(out, "and %zu more\n", count - i);
}

static void print_where(const struct info *info, struct printer *out, uint32_t name)
{
	const struct trace_frame *frame = trace_reader_function(info->reader, name);

	if (!frame || !frame->file)
		return;
	printer_printf(out, "  ");
	print_string(info, out, frame->file, 0);
	if (frame->line)
		printer_printf(out, ":%" PRIu32, frame->line);
}

/* Functions and operators: slices that call each other. */
static void print_calls(const struct info *info, struct printer *out, const char *title, const char *where, struct tally *tally)
{
	size_t i, count = tally_sort(tally);
	char digits[32], total[32], self[32], longest[32];

	if (count == 0 || info->top == 0)
		return;
	printer_printf(out, "\n%-*s  %15s  %12s  %12s  %12s%s\n", NAME_WIDTH, title, "calls", "total", "self", "longest", where);
	for (i = 0; i < count && i < info->top; i++) {
		const struct tally_entry *entry = &tally->entries[i];

		print_name(info, out, entry->key);
		printer_printf(out, "  %15s  %12s  %12s  %12s", text_group_digits(digits, entry->count),
			       text_duration(total, (double)entry->total_ns),
			       text_duration(self, entry->self_ns > 0 ? (double)entry->self_ns : 0),
			       text_duration(longest, (double)entry->max_ns));
		print_where(info, out, entry->key);
		printer_printf(out, "\n");
	}
	if (i < count)
		printer_printf(out, "and %zu more\n", count - i);
}

void info_print_text(const struct info *info, struct printer *out)
{
	print_head(info, out);
	print_kinds(info, out);
	print_lost(info, out);
	print_left_out(info, out);
	print_sampling(info, out);
	print_gpu(info, out);
	print_notes(info, out);
	print_clocks(info, out);
	print_damage(info, out);
	print_hosts(info, out);
	print_processes(info, out);
	print_tracks(info, out);
	print_scopes(info, out);
	print_calls(info, out, "function", "  where", &info->summary->functions);
	print_calls(info, out, "operator", "", &info->summary->operators);
}
