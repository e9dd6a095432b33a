/*
 * perfetto_place.c - processes, threads and tracks, as Perfetto has them described.
 *
 * A track is described when its first event is written, so that those without
 * events are not in the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/msgpack.h"
#include "export/perfetto.h"

#define PACKET_TRACK 60
#define SURROGATE_PIDS (1u << 30) /* beyond all that Linux gives */
#define MERGE_NONE 2
#define NAME_SIZE 2048 /* bytes of the name of a track that is no thread; more is cut */
#define UNIT_MAX 64u

/* Fields of TrackDescriptor. */
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_IS_PROCESS = 3,
	TRACK_IS_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_IS_COUNTER = 8,
	TRACK_RANK = 12,
	TRACK_ABOUT = 14,
	TRACK_MERGE = 15,
	TRACK_MERGE_KEY = 16
};

uint64_t pf_process_uuid(uint32_t process)
{
	return PF_UUID_FIRST + 2 * (uint64_t)process + 1;
}

static const struct trace_process *process_of(const struct pf *p, const struct trace_track *track)
{
	return track && track->process >= 0 && track->process < UINT32_MAX
		       ? trace_reader_process(p->reader, (uint32_t)track->process)
		       : NULL;
}

/* ---- Numbers ---------------------------------------------------------------------- */

/* A pid is that of one process; the second to have it, on another host or later, gets one that nobody has.  So does 0,
 * which is the kernel's own for Perfetto. */
static int choose_pids(struct pf *p)
{
	size_t count = trace_reader_process_count(p->reader);
	struct pf_map taken = { 0 };
	int rc = 0;

	for (uint32_t i = 0; i < count && rc == 0; i++) {
		const struct trace_process *process = trace_reader_process(p->reader, i);
		uint64_t pid = process ? process->pid : UINT64_MAX;

		if (pid == 0 || pid >= SURROGATE_PIDS || pf_map_get(&taken, pid, 0))
			pid = SURROGATE_PIDS + i;
		p->process_pid[i] = (uint32_t)pid;
		rc = pf_map_put(&taken, pid, 0, 1);
	}
	free(taken.keys);
	return rc;
}

/* A file of one rank of many describes all devices of its host: those that have tracks count. */
static void mark_devices(struct pf *p)
{
	size_t count = trace_reader_device_count(p->reader);

	for (uint32_t i = 0; i < p->track_count; i++) {
		const struct trace_track *track = trace_reader_track(p->reader, i);

		if (track && track->device >= 0 && (uint64_t)track->device < count)
			p->device_used[track->device] = true;
	}
}

/* Whether the numbers that devices have on their hosts tell them apart. */
static bool devices_by_index(const struct pf *p)
{
	size_t count = trace_reader_device_count(p->reader);
	uint64_t seen = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct trace_device *device = trace_reader_device(p->reader, i);

		if (!device || !p->device_used[i])
			continue;
		if (device->index >= 64 || seen >> device->index & 1)
			return false;
		seen |= (uint64_t)1 << device->index;
	}
	return true;
}

uint32_t pf_gpu_number(const struct pf *p, uint32_t device)
{
	const struct trace_device *d = trace_reader_device(p->reader, device);

	return d && p->devices_by_index ? d->index : device;
}

/* A process is described once: the track that stands for it has its uuid. */
static void place_track(struct pf *p, uint32_t id)
{
	const struct trace_track *track = trace_reader_track(p->reader, id);
	const struct trace_process *process = process_of(p, track);
	struct pf_track *t = &p->tracks[id];

	t->id = id;
	t->uuid = PF_UUID_FIRST + 2 * (uint64_t)id;
	t->stream = track && track->kind == TRACK_STREAM;
	if (process && track->kind == TRACK_PROCESS && !p->process_track[process->id]) {
		p->process_track[process->id] = id + 1;
		t->uuid = pf_process_uuid(process->id);
	}
}

int pf_places_init(struct pf *p)
{
	size_t processes = trace_reader_process_count(p->reader);

	p->track_count = trace_reader_track_count(p->reader);
	p->tracks = calloc(p->track_count + 1, sizeof *p->tracks);
	p->process_described = calloc(processes + 1, sizeof *p->process_described);
	p->process_pid = calloc(processes + 1, sizeof *p->process_pid);
	p->process_track = calloc(processes + 1, sizeof *p->process_track);
	p->device_used = calloc(trace_reader_device_count(p->reader) + 1, sizeof *p->device_used);
	p->next_uuid = PF_UUID_MADE;
	if (!p->tracks || !p->process_described || !p->process_pid || !p->process_track || !p->device_used)
		return -ENOMEM;
	mark_devices(p);
	p->devices_by_index = devices_by_index(p);
	for (uint32_t i = 0; i < p->track_count; i++)
		place_track(p, i);
	return choose_pids(p);
}

bool pf_track_wanted(struct pf *p, uint32_t track)
{
	const struct row_filter *filter = &p->options->filter;
	const struct trace_track *t = trace_reader_track(p->reader, track);
	const struct trace_process *process = process_of(p, t);
	bool thread = t && (t->kind == TRACK_THREAD || t->kind == TRACK_STATES);

	if (filter->thread >= 0 && !(thread && t->os_id == (uint64_t)filter->thread))
		return false;
	return filter->process < 0 || (process && process->pid == (uint64_t)filter->process);
}

/* ---- Processes ---------------------------------------------------------------------- */

static int put_label(struct buffer *out, const char *format, long long number)
{
	char text[48];

	snprintf(text, sizeof text, format, number);
	return proto_string(out, 8, text);
}

/* ProcessDescriptor: what its number, rank and host are stands in labels. */
static int put_process(struct pf *p, const struct trace_process *process, struct buffer *out)
{
	size_t opened = proto_open(out), name_size, command_size, host_size = 0;
	const char *name = trace_reader_string(p->reader, process->name, &name_size);
	const char *command = trace_reader_string(p->reader, process->command, &command_size);
	const struct trace_host *host = trace_reader_host(p->reader, process->host);
	const char *host_name = host ? trace_reader_string(p->reader, host->name, &host_size) : "";
	int rc = proto_number(out, 1, p->process_pid[process->id]);

	if (command_size)
		rc |= proto_text(out, 2, command, command_size);
	rc |= proto_number(out, 3, process->id);
	if (name_size)
		rc |= proto_text(out, 6, name, name_size);
	if (process->rank >= 0)
		rc |= put_label(out, "rank %lld", (long long)process->rank);
	if (process->pid != p->process_pid[process->id])
		rc |= put_label(out, "pid %lld", (long long)process->pid);
	if (host_size && trace_reader_host_count(p->reader) > 1)
		rc |= proto_text(out, 8, host_name, host_size);
	return rc | proto_close(out, TRACK_IS_PROCESS, opened);
}

static void describe_process(struct pf *p, struct pf_sequence *s, const struct trace_process *process)
{
	struct buffer body = BUFFER_INIT;
	char name[48];

	if (p->process_described[process->id])
		return;
	p->process_described[process->id] = true;
	pf_check(p, proto_number(&body, TRACK_UUID, pf_process_uuid(process->id)));
	if (process->rank >= 0) {
		snprintf(name, sizeof name, "rank %lld", (long long)process->rank);
		pf_check(p, proto_string(&body, TRACK_NAME, name));
	}
	pf_check(p, put_process(p, process, &body));
	pf_packet(p, s, PACKET_TRACK, &body);
	buffer_release(&body);
}

/* ---- Tracks -------------------------------------------------------------------------- */

static int put_thread(struct pf *p, const struct trace_track *track, const struct trace_process *process,
		      struct buffer *out)
{
	size_t opened = proto_open(out), size;
	const char *name = trace_reader_string(p->reader, track->name, &size);
	int rc = proto_number(out, 1, p->process_pid[process->id]) | proto_number(out, 2, track->os_id);

	if (size)
		rc |= proto_text(out, 5, name, size);
	return rc | proto_close(out, TRACK_IS_THREAD, opened);
}

/* "GPU 0 stream 7: uploads", where the importer finds device, stream and name; or without a name that says no more. */
static void stream_name(const struct pf *p, const struct trace_track *track, const char *name, int length, char *out,
			size_t size)
{
	int written =
		snprintf(out, size, "GPU %u ", track->device >= 0 ? pf_gpu_number(p, (uint32_t)track->device) : 0);
	char *number = out + written;

	snprintf(number, size - (size_t)written, "stream %lld", (long long)track->os_id); /* -1: work of none */
	if (length && strcmp(number, name) != 0)
		snprintf(number + strlen(number), size - (size_t)written - strlen(number), ": %.*s", length, name);
}

/* What a track that is no thread and no process is called. */
static void track_name(const struct pf *p, const struct trace_track *track, char *out, size_t size)
{
	size_t text_size;
	const char *text = trace_reader_string(p->reader, track->name, &text_size);
	int length = text_size > NAME_SIZE / 2 ? NAME_SIZE / 2 : (int)text_size;

	switch (track->kind) {
	case TRACK_STREAM:
		stream_name(p, track, text, length, out, size);
		break;
	case TRACK_DEVICE:
		snprintf(out, size, "GPU %u", track->device >= 0 ? pf_gpu_number(p, (uint32_t)track->device) : 0);
		break;
	case TRACK_STATES:
		snprintf(out, size, "%.*s states of %llu", length, text, (unsigned long long)track->os_id);
		break;
	case TRACK_HOST:
		snprintf(out, size, "%.*s", length ? length : 4, length ? text : "host");
		break;
	default:
		if (length)
			snprintf(out, size, "%.*s", length, text);
		else
			snprintf(out, size, "%s %llu", track->kind == TRACK_TASK ? "task" : "track",
				 (unsigned long long)track->os_id);
		break;
	}
}

static bool is_thread(const struct trace_track *track)
{
	return track->kind == TRACK_THREAD;
}

static uint64_t parent_of(const struct pf *p, const struct trace_track *track)
{
	const struct trace_track *parent = track->parent >= 0 && track->parent < UINT32_MAX
						   ? trace_reader_track(p->reader, (uint32_t)track->parent)
						   : NULL;

	if (parent && is_thread(parent) && process_of(p, parent) && p->tracks[parent->id].described)
		return p->tracks[parent->id].uuid;
	return process_of(p, track) ? pf_process_uuid((uint32_t)track->process) : 0;
}

/* Those that are a process or a thread stand for it; all others have a name and lie under one. */
static int put_track(struct pf *p, const struct trace_track *track, const struct trace_process *process,
		     struct buffer *out)
{
	char name[2 * NAME_SIZE];
	uint64_t parent = parent_of(p, track);
	int rc = proto_number(out, TRACK_UUID, p->tracks[track->id].uuid);

	if (process && is_thread(track))
		return rc | proto_number(out, TRACK_PARENT, pf_process_uuid(process->id)) |
		       put_thread(p, track, process, out);
	track_name(p, track, name, sizeof name);
	rc |= proto_string(out, TRACK_NAME, name);
	if (parent)
		rc |= proto_number(out, TRACK_PARENT, parent);
	if (track->kind == TRACK_STREAM)
		rc |= proto_string(out, TRACK_MERGE_KEY, "inferscope.stream");
	return rc | proto_number(out, TRACK_RANK, track->id) | proto_number(out, TRACK_MERGE, MERGE_NONE);
}

static void describe(struct pf *p, struct pf_track *t)
{
	const struct trace_track unknown = {
		.id = t->id, .kind = 0, .process = -1, .os_id = t->id, .device = -1, .parent = -1
	};
	const struct trace_track *track = trace_reader_track(p->reader, t->id);
	const struct trace_process *process = process_of(p, track);
	struct buffer body = BUFFER_INIT;

	t->described = true;
	if (process)
		describe_process(p, t->seq, process);
	if (process && t->uuid == pf_process_uuid(process->id))
		return;
	pf_check(p, put_track(p, track ? track : &unknown, process, &body));
	if (p->failure == 0)
		pf_packet(p, t->seq, PACKET_TRACK, &body);
	buffer_release(&body);
}

struct pf_track *pf_place(struct pf *p, uint32_t track, int64_t ns)
{
	struct pf_track *t = &p->tracks[track];

	if (t->described)
		return t;
	t->seq = pf_sequence_new(p);
	if (!t->seq)
		return NULL;
	pf_sequence_begin(p, t->seq, ns, t->uuid);
	describe(p, t);
	return p->failure ? NULL : t;
}

/* ---- Tracks that the trace does not have ------------------------------------------------ */

static void describe_made(struct pf *p, struct pf_sequence *s, uint64_t uuid, struct buffer *body)
{
	struct buffer whole = BUFFER_INIT;

	pf_check(p, proto_number(&whole, TRACK_UUID, uuid) | buffer_append(&whole, body->data, body->size));
	if (p->failure == 0)
		pf_packet(p, s, PACKET_TRACK, &whole);
	buffer_release(&whole);
	buffer_release(body);
}

/* The unit that the first value of a counter says. */
static int put_unit(const struct trace_blob *metadata, struct buffer *out)
{
	struct cursor c = cursor_of(metadata ? metadata->data : NULL, metadata ? metadata->size : 0);
	struct msgpack_value head, key, value;

	if (!metadata || !metadata->size || msgpack_read(&c, &head) || head.type != MSGPACK_MAP)
		return 0;
	for (uint32_t i = 0; i < head.count; i++) {
		if (msgpack_read(&c, &key) || key.type != MSGPACK_STRING)
			return 0;
		if (key.size == 4 && memcmp(key.data, "unit", 4) == 0)
			return msgpack_read(&c, &value) == 0 && value.type == MSGPACK_STRING && value.size <= UNIT_MAX
				       ? proto_text(out, 6, (const char *)value.data, value.size)
				       : 0;
		if (msgpack_skip(&c))
			return 0;
	}
	return 0;
}

uint64_t pf_counter_track(struct pf *p, struct pf_track *t, uint32_t name, const struct trace_blob *metadata)
{
	uint64_t uuid = pf_map_get(&p->counters, t->id, name);
	struct buffer body = BUFFER_INIT;
	const char *text;
	size_t size, opened;

	if (uuid)
		return uuid;
	uuid = p->next_uuid++;
	pf_check(p, pf_map_put(&p->counters, t->id, name, uuid));
	text = trace_reader_string(p->reader, name, &size);
	pf_check(p, proto_text(&body, TRACK_NAME, text, size) | proto_number(&body, TRACK_PARENT, t->uuid) |
			    proto_number(&body, TRACK_MERGE, MERGE_NONE));
	opened = proto_open(&body);
	pf_check(p, put_unit(metadata, &body) | proto_close(&body, TRACK_IS_COUNTER, opened));
	describe_made(p, t->seq, uuid, &body);
	return uuid;
}

/* The key says to our importer that its slices are of the track above. */
uint64_t pf_lane_track(struct pf *p, struct pf_track *t, size_t number)
{
	static const char about[] = "Slices of this track that overlap others without being inside them.";
	uint64_t uuid = p->next_uuid++;
	struct buffer body = BUFFER_INIT;
	char name[48];

	snprintf(name, sizeof name, "beside (%zu)", number);
	pf_check(p, proto_string(&body, TRACK_NAME, name) | proto_number(&body, TRACK_PARENT, t->uuid) |
			    proto_string(&body, TRACK_ABOUT, about) | proto_number(&body, TRACK_MERGE, MERGE_NONE) |
			    proto_string(&body, TRACK_MERGE_KEY, "inferscope.beside"));
	describe_made(p, t->seq, uuid, &body);
	return uuid;
}

struct pf_sequence *pf_root_track(struct pf *p, const char *name, int64_t ns)
{
	struct pf_sequence *s = pf_sequence_new(p);
	uint64_t uuid = p->next_uuid++;
	struct buffer body = BUFFER_INIT;

	if (!s)
		return NULL;
	pf_sequence_begin(p, s, ns, uuid);
	pf_check(p, proto_string(&body, TRACK_NAME, name) | proto_number(&body, TRACK_MERGE, MERGE_NONE));
	describe_made(p, s, uuid, &body);
	return s;
}
