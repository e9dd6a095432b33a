/*
 * inside_told.c - what the program says of itself: its counters, and what it finds alarming.
 *
 * Counters are those that it records by itself, and custom metrics of LiveMonitor
 * of the Python package, which are counters too.  LiveMonitor marks the beginning
 * and the end of an alert by an instant of the name "alert: KIND" that has all of
 * it as metadata.  Any program can make such marks, of whatever names: there is
 * room for so many, and nothing in them is believed but that they are text.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "base/msgpack.h"
#include "live/inside_state.h"
#include "ring/fields.h"

#define MARK "alert: "
#define OURS "inferscope."
#define CRITICAL 0.9 /* as LiveMonitor has it */
#define WARNING 0.3

/* ---- Counters ------------------------------------------------------------------- */

static bool begins_with(const struct live_inside *in, uint32_t name, const char *with)
{
	size_t size;
	const char *text = drain_text(in->drain, name, &size);

	return size >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* The one that has been silent for longest makes room. */
static struct inside_counter *new_counter(struct live_inside *in)
{
	struct inside_counter *oldest = in->counters;

	if (in->counter_count < LIVE_COUNTERS)
		return &in->counters[in->counter_count++];
	for (uint32_t i = 1; i < LIVE_COUNTERS; i++)
		if (in->counters[i].heard < oldest->heard)
			oldest = &in->counters[i];
	return oldest;
}

void inside_counter(struct live_inside *in, uint32_t name, uint64_t time, double value)
{
	struct inside_counter *c = NULL;

	for (uint32_t i = 0; i < in->counter_count && !c; i++)
		if (in->counters[i].name == name)
			c = &in->counters[i];
	if (!c && begins_with(in, name, OURS))
		return;
	if (!c)
		c = new_counter(in);
	*c = (struct inside_counter){ name, time, value };
}

static void fill_counters(const struct live_inside *in, struct live_snapshot *s)
{
	s->counter_count = in->counter_count;
	for (uint32_t i = 0; i < in->counter_count; i++) {
		inside_copy_name(in, in->counters[i].name, s->counters[i].name, sizeof s->counters[i].name);
		s->counters[i].value = in->counters[i].value;
	}
}

/* ---- Alerts --------------------------------------------------------------------- */

static bool is_text(const struct msgpack_value *v, const char *text)
{
	return v->type == MSGPACK_STRING && v->size == strlen(text) && memcmp(v->data, text, v->size) == 0;
}

static void take_text(const struct msgpack_value *v, char *out, size_t size)
{
	if (v->type == MSGPACK_STRING)
		inside_copy_text((const char *)v->data, v->size, out, size);
}

static double number_of(const struct msgpack_value *v)
{
	return v->type == MSGPACK_DOUBLE ? v->number : v->type == MSGPACK_INT ? (double)v->integer : NAN;
}

static uint8_t severity_of(double share)
{
	return share >= CRITICAL ? LIVE_CRITICAL : share >= WARNING || isnan(share) ? LIVE_WARNING : LIVE_INFO;
}

static void take_pair(struct live_told *out, const struct msgpack_value *key, const struct msgpack_value *value, bool *begins, bool *ends)
{
	if (is_text(key, "state")) {
		*begins = is_text(value, "begins");
		*ends = is_text(value, "ends");
	} else if (is_text(key, "kind")) {
		take_text(value, out->kind, sizeof out->kind);
	} else if (is_text(key, "subject")) {
		take_text(value, out->subject, sizeof out->subject);
	} else if (is_text(key, "text")) {
		take_text(value, out->text, sizeof out->text);
	} else if (is_text(key, "advice")) {
		take_text(value, out->advice, sizeof out->advice);
	} else if (is_text(key, "severity")) {
		out->severity = severity_of(number_of(value));
	} else if (is_text(key, "value")) {
		out->value = number_of(value);
	} else if (is_text(key, "threshold")) {
		out->threshold = number_of(value);
	}
}

/* False: it is no such alert. */
static bool read_told(const struct field_value *metadata, struct live_told *ret, bool *ret_begins)
{
	struct cursor c = cursor_of(metadata->data, metadata->size);
	struct msgpack_value map, key, value;
	bool begins = false, ends = false;

	*ret = (struct live_told){ .severity = LIVE_WARNING, .value = NAN, .threshold = NAN };
	if (msgpack_read(&c, &map) != 0 || map.type != MSGPACK_MAP)
		return false;
	for (uint32_t i = 0; i < map.count; i++) {
		struct cursor inner;

		if (msgpack_read(&c, &key) != 0 || key.type != MSGPACK_STRING)
			return false;
		inner = c;
		if (msgpack_skip(&c) != 0 || msgpack_read(&inner, &value) != 0)
			return false;
		take_pair(ret, &key, &value, &begins, &ends);
	}
	*ret_begins = begins;
	return (begins || ends) && ret->kind[0];
}

static struct inside_told *find_told(struct live_inside *in, const struct live_told *told, pid_t pid)
{
	for (uint32_t i = 0; i < LIVE_TOLD; i++) {
		struct inside_told *t = &in->told[i];

		if (t->used && t->pid == pid && strcmp(t->told.kind, told->kind) == 0 && strcmp(t->told.subject, told->subject) == 0)
			return t;
	}
	return NULL;
}

static struct inside_told *new_told(struct live_inside *in)
{
	for (uint32_t i = 0; i < LIVE_TOLD; i++)
		if (!in->told[i].used)
			return &in->told[i];
	return NULL;
}

/* One that ends before anybody has looked is told all the same. */
static void hear_told(struct live_inside *in, const struct live_told *told, bool begins, pid_t pid)
{
	struct inside_told *t = find_told(in, told, pid);

	if (!begins) {
		if (t)
			t->active = false;
		return;
	}
	if (!t)
		t = new_told(in);
	if (t)
		*t = (struct inside_told){ .told = *told, .pid = pid, .used = true, .active = true, .fresh = true };
}

void inside_hear_mark(struct live_inside *in, const struct inside_track *track, const struct event_slot *slot)
{
	struct event_fields fields = event_fields_of(slot, slot->extra);
	struct field_value value;
	struct live_told told;
	bool begins;

	if (!slot->name || !begins_with(in, slot->name, MARK))
		return;
	while (event_fields_next(&fields, &value))
		if (value.field == FIELD_METADATA && read_told(&value, &told, &begins))
			hear_told(in, &told, begins, track->pid);
}

/* Whoever was killed says no more. */
static bool is_gone(pid_t pid)
{
	return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

static void fill_told(struct live_inside *in, struct live_snapshot *s)
{
	s->told_count = 0;
	for (uint32_t i = 0; i < LIVE_TOLD; i++) {
		struct inside_told *t = &in->told[i];

		if (!t->used)
			continue;
		if (t->active && is_gone(t->pid))
			t->active = false;
		if (t->active || t->fresh)
			s->told[s->told_count++] = t->told;
		t->fresh = false;
		t->used = t->active;
	}
}

void inside_told_fill(struct live_inside *in, struct live_snapshot *s)
{
	fill_counters(in, s);
	fill_told(in, s);
}
