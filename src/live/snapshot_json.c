/* snapshot_json.c - see snapshot_json.h. */
#include "live/snapshot_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_number(struct json_writer *j, const char *key, double value)
{
	char text[40];
	int size = snprintf(text, sizeof text, value == rint(value) && fabs(value) < 1e15 ? "%.0f" : "%.9g", value);

	json_raw(j, key, text, (size_t)size);
}

static void put_value(struct json_writer *j, const char *key, struct live_value value)
{
	switch (value.kind) {
	case LIVE_VALUE_NULL:
		json_null(j, key);
		break;
	case LIVE_VALUE_NUMBER:
		put_number(j, key, value.number);
		break;
	case LIVE_VALUE_INTEGER:
		json_integer(j, key, value.integer);
		break;
	case LIVE_VALUE_BOOL:
		json_bool(j, key, value.integer != 0);
		break;
	case LIVE_VALUE_TEXT:
		json_string(j, key, value.text, value.size);
		break;
	}
}

static void put_row(struct json_writer *j, const struct live_group *g, const struct live_snapshot *s, size_t row)
{
	for (const struct live_name *name = g->names; name->name; name++)
		put_value(j, name->name, live_value(g, s, row, name));
}

static void put_list(struct json_writer *j, const char *key, const struct live_group *g, const struct live_snapshot *s)
{
	size_t rows = live_group_rows(g, s);

	json_open(j, key, '[');
	for (size_t row = 0; row < rows; row++) {
		json_open(j, NULL, '{');
		put_row(j, g, s, row);
		json_close(j);
	}
	json_close(j);
}

void live_program_json(struct json_writer *j, const struct live_snapshot *s)
{
	put_row(j, &live_groups[0], s, 0);
}

void live_group_json(struct json_writer *j, const char *key, const struct live_group *g, const struct live_snapshot *s)
{
	if (g->list) {
		put_list(j, key, g, s);
		return;
	}
	json_open(j, key, '{');
	put_row(j, g, s, 0);
	for (const struct live_group *inner = live_groups; inner->name; inner++)
		if (strcmp(inner->within, g->name) == 0)
			put_list(j, inner->name, inner, s);
	json_close(j);
}

bool live_group_is_outer(const struct live_group *g)
{
	return g != &live_groups[0] && g->within[0] == '\0';
}

int live_snapshot_json(struct buffer *out, const struct live_snapshot *s, bool compact)
{
	struct json_writer j = { .out = out, .compact = compact };
	size_t before = out->size;

	json_open(&j, NULL, '{');
	live_program_json(&j, s);
	for (const struct live_group *g = live_groups; g->name; g++)
		if (live_group_is_outer(g))
			live_group_json(&j, g->name, g, s);
	json_close(&j);
	if (j.error)
		out->size = before;
	return j.error;
}
