/*
 * actions.h - what is done when an alert begins, becomes worse or ends: a line in a file, a command, a copy of the last seconds of the trace.
 *
 *      live_action_parse(&list[i], "stall=command:notify-send stalled", &err);
 *      live_actions_new(&actions, list, count, &err);
 *      live_actions_attach(actions, scene);     once there is a recording, for copies of it
 *      live_actions_take(actions, &alert);      what live_alerts_next() gives
 *      live_actions_tick(actions);              every few milliseconds
 *      live_actions_detach(actions);            in the onlooker's end()
 *      live_actions_free(actions);              waits a few seconds for what still runs
 *
 * Nothing here waits but the end: commands and copies are processes of their own.
 * They come from the command line or from the user's own configuration, never
 * from a file of a working tree.
 */
#ifndef LIVE_ACTIONS_H
#define LIVE_ACTIONS_H

#include <stddef.h>

#include "base/error.h"
#include "live/snapshot.h"
#include "record/recorder.h"

#define LIVE_ACTIONS 32u
#define LIVE_ACTION_TEXT 4096u

enum live_action_sort { LIVE_ACTION_LOG, LIVE_ACTION_COMMAND, LIVE_ACTION_SNAPSHOT };

struct live_action {
	char kinds[64];  /* a pattern of kinds of alerts, or of names of rules: "stall", "memory_*", "*" */
	enum live_action_sort sort;
	char argument[LIVE_ACTION_TEXT]; /* the file, the command */
	double seconds;  /* of a snapshot */
};

/* "KIND=log:FILE", "KIND=command:COMMAND", "KIND=snapshot" or "KIND=snapshot:SECONDS".  On failure err->exit_code is 2. */
int live_action_parse(struct live_action *ret, const char *text, struct error *err);

struct live_actions;

/* Copies the list.  Fails when the file of a log cannot be opened (err->exit_code 4). */
int live_actions_new(struct live_actions **ret, const struct live_action *list, size_t count, struct error *err);
void live_actions_attach(struct live_actions *actions, const struct recorder_scene *scene);
void live_actions_take(struct live_actions *actions, const struct live_alert *alert);
void live_actions_tick(struct live_actions *actions);
/* The recording ends: before its trace is closed.  Waits for copies of it, at most a few seconds. */
void live_actions_detach(struct live_actions *actions);
/* Waits for what runs, at most a few seconds, and ends it then.  NULL is fine. */
void live_actions_free(struct live_actions *actions);

#endif
