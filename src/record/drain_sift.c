/*
 * drain_sift.c - looks at slots that have been read out of a ring: what is an
 * event, what is nonsense, and which track it belongs to.
 *
 * Nearly all belong to the track of the ring's thread, and stay in place.
 * Those of tasks, of devices, and of the process as a whole, are set aside and written to
 * their tracks right after the others, in the same block: a block is in the
 * file or not, so that after a crash the position of the ring stands for all
 * of them.
 */
#include <string.h>

#include "base/array.h"
#include "record/drain_state.h"
#include "ring/fields.h"

/* ---- Lost events ------------------------------------------------------------ */

void drain_lost_fields(uint8_t bytes[DRAIN_LOST_FIELDS], uint64_t count, uint64_t reason)
{
	uint16_t size = 8;

	bytes[0] = FIELD_COUNT;
	memcpy(bytes + 1, &size, 2);
	memcpy(bytes + 3, &count, 8);
	bytes[11] = FIELD_REASON;
	memcpy(bytes + 12, &size, 2);
	memcpy(bytes + 14, &reason, 8);
}

struct event_slot drain_lost_slot(uint64_t from, uint64_t duration)
{
	return (struct event_slot){
		.time = from,
		.value = duration,
		.cpu = EVENT_CPU_UNKNOWN,
		.kind = EVENT_LOST,
		.flags = EVENT_FLAGS(PHASE_COMPLETE, FIELD_DURATION, 0),
	};
}

void drain_put_lost(struct event_slot *out, uint64_t from, uint64_t duration, uint64_t count, uint64_t reason)
{
	uint8_t bytes[sizeof *out] = { 0 };
	uint16_t total = DRAIN_LOST_FIELDS;

	out[0] = drain_lost_slot(from, duration);
	out[0].extra = 1;
	memcpy(bytes, &total, 2);
	drain_lost_fields(bytes + 2, count, reason);
	memcpy(out + 1, bytes, sizeof bytes);
}

/* ---- What goes to another track --------------------------------------------- */

static bool set_aside(struct drain_aside *a, uint32_t track, uint8_t kind, bool of_thread, const struct event_slot *slots, size_t size)
{
	struct aside_run *run = a->run_count ? &a->runs[a->run_count - 1] : NULL;

	if (ARRAY_GROW(a->slots, a->capacity, a->count + size) != 0)
		return false;
	if (!run || run->track != track || run->of_thread != of_thread) {
		if (ARRAY_GROW(a->runs, a->run_capacity, a->run_count + 1) != 0)
			return false;
		run = &a->runs[a->run_count++];
		*run = (struct aside_run){ .track = track, .kind = kind, .of_thread = of_thread };
	}
	memcpy(a->slots + a->count, slots, size * sizeof *slots);
	a->count += size;
	run->slots += size;
	run->events++;
	return true;
}

uint64_t drain_write_aside(struct drain *d, const struct drain_process *p, uint32_t ring)
{
	struct drain_aside *a = &d->aside;
	uint64_t position = p->rings[ring].cursor.position;
	const struct event_slot *at = a->slots;
	uint64_t ticket = 0;

	for (size_t i = 0; i < a->run_count; i++) {
		const struct aside_run *run = &a->runs[i];
		struct event_slot *room = trace_writer_run(d->writer, run->track, run->slots, NULL);

		if (d->listener)
			drain_tell(d, p, ring, (struct drain_run){ .slots = at, .count = run->slots, .track = run->track, .kind = run->kind });
		if (room) {
			memcpy(room, at, run->slots * sizeof *at);
			ticket = trace_writer_commit(d->writer, run->track, run->slots, run->of_thread ? position : 0);
		} else { /* out of memory, and so nothing says it in the file */
			d->totals.recorded -= run->events;
			d->totals.lost += run->events;
		}
		at += run->slots;
	}
	a->count = a->run_count = 0;
	return ticket;
}

/* The numbers that an event has in its continuation slots, by field; others are left as they are. */
static void read_fields(uint64_t ret[FIELD_LIMIT], const struct event_slot *slots, size_t count)
{
	struct event_fields fields = event_fields_of(slots, count - 1);
	struct field_value value;
	uint64_t number;

	while (event_fields_next(&fields, &value))
		if (value.field < FIELD_LIMIT && field_number(&value, &number))
			ret[value.field] = number;
}

/* An event of a task, as the task's track has it: what said which task it is has done its work. */
static bool take_task(struct drain *d, struct drain_process *p, uint32_t thread, struct event_slot *slots, size_t size)
{
	const struct drain_task *task = drain_task(d, p, thread, slots);

	if (!task)
		return false;
	slots->flags &= (uint16_t)~(EVENT_FLAG_TASK | EVENT_FLAGS(0, 31u, 31u));
	slots->value = slots->aux = 0;
	return set_aside(&d->aside, task->track, TRACK_TASK, task->thread == thread, slots, size);
}

static void note_counter(struct drain *d, uint32_t track, const struct event_slot *slots, size_t size)
{
	uint64_t fields[FIELD_LIMIT] = { 0 };

	read_fields(fields, slots, size);
	drain_device_counter(d, track, slots->name, fields[FIELD_INTEGER]);
}

/* The same for a stream of a device, whose work has no place among the calls of the thread that saw it end. */
static bool take_stream(struct drain *d, struct drain_process *p, struct event_slot *slots, size_t size)
{
	uint32_t track = drain_stream(d, p, slots);

	if (track == NO_TRACK)
		return false;
	if (slots->kind == EVENT_COUNTER)
		note_counter(d, track, slots, size);
	slots->flags &= (uint16_t)~(EVENT_FLAG_STREAM | EVENT_FLAG_THREAD | EVENT_FLAGS(0, 31u, 31u));
	slots->value = slots->aux = 0;
	return set_aside(&d->aside, track, TRACK_STREAM, false, slots, size);
}

/* ---- The one loss that a program may tell ------------------------------------ */

/* For a while it did not look at its calls, and nobody knows how many there were. */
static bool take_unseen(struct drain *d, struct drain_process *p, const struct event_slot *slots, size_t size)
{
	uint64_t fields[FIELD_LIMIT] = { [FIELD_DURATION] = EVENT_FLAGS_VALUE(slots->flags) == FIELD_DURATION ? slots->value : 0 };
	uint64_t duration;
	struct event_slot out[DRAIN_LOST_SLOTS];
	uint32_t track;

	if (EVENT_FLAGS_PHASE(slots->flags) != PHASE_COMPLETE || size < DRAIN_LOST_SLOTS)
		return false;
	read_fields(fields, slots, size);
	duration = fields[FIELD_DURATION];
	if (fields[FIELD_REASON] != LOST_UNSEEN || fields[FIELD_COUNT] != 0)
		return false;
	track = drain_wide_track(d, p);
	drain_put_lost(out, slots->time, duration, 0, LOST_UNSEEN);
	if (track == NO_TRACK || !set_aside(&d->aside, track, TRACK_PROCESS, false, out, DRAIN_LOST_SLOTS))
		return false;
	d->unseen_ticks = duration > UINT64_MAX - d->unseen_ticks ? UINT64_MAX : d->unseen_ticks + duration;
	return true;
}

/* ---- All of it -------------------------------------------------------------- */

enum verdict { KEEP, ASIDE, UNREADABLE };

static enum verdict judge(struct drain *d, struct drain_process *p, uint32_t thread, struct event_slot *slots, size_t size)
{
	if (slots->kind == EVENT_LOST)
		return take_unseen(d, p, slots, size) ? ASIDE : UNREADABLE;
	if (slots->name < p->name_count + p->first_name && slots->name >= p->first_name && p->names[slots->name - p->first_name])
		slots->name = p->names[slots->name - p->first_name];
	else
		slots->name = slots->kind == EVENT_GPU_KERNEL ? drain_kernel_name(d, p, slots->name) : drain_name(d, p, slots->name);
	if (!(slots->flags & (EVENT_FLAG_TASK | EVENT_FLAG_STREAM)))
		return KEEP;
	if (slots->flags & EVENT_FLAG_STREAM)
		return take_stream(d, p, slots, size) ? ASIDE : UNREADABLE;
	return take_task(d, p, thread, slots, size) ? ASIDE : UNREADABLE;
}

struct sifted drain_sift(struct drain *d, struct drain_process *p, uint32_t thread, struct event_slot *slots, size_t count)
{
	struct sifted s = { 0 };

	for (size_t i = 0; i < count;) {
		size_t size = 1 + (size_t)slots[i].extra;
		enum verdict verdict;

		if (slots[i].kind == EVENT_NONE) { /* padding before an event that did not fit its chunk */
			s.extra++;
			i++;
			continue;
		}
		if (slots[i].kind >= EVENT_KIND_COUNT || size > count - i) {
			s.unreadable++;
			i++;
			continue;
		}
		verdict = judge(d, p, thread, &slots[i], size);
		s.extra += size - 1;
		s.unreadable += verdict == UNREADABLE;
		s.events += verdict != UNREADABLE;
		if (verdict != UNREADABLE) {
			s.first_time = s.events == 1 ? slots[i].time : s.first_time;
			s.last_time = slots[i].time;
		}
		if (verdict == KEEP) {
			if (s.kept != i)
				memmove(slots + s.kept, slots + i, size * sizeof *slots);
			s.kept += size;
		}
		i += size;
	}
	return s;
}
