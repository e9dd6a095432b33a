/*
 * perfetto_gpu.c - work of GPUs as their drivers and tools report it, their counters and memory.
 */
#include "import/perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/writer.h"

#define SPECIFICATIONS_MAX 4096u
#define DEVICES_MAX 256u
#define QUEUE_KEYS ((uint64_t)1 << 40) /* queues that are no numbered streams */

/* GpuRenderStageEvent */
struct stage {
	uint64_t event_id, duration, context, gpu, queue_iid, stage_iid, name_iid, kernel_iid, queue_id, stage_id;
	uint64_t submission;
	bool has_event_id, has_queue_iid, has_stage_iid, has_submission;
	struct text name, queue, stage;
	struct pb_field specifications, launch;
};

static int read_stage(struct cursor c, struct stage *g)
{
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		switch (f.number) {
		case 1:
			g->event_id = f.value;
			g->has_event_id = true;
			break;
		case 2:
			g->duration = f.value;
			break;
		case 3:
			g->queue_id = f.value & UINT32_MAX;
			break;
		case 4:
			g->stage_id = f.value & UINT32_MAX;
			break;
		case 5:
			g->context = f.value;
			break;
		case 7:
			g->specifications = f;
			break;
		case 10:
			g->submission = f.value;
			g->has_submission = true;
			break;
		case 11:
			g->gpu = f.value & UINT32_MAX;
			break;
		case 13:
			g->queue_iid = f.value;
			g->has_queue_iid = true;
			break;
		case 14:
			g->stage_iid = f.value;
			g->has_stage_iid = true;
			break;
		case 17:
			g->name = pb_text(&f);
			break;
		case 19:
			g->kernel_iid = f.value;
			break;
		case 20:
			g->name_iid = f.value;
			break;
		case 21:
			g->launch = f;
			break;
		default:
			break;
		}
	}
	return rc;
}

/* ---- The older specifications: names by position ------------------------------ */

static int add_description(struct perfetto *p, struct cursor c, struct stored_text **list, size_t *count,
			   size_t *capacity)
{
	struct text name = { "", 0 };
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0)
		if (f.number == 1)
			name = pb_text(&f);
	if (rc || *count >= SPECIFICATIONS_MAX)
		return rc;
	rc = array_grow((void **)list, capacity, *count + 1, sizeof **list);
	if (rc == 0)
		rc = perfetto_store(p, name, &(*list)[*count]);
	if (rc == 0)
		++*count;
	return rc;
}

static int add_context(struct perfetto *p, struct cursor c)
{
	uint64_t context = 0, pid = 0;
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 1)
			context = f.value;
		else if (f.number == 2)
			pid = f.value;
	}
	if (rc || pid >= UINT32_MAX || output_map_find(&p->gpu.contexts, 0, context) != PERFETTO_NONE)
		return rc;
	return output_map_add(&p->gpu.contexts, 0, context, (uint32_t)pid);
}

static int read_specifications(struct perfetto *p, struct cursor c)
{
	struct gpu *g = &p->gpu;
	struct pb_field f;
	int rc;

	g->queue_count = g->stage_count = 0;
	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 1)
			rc = add_context(p, pb_message(&f));
		else if (f.number == 2)
			rc = add_description(p, pb_message(&f), &g->queues, &g->queue_count, &g->queue_capacity);
		else if (f.number == 3)
			rc = add_description(p, pb_message(&f), &g->stages, &g->stage_count, &g->stage_capacity);
		else
			rc = 0;
		if (rc)
			return rc;
	}
	return rc;
}

/* ---- Names -------------------------------------------------------------------- */

static void find_names(struct perfetto *p, const struct sequence *s, struct stage *g)
{
	if (g->has_queue_iid)
		g->queue = intern_text(s, intern_find(s, INTERN_GPU_SPEC, g->queue_iid));
	else if (g->queue_id < p->gpu.queue_count)
		g->queue = perfetto_stored(p, p->gpu.queues[g->queue_id]);
	if (g->has_stage_iid)
		g->stage = intern_text(s, intern_find(s, INTERN_GPU_SPEC, g->stage_iid));
	else if (g->stage_id < p->gpu.stage_count)
		g->stage = perfetto_stored(p, p->gpu.stages[g->stage_id]);
	if (!g->name.size && g->name_iid)
		g->name = intern_text(s, intern_find(s, INTERN_NAME, g->name_iid));
	if (!g->name.size && g->kernel_iid)
		g->name = intern_text(s, intern_find(s, INTERN_KERNEL, g->kernel_iid));
	if (!g->name.size)
		g->name = g->stage;
}

static uint32_t name_of(struct perfetto *p, const struct stage *g)
{
	char text[48];

	if (g->name.size)
		return output_string(p->o, g->name.data, g->name.size);
	output_report(p->o)->repaired++;
	return output_string(p->o, text,
			     (size_t)snprintf(text, sizeof text, "[unknown stage %llu]",
					      (unsigned long long)(g->has_stage_iid ? g->stage_iid : g->stage_id)));
}

/* ---- Places ------------------------------------------------------------------- */

static unsigned device_kind(uint32_t api)
{
	static const uint8_t kinds[] = { 0, 0, 0, DEVICE_OPENCL, DEVICE_CUDA, DEVICE_HIP };

	return api < sizeof kinds ? kinds[api] : 0;
}

/* The device, and of the process what the context tells. */
static uint32_t find_device(struct perfetto *p, const struct packet *packet, const struct stage *g, uint64_t gpu,
			    uint32_t *ret_process)
{
	const struct interned *context = intern_find(packet->sequence, INTERN_GPU_CONTEXT, g->context);
	uint32_t pid = context ? (uint32_t)context->value : output_map_find(&p->gpu.contexts, 0, g->context);
	uint32_t device = output_device(p->o, gpu);
	unsigned kind = context ? device_kind(context->extra) : 0;

	*ret_process = pid == PERFETTO_NONE || pid == 0 ? OUTPUT_NONE : track_process(p, packet->machine, pid);
	if (device != OUTPUT_NONE && kind && output_map_find(&p->gpu.described, device, kind) == PERFETTO_NONE) {
		output_device_describe(p->o, device, kind, "", 0, NULL, 0);
		if (output_map_add(&p->gpu.described, device, kind, 0))
			return OUTPUT_NONE;
	}
	return device;
}

static uint32_t find_stream(struct perfetto *p, uint32_t device, uint32_t process, const struct stage *g,
			    struct perfetto_event *pe)
{
	uint64_t key;
	uint32_t track;

	if (pe->has_stream)
		key = pe->stream;
	else if (!text_number_after(g->queue, "stream", &key))
		key = QUEUE_KEYS | (g->has_queue_iid ? g->queue_iid : g->queue_id);
	track = output_stream(p->o, device, process, key);
	if (track == OUTPUT_NONE || !g->queue.size || output_map_find(&p->gpu.named, track, 0) != PERFETTO_NONE)
		return track;
	output_track_name(p->o, track, g->queue.data, g->queue.size);
	return output_map_add(&p->gpu.named, track, 0, 0) ? OUTPUT_NONE : track;
}

/* ---- Arguments ---------------------------------------------------------------- */

static int extra_data(struct perfetto *p, struct cursor c, struct perfetto_event *pe)
{
	struct text name = { "", 0 }, value = { "", 0 };
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 1)
			name = pb_text(&f);
		else if (f.number == 2)
			value = pb_text(&f);
	}
	return rc ? rc : args_named(p, meaning_of(name), name, value, pe);
}

static void dimensions(struct perfetto_event *pe, enum event_field first, struct cursor c)
{
	struct pb_field f;

	while (pb_next(&c, &f) > 0)
		if (f.number >= 1 && f.number <= 3)
			import_event_set(&pe->e, (enum event_field)(first + f.number - 1), f.value);
}

/* ExtraComputeArg */
static int launch_arg(struct perfetto *p, const struct sequence *s, struct cursor c, struct perfetto_event *pe)
{
	struct text name = { "", 0 }, text = { "", 0 };
	uint32_t meaning = MEANING_NONE;
	bool has_number = false, has_double = false;
	uint64_t number = 0;
	double value = 0;
	char digits[32];
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 1) {
			const struct interned *entry = intern_find(s, INTERN_KERNEL_ARG, f.value);

			name = intern_text(s, entry);
			meaning = entry ? entry->extra : MEANING_NONE;
		} else if (f.number == 2) {
			name = pb_text(&f);
			meaning = meaning_of(name);
		} else if (f.number == 3 || f.number == 4) {
			number = f.value;
			has_number = true;
		} else if (f.number == 5) {
			value = pb_double(&f);
			has_double = true;
		} else if (f.number == 6) {
			text = pb_text(&f);
		} else if (f.number == 7) {
			text = intern_text(s, intern_find(s, INTERN_ARG_TEXT, f.value));
		}
	}
	if (rc)
		return rc;
	if (has_double)
		return args_double(p, name, value);
	if (has_number && meaning == MEANING_STREAM) {
		pe->stream = number; /* -1 is one, too: of work that belongs to no stream */
		pe->has_stream = true;
		return 0;
	}
	if (has_number && (!args_is_field(meaning) || (int64_t)number < 0))
		return args_integer(p, name, (int64_t)number);
	if (has_number)
		text = (struct text){ digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)number) };
	return args_named(p, meaning, name, text, pe);
}

static int read_launch(struct perfetto *p, const struct sequence *s, struct cursor c, struct perfetto_event *pe)
{
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 1)
			dimensions(pe, FIELD_GRID_X, pb_message(&f));
		else if (f.number == 2)
			dimensions(pe, FIELD_BLOCK_X, pb_message(&f));
		rc = f.number == 3 ? launch_arg(p, s, pb_message(&f), pe) : 0;
		if (rc)
			return rc;
	}
	return rc;
}

static int read_args(struct perfetto *p, const struct sequence *s, const struct stage *g, struct cursor c,
		     struct perfetto_event *pe)
{
	struct pb_field f;
	int rc = 0;

	args_clear(p);
	while (rc == 0 && pb_next(&c, &f) > 0)
		if (f.number == 6)
			rc = extra_data(p, pb_message(&f), pe);
	if (rc == 0 && g->launch.data)
		rc = read_launch(p, s, pb_message(&g->launch), pe);
	if (rc == 0 && g->name.data != g->stage.data)
		rc = args_text(p, "stage", g->stage);
	if (rc == 0 && g->has_submission)
		rc = args_number(p, "submission_id", g->submission);
	/* Calls name the events that they asked for, see perfetto_event.c. */
	if (g->has_event_id && !(pe->e.present & 1u << FIELD_CORRELATION))
		import_event_set(&pe->e, FIELD_CORRELATION, g->event_id);
	return rc ? rc : args_finish(p, pe);
}

/* ---- Events ------------------------------------------------------------------- */

int gpu_render_stage(struct perfetto *p, const struct packet *packet, struct cursor c)
{
	struct stage g = { 0 };
	struct perfetto_event pe;
	uint32_t device, process;
	int rc = read_stage(c, &g);

	if (rc == 0 && g.specifications.data)
		rc = read_specifications(p, pb_message(&g.specifications));
	/* The packet with the specifications need not be an event. */
	if (rc || (g.specifications.data && !g.has_event_id && !g.duration))
		return rc;
	if (!packet->has_time) {
		perfetto_skip(p, "an event without a time");
		return 0;
	}
	find_names(p, packet->sequence, &g);
	perfetto_event_begin(&pe, EVENT_GPU_KERNEL, PHASE_COMPLETE, packet->time);
	kind_set(&pe, kind_of_stage(g.stage, g.name), g.name);
	rc = read_args(p, packet->sequence, &g, c, &pe);
	if (rc)
		return rc;
	device = find_device(p, packet, &g, pe.has_device ? pe.device : g.gpu, &process);
	if (device == OUTPUT_NONE)
		return 0;
	pe.e.track = find_stream(p, device, process, &g, &pe);
	pe.e.name = name_of(p, &g);
	pe.direct = true;
	pe.has_stream = false;
	import_event_set(&pe.e, FIELD_DURATION, g.duration);
	return sort_add(p, &pe);
}

/* A property of a device: its kind, as our own export says it; 0: another one. */
static unsigned kind_of_property(struct cursor c)
{
	static const char our_kind[] = "inferscope.kind";
	bool is_kind = false;
	unsigned kind = 0;
	struct pb_field f;

	while (pb_next(&c, &f) > 0) {
		struct text text = pb_text(&f);

		if (f.number == 1)
			is_kind = text.size == sizeof our_kind - 1 && memcmp(text.data, our_kind, text.size) == 0;
		for (unsigned i = 1; f.number == 2 && trace_device_kind_name(i); i++)
			if (strlen(trace_device_kind_name(i)) == text.size &&
			    memcmp(trace_device_kind_name(i), text.data, text.size) == 0)
				kind = i;
	}
	return is_kind ? kind : 0;
}

static int describe_device(struct perfetto *p, uint64_t number, struct cursor c)
{
	struct text name = { "", 0 };
	unsigned kind = 0;
	uint32_t device;
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 1)
			name = pb_text(&f);
		else if (f.number == 6 && !kind)
			kind = kind_of_property(pb_message(&f));
	}
	device = rc ? OUTPUT_NONE : output_device(p->o, number);
	if (device != OUTPUT_NONE && (name.size || kind))
		output_device_describe(p->o, device, kind, name.data, name.size, NULL, 0);
	return rc;
}

/* GpuInfo: the names of the devices, by their numbers. */
int gpu_info(struct perfetto *p, struct cursor c)
{
	uint64_t number = 0;
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number != 1 || number >= DEVICES_MAX)
			continue;
		rc = describe_device(p, number++, pb_message(&f));
		if (rc)
			return rc;
	}
	return rc;
}

/* ---- Counters ----------------------------------------------------------------- */

struct gpu_counter {
	uint64_t id;
	bool has_value;
	double value;
};

static int read_counter(struct cursor c, struct gpu_counter *g)
{
	struct pb_field f;
	int rc;

	*g = (struct gpu_counter){ 0 };
	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 1)
			g->id = f.value;
		else if (f.number == 2 || f.number == 3)
			g->value = f.number == 2 ? (double)(int64_t)f.value : pb_double(&f);
		g->has_value |= f.number == 2 || f.number == 3;
	}
	return rc;
}

/* GpuCounterSpec: names a counter from here on. */
static int read_spec(struct perfetto *p, uint64_t scope, struct cursor c)
{
	struct text name = { "", 0 };
	uint64_t id = 0;
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 1)
			id = f.value;
		else if (f.number == 2)
			name = pb_text(&f);
	}
	if (rc || !name.size || output_map_find(&p->gpu.counters, scope, id) != PERFETTO_NONE)
		return rc;
	return output_map_add(&p->gpu.counters, scope, id, output_string(p->o, name.data, name.size));
}

static int read_descriptor(struct perfetto *p, uint64_t scope, struct cursor c)
{
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		rc = f.number == 1 ? read_spec(p, scope, pb_message(&f)) : 0;
		if (rc)
			return rc;
	}
	return rc;
}

/* Where the counters of a GPU are: a track of the machine, with its number. */
static uint32_t counter_track(struct perfetto *p, uint64_t machine, uint64_t gpu)
{
	uint64_t key = (uint64_t)0xc0 << 56 | gpu;
	uint32_t known = output_map_find(&p->gpu.named, key, machine), process, track;
	char name[32];

	if (known != PERFETTO_NONE)
		return known;
	process = track_global(p, machine);
	track = process == OUTPUT_NONE ? OUTPUT_NONE : output_thread(p->o, process, key);
	if (track == OUTPUT_NONE || output_map_add(&p->gpu.named, key, machine, track))
		return OUTPUT_NONE;
	output_track_name(p->o, track, name,
			  (size_t)snprintf(name, sizeof name, "GPU %llu counters", (unsigned long long)gpu));
	return track;
}

static int add_value(struct perfetto *p, uint32_t track, uint32_t name, int64_t time, double value)
{
	struct perfetto_event pe;

	perfetto_event_begin(&pe, EVENT_COUNTER, PHASE_INSTANT, time);
	pe.e.track = track;
	pe.e.name = name;
	pe.direct = true;
	import_event_set(&pe.e, FIELD_VALUE, pb_bits_of_double(value));
	return track == OUTPUT_NONE ? 0 : sort_add(p, &pe);
}

static int add_values(struct perfetto *p, const struct packet *packet, uint64_t scope, uint64_t gpu, struct cursor c)
{
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		struct gpu_counter value;
		uint32_t name;

		if (f.number != 2)
			continue;
		rc = read_counter(pb_message(&f), &value);
		if (rc)
			return rc;
		name = output_map_find(&p->gpu.counters, scope, value.id);
		if (!value.has_value || name == PERFETTO_NONE)
			output_report(p->o)->skipped++;
		else
			rc = add_value(p, counter_track(p, packet->machine, gpu), name, packet->time, value.value);
		if (rc)
			return rc;
	}
	return rc;
}

/* A value stands at the time it was reported, though it is of the time before it. */
int gpu_counters(struct perfetto *p, const struct packet *packet, struct cursor c)
{
	uint64_t gpu = 0, iid = 0, scope = packet->machine;
	struct pb_field f, descriptor = { 0 };
	struct cursor all = c;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 1)
			descriptor = f;
		else if (f.number == 3)
			gpu = f.value & UINT32_MAX;
		else if (f.number == 4)
			iid = f.value;
	}
	if (rc == 0 && iid) {
		const struct interned *entry = intern_find(packet->sequence, INTERN_GPU_COUNTERS, iid);
		struct text text = intern_text(packet->sequence, entry);

		/* Numbers are of their descriptor, and these of their sequence. */
		scope = ((uint64_t)packet->sequence->id + 1) << 32 ^ iid * 0x9e3779b97f4a7c15u ^
			packet->sequence->generation;
		gpu = entry ? entry->value & UINT32_MAX : gpu;
		rc = read_descriptor(p, scope, cursor_of(text.data, text.size));
	}
	if (rc == 0 && descriptor.data)
		rc = read_descriptor(p, scope, pb_message(&descriptor));
	if (rc)
		return rc;
	return packet->has_time ? add_values(p, packet, scope, gpu, all) : 0;
}

/* GpuMemTotalEvent, and the event of ftrace with the same fields. */
int gpu_memory(struct perfetto *p, uint64_t machine, int64_t time, struct cursor c)
{
	uint64_t gpu = 0, pid = 0, bytes = 0;
	uint32_t process, track;
	char name[40];
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		switch (f.number) {
		case 1:
			gpu = f.value & UINT32_MAX;
			break;
		case 2:
			pid = f.value & UINT32_MAX;
			break;
		case 3:
			bytes = f.value;
			break;
		default:
			break;
		}
	}
	if (rc)
		return rc;
	if (pid) {
		process = track_process(p, machine, pid);
		track = process == OUTPUT_NONE ? OUTPUT_NONE : output_process_track(p->o, process);
	} else {
		track = counter_track(p, machine, gpu);
	}
	if (gpu)
		snprintf(name, sizeof name, "GPU %llu memory", (unsigned long long)gpu);
	else
		snprintf(name, sizeof name, "GPU memory");
	return add_value(p, track, output_string(p->o, name, strlen(name)), time, (double)bytes);
}

void gpu_release(struct gpu *g)
{
	free(g->queues);
	free(g->stages);
	output_map_release(&g->contexts);
	output_map_release(&g->counters);
	output_map_release(&g->named);
	output_map_release(&g->described);
	*g = (struct gpu){ 0 };
}
