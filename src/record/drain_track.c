/*
 * drain_track.c - threads and their tracks.
 *
 * A track is a thread of a process, by its serial: a thread that outlives its
 * ring (it calls us from the last of its destructors) gets another ring and
 * keeps its track; a ring that another thread has taken over gets a new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/drain_state.h"

/* Tracks of a process are counted from 1 by serial; more than this many is nonsense in the shared memory. */
#define SERIAL_LIMIT (1u << 20)

static int grow_tracks(struct drain_process *p, uint32_t count)
{
	uint32_t capacity = p->track_count ? p->track_count : 16, *bigger;

	while (capacity < count)
		capacity *= 2;
	bigger = realloc(p->tracks, capacity * sizeof *bigger);
	if (!bigger)
		return -ENOMEM;
	for (uint32_t i = p->track_count; i < capacity; i++)
		bigger[i] = NO_TRACK;
	p->tracks = bigger;
	p->track_count = capacity;
	return 0;
}

/* What the kernel calls the thread, while it is alive. */
static uint32_t kernel_name(struct drain *d, const struct drain_process *p, uint32_t tid)
{
	char path[64], text[32];
	ssize_t n;
	int fd;

	if (p->file.pid_namespace != d->pid_namespace)
		return 0;
	snprintf(path, sizeof path, "/proc/%u/task/%u/comm", p->file.pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof text);
	close(fd);
	if (n > 0 && text[n - 1] == '\n')
		n--;
	return n > 0 ? trace_writer_string(d->writer, text, (size_t)n) : 0;
}

static void write_track(struct drain *d, const struct drain_process *p, uint32_t ring, uint32_t name, uint32_t flags)
{
	const struct ring_header *h = layout_rings(p->file.map) + ring;
	struct trace_track track = {
		.id = p->rings[ring].track,
		.kind = TRACK_THREAD,
		.process = p->id,
		.os_id = h->tid,
		.serial = p->rings[ring].serial,
		.device = -1,
		.parent = -1,
		.flags = flags | (h->flags & RING_FORKED ? TRACE_TRACK_FORKED : 0),
		.name = name,
	};

	(void)trace_writer_track(d->writer, &track);
}

static const struct drain_resumed *find_resumed(const struct drain *d, uint32_t process, uint32_t serial)
{
	for (size_t i = 0; i < d->resumed_count; i++)
		if (d->resumed[i].process_number == process && d->resumed[i].serial == serial)
			return &d->resumed[i];
	return NULL;
}

/* The ring's track, made when its thread is new.  Negative when the ring has none (yet). */
int drain_ring_track(struct drain *d, struct drain_process *p, uint32_t ring)
{
	struct ring_header *h = layout_rings(p->file.map) + ring;
	struct drain_ring *r = &p->rings[ring];
	uint32_t serial = atomic_load_explicit(&h->serial, memory_order_acquire);
	const struct drain_resumed *known;

	if (serial == r->serial)
		return serial ? 0 : -ENOENT;
	if (serial == 0 || serial > SERIAL_LIMIT || d->next_track >= TRACE_TRACK_MAX)
		return -ENOENT;
	if (serial > p->track_count && grow_tracks(p, serial) != 0)
		return -ENOMEM;
	r->serial = serial;
	r->last_time = h->start_ticks;
	known = find_resumed(d, p->number, serial);
	if (p->tracks[serial - 1] == NO_TRACK) {
		p->tracks[serial - 1] = known ? known->track : d->next_track++;
		d->totals.threads++;
	}
	r->track = p->tracks[serial - 1];
	if (known && known->position > r->cursor.position)
		r->cursor.position = known->position;
	r->name = 0;
	r->kernel_name = kernel_name(d, p, h->tid);
	write_track(d, p, ring, r->kernel_name, 0);
	return 0;
}

/* The thread may have been given a name. */
void drain_ring_name(struct drain *d, struct drain_process *p, uint32_t ring)
{
	uint32_t name = atomic_load_explicit(&(layout_rings(p->file.map) + ring)->name, memory_order_acquire);

	if (name == NAME_NONE || name == p->rings[ring].name)
		return;
	p->rings[ring].name = name;
	write_track(d, p, ring, drain_name(d, p, name), 0);
}

void drain_track_end(struct drain *d, struct drain_process *p, uint32_t ring)
{
	struct drain_ring *r = &p->rings[ring];

	write_track(d, p, ring, r->name ? drain_name(d, p, r->name) : r->kernel_name, TRACE_TRACK_ENDED);
}

uint32_t drain_wide_track(struct drain *d, struct drain_process *p)
{
	struct trace_track track = {
		.id = d->next_track, .kind = TRACK_PROCESS, .process = p->id, .os_id = p->file.pid, .device = -1, .parent = -1
	};

	if (p->wide_track == NO_TRACK && d->next_track < TRACE_TRACK_MAX) {
		p->wide_track = d->next_track++;
		(void)trace_writer_track(d->writer, &track);
	}
	return p->wide_track;
}
