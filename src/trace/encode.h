/*
 * encode.h - slots in, payload of an events block out (docs/sbt-format.md,
 * section 3).  Knows nothing of files.
 *
 *      encoder_begin(e, domain);
 *      for each track:  encoder_segment(e, track, source_index);  encoder_slots(e, slots, count);  ...
 *      encoder_finish(e, &payload, &summary);
 *
 * The stacks of open slices live here, from block to block.  After a failure
 * the block is lost but the encoder goes on with the next.
 */
#ifndef TRACE_ENCODE_H
#define TRACE_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "ring/event.h"

struct encode_summary {
	uint32_t count;  /* events */
	uint32_t losses; /* `lost` events among them, those of reason LOST_UNSEEN excepted */
	uint64_t lost;   /* what these count, reason LOST_NAMES excepted */
	int64_t first_time, last_time;
	size_t open; /* slices in the table of open tracks */
};

struct encoder;
int encoder_new(struct encoder **ret);
void encoder_free(struct encoder *e);

int encoder_begin(struct encoder *e, uint32_t domain);
/* The slots that follow belong to this track.  Once a track and block. */
int encoder_segment(struct encoder *e, uint32_t track, uint64_t source_index);
int encoder_slots(struct encoder *e, const struct event_slot *slots, size_t count);
/* Appends to payload.  A block without events gets the last time seen in its domain. */
int encoder_finish(struct encoder *e, struct buffer *payload, struct encode_summary *ret);

/* The lowest clock domain from `from` on that has open slices. */
bool encoder_open_domain(const struct encoder *e, uint32_t from, uint32_t *ret);

/* What the slots would be counted as, without encoding them. */
void encoder_count(const struct event_slot *slots, size_t count, struct encode_summary *sum);

#endif
