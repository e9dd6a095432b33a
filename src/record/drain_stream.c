/*
 * drain_stream.c - streams of devices (queues of OpenCL) and their tracks.
 *
 * Events of a stream come through the ring of a thread and go to a track of
 * their own.  A process numbers its streams from 0 and describes each with a
 * name (ring/event.h).  Nothing in a description is trusted.
 *
 * What is told of a thread of the process by another one comes the same way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/msgpack.h"
#include "record/drain_state.h"
#include "ring/names.h"
#include "system/demangle.h"
#include "trace/reader.h"

#define STREAMS_MAX 65536u /* of a process */
#define DEVICES_MAX 1024u  /* of all of them */
#define PROPERTIES_MAX 40u
#define DEVICE_KIND_OTHER 4u

/* ---- Descriptions ------------------------------------------------------------ */

struct line {
	struct trace_text key, value;
};

/* The next line of a text, which is then shorter; false at an empty line and at the end. */
static bool next_line(struct trace_text *text, struct line *ret)
{
	const char *end = text->data + text->size, *stop = memchr(text->data, '\n', text->size), *equals;
	size_t size = (size_t)((stop ? stop : end) - text->data);

	*ret = (struct line){ .key = { text->data, size }, .value = { text->data + size, 0 } };
	equals = memchr(text->data, '=', size);
	if (equals) {
		ret->key.size = (size_t)(equals - text->data);
		ret->value = (struct trace_text){ equals + 1, size - ret->key.size - 1 };
	}
	text->data = stop ? stop + 1 : end;
	text->size = (size_t)(end - text->data);
	return size > 0;
}

static bool text_is(struct trace_text text, const char *word)
{
	return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static bool number_of(struct trace_text text, uint64_t *ret)
{
	uint64_t number = 0;

	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] < '0' || text.data[i] > '9' || number > (UINT64_MAX - 9) / 10)
			return false;
		number = 10 * number + (uint64_t)(text.data[i] - '0');
	}
	*ret = number;
	return text.size > 0;
}

static uint8_t device_kind(struct trace_text text)
{
	const char *name;
	uint8_t kind = 1;

	while ((name = trace_device_kind_name(kind)) && !text_is(text, name))
		kind++;
	return name ? kind : DEVICE_KIND_OTHER;
}

/* ---- Devices ----------------------------------------------------------------- */

static void put_property(struct buffer *map, const struct line *line)
{
	uint64_t number;

	(void)msgpack_write_string(map, line->key.data, line->key.size);
	if (number_of(line->value, &number) && number <= INT64_MAX)
		(void)msgpack_write_int(map, (int64_t)number);
	else
		(void)msgpack_write_string(map, line->value.data, line->value.size);
}

static int write_device(struct drain *d, uint32_t id, struct trace_text text)
{
	struct trace_device device = { .id = id, .kind = 4 };
	struct buffer map = BUFFER_INIT, body = BUFFER_INIT;
	struct line line;
	uint64_t number;
	uint32_t count = 0;
	int rc;

	while (next_line(&text, &line)) {
		if (text_is(line.key, "kind"))
			device.kind = device_kind(line.value);
		else if (text_is(line.key, "index"))
			device.index = number_of(line.value, &number) && number <= UINT32_MAX ? (uint32_t)number : 0;
		else if (text_is(line.key, "name"))
			device.name = trace_writer_string(d->writer, line.value.data, line.value.size);
		else if (count < PROPERTIES_MAX) {
			put_property(&body, &line);
			count++;
		}
	}
	(void)msgpack_write_map(&map, count);
	rc = buffer_append(&map, body.data, body.size);
	device.properties = map.data;
	device.properties_size = map.size;
	rc = rc ? rc : trace_writer_device(d->writer, &device);
	buffer_release(&map);
	buffer_release(&body);
	return rc;
}

static struct trace_text uuid_of(struct trace_text text)
{
	struct line line;

	while (next_line(&text, &line))
		if (text_is(line.key, "uuid"))
			return line.value;
	return (struct trace_text){ text.data, 0 };
}

/* The first description of the device with this UUID, by a door or from outside; -1: there is none. */
static int64_t find_uuid(const struct drain *d, struct trace_text uuid, bool outside)
{
	for (uint32_t i = 0; i < d->device_count && uuid.size; i++) {
		struct trace_text other = uuid_of((struct trace_text){ d->devices[i].text, d->devices[i].size });

		if (d->devices[i].outside == outside && other.size == uuid.size && memcmp(other.data, uuid.data, uuid.size) == 0)
			return d->devices[i].id;
	}
	return -1;
}

/* A new description.  The device's entry is written unless it is one that a door has described before. */
static int64_t add_device(struct drain *d, struct trace_text text, bool outside)
{
	int64_t known = find_uuid(d, uuid_of(text), false), seen = find_uuid(d, uuid_of(text), true);
	struct drain_device *device;

	if (d->device_count == DEVICES_MAX || ARRAY_GROW(d->devices, d->device_capacity, d->device_count + 1) != 0)
		return known >= 0 ? known : seen;
	device = &d->devices[d->device_count];
	*device = (struct drain_device){ .text = malloc(text.size + 1), .size = text.size, .outside = outside };
	device->id = known >= 0 ? (uint32_t)known : seen >= 0 ? (uint32_t)seen : d->next_device;
	if (!device->text || (known < 0 && write_device(d, device->id, text) != 0)) {
		free(device->text);
		return -1;
	}
	memcpy(device->text, text.data, text.size);
	d->device_count++;
	d->next_device += device->id == d->next_device;
	return device->id;
}

/* What describes a device the same way, or by the same UUID, is the same one, whichever process uses it.  -1: there is none. */
static int64_t device_of(struct drain *d, struct trace_text text, bool outside)
{
	for (uint32_t i = 0; i < d->device_count; i++)
		if (d->devices[i].outside == outside && d->devices[i].size == text.size &&
		    memcmp(d->devices[i].text, text.data, text.size) == 0)
			return d->devices[i].id;
	return add_device(d, text, outside);
}

uint32_t drain_outside_device(struct drain *d, uint32_t index, const char *uuid, const char *name)
{
	char text[512];
	int n = snprintf(text, sizeof text, "kind=cuda\nindex=%u\nname=%.128s%s%.128s", index, name, uuid[0] ? "\nuuid=" : "", uuid);
	int64_t id = device_of(d, (struct trace_text){ text, (size_t)n }, true);

	return id < 0 ? NO_TRACK : (uint32_t)id;
}

bool drain_device_described(const struct drain *d, const char *uuid)
{
	return find_uuid(d, (struct trace_text){ uuid, strlen(uuid) }, false) >= 0;
}

static bool is_row_taken(const struct drain *d, uint32_t row)
{
	for (uint32_t i = 0; i < d->device_count; i++)
		if (d->devices[i].look.present && d->devices[i].row == row)
			return true;
	return false;
}

/* Doors have CUDA's numbers, which are those of a process: CUDA_VISIBLE_DEVICES can give two GPUs the same. */
static uint32_t choose_row(const struct drain *d, const struct drain_device *device)
{
	struct trace_text text = { device->text, device->size };
	uint64_t wanted = NVML_DEVICES;
	uint32_t row = 0;
	struct line line;

	while (next_line(&text, &line))
		if (text_is(line.key, "index") && number_of(line.value, &wanted))
			break;
	if (wanted < NVML_DEVICES && !is_row_taken(d, (uint32_t)wanted))
		return (uint32_t)wanted;
	while (row < NVML_DEVICES && is_row_taken(d, row))
		row++;
	return row;
}

/* The last readings, with the names that samples from outside have. */
void drain_device_counter(struct drain *d, uint32_t track, uint32_t name, uint64_t value)
{
	size_t size;
	const char *text = drain_text(d, name, &size);

	for (uint32_t i = 0; i < d->device_count; i++)
		for (unsigned k = 0; k < NVML_VALUE_COUNT && d->devices[i].track == track + 1; k++)
			if (text_is((struct trace_text){ text, size }, nvml_value_name(k))) {
				if (!d->devices[i].look.present)
					d->devices[i].row = choose_row(d, &d->devices[i]);
				d->devices[i].look.values[k] = value;
				d->devices[i].look.present |= 1u << k;
			}
}

static void fill_row(const struct drain_device *device, struct gpu_row *row)
{
	struct trace_text text = { device->text, device->size };
	struct line line;

	row->there = row->looked = row->used = true;
	row->look = device->look;
	while (next_line(&text, &line)) {
		char *to = text_is(line.key, "uuid") ? row->uuid : text_is(line.key, "name") ? row->name : NULL;

		if (to)
			snprintf(to, NVML_TEXT, "%.*s", line.value.size < NVML_TEXT ? (int)line.value.size : (int)NVML_TEXT - 1, line.value.data);
	}
}

void drain_told_gpus(const struct drain *d, struct gpu_table *ret)
{
	for (uint32_t i = 0; i < d->device_count; i++) {
		if (!d->devices[i].look.present || d->devices[i].row >= NVML_DEVICES)
			continue;
		fill_row(&d->devices[i], &ret->gpus[d->devices[i].row]);
		ret->told = true;
	}
}

bool drain_has_cuda(const struct drain *d)
{
	for (uint32_t i = 0; i < d->device_count; i++) {
		struct trace_text text = { d->devices[i].text, d->devices[i].size };
		struct line line;

		while (!d->devices[i].outside && next_line(&text, &line))
			if (text_is(line.key, "kind") && text_is(line.value, "cuda"))
				return true;
	}
	return false;
}

/* ---- Streams ----------------------------------------------------------------- */

/* The part of a description that is about the device, without the empty line after it; the rest is the stream's. */
static struct trace_text cut_device(struct trace_text *text)
{
	const char *gap = memmem(text->data, text->size, "\n\n", 2);
	struct trace_text device = { text->data, gap ? (size_t)(gap - text->data) : text->size };

	text->data += gap ? device.size + 2 : device.size;
	text->size -= gap ? device.size + 2 : device.size;
	return device;
}

/* Not a stream, but all of a device.  What is seen of it from outside has tracks of the same kind, with the serial 0. */
static void make_wide(struct trace_track *entry, uint32_t number, struct trace_text of)
{
	entry->kind = TRACK_DEVICE;
	entry->os_id = entry->device < 0 ? 0 : (uint64_t)entry->device;
	entry->serial = number + 1;
	if (text_is(of, "device"))
		entry->process = -1;
}

/* How a device is may be told by several processes, and has one track. */
static uint32_t device_track(struct drain *d, struct trace_track *entry)
{
	struct drain_device *device = NULL;

	for (uint32_t i = 0; i < d->device_count && !device; i++)
		if (d->devices[i].id == entry->device)
			device = &d->devices[i];
	if (device && device->track)
		return device->track - 1;
	entry->id = d->next_track++;
	entry->serial = 0;
	(void)trace_writer_track(d->writer, entry);
	if (device)
		device->track = entry->id + 1;
	return entry->id;
}

static uint32_t new_stream(struct drain *d, struct drain_process *p, uint32_t number, struct trace_text text)
{
	struct trace_track entry = { .kind = TRACK_STREAM, .process = p->id, .os_id = number, .serial = number, .parent = -1 };
	struct line line;

	entry.device = device_of(d, cut_device(&text), false);
	while (next_line(&text, &line)) {
		if (text_is(line.key, "stream"))
			(void)number_of(line.value, &entry.os_id);
		else if (text_is(line.key, "name"))
			entry.name = trace_writer_string(d->writer, line.value.data, line.value.size);
		else if (text_is(line.key, "of"))
			make_wide(&entry, number, line.value);
	}
	if (entry.process < 0)
		return device_track(d, &entry);
	entry.id = d->next_track++;
	(void)trace_writer_track(d->writer, &entry);
	return entry.id;
}

/* A name of the process, or of the one it was forked from. */
static struct trace_text description(struct drain *d, struct drain_process *p, uint64_t name, char copy[NAME_MAX_BYTES])
{
	const uint8_t *text;
	size_t size;

	while (name < p->first_name && p->parent)
		p = d->processes[p->parent->number];
	if (name >= NAME_LIMIT || name < p->first_name || !p->file.map || name >= atomic_load(&ring_file_header(&p->file)->names))
		return (struct trace_text){ copy, 0 };
	text = name_in_file(p->file.map, p->first_name, (uint32_t)name, &size);
	size = text ? size : 0;
	if (size)
		memcpy(copy, text, size); /* the program could still be writing there */
	return (struct trace_text){ copy, size };
}

/* ---- Threads that are told of ------------------------------------------------- */

uint32_t drain_told_thread(const struct drain_process *p, uint32_t tid)
{
	for (size_t i = 0; tid && i < p->thread_count; i++)
		if (p->threads[i].tid == tid)
			return p->threads[i].track;
	return NO_TRACK;
}

bool drain_was_told(const struct drain_process *p, uint32_t track)
{
	for (size_t i = 0; i < p->thread_count; i++)
		if (p->threads[i].track == track)
			return true;
	return false;
}

uint32_t drain_take_told_thread(struct drain_process *p, uint32_t tid)
{
	uint32_t track = drain_told_thread(p, tid);

	for (size_t i = 0; track != NO_TRACK && i < p->thread_count; i++)
		if (p->threads[i].tid == tid)
			p->threads[i].tid = 0;
	return track;
}

/* The track of a thread with a ring, or that a file under recovery has; NO_TRACK. */
static uint32_t known_thread(const struct drain *d, const struct drain_process *p, uint32_t tid)
{
	size_t count = d->resumed ? trace_reader_track_count(d->resumed) : 0;

	for (size_t i = 0; i < p->ring_count; i++)
		if (p->rings[i].serial && p->rings[i].tid == tid)
			return p->rings[i].track;
	for (uint32_t i = 0; i < count; i++) {
		const struct trace_track *t = trace_reader_track(d->resumed, i);

		if (t && t->kind == TRACK_THREAD && t->process == (int64_t)p->id && t->os_id == tid)
			return i;
	}
	return drain_told_thread(p, tid);
}

static uint32_t new_thread(struct drain *d, struct drain_process *p, uint32_t tid)
{
	struct trace_track track = {
		.id = d->next_track, .kind = TRACK_THREAD, .process = p->id, .os_id = tid, .device = -1, .parent = -1
	};

	if (d->next_track >= d->task_limit || ARRAY_GROW(p->threads, p->thread_capacity, p->thread_count + 1) != 0)
		return NO_TRACK;
	track.name = drain_thread_name(d, p, tid);
	(void)trace_writer_track(d->writer, &track);
	p->threads[p->thread_count++] = (struct drain_thread){ tid, d->next_track };
	d->totals.threads++;
	return d->next_track++;
}

/* "thread=ID" and "process" are no streams; false: neither. */
static bool told_track(struct drain *d, struct drain_process *p, struct trace_text text, uint32_t *ret)
{
	struct line line;
	uint64_t tid = 0;

	(void)next_line(&text, &line);
	if (text_is(line.key, "process")) {
		*ret = drain_wide_track(d, p);
		return true;
	}
	if (!text_is(line.key, "thread") || !number_of(line.value, &tid) || tid == 0 || tid > INT32_MAX)
		return false;
	*ret = known_thread(d, p, (uint32_t)tid);
	if (*ret == NO_TRACK)
		*ret = new_thread(d, p, (uint32_t)tid);
	return true;
}

/* ---- All of them -------------------------------------------------------------- */

uint32_t drain_stream(struct drain *d, struct drain_process *p, const struct event_slot *slot)
{
	char copy[NAME_MAX_BYTES];
	struct trace_text text;
	uint32_t number = slot->aux, track;

	if (number >= STREAMS_MAX)
		return NO_TRACK;
	if (number < p->stream_count && p->streams[number])
		return p->streams[number] - 1;
	if (d->next_track >= d->task_limit || ARRAY_GROW(p->streams, p->stream_count, number + 1) != 0)
		return NO_TRACK;
	text = description(d, p, slot->value, copy);
	if (!told_track(d, p, text, &track))
		track = new_stream(d, p, number, text);
	if (track != NO_TRACK)
		p->streams[number] = track + 1;
	return track;
}

uint32_t drain_kernel_name(struct drain *d, struct drain_process *p, uint32_t id)
{
	char copy[NAME_MAX_BYTES], readable[DEMANGLE_MAX];
	struct trace_text text = description(d, p, id, copy);
	size_t size;

	if (text.size < 2 || text.data[0] != '_' || text.data[1] != 'Z' || id < p->first_name) /* demangle() looks at the rest */
		return drain_name(d, p, id);
	if (ARRAY_GROW(p->names, p->name_count, id - p->first_name + 1) != 0)
		return drain_name(d, p, id);
	size = demangle(text.data, text.size, readable, sizeof readable);
	if (size)
		p->names[id - p->first_name] = trace_writer_string(d->writer, readable, size);
	return drain_name(d, p, id);
}

/* The number that a process gave to what has this track.  False: it is none of these. */
static bool stream_of(const struct trace_track *t, uint32_t *ret)
{
	uint64_t number = t->kind == TRACK_DEVICE ? t->serial - 1 : t->serial; /* wraps for what was seen from outside */

	*ret = (uint32_t)number;
	return (t->kind == TRACK_STREAM || t->kind == TRACK_DEVICE) && number < STREAMS_MAX;
}

void drain_streams_resume(struct drain *d, struct drain_process *p)
{
	size_t count = d->resumed ? trace_reader_track_count(d->resumed) : 0;
	uint32_t number;

	for (uint32_t i = 0; i < count; i++) {
		const struct trace_track *t = trace_reader_track(d->resumed, i);

		if (!t || t->process != (int64_t)p->id)
			continue;
		if (t->kind == TRACK_PROCESS && p->wide_track == NO_TRACK)
			p->wide_track = i;
		else if (t->kind == TRACK_THREAD && t->serial == 0 && ARRAY_GROW(p->threads, p->thread_capacity, p->thread_count + 1) == 0)
			p->threads[p->thread_count++] = (struct drain_thread){ (uint32_t)t->os_id, i };
		else if (stream_of(t, &number) && ARRAY_GROW(p->streams, p->stream_count, number + 1) == 0)
			p->streams[number] = i + 1;
	}
}

void drain_streams_free(struct drain *d)
{
	for (uint32_t i = 0; i < d->device_count; i++)
		free(d->devices[i].text);
	free(d->devices);
}
