/* page_states.c - what threads were seen to do (docs/report-page.md, "States"). */
#include <errno.h>
#include <string.h>

#include "base/json_writer.h"
#include "page/page_parts.h"

#define STATE_BYTES 30u

struct states {
	struct page_world *w;
	struct buffer *out;
	int64_t before; /* end of the last one, in quanta */
	uint32_t count;
};

static int put_state(struct states *s, int64_t from, int64_t to, enum host_state state)
{
	int64_t begin = page_quanta(from, s->w->quantum), end = page_quanta(to, s->w->quantum);

	if (buffer_reserve(s->out, STATE_BYTES) < 0)
		return -ENOMEM;
	page_put(s->out, zigzag_encode(begin - s->before));
	page_put(s->out, (uint64_t)(end - begin));
	page_put(s->out, state);
	s->before = end;
	s->count++;
	return 0;
}

static int put_looks(struct states *s, const struct timeline_look *looks, uint32_t count)
{
	int rc = 0;

	for (uint32_t i = 0; i < count && rc == 0; i++)
		if (looks[i].kind == LOOK_STATE)
			rc = put_state(s, looks[i].begin, looks[i].end > looks[i].begin ? looks[i].end : looks[i].begin,
				       host_look_state(&s->w->names, &looks[i]));
	return rc;
}

/* ---- When there are too many ------------------------------------------------- */

/* Time is cut into cells, and what takes the most of one stands for it; neighbours that are the same are one. */
struct cells {
	struct states *s;
	int64_t width, at;           /* at: begin of the cell that is being filled */
	int64_t time[STATE_COUNT];   /* in it */
	int64_t from, to;            /* what is not yet put */
	int state;                   /* of that; negative: nothing */
};

static int cells_flush(struct cells *c)
{
	return c->state < 0 ? 0 : put_state(c->s, c->from, c->to, (enum host_state)c->state);
}

static int cells_next(struct cells *c, int64_t to)
{
	int best = 0, rc = 0;

	for (int k = 1; k < STATE_COUNT; k++)
		best = c->time[k] > c->time[best] ? k : best;
	if (c->time[best] > 0) {
		if (c->state != best || c->to != c->at) {
			rc = cells_flush(c);
			c->from = c->at;
			c->state = best;
		}
		c->to = c->at + c->width;
	}
	memset(c->time, 0, sizeof c->time);
	c->at = to;
	return rc;
}

static int cells_take(struct cells *c, int64_t begin, int64_t end, enum host_state state)
{
	int rc = 0;

	if (begin >= c->at + c->width)
		rc = cells_next(c, begin / c->width * c->width);
	while (begin < end && rc == 0) {
		int64_t until = c->at + c->width < end ? c->at + c->width : end;

		c->time[state] += until - begin;
		begin = until;
		if (begin < end)
			rc = cells_next(c, c->at + c->width);
	}
	return rc;
}

static int put_cells(struct states *s, const struct timeline_look *looks, uint32_t count, int64_t width)
{
	struct cells c = { .s = s, .width = width, .state = -1 };
	int64_t covered = 0;
	int rc = 0;

	for (uint32_t i = 0; i < count && rc == 0; i++) {
		int64_t begin = looks[i].begin > covered ? looks[i].begin : covered;

		if (looks[i].kind != LOOK_STATE || looks[i].end <= begin)
			continue;
		covered = looks[i].end;
		rc = cells_take(&c, begin, looks[i].end, host_look_state(&s->w->names, &looks[i]));
	}
	if (rc == 0)
		rc = cells_next(&c, 0);
	c.to = c.to < covered ? c.to : covered; /* nobody looked any more */
	return rc ? rc : cells_flush(&c);
}

static int put_track(struct states *s, uint32_t track, int64_t cell)
{
	uint32_t count, first = timeline_looks_from(s->w->t, track, INT64_MIN, &count);

	s->before = 0;
	s->count = 0;
	return cell ? put_cells(s, s->w->t->looks + first, count, cell) : put_looks(s, s->w->t->looks + first, count);
}

int page_states_put(struct page_world *w, int64_t cell, struct buffer *out)
{
	struct states s = { .w = w, .out = out };
	struct json_writer j = { .out = &w->states_json, .compact = true };

	buffer_clear(&w->states_json);
	json_open(&j, NULL, '[');
	for (uint32_t i = 0; i < w->track_count; i++) {
		if (w->tracks[i].states == TIMELINE_NONE)
			continue;
		if (put_track(&s, w->tracks[i].states, cell) < 0)
			return -ENOMEM;
		json_open(&j, NULL, '{');
		json_unsigned(&j, "track", i);
		json_unsigned(&j, "count", s.count);
		json_close(&j);
	}
	json_close(&j);
	return j.error;
}
