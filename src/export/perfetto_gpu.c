/*
 * perfetto_gpu.c - devices, and the arrows from calls to the work that they asked for.
 *
 * Work of a device is slices on the track of its stream.  Perfetto has GPU
 * events of its own (GpuRenderStageEvent), but neither arrows to them nor their
 * arguments are known to releases up to v52, which take the fields for errors.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/msgpack.h"
#include "export/perfetto.h"
#include "ring/event.h"
#include "trace/writer.h"

#define BIT(field) ((uint64_t)1 << (field))
#define GPUS_MAX 256u
#define PROPERTIES_MAX 64u
#define OUR_KIND "inferscope.kind" /* for the importer */
#define PAGE_BITS (8 * sizeof(struct pf_page))
#define PAGES_MAX ((size_t)1 << 17) /* 64 MiB, 500 million calls in a row */

enum { PACKET_GPU_INFO = 128 };
enum { EVENT_LEGACY = 6 };
enum { LEGACY_BIND = 8, LEGACY_DIRECTION = 13 };
enum { FLOW_IN = 1, FLOW_OUT = 2 };

/* ---- Launches ------------------------------------------------------------------------------ */

static bool is_asked_for(uint8_t kind)
{
	return (kind >= EVENT_GPU_KERNEL && kind <= EVENT_SYNC) || kind == EVENT_COLLECTIVE;
}

struct pf_launch pf_launch_of(const struct pf *p, const struct pf_track *t, uint32_t event)
{
	const struct trace_batch *b = p->batch;
	bool either = t->stream ? is_asked_for(b->kind[event]) : b->kind[event] == EVENT_RUNTIME_CALL;

	if (!either || !(trace_batch_present(b, event) & BIT(FIELD_CORRELATION)))
		return (struct pf_launch){ 0 };
	return (struct pf_launch){ b->field[FIELD_CORRELATION][event], t->stream };
}

/* Correlations are of their process. */
static uint64_t process_of(const struct pf *p, const struct pf_track *t)
{
	const struct trace_track *track = trace_reader_track(p->reader, t->id);

	return track && track->process > 0 ? (uint64_t)track->process : 0;
}

/* NULL: there are too many, or no memory. */
static struct pf_page *page_of(struct pf *p, uint64_t process, uint64_t number)
{
	struct pf_launches *l = &p->launches;
	uint64_t known = pf_map_get(&l->numbers, process, number);

	if (known)
		return &l->pages[known - 1];
	if (l->count >= PAGES_MAX)
		return NULL;
	if (ARRAY_GROW(l->pages, l->capacity, l->count + 1) || pf_map_put(&l->numbers, process, number, l->count + 1)) {
		pf_check(p, -ENOMEM);
		return NULL;
	}
	l->pages[l->count] = (struct pf_page){ 0 };
	return &l->pages[l->count++];
}

/* Whether it is the first call of the correlation: an arrow that leaves again is an error to Perfetto. */
static bool leaves(struct pf *p, uint64_t process, uint64_t correlation)
{
	struct pf_page *page = page_of(p, process, correlation / PAGE_BITS);
	uint64_t *word = page ? &page->words[correlation % PAGE_BITS / 64] : NULL,
		 bit = (uint64_t)1 << correlation % 64;

	if (!word || *word & bit)
		return false;
	*word |= bit;
	return true;
}

/* Unlike the numbers of the trace's own arrows. */
static uint64_t launch_id(uint64_t process, uint64_t correlation)
{
	uint64_t hash = (correlation ^ process * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;

	return (hash ^ hash >> 32) * 0xff51afd7ed558ccdu;
}

void pf_put_launch(struct pf *p, const struct pf_track *t, struct pf_launch launch, struct buffer *out)
{
	uint64_t process = process_of(p, t);
	size_t opened = proto_open(out);

	if (!launch.correlation || (!launch.work && !leaves(p, process, launch.correlation)))
		return;
	pf_check(p, proto_number(out, LEGACY_BIND, launch_id(process, launch.correlation)) |
			    proto_number(out, LEGACY_DIRECTION, launch.work ? FLOW_IN : FLOW_OUT) |
			    proto_close(out, EVENT_LEGACY, opened));
}

void pf_launches_release(struct pf_launches *launches)
{
	free(launches->numbers.keys);
	free(launches->pages);
}

/* ---- Devices -------------------------------------------------------------------------------- */

static void put_property(struct pf *p, const char *name, size_t name_size, const char *value, size_t size,
			 struct buffer *out)
{
	size_t opened = proto_open(out);

	pf_check(p,
		 proto_text(out, 1, name, name_size) | proto_text(out, 2, value, size) | proto_close(out, 6, opened));
}

/* What the trace knows of the device, each as text. */
static void put_properties(struct pf *p, const struct trace_device *device, struct buffer *out)
{
	struct cursor c = cursor_of(device->properties, device->properties_size);
	struct msgpack_value head, key;

	if (!device->properties_size || msgpack_read(&c, &head) || head.type != MSGPACK_MAP)
		return;
	for (uint32_t i = 0; i < head.count && i < PROPERTIES_MAX; i++) {
		struct buffer json = BUFFER_INIT;
		const uint8_t *from;

		if (msgpack_read(&c, &key) || key.type != MSGPACK_STRING)
			return;
		from = c.at;
		if (msgpack_skip(&c))
			return;
		if (msgpack_to_json(from, (size_t)(c.at - from), &json) == 0)
			put_property(p, (const char *)key.data, key.size, (const char *)json.data, json.size, out);
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
		const char *kind = device ? trace_device_kind_name(device->kind) : NULL;

		if (size)
			pf_check(p, proto_text(&body, 1, name, size));
		if (kind)
			put_property(p, OUR_KIND, strlen(OUR_KIND), kind, strlen(kind), &body);
		if (device)
			put_properties(p, device, &body);
		pf_check(p, proto_close(&body, 1, opened));
	}
	if (last && p->failure == 0)
		pf_packet(p, s, PACKET_GPU_INFO, &body);
	buffer_release(&body);
}
