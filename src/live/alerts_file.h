/*
 * alerts_file.h - rules and actions of the user's own: alerts.conf in the user's configuration folder.
 *
 *      # a line for each, as on the command line
 *      alert slow steps: steps.median_s > 0.5
 *      on-alert stall=snapshot:60
 *
 * A file that somebody else could have written is not read, since it may have commands.
 */
#ifndef LIVE_ALERTS_FILE_H
#define LIVE_ALERTS_FILE_H

#include <stddef.h>

#include "base/error.h"
#include "live/actions.h"
#include "live/alerts.h"

struct live_alerts_file {
	char *text; /* what the rules point into */
	const char *rules[LIVE_RULES];
	size_t rule_count;
	struct live_action *actions;
	size_t action_count;
	char warning[256]; /* "": none; else why the file was not read */
};

/* NULL: the user's own folder.  No file is fine; one that makes no sense is -EINVAL with a sentence that names file and line, and
 * err->exit_code 2. */
int live_alerts_file_read(struct live_alerts_file *ret, const char *folder, struct error *err);
void live_alerts_file_release(struct live_alerts_file *file);

#endif
