/*
 * lines.h - a snapshot as text: one line for a log, or a page; alerts as lines of their own.
 */
#ifndef LIVE_LINES_H
#define LIVE_LINES_H

#include "base/buffer.h"
#include "live/snapshot.h"

/* All append, whole lines; 0 or -ENOMEM. */

/* "   12.0 s  cpu  1.93 of 2  memory   812 MB  31 %  ..."; columns that are there at all are always at the same place. */
int live_line(struct buffer *out, const struct live_snapshot *snapshot);
/* What the program does, as a sentence; how its steps are found, or why they are not. */
int live_doing_line(struct buffer *out, const struct live_snapshot *snapshot);
int live_steps_line(struct buffer *out, const struct live_snapshot *snapshot);
/* That it has begun or become worse, with what to do about it, or that it has ended. */
int live_alert_line(struct buffer *out, const struct live_alert *alert, bool color);
/* All of it: processes, threads and what they wait for, GPUs, places. */
int live_text(struct buffer *out, const struct live_snapshot *snapshot);

#endif
