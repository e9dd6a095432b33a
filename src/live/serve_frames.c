/*
 * serve_frames.c - see serve_parts.h: what clients are told, made once for all of them.
 *
 *      id: 5f0c2a91-17
 *      event: change
 *      data: {"sequence": 17, ..., "cpu": {...}, "threads": [...]}
 *
 * A change has the values of the outermost object and those groups that are not as they were in the snapshot before;
 * "event: whole" has all groups.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/text.h"
#include "live/serve_parts.h"
#include "live/snapshot_json.h"

void serve_frame_release(struct serve_frame *frame)
{
	if (!frame || --frame->references)
		return;
	buffer_release(&frame->text);
	free(frame);
}

static struct serve_frame *refer(struct serve_frame *frame)
{
	if (frame)
		frame->references++;
	return frame;
}

static void drop(struct serve_frame **frame)
{
	serve_frame_release(*frame);
	*frame = NULL;
}

static struct serve_frame *new_frame(uint64_t id)
{
	struct serve_frame *frame = calloc(1, sizeof *frame);

	if (frame)
		*frame = (struct serve_frame){ .references = 1, .id = id };
	return frame;
}

struct serve_frame *serve_frame_text(const char *text)
{
	struct serve_frame *frame = new_frame(0);

	if (frame && buffer_append(&frame->text, text, strlen(text)) < 0)
		drop(&frame);
	return frame;
}

void serve_frames_init(struct serve_frames *f)
{
	uint32_t random = 0;

	*f = (struct serve_frames){ 0 };
	if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
		random = 0; /* then a client of another server may miss its first snapshot, no more */
	snprintf(f->run, sizeof f->run, "%08x", random);
}

static void forget_newest(struct serve_frames *f)
{
	drop(&f->whole);
	drop(&f->history);
}

void serve_frames_release(struct serve_frames *f)
{
	forget_newest(f);
	for (size_t i = 0; i < SERVE_FRAMES; i++)
		drop(&f->changes[i]);
	for (size_t i = 0; i < SERVE_SECTIONS; i++)
		buffer_release(&f->sections[i]);
	buffer_release(&f->next);
}

/* ---- Groups ------------------------------------------------------------------------- */

/* Makes one group anew; *ret_changed: it is not what it was.  Memory is kept from one snapshot to the next. */
static int renew(struct serve_frames *f, size_t section, const struct live_group *g, const struct live_snapshot *s,
		 bool *ret_changed)
{
	struct json_writer j = { .out = &f->next, .compact = true };
	struct buffer *old = &f->sections[section];
	struct buffer swap;

	buffer_clear(&f->next);
	live_group_json(&j, NULL, g, s);
	if (j.error)
		return j.error;
	*ret_changed = f->next.size != old->size || memcmp(f->next.data, old->data, old->size) != 0;
	swap = *old;
	*old = f->next;
	f->next = swap;
	return 0;
}

/* Bits of the groups that changed. */
static int renew_all(struct serve_frames *f, const struct live_snapshot *s, uint32_t *ret)
{
	size_t section = 0;
	uint32_t changed = 0;

	f->sections_id = 0;
	for (const struct live_group *g = live_groups; g->name; g++) {
		bool differs = false;
		int rc;

		if (!live_group_is_outer(g) || section == SERVE_SECTIONS)
			continue;
		rc = renew(f, section, g, s, &differs);
		if (rc < 0)
			return rc;
		changed |= (uint32_t)differs << section++;
	}
	f->sections_id = f->id;
	*ret = changed;
	return 0;
}

static int put_groups(struct serve_frames *f, struct buffer *out, const struct live_snapshot *s, uint32_t which)
{
	struct json_writer j = { .out = out, .compact = true };
	size_t section = 0;

	json_open(&j, NULL, '{');
	live_program_json(&j, s);
	for (const struct live_group *g = live_groups; g->name; g++) {
		if (!live_group_is_outer(g) || section == SERVE_SECTIONS)
			continue;
		if (which >> section & 1)
			json_raw(&j, g->name, (const char *)f->sections[section].data, f->sections[section].size);
		section++;
	}
	json_close(&j);
	return j.error;
}

static struct serve_frame *groups_frame(struct serve_frames *f, const char *event, const struct live_snapshot *s, uint32_t which)
{
	struct serve_frame *frame = new_frame(f->id);

	if (!frame)
		return NULL;
	if (buffer_printf(&frame->text, "id: %s-%llu\nevent: %s\ndata: ", f->run, (unsigned long long)f->id, event) < 0 ||
	    put_groups(f, &frame->text, s, which) < 0 || buffer_append(&frame->text, "\n\n", 2) < 0)
		drop(&frame);
	return frame;
}

/* ---- What is asked for ------------------------------------------------------------------ */

void serve_frames_advance(struct serve_frames *f, const struct live_snapshot *s, bool heard)
{
	struct serve_frame **place;
	uint32_t changed = 0;
	bool follows = f->id && f->sections_id == f->id;

	forget_newest(f);
	f->id++;
	place = &f->changes[f->id % SERVE_FRAMES];
	drop(place);
	if (heard && renew_all(f, s, &changed) == 0 && follows)
		*place = groups_frame(f, "change", s, changed);
}

static struct serve_frame *whole(struct serve_frames *f, const struct live_snapshot *s)
{
	uint32_t changed;

	if (f->whole || (f->sections_id != f->id && renew_all(f, s, &changed) < 0))
		return f->whole;
	f->whole = groups_frame(f, "whole", s, ~0u);
	return f->whole;
}

struct serve_frame *serve_frames_after(struct serve_frames *f, uint64_t id, const struct live_snapshot *s)
{
	struct serve_frame *next = f->changes[(id + 1) % SERVE_FRAMES];

	if (id == f->id)
		return NULL;
	if (id && next && next->id == id + 1)
		return refer(next);
	return refer(whole(f, s));
}

struct serve_frame *serve_frames_history(struct serve_frames *f, const struct serve_history *history)
{
	struct serve_frame *frame = f->history;

	if (frame)
		return refer(frame);
	frame = new_frame(0);
	if (!frame)
		return NULL;
	if (buffer_printf(&frame->text, "event: history\ndata: ") < 0 || serve_history_json(&frame->text, history) < 0 ||
	    buffer_append(&frame->text, "\n\n", 2) < 0)
		drop(&frame);
	f->history = frame;
	return refer(frame);
}

uint64_t serve_frames_id(const struct serve_frames *f, const char *text)
{
	size_t run = strlen(f->run);
	int64_t id;

	if (!text || strncmp(text, f->run, run) != 0 || text[run] != '-' || text_parse_integer(text + run + 1, 1, INT64_MAX, &id) < 0)
		return 0;
	return (uint64_t)id <= f->id ? (uint64_t)id : 0;
}
