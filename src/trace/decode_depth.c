/*
 * decode_depth.c - depths are predicted from the events before, and only the
 * exceptions are stored (docs/sbt-format.md, section 3.4).  For the numbers it
 * is enough to know how many slices are open on a track, not which.
 */
#include <errno.h>

#include "trace/decode_state.h"

#define NO_EXCEPTION ((uint64_t)1 << 40) /* farther than any block is long */

/* Predicts depths from event `from` up to `end`, or until `skip` predictions were made, whichever is first.  Returns
 * where it stopped, *skip being what is left. */
static uint32_t predict(struct decoder *d, uint32_t *size, uint32_t from, uint32_t end, uint64_t *skip)
{
	uint16_t *out = d->batch->depth;
	uint32_t open = *size, i;
	uint64_t left = *skip;

	for (i = from; i < end; i++) {
		const struct motion *m = &d->motions[d->shape[i]];
		uint32_t pop = open ? m->pop : 0;

		if (left == 0 && m->has)
			break;
		open -= pop;
		out[i] = (uint16_t)(m->has ? open : 0);
		open += m->push;
		left -= m->has;
	}
	*size = open;
	*skip = left;
	return i;
}

/* An event whose depth is stored. */
static int correct(struct decoder *d, uint32_t *size, uint32_t i, uint64_t depth)
{
	unsigned phase = d->batch->phase[i];

	if (depth > EVENT_DEPTH_UNMATCHED || (depth == EVENT_DEPTH_UNMATCHED && phase != PHASE_END))
		return bad(d, "impossible depth");
	d->batch->depth[i] = (uint16_t)depth;
	if (phase != PHASE_COMPLETE && depth != EVENT_DEPTH_UNMATCHED)
		*size = (uint32_t)depth + (phase == PHASE_BEGIN);
	return 0;
}

static void count_open(struct decoder *d)
{
	memset(d->depths, 0, d->depth_count * sizeof *d->depths);
	for (size_t i = 0; i < d->batch->open_count; i++)
		d->depths[d->batch->open[i].track]++;
}

static void make_motions(struct decoder *d)
{
	for (size_t i = 0; i < d->shape_count; i++) {
		bool has = d->shapes[i].mask >> FIELD_DEPTH & 1;

		d->motions[i] = (struct motion){ has, has && d->shapes[i].phase == PHASE_BEGIN,
						 has && d->shapes[i].phase == PHASE_END };
	}
}

/* How many predictions are right until the next exception; without end when there is none. */
static uint64_t next_gap(struct cursor *in)
{
	uint64_t gap = cursor_left(in) ? cursor_uv(in) : NO_EXCEPTION;

	return gap < NO_EXCEPTION ? gap : NO_EXCEPTION;
}

int decode_depths(struct decoder *d)
{
	struct trace_batch *b = d->batch;
	struct cursor in = cursor_of(d->columns[FIELD_DEPTH].data, d->columns[FIELD_DEPTH].size);
	uint64_t skip = next_gap(&in);

	make_motions(d);
	count_open(d);
	for (size_t s = 0; s < b->segment_count; s++) {
		uint32_t *size = &d->depths[b->segments[s].track];
		uint32_t i = b->segments[s].first, end = i + b->segments[s].count;

		while ((i = predict(d, size, i, end, &skip)) < end) {
			if (correct(d, size, i++, cursor_uv(&in)))
				return -EBADMSG;
			skip = next_gap(&in);
		}
	}
	return in.bad || cursor_left(&in) || skip < NO_EXCEPTION - b->count ? bad(d, "malformed column of depths") : 0;
}
