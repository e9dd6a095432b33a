#include "record/watch_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/msgpack.h"
#include "system/code_place.h"
#include "system/machine_counters.h"
#include "system/process_counters.h"
#include "system/process_memory.h"
#include "system/proc.h"

#define NO_NUMBER UINT32_MAX
#define BATCH 256u
#define THREADS_MAX (1u << 17) /* that get tracks */
#define NAME_TRIES 3u          /* seconds in which a thread may still get a name */
#define PARENT_TRIES 32u       /* records of a thread with which its own track is looked for: it attaches in its own time */

/* A thread's states, by its number in the watch. */
struct state_track {
	uint32_t track; /* plus one; 0: none yet */
	uint32_t process;
	uint32_t name;
	uint8_t tries;
	uint8_t names; /* times that its name has been asked for */
	bool tied; /* to the track of the thread's own events */
};

struct watch_writer {
	struct watch *watch;
	struct drain *drain;
	struct trace_writer *writer;
	struct state_track *threads;
	size_t thread_capacity;
	uint32_t host_track; /* plus one */
	uint32_t attached;   /* processes that the watch has been told of */
	uint64_t unplaced;   /* records that no track could be had for */
	struct buffer extra;
	struct watch_record batch[BATCH];
};

int watch_writer_new(struct watch_writer **ret, struct watch *watch, struct drain *drain, struct trace_writer *writer)
{
	struct watch_writer *w = calloc(1, sizeof *w);

	if (!w)
		return -ENOMEM;
	w->watch = watch;
	w->drain = drain;
	w->writer = writer;
	*ret = w;
	return 0;
}

void watch_writer_free(struct watch_writer *w)
{
	if (!w)
		return;
	buffer_release(&w->extra);
	free(w->threads);
	free(w);
}

static uint32_t intern(const struct watch_writer *w, const char *text)
{
	return trace_writer_string(w->writer, text, strlen(text));
}

/* ---- Tracks ------------------------------------------------------------------ */

static void write_track(struct watch_writer *w, const struct watch_record *r, struct state_track *t, uint32_t flags)
{
	uint32_t own = drain_outside_thread(w->drain, t->process, r->tid);
	const struct trace_track track = {
		.id = t->track - 1,
		.kind = TRACK_STATES,
		.process = t->process,
		.os_id = (uint64_t)r->tid,
		.serial = r->thread,
		.device = -1,
		.parent = own == NO_NUMBER ? -1 : (int64_t)own,
		.flags = flags,
		.name = t->name,
	};

	t->tied = own != NO_NUMBER;
	(void)trace_writer_track(w->writer, &track);
}

static uint32_t thread_name(const struct watch_writer *w, const struct watch_record *r)
{
	char text[32];
	size_t n = proc_thread_name(r->pid, r->tid, text, sizeof text);

	return n ? trace_writer_string(w->writer, text, n) : 0;
}

/* A thread whose process replaced its program goes on under that one's number. */
static struct state_track *state_track(struct watch_writer *w, const struct watch_record *r)
{
	uint32_t process = drain_outside_process(w->drain, r->pid, r->birth, r->parent, r->time), track;
	struct state_track *t;

	if (process == NO_NUMBER || r->thread >= THREADS_MAX || ARRAY_GROW(w->threads, w->thread_capacity, r->thread + 1) != 0)
		return NULL;
	t = &w->threads[r->thread];
	if (t->track && t->process == process) {
		if (!t->tied && t->tries < PARENT_TRIES) {
			t->tries++;
			if (drain_outside_thread(w->drain, process, r->tid) != NO_NUMBER)
				write_track(w, r, t, 0);
		}
		return t;
	}
	track = drain_outside_track(w->drain);
	if (track == NO_NUMBER)
		return NULL;
	*t = (struct state_track){ .track = track + 1, .process = process, .name = thread_name(w, r) };
	write_track(w, r, t, 0);
	return t;
}

/* Threads, and programs that replace others, get their names after they have begun. */
static void look_for_name(struct watch_writer *w, const struct watch_record *r, struct state_track *t)
{
	uint32_t name = t->names < NAME_TRIES ? thread_name(w, r) : 0;

	t->names += t->names < NAME_TRIES;
	if (name == 0 || name == t->name)
		return;
	t->name = name;
	write_track(w, r, t, 0);
}

static uint32_t host_track(struct watch_writer *w)
{
	struct trace_track track = { .kind = TRACK_HOST, .process = -1, .device = -1, .parent = -1 };

	if (!w->host_track) {
		track.id = drain_outside_track(w->drain);
		if (track.id == NO_NUMBER)
			return NO_NUMBER;
		track.name = intern(w, "host");
		(void)trace_writer_track(w->writer, &track);
		w->host_track = track.id + 1;
	}
	return w->host_track - 1;
}

/* ---- Events ------------------------------------------------------------------ */

static void write_event(struct watch_writer *w, uint32_t track, const struct event_slot *slot, struct error *err)
{
	if (track == NO_NUMBER) {
		w->unplaced++;
		return;
	}
	(void)trace_writer_event(w->writer, track, slot, w->extra.data, w->extra.size, err);
	drain_outside_count(w->drain, 1);
}

/* {"what": TEXT, "continues": true}, as far as there is either, as a list of one field. */
static int put_what(struct watch_writer *w, const char *what, bool continues)
{
	uint8_t head[3] = { FIELD_METADATA };
	size_t size;
	int rc;

	buffer_clear(&w->extra);
	if (!what[0] && !continues)
		return 0;
	rc = buffer_append(&w->extra, head, sizeof head);
	if (rc == 0)
		rc = msgpack_write_map(&w->extra, (what[0] != '\0') + continues);
	if (rc == 0 && what[0])
		rc = msgpack_write_text(&w->extra, "what");
	if (rc == 0 && what[0])
		rc = msgpack_write_text(&w->extra, what);
	if (rc == 0 && continues)
		rc = msgpack_write_text(&w->extra, "continues");
	if (rc == 0 && continues)
		rc = msgpack_write_bool(&w->extra, true);
	size = w->extra.size - sizeof head;
	if (rc == 0) {
		w->extra.data[1] = (uint8_t)size;
		w->extra.data[2] = (uint8_t)(size >> 8);
	}
	return rc;
}

static void write_state(struct watch_writer *w, const struct watch_record *r, struct error *err)
{
	const struct state_track *t = state_track(w, r);
	const struct event_slot slot = {
		.time = r->time,
		.value = r->duration,
		.name = intern(w, thread_state_name(r->state)),
		.aux = r->value < UINT32_MAX ? (uint32_t)r->value : UINT32_MAX,
		.cpu = EVENT_CPU_UNKNOWN,
		.kind = EVENT_CPU_SAMPLE,
		.flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, FIELD_COUNT),
	};

	if (put_what(w, r->what, r->continues && r->state != THREAD_RUNNING) != 0)
		buffer_clear(&w->extra);
	write_event(w, t ? t->track - 1 : NO_NUMBER, &slot, err);
}

static void write_sample(struct watch_writer *w, const struct watch_record *r, struct error *err)
{
	const struct state_track *t = state_track(w, r);
	const struct event_slot slot = {
		.time = r->time,
		.name = intern(w, code_sort_name(r->state)),
		.cpu = EVENT_CPU_UNKNOWN,
		.kind = EVENT_CPU_SAMPLE,
		.flags = EVENT_FLAGS(PHASE_INSTANT, 0, 0),
	};

	if (put_what(w, r->what, false) != 0)
		buffer_clear(&w->extra);
	write_event(w, t ? t->track - 1 : NO_NUMBER, &slot, err);
}

static void write_counter(struct watch_writer *w, uint32_t track, const char *name, const struct watch_record *r, struct error *err)
{
	const struct event_slot slot = {
		.time = r->time,
		.value = r->value,
		.name = intern(w, name),
		.cpu = EVENT_CPU_UNKNOWN,
		.kind = EVENT_COUNTER,
		.flags = EVENT_FLAGS(PHASE_INSTANT, FIELD_INTEGER, 0),
	};

	buffer_clear(&w->extra);
	write_event(w, track, &slot, err);
}

static void write_ledger(struct watch_writer *w, const struct watch_record *r, struct error *err)
{
	static const char *const names[WATCH_LEDGER_COUNT] = { "run_ns", "queue_ns", "slices" };
	struct state_track *t = state_track(w, r);

	if (t && r->counter == 0)
		look_for_name(w, r, t);
	write_counter(w, t ? t->track - 1 : NO_NUMBER, names[r->counter], r, err);
}

static void write_process_counter(struct watch_writer *w, const char *name, const struct watch_record *r, struct error *err)
{
	uint32_t process = drain_outside_process(w->drain, r->pid, r->birth, r->parent, r->time);

	write_counter(w, process == NO_NUMBER ? NO_NUMBER : drain_outside_wide_track(w->drain, process), name, r, err);
}

static void write_numa(struct watch_writer *w, const struct watch_record *r, struct error *err)
{
	char name[NUMA_NAME_SIZE];

	numa_counter_name(r->counter, name);
	write_process_counter(w, name, r, err);
}

static void write_change(struct watch_writer *w, const struct watch_record *r)
{
	uint32_t process = drain_outside_process(w->drain, r->pid, r->birth, r->parent, r->time);

	if (process != NO_NUMBER)
		drain_outside_describe(w->drain, process, r->kind == WATCH_PROCESS_ENDED ? r->time : 0);
}

static void write_thread_end(struct watch_writer *w, const struct watch_record *r)
{
	struct state_track *t = state_track(w, r);

	if (t)
		write_track(w, r, t, TRACE_TRACK_ENDED);
}

static void write_record(struct watch_writer *w, const struct watch_record *r, struct error *err)
{
	switch (r->kind) {
	case WATCH_STATE:
		write_state(w, r, err);
		break;
	case WATCH_CPU_SAMPLE:
		write_sample(w, r, err);
		break;
	case WATCH_LEDGER:
		write_ledger(w, r, err);
		break;
	case WATCH_PROCESS:
		write_process_counter(w, process_counter_name(r->counter), r, err);
		break;
	case WATCH_NUMA:
		write_numa(w, r, err);
		break;
	case WATCH_MACHINE:
		write_counter(w, host_track(w), machine_counter_name(r->counter), r, err);
		break;
	case WATCH_THREAD_ENDED:
		write_thread_end(w, r);
		break;
	default:
		write_change(w, r);
		break;
	}
}

void watch_writer_pass(struct watch_writer *w, struct error *err)
{
	size_t n;
	pid_t pid;

	for (; (pid = drain_attached(w->drain, w->attached)) >= 0; w->attached++)
		if (pid > 0)
			watch_add(w->watch, pid);
	do {
		n = watch_take(w->watch, w->batch, BATCH);
		for (size_t i = 0; i < n; i++)
			write_record(w, &w->batch[i], err);
	} while (n == BATCH);
}

/* ---- The end ----------------------------------------------------------------- */

static void put_integer(struct buffer *map, const char *key, uint64_t value)
{
	(void)msgpack_write_text(map, key);
	(void)msgpack_write_int(map, value < INT64_MAX ? (int64_t)value : INT64_MAX);
}

void watch_writer_finish(struct watch_writer *w, struct error *err)
{
	struct watch_totals totals = watch_totals(w->watch);
	struct buffer map = BUFFER_INIT;

	watch_writer_pass(w, err);
	drain_outside_finish(w->drain);
	(void)msgpack_write_map(&map, 1);
	(void)msgpack_write_text(&map, "sampling");
	(void)msgpack_write_map(&map, 16);
	put_integer(&map, "interval_ns", (uint64_t)watch_slot_ns(w->watch));
	put_integer(&map, "seed", totals.seed);
	put_integer(&map, "slots", totals.slots);
	put_integer(&map, "missed", totals.missed);
	put_integer(&map, "dropped", totals.dropped + w->unplaced);
	put_integer(&map, "cpu_ns", totals.cpu_ns);
	put_integer(&map, "slowest_pace", totals.pace);
	put_integer(&map, "processes", totals.processes);
	put_integer(&map, "threads", totals.threads);
	put_integer(&map, "refused_threads", totals.refused);
	put_integer(&map, "cpus", totals.cpus);
	put_integer(&map, "program_counters", (uint64_t)totals.reach);
	put_integer(&map, "period_ns", CPU_SAMPLER_PERIOD_NS);
	put_integer(&map, "longest_period_ns", totals.longest_period_ns);
	put_integer(&map, "lost_samples", totals.lost_samples);
	put_integer(&map, "rests", totals.rests);
	(void)trace_writer_info(w->writer, map.data, map.size, err);
	buffer_release(&map);
}
