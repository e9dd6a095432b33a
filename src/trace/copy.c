#include "trace/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXTRA_MAX 8000u /* bytes of fields that fit an event's continuation slots */
#define RUN_SLOTS 4096u

struct copy {
	struct trace_reader *from;
	struct trace_writer *to;
	uint32_t *strings; /* number there by number here; 0: not yet */
	size_t string_count;
	uint8_t extra[EXTRA_MAX];
};

static uint32_t copy_string(struct copy *c, uint32_t id)
{
	size_t size;
	const char *text;

	if (id == 0 || id >= c->string_count)
		return 0;
	if (c->strings[id] == 0) {
		text = trace_reader_string(c->from, id, &size);
		c->strings[id] = trace_writer_string(c->to, text, size);
	}
	return c->strings[id];
}

/* ---- Dictionary ------------------------------------------------------------ */

static int copy_machines(struct copy *c)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < trace_reader_host_count(c->from); i++) {
		const struct trace_host *h = trace_reader_host(c->from, i);

		if (h)
			rc = trace_writer_host(c->to, &(struct trace_host){ h->id, copy_string(c, h->name),
						       copy_string(c, h->system), copy_string(c, h->machine) });
	}
	for (uint32_t i = 0; rc == 0 && i < trace_reader_clock_count(c->from); i++) {
		const struct trace_clock *found = trace_reader_clock(c->from, i);
		struct trace_clock clock;

		if (!found)
			continue;
		clock = *found;
		clock.name = copy_string(c, clock.name);
		rc = trace_writer_clock(c->to, &clock);
	}
	for (uint32_t i = 0; rc == 0 && i < trace_reader_device_count(c->from); i++) {
		const struct trace_device *found = trace_reader_device(c->from, i);
		struct trace_device device;

		if (!found)
			continue;
		device = *found;
		device.name = copy_string(c, device.name);
		rc = trace_writer_device(c->to, &device);
	}
	return rc;
}

static int copy_processes_and_tracks(struct copy *c)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < trace_reader_process_count(c->from); i++) {
		const struct trace_process *found = trace_reader_process(c->from, i);
		struct trace_process process;

		if (!found)
			continue;
		process = *found;
		process.name = copy_string(c, process.name);
		process.command = copy_string(c, process.command);
		rc = trace_writer_process(c->to, &process);
	}
	for (uint32_t i = 0; rc == 0 && i < trace_reader_track_count(c->from); i++) {
		const struct trace_track *found = trace_reader_track(c->from, i);
		struct trace_track track;

		if (!found)
			continue;
		track = *found;
		track.name = copy_string(c, track.name);
		rc = trace_writer_track(c->to, &track);
	}
	return rc;
}

static struct trace_frame make_frame(struct copy *c, const struct trace_frame *f)
{
	return (struct trace_frame){ f->id, copy_string(c, f->function), copy_string(c, f->file), f->line, copy_string(c, f->module),
				     f->address };
}

/* Before all else that has names: a name that is a function's must not be taken for plain text. */
static int copy_functions(struct copy *c)
{
	for (uint32_t i = 1; i < c->string_count; i++) {
		const struct trace_frame *f = trace_reader_function(c->from, i);
		struct trace_frame frame;
		const char *text;
		size_t size;

		if (!f)
			continue;
		frame = make_frame(c, f);
		text = trace_reader_string(c->from, i, &size);
		c->strings[i] = trace_writer_frame_name(c->to, &frame, text, size);
		if (c->strings[i] == 0)
			return -ENOMEM;
	}
	return 0;
}

static int copy_stacks(struct copy *c)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < trace_reader_frame_count(c->from); i++) {
		const struct trace_frame *f = trace_reader_frame(c->from, i);
		struct trace_frame frame;

		if (!f)
			continue;
		frame = make_frame(c, f);
		rc = trace_writer_frame(c->to, &frame);
	}
	rc = rc ? rc : copy_functions(c);
	for (uint32_t i = 0; rc == 0 && i < trace_reader_stack_count(c->from); i++)
		if (trace_reader_stack(c->from, i))
			rc = trace_writer_stack(c->to, trace_reader_stack(c->from, i));
	return rc;
}

static int copy_clocks_and_info(struct copy *c, struct error *err)
{
	const struct trace_clock_pair *pairs;
	const uint8_t *map;
	size_t size, count;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < trace_reader_clock_count(c->from); i++) {
		count = trace_reader_clock_pairs(c->from, i, &pairs);
		if (count)
			rc = trace_writer_clock_pairs(c->to, i, pairs, count, err);
	}
	for (size_t i = 0; rc == 0 && trace_reader_info_block(c->from, i, &map, &size) == 0; i++)
		rc = trace_writer_info(c->to, map, size, err);
	return rc;
}

/* ---- Events ---------------------------------------------------------------- */

static struct event_slot make_slot(struct copy *c, const struct trace_batch *b, uint32_t i)
{
	bool on_thread = trace_batch_present(b, i) >> FIELD_DEPTH & 1;

	return (struct event_slot){
		.time = (uint64_t)b->time[i],
		.name = copy_string(c, b->name[i]),
		.cpu = b->cpu[i],
		.depth = b->depth[i],
		.kind = b->kind[i],
		.flags = (uint16_t)(EVENT_FLAGS(b->phase[i], 0, 0) | (on_thread ? EVENT_FLAG_THREAD : 0)),
	};
}

static size_t put_field(uint8_t *out, size_t used, uint8_t field, const void *data, size_t size)
{
	uint16_t length = (uint16_t)size;

	if (used + 3 + size > EXTRA_MAX)
		return used;
	out[used] = field;
	memcpy(out + used + 1, &length, 2);
	memcpy(out + used + 3, data, size);
	return used + 3 + size;
}

/* The fields that a slot has no place for. */
static size_t make_extra(struct copy *c, const struct trace_batch *b, uint32_t i, uint64_t mask)
{
	size_t used = 0;

	for (uint8_t f = FIELD_DURATION; f < FIELD_LIMIT; f++) {
		if (!(mask >> f & 1))
			continue;
		if (f == FIELD_METADATA && b->metadata)
			used = put_field(c->extra, used, f, b->metadata[i].data, b->metadata[i].size);
		else if (f != FIELD_METADATA && b->field[f])
			used = put_field(c->extra, used, f, &b->field[f][i], sizeof b->field[f][i]);
	}
	return used;
}

/* One event, or all that have no further fields up to the next that has.  The index of the event after. */
static int copy_some(struct copy *c, const struct trace_batch *b, const struct trace_segment *s, uint32_t *at, struct error *err)
{
	const uint64_t plain = 1u << FIELD_TIME | 1u << FIELD_NAME | 1u << FIELD_CPU | 1u << FIELD_DEPTH;
	uint32_t end = s->first + s->count, i = *at, n = 0;
	uint64_t source;
	struct event_slot *room;

	if (trace_batch_present(b, i) & ~plain) {
		struct event_slot slot = make_slot(c, b, i);

		*at = i + 1;
		return trace_writer_event(c->to, s->track, &slot, c->extra, make_extra(c, b, i, trace_batch_present(b, i)), err);
	}
	room = trace_writer_run(c->to, s->track, RUN_SLOTS, err);
	if (!room)
		return -ENOMEM;
	for (; i < end && n < RUN_SLOTS && !(trace_batch_present(b, i) & ~plain); i++)
		room[n++] = make_slot(c, b, i);
	source = i == end ? s->source_index : 0;
	trace_writer_commit(c->to, s->track, n, source);
	*at = i;
	return 0;
}

static int copy_block(struct copy *c, const struct trace_batch *b, struct error *err)
{
	int rc = trace_writer_domain(c->to, b->domain, err);

	for (size_t i = 0; rc == 0 && i < b->segment_count; i++) {
		const struct trace_segment *s = &b->segments[i];

		for (uint32_t at = s->first; rc == 0 && at < s->first + s->count;)
			rc = copy_some(c, b, s, &at, err);
	}
	return rc;
}

/* What was open before the block begins with it, by its name, kind and depth. */
static int copy_open(struct copy *c, const struct trace_batch *b, int64_t time, struct error *err)
{
	int rc = trace_writer_domain(c->to, b->domain, err);

	for (size_t i = 0; rc == 0 && i < b->open_count; i++) {
		const struct trace_open_slice *o = &b->open[i];
		struct event_slot slot = { .time = (uint64_t)time, .name = copy_string(c, o->name), .cpu = EVENT_CPU_UNKNOWN,
					   .depth = o->depth, .kind = o->kind, .flags = EVENT_FLAGS(PHASE_BEGIN, 0, 0) | EVENT_FLAG_THREAD };

		if (o->name != 0)
			rc = trace_writer_event(c->to, o->track, &slot, NULL, 0, err);
	}
	return rc;
}

static int copy_events(struct copy *c, size_t first, bool open, struct error *err)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	int rc = 0;

	for (size_t i = first; rc == 0 && i < trace_reader_block_count(c->from); i++) {
		if (trace_reader_decode(c->from, i, &batch, NULL) != 0)
			continue;
		if (open && batch.domain == 0) {
			rc = copy_open(c, &batch, trace_reader_block(c->from, i)->first_time, err);
			open = false;
		}
		rc = rc ? rc : copy_block(c, &batch, err);
	}
	trace_batch_release(&batch);
	return rc;
}

static int copy_all(struct trace_reader *from, struct trace_writer *to, size_t first, bool open, struct error *err)
{
	struct copy *c = calloc(1, sizeof *c);
	int rc = -ENOMEM;

	if (c) {
		c->from = from;
		c->to = to;
		c->string_count = trace_reader_string_count(from);
		c->strings = calloc(c->string_count + 1, sizeof *c->strings);
	}
	if (c && c->strings) {
		rc = copy_stacks(c);
		if (rc == 0)
			rc = copy_machines(c);
		if (rc == 0)
			rc = copy_processes_and_tracks(c);
	}
	if (rc == -ENOMEM)
		error_set(err, rc, "out of memory");
	if (rc == 0)
		rc = copy_clocks_and_info(c, err);
	if (rc == 0)
		rc = copy_events(c, first, open, err);
	if (c)
		free(c->strings);
	free(c);
	return rc;
}

int trace_copy(struct trace_reader *from, struct trace_writer *to, struct error *err)
{
	return copy_all(from, to, 0, false, err);
}

int trace_copy_since(struct trace_reader *from, struct trace_writer *to, int64_t since, bool first, struct error *err)
{
	size_t count = trace_reader_block_count(from), block = 0;

	while (block < count && (trace_reader_block(from, block)->domain != 0 || trace_reader_block(from, block)->last_time < since))
		block++;
	return copy_all(from, to, block, first, err);
}
