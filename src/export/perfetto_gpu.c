/*
 * perfetto_gpu.c - work of devices, as stages of a GPU: each on the queue of its
 * stream, with what it was launched with.  Stages may overlap.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/msgpack.h"
#include "export/perfetto.h"
#include "ring/event.h"

#define BIT(field) ((uint64_t)1 << (field))
#define GPUS_MAX 256u
#define CATEGORY_COMPUTE 2
#define PROPERTIES_MAX 64u

enum { PACKET_STAGE = 53, PACKET_INTERNED = 12, PACKET_GPU_INFO = 128 };
enum { INTERN_CONTEXT = 23, INTERN_SPECIFICATION = 24, INTERN_LAUNCH_ARG = 1001 };
enum {
	STAGE_EVENT = 1,
	STAGE_DURATION = 2,
	STAGE_CONTEXT = 5,
	STAGE_GPU = 11,
	STAGE_QUEUE_IID = 13,
	STAGE_IID = 14,
	STAGE_NAME_IID = 20,
	STAGE_LAUNCH = 21
};
enum { IID_QUEUE = 100, IID_DEVICE_ARG = 60, IID_STREAM_ARG = 61 };
enum { EVENT_GPU_CORRELATION = 3000 };

static const struct trace_track *stream_of(const struct pf *p, uint32_t track)
{
	const struct trace_track *t = trace_reader_track(p->reader, track);

	return t && t->kind == TRACK_STREAM && t->device >= 0 && t->device < UINT32_MAX ? t : NULL;
}

bool pf_is_device_work(const struct pf *p, uint32_t track, uint32_t event)
{
	uint8_t kind = p->batch->kind[event];

	return p->batch->phase[event] == PHASE_COMPLETE && stream_of(p, track) && kind != EVENT_LOST &&
	       kind != EVENT_CLOCK_PAIR;
}

/* Correlations are of their process. */
uint64_t pf_work_id(const struct pf *p, uint32_t track, uint64_t correlation)
{
	const struct trace_track *t = trace_reader_track(p->reader, track);

	return t && t->process > 0 ? correlation ^ (uint64_t)t->process << 40 : correlation;
}

void pf_put_correlation(struct pf *p, const struct pf_track *t, uint32_t event, struct buffer *out)
{
	const struct trace_batch *b = p->batch;
	size_t opened = proto_open(out);

	if (b->kind[event] != EVENT_RUNTIME_CALL || !(trace_batch_present(b, event) & BIT(FIELD_CORRELATION)))
		return;
	pf_check(p, proto_number(out, 1, pf_work_id(p, t->id, b->field[FIELD_CORRELATION][event])) |
			    proto_close(out, EVENT_GPU_CORRELATION, opened));
}

/* ---- Queues and stages ------------------------------------------------------------------ */

static void say_specification(struct pf *p, struct pf_sequence *s, uint64_t iid, const char *name, size_t size)
{
	struct buffer body = BUFFER_INIT;

	pf_check(p, proto_number(&body, 1, iid) | proto_text(&body, 2, name, size) |
			    proto_number(&body, 4, CATEGORY_COMPUTE) | proto_close(&body, INTERN_SPECIFICATION, 0));
	if (p->failure == 0)
		pf_packet(p, s, PACKET_INTERNED, &body);
	buffer_release(&body);
}

static void say_context(struct pf *p, struct pf_sequence *s, const struct trace_track *track)
{
	static const uint8_t apis[] = { 0, 4, 3, 5, 0 };
	const struct trace_device *device = trace_reader_device(p->reader, (uint32_t)track->device);
	struct buffer body = BUFFER_INIT;

	pf_check(p, proto_number(&body, 1, (uint64_t)(track->process + 1)));
	if (track->process >= 0 && trace_reader_process(p->reader, (uint32_t)track->process))
		pf_check(p, proto_number(&body, 2, p->process_pid[track->process]));
	pf_check(p, proto_number(&body, 3, device && device->kind < sizeof apis ? apis[device->kind] : 0) |
			    proto_close(&body, INTERN_CONTEXT, 0));
	if (p->failure == 0)
		pf_packet(p, s, PACKET_INTERNED, &body);
	buffer_release(&body);
}

/* The stream's own name, if it says its number, as readers look for that. */
static void say_queue(struct pf *p, struct pf_sequence *s, const struct trace_track *track)
{
	size_t size;
	const char *name = trace_reader_string(p->reader, track->name, &size);
	char text[48];

	if (size == 0) {
		size = (size_t)snprintf(text, sizeof text, "stream %llu", (unsigned long long)track->os_id);
		name = text;
	}
	say_specification(p, s, IID_QUEUE, name, size);
	say_context(p, s, track);
	pf_say(p, s, INTERN_LAUNCH_ARG, IID_DEVICE_ARG, "device", 6);
	pf_say(p, s, INTERN_LAUNCH_ARG, IID_STREAM_ARG, "stream", 6);
}

/* Stages are called as kinds are, which is how the importer knows them again. */
static uint32_t stage_of(struct pf *p, struct pf_sequence *s, uint8_t kind)
{
	uint8_t iid = pf_category(kind);

	if (!(s->stages >> iid & 1)) {
		const char *name = event_kind_name(kind) ? event_kind_name(kind) : "unknown";

		s->stages |= 1u << iid;
		say_specification(p, s, iid, name, strlen(name));
	}
	return iid;
}

static struct pf_sequence *sequence_of(struct pf *p, const struct trace_track *track, int64_t ns)
{
	struct pf_track *t = &p->tracks[track->id];

	if (t->gpu)
		return t->gpu;
	t->gpu = pf_sequence_new(p);
	if (!t->gpu)
		return NULL;
	pf_sequence_begin(p, t->gpu, ns, 0);
	say_queue(p, t->gpu, track);
	return t->gpu;
}

/* ---- Work --------------------------------------------------------------------------------- */

static void put_place(struct pf *p, uint32_t iid, uint64_t number, struct buffer *out)
{
	size_t opened = proto_open(out);

	pf_check(p, proto_number(out, 1, iid) | proto_number(out, 3, number) | proto_close(out, 3, opened));
}

static void put_launch(struct pf *p, struct pf_sequence *s, const struct trace_track *track, uint32_t event,
		       struct buffer *out)
{
	size_t opened = proto_open(out);

	pf_launch_args(p, s, event, out);
	put_place(p, IID_DEVICE_ARG, pf_gpu_number(p, (uint32_t)track->device), out);
	put_place(p, IID_STREAM_ARG, track->os_id, out);
	pf_check(p, proto_close(out, STAGE_LAUNCH, opened));
}

void pf_device_work(struct pf *p, uint32_t track, uint32_t event, int64_t begin, int64_t end)
{
	const struct trace_track *stream = stream_of(p, track);
	const struct trace_batch *b = p->batch;
	struct pf_sequence *s = sequence_of(p, stream, begin);
	struct buffer *out = &p->body;
	uint32_t stage;

	if (!s)
		return;
	if (b->name[event] && !pf_bit(&s->names, b->name[event]))
		pf_say_name(p, s, b->name[event]);
	stage = stage_of(p, s, b->kind[event]);
	buffer_clear(out);
	if (trace_batch_present(b, event) & BIT(FIELD_CORRELATION))
		pf_check(p, proto_number(out, STAGE_EVENT, pf_work_id(p, track, b->field[FIELD_CORRELATION][event])));
	pf_check(p, proto_number(out, STAGE_DURATION, end > begin ? (uint64_t)(end - begin) : 0) |
			    proto_number(out, STAGE_CONTEXT, (uint64_t)(stream->process + 1)) |
			    proto_number(out, STAGE_GPU, pf_gpu_number(p, (uint32_t)stream->device)) |
			    proto_number(out, STAGE_QUEUE_IID, IID_QUEUE) | proto_number(out, STAGE_IID, stage) |
			    proto_number(out, STAGE_NAME_IID, b->name[event]));
	put_launch(p, s, stream, event, out);
	pf_packet_at(p, s, begin, PACKET_STAGE, out->data, out->size);
}

/* ---- Devices -------------------------------------------------------------------------------- */

/* What the trace knows of the device, each as text. */
static void put_properties(struct pf *p, const struct trace_device *device, struct buffer *out)
{
	struct cursor c = cursor_of(device->properties, device->properties_size);
	struct msgpack_value head, key;

	if (!device->properties_size || msgpack_read(&c, &head) || head.type != MSGPACK_MAP)
		return;
	for (uint32_t i = 0; i < head.count && i < PROPERTIES_MAX; i++) {
		struct buffer json = BUFFER_INIT;
		size_t opened = proto_open(out);
		const uint8_t *from;

		if (msgpack_read(&c, &key) || key.type != MSGPACK_STRING)
			return;
		from = c.at;
		if (msgpack_skip(&c))
			return;
		if (msgpack_to_json(from, (size_t)(c.at - from), &json) == 0)
			pf_check(p, proto_text(out, 1, (const char *)key.data, key.size) |
					    proto_text(out, 2, (const char *)json.data, json.size) |
					    proto_close(out, 6, opened));
		buffer_release(&json);
	}
}

static const struct trace_device *gpu_numbered(const struct pf *p, uint32_t number)
{
	for (uint32_t i = 0; i < trace_reader_device_count(p->reader); i++)
		if (p->device_used[i] && pf_gpu_number(p, i) == number)
			return trace_reader_device(p->reader, i);
	return NULL;
}

/* GpuInfo has them by position: up to the last, also those that are not in the trace. */
void pf_gpu_info(struct pf *p, struct pf_sequence *s)
{
	struct buffer body = BUFFER_INIT;
	uint32_t last = 0;

	for (uint32_t i = 0; i < trace_reader_device_count(p->reader); i++)
		if (p->device_used[i] && pf_gpu_number(p, i) < GPUS_MAX && pf_gpu_number(p, i) >= last)
			last = pf_gpu_number(p, i) + 1;
	for (uint32_t i = 0; i < last; i++) {
		const struct trace_device *device = gpu_numbered(p, i);
		size_t opened = proto_open(&body), size = 0;
		const char *name = device ? trace_reader_string(p->reader, device->name, &size) : "";

		if (size)
			pf_check(p, proto_text(&body, 1, name, size));
		if (device)
			put_properties(p, device, &body);
		pf_check(p, proto_close(&body, 1, opened));
	}
	if (last && p->failure == 0)
		pf_packet(p, s, PACKET_GPU_INFO, &body);
	buffer_release(&body);
}
