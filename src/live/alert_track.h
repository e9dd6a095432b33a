/*
 * alert_track.h - alerts in the trace: instants on a track of their own, "alerts", whose metadata says what it was.
 */
#ifndef LIVE_ALERT_TRACK_H
#define LIVE_ALERT_TRACK_H

#include "live/snapshot.h"
#include "record/drain.h"

struct live_alert_track {
	struct drain *drain;        /* borrowed */
	struct trace_writer *writer; /* borrowed */
	enum clock_source clock;
	uint32_t track; /* plus one; 0: not made yet */
};

/* The alert has begun, become worse or ended just now (live_phase_name()). */
int live_alert_track_write(struct live_alert_track *track, const struct live_alert *alert, struct error *err);

#endif
