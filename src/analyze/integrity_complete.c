/*
 * integrity_complete.c - is all of the recording there, to its end?
 *
 * complete  what the recorder knows it could not write is failed, however little it was: what it would have shown is not
 *           known; a recording without an end, one that was recovered, and one in which something else went wrong, is a
 *           warning
 *
 * A trace that several were joined into has what each said of itself in `sources` (docs/sbt-format.md).
 */
#include <stdio.h>
#include <string.h>

#include "analyze/parts.h"
#include "base/msgpack.h"
#include "base/text.h"

/* What recordings say of their end, all that a trace was made of together. */
struct endings {
	uint64_t recordings, endless, recovered, unwritten;
	char trouble[200]; /* of the first that has some */
};

struct ending {
	bool recording, complete, recovered; /* recording: it is one of ours */
	uint64_t unwritten;
	struct msgpack_value trouble;
};

static void take_value(struct ending *e, const struct msgpack_value *key, const struct msgpack_value *value)
{
	if (msgpack_is_text(key, "settings"))
		e->recording = true;
	else if (msgpack_is_text(key, "complete"))
		e->complete = value->type == MSGPACK_BOOL && value->boolean;
	else if (msgpack_is_text(key, "recovered"))
		e->recovered = value->type == MSGPACK_BOOL && value->boolean;
	else if (msgpack_is_text(key, "unwritten") && value->type == MSGPACK_INT && value->integer > 0)
		e->unwritten = (uint64_t)value->integer;
	else if (msgpack_is_text(key, "trouble") && value->type == MSGPACK_STRING)
		e->trouble = *value;
}

static void add_ending(struct endings *all, const struct ending *e)
{
	if (!e->recording)
		return;
	all->recordings++;
	all->endless += !e->complete && !e->recovered;
	all->recovered += e->recovered;
	if (__builtin_add_overflow(all->unwritten, e->unwritten, &all->unwritten))
		all->unwritten = UINT64_MAX;
	if (!all->trouble[0] && e->trouble.size)
		snprintf(all->trouble, sizeof all->trouble, "%.*s", (int)(e->trouble.size < 190 ? e->trouble.size : 190),
			 (const char *)e->trouble.data);
}

/* What the trace says of itself. */
static void read_own(struct endings *all, const struct trace_reader *reader)
{
	static const char *const keys[] = { "settings", "complete", "recovered", "unwritten", "trouble" };
	struct ending e = { 0 };
	const uint8_t *data;
	size_t size;

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		struct msgpack_value key = { .type = MSGPACK_STRING, .data = (const uint8_t *)keys[i], .size = (uint32_t)strlen(keys[i]) };
		struct msgpack_value value;
		struct cursor c;

		if (trace_reader_info_raw(reader, keys[i], &data, &size) < 0)
			continue;
		c = cursor_of(data, size);
		if (msgpack_read(&c, &value) == 0)
			take_value(&e, &key, &value);
	}
	add_ending(all, &e);
}

static void take_property(void *arg, const struct msgpack_value *key, struct cursor c)
{
	struct msgpack_value value;

	if (msgpack_read(&c, &value) == 0)
		take_value(arg, key, &value);
}

static void take_source(void *arg, const struct msgpack_value *key, struct cursor c)
{
	if (msgpack_is_text(key, "properties"))
		(void)msgpack_each(&c, take_property, arg);
}

/* What those say of themselves that it was made of. */
static void read_sources(struct endings *all, const struct trace_reader *reader)
{
	struct msgpack_value list;
	const uint8_t *data;
	struct cursor c;
	size_t size;

	if (trace_reader_info_raw(reader, "sources", &data, &size) < 0)
		return;
	c = cursor_of(data, size);
	if (msgpack_read(&c, &list) < 0 || list.type != MSGPACK_ARRAY)
		return;
	for (uint32_t i = 0; i < list.count; i++) {
		struct ending e = { 0 };

		if (msgpack_each(&c, take_source, &e) != 0)
			break;
		add_ending(all, &e);
	}
}

static int say_endless(struct parts *p, const struct endings *all)
{
	return check_add(p, "complete", CHECK_WARN, all->endless,
			 "the recording has no end: its recorder was killed, or is still at work; what came after its last block is missing, "
			 "and what was lost is not known%s%s",
			 all->trouble[0] ? "; " : "", all->trouble);
}

static int say_recovered(struct parts *p, const struct endings *all)
{
	return check_add(p, "complete", CHECK_WARN, all->recovered,
			 "the recording has no regular end: it was recovered after its recorder had been killed; what is seen from outside "
			 "stops there, and how the program ended is not known%s%s",
			 all->trouble[0] ? "; " : "", all->trouble);
}

int check_complete(struct parts *p)
{
	struct endings all = { 0 };
	char count[TEXT_COUNT_SIZE];

	if (p->t->reader) {
		read_own(&all, p->t->reader);
		read_sources(&all, p->t->reader);
	}
	if (all.recordings == 0)
		return check_add(p, "complete", CHECK_SKIPPED, 0, "the trace does not say whether its recording came to its end");
	if (all.unwritten)
		return check_add(p, "complete", CHECK_FAIL, all.unwritten,
				 "the recording is not whole: %s could not be written%s%s%s", text_count(count, all.unwritten, "event", "events"),
				 all.trouble[0] ? " (" : "", all.trouble, all.trouble[0] ? ")" : "");
	if (all.endless)
		return say_endless(p, &all);
	if (all.recovered)
		return say_recovered(p, &all);
	if (all.trouble[0])
		return check_add(p, "complete", CHECK_WARN, 1, "the recording is not whole: %s", all.trouble);
	return check_add(p, "complete", CHECK_OK, 0, "the recording came to its end");
}
