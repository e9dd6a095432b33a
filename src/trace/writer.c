/*
 * writer.c - what comes in: dictionary entries, runs of slots, single events.
 *
 * The block under construction is one array of slots, filled from the front,
 * and a chain of runs for each track that has some in it.
 */
#include "trace/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/writer_state.h"

struct trace_file *writer_file(const struct trace_writer *w)
{
	return w->files[w->file_count - 1];
}

int writer_note_error(struct trace_writer *w, int rc, const struct error *err)
{
	if (rc && w->error.code == 0)
		w->error = *err;
	return rc;
}

static void writer_free(struct trace_writer *w)
{
	if (!w)
		return;
	segments_release(w);
	encoder_free(w->encoder);
	dictionary_release(&w->dictionary);
	output_release(&w->output);
	buffer_release(&w->payload);
	buffer_release(&w->infos);
	free(w->pairs);
	free(w->slots);
	free(w->runs);
	free(w->tracks);
	free(w);
}

int trace_writer_open(struct trace_writer **ret, int fd, const struct trace_writer_options *options, struct error *err)
{
	struct trace_writer *w = calloc(1, sizeof *w);
	int rc = -ENOMEM;

	if (w) {
		w->options = *options;
		w->block = 1;
		w->slots = malloc(TRACE_BLOCK_SLOTS * sizeof *w->slots);
	}
	if (!w || !w->slots || encoder_new(&w->encoder) || output_init(&w->output, options->level)) {
		close(fd);
		error_errno(err, rc, "cannot begin the trace");
	} else {
		rc = segments_open(w, fd, err);
	}
	if (rc) {
		writer_free(w);
		return rc;
	}
	*ret = w;
	return 0;
}

void trace_writer_abandon(struct trace_writer *w)
{
	writer_free(w);
}

/* ---- Dictionary ---- */

uint32_t trace_writer_string(struct trace_writer *w, const char *text, size_t size)
{
	return dictionary_string(&w->dictionary, text, size);
}

const char *trace_writer_text(const struct trace_writer *w, uint32_t string, size_t *ret_size)
{
	const struct dictionary *d = &w->dictionary;
	const struct dictionary_string *s = string && string <= d->string_count ? &d->strings[string - 1] : NULL;

	*ret_size = s ? s->size : 0;
	return s ? (const char *)d->log.data + s->offset : "";
}

uint32_t trace_writer_function(struct trace_writer *w, const struct trace_function *function)
{
	return dictionary_function(&w->dictionary, function);
}

uint32_t trace_writer_frame_name(struct trace_writer *w, const struct trace_frame *frame, const char *text, size_t size)
{
	return dictionary_frame_name(&w->dictionary, frame, text, size);
}

int trace_writer_host(struct trace_writer *w, const struct trace_host *host)
{
	return dictionary_host(&w->dictionary, host);
}

int trace_writer_process(struct trace_writer *w, const struct trace_process *process)
{
	return dictionary_process(&w->dictionary, process);
}

int trace_writer_track(struct trace_writer *w, const struct trace_track *track)
{
	return dictionary_track(&w->dictionary, track);
}

int trace_writer_device(struct trace_writer *w, const struct trace_device *device)
{
	return dictionary_device(&w->dictionary, device);
}

int trace_writer_clock(struct trace_writer *w, const struct trace_clock *clock)
{
	return dictionary_clock(&w->dictionary, clock);
}

int trace_writer_frame(struct trace_writer *w, const struct trace_frame *frame)
{
	return dictionary_frame(&w->dictionary, frame);
}

int trace_writer_stack(struct trace_writer *w, const struct trace_stack *stack)
{
	return dictionary_stack(&w->dictionary, stack);
}

/* ---- Blocks of their own ---- */

static int remember_pairs(struct trace_writer *w, uint32_t domain, const struct trace_clock_pair *pairs, size_t count)
{
	void *grown;
	size_t i = 0;

	while (i < w->pair_count && w->pairs[i].domain != domain)
		i++;
	if (i == w->pair_count) {
		grown = realloc(w->pairs, (i + 1) * sizeof *w->pairs);
		if (!grown)
			return -ENOMEM;
		w->pairs = grown;
		w->pairs[w->pair_count].domain = domain;
		w->pairs[w->pair_count++].first = pairs[0];
	}
	w->pairs[i].last = pairs[count - 1];
	return 0;
}

int trace_writer_clock_pairs(struct trace_writer *w, uint32_t domain, const struct trace_clock_pair *pairs,
			     size_t count, struct error *err)
{
	struct error local = { 0 };
	int rc;

	if (count == 0)
		return 0;
	if (segments_bounded(w) && remember_pairs(w, domain, pairs, count))
		return error_errno(err, -ENOMEM, "cannot store clock pairs");
	rc = writer_note_error(w, writer_write_clock(w, domain, pairs, count, &local), &local);
	if (rc && err)
		*err = local;
	return rc;
}

static int remember_info(struct trace_writer *w, const void *map, size_t size)
{
	uint64_t length = size;
	int rc = buffer_append(&w->infos, &length, sizeof length);

	if (rc == 0 && buffer_append(&w->infos, map, size)) {
		w->infos.size -= sizeof length;
		rc = -ENOMEM;
	}
	return rc;
}

int trace_writer_info(struct trace_writer *w, const void *map, size_t size, struct error *err)
{
	struct error local = { 0 };
	int rc;

	if (segments_bounded(w) && remember_info(w, map, size))
		return error_errno(err, -ENOMEM, "cannot store information about the trace");
	rc = writer_note_error(w, writer_write_info(w, map, size, &local), &local);
	if (rc && err)
		*err = local;
	return rc;
}

/* ---- Events ---- */

static int reserve_tracks(struct trace_writer *w, uint32_t track)
{
	size_t capacity = w->track_capacity ? w->track_capacity : 64;
	struct writer_track *tracks;

	if (track < w->track_capacity)
		return 0;
	if (track >= TRACE_TRACK_MAX)
		return -EINVAL;
	while (capacity <= track)
		capacity *= 2;
	tracks = realloc(w->tracks, capacity * sizeof *tracks);
	if (!tracks)
		return -ENOMEM;
	memset(tracks + w->track_capacity, 0, (capacity - w->track_capacity) * sizeof *tracks);
	w->tracks = tracks;
	w->track_capacity = capacity;
	return 0;
}

static int reserve_run(struct trace_writer *w)
{
	uint32_t capacity = w->run_capacity ? 2 * w->run_capacity : 64;
	struct run *runs;

	if (w->run_count < w->run_capacity)
		return 0;
	runs = realloc(w->runs, capacity * sizeof *runs);
	if (!runs)
		return -ENOMEM;
	w->runs = runs;
	w->run_capacity = capacity;
	return 0;
}

struct event_slot *trace_writer_run(struct trace_writer *w, uint32_t track, size_t slots, struct error *err)
{
	int rc = slots > TRACE_RUN_MAX ? -EINVAL : reserve_tracks(w, track);

	if (rc == 0 && w->used + slots > TRACE_BLOCK_SLOTS)
		(void)trace_writer_flush(w, NULL);
	if (rc == 0)
		rc = reserve_run(w);
	if (rc) {
		error_errno(err, rc, "cannot take in %zu slots of track %u", slots, track);
		return NULL;
	}
	return w->slots + w->used;
}

/* The track's run that ends where the next slot goes, new if need be. */
static struct run *current_run(struct trace_writer *w, uint32_t track)
{
	struct writer_track *t = &w->tracks[track];
	bool fresh = t->block != w->block;
	uint32_t number = w->run_count;

	if (!fresh && t->last_run + 1 == w->run_count)
		return &w->runs[t->last_run];
	w->runs[w->run_count++] = (struct run){ .track = track, .start = w->used };
	if (fresh)
		*t = (struct writer_track){ .block = w->block, .first_run = number };
	else
		w->runs[t->last_run].next = number + 1;
	t->last_run = number;
	return &w->runs[number];
}

uint64_t trace_writer_commit(struct trace_writer *w, uint32_t track, size_t slots, uint64_t source_index)
{
	if (slots > TRACE_BLOCK_SLOTS - w->used)
		slots = TRACE_BLOCK_SLOTS - w->used;
	if (slots == 0 || track >= w->track_capacity)
		return w->committed;
	current_run(w, track)->count += (uint32_t)slots;
	if (source_index)
		w->tracks[track].source_index = source_index;
	w->used += (uint32_t)slots;
	w->committed += slots;
	return w->committed;
}

uint64_t trace_writer_flushed(const struct trace_writer *w)
{
	return w->flushed;
}

int trace_writer_event(struct trace_writer *w, uint32_t track, const struct event_slot *slot, const void *extra,
		       size_t extra_size, struct error *err)
{
	size_t more = extra_size ? (2 + extra_size + sizeof *slot - 1) / sizeof *slot : 0;
	struct event_slot *room;
	uint8_t *list;

	if (more > UINT8_MAX)
		return error_set(err, -E2BIG, "an event has more than %zu bytes of fields",
				 UINT8_MAX * sizeof *slot - 2);
	room = trace_writer_run(w, track, 1 + more, err);
	if (!room)
		return track < TRACE_TRACK_MAX ? -ENOMEM : -EINVAL;
	room[0] = *slot;
	room[0].extra = (uint8_t)more;
	if (more) {
		list = (uint8_t *)(room + 1);
		memset(list, 0, more * sizeof *slot);
		put16(list, (uint16_t)extra_size);
		memcpy(list + 2, extra, extra_size);
	}
	trace_writer_commit(w, track, 1 + more, 0);
	return 0;
}

int trace_writer_domain(struct trace_writer *w, uint32_t domain, struct error *err)
{
	int rc;

	if (domain >= TRACE_DOMAIN_MAX)
		return error_set(err, -EINVAL, "clock domain %u is out of range", domain);
	rc = domain == w->domain ? 0 : trace_writer_flush(w, err);
	w->domain = domain;
	return rc;
}

int trace_writer_flush(struct trace_writer *w, struct error *err)
{
	struct error local = { 0 };
	int rc = writer_note_error(w, writer_flush_events(w, &local), &local);

	if (rc && err)
		*err = local;
	return rc;
}

/* ---- The end ---- */

struct trace_writer_totals trace_writer_totals(const struct trace_writer *w)
{
	struct trace_writer_totals t = { .unwritten = w->unwritten, .dropped = w->dropped, .pending = w->used };
	struct encode_summary pending = { 0 };

	for (uint32_t i = 0; i < w->run_count; i++)
		encoder_count(w->slots + w->runs[i].start, w->runs[i].count, &pending);
	t.events = pending.count;
	t.losses = pending.losses;
	t.lost = pending.lost;
	for (int i = 0; i < LOSS_COUNT; i++)
		t.lost += w->loss[i].count;
	for (size_t i = 0; i < w->file_count; i++) {
		t.events += w->files[i]->events;
		t.losses += w->files[i]->losses;
		t.lost += w->files[i]->lost;
		t.bytes += w->files[i]->out.size;
	}
	return t;
}

const struct error *trace_writer_error(const struct trace_writer *w)
{
	return &w->error;
}

/* What is still to be reported of losses, each in the clock it is known in. */
static int flush_losses(struct trace_writer *w, struct error *err)
{
	int rc = 0;

	for (int i = 0; i < LOSS_COUNT; i++) {
		if (w->used == 0 && w->loss[i].count) {
			w->domain = w->loss[i].domain;
			writer_report_losses(w);
		}
		if (trace_writer_flush(w, NULL) && rc == 0)
			rc = error_set(err, w->error.code, "%s", w->error.text);
	}
	return rc;
}

void trace_writer_ending(struct trace_writer *w)
{
	for (size_t i = 0; i < w->file_count; i++)
		w->files[i]->out.ending = true;
}

static int flush_and_end(struct trace_writer *w, struct error *err)
{
	int rc = trace_writer_flush(w, err), ending;

	trace_writer_ending(w);
	ending = flush_losses(w, rc ? NULL : err);
	return rc ? rc : ending;
}

int trace_writer_close(struct trace_writer *w, unsigned *ret_segment, struct error *err)
{
	int rc = flush_and_end(w, err);
	int last = writer_write_last(w, rc ? NULL : err);
	int finish = segments_finish(w, rc || last ? NULL : err);

	if (ret_segment)
		*ret_segment = w->files[0]->number;
	writer_free(w);
	return rc ? rc : last ? last : finish;
}
