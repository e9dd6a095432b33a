/*
 * metrics.h - a snapshot as metrics, in the text format of OpenMetrics 1.0: what /metrics says.
 *
 * Names and meanings are in docs/monitor.md.  What is not known is left out.
 */
#ifndef LIVE_METRICS_H
#define LIVE_METRICS_H

#include "base/buffer.h"
#include "live/snapshot.h"

#define LIVE_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Sums over all snapshots so far, of what these tell by the second; NAN: never known. */
struct live_totals {
	double queue_s, throttled_s, gil_wait_s;
	double minor_faults, major_faults;
	double read_bytes, written_bytes;
	double received_bytes, sent_bytes;
};

void live_totals_init(struct live_totals *totals);
void live_totals_add(struct live_totals *totals, const struct live_snapshot *snapshot);

/* Appended; 0 or -ENOMEM, and then nothing. */
int live_metrics(struct buffer *out, const struct live_snapshot *snapshot, const struct live_totals *totals);

#endif
