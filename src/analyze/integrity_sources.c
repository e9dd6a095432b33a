/*
 * integrity_sources.c - what was lost before anybody could look at it.
 *
 * repaired_input  events of an imported file that could not be read: a warning, above 1 % failed; a file that ends in its
 *                 middle is a warning, events that were read in spite of a fault are a note
 * damaged_trace   parts of the trace file that could not be read: a warning, above 10 % of the file failed
 * lost_records    events that the recorder could not keep: a warning, above 10 % failed; what was dropped as asked, so that
 *                 the trace keeps to its size, is a note
 * call_detail     calls that the recorder did not look into, so that the program would not be slower for it: a note
 */
#include <stdio.h>
#include <string.h>

#include "analyze/parts.h"
#include "base/msgpack.h"
#include "base/text.h"

struct sources {
	uint64_t files, events, skipped, left_out, repaired, truncated, aligned;
};

static void take_number(const struct msgpack_value *value, uint64_t *sum)
{
	if (value->type == MSGPACK_INT && value->integer > 0)
		*sum += (uint64_t)value->integer;
}

/* One value of a source's map. */
static int read_pair(struct cursor *c, struct sources *s)
{
	struct msgpack_value key, value;
	struct cursor after;
	int rc = msgpack_read(c, &key);

	if (rc == 0 && (key.type == MSGPACK_MAP || key.type == MSGPACK_ARRAY))
		rc = -1;
	after = *c;
	if (rc == 0)
		rc = msgpack_skip(&after);
	if (rc == 0)
		rc = msgpack_read(c, &value);
	if (rc)
		return rc;
	if (msgpack_is_text(&key, "events"))
		take_number(&value, &s->events);
	else if (msgpack_is_text(&key, "skipped"))
		take_number(&value, &s->skipped);
	else if (msgpack_is_text(&key, "left_out"))
		take_number(&value, &s->left_out);
	else if (msgpack_is_text(&key, "repaired"))
		take_number(&value, &s->repaired);
	else if (msgpack_is_text(&key, "truncated"))
		s->truncated += value.type == MSGPACK_BOOL && value.boolean;
	else if (msgpack_is_text(&key, "aligned"))
		s->aligned++;
	*c = after;
	return 0;
}

static int read_source(struct cursor *c, struct sources *s)
{
	struct msgpack_value map;
	int rc = msgpack_read(c, &map);

	if (rc == 0 && map.type != MSGPACK_MAP)
		return -1;
	for (uint32_t i = 0; rc == 0 && i < map.count; i++)
		rc = read_pair(c, s);
	s->files++;
	return rc;
}

static struct sources read_sources(const struct trace_reader *reader)
{
	struct msgpack_value list;
	struct sources s = { 0 };
	const uint8_t *data;
	struct cursor c;
	size_t size;

	if (!reader || trace_reader_info_raw(reader, "sources", &data, &size) < 0)
		return s;
	c = cursor_of(data, size);
	if (msgpack_read(&c, &list) < 0 || list.type != MSGPACK_ARRAY)
		return s;
	for (uint32_t i = 0; i < list.count; i++)
		if (read_source(&c, &s) < 0)
			break;
	return s;
}

uint64_t sources_aligned(const struct trace_reader *reader)
{
	struct sources s = read_sources(reader);

	return s.files > 1 ? s.aligned : 0;
}

static int check_repaired(struct parts *p)
{
	struct sources s = read_sources(p->t->reader);
	double part = s.events + s.skipped ? (double)s.skipped / (double)(s.events + s.skipped) : 0;
	enum check_status status = CHECK_OK;
	char left_out[80] = "";

	if (s.left_out > s.skipped)
		s.left_out = s.skipped;
	if (s.left_out)
		snprintf(left_out, sizeof left_out, " (and left out, since a trace cannot have them: %llu)", (unsigned long long)s.left_out);
	if (s.files == 0)
		return check_add(p, "repaired_input", CHECK_SKIPPED, 0, "the trace was not made from that of another tool");
	if (s.repaired)
		status = CHECK_NOTE;
	if (s.skipped || s.truncated)
		status = part > 0.01 ? CHECK_FAIL : CHECK_WARN;
	return check_add(p, "repaired_input", status, s.skipped + s.repaired,
			 "events that could not be read: %llu%s, %.2f %% (failed above 1 %%); read in spite of a fault: %llu; files that end in "
			 "their middle: %llu of %llu",
			 (unsigned long long)(s.skipped - s.left_out), left_out, 100 * part, (unsigned long long)s.repaired, (unsigned long long)s.truncated,
			 (unsigned long long)s.files);
}

static int check_damage(struct parts *p)
{
	const struct trace_report *report = p->t->reader ? trace_reader_report(p->t->reader) : NULL;
	char places[TEXT_COUNT_SIZE], bytes[TEXT_COUNT_SIZE];
	double part;

	if (!report || report->damage_count == 0)
		return check_add(p, "damaged_trace", CHECK_OK, 0, "all of the trace file could be read");
	part = (double)report->damage_bytes / (double)(trace_reader_size(p->t->reader) + 1);
	return check_add(p, "damaged_trace", part > 0.10 ? CHECK_FAIL : CHECK_WARN, report->damage_count,
			 "%s of the trace file, %s, could not be read, %.1f %% of it (failed above 10 %%)",
			 text_count(places, report->damage_count, "place", "places"), text_count(bytes, report->damage_bytes, "byte", "bytes"),
			 100 * part);
}

struct reason_words {
	unsigned reason;
	const char *words;
};

/* Appends "; 12 WORDS" for each reason there is. */
static void say_reasons(char *out, size_t size, const struct timeline *t)
{
	static const struct reason_words reasons[] = {
		{ LOST_OVERWRITTEN, "were overwritten by newer ones before they were read (a larger trace_size_mb keeps them)" },
		{ LOST_REFUSED, "were refused because the buffer was full (a larger trace_size_mb keeps them)" },
		{ LOST_NO_BUFFER, "found no buffer" },
		{ LOST_REENTRY, "came from signal handlers that interrupted the recording" },
		{ LOST_UNWRITTEN, "could not be written to the file" },
		{ LOST_DROPPED, "were dropped as asked, being the oldest" },
		{ LOST_UNREADABLE, "were unreadable in the buffer" },
	};
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0] && used < size; i++)
		if (t->lost_by_reason[reasons[i].reason])
			used += (size_t)snprintf(out + used, size - used, "; %llu %s",
						 (unsigned long long)t->lost_by_reason[reasons[i].reason], reasons[i].words);
}

static int check_lost(struct parts *p)
{
	const struct timeline *t = p->t;
	uint64_t asked = t->lost_by_reason[LOST_DROPPED] < t->lost ? t->lost_by_reason[LOST_DROPPED] : t->lost, lost = t->lost - asked;
	double part = lost ? (double)lost / ((double)lost + (double)t->events) : 0;
	char reasons[384];

	say_reasons(reasons, sizeof reasons, t);
	return check_add(p, "lost_records", part > 0.10 ? CHECK_FAIL : lost ? CHECK_WARN : asked ? CHECK_NOTE : CHECK_OK, lost + asked,
			 "%llu of %llu events were lost while recording, %.1f %% (failed above 10 %%)%s", (unsigned long long)lost,
			 (unsigned long long)(lost + t->events), 100 * part, reasons);
}

/* What the recorder left out so that the program would not be slower for it. */
static int check_detail(struct parts *p)
{
	int64_t below = 0, calls = 0;
	char text[32];

	if (!p->t->reader || trace_reader_info_integer(p->t->reader, "short_ns", &below) < 0 || below <= 0)
		return 0;
	(void)trace_reader_info_integer(p->t->reader, "short_calls", &calls);
	return check_add(p, "call_detail", CHECK_NOTE, calls < 0 ? 0 : (uint64_t)calls,
			 "to record every call would have slowed the program down, so functions that take less than %s were not looked into, or "
			 "were left out: what they do is time of theirs, or of whoever called them (--detail full records everything)",
			 format_time(text, below));
}

int check_sources(struct parts *p)
{
	int rc = check_repaired(p);

	if (rc == 0)
		rc = check_damage(p);
	if (rc == 0)
		rc = check_detail(p);
	return rc ? rc : check_lost(p);
}
