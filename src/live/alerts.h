/*
 * alerts.h - what is alarming about a snapshot: begun once, ended once, and told when it becomes worse.
 *
 *      struct live_alerts *alerts;
 *      live_alerts_new(&alerts, &options, &err);
 *      live_alerts_judge(alerts, snapshot);    every interval; fills snapshot->alerts
 *      while (live_alerts_next(alerts, &alert))
 *              what begins, becomes worse and ends (live_phase_name()): actions.h, alert_track.h, lines.h
 *
 * A condition must hold for a while before it is an alert and must be gone for a
 * while, and clearly, before the alert has ended.  Time is that of the
 * snapshots (run_s).  What is done about an alert is in actions.h.
 */
#ifndef LIVE_ALERTS_H
#define LIVE_ALERTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "live/snapshot.h"

#define LIVE_RULES 64u         /* of the user */
#define LIVE_RULE_TEXT 8192u   /* bytes */

struct live_alert_options {
	double memory;      /* share of the memory; 0.8 */
	double gpu_memory;  /* 0.9 */
	double bottleneck;  /* share of the time that is worth a word; 0.05 */
	double stall;       /* no step for so many times the usual; 10 */
	double growth_minutes; /* memory that grows and will be full within this; 30 */
	const char *const *rules; /* "NAME: EXPRESSION" in SQL over the names of /api (names.h); see docs/monitor.md */
	size_t rule_count;
};
#define LIVE_ALERT_OPTIONS_INIT { .memory = 0.8, .gpu_memory = 0.9, .bottleneck = 0.05, .stall = 10, .growth_minutes = 30 }

struct live_alerts;

/* Fails with err->exit_code 2 and a sentence when a rule cannot be understood. */
int live_alerts_new(struct live_alerts **ret, const struct live_alert_options *options, struct error *err);
void live_alerts_free(struct live_alerts *alerts);
void live_alerts_judge(struct live_alerts *alerts, struct live_snapshot *snapshot);

/* An alert that began, rose in severity or ended with the last judging; false when there is no more.  Each is told once. */
bool live_alerts_next(struct live_alerts *alerts, struct live_alert *ret);

#endif
