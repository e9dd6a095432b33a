/*
 * drain_track.c - threads and their tracks.
 *
 * A track is a thread of a process, by its serial: a thread that outlives its
 * ring (it calls us from the last of its destructors) gets another ring and
 * keeps its track; a ring that another thread has taken over gets a new one.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "record/drain_state.h"
#include "system/proc.h"
#include "trace/reader.h"

/* Tracks of a process are counted from 1 by serial; more than this many is nonsense in the shared memory. */
#define SERIAL_LIMIT (1u << 20)

uint32_t drain_thread_name(struct drain *d, const struct drain_process *p, uint32_t tid)
{
	char text[32];
	size_t n = 0;

	if (p->file.pid_namespace == d->pid_namespace)
		n = proc_thread_name((pid_t)p->file.pid, (pid_t)tid, text, sizeof text);
	return n ? trace_writer_string(d->writer, text, n) : 0;
}

static void write_track(struct drain *d, const struct drain_process *p, uint32_t ring, uint32_t name, uint32_t flags)
{
	const struct ring_header *h = layout_rings(p->file.map) + ring;
	struct trace_track track = {
		.id = p->rings[ring].track,
		.kind = TRACK_THREAD,
		.process = p->id,
		.os_id = h->tid,
		.serial = drain_was_told(p, p->rings[ring].track) ? 0 : p->rings[ring].serial, /* as it was when it was told of */
		.device = -1,
		.parent = -1,
		.flags = flags | (h->flags & RING_FORKED ? TRACE_TRACK_FORKED : 0),
		.name = name,
	};

	(void)trace_writer_track(d->writer, &track);
}

/* The track that a file under recovery has for this thread, or NO_TRACK. */
static uint32_t resumed_track(const struct drain *d, const struct drain_process *p, uint32_t serial)
{
	size_t count = d->resumed ? trace_reader_track_count(d->resumed) : 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct trace_track *t = trace_reader_track(d->resumed, i);

		if (t && t->kind == TRACK_THREAD && t->process == (int64_t)p->id && t->serial == serial)
			return i;
	}
	return NO_TRACK;
}

static uint32_t choose_track(struct drain *d, struct drain_process *p, uint32_t serial, uint32_t tid)
{
	uint32_t track = p->tracks[serial - 1]; /* plus one; 0: none yet */

	if (track)
		return track - 1;
	track = drain_take_told_thread(p, tid); /* and has been counted */
	if (track == NO_TRACK) {
		track = resumed_track(d, p, serial);
		track = track == NO_TRACK ? d->next_track++ : track;
		d->totals.threads++;
	}
	p->tracks[serial - 1] = track + 1;
	return track;
}

/* The dead recorder got this far: what it wrote to the file and what it said it had, unless the file lost some of that. */
static uint64_t resume_position(const struct drain *d, const struct drain_process *p, uint32_t ring)
{
	uint64_t said = atomic_load(&(layout_rings(p->file.map) + ring)->drained);
	uint32_t track = p->rings[ring].track;
	uint64_t in_file = track < trace_reader_track_count(d->resumed) ? d->resumed_positions[track] : 0;

	if (d->resumed_damaged)
		return in_file ? in_file : ring_oldest(&d->scan, ring);
	return said > in_file ? said : in_file;
}

static void resume_ring(struct drain *d, const struct drain_process *p, uint32_t ring)
{
	uint64_t position = resume_position(d, p, ring);

	if (position > d->scan.produced[ring])
		position = d->scan.produced[ring];
	ring_resume(&d->scan, &p->file, ring, position, &p->rings[ring].cursor);
}

/* The ring's track, made when its thread is new.  Negative when the ring has none (yet). */
int drain_ring_track(struct drain *d, struct drain_process *p, uint32_t ring)
{
	struct ring_header *h = layout_rings(p->file.map) + ring;
	struct drain_ring *r = &p->rings[ring];
	uint32_t serial = atomic_load_explicit(&h->serial, memory_order_acquire);

	if (serial == r->serial)
		return serial ? 0 : -ENOENT;
	if (serial == 0 || serial > SERIAL_LIMIT || d->next_track >= TRACE_TRACK_MAX)
		return -ENOENT;
	if (ARRAY_GROW(p->tracks, p->track_count, serial) != 0)
		return -ENOMEM;
	r->serial = serial;
	r->tid = h->tid;
	r->last_time = h->start_ticks;
	r->track = choose_track(d, p, serial, h->tid);
	if (d->resumed)
		resume_ring(d, p, ring);
	r->name = 0;
	r->kernel_name = drain_thread_name(d, p, h->tid);
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
