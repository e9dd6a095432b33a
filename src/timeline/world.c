/* world.c - hosts, processes, devices and tracks, as the trace describes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack.h"
#include "timeline/build.h"

static uint32_t known(int64_t number, uint32_t count)
{
	return number >= 0 && number < count ? (uint32_t)number : TIMELINE_NONE;
}

static void describe_track(const struct builder *b, uint32_t id)
{
	const struct timeline *t = b->t;
	const struct trace_track *entry = trace_reader_track(b->reader, id);
	struct timeline_track *track = &t->tracks[id];

	*track = (struct timeline_track){ .process = TIMELINE_NONE, .device = TIMELINE_NONE, .parent = TIMELINE_NONE };
	track->kind = TRACK_THREAD;
	if (!entry)
		return;
	track->kind = entry->kind;
	track->process = known(entry->process, t->process_count);
	track->device = known(entry->device, t->device_count);
	track->parent = known(entry->parent, t->track_count);
	track->os_id = entry->os_id;
	track->name = entry->name;
}

static void describe_process(const struct builder *b, uint32_t id)
{
	const struct timeline *t = b->t;
	const struct trace_process *entry = trace_reader_process(b->reader, id);
	struct timeline_process *process = &t->processes[id];

	*process = (struct timeline_process){ .host = TIMELINE_NONE, .rank = -1, .parent = TIMELINE_NONE };
	if (!entry)
		return;
	process->host = known(entry->host, t->host_count);
	process->pid = entry->pid;
	process->rank = entry->rank < 0 ? -1 : entry->rank;
	process->parent = known(entry->parent, t->process_count);
	process->name = entry->name;
	process->command = entry->command;
}

/* ---- Properties of devices: by the names of PyTorch's profiler and of Nsight Systems ---- */

static const struct {
	const char *key;
	size_t offset;
	bool wide;
} properties[] = {
	{ "numSms", offsetof(struct timeline_device, multiprocessors), false },
	{ "smCount", offsetof(struct timeline_device, multiprocessors), false },
	{ "multiprocessors", offsetof(struct timeline_device, multiprocessors), false },
	{ "maxThreadsPerMultiprocessor", offsetof(struct timeline_device, max_threads_per_multiprocessor), false },
	{ "maxThreadsPerBlock", offsetof(struct timeline_device, max_threads_per_block), false },
	{ "regsPerMultiprocessor", offsetof(struct timeline_device, registers_per_multiprocessor), false },
	{ "maxRegistersPerSm", offsetof(struct timeline_device, registers_per_multiprocessor), false },
	{ "warpSize", offsetof(struct timeline_device, warp_size), false },
	{ "threadsPerWarp", offsetof(struct timeline_device, warp_size), false },
	{ "sharedMemPerMultiprocessor", offsetof(struct timeline_device, shared_memory_per_multiprocessor), false },
	{ "maxShmemPerSm", offsetof(struct timeline_device, shared_memory_per_multiprocessor), false },
	{ "computeMajor", offsetof(struct timeline_device, compute_major), false },
	{ "computeMinor", offsetof(struct timeline_device, compute_minor), false },
	{ "totalGlobalMem", offsetof(struct timeline_device, memory), true },
	{ "totalMemory", offsetof(struct timeline_device, memory), true },
};

static void take_property(void *arg, const struct msgpack_value *key, const struct msgpack_value *value)
{
	uint64_t number = value->type == MSGPACK_INT && value->integer > 0 ? (uint64_t)value->integer : 0;
	char *device = arg;

	if (value->type == MSGPACK_DOUBLE && value->number > 0 && value->number < 9e18)
		number = (uint64_t)value->number;
	for (size_t i = 0; number && i < sizeof properties / sizeof properties[0]; i++) {
		if (key->size != strlen(properties[i].key) || memcmp(key->data, properties[i].key, key->size) != 0)
			continue;
		if (properties[i].wide)
			*(uint64_t *)(void *)(device + properties[i].offset) = number;
		else if (number <= UINT32_MAX)
			*(uint32_t *)(void *)(device + properties[i].offset) = (uint32_t)number;
	}
}

static void describe_device(const struct builder *b, uint32_t id)
{
	const struct timeline *t = b->t;
	const struct trace_device *entry = trace_reader_device(b->reader, id);
	struct timeline_device *device = &t->devices[id];

	*device = (struct timeline_device){ .host = TIMELINE_NONE, .kind = 4, .rank = -1 };
	if (!entry)
		return;
	device->host = known(entry->host, t->host_count);
	device->index = entry->index;
	device->kind = entry->kind;
	device->name = entry->name;
	map_each(entry->properties, entry->properties_size, take_property, device);
}

static uint32_t bounded(size_t count)
{
	return count < TIMELINE_NONE ? (uint32_t)count : TIMELINE_NONE - 1;
}

int world_describe(struct builder *b)
{
	struct timeline *t = b->t;
	uint32_t tracks = bounded(trace_reader_track_count(b->reader));

	t->track_count = t->track_count > tracks ? t->track_count : tracks;
	t->process_count = bounded(trace_reader_process_count(b->reader));
	t->device_count = bounded(trace_reader_device_count(b->reader));
	t->host_count = bounded(trace_reader_host_count(b->reader));
	t->tracks = calloc((size_t)t->track_count + 1, sizeof *t->tracks);
	t->processes = calloc((size_t)t->process_count + 1, sizeof *t->processes);
	t->devices = calloc((size_t)t->device_count + 2, sizeof *t->devices);
	t->hosts = calloc((size_t)t->host_count + 1, sizeof *t->hosts);
	if (!t->tracks || !t->processes || !t->devices || !t->hosts)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->host_count; i++)
		t->hosts[i].name = trace_reader_host(b->reader, i) ? trace_reader_host(b->reader, i)->name : 0;
	for (uint32_t i = 0; i < t->process_count; i++)
		describe_process(b, i);
	for (uint32_t i = 0; i < t->device_count; i++)
		describe_device(b, i);
	for (uint32_t i = 0; i < t->track_count; i++)
		describe_track(b, i);
	return 0;
}

/* ---- Which streams a device has ---- */

static bool has_work(const struct timeline *t, const struct timeline_track *track)
{
	for (uint32_t i = track->first; i < track->first + track->count; i++)
		if (timeline_is_device_work(t->kind[i]))
			return true;
	return false;
}

/* Work on a stream of no device is some device's work: there is one more device for it. */
static void adopt_streams(struct timeline *t)
{
	uint32_t adopted = TIMELINE_NONE;

	for (uint32_t k = 0; k < t->track_count; k++) {
		struct timeline_track *track = &t->tracks[k];

		if (track->device != TIMELINE_NONE || (track->kind != TRACK_STREAM && track->kind != TRACK_DEVICE) || !has_work(t, track))
			continue;
		if (adopted == TIMELINE_NONE) {
			adopted = t->device_count++; /* there is room */
			t->devices[adopted] = (struct timeline_device){ .host = TIMELINE_NONE, .kind = 4, .rank = -1 };
		}
		track->device = adopted;
	}
}

static bool is_stream(const struct timeline *t, const struct timeline_track *track)
{
	return track->device != TIMELINE_NONE &&
	       (track->kind == TRACK_STREAM || (track->kind == TRACK_DEVICE && has_work(t, track)));
}

static void rank_of_device(const struct timeline *t, const struct timeline_track *track)
{
	struct timeline_device *device = &t->devices[track->device];

	if (device->rank < 0 && track->process != TIMELINE_NONE)
		device->rank = t->processes[track->process].rank;
}

int world_streams(struct builder *b)
{
	struct timeline *t = b->t;
	uint32_t first = 0;

	adopt_streams(t);
	for (uint32_t k = 0; k < t->track_count; k++)
		if (is_stream(t, &t->tracks[k])) {
			t->devices[t->tracks[k].device].stream_count++;
			t->stream_count++;
			rank_of_device(t, &t->tracks[k]);
		}
	t->streams = malloc(((size_t)t->stream_count + 1) * sizeof *t->streams);
	if (!t->streams)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->device_count; i++) {
		t->devices[i].first_stream = first;
		first += t->devices[i].stream_count;
		t->devices[i].stream_count = 0;
	}
	for (uint32_t k = 0; k < t->track_count; k++)
		if (is_stream(t, &t->tracks[k])) {
			struct timeline_device *device = &t->devices[t->tracks[k].device];

			t->streams[device->first_stream + device->stream_count++] = k;
		}
	return 0;
}
