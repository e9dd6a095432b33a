/*
 * perfetto_ftrace.c - what ran on each CPU, from the kernel's scheduler events.
 *
 * A thread's time on a CPU does not nest with its slices, so each CPU has a
 * track of its own, in a process "CPU scheduling" that does not exist; there a
 * slice is a thread that ran, `integer` its id.
 */
#include "import/perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define CPUS_MAX 4096u
#define TABLE_MAX 4096u /* different names in a bundle; the kernel's reader has no more */
#define SCHEDULING_PID UINT32_MAX

/* Fields of FtraceEvent. */
enum { FTRACE_TIMESTAMP = 1, FTRACE_SCHED_SWITCH = 4, FTRACE_GPU_MEMORY = 340 };
/* Values of FtraceEventBundle.ftrace_clock. */
enum { FTRACE_CLOCK_GLOBAL = 2, FTRACE_CLOCK_LOCAL = 3, FTRACE_CLOCK_MONO_RAW = 4 };

struct perfetto_cpu {
	uint32_t track; /* of the output, plus one */
	uint64_t cpu;
	bool runs;
	int64_t since;
	uint32_t name;
	int64_t tid;
};

struct bundle {
	const struct packet *packet;
	uint64_t cpu, clock;
	int64_t ftrace_time, boot_time;
	bool lost;
	struct pb_field compact;
};

static struct perfetto_cpu *cpu_of(struct perfetto *p, uint64_t machine, uint64_t cpu)
{
	uint32_t at = output_map_find(&p->cpu_map, machine, cpu);

	if (at != PERFETTO_NONE)
		return &p->cpus[at];
	if (p->cpu_count >= CPUS_MAX || ARRAY_GROW(p->cpus, p->cpu_capacity, p->cpu_count + 1) ||
	    output_map_add(&p->cpu_map, machine, cpu, (uint32_t)p->cpu_count))
		return NULL;
	p->cpus[p->cpu_count].cpu = cpu;
	return &p->cpus[p->cpu_count++];
}

static uint32_t cpu_track(struct perfetto *p, uint64_t machine, uint64_t cpu, struct perfetto_cpu *c)
{
	uint32_t process, track;
	char name[32];

	if (c->track)
		return c->track - 1;
	process = track_process(p, machine, SCHEDULING_PID);
	track = process == OUTPUT_NONE ? OUTPUT_NONE : output_thread(p->o, process, cpu);
	if (track == OUTPUT_NONE)
		return OUTPUT_NONE;
	output_process_name(p->o, process, "CPU scheduling", strlen("CPU scheduling"));
	output_track_name(p->o, track, name, (size_t)snprintf(name, sizeof name, "CPU %llu", (unsigned long long)cpu));
	c->track = track + 1;
	return track;
}

/* One thread's time on the CPU; without an end when the recording ended first. */
static int add_slice(struct perfetto *p, const struct perfetto_cpu *c, bool ended, int64_t end)
{
	struct perfetto_event pe;

	perfetto_event_begin(&pe, EVENT_SCOPE, ended ? PHASE_COMPLETE : PHASE_BEGIN, c->since);
	pe.e.track = c->track - 1;
	pe.e.name = c->name;
	pe.direct = true;
	if (ended)
		import_event_set(&pe.e, FIELD_DURATION, end > c->since ? (uint64_t)end - (uint64_t)c->since : 0);
	import_event_set(&pe.e, FIELD_INTEGER, (uint64_t)c->tid);
	if (c->cpu < EVENT_CPU_UNKNOWN)
		import_event_set(&pe.e, FIELD_CPU, c->cpu);
	return sort_add(p, &pe);
}

/* From now on this thread runs there; 0 is none. */
static int switch_to(struct perfetto *p, uint64_t machine, uint64_t cpu, int64_t time, int64_t tid, struct text comm)
{
	struct perfetto_cpu *c = cpu_of(p, machine, cpu);
	int rc = 0;

	if (!c)
		return -EBADMSG;
	if (cpu_track(p, machine, cpu, c) == OUTPUT_NONE)
		return 0;
	if (c->runs)
		rc = add_slice(p, c, true, time);
	c->runs = tid != 0;
	c->since = time;
	c->tid = tid;
	c->name = tid ? output_string(p->o, comm.data, comm.size) : 0;
	return rc;
}

/* ---- Times -------------------------------------------------------------------- */

static bool time_of(struct perfetto *p, const struct bundle *b, uint64_t time, int64_t *ret)
{
	uint32_t clock = CLOCK_ID_BOOTTIME;

	if ((b->clock == FTRACE_CLOCK_GLOBAL || b->clock == FTRACE_CLOCK_LOCAL) && b->boot_time)
		time += (uint64_t)b->boot_time - (uint64_t)b->ftrace_time;
	else if (b->clock == FTRACE_CLOCK_MONO_RAW)
		clock = CLOCK_ID_MONOTONIC_RAW;
	if (!p->clocks.snapshots && clock == CLOCK_ID_BOOTTIME)
		clock = 0;
	return clock_convert(p, b->packet->sequence, b->packet->machine, clock, time, ret);
}

/* ---- CompactSched: columns, with differences of times ------------------------- */

struct columns {
	struct pb_numbers times, tids, names;
};

/* The texts of the table, by number: a bundle refers to each of them often. */
static unsigned read_table(struct cursor c, struct text *table)
{
	unsigned count = 0;
	struct pb_field f;

	while (count < TABLE_MAX && pb_next(&c, &f) > 0)
		if (f.number == 5)
			table[count++] = pb_text(&f);
	return count;
}

static int read_columns(struct cursor c, struct columns *k)
{
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		struct pb_numbers n = pb_numbers_of(&f, PB_VARINT);

		if (f.number == 1)
			k->times = n;
		else if (f.number == 3)
			k->tids = n;
		else if (f.number == 6)
			k->names = n;
	}
	return rc;
}

static int read_compact(struct perfetto *p, const struct bundle *b)
{
	struct cursor c = pb_message(&b->compact);
	struct columns k = { 0 };
	struct text table[TABLE_MAX], none = { "", 0 };
	unsigned known = read_table(c, table);
	uint64_t time = 0, step, tid, name;
	int rc = read_columns(c, &k);

	while (rc == 0 && pb_number(&k.times, &step)) {
		int64_t ns;

		if (!pb_number(&k.tids, &tid) || !pb_number(&k.names, &name))
			return -EBADMSG;
		time += step;
		if (time_of(p, b, time, &ns))
			rc = switch_to(p, b->packet->machine, b->cpu, ns, (int32_t)tid,
				       name < known ? table[name] : none);
		else
			output_report(p->o)->skipped++;
	}
	return rc;
}

/* ---- Single events ------------------------------------------------------------ */

static int read_switch(struct perfetto *p, const struct bundle *b, int64_t time, struct cursor c)
{
	struct text comm = { "", 0 };
	uint64_t tid = 0;
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == 5)
			comm = pb_text(&f);
		else if (f.number == 6)
			tid = f.value;
	}
	return rc ? rc : switch_to(p, b->packet->machine, b->cpu, time, (int32_t)tid, comm);
}

static int read_event(struct perfetto *p, const struct bundle *b, struct cursor c)
{
	struct pb_field f, content = { 0 };
	uint64_t timestamp = 0;
	int64_t time;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		if (f.number == FTRACE_TIMESTAMP)
			timestamp = f.value;
		else if (f.number == FTRACE_SCHED_SWITCH || f.number == FTRACE_GPU_MEMORY)
			content = f;
	}
	if (rc || !content.data)
		return rc;
	if (!time_of(p, b, timestamp, &time)) {
		output_report(p->o)->skipped++;
		return 0;
	}
	if (content.number == FTRACE_GPU_MEMORY)
		return gpu_memory(p, b->packet->machine, time, pb_message(&content));
	return read_switch(p, b, time, pb_message(&content));
}

/* ---- Bundles ------------------------------------------------------------------ */

static int read_bundle(struct cursor c, struct bundle *b)
{
	struct pb_field f;
	int rc;

	while ((rc = pb_next(&c, &f)) > 0) {
		switch (f.number) {
		case 1:
			b->cpu = f.value;
			break;
		case 3:
			b->lost = f.value;
			break;
		case 4:
			b->compact = f;
			break;
		case 5:
			b->clock = f.value;
			break;
		case 6:
			b->ftrace_time = (int64_t)f.value;
			break;
		case 7:
			b->boot_time = (int64_t)f.value;
			break;
		default:
			break;
		}
	}
	return rc;
}

/* Nobody knows what ran until the next switch. */
static void note_loss(struct perfetto *p, const struct bundle *b)
{
	uint32_t at = output_map_find(&p->cpu_map, b->packet->machine, b->cpu);

	output_damage(p->o, p->offset, 0, "events of a CPU were lost when the trace was recorded");
	if (at != PERFETTO_NONE)
		p->cpus[at].runs = false;
}

int ftrace_bundle(struct perfetto *p, const struct packet *packet, struct cursor c)
{
	struct bundle b = { .packet = packet };
	struct pb_field f;
	int rc = read_bundle(c, &b);

	if (rc)
		return rc;
	if (b.lost)
		note_loss(p, &b);
	if (b.compact.data)
		rc = read_compact(p, &b);
	while (rc == 0 && pb_next(&c, &f) > 0)
		if (f.number == 2)
			rc = read_event(p, &b, pb_message(&f));
	return rc;
}

/* What ran when the recording ended. */
int ftrace_finish(struct perfetto *p)
{
	int rc = 0;

	for (size_t i = 0; i < p->cpu_count && rc == 0; i++)
		if (p->cpus[i].runs)
			rc = add_slice(p, &p->cpus[i], false, 0);
	return rc;
}

void ftrace_release(struct perfetto *p)
{
	free(p->cpus);
	output_map_release(&p->cpu_map);
}
