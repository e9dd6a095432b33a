/*
 * json_export.h - the insides of the exports to Chrome's JSON and to Kineto's,
 * which is a dialect of it: json_head.c (what is said of the trace as a
 * whole), json_event.c (rows become events), json_args.c (their arguments),
 * json_place.c (processes and threads), json_lanes.c (slices that cross),
 * json_extra.c (findings and steps), json_write.c (all of it).
 *
 * Rows are written as they come.  What is kept has the size of the dictionary.
 */
#ifndef EXPORT_JSON_EXPORT_H
#define EXPORT_JSON_EXPORT_H

#include "export/export.h"
#include "export/json_lanes.h"
#include "export/json_out.h"
#include "export/json_place.h"
#include "rows/row.h"

/* What an importer of Chrome's JSON kept of the event as it stood there, at the front of its metadata. */
struct json_origin {
	struct trace_text category; /* size 0: none */
	char phase, scope;          /* 0: none */
	struct cursor pid, tid;     /* values; at is NULL: none */
	struct cursor args;         /* what is left */
	uint32_t arg_count;
};

/* Numbers for calls of Python functions, as torch gives them: of each depth of a track, that of the call that is open there, once
 * a call inside it has asked for it. */
struct json_calls {
	struct call_stack {
		uint64_t *ids;
		size_t count;
	} *tracks;
	size_t track_count;
	size_t room; /* of all of them together */
	uint64_t last;
};

struct json_export {
	struct trace_reader *reader;
	const struct export_options *options;
	struct export_out *out;
	bool kineto;
	bool imported;    /* from files of other tools */
	bool launches;    /* arrows from calls to device work are made, since the trace has none */
	bool begun;       /* there was an event already */
	int64_t shift;    /* to be added to times since the start of the trace */
	struct json_places places;
	struct json_lanes lanes;
	struct json_calls calls;
	uint8_t *call_names; /* by string: 0 not looked at, 1 a call that launches nothing, 2 one that does */
	bool *correlated;    /* by track: what is on it says its correlation */
	uint64_t *launched;  /* by track: the last correlation with which an arrow left */
	uint64_t *sequences; /* by track: the last number of an operator of which an arrow left, plus one */
};

/* json_write.c: the two formats. */
int json_export_write(struct trace_reader *reader, const struct export_options *options, struct export_out *out, bool kineto,
		      struct error *err);

/* json_head.c: the opening brace and all members up to the events. */
void json_head_to(struct json_export *x);

/* json_event.c: what row_walk() calls. */
int json_gather_row(void *arg, const struct row *row);
int json_write_row(void *arg, const struct row *row);
void json_begin_event(struct json_export *x); /* the comma and the line */
bool json_is_launch(const char *name, size_t size); /* of an arrow from a call to device work */
/* A number for an arrow or a range, that JSON can hold and no other group of events has. */
uint64_t json_unique(uint64_t group, uint64_t id);

/* json_args.c */
struct json_origin json_origin_of(const struct row *row);
void json_args_to(struct json_export *x, const struct row *row, const struct json_origin *origin);

/* json_extra.c */
void json_findings_to(struct json_export *x);
void json_steps_to(struct json_export *x);
int json_call_ids(struct json_calls *calls, const struct row *row, uint64_t *ret_id, uint64_t *ret_parent); /* or -ENOMEM */
void json_calls_release(struct json_calls *calls);

#endif
