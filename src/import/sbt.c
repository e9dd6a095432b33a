/*
 * sbt.c - an SBT file as a source: the recordings of several ranks, or of one
 * beside the trace of another tool, become one trace.
 *
 * All numbers become those of the new trace.  Ticks, of whatever clocks, become
 * nanoseconds of the time of day, by the pairs that the recorder stored: only
 * so can traces of several machines lie beside each other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack.h"
#include "import/importer.h"
#include "import/output_state.h"
#include "import/temporary.h"
#include "trace/reader.h"

#define NO_REALTIME INT64_MIN

struct sbt {
	struct trace_reader *from;
	struct output *o;
	struct error *err;
	/* ours by theirs; OUTPUT_NONE where there is no entry.  Strings: 0 is not yet. */
	uint32_t *strings, *hosts, *processes, *tracks, *devices, *frames, *stacks;
	size_t string_count, host_count, process_count, track_count, device_count, frame_count, stack_count;
};

static bool detect(const uint8_t *head, size_t size)
{
	bool magic = size >= 8 && memcmp(head, "\x89SBT\r\n\x1a\n", 8) == 0;

	return magic || (size >= 128 && memcmp(head + 64, "SBTB", 4) == 0); /* a damaged head does not matter */
}

static int64_t mapped(const uint32_t *numbers, size_t count, int64_t number)
{
	return number < 0 || (uint64_t)number >= count || numbers[number] == OUTPUT_NONE ? -1 : (int64_t)numbers[number];
}

static uint32_t *new_map(size_t count)
{
	uint32_t *numbers = malloc((count + 1) * sizeof *numbers);

	for (size_t i = 0; numbers && i < count; i++)
		numbers[i] = OUTPUT_NONE;
	return numbers;
}

/* ---- Names --------------------------------------------------------------------- */

static uint32_t copy_string(struct sbt *c, uint32_t id)
{
	const char *text;
	size_t size;

	if (id == 0 || id >= c->string_count)
		return 0;
	if (c->strings[id] == 0) {
		text = trace_reader_string(c->from, id, &size);
		c->strings[id] = output_string(c->o, text, size);
	}
	return c->strings[id] == OUTPUT_NONE ? 0 : c->strings[id];
}

static struct trace_frame make_frame(struct sbt *c, const struct trace_frame *f)
{
	return (struct trace_frame){ c->frames[f->id], copy_string(c, f->function), copy_string(c, f->file),
				     f->line,          copy_string(c, f->module),   f->address };
}

static int copy_frames(struct sbt *c)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < c->frame_count; i++) {
		const struct trace_frame *f = trace_reader_frame(c->from, i);
		struct trace_frame frame;

		if (!f)
			continue;
		c->frames[i] = c->o->frame_count++;
		frame = make_frame(c, f);
		rc = trace_writer_frame(c->o->writer, &frame);
	}
	return rc;
}

/* Before anything else that has names: one that is a function's must not be taken for plain text. */
static int copy_functions(struct sbt *c)
{
	for (uint32_t i = 1; i < c->string_count; i++) {
		const struct trace_frame *f = trace_reader_function(c->from, i);
		struct trace_frame frame;
		const char *text;
		size_t size;

		if (!f || f->id >= c->frame_count || c->frames[f->id] == OUTPUT_NONE)
			continue;
		frame = make_frame(c, f);
		text = trace_reader_string(c->from, i, &size);
		c->strings[i] = trace_writer_frame_name(c->o->writer, &frame, text, size);
		if (c->strings[i] == 0)
			return -ENOMEM;
	}
	return 0;
}

static int copy_stacks(struct sbt *c)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < c->stack_count; i++) {
		const struct trace_stack *s = trace_reader_stack(c->from, i);
		uint32_t *frames = s ? malloc((s->count + 1) * sizeof *frames) : NULL, count = 0;

		if (!s)
			continue;
		if (!frames)
			return -ENOMEM;
		for (uint32_t k = 0; k < s->count; k++)
			if (s->frames[k] < c->frame_count && c->frames[s->frames[k]] != OUTPUT_NONE)
				frames[count++] = c->frames[s->frames[k]];
		c->stacks[i] = c->o->stack_count++;
		rc = trace_writer_stack(c->o->writer, &(struct trace_stack){ c->stacks[i], count, frames });
		free(frames);
	}
	return rc;
}

/* ---- Entries -------------------------------------------------------------------- */

static void copy_hosts(struct sbt *c)
{
	for (uint32_t i = 0; i < c->host_count; i++) {
		const struct trace_host *h = trace_reader_host(c->from, i);

		if (!h)
			continue;
		c->hosts[i] = output_add_host(c->o, (struct trace_host){ .name = copy_string(c, h->name),
									 .system = copy_string(c, h->system),
									 .machine = copy_string(c, h->machine) });
		if (c->o->host == OUTPUT_NONE)
			c->o->host = c->hosts[i];
	}
}

static uint32_t host_of(const struct sbt *c, uint32_t host)
{
	int64_t number = mapped(c->hosts, c->host_count, host);

	return number < 0 ? output_host(c->o) : (uint32_t)number;
}

static void copy_processes(struct sbt *c)
{
	for (uint32_t i = 0; i < c->process_count; i++) {
		const struct trace_process *p = trace_reader_process(c->from, i);
		struct trace_process process;

		if (!p)
			continue;
		process = *p;
		process.host = host_of(c, p->host);
		process.start = process.end = 0;
		process.name = copy_string(c, p->name);
		process.command = copy_string(c, p->command);
		c->processes[i] = output_add_process(c->o, process);
	}
	for (uint32_t i = 0; i < c->process_count; i++)
		if (c->processes[i] != OUTPUT_NONE)
			c->o->processes[c->processes[i]].entry.parent =
				mapped(c->processes, c->process_count, trace_reader_process(c->from, i)->parent);
}

static void copy_devices(struct sbt *c)
{
	for (uint32_t i = 0; i < c->device_count; i++) {
		const struct trace_device *d = trace_reader_device(c->from, i);
		struct trace_device device;

		if (!d)
			continue;
		device = *d;
		device.host = host_of(c, d->host);
		device.name = copy_string(c, d->name);
		c->devices[i] = output_add_device(c->o, device);
	}
}

static void copy_tracks(struct sbt *c)
{
	for (uint32_t i = 0; i < c->track_count; i++) {
		const struct trace_track *t = trace_reader_track(c->from, i);
		struct trace_track track;

		if (!t)
			continue;
		track = *t;
		track.process = mapped(c->processes, c->process_count, t->process);
		track.device = mapped(c->devices, c->device_count, t->device);
		track.name = copy_string(c, t->name);
		c->tracks[i] = output_add_track(c->o, track);
	}
	for (uint32_t i = 0; i < c->track_count; i++)
		if (c->tracks[i] != OUTPUT_NONE)
			c->o->tracks[c->tracks[i]].entry.parent =
				mapped(c->tracks, c->track_count, trace_reader_track(c->from, i)->parent);
}

static int64_t trace_time(const struct sbt *c, int64_t ticks)
{
	return (int64_t)((uint64_t)trace_reader_ns(c->from, 0, ticks) + (uint64_t)c->o->add);
}

/* When the recording and its processes began, once it is known what is added to all times. */
static void finish_times(struct sbt *c)
{
	int64_t start;

	if (trace_reader_info_integer(c->from, "start_ticks", &start) == 0 && trace_time(c, start) < c->o->first_time)
		c->o->first_time = trace_time(c, start);
	for (uint32_t i = 0; i < c->process_count; i++) {
		const struct trace_process *p = trace_reader_process(c->from, i);
		struct output_process *ours;

		if (!p || c->processes[i] == OUTPUT_NONE)
			continue;
		ours = &c->o->processes[c->processes[i]];
		ours->entry.start = trace_time(c, p->start);
		ours->entry.end = p->end ? trace_time(c, p->end) : 0;
		ours->changed = true;
	}
}

/* ---- What the file says of itself ------------------------------------------------ */

/* From nanoseconds of CLOCK_MONOTONIC_RAW to the time of day, as the last pair has it. */
static int64_t realtime_offset(const struct sbt *c)
{
	const struct trace_clock_pair *pairs;
	size_t count = trace_reader_clock_pairs(c->from, 0, &pairs);

	while (count-- > 0)
		if (pairs[count].realtime_ns)
			return (int64_t)((uint64_t)pairs[count].realtime_ns - (uint64_t)pairs[count].raw_ns);
	return NO_REALTIME;
}

static void copy_info(struct sbt *c)
{
	static const char *const keys[] = {
		"producer",  "command",           "cwd",           "settings", "exit_status", "signal",
		"complete",  "recovered",         "produced",      "recorded", "lost",        "notes",
		"functions", "functions_skipped", "skipped_calls", "sources",  "gpu",         "unwritten",
		"trouble",   "program",
	};
	int64_t offset = realtime_offset(c);
	const uint8_t *raw;
	const char *text;
	size_t size;

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (trace_reader_info_raw(c->from, keys[i], &raw, &size) == 0)
			output_property(c->o, keys[i], raw, size);
	if (trace_reader_info_string(c->from, "hostname", &text, &size) == 0 && c->host_count == 0)
		output_hostname(c->o, text, size);
	if (offset != NO_REALTIME)
		output_base_time(c->o, offset);
}

/* ---- Events ---------------------------------------------------------------------- */

static uint64_t duration_ns(const struct sbt *c, uint32_t domain, int64_t ticks, int64_t begin_ns, uint64_t duration)
{
	int64_t end;

	if (duration > INT64_MAX || __builtin_add_overflow(ticks, (int64_t)duration, &end))
		end = INT64_MAX;
	end = trace_reader_ns(c->from, domain, end);
	return end > begin_ns ? (uint64_t)end - (uint64_t)begin_ns : 0;
}

static void copy_fields(struct sbt *c, const struct trace_batch *b, uint32_t i, struct import_event *e)
{
	uint64_t mask = trace_batch_present(b, i);

	for (unsigned f = FIELD_DURATION; f < FIELD_LIMIT; f++)
		if (mask >> f & 1 && f != FIELD_METADATA && b->field[f])
			import_event_set(e, f, b->field[f][i]);
	if (mask >> FIELD_METADATA & 1 && b->metadata) {
		e->metadata = b->metadata[i].data;
		e->metadata_size = b->metadata[i].size;
	}
	if (mask >> FIELD_CPU & 1)
		import_event_set(e, FIELD_CPU, b->cpu[i]);
	if (mask >> FIELD_DEPTH & 1)
		import_event_set(e, FIELD_DEPTH, b->depth[i]);
	if (e->present >> FIELD_DURATION & 1)
		e->field[FIELD_DURATION] = duration_ns(c, b->domain, b->time[i], e->time, e->field[FIELD_DURATION]);
	if (e->present >> FIELD_STACK & 1 && mapped(c->stacks, c->stack_count, (int64_t)e->field[FIELD_STACK]) >= 0)
		e->field[FIELD_STACK] = c->stacks[e->field[FIELD_STACK]];
	else
		e->present &= ~(1u << FIELD_STACK);
}

static int copy_block(struct sbt *c, const struct trace_batch *b)
{
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < b->segment_count; k++) {
		const struct trace_segment *s = &b->segments[k];
		int64_t track = mapped(c->tracks, c->track_count, s->track);

		for (uint32_t i = s->first; rc == 0 && i < s->first + s->count; i++) {
			struct import_event e;

			e.kind = b->kind[i];
			e.phase = b->phase[i];
			e.track = track < 0 ? OUTPUT_NONE : (uint32_t)track;
			e.name = copy_string(c, b->name[i]);
			e.time = trace_reader_ns(c->from, b->domain, b->time[i]);
			e.present = 0;
			e.metadata_size = 0;
			e.metadata = NULL;
			copy_fields(c, b, i, &e);
			rc = output_event(c->o, &e, c->err);
		}
	}
	return rc;
}

/* A track that has events and no entry. */
static int add_strangers(struct sbt *c, const struct trace_batch *b)
{
	const struct trace_track stranger = { .kind = TRACK_THREAD, .process = -1, .device = -1, .parent = -1 };

	for (size_t k = 0; k < b->segment_count; k++) {
		uint32_t track = b->segments[k].track;

		if (track >= c->track_count) {
			uint32_t *larger = realloc(c->tracks, ((size_t)track + 1) * sizeof *larger);

			if (!larger)
				return -ENOMEM;
			c->tracks = larger;
			while (c->track_count <= track)
				c->tracks[c->track_count++] = OUTPUT_NONE;
		}
		if (c->tracks[track] == OUTPUT_NONE)
			c->tracks[track] = output_add_track(c->o, stranger);
	}
	return 0;
}

static void report_progress(const struct sbt *c, size_t block)
{
	const struct import_options *options = &c->o->options;
	uint64_t total = trace_reader_size(c->from);
	bool last = block + 1 == trace_reader_block_count(c->from);

	if (options->progress && (last || block % 64 == 63))
		options->progress(options->progress_arg, c->o->report->path,
				  last ? total : trace_reader_block(c->from, block)->offset, total);
}

static int copy_events(struct sbt *c)
{
	struct trace_batch batch = TRACE_BATCH_INIT;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < trace_reader_block_count(c->from); i++) {
		if (trace_reader_decode(c->from, i, &batch, NULL) == 0)
			rc = add_strangers(c, &batch);
		else
			batch.segment_count = 0;
		rc = rc ? rc : copy_block(c, &batch);
		report_progress(c, i);
	}
	trace_batch_release(&batch);
	return rc;
}

static void copy_damage(struct sbt *c)
{
	const struct trace_report *damage = trace_reader_report(c->from);
	struct import_report *r = output_report(c->o);

	for (size_t i = 0; i < damage->damage_count && i < sizeof damage->damage / sizeof *damage->damage; i++)
		output_damage(c->o, damage->damage[i].offset, damage->damage[i].size, damage->damage[i].reason);
	if (damage->damage_count > r->damage_count)
		r->damage_count = damage->damage_count;
	r->damage_bytes = damage->damage_bytes;
	r->truncated |= !damage->has_index;
}

/* ---- All of it --------------------------------------------------------------------- */

static int make_maps(struct sbt *c)
{
	c->string_count = trace_reader_string_count(c->from);
	c->host_count = trace_reader_host_count(c->from);
	c->process_count = trace_reader_process_count(c->from);
	c->track_count = trace_reader_track_count(c->from);
	c->device_count = trace_reader_device_count(c->from);
	c->frame_count = trace_reader_frame_count(c->from);
	c->stack_count = trace_reader_stack_count(c->from);
	c->strings = calloc(c->string_count + 1, sizeof *c->strings);
	c->hosts = new_map(c->host_count);
	c->processes = new_map(c->process_count);
	c->tracks = new_map(c->track_count);
	c->devices = new_map(c->device_count);
	c->frames = new_map(c->frame_count);
	c->stacks = new_map(c->stack_count);
	return c->strings && c->hosts && c->processes && c->tracks && c->devices && c->frames && c->stacks ? 0 : -ENOMEM;
}

static void release_maps(struct sbt *c)
{
	free(c->strings);
	free(c->hosts);
	free(c->processes);
	free(c->tracks);
	free(c->devices);
	free(c->frames);
	free(c->stacks);
}

static int copy_all(struct sbt *c)
{
	int rc = make_maps(c);

	rc = rc ? rc : copy_frames(c);
	rc = rc ? rc : copy_functions(c);
	rc = rc ? rc : copy_stacks(c);
	if (rc)
		return error_errno(c->err, rc, "cannot write the trace");
	copy_hosts(c);
	copy_info(c);
	copy_processes(c);
	copy_devices(c);
	copy_tracks(c);
	rc = output_write_entries(c->o); /* all at once: they name each other */
	if (rc)
		return error_errno(c->err, rc, "cannot write the trace");
	rc = copy_events(c);
	if (rc == 0) {
		finish_times(c);
		copy_damage(c);
	}
	return rc;
}

static int read_sbt(const char *path, struct output *o, const struct import_options *options, struct error *err)
{
	struct sbt c = { .o = o, .err = err };
	char damage[160] = "";
	int fd = temporary_unpacked(path, options, damage, err);
	int rc = fd < 0 ? fd : trace_reader_open_fd(&c.from, fd, path, err);

	if (rc < 0)
		return rc;
	output_report(o)->bytes = trace_reader_size(c.from);
	rc = copy_all(&c);
	if (rc == 0 && damage[0])
		output_damage(o, trace_reader_size(c.from), 0, damage);
	release_maps(&c);
	trace_reader_close(c.from);
	return rc;
}

const struct importer sbt_importer = { IMPORT_SBT, detect, read_sbt };
