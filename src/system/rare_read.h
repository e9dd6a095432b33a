/*
 * rare_read.h - when something may be read again whose cost grows with what it is about.
 */
#ifndef SYSTEM_RARE_READ_H
#define SYSTEM_RARE_READ_H

#include <stdbool.h>
#include <stdint.h>

struct rare_read {
	int64_t every_ns; /* while it is cheap */
	int64_t dear_ns;  /* a reading that costs so much is followed by a long rest */
	int64_t next_ns;
	int64_t cost_ns; /* of the last one; before the first one, of what it may be */
	uint64_t size;   /* and what it was for */
};

/* Whether it is time, and a reading for so much (bytes, or whatever it grows with) is likely to be bearable. */
bool rare_read_due(const struct rare_read *rare, int64_t now_ns, uint64_t size);

/* Only the latter: whether it is likely to be bearable, whatever the last one has cost. */
bool rare_read_bearable(const struct rare_read *rare, uint64_t size);

/* The same when there will be no other: whether it is likely to be cheap, unless there was one a moment ago. */
bool rare_read_due_at_end(const struct rare_read *rare, int64_t now_ns, uint64_t size);

/* There was one. */
void rare_read_took(struct rare_read *rare, int64_t now_ns, int64_t cost_ns, uint64_t size);

#endif
