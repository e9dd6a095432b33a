/*
 * causality.h - what the host knows about when a device worked.
 *
 * Work begins after the call that launched it began, and ends before a call
 * returns that waited for it.  causality_items.c collects this, causality.c
 * draws the conclusions.
 */
#ifndef TIMELINE_CAUSALITY_H
#define TIMELINE_CAUSALITY_H

#include "timeline/build.h"

#define NEVER INT64_MAX

struct work_item {
	int64_t launch;     /* the call that launched it began */
	int64_t until;      /* a call that waited for it returned; NEVER: none is known */
	int64_t begin, end;
	int64_t place;      /* about when it ran, also where the device's clock was set back: never falls on a stream */
	int64_t by;         /* it was moved */
	uint32_t slice, track;
	bool alone;         /* its times are wrong, and nothing else's are */
};
struct work_items {
	struct work_item *items; /* by place */
	size_t count, capacity;
};

/* A call that returned when work was done. */
struct waited {
	uint64_t scope; /* a stream, or a device as a process uses it */
	int64_t begin, end;
};
struct waited_list {
	struct waited *items; /* by scope and begin */
	size_t count, capacity;
};

int waited_collect(const struct builder *b, struct waited_list *list);
/* The launched work of a device. */
int items_collect(const struct builder *b, uint32_t device, const struct waited_list *list, struct work_items *items);

#endif
