/*
 * snapshot_json.h - a snapshot as JSON, by the names of names.h: what /api and `top --json` say, and what the page is sent.
 *
 * Numbers that are not whole have nine digits, which is more than any of them is worth.  What is not known is null.
 */
#ifndef LIVE_SNAPSHOT_JSON_H
#define LIVE_SNAPSHOT_JSON_H

#include "base/json_writer.h"
#include "live/names.h"

/* All of it, appended; compact: on one line.  0 or -ENOMEM, and then nothing. */
int live_snapshot_json(struct buffer *out, const struct live_snapshot *snapshot, bool compact);

/* The values of live_groups[0], into an object that is open. */
void live_program_json(struct json_writer *j, const struct live_snapshot *snapshot);
/* One of the groups that stand in the outermost object, with the groups that stand in it. */
void live_group_json(struct json_writer *j, const char *key, const struct live_group *group,
		     const struct live_snapshot *snapshot);
/* Whether it does. */
bool live_group_is_outer(const struct live_group *group);

#endif
