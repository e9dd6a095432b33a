/*
 * integrity_sources.c - what was lost before anybody could look at it.
 *
 * repaired_input  events of an imported file that could not be read: a warning, above 1 % failed; a file that ends in its
 *                 middle is a warning, events that were read in spite of a fault are a note
 * damaged_trace   parts of the trace file that could not be read: a warning, above 10 % of the file failed
 * lost_records    events that the recorder could not keep: a warning, above 10 % failed
 */
#include <string.h>

#include "analyze/parts.h"
#include "base/msgpack.h"

struct sources {
	uint64_t files, events, skipped, repaired, truncated;
};

static bool key_is(const struct msgpack_value *key, const char *text)
{
	return key->type == MSGPACK_STRING && key->size == strlen(text) && memcmp(key->data, text, key->size) == 0;
}

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
	if (key_is(&key, "events"))
		take_number(&value, &s->events);
	else if (key_is(&key, "skipped"))
		take_number(&value, &s->skipped);
	else if (key_is(&key, "repaired"))
		take_number(&value, &s->repaired);
	else if (key_is(&key, "truncated"))
		s->truncated += value.type == MSGPACK_BOOL && value.boolean;
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

static int check_repaired(struct parts *p)
{
	struct sources s = read_sources(p->t->reader);
	double part = s.events + s.skipped ? (double)s.skipped / (double)(s.events + s.skipped) : 0;
	enum check_status status = CHECK_OK;

	if (s.files == 0)
		return check_add(p, "repaired_input", CHECK_SKIPPED, 0, "the trace was not made from that of another tool");
	if (s.repaired)
		status = CHECK_NOTE;
	if (s.skipped || s.truncated)
		status = part > 0.01 ? CHECK_FAIL : CHECK_WARN;
	return check_add(p, "repaired_input", status, s.skipped + s.repaired,
			 "events that could not be read: %llu, %.2f %% (failed above 1 %%); read in spite of a fault: %llu; files that end in "
			 "their middle: %llu of %llu",
			 (unsigned long long)s.skipped, 100 * part, (unsigned long long)s.repaired, (unsigned long long)s.truncated,
			 (unsigned long long)s.files);
}

static int check_damage(struct parts *p)
{
	const struct trace_report *report = p->t->reader ? trace_reader_report(p->t->reader) : NULL;
	double part;

	if (!report || report->damage_count == 0)
		return check_add(p, "damaged_trace", CHECK_OK, 0, "all of the trace file could be read");
	part = (double)report->damage_bytes / (double)(trace_reader_size(p->t->reader) + 1);
	return check_add(p, "damaged_trace", part > 0.10 ? CHECK_FAIL : CHECK_WARN, report->damage_count,
			 "%zu places of the trace file, %llu bytes, could not be read, %.1f %% of it (failed above 10 %%)", report->damage_count,
			 (unsigned long long)report->damage_bytes, 100 * part);
}

static int check_lost(struct parts *p)
{
	const struct timeline *t = p->t;
	double part = t->lost ? (double)t->lost / ((double)t->lost + (double)t->events) : 0;

	return check_add(p, "lost_records", part > 0.10 ? CHECK_FAIL : t->lost ? CHECK_WARN : CHECK_OK, t->lost,
			 "%llu of %llu events were lost while recording, %.1f %% (failed above 10 %%)", (unsigned long long)t->lost,
			 (unsigned long long)(t->lost + t->events), 100 * part);
}

int check_sources(struct parts *p)
{
	int rc = check_repaired(p);

	if (rc == 0)
		rc = check_damage(p);
	return rc ? rc : check_lost(p);
}
