#include "record/drain.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "record/drain_state.h"
#include "record/heir.h"
#include "system/proc.h"
#include "system/process_counters.h"
#include "trace/reader.h"

#define READ_SLOTS ((size_t)CHUNK_SLOTS)
#define PREPARE_AFTER 4u /* chunks that a process has filled */
#define ENDING_MS 2000   /* for processes that are ending when the recording does, all together */
#define ENDING_STEP_MS 10
#define PREPARE_MAX 128u /* chunks, 8 MiB: as much as it can fill while we sleep */

/* ---- Losses ---------------------------------------------------------------- */

static void write_lost(struct drain *d, struct drain_process *p, uint32_t track, uint64_t from, uint64_t to, uint64_t count,
		       uint64_t reason, struct error *err)
{
	struct event_slot slot = drain_lost_slot(from, to > from ? to - from : 0);
	uint8_t bytes[DRAIN_LOST_FIELDS];

	if (count == 0 || track == NO_TRACK || !drain_believes(d, count))
		return;
	drain_lost_fields(bytes, count, reason);
	(void)trace_writer_event(d->writer, track, &slot, bytes, sizeof bytes, err);
	if (reason == LOST_NAMES)
		return;
	d->totals.lost += count;
	p->accounted += count;
}

/* ---- From ring to block ---------------------------------------------------- */

/* What the writer has on disk, the thread may overwrite. */
static void publish_drained(struct drain_process *p, uint32_t ring, uint64_t position)
{
	struct drain_ring *r = &p->rings[ring];

	if (r->drained == position)
		return;
	r->drained = position;
	atomic_store_explicit(&(layout_rings(p->file.map) + ring)->drained, position, memory_order_release);
}

static void hand_over(struct drain *d, struct drain_process *p, uint32_t ring, const struct event_slot *out, size_t slots)
{
	struct drain_ring *r = &p->rings[ring];
	uint64_t ticket;

	if (d->listener)
		drain_tell(d, p, ring, (struct drain_run){ .slots = out, .count = slots, .track = r->track, .kind = TRACK_THREAD });
	ticket = trace_writer_commit(d->writer, r->track, slots, r->cursor.position);
	if (d->aside.run_count)
		ticket = drain_write_aside(d, p, ring);
	if (ticket != r->ticket && r->ticket <= trace_writer_flushed(d->writer))
		publish_drained(p, ring, r->handed);
	r->ticket = ticket;
	r->handed = r->cursor.position;
}

/* Moves slots of one chunk.  How many were read, or negative. */
static int64_t move_some(struct drain *d, struct drain_process *p, uint32_t ring, struct error *err)
{
	struct drain_ring *r = &p->rings[ring];
	struct event_slot *out = trace_writer_run(d->writer, r->track, READ_SLOTS + 2 * DRAIN_LOST_SLOTS, err);
	struct ring_gap gap;
	struct sifted s;
	size_t read, shift = 0;
	uint64_t first, since;

	if (!out)
		return -ENOMEM;
	read = ring_read(&d->scan, &p->file, ring, &r->cursor, out, READ_SLOTS, &gap);
	if (read == 0)
		return 0;
	if (gap.events && !drain_believes(d, gap.events))
		gap.events = 0;
	s = drain_sift(d, p, r->track, out, read);
	r->cursor.extra += s.extra;
	first = s.events ? s.first_time : r->last_time;
	since = first > r->last_time ? first - r->last_time : 0;
	if (gap.events)
		shift += DRAIN_LOST_SLOTS;
	if (s.unreadable)
		shift += DRAIN_LOST_SLOTS;
	if (shift)
		memmove(out + shift, out, s.kept * sizeof *out);
	if (gap.events)
		drain_put_lost(out, r->last_time, since, gap.events, LOST_OVERWRITTEN);
	if (s.unreadable)
		drain_put_lost(out + shift - DRAIN_LOST_SLOTS, r->last_time, since, s.unreadable, LOST_UNREADABLE);
	if (s.events)
		r->last_time = s.last_time;
	d->totals.recorded += s.events;
	d->totals.lost += gap.events + s.unreadable;
	p->accounted += s.events + gap.events + s.unreadable;
	hand_over(d, p, ring, out, shift + s.kept);
	return (int64_t)read;
}

/* ---- Refusals: events that never became slots ------------------------------- */

static void look_at_refusals(struct drain *d, struct drain_process *p, uint32_t ring, uint64_t now, struct error *err)
{
	static const uint64_t reasons[3] = { LOST_REFUSED, LOST_NO_BUFFER, LOST_REENTRY };
	struct ring_header *h = layout_rings(p->file.map) + ring;
	struct drain_ring *r = &p->rings[ring];
	const uint64_t counts[3] = {
		atomic_load_explicit(&h->refused_full, memory_order_relaxed),
		atomic_load_explicit(&h->refused_no_chunk, memory_order_relaxed),
		atomic_load_explicit(&h->refused_reentry, memory_order_relaxed),
	};

	for (int i = 0; i < 3; i++) {
		if (counts[i] <= r->refused[i])
			continue;
		write_lost(d, p, r->track, p->last_look, now, counts[i] - r->refused[i], reasons[i], err);
		r->refused[i] = counts[i];
	}
}

static void look_at_process(struct drain *d, struct drain_process *p, uint64_t now, struct error *err)
{
	struct process_header *h = ring_file_header(&p->file);
	uint64_t names = atomic_load_explicit(&h->names_refused, memory_order_relaxed);
	uint64_t no_ring = atomic_load_explicit(&h->refused_no_ring, memory_order_relaxed);

	if (names > p->names_refused) {
		write_lost(d, p, drain_wide_track(d, p), p->last_look, now, names - p->names_refused, LOST_NAMES, err);
		d->totals.names_refused += drain_believes(d, names - p->names_refused) ? names - p->names_refused : 0;
		p->names_refused = names;
	}
	if (no_ring > p->refused_no_ring) {
		write_lost(d, p, drain_wide_track(d, p), p->last_look, now, no_ring - p->refused_no_ring, LOST_NO_BUFFER, err);
		p->refused_no_ring = no_ring;
	}
	p->last_look = now;
}

/* ---- Passes ---------------------------------------------------------------- */

/* Has the ring the thread that it had when its track was made?  A new one may have come and recorded nothing yet. */
static bool is_known(const struct drain_process *p, uint32_t ring)
{
	uint32_t serial = atomic_load_explicit(&(layout_rings(p->file.map) + ring)->serial, memory_order_acquire);

	return ring < p->ring_count && serial != 0 && serial == p->rings[ring].serial;
}

/* Of a ring that is new one more: it is news itself. */
static uint64_t waiting_in(const struct drain_process *p, uint32_t rings)
{
	const struct ring_header *h = layout_rings(p->file.map);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < rings; i++) {
		uint64_t produced = atomic_load_explicit(&h[i].produced, memory_order_relaxed);

		if (!is_known(p, i))
			sum += produced + 1;
		else if (produced > p->rings[i].cursor.position)
			sum += produced - p->rings[i].cursor.position;
	}
	return sum;
}

/* A thread that has left, and whose events are all on disk: others may have its memory. */
static void release_exited(struct drain *d, struct drain_process *p, uint32_t ring)
{
	struct ring_header *h = layout_rings(p->file.map) + ring;
	struct drain_ring *r = &p->rings[ring];

	if (r->handed != r->drained && r->ticket <= trace_writer_flushed(d->writer))
		publish_drained(p, ring, r->handed);
	if (atomic_load_explicit(&h->state, memory_order_acquire) != RING_EXITED || r->serial == 0)
		return;
	if (atomic_load_explicit(&h->produced, memory_order_acquire) != r->cursor.position || r->drained != r->cursor.position)
		return;
	drain_track_end(d, p, ring);
	ring_free(&p->file, ring);
}

static int64_t drain_process_pass(struct drain *d, struct drain_process *p, struct error *err)
{
	uint64_t now = clock_ticks(d->clock);
	int64_t moved = 0, n;
	uint32_t rings = ring_file_rings(&p->file);

	if (waiting_in(p, rings)) {
		if (ring_scan(&d->scan, &p->file) != 0 || ARRAY_GROW(p->rings, p->ring_count, rings) != 0)
			return -ENOMEM;
		rings = d->scan.ring_count < rings ? d->scan.ring_count : rings;
		for (uint32_t i = 0; i < rings; i++) {
			if (drain_ring_track(d, p, i) != 0)
				continue;
			for (n = 1; n > 0 && d->scan.produced[i] > p->rings[i].cursor.position; moved += n)
				if ((n = move_some(d, p, i, err)) < 0)
					return n;
		}
	}
	for (uint32_t i = 0; i < rings && i < p->ring_count; i++) {
		if (!is_known(p, i))
			continue;
		drain_ring_name(d, p, i);
		look_at_refusals(d, p, i, now, err);
		release_exited(d, p, i);
	}
	look_at_process(d, p, now, err);
	return moved;
}

/* The budget runs out: threads that once needed many chunks, and processes that once had many threads, give some back. */
static void reclaim(struct drain *d, struct error *err)
{
	struct session_page *page = d->session->page;

	if (atomic_load_explicit(&page->chunks_used, memory_order_relaxed) < page->chunk_limit - page->chunk_limit / 8)
		return;
	(void)trace_writer_flush(d->writer, err); /* what is not on disk yet cannot be given back */
	for (uint32_t i = 0; i < d->process_count; i++) {
		struct drain_process *p = d->processes[i];

		if (!p || !p->file.map || ring_scan(&d->scan, &p->file) != 0)
			continue;
		for (uint32_t r = 0; r < d->scan.ring_count && r < p->ring_count; r++)
			if (is_known(p, r)) {
				release_exited(d, p, r);
				ring_reclaim(&d->scan, &p->file, r, p->rings[r].drained);
			}
		ring_empty(&p->file, page);
	}
}

/* A process that has filled some chunks will soon want more. */
static void prepare_process(struct drain_process *p, uint32_t ahead)
{
	uint32_t used = ring_file_chunks(&p->file), from = used > p->prepared ? used : p->prepared;

	if (used < PREPARE_AFTER || from >= used + ahead)
		return;
	p->prepared = ring_populate(&p->file, from, used + ahead - from) == 0 ? used + ahead : UINT32_MAX;
}

void drain_prepare(struct drain *d)
{
	const struct session_page *page = d->session->page;
	uint32_t free_chunks, used = atomic_load_explicit(&page->chunks_used, memory_order_relaxed), open = 0;

	drain_find_processes(d, NULL); /* how one of them ends is told to who had a descriptor of it before */
	for (uint32_t i = 0; i < d->process_count; i++)
		open += d->processes[i] && d->processes[i]->file.map;
	free_chunks = used < page->chunk_limit ? page->chunk_limit - used : 0;
	for (uint32_t i = 0; i < d->process_count && open; i++) {
		uint32_t ahead = free_chunks / 8 / open;

		if (d->processes[i] && d->processes[i]->file.map)
			prepare_process(d->processes[i], ahead < PREPARE_MAX ? ahead : PREPARE_MAX);
	}
}

uint64_t drain_waiting(const struct drain *d)
{
	uint64_t sum = atomic_load_explicit(&d->session->page->processes, memory_order_relaxed) != d->told_processes;

	for (uint32_t i = 0; i < d->process_count; i++) {
		const struct drain_process *p = d->processes[i];

		if (p && p->file.map)
			sum += waiting_in(p, ring_file_rings(&p->file));
	}
	return sum;
}

int64_t drain_pass(struct drain *d, struct error *err)
{
	int64_t moved = 0, n;

	drain_find_processes(d, err);
	for (uint32_t i = 0; i < d->process_count; i++) {
		if (!d->processes[i] || !d->processes[i]->file.map)
			continue;
		n = drain_process_pass(d, d->processes[i], err);
		if (n < 0)
			return n;
		moved += n;
	}
	reclaim(d, err);
	return moved;
}

/* The process will write no more: what no chunk holds is lost, and every counter is final. */
static void read_to_the_end(struct drain *d, struct drain_process *p, struct error *err)
{
	uint64_t now = clock_ticks(d->clock);

	if (drain_process_pass(d, p, err) < 0 || ring_scan(&d->scan, &p->file) != 0)
		return;
	for (uint32_t i = 0; i < d->scan.ring_count && i < p->ring_count; i++) {
		struct drain_ring *r = &p->rings[i];
		uint64_t rest = r->serial ? ring_read_rest(&d->scan, &p->file, i, &r->cursor) : 0;

		write_lost(d, p, r->track, r->last_time, now, rest, LOST_OVERWRITTEN, err);
	}
}

static void end_process(struct drain *d, struct drain_process *p, uint32_t flags, struct error *err)
{
	if (flags & TRACE_PROCESS_ENDED) {
		(void)heir_settle(&(struct heir){ d->session, d->runtime, d->resumed != NULL }, p->number, err);
		read_to_the_end(d, p, err);
		d->totals.produced += drain_count_produced(d, p);
	} else { /* it goes on writing: what it had written up to here is what we have seen of it */
		(void)drain_process_pass(d, p, err);
		d->totals.produced += p->accounted;
		d->totals.running++;
	}
	drain_count_skipped(d, p);
	/* Its memory goes when it is closed, so what was in it has to be on disk before. */
	(void)trace_writer_flush(d->writer, err);
	drain_process_close(d, p, flags);
}

void drain_reap(struct drain *d, struct error *err)
{
	for (uint32_t i = 0; i < d->process_count; i++) {
		struct drain_process *p = d->processes[i];

		if (p && p->file.map && drain_process_ended(p))
			end_process(d, p, TRACE_PROCESS_ENDED, err);
	}
}

static bool is_ending(pid_t pid)
{
	struct process_counters now;

	return (process_counters_look(pid, &now) && now.ends) || proc_pending_signals(pid) >> (SIGKILL - 1) & 1;
}

/* One that is being taken down, as it takes a while where there is a device, is waited for: only of one that has ended can be had what
 * it has not translated.  Whoever was killed together with it may have been quicker. */
static bool has_ended(const struct drain *d, const struct drain_process *p, int *patience_ms)
{
	struct pollfd fd = { .fd = p->pidfd, .events = POLLIN };

	while (!drain_process_ended(p)) {
		if (*patience_ms <= 0 || p->pidfd < 0 || !heir_is_owed(d->session, p->number) || !is_ending((pid_t)p->file.pid))
			return false;
		(void)poll(&fd, 1, ENDING_STEP_MS);
		*patience_ms -= ENDING_STEP_MS;
	}
	return true;
}

void drain_finish(struct drain *d, struct error *err)
{
	int patience_ms = ENDING_MS;

	d->finishing = true;
	drain_find_processes(d, err);
	for (uint32_t i = 0; i < d->process_count; i++) {
		struct drain_process *p = d->processes[i];

		if (p && p->file.map)
			end_process(d, p, has_ended(d, p, &patience_ms) ? TRACE_PROCESS_ENDED : TRACE_PROCESS_RUNNING, err);
	}
}

const struct deaths *drain_killed(const struct drain *d)
{
	return &d->killed;
}

pid_t drain_running(const struct drain *d, size_t index)
{
	for (uint32_t i = 0; i < d->process_count; i++) {
		struct drain_process *p = d->processes[i];

		if (p && p->file.map && p->file.pid_namespace == d->pid_namespace && !drain_process_ended(p) && index-- == 0)
			return (pid_t)p->file.pid;
	}
	return 0;
}

int drain_new(struct drain **ret, struct session *session, struct trace_writer *writer, uint32_t next_track)
{
	struct drain *d = calloc(1, sizeof *d);

	if (!d)
		return -ENOMEM;
	d->session = session;
	d->writer = writer;
	d->clock = session->page->clock_source;
	d->next_track = next_track;
	d->task_limit = TRACE_TRACK_MAX - TRACE_TRACK_MAX / 16;
	d->pid_namespace = proc_pid_namespace();
	*ret = d;
	return 0;
}

void drain_set_runtime(struct drain *d, const char *path)
{
	d->runtime = path;
}

/* How far each track of the file goes in the stream it came from. */
static int note_positions(void *arg, unsigned worker, size_t block, const struct trace_batch *batch)
{
	struct drain *d = arg;

	(void)worker;
	(void)block;
	for (size_t i = 0; i < batch->segment_count; i++) {
		const struct trace_segment *s = &batch->segments[i];

		if (s->track < trace_reader_track_count(d->resumed) && s->source_index > d->resumed_positions[s->track])
			d->resumed_positions[s->track] = s->source_index;
	}
	return 0;
}

/* What came from a task's thread along with the task's events may have been nothing: then they tell its position. */
static void fold_tasks(struct drain *d)
{
	size_t count = trace_reader_track_count(d->resumed);

	for (uint32_t i = 0; i < count; i++) {
		const struct trace_track *t = trace_reader_track(d->resumed, i);
		size_t thread = t && t->kind == TRACK_TASK && t->parent >= 0 ? (size_t)t->parent : count;

		if (thread < count && d->resumed_positions[thread] < d->resumed_positions[i])
			d->resumed_positions[thread] = d->resumed_positions[i];
	}
}

int drain_resume(struct drain *d, struct trace_reader *reader, bool damaged, struct error *err)
{
	int rc;

	d->resumed = reader;
	d->resumed_damaged = damaged;
	d->next_process = (uint32_t)trace_reader_process_count(reader);
	d->next_device = (uint32_t)trace_reader_device_count(reader);
	d->resumed_positions = calloc(trace_reader_track_count(reader) + 1, sizeof *d->resumed_positions);
	if (!d->resumed_positions)
		return error_set(err, -ENOMEM, "out of memory");
	rc = trace_reader_each(reader, 0, trace_reader_block_count(reader), 1, note_positions, d, err);
	if (rc == 0)
		fold_tasks(d);
	return rc;
}

void drain_free(struct drain *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->process_count; i++)
		drain_process_free(d->processes[i]);
	free(d->processes);
	free(d->tries);
	free(d->outside);
	deaths_release(&d->killed);
	drain_streams_free(d);
	free(d->resumed_positions);
	free(d->aside.slots);
	free(d->aside.runs);
	ring_scan_release(&d->scan);
	free(d);
}
