/*
 * drain_outside.c - processes that are seen from outside: those that attached, by their own number, and the others.
 *
 * A process may be seen before it attaches; then it keeps the number it was given.
 */
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "record/drain_state.h"
#include "system/proc.h"

#define OUTSIDE_MAX (1u << 16) /* processes: those that come later are not told of */

/* The newest that has this pid: a process that replaced its program attaches again. */
static struct drain_process *attached(const struct drain *d, pid_t pid, uint64_t birth)
{
	for (uint32_t i = d->process_count; i-- > 0;) {
		struct drain_process *p = d->processes[i];

		if (p && p->file.pid == (uint64_t)pid && p->birth == birth && p->file.pid_namespace == d->pid_namespace)
			return p;
	}
	return NULL;
}

static struct drain_process *attached_number(const struct drain *d, uint32_t process)
{
	for (uint32_t i = d->process_count; i-- > 0;)
		if (d->processes[i] && d->processes[i]->id == process)
			return d->processes[i];
	return NULL;
}

static struct drain_outside *outside_number(const struct drain *d, uint32_t process)
{
	for (size_t i = d->outside_count; i-- > 0;)
		if (d->outside[i].entry.id == process)
			return &d->outside[i];
	return NULL;
}

struct drain_outside *drain_outside_adopt(struct drain *d, const struct ring_file *file)
{
	uint64_t birth = ring_file_header(file)->birth;

	for (size_t i = d->outside_count; file->pid_namespace == d->pid_namespace && i-- > 0;) {
		struct drain_outside *o = &d->outside[i];

		if (o->entry.pid != (uint64_t)file->pid || o->birth != birth || o->adopted)
			continue;
		o->adopted = true;
		return o;
	}
	return NULL;
}

/* ---- Those that do not attach ------------------------------------------------ */

static uint32_t command_of(struct drain *d, pid_t pid)
{
	char text[1024];
	int fd = proc_open(pid, 0, "cmdline");
	ssize_t n = proc_reread(fd, text, sizeof text);

	if (fd >= 0)
		close(fd);
	while (n > 0 && text[n - 1] == '\0')
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	return n > 0 ? trace_writer_string(d->writer, text, (size_t)n) : 0;
}

static uint32_t name_of(struct drain *d, pid_t pid)
{
	char text[32];
	size_t n = proc_thread_name(pid, pid, text, sizeof text);

	return n ? trace_writer_string(d->writer, text, n) : 0;
}

/* The number of a parent, as far as it has been seen. */
static int64_t parent_number(const struct drain *d, pid_t pid)
{
	for (size_t i = d->outside_count; i-- > 0;)
		if (d->outside[i].entry.pid == (uint64_t)pid)
			return d->outside[i].entry.id;
	for (uint32_t i = d->process_count; i-- > 0;)
		if (d->processes[i] && d->processes[i]->file.pid == (uint64_t)pid)
			return d->processes[i]->id;
	return -1;
}

static int grow_outside(struct drain *d)
{
	if (d->outside_count < d->outside_capacity)
		return 0;
	return ARRAY_GROW(d->outside, d->outside_capacity, 2 * d->outside_count + 8);
}

static uint32_t new_outside(struct drain *d, pid_t pid, uint64_t birth, pid_t parent, uint64_t time)
{
	struct drain_outside *o;

	if (d->outside_count >= OUTSIDE_MAX || grow_outside(d) != 0)
		return UINT32_MAX;
	o = &d->outside[d->outside_count++];
	*o = (struct drain_outside){ .birth = birth, .wide_track = NO_TRACK };
	o->entry = (struct trace_process){
		.id = d->next_process++,
		.pid = (uint64_t)pid,
		.parent = parent_number(d, parent),
		.start = (int64_t)time,
		.name = name_of(d, pid),
		.command = command_of(d, pid),
		.rank = -1,
	};
	(void)trace_writer_process(d->writer, &o->entry);
	return o->entry.id;
}

static struct drain_outside *known_outside(const struct drain *d, pid_t pid, uint64_t birth)
{
	for (size_t i = d->outside_count; i-- > 0;)
		if (d->outside[i].entry.pid == (uint64_t)pid && d->outside[i].birth == birth)
			return &d->outside[i];
	return NULL;
}

/* What was seen of a process may be told after it has ended and its rings are gone: it keeps its number. */
static void remember(struct drain *d, const struct drain_process *p)
{
	struct drain_outside *o = known_outside(d, (pid_t)p->file.pid, p->birth);

	if (!o && d->outside_count < OUTSIDE_MAX && grow_outside(d) == 0) {
		o = &d->outside[d->outside_count++];
		*o = (struct drain_outside){ .birth = p->birth, .wide_track = NO_TRACK, .adopted = true, .entry = p->entry };
	}
	if (o && o->adopted)
		o->entry.id = p->id; /* of the program that it runs by now */
}

uint32_t drain_outside_process(struct drain *d, pid_t pid, uint64_t birth, pid_t parent, uint64_t time)
{
	const struct drain_process *p = attached(d, pid, birth);
	const struct drain_outside *o;

	if (p) {
		remember(d, p);
		return p->id;
	}
	o = known_outside(d, pid, birth);
	return o ? o->entry.id : new_outside(d, pid, birth, parent, time);
}

void drain_outside_describe(struct drain *d, uint32_t process, uint64_t end_time)
{
	struct drain_outside *o = outside_number(d, process);
	uint32_t name, command;

	if (!o || o->adopted)
		return;
	name = name_of(d, (pid_t)o->entry.pid);
	command = command_of(d, (pid_t)o->entry.pid);
	if (end_time) {
		o->entry.end = (int64_t)end_time;
		o->entry.flags |= TRACE_PROCESS_ENDED;
	} else if (name && command) {
		o->entry.name = name;
		o->entry.command = command;
	}
	(void)trace_writer_process(d->writer, &o->entry);
}

/* ---- Tracks ------------------------------------------------------------------ */

uint32_t drain_outside_track(struct drain *d)
{
	return d->next_track < d->task_limit ? d->next_track++ : NO_TRACK;
}

uint32_t drain_outside_wide_track(struct drain *d, uint32_t process)
{
	struct drain_process *p = attached_number(d, process);
	struct drain_outside *o = p ? NULL : outside_number(d, process);
	struct trace_track track = { .kind = TRACK_PROCESS, .process = process, .device = -1, .parent = -1 };

	if (p) {
		uint32_t wide = drain_wide_track(d, p);

		o = outside_number(d, process);
		if (o)
			o->wide_track = wide;
		return wide;
	}
	if (o && o->wide_track == NO_TRACK) {
		track.id = drain_outside_track(d);
		track.os_id = o->entry.pid;
		if (track.id != NO_TRACK && trace_writer_track(d->writer, &track) == 0)
			o->wide_track = track.id;
	}
	return o ? o->wide_track : NO_TRACK;
}

uint32_t drain_outside_thread(const struct drain *d, uint32_t process, pid_t tid)
{
	const struct drain_process *p = attached_number(d, process);

	for (size_t i = 0; p && i < p->ring_count; i++)
		if (p->rings[i].serial && p->rings[i].tid == (uint32_t)tid)
			return p->rings[i].track;
	return p ? drain_told_thread(p, (uint32_t)tid) : NO_TRACK;
}

void drain_outside_finish(struct drain *d)
{
	for (size_t i = 0; i < d->outside_count; i++) {
		struct drain_outside *o = &d->outside[i];

		if (o->adopted || o->entry.flags & TRACE_PROCESS_ENDED)
			continue;
		o->entry.flags |= TRACE_PROCESS_RUNNING;
		(void)trace_writer_process(d->writer, &o->entry);
	}
}

void drain_outside_count(struct drain *d, uint64_t events)
{
	d->totals.produced += events;
	d->totals.recorded += events;
}

pid_t drain_attached(const struct drain *d, uint32_t index)
{
	const struct drain_process *p = index < d->process_count ? d->processes[index] : NULL;

	if (index >= d->process_count)
		return -1;
	return p && p->file.pid_namespace == d->pid_namespace ? (pid_t)p->file.pid : 0;
}
