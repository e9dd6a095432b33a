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
#include "live/actions.h"
#include "live/alerts.h"
#include "live/serve.h"
#include "record/recorder.h"

enum live_view { LIVE_VIEW_NONE, LIVE_VIEW_LINES, LIVE_VIEW_TERMINAL };

struct live_options {
	double interval_s;  /* between snapshots */
	enum live_view view; /* a terminal that can have no view gets lines */
	bool color;
	bool output;         /* the program is started by us: keep its output off the view */
	const char *title;   /* of the view */
	const char *command; /* as it is shown */
	const char *program; /* the same without arguments, as /metrics has it */
	const char *step;    /* what a step is called; NULL: find out */
	struct live_alert_options alerts;
	const struct live_action *actions;
	size_t action_count;
	struct live_serve_options serve; /* address NULL: no page */
	uint64_t looks;      /* of live_top(): so many snapshots; 0: until the end */
	int (*print)(void *arg, const char *text, size_t size); /* whole lines; must not wait.  Negative: nobody will read any more */
	void *print_arg;
};

struct live;

int live_new(struct live **ret, const struct live_options *options, struct error *err);
void live_free(struct live *live); /* the terminal is as it was */

/* For recorder_options. */
struct recorder_onlooker live_onlooker(struct live *live);
/* What the program is to have for its standard streams, so that it does not write onto the view; -1: what it has. */
void live_streams(const struct live *live, int streams[3]);

/* Looks at process pid and its descendants until it ends or the user does not want to see more: has quit the view, or reads neither
 * lines nor a page any more.  Fails with err->exit_code 4 when there is no such process. */
int live_top(struct live *live, pid_t pid, struct error *err);

enum live_view live_view_of(const struct live *live); /* what it has become */
const struct live_snapshot *live_last(const struct live *live);
const char *live_url(const struct live *live); /* of the page; NULL: there is none */
bool live_is_open(const struct live *live);     /* the page, to other machines */

#endif
