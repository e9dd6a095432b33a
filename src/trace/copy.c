#include "trace/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/copy_state.h"
#include "trace/redact.h"

#define RUN_SLOTS 4096u

static struct trace_text text_of(const struct copy *c, uint32_t id)
{
	struct trace_text text;

	text.data = trace_reader_string(c->from, id, &text.size);
	return text;
}

static uint32_t keep_failure(struct copy *c, uint32_t string)
{
	if (string == 0 && c->failure == 0)
		c->failure = -ENOMEM;
	return string;
}

static uint32_t put_text(struct copy *c, struct trace_text text)
{
	return text.data ? keep_failure(c, trace_writer_string(c->to, text.data, text.size)) : keep_failure(c, 0);
}

static uint32_t copy_function(struct copy *c, uint32_t id, const struct trace_frame *frame);

/* A name that is a function's is never taken for plain text: others may say the same. */
static uint32_t copy_string(struct copy *c, uint32_t id)
{
	const struct trace_frame *frame;

	if (id == 0 || id >= c->string_count)
		return 0;
	if (c->strings[id] == 0) {
		frame = trace_reader_function(c->from, id);
		c->strings[id] = frame ? copy_function(c, id, frame) : put_text(c, text_of(c, id));
	}
	return c->strings[id];
}

static bool is_called(const struct copy *c, uint32_t id, const char *name)
{
	struct trace_text text = text_of(c, id);

	return text.size == strlen(name) && memcmp(text.data, name, text.size) == 0;
}

/* ---- Texts that may be replaced --------------------------------------------- */

static uint32_t copy_path(struct copy *c, uint32_t id)
{
	return c->redact ? put_text(c, trace_redact_path(c->redact, text_of(c, id))) : copy_string(c, id);
}

static uint32_t copy_named(struct copy *c, uint32_t id, const char *kind)
{
	return c->redact ? put_text(c, trace_redact_name(c->redact, kind, text_of(c, id))) : copy_string(c, id);
}

static uint32_t copy_command(struct copy *c, uint32_t id)
{
	return c->redact ? put_text(c, trace_redact_command(text_of(c, id))) : copy_string(c, id);
}

static uint32_t copy_track_name(struct copy *c, const struct trace_track *track)
{
	static const char *const kinds[] = {
		[TRACK_THREAD] = "thread", [TRACK_STATES] = "thread", [TRACK_TASK] = "task", [TRACK_STREAM] = "stream", [TRACK_HOST] = NULL
	};
	const char *kind = track->kind < sizeof kinds / sizeof kinds[0] ? kinds[track->kind] : NULL;

	return kind && !is_called(c, track->name, "MainThread") ? copy_named(c, track->name, kind) : copy_string(c, track->name);
}

/* Operators that come with PyTorch; others are the user's own. */
static bool is_operator_of_framework(struct trace_text name)
{
	static const char *const fronts[] = { "aten::", "prim::", "prims::", "c10d::", "c10::", "nccl:", "gloo:", "torch::", "quantized::", "autograd::" };

	for (size_t i = 0; i < sizeof fronts / sizeof fronts[0]; i++)
		if (name.size > strlen(fronts[i]) && memcmp(name.data, fronts[i], strlen(fronts[i])) == 0)
			return true;
	return false;
}

/* What to call a name that is the program's own; NULL: it is the framework's, the driver's or the recorder's. */
static const char *kind_of_name(const struct copy *c, struct trace_text name, uint8_t kind, uint32_t track)
{
	const struct trace_track *t = trace_reader_track(c->from, track);

	if (t && t->kind != TRACK_THREAD && t->kind != TRACK_TASK && t->kind != TRACK_STREAM)
		return NULL;
	switch (kind) {
	case EVENT_SCOPE:
	case EVENT_INSTANT:
	case EVENT_COUNTER:
	case EVENT_FLOW:
		return "name";
	case EVENT_GPU_KERNEL:
		return "kernel";
	case EVENT_OP:
		return is_operator_of_framework(name) ? NULL : "name";
	case EVENT_CPU_SAMPLE:
		return memmem(name.data, name.size, ".so", 3) ? NULL : "module";
	default:
		return NULL;
	}
}

uint32_t copy_name(struct copy *c, uint32_t id, uint8_t kind, uint32_t track)
{
	struct trace_text text;
	const char *word;

	if (!c->redact || id == 0 || id >= c->string_count || trace_reader_function(c->from, id))
		return copy_string(c, id);
	text = text_of(c, id);
	word = trace_redact_what(c->redact) & REDACT_NAMES ? kind_of_name(c, text, kind, track) : NULL;
	if (!word)
		return kind == EVENT_CPU_SAMPLE ? copy_path(c, id) : copy_string(c, id);
	if (c->private_strings[id] == 0)
		c->private_strings[id] = put_text(c, trace_redact_name(c->redact, word, text));
	return c->private_strings[id];
}

/* ---- Dictionary ------------------------------------------------------------ */

static int copy_machines(struct copy *c)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < trace_reader_host_count(c->from); i++) {
		const struct trace_host *h = trace_reader_host(c->from, i);

		if (h)
			rc = trace_writer_host(c->to, &(struct trace_host){ h->id, copy_named(c, h->name, "host"),
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
		process.name = copy_named(c, process.name, "process");
		process.command = copy_command(c, process.command);
		rc = trace_writer_process(c->to, &process);
	}
	for (uint32_t i = 0; rc == 0 && i < trace_reader_track_count(c->from); i++) {
		const struct trace_track *found = trace_reader_track(c->from, i);
		struct trace_track track;

		if (!found)
			continue;
		track = *found;
		track.name = copy_track_name(c, found);
		rc = trace_writer_track(c->to, &track);
	}
	return rc;
}

static bool is_private(struct copy *c, const struct trace_frame *f)
{
	return trace_redact_what(c->redact) & REDACT_NAMES && !trace_redact_is_public(text_of(c, f->file));
}

static struct trace_frame make_frame(struct copy *c, const struct trace_frame *f)
{
	struct trace_frame frame = *f;

	frame.file = copy_path(c, f->file);
	frame.function = is_private(c, f) ? copy_named(c, f->function, "function") : copy_string(c, f->function);
	frame.module = is_private(c, f) ? copy_named(c, f->module, "module") : copy_path(c, f->module);
	return frame;
}

static void copy_frame(struct copy *c, uint32_t id)
{
	const struct trace_frame *f = id < c->frame_count ? trace_reader_frame(c->from, id) : NULL;
	struct trace_frame frame;
	int rc;

	if (!f || c->frames[id])
		return;
	c->frames[id] = true;
	frame = make_frame(c, f);
	rc = trace_writer_frame(c->to, &frame);
	c->failure = c->failure ? c->failure : rc;
}

static uint32_t copy_function(struct copy *c, uint32_t id, const struct trace_frame *f)
{
	struct trace_text text = text_of(c, id);
	struct trace_frame frame = make_frame(c, f);

	copy_frame(c, f->id);
	if (is_private(c, f))
		text = trace_redact_name(c->redact, "function", text);
	return keep_failure(c, trace_writer_frame_name(c->to, &frame, text.data, text.size));
}

static void copy_stack(struct copy *c, uint64_t id)
{
	const struct trace_stack *stack = id < c->stack_count ? trace_reader_stack(c->from, (uint32_t)id) : NULL;
	int rc;

	if (!stack || c->stacks[id])
		return;
	c->stacks[id] = true;
	for (uint32_t i = 0; i < stack->count; i++)
		copy_frame(c, stack->frames[i]);
	rc = trace_writer_stack(c->to, stack);
	c->failure = c->failure ? c->failure : rc;
}

static int copy_info(struct copy *c, const uint8_t *map, size_t size, struct error *err)
{
	struct buffer replaced = BUFFER_INIT;
	int rc;

	if (!c->redact)
		return trace_writer_info(c->to, map, size, err);
	rc = trace_redact_info(c->redact, map, size, &replaced);
	if (rc == 0)
		rc = trace_writer_info(c->to, replaced.data, replaced.size, err);
	buffer_release(&replaced);
	return rc == -EBADMSG ? 0 : rc; /* what cannot be read cannot be looked through for names, and is left out */
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
		rc = copy_info(c, map, size, err);
	return rc;
}

/* ---- Events ---------------------------------------------------------------- */

static struct event_slot make_slot(struct copy *c, const struct trace_batch *b, uint32_t i, uint32_t track)
{
	bool on_thread = trace_batch_present(b, i) >> FIELD_DEPTH & 1;

	return (struct event_slot){
		.time = (uint64_t)b->time[i],
		.name = copy_name(c, b->name[i], b->kind[i], track),
		.cpu = b->cpu[i],
		.depth = b->depth[i],
		.kind = b->kind[i],
		.flags = (uint16_t)(EVENT_FLAGS(b->phase[i], 0, 0) | (on_thread ? EVENT_FLAG_THREAD : 0)),
	};
}

static size_t put_field(uint8_t *out, size_t used, uint8_t field, const void *data, size_t size)
{
	uint16_t length = (uint16_t)size;

	if (used + 3 + size > COPY_EXTRA_MAX)
		return used;
	out[used] = field;
	memcpy(out + used + 1, &length, 2);
	memcpy(out + used + 3, data, size);
	return used + 3 + size;
}

static size_t put_metadata(struct copy *c, const struct trace_batch *b, uint32_t i, uint32_t track, size_t used)
{
	const struct trace_track *t = trace_reader_track(c->from, track);
	const bool of_program = !t || t->kind == TRACK_THREAD || t->kind == TRACK_TASK || t->kind == TRACK_STREAM;
	const struct trace_blob blob = b->metadata[i];
	int rc;

	if (!c->redact)
		return put_field(c->extra, used, FIELD_METADATA, blob.data, blob.size);
	if (of_program && trace_redact_what(c->redact) & REDACT_ARGS)
		return used;
	buffer_clear(&c->metadata);
	if (b->kind[i] == EVENT_CPU_SAMPLE && is_called(c, b->name[i], "native"))
		rc = trace_redact_modules_of(c->redact, blob.data, blob.size, &c->metadata);
	else
		rc = trace_redact_paths_of(c->redact, blob.data, blob.size, &c->metadata);
	return rc ? used : put_field(c->extra, used, FIELD_METADATA, c->metadata.data, c->metadata.size);
}

/* The fields that a slot has no place for. */
static size_t make_extra(struct copy *c, const struct trace_batch *b, uint32_t i, uint32_t track)
{
	uint64_t mask = trace_batch_present(b, i);
	size_t used = 0;

	if (mask >> FIELD_STACK & 1 && b->field[FIELD_STACK])
		copy_stack(c, b->field[FIELD_STACK][i]);
	for (uint8_t f = FIELD_DURATION; f < FIELD_LIMIT; f++) {
		if (!(mask >> f & 1))
			continue;
		if (f == FIELD_METADATA && b->metadata)
			used = put_metadata(c, b, i, track, used);
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
		struct event_slot slot = make_slot(c, b, i, s->track);

		*at = i + 1;
		return trace_writer_event(c->to, s->track, &slot, c->extra, make_extra(c, b, i, s->track), err);
	}
	room = trace_writer_run(c->to, s->track, RUN_SLOTS, err);
	if (!room)
		return -ENOMEM;
	for (; i < end && n < RUN_SLOTS && !(trace_batch_present(b, i) & ~plain); i++)
		room[n++] = make_slot(c, b, i, s->track);
	source = i == end ? s->source_index : 0;
	trace_writer_commit(c->to, s->track, n, source);
	*at = i;
	return 0;
}

int copy_segment(struct copy *c, const struct trace_batch *b, const struct trace_segment *s, struct error *err)
{
	int rc = 0;

	for (uint32_t at = s->first; rc == 0 && at < s->first + s->count;)
		rc = copy_some(c, b, s, &at, err);
	return rc || c->failure == 0 ? rc : error_errno(err, c->failure, "cannot store a name");
}

static int copy_block(struct copy *c, const struct trace_batch *b, struct error *err)
{
	int rc = trace_writer_domain(c->to, b->domain, err);

	for (size_t i = 0; rc == 0 && i < b->segment_count; i++)
		rc = copy_segment(c, b, &b->segments[i], err);
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

/* ---- All of it ------------------------------------------------------------------ */

struct copy *copy_new(struct trace_reader *from, struct trace_writer *to, struct trace_redact *redact)
{
	struct copy *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->from = from;
	c->to = to;
	c->redact = redact;
	c->string_count = trace_reader_string_count(from);
	c->strings = calloc(c->string_count + 1, sizeof *c->strings);
	c->private_strings = calloc(c->string_count + 1, sizeof *c->private_strings);
	c->frame_count = trace_reader_frame_count(from);
	c->frames = calloc(c->frame_count + 1, sizeof *c->frames);
	c->stack_count = trace_reader_stack_count(from);
	c->stacks = calloc(c->stack_count + 1, sizeof *c->stacks);
	if (c->strings && c->private_strings && c->frames && c->stacks)
		return c;
	copy_free(c);
	return NULL;
}

void copy_free(struct copy *c)
{
	if (!c)
		return;
	buffer_release(&c->metadata);
	free(c->stacks);
	free(c->frames);
	free(c->private_strings);
	free(c->strings);
	free(c);
}

int copy_all_but_events(struct copy *c, struct error *err)
{
	int rc = copy_machines(c);

	rc = rc ? rc : copy_processes_and_tracks(c);
	rc = rc ? rc : c->failure;
	if (rc)
		return error_errno(err, rc, "cannot copy the trace");
	return copy_clocks_and_info(c, err);
}

static int copy_all(struct trace_reader *from, struct trace_writer *to, size_t first, bool open, struct error *err)
{
	struct copy *c = copy_new(from, to, NULL);
	int rc;

	if (!c)
		return error_set(err, -ENOMEM, "out of memory");
	rc = copy_all_but_events(c, err);
	rc = rc ? rc : copy_events(c, first, open, err);
	copy_free(c);
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
