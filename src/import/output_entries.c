/*
 * output_entries.c - processes, tracks and devices.
 *
 * An entry is written with the first event that uses it, by when most files have
 * described it, and once more at the end of the file if it has changed since:
 * there are files that say the name of each process thousands of times.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/msgpack.h"
#include "import/output_state.h"

int output_fail(struct output *o, int rc)
{
	if (o->failure == 0)
		o->failure = rc;
	return rc;
}

/* Events that need another one are left out; why, is said of them. */
static uint32_t output_full(struct output *o, const char *reason)
{
	o->full = o->full ? o->full : reason;
	return OUTPUT_NONE;
}

/* ---- Hosts ------------------------------------------------------------------- */

static uint32_t new_host(struct output *o, struct trace_host entry)
{
	int rc = ARRAY_GROW(o->hosts, o->host_capacity, o->host_count + 1);

	entry.id = (uint32_t)o->host_count;
	rc = rc ? rc : trace_writer_host(o->writer, &entry);
	if (rc) {
		output_fail(o, rc);
		return OUTPUT_NONE;
	}
	o->hosts[o->host_count++] = entry;
	return entry.id;
}

uint32_t output_add_host(struct output *o, struct trace_host entry)
{
	for (uint32_t i = 0; i < o->host_count; i++) {
		const struct trace_host *h = &o->hosts[i];

		if (entry.name && h->name == entry.name && h->system == entry.system && h->machine == entry.machine)
			return i;
	}
	return new_host(o, entry);
}

/* Files that do not say where they come from share a host without a name. */
uint32_t output_host(struct output *o)
{
	if (o->host == OUTPUT_NONE && o->nameless_host == OUTPUT_NONE)
		o->nameless_host = new_host(o, (struct trace_host){ 0 });
	if (o->host == OUTPUT_NONE)
		o->host = o->nameless_host;
	return o->host == OUTPUT_NONE ? 0 : o->host;
}

/* All that the file has named so far is there. */
static void move_to_host(struct output *o, uint32_t host)
{
	for (size_t i = o->first_process; i < o->process_count; i++) {
		o->processes[i].changed |= o->processes[i].entry.host != host;
		o->processes[i].entry.host = host;
	}
	for (size_t i = o->first_device; i < o->device_count; i++) {
		o->devices[i].changed |= o->devices[i].entry.host != host;
		o->devices[i].entry.host = host;
	}
	o->host = host;
}

void output_hostname(struct output *o, const char *text, size_t size)
{
	uint32_t name = output_string(o, text, size), host;

	if (name == 0 || name == OUTPUT_NONE)
		return;
	host = output_add_host(o, (struct trace_host){ .name = name });
	if (host != OUTPUT_NONE)
		move_to_host(o, host);
	buffer_clear(&o->hostname);
	if (buffer_append(&o->hostname, text, size < OUTPUT_STRING_MAX ? size : OUTPUT_STRING_MAX))
		output_fail(o, -ENOMEM);
}

/* ---- Processes --------------------------------------------------------------- */

uint32_t output_add_process(struct output *o, struct trace_process entry)
{
	if (o->process_count >= OUTPUT_ENTRIES_MAX)
		return output_full(o, OUTPUT_ENTRIES_FULL);
	if (ARRAY_GROW(o->processes, o->process_capacity, o->process_count + 1)) {
		output_fail(o, -ENOMEM);
		return OUTPUT_NONE;
	}
	entry.id = (uint32_t)o->process_count;
	o->processes[o->process_count++] = (struct output_process){ .entry = entry };
	return entry.id;
}

/* The number of an entry that was just made goes into the map. */
static uint32_t remember(struct output *o, struct output_map *map, uint64_t a, uint64_t b, uint32_t number)
{
	if (number != OUTPUT_NONE && output_map_add(map, a, b, number)) {
		output_fail(o, -ENOMEM);
		return OUTPUT_NONE;
	}
	return number;
}

/* The newest of that number in the files before this one, where they are of the same run. */
static uint32_t earlier_process(const struct output *o, uint64_t pid)
{
	for (size_t i = o->options.joined ? o->first_process : 0; i-- > 0;)
		if (o->processes[i].entry.pid == pid)
			return (uint32_t)i;
	return OUTPUT_NONE;
}

uint32_t output_process(struct output *o, uint64_t pid)
{
	const struct trace_process entry = { .host = o->host, .pid = pid, .parent = -1, .rank = o->rank };
	uint32_t found = output_map_find(&o->process_map, pid, 0);

	if (found != OUTPUT_NONE)
		return found;
	found = earlier_process(o, pid);
	return remember(o, &o->process_map, pid, 0, found != OUTPUT_NONE ? found : output_add_process(o, entry));
}

static void set_string(struct output *o, uint32_t *field, bool *changed, const char *text, size_t size)
{
	uint32_t number = output_string(o, text, size);

	if (number == OUTPUT_NONE || number == *field)
		return;
	*field = number;
	*changed = true;
}

void output_process_name(struct output *o, uint32_t process, const char *text, size_t size)
{
	if (process < o->process_count)
		set_string(o, &o->processes[process].entry.name, &o->processes[process].changed, text, size);
}

void output_process_command(struct output *o, uint32_t process, const char *text, size_t size)
{
	if (process < o->process_count)
		set_string(o, &o->processes[process].entry.command, &o->processes[process].changed, text, size);
}

static void set_rank(struct output_process *p, int64_t rank)
{
	p->changed |= p->entry.rank != rank;
	p->entry.rank = rank;
}

void output_process_rank(struct output *o, uint32_t process, int64_t rank)
{
	if (process >= o->process_count || rank < 0)
		return;
	set_rank(&o->processes[process], rank);
	o->processes[process].own_rank = true;
}

void output_rank(struct output *o, int64_t rank, int64_t world_size)
{
	o->rank = rank < 0 ? -1 : rank;
	o->world_size = world_size;
	for (size_t i = o->first_process; i < o->process_count; i++)
		if (!o->processes[i].own_rank)
			set_rank(&o->processes[i], o->rank);
}

/* ---- Tracks ------------------------------------------------------------------ */

uint32_t output_add_track(struct output *o, struct trace_track entry)
{
	if (o->track_count >= TRACE_TRACK_MAX)
		return output_full(o, OUTPUT_TRACKS_FULL);
	if (ARRAY_GROW(o->tracks, o->track_capacity, o->track_count + 1)) {
		output_fail(o, -ENOMEM);
		return OUTPUT_NONE;
	}
	entry.id = (uint32_t)o->track_count;
	o->tracks[o->track_count++] = (struct output_track){ .entry = entry };
	return entry.id;
}

static uint32_t find_track(struct output *o, struct output_map *map, uint64_t a, uint64_t b, struct trace_track entry)
{
	uint32_t found = output_map_find(map, a, b);

	return found != OUTPUT_NONE ? found : remember(o, map, a, b, output_add_track(o, entry));
}

static int64_t optional(uint32_t number, size_t count)
{
	return number < count ? (int64_t)number : -1;
}

static uint32_t earlier_thread(const struct output *o, uint32_t process, uint64_t tid)
{
	for (size_t i = o->options.joined && process < o->first_process ? o->first_track : 0; i-- > 0;) {
		const struct trace_track *t = &o->tracks[i].entry;

		if (t->kind == TRACK_THREAD && t->process == (int64_t)process && t->os_id == tid)
			return (uint32_t)i;
	}
	return OUTPUT_NONE;
}

uint32_t output_thread(struct output *o, uint32_t process, uint64_t tid)
{
	struct trace_track entry = { .kind = TRACK_THREAD, .os_id = tid, .device = -1, .parent = -1 };
	uint32_t found = output_map_find(&o->thread_map, process, tid);

	if (found != OUTPUT_NONE)
		return found;
	entry.process = optional(process, o->process_count);
	found = earlier_thread(o, process, tid);
	return remember(o, &o->thread_map, process, tid, found != OUTPUT_NONE ? found : output_add_track(o, entry));
}

uint32_t output_process_track(struct output *o, uint32_t process)
{
	struct trace_track entry = { .kind = TRACK_PROCESS, .device = -1, .parent = -1 };

	entry.process = optional(process, o->process_count);
	return find_track(o, &o->thread_map, process | (uint64_t)1 << 32, 0, entry);
}

uint32_t output_states(struct output *o, uint32_t process, uint64_t tid)
{
	struct trace_track entry = { .kind = TRACK_STATES, .os_id = tid, .device = -1, .parent = -1 };

	entry.process = optional(process, o->process_count);
	return find_track(o, &o->thread_map, process | (uint64_t)2 << 32, tid, entry);
}

uint32_t output_host_track(struct output *o)
{
	return find_track(o, &o->thread_map, (uint64_t)3 << 32, 0,
			  (struct trace_track){ .kind = TRACK_HOST, .process = -1, .device = -1, .parent = -1 });
}

uint32_t output_stream(struct output *o, uint32_t device, uint32_t process, uint64_t stream)
{
	struct trace_track entry = { .kind = TRACK_STREAM, .os_id = stream, .parent = -1 };

	entry.process = optional(process, o->process_count);
	entry.device = optional(device, o->device_count);
	return find_track(o, &o->stream_map, device | (uint64_t)process << 32, stream, entry);
}

void output_track_name(struct output *o, uint32_t track, const char *text, size_t size)
{
	if (track < o->track_count)
		set_string(o, &o->tracks[track].entry.name, &o->tracks[track].changed, text, size);
}

/* ---- Devices ----------------------------------------------------------------- */

/* The properties are copied. */
static int own_properties(struct trace_device *entry, const void *properties, size_t size)
{
	void *copy = malloc(size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, properties, size);
	entry->properties = copy;
	entry->properties_size = size;
	return 0;
}

uint32_t output_add_device(struct output *o, struct trace_device entry)
{
	bool none = entry.properties_size == 0;

	if (o->device_count >= OUTPUT_ENTRIES_MAX)
		return output_full(o, OUTPUT_ENTRIES_FULL);
	if (ARRAY_GROW(o->devices, o->device_capacity, o->device_count + 1) ||
	    own_properties(&entry, none ? "\x80" : entry.properties, none ? 1 : entry.properties_size)) {
		output_fail(o, -ENOMEM);
		return OUTPUT_NONE;
	}
	entry.id = (uint32_t)o->device_count;
	o->devices[o->device_count++] = (struct output_device){ .entry = entry };
	return entry.id;
}

static uint32_t earlier_device(const struct output *o, uint64_t index)
{
	for (size_t i = o->options.joined ? o->first_device : 0; i-- > 0;)
		if (o->devices[i].entry.index == index && o->devices[i].entry.kind == DEVICE_CUDA)
			return (uint32_t)i;
	return OUTPUT_NONE;
}

uint32_t output_device(struct output *o, uint64_t index)
{
	uint32_t found = output_map_find(&o->device_map, index, 0);
	struct trace_device entry = { .host = o->host, .index = (uint32_t)index, .kind = DEVICE_OTHER };

	if (found != OUTPUT_NONE)
		return found;
	found = earlier_device(o, index);
	return remember(o, &o->device_map, index, 0, found != OUTPUT_NONE ? found : output_add_device(o, entry));
}

static void set_properties(struct output *o, struct output_device *d, const void *properties, size_t size)
{
	const void *before = d->entry.properties;

	if (size > OUTPUT_PROPERTIES_MAX || msgpack_validate(properties, size)) {
		o->report->cut++;
		return;
	}
	if (size == d->entry.properties_size && memcmp(before, properties, size) == 0)
		return;
	if (own_properties(&d->entry, properties, size)) {
		output_fail(o, -ENOMEM);
		return;
	}
	free((void *)before);
	d->changed = true;
}

void output_device_describe(struct output *o, uint32_t device, unsigned kind, const char *name, size_t name_size,
			    const void *properties, size_t properties_size)
{
	struct output_device *d;

	if (device >= o->device_count)
		return;
	d = &o->devices[device];
	if (kind && kind != d->entry.kind) {
		d->entry.kind = (uint8_t)kind;
		d->changed = true;
	}
	if (name && name_size)
		set_string(o, &d->entry.name, &d->changed, name, name_size);
	if (properties && properties_size)
		set_properties(o, d, properties, properties_size);
}

/* ---- Writing ------------------------------------------------------------------ */

static int write_process(struct output *o, struct output_process *p)
{
	if (p->written && !p->changed)
		return 0;
	if (p->entry.host == OUTPUT_NONE)
		p->entry.host = output_host(o);
	p->written = true;
	p->changed = false;
	return trace_writer_process(o->writer, &p->entry);
}

static int write_device(struct output *o, struct output_device *d)
{
	if (d->written && !d->changed)
		return 0;
	if (d->entry.host == OUTPUT_NONE)
		d->entry.host = output_host(o);
	d->written = true;
	d->changed = false;
	return trace_writer_device(o->writer, &d->entry);
}

static int write_track(struct output *o, struct output_track *t)
{
	if (t->written && !t->changed)
		return 0;
	t->written = true;
	t->changed = false;
	return trace_writer_track(o->writer, &t->entry);
}

int output_write_track(struct output *o, struct output_track *t)
{
	int rc = 0;

	if (t->entry.process >= 0 && !o->processes[t->entry.process].written)
		rc = write_process(o, &o->processes[t->entry.process]);
	if (rc == 0 && t->entry.device >= 0 && !o->devices[t->entry.device].written)
		rc = write_device(o, &o->devices[t->entry.device]);
	return rc ? rc : write_track(o, t);
}

int output_write_entries(struct output *o)
{
	int rc = 0;

	for (size_t i = o->first_process; rc == 0 && i < o->process_count; i++)
		rc = write_process(o, &o->processes[i]);
	for (size_t i = o->first_device; rc == 0 && i < o->device_count; i++)
		rc = write_device(o, &o->devices[i]);
	for (size_t i = o->first_track; rc == 0 && i < o->track_count; i++)
		rc = write_track(o, &o->tracks[i]);
	return rc;
}
