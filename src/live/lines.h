/*
 * lines.h - a snapshot as a line of text, for logs; alerts as lines of their own.
 */
#ifndef LIVE_LINES_H
#define LIVE_LINES_H

#include "base/buffer.h"
#include "live/snapshot.h"

/* Appends "12.0 s  cpu 1.93 (2)  memory 812 MB (31 %)  ..." with its newline. */
int live_line(struct buffer *out, const struct live_snapshot *snapshot);
int live_alert_line(struct buffer *out, const struct live_alert *alert, bool color);

#endif
