/*
 * copy_window.c - copies a part of a trace: what happened in it, and what was open around it.
 *
 * Slices that began before the window begin with it, device work that reaches
 * over an edge is cut there, and what is open at its end stays open: a reader
 * takes it to go as far as the trace.  Times stay those of the clocks, so that
 * two parts of one trace can be laid beside each other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/msgpack.h"
#include "trace/copy_state.h"
#include "trace/pairing.h"
#include "trace/redact.h"

struct window {
	struct copy *copy;
	int64_t from_ns, to_ns; /* since the start of the trace */
	size_t first, end;      /* blocks */
	struct trace_slice *open; /* where the window begins */
	size_t open_count, open_capacity;
	uint32_t *domains; /* of the tracks that have events here */
	size_t domain_count;
};

static int64_t ticks_of(const struct window *w, uint32_t domain, int64_t ns)
{
	return trace_reader_ticks_from_start_ns(w->copy->from, domain, ns);
}

/* ---- What is open where it begins ------------------------------------------------- */

static int take_open(void *arg, const struct trace_slice *slice)
{
	struct window *w = arg;

	if (ARRAY_GROW(w->open, w->open_capacity, w->open_count + 1) != 0)
		return -ENOMEM;
	w->open[w->open_count++] = *slice;
	return 0;
}

static int note_domains(struct window *w, const struct trace_batch *b)
{
	for (size_t i = 0; i < b->segment_count; i++) {
		uint32_t track = b->segments[i].track;

		if (ARRAY_GROW(w->domains, w->domain_count, (size_t)track + 1) != 0)
			return -ENOMEM;
		w->domains[track] = b->domain;
	}
	return 0;
}

static int find_open(struct window *w)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	struct trace_pairing *pairing;
	int rc = trace_pairing_new(&pairing);

	for (size_t i = w->first; rc == 0 && i < w->end; i++) {
		if (trace_reader_decode(w->copy->from, i, &batch, NULL) != 0)
			continue;
		rc = trace_pairing_feed_until(pairing, &batch, ticks_of(w, batch.domain, w->from_ns));
		rc = rc ? rc : note_domains(w, &batch);
	}
	if (rc == 0)
		rc = trace_pairing_finish(pairing, 0, take_open, w);
	trace_pairing_free(pairing);
	trace_batch_release(&batch);
	return rc;
}

static int by_track_and_depth(const void *a, const void *b)
{
	const struct trace_slice *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static int copy_open(struct window *w, struct error *err)
{
	int rc = 0;

	if (w->open_count)
		qsort(w->open, w->open_count, sizeof *w->open, by_track_and_depth);
	for (size_t i = 0; rc == 0 && i < w->open_count; i++) {
		const struct trace_slice *s = &w->open[i];
		uint32_t domain = s->track < w->domain_count ? w->domains[s->track] : 0;
		struct event_slot slot = {
			.time = (uint64_t)ticks_of(w, domain, w->from_ns),
			.name = copy_name(w->copy, s->name, s->kind, s->track),
			.cpu = s->cpu,
			.depth = s->depth,
			.kind = s->kind,
			.flags = EVENT_FLAGS(PHASE_BEGIN, 0, 0) | EVENT_FLAG_THREAD,
		};

		if (s->name == 0) /* its begin was lost, and nothing is known of it */
			continue;
		rc = trace_writer_domain(w->copy->to, domain, err);
		rc = rc ? rc : trace_writer_event(w->copy->to, s->track, &slot, NULL, 0, err);
	}
	return rc;
}

/* ---- What happens in it ------------------------------------------------------------- */

/* Cuts work that reaches over an edge; false: it is outside. */
static bool clip(struct trace_batch *b, uint32_t i, int64_t from, int64_t to)
{
	int64_t begin = b->time[i], end = begin;
	bool has_duration = b->phase[i] == PHASE_COMPLETE && trace_batch_present(b, i) >> FIELD_DURATION & 1 && b->field[FIELD_DURATION];

	if (!has_duration)
		return begin >= from && begin < to;
	if (__builtin_add_overflow(begin, (int64_t)b->field[FIELD_DURATION][i], &end) || end < begin)
		end = INT64_MAX;
	if (begin >= to || end < from || (end == from && begin < from))
		return false;
	b->time[i] = begin < from ? from : begin;
	b->field[FIELD_DURATION][i] = (uint64_t)((end > to ? to : end) - b->time[i]);
	return true;
}

static int copy_part(struct window *w, struct trace_batch *b, const struct trace_segment *s, struct error *err)
{
	const int64_t from = ticks_of(w, b->domain, w->from_ns), to = ticks_of(w, b->domain, w->to_ns);
	struct trace_segment run = { .track = s->track };
	int rc = 0;

	for (uint32_t i = s->first; rc == 0 && i < s->first + s->count; i += run.count + 1) {
		run.first = i;
		run.count = 0;
		while (i + run.count < s->first + s->count && clip(b, i + run.count, from, to))
			run.count++;
		rc = copy_segment(w->copy, b, &run, err);
	}
	return rc;
}

static int copy_blocks(struct window *w, struct error *err)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	int rc = 0;

	for (size_t i = w->first; rc == 0 && i < w->end; i++) {
		if (trace_reader_decode(w->copy->from, i, &batch, NULL) != 0)
			continue;
		rc = trace_writer_domain(w->copy->to, batch.domain, err);
		for (size_t k = 0; rc == 0 && k < batch.segment_count; k++)
			rc = copy_part(w, &batch, &batch.segments[k], err);
	}
	trace_batch_release(&batch);
	return rc;
}

/* ---- All of it ----------------------------------------------------------------------- */

static int write_info(struct window *w, struct error *err)
{
	struct buffer map = BUFFER_INIT;
	int rc;

	(void)msgpack_write_map(&map, 2);
	(void)msgpack_write_text(&map, "start_ticks");
	(void)msgpack_write_int(&map, ticks_of(w, 0, w->from_ns));
	(void)msgpack_write_text(&map, "part");
	(void)msgpack_write_map(&map, 3);
	(void)msgpack_write_text(&map, "from_ns");
	(void)msgpack_write_int(&map, w->from_ns);
	(void)msgpack_write_text(&map, "to_ns");
	(void)msgpack_write_int(&map, w->to_ns);
	(void)msgpack_write_text(&map, "redacted");
	rc = msgpack_write_int(&map, trace_redact_what(w->copy->redact));
	rc = rc ? error_set(err, rc, "out of memory") : trace_writer_info(w->copy->to, map.data, map.size, err);
	buffer_release(&map);
	return rc;
}

static bool read_member(const struct trace_reader *reader, const char *member, int64_t *ret)
{
	struct msgpack_value value;
	struct cursor c;

	if (!trace_reader_info_member(reader, "part", member, &c) || msgpack_read(&c, &value) || value.type != MSGPACK_INT)
		return false;
	*ret = value.integer;
	return true;
}

bool trace_part_read(const struct trace_reader *reader, struct trace_part *ret)
{
	int64_t redacted;

	if (!read_member(reader, "from_ns", &ret->from_ns) || !read_member(reader, "to_ns", &ret->to_ns) ||
	    !read_member(reader, "redacted", &redacted))
		return false;
	ret->redacted = (unsigned)redacted;
	return true;
}

/* Blocks that may have something of the window; those of clocks other than the first are all looked at. */
static void choose_blocks(struct window *w)
{
	const struct trace_reader *from = w->copy->from;

	w->end = trace_reader_block_count(from);
	for (size_t i = 0; i < w->end; i++)
		if (trace_reader_block(from, i)->domain != 0)
			return;
	trace_reader_window(from, ticks_of(w, 0, w->from_ns), ticks_of(w, 0, w->to_ns), &w->first, &w->end);
}

int trace_copy_window(struct trace_reader *from, struct trace_writer *to, const struct trace_copy_window *window, struct error *err)
{
	struct window w = { .copy = copy_new(from, to, window->redact), .from_ns = window->from_ns, .to_ns = window->to_ns };
	int rc = -ENOMEM;

	if (w.copy) {
		choose_blocks(&w);
		rc = find_open(&w);
	}
	if (rc == 0)
		rc = copy_all_but_events(w.copy, err);
	if (rc == 0)
		rc = write_info(&w, err);
	rc = rc ? rc : copy_open(&w, err);
	rc = rc ? rc : copy_blocks(&w, err);
	if (rc == -ENOMEM)
		error_set(err, rc, "out of memory");
	copy_free(w.copy);
	free(w.open);
	free(w.domains);
	return rc;
}
