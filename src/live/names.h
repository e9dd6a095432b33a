/*
 * names.h - what everything in a snapshot is called: in /api, and as tables and columns in the expressions of rules.
 *
 * A group is a part of the snapshot that is there once ("memory"), or a list
 * ("threads"); each has names with a type and a place.  Whoever writes or reads a
 * snapshot by name walks these tables, so that all of them agree.
 */
#ifndef LIVE_NAMES_H
#define LIVE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/snapshot.h"

enum live_type {
	LIVE_NUMBER,   /* double; NAN: not known */
	LIVE_U32,
	LIVE_U64,
	LIVE_I32,
	LIVE_I64,
	LIVE_BOOL,
	LIVE_STRING,   /* array of char; "": not known */
	LIVE_LETTER,   /* one char; 0: not known */
	LIVE_STATE_OF, /* uint8_t, enum live_state, by its name */
	LIVE_SEVERITY_OF, /* uint8_t, enum live_severity, by its name */
};

struct live_name {
	const char *name;
	enum live_type type;
	size_t offset; /* in the group's part, or in an item of the list */
};

struct live_group {
	const char *name;   /* of the table */
	const char *within; /* the group that it stands in in /api; "": in the outermost object */
	bool list;
	const struct live_name *names; /* ends with a name of NULL */
	size_t offset;       /* of the part, or of the first item, in struct live_snapshot */
	size_t size;         /* of an item */
	size_t count_offset; /* of the uint32_t that counts the items */
	size_t max;          /* items, at most */
};

/* The first is "program": what stands in the outermost object itself.  Ends with a name of NULL. */
extern const struct live_group live_groups[];

/* How many rows a group has: 1 for one that is no list. */
size_t live_group_rows(const struct live_group *group, const struct live_snapshot *snapshot);
/* One value of one row. */
struct live_value {
	enum live_value_kind { LIVE_VALUE_NULL, LIVE_VALUE_NUMBER, LIVE_VALUE_INTEGER, LIVE_VALUE_BOOL, LIVE_VALUE_TEXT } kind;
	double number;
	int64_t integer; /* of a truth value: 0 or 1 */
	const char *text; /* size bytes, no NUL behind them */
	size_t size;
};
struct live_value live_value(const struct live_group *group, const struct live_snapshot *snapshot, size_t row,
			     const struct live_name *name);

const char *live_state_name(unsigned state);       /* "running" */
const char *live_severity_name(unsigned severity); /* "warning" */
/* What is told of an alert by handing it on: "begin", "worse" or "end". */
const char *live_phase_name(const struct live_alert *alert);

#endif
