/*
 * writer_blocks.c - what goes out: the events collected, and before them all
 * that a reader needs to know to understand them.
 *
 * A block that cannot be written is gone, but not unnoticed: its events are
 * added to a loss, which becomes a `lost` event as soon as writing works again.
 */
#include <errno.h>
#include <time.h>

#include "trace/writer_state.h"

#define DICTIONARY_PIECE (16u << 20)
#define FULL_EVERY_BYTES (64u << 20)
#define FULL_EVERY_NS 10000000000

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int write_block(struct trace_writer *w, struct sbt_block block, const void *payload, size_t size,
		       struct error *err)
{
	return output_write(&w->output, &writer_file(w)->out, block, payload, size, err);
}

/* ---- Dictionary ---- */

/* Writes what is new, or everything.  What does not fit one block follows in plain ones. */
static int write_dictionary(struct trace_writer *w, bool full, struct error *err)
{
	const struct dictionary *d = &w->dictionary;
	struct trace_file *f = writer_file(w);
	size_t from = full ? 0 : f->dictionary_written;
	struct sbt_block block = { .kind = SBT_DICTIONARY, .flags = full ? SBT_FLAG_FULL : 0 };

	do {
		size_t end = dictionary_cut(d, from, DICTIONARY_PIECE, &block.count);
		int rc = write_block(w, block, from ? d->log.data + from : d->log.data, end - from, err);

		if (rc)
			return rc;
		f->dictionary_written = from = end;
		block.flags = 0;
	} while (from < d->log.size);
	if (full) {
		f->dictionary_full = d->log.size;
		f->full_size = f->out.size;
		f->full_ns = now_ns();
	}
	return 0;
}

static int write_new(struct trace_writer *w, struct error *err)
{
	return w->dictionary.log.size > writer_file(w)->dictionary_written ? write_dictionary(w, false, err) : 0;
}

/* It only saves readers looking for its parts, so it takes no room that is kept for the end, and may be missing. */
static int write_full_dictionary(struct trace_writer *w, struct error *err)
{
	struct output_file *out = &writer_file(w)->out;
	bool ending = out->ending;
	int rc;

	out->ending = false;
	rc = write_dictionary(w, true, NULL);
	out->ending = ending;
	return rc ? write_new(w, err) : 0;
}

static bool full_is_due(const struct trace_writer *w, const struct trace_file *f)
{
	return w->dictionary.log.size > f->dictionary_full &&
	       (f->out.size - f->full_size >= FULL_EVERY_BYTES || now_ns() - f->full_ns >= FULL_EVERY_NS);
}

static int update_dictionary(struct trace_writer *w, struct error *err)
{
	const struct trace_file *f = writer_file(w);

	return full_is_due(w, f) ? write_full_dictionary(w, err) : write_new(w, err);
}

/* ---- The start of a file ---- */

static int write_pairs(struct trace_writer *w, uint32_t domain, const struct trace_clock_pair *pairs, size_t count,
		       struct error *err)
{
	struct sbt_block block = { .kind = SBT_CLOCK, .count = (uint32_t)count, .domain = domain };

	buffer_clear(&w->payload);
	if (buffer_reserve(&w->payload, count * SBT_CLOCK_RECORD))
		return error_errno(err, -ENOMEM, "cannot write clock pairs");
	for (size_t i = 0; i < count; i++) {
		uint8_t *at = w->payload.data + w->payload.size;

		put64(at, (uint64_t)pairs[i].ticks);
		put64(at + 8, pairs[i].width);
		put64(at + 16, (uint64_t)pairs[i].raw_ns);
		put64(at + 24, (uint64_t)pairs[i].monotonic_ns);
		put64(at + 32, (uint64_t)pairs[i].realtime_ns);
		w->payload.size += SBT_CLOCK_RECORD;
	}
	return write_block(w, block, w->payload.data, w->payload.size, err);
}

static int write_info(struct trace_writer *w, const void *map, size_t size, struct error *err)
{
	return write_block(w, (struct sbt_block){ .kind = SBT_INFO, .count = 1 }, map, size, err);
}

/* Says again what older files said, since these may be dropped. */
static int repeat_history(struct trace_writer *w, struct error *err)
{
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < w->infos.size;) {
		uint64_t size;

		memcpy(&size, w->infos.data + at, sizeof size);
		at += sizeof size;
		rc = write_info(w, w->infos.data + at, (size_t)size, err);
		at += (size_t)size;
	}
	for (size_t i = 0; rc == 0 && i < w->pair_count; i++) {
		struct trace_clock_pair both[2] = { w->pairs[i].first, w->pairs[i].last };

		rc = write_pairs(w, w->pairs[i].domain, both, 2, err);
	}
	return rc;
}

static int begin_file(struct trace_writer *w, struct error *err)
{
	struct trace_file *f = writer_file(w);
	int rc = 0;

	if (f->begun)
		return 0;
	rc = write_dictionary(w, true, err);
	if (rc == 0 && f->number > 0)
		rc = repeat_history(w, err);
	f->begun = rc == 0;
	return rc;
}

int writer_write_clock(struct trace_writer *w, uint32_t domain, const struct trace_clock_pair *pairs, size_t count,
		       struct error *err)
{
	int rc = begin_file(w, err);

	return rc ? rc : write_pairs(w, domain, pairs, count, err);
}

int writer_write_info(struct trace_writer *w, const void *map, size_t size, struct error *err)
{
	int rc = begin_file(w, err);

	return rc ? rc : write_info(w, map, size, err);
}

/* ---- Losses ---- */

void writer_add_loss(struct trace_writer *w, int which, uint64_t count, uint32_t domain, int64_t first, int64_t last)
{
	struct writer_loss *loss = &w->loss[which];

	if (count == 0)
		return;
	if (loss->count == 0 || loss->domain != domain)
		*loss = (struct writer_loss){ loss->count, domain, first, last };
	loss->count += count;
	loss->first_time = first < loss->first_time ? first : loss->first_time;
	loss->last_time = last > loss->last_time ? last : loss->last_time;
}

static size_t put_field(uint8_t *at, uint8_t field, uint64_t value)
{
	at[0] = field;
	put16(at + 1, 8);
	put64(at + 3, value);
	return 11;
}

static int report_loss(struct trace_writer *w, const struct writer_loss *loss, uint64_t reason)
{
	struct event_slot slot = {
		.time = (uint64_t)loss->first_time,
		.value = (uint64_t)loss->last_time - (uint64_t)loss->first_time,
		.cpu = EVENT_CPU_UNKNOWN,
		.kind = EVENT_LOST,
		.flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0),
	};
	uint8_t list[22];

	put_field(list + put_field(list, FIELD_COUNT, loss->count), FIELD_REASON, reason);
	return trace_writer_event(w, w->options.loss_track, &slot, list, sizeof list, NULL);
}

/* A loss waits for a block of its own clock. */
int writer_report_losses(struct trace_writer *w)
{
	static const uint64_t reasons[LOSS_COUNT] = { LOST_UNWRITTEN, LOST_DROPPED };
	int rc = 0;

	for (int i = 0; rc == 0 && i < LOSS_COUNT; i++) {
		if (w->loss[i].count == 0 || w->loss[i].domain != w->domain)
			continue;
		rc = report_loss(w, &w->loss[i], reasons[i]);
		if (rc == 0) {
			w->reported[i] = w->loss[i];
			w->loss[i] = (struct writer_loss){ 0 };
		}
	}
	return rc;
}

/* The block is gone, and with it the reports in it: these are to be made again. */
static void lose_block(struct trace_writer *w)
{
	struct encode_summary sum = { 0 };

	for (uint32_t i = 0; i < w->run_count; i++)
		encoder_count(w->slots + w->runs[i].start, w->runs[i].count, &sum);
	for (int i = 0; i < LOSS_COUNT; i++) {
		const struct writer_loss *r = &w->reported[i];

		if (r->count == 0)
			continue;
		sum.lost -= r->count;
		writer_add_loss(w, i, r->count, r->domain, r->first_time, r->last_time);
	}
	w->output.sequence++; /* tells a reader that something is missing here */
	w->unwritten += sum.count - sum.losses;
	writer_add_loss(w, LOSS_UNWRITTEN, sum.count - sum.losses + sum.lost, w->domain, sum.first_time, sum.last_time);
}

/* ---- Events ---- */

static int encode_runs(struct trace_writer *w, struct encode_summary *ret)
{
	int rc = encoder_begin(w->encoder, w->domain);

	for (uint32_t i = 0; rc == 0 && i < w->run_count; i++) {
		const struct writer_track *t = &w->tracks[w->runs[i].track];

		if (t->first_run != i)
			continue;
		rc = encoder_segment(w->encoder, w->runs[i].track, t->source_index);
		for (uint32_t at = i + 1; rc == 0 && at; at = w->runs[at - 1].next)
			rc = encoder_slots(w->encoder, w->slots + w->runs[at - 1].start, w->runs[at - 1].count);
	}
	buffer_clear(&w->payload);
	return rc ? rc : encoder_finish(w->encoder, &w->payload, ret);
}

static void note_times(struct trace_writer *w, const struct encode_summary *sum)
{
	struct trace_file *f = writer_file(w);

	if (w->domain != 0)
		return;
	if (!w->has_times)
		f->since = sum->first_time;
	if (!w->has_times || sum->last_time > w->last_time)
		w->last_time = sum->last_time;
	if (!f->has_times || sum->first_time < f->first_time)
		f->first_time = sum->first_time;
	if (!f->has_times || sum->last_time > f->last_time)
		f->last_time = sum->last_time;
	w->has_times = f->has_times = true;
}

static int write_events(struct trace_writer *w, const struct encode_summary *sum, struct error *err)
{
	struct trace_file *f = writer_file(w);
	struct sbt_block block = {
		.kind = SBT_EVENTS,
		.first_time = sum->first_time,
		.last_time = sum->last_time,
		.count = sum->count,
		.domain = w->domain,
		.lost = sum->lost,
	};
	uint64_t before;
	int rc = update_dictionary(w, err);

	if (rc)
		return rc;
	before = f->out.size;
	rc = write_block(w, block, w->payload.data, w->payload.size, err);
	if (rc)
		return rc;
	w->block_size = f->out.size - before;
	f->events += sum->count;
	f->losses += sum->losses;
	f->lost += sum->lost;
	return 0;
}

static void next_block(struct trace_writer *w)
{
	w->used = w->run_count = 0;
	w->block++;
	w->flushed = w->committed;
	memset(w->reported, 0, sizeof w->reported);
}

int writer_flush_events(struct trace_writer *w, struct error *err)
{
	struct encode_summary sum;
	int rc;

	if (w->used == 0)
		return 0;
	rc = begin_file(w, err); /* uses the payload buffer: before encoding */
	if (encode_runs(w, &sum)) {
		rc = rc ? rc : error_errno(err, -ENOMEM, "cannot encode a block of the trace");
	} else {
		rc = rc ? rc : write_events(w, &sum, err);
		if (rc == 0)
			note_times(w, &sum);
	}
	if (rc)
		lose_block(w);
	next_block(w);
	if (rc == 0)
		rc = segments_rotate(w, err);
	return rc ? rc : writer_report_losses(w);
}

/* ---- The last blocks ---- */

/* Slices that never ended, of one clock domain. */
static int write_open(struct trace_writer *w, uint32_t domain, struct error *err)
{
	struct encode_summary sum;

	w->domain = domain;
	if (encode_runs(w, &sum))
		return error_errno(err, -ENOMEM, "cannot encode the last block of the trace");
	return sum.open ? write_events(w, &sum, err) : 0;
}

int writer_write_last(struct trace_writer *w, struct error *err)
{
	uint32_t domain;
	int rc = begin_file(w, err);

	if (rc == 0 && w->dictionary.log.size > writer_file(w)->dictionary_full)
		rc = write_full_dictionary(w, err);
	for (domain = 0; rc == 0 && encoder_open_domain(w->encoder, domain, &domain); domain++)
		rc = write_open(w, domain, err);
	return rc;
}
