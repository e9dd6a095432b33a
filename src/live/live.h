/*
 * live.h - a program while it runs: looked at, judged, shown.
 *
 * Every interval a snapshot (snapshot.h) is made: what can be seen from outside
 * (outside.h), what the program records (inside.h), and what is alarming about
 * both (alerts.h).  The views get that one snapshot: the terminal (terminal.h),
 * lines of text where there is none (lines.h), and the process that serves the
 * page, /metrics and /api (serve.h).
 *
 * `monitor` looks on while the recorder records; `top` only looks.
 */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include <sys/types.h>

#include "base/error.h"
#include "live/alerts.h"
#include "live/serve.h"
#include "record/recorder.h"

enum live_view { LIVE_VIEW_NONE, LIVE_VIEW_LINES, LIVE_VIEW_TERMINAL };

struct live_options {
	double interval_s;  /* between snapshots */
	enum live_view view;
	bool color;
	const char *command; /* as it is shown */
	struct live_alert_options alerts;
	struct live_serve_options serve; /* address NULL: no page */
};

struct live;

int live_new(struct live **ret, const struct live_options *options, struct error *err);
void live_free(struct live *live);

/* For recorder_options. */
struct recorder_onlooker live_onlooker(struct live *live);

/* Looks at process pid and its descendants until it ends or the user does not want to see more. */
int live_top(struct live *live, pid_t pid, struct error *err);

#endif
